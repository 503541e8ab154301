// One painter for pictures that are a grid of labelled, coloured cells: layouts, atoms, tensor memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tmemsim::report {

struct Cell {
  std::string label;                 // short; "" leaves the cell empty
  std::optional<std::uint32_t> hue;  // cells of one hue number have one colour; none: grey
};

struct Grid {
  std::string title;
  std::string row_name, column_name;  // what the rows and columns are: "lane", "column"
  std::vector<std::string> row_labels, column_labels;
  std::vector<Cell> cells;  // row-major
  std::string legend;       // one line under the picture

  std::size_t rows() const { return row_labels.size(); }
  std::size_t columns() const { return column_labels.size(); }
  const Cell& at(std::size_t row, std::size_t column) const { return cells[row * columns() + column]; }
};

// Part of a grid that is shown. Ends are clipped to the grid.
struct Window {
  std::size_t first_row = 0, rows = 32, first_column = 0, columns = 16;
};

// Aligned columns for a terminal. Says which part is shown when it is not all; colours are ANSI 256.
std::string terminal_text(const Grid& grid, const Window& window, bool colour);

// The whole grid as a standalone SVG document.
std::string svg(const Grid& grid);

}  // namespace tmemsim::report
