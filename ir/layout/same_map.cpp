// Equality, composition and inversion of layouts through their digit maps.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/layout/digit_map.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim {
namespace {

// Images of element 0 before the swizzle: offset plus replicas, as a sorted set.
std::vector<Point> start_set(const TileLayout& layout) {
  TileLayout start = layout;
  start.swizzle.reset();
  start.shard.clear();
  std::vector<Point> images = evaluate_all(start, 0);
  std::sort(images.begin(), images.end());
  images.erase(std::unique(images.begin(), images.end()), images.end());
  return images;
}

std::vector<Point> image_set(const TileLayout& layout, std::int64_t x) {
  std::vector<Point> images = evaluate_all(layout, x);
  std::sort(images.begin(), images.end());
  images.erase(std::unique(images.begin(), images.end()), images.end());
  return images;
}

bool swizzles(const TileLayout& layout) { return layout.swizzle && layout.swizzle->swizzle_len > 0; }

Comparison differ(std::int64_t x, std::string why) { return {Answer::no, x, std::move(why)}; }

// D as a set of displacements is the same for two layouts whose start sets agree: equal sets shifted by different vectors
// differ.
Comparison compare_digits(const TileLayout& a, const TileLayout& b) {
  const TileLayout left = canonical(a), right = canonical(b);
  if ((left.offset != right.offset || left.replica != right.replica) && start_set(left) != start_set(right)) {
    return differ(0, "offset and replicas differ");
  }
  DigitMap first = digit_map(left), second = digit_map(right);
  first.offset = second.offset = Point{};
  const auto x = first_difference(first, second);
  return x ? differ(*x, "the iters differ") : Comparison{};
}

// Images of the powers of two, when the layout is linear over bits: extents and strides on m powers of two whose sums do not
// carry, so that the swizzle acts on each bit alone.
std::optional<std::vector<Point>> bit_columns(const TileLayout& layout) {
  if (!layout.replica.empty()) return std::nullopt;
  std::uint64_t used = static_cast<std::uint64_t>(at(digit_map(layout).offset, Axis::m));
  std::vector<Point> columns{evaluate(layout, 0)};
  std::int64_t weight = 1;
  for (std::size_t k = layout.shard.size(); k > 0; --k) {
    const Iter& iter = layout.shard[k - 1];
    if (!std::has_single_bit(static_cast<std::uint64_t>(iter.extent))) return std::nullopt;
    for (std::int64_t bit = 1; bit < iter.extent; bit *= 2) {
      if (iter.axis == Axis::m) {
        const std::uint64_t moved = static_cast<std::uint64_t>(iter.stride) * static_cast<std::uint64_t>(bit);
        if (iter.stride < 0 || (used & moved) != 0) return std::nullopt;
        used |= moved;
      }
      columns.push_back(evaluate(layout, weight));
      weight *= 2;
    }
  }
  return columns;
}

std::optional<std::int64_t> first_difference_off_memory(const TileLayout& a, const TileLayout& b) {
  DigitMap first = digit_map(a), second = digit_map(b);
  for (DigitMap* map : {&first, &second}) {
    at(map->offset, Axis::m) = 0;
    for (Digit& digit : map->digits) at(digit.step, Axis::m) = 0;
  }
  return first_difference(first, second);
}

Comparison compare_under_swizzles(const TileLayout& a, const TileLayout& b) {
  const std::int64_t common = std::min(size(a), size(b));
  std::int64_t images = common;
  for (const TileLayout* layout : {&a, &b}) {
    for (const Iter& iter : layout->replica) images = saturating_mul(images, iter.extent);
  }
  if (images <= enumeration_bound) {
    for (std::int64_t x = 0; x < common; ++x) {
      if (image_set(a, x) != image_set(b, x)) return differ(x, "the swizzled places differ");
    }
    return {};
  }
  const auto left = bit_columns(a), right = bit_columns(b);
  if (!left || !right) {
    return {Answer::undecided, {}, fmt::format("different swizzles over {} elements, and the strides carry", common)};
  }
  // On m both maps are linear over bits, so the smallest difference is at 0 or at a power of two.
  std::optional<std::int64_t> first = first_difference_off_memory(a, b);
  for (std::size_t k = 0; k < std::min(left->size(), right->size()); ++k) {
    if (at((*left)[k], Axis::m) == at((*right)[k], Axis::m)) continue;
    const std::int64_t x = k == 0 ? 0 : std::int64_t{1} << (k - 1);
    first = std::min(first.value_or(x), x);
    break;
  }
  return first ? differ(*first, "the swizzled places differ") : Comparison{};
}

bool moves_only_on(const TileLayout& layout, Axis axis) {
  const auto elsewhere = [&](const auto& part) { return part.axis != axis; };
  return std::none_of(layout.shard.begin(), layout.shard.end(), elsewhere) &&
         std::none_of(layout.offset.begin(), layout.offset.end(), elsewhere);
}

}  // namespace

Comparison same_map(const TileLayout& a, const TileLayout& b) {
  const bool one_swizzle = swizzles(a) == swizzles(b) && (!swizzles(a) || a.swizzle == b.swizzle);
  const Comparison found = one_swizzle ? compare_digits(a, b) : compare_under_swizzles(a, b);
  if (found.same == Answer::no || size(a) == size(b)) return found;
  return differ(std::min(size(a), size(b)), "one layout ends here");
}

Result<TileLayout> compose(const TileLayout& outer, const TileLayout& inner) {
  if (!inner.replica.empty()) return Reason{"the inner layout has replicas; an element has one place to look up", {}, {}, {}};
  if (!moves_only_on(inner, Axis::m)) return Reason{"the inner layout must count elements on axis m", {}, {}, {}};
  const DigitMap outer_map = digit_map(outer);
  const auto composed =
      swizzles(inner)
          ? (size(inner) > enumeration_bound
                 ? Result<DigitMap>(
                       Reason{"undecided: the inner layout has a swizzle and is too large to enumerate", {}, {}, {}})
                 : recover(size(inner), [&](std::int64_t x) { return evaluate(outer_map, at(evaluate(inner, x), Axis::m)); }))
          : compose(outer_map, digit_map(inner));
  if (!composed) return composed.reason();
  auto layout = tile_layout(*composed);
  if (!layout) return layout;
  layout->replica = outer.replica;
  layout->swizzle = outer.swizzle;
  return canonical(*layout);
}

Result<InverseLayout> inverse(const TileLayout& layout) {
  if (swizzles(layout)) return Reason{"the inverse of a swizzled layout is no layout", {}, {}, {}};
  if (!layout.replica.empty())
    return Reason{"an element with replicas has several places; the inverse would need all of them", {}, {}, {}};
  if (!canonical(layout).offset.empty()) return Reason{"a layout with an offset has no inverse that is a layout", {}, {}, {}};
  InverseLayout result;
  const DigitMap map = digit_map(canonical(layout));
  for (const AxisFacts& row : axis_table) {
    const auto part = left_inverse(map, row.axis);
    if (!part) return part.reason();
    if (part->digits.empty()) continue;
    const auto iters = tile_layout(*part);
    if (!iters) return iters.reason();
    result.layout.shard.insert(result.layout.shard.end(), iters->shard.begin(), iters->shard.end());
    result.axes.push_back(row.axis);
    result.shape.push_back(size(*part));
  }
  if (result.layout.shard.empty()) result.layout.shard.push_back({1, 1, Axis::m});
  if (auto reason = problem_with(result.layout)) return *reason;
  return result;
}

}  // namespace tmemsim
