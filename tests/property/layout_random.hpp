// Generated layouts, and what they mean straight from the definition, without the code under test.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "ir/layout/tile_layout.hpp"

namespace tmemsim::tests {

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline TileLayout random_layout(Random& random, std::int64_t most_iters = 4) {
  static constexpr Axis some_axes[] = {Axis::m, Axis::m, Axis::TCol, Axis::laneid};
  TileLayout layout;
  const std::int64_t count = pick(random, 0, most_iters);
  for (std::int64_t k = 0; k < count; ++k)
    layout.shard.push_back({pick(random, 1, 5), pick(random, -2, 12), some_axes[pick(random, 0, 3)]});
  if (pick(random, 0, 3) == 0) layout.offset.push_back({Axis::m, pick(random, 1, 5)});
  if (pick(random, 0, 4) == 0) layout.replica.push_back({pick(random, 1, 3), pick(random, 1, 6), Axis::m});
  if (pick(random, 0, 4) == 0) layout.swizzle = Swizzle{static_cast<int>(pick(random, 0, 1)), 2, 2, pick(random, 0, 1) == 0};
  return layout;
}

inline TileLayout random_linear_layout(Random& random, std::int64_t most_iters = 4) {
  TileLayout layout = random_layout(random, most_iters);
  layout.swizzle.reset();
  return layout;
}

// D(x) + O.
inline Point naive(const TileLayout& layout, std::int64_t x) {
  Point point{};
  for (const AxisOffset& offset : layout.offset) at(point, offset.axis) += offset.value;
  for (std::size_t k = layout.shard.size(); k > 0; --k) {
    const Iter& iter = layout.shard[k - 1];
    at(point, iter.axis) += (k == 1 ? x : x % iter.extent) * iter.stride;
    x /= iter.extent;
  }
  return point;
}

inline std::int64_t naive_swizzle(const Swizzle& s, std::int64_t m) {
  const std::int64_t mask = (1 << s.swizzle_len) - 1, low = m & ((1 << s.per_element) - 1), high = m >> s.per_element;
  const std::int64_t moved = s.inner ? (high & (mask << s.atom_len)) >> s.atom_len : (high & mask) << s.atom_len;
  return ((high ^ moved) << s.per_element) | low;
}

// All images of x.
inline std::set<Point> naive_set(const TileLayout& layout, std::int64_t x) {
  std::vector<Point> points{naive(layout, x)};
  for (const Iter& iter : layout.replica) {
    std::vector<Point> more;
    for (Point point : points) {
      for (std::int64_t c = 0; c < iter.extent; ++c, at(point, iter.axis) += iter.stride) more.push_back(point);
    }
    points = more;
  }
  for (Point& point : points) {
    if (layout.swizzle) at(point, Axis::m) = naive_swizzle(*layout.swizzle, at(point, Axis::m));
  }
  return {points.begin(), points.end()};
}

inline std::int64_t naive_size(const TileLayout& layout) {
  std::int64_t product = 1;
  for (const Iter& iter : layout.shard) product *= iter.extent;
  return product;
}

// The first x at which two layouts differ; the smaller size when one ends before.
inline std::optional<std::int64_t> naive_difference(const TileLayout& a, const TileLayout& b) {
  const std::int64_t common = std::min(naive_size(a), naive_size(b));
  for (std::int64_t x = 0; x < common; ++x) {
    if (naive_set(a, x) != naive_set(b, x)) return x;
  }
  return naive_size(a) == naive_size(b) ? std::nullopt : std::optional(common);
}

// One small mistake of the kind that people make: a permuted mode, a stride off by one, swapped strides or extents.
inline TileLayout mutated(TileLayout layout, Random& random) {
  if (layout.shard.empty()) return layout;
  const auto k = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(layout.shard.size()) - 1));
  const auto j = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(layout.shard.size()) - 1));
  switch (pick(random, 0, 3)) {
    case 0:
      std::swap(layout.shard[k], layout.shard[j]);
      break;
    case 1:
      layout.shard[k].stride += 1;
      break;
    case 2:
      std::swap(layout.shard[k].stride, layout.shard[j].stride);
      break;
    default:
      std::swap(layout.shard[k].extent, layout.shard[j].extent);
      break;
  }
  return layout;
}

// The same map written differently: an iter cut in two, a unit iter put in.
inline TileLayout rewritten(TileLayout layout, Random& random) {
  for (std::size_t k = 0; k < layout.shard.size(); ++k) {
    const Iter iter = layout.shard[k];
    const std::int64_t factor = pick(random, 2, 4);
    if (iter.extent % factor != 0) continue;
    layout.shard[k] = {iter.extent / factor, iter.stride * factor, iter.axis};
    layout.shard.insert(layout.shard.begin() + static_cast<std::ptrdiff_t>(k) + 1, Iter{factor, iter.stride, iter.axis});
    break;
  }
  const auto place = static_cast<std::ptrdiff_t>(pick(random, 0, static_cast<std::int64_t>(layout.shard.size())));
  layout.shard.insert(layout.shard.begin() + place, Iter{1, pick(random, 0, 9), Axis::m});
  return layout;
}

}  // namespace tmemsim::tests
