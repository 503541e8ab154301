#include "ir/layout/tile_layout.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include <fmt/format.h>

#include "ir/checked.hpp"

namespace tmemsim {
namespace {

constexpr std::size_t most_iters = 256;
constexpr std::int64_t farthest = std::int64_t{1} << 62;  // coordinates and strides, so that differences of two fit as well
constexpr std::int64_t most_replicas = std::int64_t{1} << 20;

// The digit of lowest weight of x in radix `extent`; x becomes the quotient. Powers of two avoid the division.
std::int64_t take_digit(std::uint64_t& x, std::int64_t extent) {
  const auto radix = static_cast<std::uint64_t>(extent);
  if ((radix & (radix - 1)) == 0) {  // std::has_single_bit calls a population count on baseline x86-64
    const std::uint64_t digit = x & (radix - 1);
    x >>= std::countr_zero(radix);
    return static_cast<std::int64_t>(digit);
  }
  if (((x | radix) >> 32) == 0) {
    const auto narrow = static_cast<std::uint32_t>(x);
    const auto narrow_radix = static_cast<std::uint32_t>(radix);
    x = narrow / narrow_radix;
    return narrow % narrow_radix;
  }
  const std::uint64_t digit = x % radix;
  x /= radix;
  return static_cast<std::int64_t>(digit);
}

void step(Point& point, const Iter& iter, std::int64_t count) {
  std::int64_t& coordinate = at(point, iter.axis);
  coordinate = wrapping_add(coordinate, wrapping_mul(count, iter.stride));
}

// Adds D(x) + O, before the swizzle.
void add_linear_part(Point& point, const TileLayout& layout, std::int64_t x) {
  for (const AxisOffset& offset : layout.offset) at(point, offset.axis) = wrapping_add(at(point, offset.axis), offset.value);
  if (layout.shard.empty()) return;
  auto rest = static_cast<std::uint64_t>(x);
  const Iter* const first = layout.shard.data();
  for (const Iter* iter = first + layout.shard.size() - 1; iter != first; --iter)
    step(point, *iter, take_digit(rest, iter->extent));
  step(point, *first, static_cast<std::int64_t>(rest));
}

void swizzle_in_place(const TileLayout& layout, Point& point) {
  if (layout.swizzle) at(point, Axis::m) = apply(*layout.swizzle, at(point, Axis::m));
}

std::optional<std::int64_t> within_reach(std::optional<std::int64_t> coordinate) {
  return coordinate && *coordinate >= -farthest && *coordinate <= farthest ? coordinate : std::nullopt;
}

// Smallest and largest coordinate on each axis stay in reach; otherwise the iter at which they leave it.
std::optional<Reason> coordinates_fit(const TileLayout& layout) {
  Point low{};
  Point high{};
  for (const AxisOffset& offset : layout.offset) {
    const auto sum = within_reach(checked_add(at(low, offset.axis), offset.value));
    if (!sum) return Reason{fmt::format("the offset on axis {} exceeds 2^62", name(offset.axis)), {}, {}, {}};
    at(low, offset.axis) = at(high, offset.axis) = *sum;
  }
  const auto reach = [&](const std::vector<Iter>& iters, std::string_view list) -> std::optional<Reason> {
    for (std::size_t k = 0; k < iters.size(); ++k) {
      const Iter& iter = iters[k];
      const auto far = within_reach(iter.stride) ? checked_mul(iter.extent - 1, iter.stride) : std::nullopt;
      Point& end = iter.stride < 0 ? low : high;
      const auto sum = far ? within_reach(checked_add(at(end, iter.axis), *far)) : far;
      if (!sum)
        return Reason{fmt::format("iter {} of the {}, {}:{}@{}, reaches coordinates beyond 2^62", k, list, iter.extent,
                                  iter.stride, name(iter.axis)),
                      k,
                      {},
                      {}};
      at(end, iter.axis) = *sum;
    }
    return std::nullopt;
  };
  if (auto reason = reach(layout.shard, "shard")) return reason;
  return reach(layout.replica, "replica");
}

std::optional<Reason> extents_fit(const std::vector<Iter>& iters, std::string_view list) {
  if (iters.size() > most_iters)
    return Reason{fmt::format("the {} has {} iters; at most {} are supported", list, iters.size(), most_iters), {}, {}, {}};
  std::int64_t product = 1;
  for (std::size_t k = 0; k < iters.size(); ++k) {
    if (iters[k].extent < 1)
      return Reason{
          fmt::format("iter {} of the {} has extent {}; extents are at least 1", k, list, iters[k].extent), k, {}, {}};
    const auto next = checked_mul(product, iters[k].extent);
    if (!next) return Reason{fmt::format("the product of the {} extents exceeds 64 bits at iter {}", list, k), k, {}, {}};
    product = *next;
  }
  return std::nullopt;
}

std::optional<Reason> swizzle_fits(const Swizzle& swizzle) {
  if (swizzle.per_element < 0 || swizzle.swizzle_len < 0) return Reason{"swizzle parameters are not negative", {}, {}, {}};
  if (swizzle.atom_len < swizzle.swizzle_len) {
    return Reason{fmt::format("atom_len {} is below swizzle_len {}: a swizzle needs atom_len >= swizzle_len", swizzle.atom_len,
                              swizzle.swizzle_len),
                  {},
                  {},
                  {}};
  }
  constexpr int most_bits = 62;
  if (swizzle.per_element > most_bits || swizzle.atom_len > most_bits ||
      swizzle.per_element + swizzle.swizzle_len + swizzle.atom_len > most_bits) {
    return Reason{"the period of the swizzle, 2^(per_element + swizzle_len + atom_len), exceeds 64 bits", {}, {}, {}};
  }
  return std::nullopt;
}

// Neighbours on one axis where the outer one continues the inner one become one iter.
void fuse_neighbours(std::vector<Iter>& shard) {
  std::vector<Iter> fused;
  for (std::size_t k = shard.size(); k > 0; --k) {
    const Iter& outer = shard[k - 1];
    if (!fused.empty() && fused.back().axis == outer.axis &&
        checked_mul(fused.back().extent, fused.back().stride) == outer.stride) {
      fused.back().extent *= outer.extent;
    } else {
      fused.push_back(outer);
    }
  }
  std::reverse(fused.begin(), fused.end());
  shard = std::move(fused);
}

}  // namespace

std::int64_t apply(const Swizzle& swizzle, std::int64_t m) {
  const std::int64_t mask = (std::int64_t{1} << swizzle.swizzle_len) - 1;
  std::int64_t chunk = m >> swizzle.per_element;
  if (swizzle.inner) {
    chunk ^= (chunk >> swizzle.atom_len) & mask;
  } else {
    chunk ^= (chunk & mask) << swizzle.atom_len;
  }
  const std::int64_t low_mask = (std::int64_t{1} << swizzle.per_element) - 1;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(chunk) << swizzle.per_element) | (m & low_mask);
}

