#include "report/draw/moment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/draw/xml.hpp"

namespace tmemsim::report {
namespace {

struct StateLook {
  std::string_view name, light, dark, words;
};
constexpr std::array<StateLook, 6> looks{{
    {"none", "#efede8", "#1f2226", "unallocated"},
    {"fresh", "#d3d8e2", "#343b48", "never written"},
    {"valid", "#86b99c", "#4b8a68", "valid"},
    {"read", "#7ba3dd", "#4a78bd", "read in flight"},
    {"write", "#e3ac5c", "#c08a37", "write in flight"},
    {"both", "#a98ccf", "#7f63ab", "read and write in flight"},
}};

constexpr double margin = 16, ruler = 40, heading = 44, band_height = 13, axis_height = 14, plane_height = 288;
constexpr double top = heading + 22 + band_height + axis_height;

std::string style() {
  std::string text =
      "<style>\n.page{fill:#fdfcfa;stroke:#e0ddd5}.ink{fill:#25282d}.muted{fill:#747a82}.band{fill:#e3e9f5}.line{stroke:#fdfcfa}"
      ".quadrant{stroke:#c9c5ba}.reads{stroke:#2f62b3}.writes{stroke:#bd6a12}";
  for (const StateLook& look : looks) text += fmt::format(".{}{{fill:{}}}", look.name, look.light);
  text +=
      "\n@media (prefers-color-scheme: dark){.page{fill:#1a1d21;stroke:#2a2e34}.ink{fill:#d8dbe0}.muted{fill:#8d949d}.band{fill:#25304a}"
      ".line{stroke:#1a1d21}.quadrant{stroke:#3d424a}.reads{stroke:#8fb8ff}.writes{stroke:#f5b25c}";
  for (const StateLook& look : looks) text += fmt::format(".{}{{fill:{}}}", look.name, look.dark);
  return text + "}\n</style>\n";
}

// Where a plane stands on the page.
struct Frame {
  double x = 0, cell_width = 0, cell_height = 0;
  double left(std::int64_t column) const { return x + ruler + cell_width * static_cast<double>(column); }
  double upper(std::int64_t row) const { return top + cell_height * static_cast<double>(row); }
};

double plane_width(const Plane& plane, double cell_width) { return ruler + cell_width * static_cast<double>(plane.columns); }

Frame frame_of(const Plane& plane, double x, double width) {
  const double cell = std::clamp(width / static_cast<double>(plane.columns), 1.0, 26.0);
  return {x, cell, plane_height / static_cast<double>(plane.rows)};
}

// Words of one state that form a box are one rectangle: the widest run of a row, then as far down as it goes.
void add_words(std::string& text, const Plane& plane, const Frame& frame) {
  std::vector<bool> done(plane.words.size());
  const auto at = [&](std::int64_t row, std::int64_t column) { return static_cast<std::size_t>(row * plane.columns + column); };
  const auto same = [&](std::int64_t row, std::int64_t first, std::int64_t end, WordState state) {
    for (std::int64_t c = first; c < end; ++c)
      if (done[at(row, c)] || plane.words[at(row, c)] != state) return false;
    return true;
  };
  for (std::int64_t row = 0; row < plane.rows; ++row) {
    for (std::int64_t column = 0; column < plane.columns; ++column) {
      if (done[at(row, column)]) continue;
      const WordState state = plane.words[at(row, column)];
      std::int64_t end = column, bottom = row + 1;
      while (end < plane.columns && same(row, end, end + 1, state)) ++end;
      while (bottom < plane.rows && same(bottom, column, end, state)) ++bottom;
      for (std::int64_t r = row; r < bottom; ++r)
        for (std::int64_t c = column; c < end; ++c) done[at(r, c)] = true;
      text += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
                          looks[static_cast<std::size_t>(state)].name, frame.left(column), frame.upper(row),
                          frame.cell_width * static_cast<double>(end - column), frame.cell_height * static_cast<double>(bottom - row));
    }
  }
}

void add_lines(std::string& text, const Plane& plane, const Frame& frame) {
  std::string path, quadrants;
  if (frame.cell_width >= 4)
    for (std::int64_t c = 1; c < plane.columns; ++c) path += fmt::format("M{:.2f} {:.2f}V{:.2f}", frame.left(c), top, top + plane_height);
  for (std::int64_t r = 1; r < plane.rows; ++r) {
    const std::string line = fmt::format("M{:.2f} {:.2f}H{:.2f}", frame.left(0), frame.upper(r), frame.left(plane.columns));
    if (frame.cell_height >= 4) path += line;
    if (plane.rows > 32 && r % 32 == 0) quadrants += line;
  }
  if (!path.empty()) text += fmt::format("<path class=\"line\" stroke-width=\"1\" d=\"{}\"/>\n", path);
  if (!quadrants.empty()) text += fmt::format("<path class=\"quadrant\" stroke-width=\"1\" d=\"{}\"/>\n", quadrants);
}

void add_rulers(std::string& text, const Plane& plane, const Frame& frame) {
  text += fmt::format("<text class=\"ink\" x=\"{:.2f}\" y=\"{:.2f}\" font-weight=\"600\">{}</text>\n", frame.left(0), heading + 14,
                      escaped_xml(plane.title));
  text += fmt::format("<g class=\"muted\" font-size=\"9\" text-anchor=\"end\"><text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", frame.left(0) - 5,
                      top - 4, escaped_xml(plane.row_name));
  const std::int64_t row_step = plane.rows > 32 ? 16 : 4;
  for (std::int64_t r = 0; r < plane.rows; r += row_step)
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", frame.left(0) - 5, frame.upper(r) + std::max(7.0, frame.cell_height / 2 + 3), r);
  text += "</g>\n<g class=\"muted\" font-size=\"9\" text-anchor=\"middle\">\n";
  std::int64_t step = 1;
  while (static_cast<double>(step) * frame.cell_width < 24) step *= 2;
  for (std::int64_t c = 0; c < plane.columns; c += step)
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", frame.left(c) + std::min(frame.cell_width / 2, 7.0), top - 4,
                        plane.first_column + c);
  text += "</g>\n";
}

