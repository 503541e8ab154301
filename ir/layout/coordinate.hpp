// Row-major order: which coordinate of a tile an element has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tmemsim {

// The coordinate of element x of a tile of this shape, outermost dimension first; 0 <= x < product of the extents.
inline std::vector<std::int64_t> coordinate_of(std::int64_t x, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> coordinate(shape.size());
  for (std::size_t d = shape.size(); d > 0; --d) {
    coordinate[d - 1] = x % shape[d - 1];
    x /= shape[d - 1];
  }
  return coordinate;
}

}  // namespace tmemsim