std::optional<Reason> problem_with(const TileLayout& layout) {
  if (auto reason = extents_fit(layout.shard, "shard")) return reason;
  if (auto reason = extents_fit(layout.replica, "replica")) return reason;
  std::int64_t replicas = 1;
  for (const Iter& iter : layout.replica) replicas *= iter.extent;
  if (replicas > most_replicas)
    return Reason{fmt::format("{} replicas of each element; at most {} are supported", replicas, most_replicas), {}, {}, {}};
  if (layout.swizzle) {
    if (auto reason = swizzle_fits(*layout.swizzle)) return reason;
  }
  return coordinates_fit(layout);
}

TileLayout row_major(std::span<const std::int64_t> shape) {
  TileLayout layout;
  layout.shard.resize(shape.size());
  std::int64_t stride = 1;
  for (std::size_t k = shape.size(); k > 0; --k) {
    layout.shard[k - 1] = Iter{shape[k - 1], stride, Axis::m};
    stride = saturating_mul(stride, shape[k - 1]);
  }
  return layout;
}

Point evaluate(const TileLayout& layout, std::int64_t x) {
  Point point{};
  add_linear_part(point, layout, x);
  swizzle_in_place(layout, point);
  return point;
}

std::vector<Point> evaluate_all(const TileLayout& layout, std::int64_t x) {
  std::vector<Point> images(1);
  add_linear_part(images.front(), layout, x);
  for (std::size_t k = layout.replica.size(); k > 0; --k) {
    std::vector<Point> grown;
    grown.reserve(images.size() * static_cast<std::size_t>(layout.replica[k - 1].extent));
    for (std::int64_t count = 0; count < layout.replica[k - 1].extent; ++count) {
      for (Point image : images) {
        step(image, layout.replica[k - 1], count);
        grown.push_back(image);
      }
    }
    images = std::move(grown);
  }
  for (Point& image : images) swizzle_in_place(layout, image);
  return images;
}

std::int64_t size(const TileLayout& layout) {
  std::int64_t product = 1;
  for (const Iter& iter : layout.shard) product = saturating_mul(product, iter.extent);
  return product;
}

std::int64_t size_on(const TileLayout& layout, Axis axis) {
  std::int64_t product = 1;
  for (const Iter& iter : layout.shard) {
    if (iter.axis == axis) product = saturating_mul(product, iter.extent);
  }
  return product;
}

std::int64_t span_on(const TileLayout& layout, Axis axis) {
  std::int64_t last = 0;
  const auto reach = [&](const std::vector<Iter>& iters) {
    for (const Iter& iter : iters) {
      if (iter.axis == axis && iter.stride > 0) last = wrapping_add(last, wrapping_mul(iter.extent - 1, iter.stride));
    }
  };
  reach(layout.shard);
  reach(layout.replica);
  for (const AxisOffset& offset : layout.offset) {
    if (offset.axis == axis) last = wrapping_add(last, offset.value);
  }
  return wrapping_add(last, 1);
}

TileLayout canonical(const TileLayout& layout) {
  TileLayout result = layout;
  const auto is_unit = [](const Iter& iter) { return iter.extent == 1; };
  std::erase_if(result.shard, is_unit);
  if (result.shard.empty() && !layout.shard.empty()) result.shard.push_back(Iter{1, 1, layout.shard.front().axis});
  fuse_neighbours(result.shard);
  std::erase_if(result.replica, is_unit);
  std::sort(result.replica.begin(), result.replica.end(), [](const Iter& a, const Iter& b) {
    return std::tuple(a.axis, a.stride, a.extent) < std::tuple(b.axis, b.stride, b.extent);
  });
  std::erase_if(result.offset, [](const AxisOffset& offset) { return offset.value == 0; });
  std::sort(result.offset.begin(), result.offset.end(),
            [](const AxisOffset& a, const AxisOffset& b) { return a.axis < b.axis; });
  return result;
}

}  // namespace tmemsim
