#include "ir/layout/tile_algebra.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/checked.hpp"

namespace tmemsim {
namespace {

// Cumulative products 1, s0, s0*s1, ...
Result<std::vector<std::int64_t>> boundaries_of(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> boundaries{1};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1)
      return Reason{
          fmt::format("dimension {} of shape {} is {}; dimensions are at least 1", d, shape_text(shape), shape[d]), {}, {}, {}};
    const auto next = checked_mul(boundaries.back(), shape[d]);
    if (!next) return Reason{fmt::format("the size of shape {} exceeds 64 bits", shape_text(shape)), {}, {}, {}};
    boundaries.push_back(*next);
  }
  return boundaries;
}

// How often each boundary stands in the common refinement, and where it begins there.
struct Refinement {
  std::map<std::int64_t, std::size_t> count;
  std::map<std::int64_t, std::size_t> first;
  std::vector<std::int64_t> boundaries;

  // Position of each boundary of one sequence. The ends of a sequence take the ends of the refinement.
  std::vector<std::size_t> positions(const std::vector<std::int64_t>& sequence) const {
    std::map<std::int64_t, std::size_t> seen;
    std::vector<std::size_t> result;
    for (const std::int64_t boundary : sequence) result.push_back(first.at(boundary) + seen[boundary]++);
    if (sequence.size() > 1) result.back() = boundaries.size() - 1;
    return result;
  }
};

Refinement refine(const std::vector<std::vector<std::int64_t>>& sequences) {
  Refinement refinement;
  for (const std::vector<std::int64_t>& sequence : sequences) {
    std::map<std::int64_t, std::size_t> own;
    for (const std::int64_t boundary : sequence)
      refinement.count[boundary] = std::max(refinement.count[boundary], ++own[boundary]);
  }
  for (const auto& [boundary, count] : refinement.count) {
    refinement.first[boundary] = refinement.boundaries.size();
    refinement.boundaries.insert(refinement.boundaries.end(), count, boundary);
  }
  return refinement;
}

std::optional<Reason> order_problem(std::span<const std::size_t> order, std::size_t count, std::string_view what) {
  std::vector<bool> used(count, false);
  bool good = order.size() == count;
  for (const std::size_t position : order) {
    good = good && position < count && !used[position];
    if (good) used[position] = true;
  }
  if (good) return std::nullopt;
  return Reason{fmt::format("({}) is no order of the {} {}", fmt::join(order, ", "), count, what), {}, {}, {}};
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

Result<GroupedLayout> group(const TileLayout& layout, std::span<const std::int64_t> shape) {
  std::int64_t total = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1)
      return Reason{
          fmt::format("dimension {} of shape {} is {}; dimensions are at least 1", d, shape_text(shape), shape[d]), {}, {}, {}};
    const auto next = checked_mul(total, shape[d]);
    if (!next) return Reason{fmt::format("the size of shape {} exceeds 64 bits", shape_text(shape)), {}, {}, {}};
    total = *next;
  }
  if (total != size(layout)) {
    return Reason{
        fmt::format("the layout has {} elements, shape {} has {}", size(layout), shape_text(shape), total), {}, {}, {}};
  }

  GroupedLayout grouped{layout, {0}};
  grouped.layout.shard.clear();
  std::vector<Iter>& iters = grouped.layout.shard;
  std::size_t d = 0;
  std::int64_t gathered = 1;  // what the iters since the last separator multiply to
  const auto close_dimensions = [&](Iter& rest, std::size_t position) -> std::optional<Reason> {
    while (d < shape.size() && gathered % shape[d] == 0) {
      const std::int64_t left = gathered / shape[d];
      if (rest.extent % left != 0) {
        return Reason{fmt::format("iter {} of extent {} cannot be cut at {} to close dimension {} of shape {}", position,
                                  rest.extent, left, d, shape_text(shape)),
                      position,
                      {},
                      {}};
      }
      iters.push_back(Iter{rest.extent / left, rest.stride * left, rest.axis});
      grouped.separators.push_back(iters.size());
      rest.extent = gathered = left;
      ++d;
    }
    return std::nullopt;
  };
  for (std::size_t k = 0; k < layout.shard.size(); ++k) {
    Iter rest = layout.shard[k];
    gathered *= rest.extent;
    if (auto reason = close_dimensions(rest, k)) return *reason;
    if (rest.extent != 1) iters.push_back(rest);
  }
  while (d < shape.size() && shape[d] == 1 && gathered == 1) {
    iters.push_back(Iter{1, 1, Axis::m});
    grouped.separators.push_back(iters.size());
    ++d;
  }
  if (d != shape.size()) {
    return Reason{fmt::format("the iters cannot be grouped by shape {}: dimension {} has no boundary between iters",
                              shape_text(shape), d),
                  {},
                  {},
                  {}};
  }
  return grouped;
}

