#include "ir/layout/tile_algebra.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/checked.hpp"

namespace tmemsim {

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

Result<GroupedLayout> group(const TileLayout& layout, std::span<const std::int64_t> shape) {
  std::int64_t total = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1) return Reason{fmt::format("dimension {} of shape {} is {}; dimensions are at least 1", d, shape_text(shape), shape[d]), {}, {}, {}};
    const auto next = checked_mul(total, shape[d]);
    if (!next) return Reason{fmt::format("the size of shape {} exceeds 64 bits", shape_text(shape)), {}, {}, {}};
    total = *next;
  }
  if (total != size(layout)) {
    return Reason{fmt::format("the layout has {} elements, shape {} has {}", size(layout), shape_text(shape), total), {}, {}, {}};
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
        return Reason{fmt::format("iter {} of extent {} cannot be cut at {} to close dimension {} of shape {}", position, rest.extent, left, d, shape_text(shape)), position, {}, {}};
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
    return Reason{fmt::format("the iters cannot be grouped by shape {}: dimension {} has no boundary between iters", shape_text(shape), d), {}, {}, {}};
  }
  return grouped;
}

}  // namespace tmemsim