void add_bands(std::string& text, const Plane& plane, const Frame& frame) {
  for (const Plane::Band& band : plane.bands) {
    const std::int64_t first = std::max(band.first - plane.first_column, std::int64_t{0});
    const std::int64_t end = std::min(band.last + 1 - plane.first_column, plane.columns);
    if (first >= end) continue;
    const double width = frame.cell_width * static_cast<double>(end - first);
    const auto room = static_cast<std::size_t>(std::max(0.0, (width - 6) / 5.6));
    const std::string name = band.name.size() <= room ? band.name : "";
    text += fmt::format("<rect class=\"band\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>"
                        "<text class=\"ink\" font-size=\"9\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n",
                        frame.left(first), heading + 20, std::max(1.0, width - 1), band_height, frame.left(first) + 4, heading + 30, escaped_xml(name));
  }
}

void add_marks(std::string& text, const Plane& plane, const Frame& frame) {
  for (const Plane::Mark& mark : plane.marks) {
    const std::int64_t first = std::max(mark.first_column - plane.first_column, std::int64_t{0});
    const std::int64_t end = std::min(mark.last_column + 1 - plane.first_column, plane.columns);
    if (first >= end) continue;
    text += fmt::format("<rect class=\"{}\" fill=\"none\" stroke-width=\"2\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"/>\n",
                        mark.write ? "writes" : "reads", frame.left(first), frame.upper(mark.first_row),
                        frame.cell_width * static_cast<double>(end - first), frame.cell_height * static_cast<double>(mark.last_row + 1 - mark.first_row));
  }
}

void add_plane(std::string& text, const Plane& plane, const Frame& frame) {
  add_rulers(text, plane, frame);
  add_bands(text, plane, frame);
  add_words(text, plane, frame);
  add_lines(text, plane, frame);
  add_marks(text, plane, frame);
}

// States that occur, and the frames of the last event.
void add_legend(std::string& text, const Moment& moment, double y) {
  double x = margin + ruler;
  const auto entry = [&](const std::string& swatch, std::string_view words) {
    text += fmt::format("{}<text class=\"muted\" font-size=\"10\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", swatch, x + 15, y + 9, words);
    x += 27 + 5.6 * static_cast<double>(words.size());
  };
  for (std::size_t state = 0; state < looks.size(); ++state) {
    const auto has = [&](const Plane& plane) {
      return std::find(plane.words.begin(), plane.words.end(), static_cast<WordState>(state)) != plane.words.end();
    };
    if (has(moment.tmem) || has(moment.registers))
      entry(fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"10\" height=\"10\" rx=\"2\"/>", looks[state].name, x, y), looks[state].words);
  }
  for (const bool write : {false, true}) {
    const auto has = [&](const Plane& plane) {
      return std::any_of(plane.marks.begin(), plane.marks.end(), [&](const Plane::Mark& mark) { return mark.write == write; });
    };
    if (has(moment.tmem) || has(moment.registers))
      entry(fmt::format("<rect class=\"{}\" fill=\"none\" stroke-width=\"2\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"9\" height=\"9\"/>",
                        write ? "writes" : "reads", x, y + 0.5),
            write ? "written by it" : "read by it");
  }
}

}  // namespace

std::string svg(const Moment& moment) {
  constexpr double tmem_width = 520, register_width = 300, gap = 18;
  std::string planes;
  double x = margin;
  for (const auto& [plane, width] : {std::pair{&moment.tmem, tmem_width}, std::pair{&moment.registers, register_width}}) {
    if (plane->columns == 0 || plane->rows == 0) continue;
    const Frame frame = frame_of(*plane, x, width);
    add_plane(planes, *plane, frame);
    x += plane_width(*plane, frame.cell_width) + gap;
  }
  const double height = top + plane_height + 44;
  const double words = 6.6 * static_cast<double>(std::max(moment.title.size(), moment.subtitle.size())) + 2 * margin;
  const double width = std::ceil(std::clamp(std::max(x, words), 560.0, 1400.0));
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\" font-size=\"11\">\n{2}"
      "<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"{3}\" height=\"{4}\" rx=\"8\"/>\n"
      "<text class=\"ink\" x=\"{5}\" y=\"24\" font-size=\"13\" font-weight=\"600\">{6}</text>\n"
      "<text class=\"muted\" x=\"{5}\" y=\"40\" font-family=\"ui-monospace, 'DejaVu Sans Mono', monospace\">{7}</text>\n",
      width, height, style(), width - 1, height - 1, margin, escaped_xml(moment.title), escaped_xml(moment.subtitle));
  text += planes;
  add_legend(text, moment, top + plane_height + 18);
  return text + "</svg>\n";
}

}  // namespace tmemsim::report