Result<CommonGroups> group_many(const TileLayout& layout, const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<std::int64_t> extents;
  for (const Iter& iter : layout.shard) extents.push_back(iter.extent);
  std::vector<std::vector<std::int64_t>> sequences;
  const auto own = boundaries_of(extents);
  if (!own) return own.reason();
  sequences.push_back(*own);
  for (const std::vector<std::int64_t>& shape : shapes) {
    const auto boundaries = boundaries_of(shape);
    if (!boundaries) return boundaries.reason();
    if (boundaries->back() != own->back()) {
      return Reason{
          fmt::format("the layout has {} elements, shape {} has {}", own->back(), shape_text(shape), boundaries->back()),
          {},
          {},
          {}};
    }
    sequences.push_back(*boundaries);
  }
  const Refinement refinement = refine(sequences);
  for (std::size_t k = 1; k < refinement.boundaries.size(); ++k) {
    if (refinement.boundaries[k] % refinement.boundaries[k - 1] != 0) {
      return Reason{fmt::format("incompatible cumulative boundaries: {} does not divide {}", refinement.boundaries[k - 1],
                                refinement.boundaries[k]),
                    {},
                    {},
                    {}};
    }
  }

  CommonGroups common{layout, {}};
  common.layout.shard.clear();
  const std::vector<std::size_t> places = refinement.positions(sequences.front());
  for (std::size_t k = 0; k < layout.shard.size(); ++k) {
    const std::int64_t end = refinement.boundaries[places[k + 1]];
    for (std::size_t at = places[k]; at < places[k + 1]; ++at) {
      const std::int64_t extent = refinement.boundaries[at + 1] / refinement.boundaries[at];
      common.layout.shard.push_back(
          {extent, layout.shard[k].stride * (end / refinement.boundaries[at + 1]), layout.shard[k].axis});
    }
  }
  for (std::size_t s = 1; s < sequences.size(); ++s) common.separators.push_back(refinement.positions(sequences[s]));
  return common;
}

Result<TileLayout> permute_groups(const GroupedLayout& grouped, std::span<const std::size_t> order) {
  if (grouped.separators.empty() || grouped.separators.front() != 0 ||
      grouped.separators.back() != grouped.layout.shard.size() ||
      !std::is_sorted(grouped.separators.begin(), grouped.separators.end())) {
    return Reason{
        fmt::format("({}) are no separators of {} iters", fmt::join(grouped.separators, ", "), grouped.layout.shard.size()),
        {},
        {},
        {}};
  }
  if (auto reason = order_problem(order, grouped.separators.size() - 1, "groups")) return *reason;
  TileLayout result = grouped.layout;
  result.shard.clear();
  for (const std::size_t d : order) {
    for (std::size_t k = grouped.separators[d]; k < grouped.separators[d + 1]; ++k)
      result.shard.push_back(grouped.layout.shard[k]);
  }
  return result;
}

Result<TileLayout> permute_iters(const TileLayout& layout, std::span<const std::size_t> order) {
  if (auto reason = order_problem(order, layout.shard.size(), "iters")) return *reason;
  TileLayout result = layout;
  for (std::size_t k = 0; k < order.size(); ++k) result.shard[k] = layout.shard[order[k]];
  return result;
}

