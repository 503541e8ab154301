// Who owns what: a layout as a grid of cells.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"
#include "report/draw/grid.hpp"

namespace tmemsim::report {

enum class View : std::uint8_t {
  tile,   // rows and columns of the logical tile; each cell says where the element lives, coloured by its owner
  place,  // tensor memory: lanes and columns; memory: rows of 32 elements; registers: threads and registers. Each cell says
          // which element lives there
};

// The last dimension of `shape` runs across, all others down. At most 65536 cells.
Result<Grid> picture(const TileLayout& layout, std::span<const std::int64_t> shape, View view);

}  // namespace tmemsim::report
