#include "report/draw/layout_picture.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/layout/coordinate.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim::report {
namespace {

constexpr std::int64_t most_cells = 65536;
constexpr std::int64_t memory_row = 32;

// What the rows and columns of the place view are.
struct Plane {
  Axis row, column;
  std::string row_name, column_name;
  std::int64_t rows, columns;
};

bool uses(const TileLayout& layout, Axis axis) {
  const auto on_axis = [&](const auto& part) { return part.axis == axis; };
  return std::any_of(layout.shard.begin(), layout.shard.end(), on_axis) ||
         std::any_of(layout.replica.begin(), layout.replica.end(), on_axis) ||
         std::any_of(layout.offset.begin(), layout.offset.end(), on_axis);
}

bool has_threads(const TileLayout& layout) {
  return std::any_of(axis_table.begin(), axis_table.end(),
                     [&](const AxisFacts& row) { return row.thread && uses(layout, row.axis); });
}

bool in_tensor_memory(const TileLayout& layout) { return uses(layout, Axis::TLane) || uses(layout, Axis::TCol); }

// All thread axes on one, so that an owner is one number.
TileLayout on_one_thread_axis(const TileLayout& layout) {
  const auto range = scope_range(layout);
  if (!range || !*range) return layout;
  auto fused = fuse_scopes(layout, (*range)->scope);
  return fused ? *fused : layout;
}

std::optional<Axis> thread_axis(const TileLayout& layout) {
  std::optional<Axis> found;
  for (const AxisFacts& row : axis_table) {
    if (!row.thread || !uses(layout, row.axis)) continue;
    if (found) return std::nullopt;
    found = row.axis;
  }
  return found;
}

std::optional<Reason> too_large(std::int64_t cells) {
  if (cells >= 1 && cells <= most_cells) return std::nullopt;
  return Reason{fmt::format("a picture of {} cells; at most {} are drawn: draw a slice", cells, most_cells), {}, {}, {}};
}

std::vector<std::string> numbers(std::int64_t count) {
  std::vector<std::string> labels;
  for (std::int64_t k = 0; k < count; ++k) labels.push_back(std::to_string(k));
  return labels;
}

std::string coordinate_text(std::int64_t x, std::span<const std::int64_t> shape) {
  return fmt::format("{}", fmt::join(coordinate_of(x, shape), ","));
}

// Owner of an image and the text of its place: "12:3" is register 3 of thread 12.
struct Owner {
  std::string label;
  std::uint32_t hue = 0;
};

Owner owner_of(const TileLayout& layout, const std::optional<Axis>& thread, const Point& point) {
  if (in_tensor_memory(layout))
    return {fmt::format("{}:{}", at(point, Axis::TLane), at(point, Axis::TCol)),
            static_cast<std::uint32_t>(at(point, Axis::TLane))};
  if (thread)
    return {fmt::format("{}:{}", at(point, *thread), at(point, Axis::m)), static_cast<std::uint32_t>(at(point, *thread))};
  if (has_threads(layout)) {
    std::vector<std::int64_t> coordinates;
    std::uint32_t hue = 0;
    for (const AxisFacts& row : axis_table) {
      if (!row.thread || !uses(layout, row.axis)) continue;
      coordinates.push_back(at(point, row.axis));
      hue = hue * 31 + static_cast<std::uint32_t>(at(point, row.axis));
    }
    return {fmt::format("{}:{}", fmt::join(coordinates, "/"), at(point, Axis::m)), hue};
  }
  return {std::to_string(at(point, Axis::m)), static_cast<std::uint32_t>(at(point, Axis::m) / memory_row)};
}

std::string key_of(const TileLayout& layout, const std::optional<Axis>& thread) {
  if (in_tensor_memory(layout)) return "TLane:TCol, coloured by lane";
  if (thread) return fmt::format("{}:register slot, coloured by {}", name(*thread), name(*thread));
  return has_threads(layout) ? "threads:register slot" : "offset on m, one colour for 32 neighbours";
}

std::string copies_text(const TileLayout& layout) {
  std::int64_t copies = 1;
  for (const Iter& iter : layout.replica) copies *= iter.extent;
  return copies == 1 ? "" : fmt::format("; {} copies of each, the first is shown", copies);
}

Grid tile_view(const TileLayout& layout, std::span<const std::int64_t> shape) {
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const std::int64_t rows = size(layout) / columns;
  const TileLayout one_axis = on_one_thread_axis(layout);
  const auto thread = thread_axis(one_axis);
  Grid grid;
  grid.title = to_string(layout);
  grid.row_name = shape.size() > 2 ? "rows" : "row";
  grid.column_name = "column";
  grid.column_labels = numbers(columns);
  for (std::int64_t r = 0; r < rows; ++r)
    grid.row_labels.push_back(shape.size() > 2 ? coordinate_text(r, shape.first(shape.size() - 1)) : std::to_string(r));
  for (std::int64_t x = 0; x < rows * columns; ++x) {
    const Owner owner = owner_of(one_axis, thread, evaluate(one_axis, x));
    grid.cells.push_back({owner.label, owner.hue});
  }
  grid.legend = key_of(one_axis, thread) + copies_text(layout);
  return grid;
}

Result<Plane> plane_of(const TileLayout& layout, const std::optional<Axis>& thread) {
  if (in_tensor_memory(layout)) {
    constexpr std::int64_t lanes = 128;
    return Plane{Axis::TLane,
                 Axis::TCol,
                 "lane",
                 "column (elements)",
                 std::max(lanes, span_on(layout, Axis::TLane)),
                 span_on(layout, Axis::TCol)};
  }
  if (thread)
    return Plane{
        *thread, Axis::m, std::string(name(*thread)), "register slot", span_on(layout, *thread), span_on(layout, Axis::m)};
  if (has_threads(layout))
    return Reason{"the thread axes do not fuse into one, so there is no plane of threads and registers", {}, {}, {}};
  const std::int64_t span =
      span_on(layout, Axis::m) +
      (layout.swizzle ? std::int64_t{1} << (layout.swizzle->per_element + layout.swizzle->swizzle_len) : 0);
  return Plane{Axis::m, Axis::m, "offset", "+", (span + memory_row - 1) / memory_row, memory_row};
}

Result<Grid> place_view(const TileLayout& layout, std::span<const std::int64_t> shape) {
  const TileLayout one_axis = on_one_thread_axis(layout);
  const auto plane = plane_of(one_axis, thread_axis(one_axis));
  if (!plane) return plane.reason();
  if (plane->rows > most_cells || plane->columns > most_cells) return *too_large(most_cells + 1);
  if (auto reason = too_large(plane->rows * plane->columns)) return *reason;
  Grid grid;
  grid.title = to_string(layout);
  grid.row_name = plane->row_name;
  grid.column_name = plane->column_name;
  const bool linear = plane->row == plane->column;
  for (std::int64_t r = 0; r < plane->rows; ++r) grid.row_labels.push_back(std::to_string(linear ? r * memory_row : r));
  grid.column_labels = numbers(plane->columns);
  grid.cells.resize(static_cast<std::size_t>(plane->rows * plane->columns));
  const std::int64_t across = shape.empty() ? 1 : shape.back();
  for (std::int64_t x = 0; x < size(layout); ++x) {
    for (const Point& image : evaluate_all(one_axis, x)) {
      const std::int64_t row = linear ? at(image, Axis::m) / memory_row : at(image, plane->row);
      const std::int64_t column = linear ? at(image, Axis::m) % memory_row : at(image, plane->column);
      if (row < 0 || row >= plane->rows || column < 0 || column >= plane->columns) continue;
      Cell& cell = grid.cells[static_cast<std::size_t>(row * plane->columns + column)];
      cell.label = cell.label.empty() ? coordinate_text(x, shape) : cell.label + "+";  // several elements on one place
      cell.hue = static_cast<std::uint32_t>(x / across);
    }
  }
  grid.legend = "element that lives there, coloured by its row; + more than one";
  return grid;
}

}  // namespace

Result<Grid> picture(const TileLayout& layout, std::span<const std::int64_t> shape, View view) {
  if (auto reason = problem_with(layout)) return *reason;
  std::int64_t total = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1 || extent > most_cells || total > most_cells)
      return Reason{fmt::format("shape {} cannot be drawn", shape_text(shape)), {}, {}, {}};
    total *= extent;
  }
  if (total != size(layout))
    return Reason{
        fmt::format("the layout has {} elements, shape {} has {}", size(layout), shape_text(shape), total), {}, {}, {}};
  if (auto reason = too_large(total)) return *reason;
  if (view == View::tile) return tile_view(layout, shape);
  return place_view(layout, shape);
}

}  // namespace tmemsim::report