namespace {

// Digits of x over the iters; the first takes the whole remaining quotient.
void split_digits(std::span<const Iter> iters, std::int64_t x, std::vector<std::int64_t>& digits) {
  const std::size_t first = digits.size();
  digits.resize(first + iters.size());
  for (std::size_t k = iters.size(); k > 1; --k) {
    digits[first + k - 1] = x % iters[k - 1].extent;
    x /= iters[k - 1].extent;
  }
  if (!iters.empty()) digits[first] = x;
}

std::optional<Reason> coordinate_problem(std::span<const std::int64_t> coordinate, std::span<const std::int64_t> shape) {
  if (coordinate.size() != shape.size()) {
    return Reason{
        fmt::format("coordinate {} does not have the rank of shape {}", shape_text(coordinate), shape_text(shape)), {}, {}, {}};
  }
  for (const std::int64_t c : coordinate) {
    if (c < 0)
      return Reason{
          fmt::format("coordinate {} is negative", shape_text(coordinate)), {}, {coordinate.begin(), coordinate.end()}, {}};
  }
  return std::nullopt;
}

// Row-major index; nothing when it exceeds 64 bits.
std::optional<std::int64_t> linear(std::span<const std::int64_t> coordinate, std::span<const std::int64_t> shape) {
  std::optional<std::int64_t> index = 0;
  for (std::size_t d = 0; index && d < shape.size(); ++d) {
    index = checked_mul(*index, shape[d]);
    if (index) index = checked_add(*index, coordinate[d]);
  }
  return index;
}

}  // namespace

Result<std::vector<std::int64_t>> iter_digits(const TileLayout& layout, std::span<const std::int64_t> coordinate,
                                              std::span<const std::int64_t> shape) {
  if (auto reason = coordinate_problem(coordinate, shape)) return *reason;
  std::vector<std::int64_t> digits;
  const auto grouped = group(layout, shape);
  if (grouped && grouped->layout.shard.size() == layout.shard.size()) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::size_t first = grouped->separators[d];
      split_digits(std::span<const Iter>(grouped->layout.shard).subspan(first, grouped->separators[d + 1] - first),
                   coordinate[d], digits);
    }
    return digits;
  }
  std::int64_t total = 1;
  for (const std::int64_t extent : shape) total = saturating_mul(total, extent);
  const auto index = linear(coordinate, shape);
  if (total != size(layout) || !index) return grouped ? Reason{"the coordinate exceeds 64 bits", {}, {}, {}} : grouped.reason();
  split_digits(layout.shard, *index, digits);
  return digits;
}

Result<Point> evaluate_digits(const TileLayout& layout, std::span<const std::int64_t> digits) {
  if (digits.size() != layout.shard.size()) {
    return Reason{fmt::format("{} digits for a layout of {} iters", digits.size(), layout.shard.size()), {}, {}, {}};
  }
  Point point{};
  for (const AxisOffset& offset : layout.offset) at(point, offset.axis) = wrapping_add(at(point, offset.axis), offset.value);
  for (std::size_t k = 0; k < digits.size(); ++k) {
    at(point, layout.shard[k].axis) =
        wrapping_add(at(point, layout.shard[k].axis), wrapping_mul(digits[k], layout.shard[k].stride));
  }
  if (layout.swizzle) at(point, Axis::m) = apply(*layout.swizzle, at(point, Axis::m));
  return point;
}

Result<Point> evaluate_at(const TileLayout& layout, std::span<const std::int64_t> coordinate,
                          std::span<const std::int64_t> shape) {
  if (auto reason = coordinate_problem(coordinate, shape)) return *reason;
  const auto grouped = group(layout, shape);
  if (grouped) {
    std::vector<std::int64_t> digits;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::size_t first = grouped->separators[d];
      split_digits(std::span<const Iter>(grouped->layout.shard).subspan(first, grouped->separators[d + 1] - first),
                   coordinate[d], digits);
    }
    return evaluate_digits(grouped->layout, digits);
  }
  const auto digits = iter_digits(layout, coordinate, shape);
  if (!digits) return digits.reason();
  return evaluate_digits(layout, *digits);
}

}  // namespace tmemsim
