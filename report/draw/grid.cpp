#include "report/draw/grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/draw/xml.hpp"

namespace tmemsim::report {
namespace {

// Neighbouring hue numbers lie far apart on the colour wheel; lightness alternates so that 128 of them stay distinct.
double hue_degrees(std::uint32_t number) { return std::fmod(number * 137.50776405, 360.0); }
double lightness(std::uint32_t number) { return 0.86 - 0.06 * static_cast<double>(number / 8 % 3); }

std::array<int, 3> rgb(std::uint32_t number) {
  constexpr double saturation = 0.62;
  const double light = lightness(number), degrees = hue_degrees(number);
  const double chroma = (1 - std::abs(2 * light - 1)) * saturation;
  const double second = chroma * (1 - std::abs(std::fmod(degrees / 60, 2.0) - 1));
  std::array<double, 3> part{};
  switch (static_cast<int>(degrees / 60)) {
    case 0:
      part = {chroma, second, 0};
      break;
    case 1:
      part = {second, chroma, 0};
      break;
    case 2:
      part = {0, chroma, second};
      break;
    case 3:
      part = {0, second, chroma};
      break;
    case 4:
      part = {second, 0, chroma};
      break;
    default:
      part = {chroma, 0, second};
      break;
  }
  std::array<int, 3> result{};
  for (std::size_t k = 0; k < 3; ++k) result[k] = static_cast<int>(std::lround(255 * (part[k] + light - chroma / 2)));
  return result;
}

std::string fill(const Cell& cell) {
  if (!cell.hue) return cell.label.empty() ? "#ffffff" : "#e4e4e4";
  const auto [r, g, b] = rgb(*cell.hue);
  return fmt::format("#{:02x}{:02x}{:02x}", r, g, b);
}

// The nearest entry of the 6x6x6 cube of the ANSI 256 colours.
int ansi(std::uint32_t number) {
  const auto [r, g, b] = rgb(number);
  const auto step = [](int value) { return static_cast<int>(std::lround(value / 51.0)); };
  return 16 + 36 * step(r) + 6 * step(g) + step(b);
}

std::size_t longest(const std::vector<std::string>& texts) {
  std::size_t length = 0;
  for (const std::string& text : texts) length = std::max(length, text.size());
  return length;
}

std::size_t longest_label(const Grid& grid) {
  std::size_t length = 0;
  for (const Cell& cell : grid.cells) length = std::max(length, cell.label.size());
  return length;
}

std::string coloured(const std::string& text, const Cell& cell, bool colour) {
  if (!colour || !cell.hue) return text;
  return fmt::format("\x1b[38;5;16;48;5;{}m{}\x1b[0m", ansi(*cell.hue), text);
}

}  // namespace

std::string terminal_text(const Grid& grid, const Window& window, bool colour) {
  const std::size_t first_row = std::min(window.first_row, grid.rows()),
                    first_column = std::min(window.first_column, grid.columns());
  const std::size_t end_row = first_row + std::min(window.rows, grid.rows() - first_row);
  const std::size_t end_column = first_column + std::min(window.columns, grid.columns() - first_column);
  std::size_t width = 1;
  for (std::size_t c = first_column; c < end_column; ++c) {
    width = std::max(width, grid.column_labels[c].size());
    for (std::size_t r = first_row; r < end_row; ++r) width = std::max(width, grid.at(r, c).label.size());
  }
  const std::string corner = grid.row_name + "\\" + grid.column_name;
  const std::size_t margin = std::max(longest(grid.row_labels), corner.size());

  std::string text = grid.title.empty() ? "" : grid.title + "\n";
  text += fmt::format("{:>{}}", corner, margin);
  for (std::size_t c = first_column; c < end_column; ++c) text += fmt::format(" {:>{}}", grid.column_labels[c], width);
  text += "\n";
  for (std::size_t r = first_row; r < end_row; ++r) {
    text += fmt::format("{:>{}}", grid.row_labels[r], margin);
    for (std::size_t c = first_column; c < end_column; ++c)
      text += " " + coloured(fmt::format("{:>{}}", grid.at(r, c).label, width), grid.at(r, c), colour);
    text += "\n";
  }
  if (!grid.legend.empty()) text += grid.legend + "\n";
  if (end_row - first_row < grid.rows() || end_column - first_column < grid.columns()) {
    text += fmt::format("shown: {} {} to {} of {}, {} {} to {} of {}\n", grid.row_name, first_row, end_row - 1, grid.rows(),
                        grid.column_name, first_column, end_column - 1, grid.columns());
  }
  return text;
}

std::string svg(const Grid& grid) {
  constexpr int font = 9, height = 14, top = 46, bottom = 24, pad = 6;
  constexpr double glyph = 5.6;  // width of one character of the 9 px monospaced font
  const auto pixels = [&](std::size_t characters) {
    return static_cast<int>(std::ceil(glyph * static_cast<double>(characters))) + pad;
  };
  const int width = pixels(std::max({longest_label(grid), longest(grid.column_labels), std::size_t{2}}));
  const int left = pixels(std::max(longest(grid.row_labels), grid.row_name.size())) + pad;
  const int grid_width = width * static_cast<int>(grid.columns()), grid_height = height * static_cast<int>(grid.rows());
  const int page_width = std::max(left + grid_width + pad, pixels(std::max(grid.title.size(), grid.legend.size()) * 5 / 4));
  const int page_height = top + grid_height + bottom;

  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"monospace\" font-size=\"{2}\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n<text x=\"{3}\" y=\"14\" font-size=\"11\">{4}</text>\n"
      "<text x=\"{5}\" y=\"28\" fill=\"#555555\">{6}</text>\n<text x=\"{3}\" y=\"{7}\" fill=\"#555555\">{8}</text>\n",
      page_width, page_height, font, pad, escaped_xml(grid.title), left, escaped_xml(grid.column_name), top - 4,
      escaped_xml(grid.row_name));
  text += "<g text-anchor=\"middle\" fill=\"#555555\">\n";
  for (std::size_t c = 0; c < grid.columns(); ++c) {
    text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", left + width * static_cast<int>(c) + width / 2, top - 4,
                        escaped_xml(grid.column_labels[c]));
  }
  text += "</g>\n<g text-anchor=\"end\" fill=\"#555555\">\n";
  for (std::size_t r = 0; r < grid.rows(); ++r) {
    text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", left - 4, top + height * static_cast<int>(r) + height - 4,
                        escaped_xml(grid.row_labels[r]));
  }
  text += "</g>\n<g text-anchor=\"middle\" stroke-width=\"0.5\">\n";
  for (std::size_t r = 0; r < grid.rows(); ++r) {
    for (std::size_t c = 0; c < grid.columns(); ++c) {
      const Cell& cell = grid.at(r, c);
      const int x = left + width * static_cast<int>(c), y = top + height * static_cast<int>(r);
      text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#999999\"/>", x, y, width,
                          height, fill(cell));
      if (!cell.label.empty())
        text += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", x + width / 2, y + height - 4, escaped_xml(cell.label));
      text += "\n";
    }
  }
  text += fmt::format("</g>\n<text x=\"{}\" y=\"{}\" fill=\"#555555\">{}</text>\n</svg>\n", pad, top + grid_height + 16,
                      escaped_xml(grid.legend));
  return text;
}

}  // namespace tmemsim::report
