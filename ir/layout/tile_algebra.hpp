// The algebra of TileLayout: regrouping, tiling, recovering factors, packing, scope fusion.
//
// Shapes and coordinates are row-major, outermost first. Every operation that is not closed returns a Reason that names the
// iter and, where one exists, the first logical coordinate that shows it. Nothing depends on ambient state.
// Source of the rules: layouts_and_dispatch.md A.5 and A.6 (TIRx layouts).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"

namespace tmemsim {

// The same map with its iters cut so that the iters [separators[d], separators[d + 1]) make up dimension d of a shape.
struct GroupedLayout {
  TileLayout layout;
  std::vector<std::size_t> separators;
  bool operator==(const GroupedLayout&) const = default;
};

Result<GroupedLayout> group(const TileLayout& layout, std::span<const std::int64_t> shape);

std::string shape_text(std::span<const std::int64_t> shape);  // (64, 32)

}  // namespace tmemsim
