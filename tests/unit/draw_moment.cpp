#include <regex>
#include <string>

#include "report/draw/moment.hpp"
#include "report/draw/xml.hpp"
#include "tests/catch.hpp"

using namespace tmemsim::report;

namespace {

struct Box {
  std::string state;
  double x = 0, y = 0, width = 0, height = 0;
  bool holds(double px, double py) const { return px > x && px < x + width && py > y && py < y + height; }
};

// The filled rectangles of the six states, without those of the legend (they have rounded corners).
std::vector<Box> boxes(const std::string& text) {
  static const std::regex rect("<rect class=\"(none|fresh|valid|read|write|both)\" x=\"([0-9.]+)\" y=\"([0-9.]+)\" width=\"([0-9.]+)\" height=\"([0-9.]+)\"/>");
  std::vector<Box> result;
  for (std::sregex_iterator match(text.begin(), text.end(), rect), end; match != end; ++match)
    result.push_back({(*match)[1], std::stod((*match)[2]), std::stod((*match)[3]), std::stod((*match)[4]), std::stod((*match)[5])});
  return result;
}

Plane plane(std::int64_t rows, std::int64_t columns) {
  Plane result;
  result.title = "plane";
  result.row_name = "lane";
  result.rows = rows;
  result.columns = columns;
  result.words.assign(static_cast<std::size_t>(rows * columns), WordState::never_written);
  return result;
}

}  // namespace

TEST_CASE("Each word of a picture stands in one rectangle, of its state") {
  Moment moment;
  moment.tmem = plane(128, 48);
  // Nothing regular: every state, in pieces of many shapes.
  for (std::int64_t r = 0; r < 128; ++r)
    for (std::int64_t c = 0; c < 48; ++c)
      moment.tmem.words[static_cast<std::size_t>(r * 48 + c)] = static_cast<WordState>((r / 7 * 5 + c / 3 * (r % 11 == 0 ? 2 : 1)) % 6);
  const std::vector<Box> found = boxes(svg(moment));
  const char* const names[] = {"none", "fresh", "valid", "read", "write", "both"};
  double left = 1e9, upper = 1e9, right = 0, lower = 0;
  for (const Box& box : found) {
    left = std::min(left, box.x);
    upper = std::min(upper, box.y);
    right = std::max(right, box.x + box.width);
    lower = std::max(lower, box.y + box.height);
  }
  int wrong = 0;
  for (int r = 0; r < 128; ++r) {
    for (int c = 0; c < 48; ++c) {
      const double x = left + (right - left) * (c + 0.5) / 48, y = upper + (lower - upper) * (r + 0.5) / 128;
      int count = 0;
      for (const Box& box : found) {
        if (!box.holds(x, y)) continue;
        ++count;
        if (box.state != names[static_cast<std::size_t>(moment.tmem.words[static_cast<std::size_t>(r * 48 + c)])]) ++wrong;
      }
      if (count != 1) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("A uniform plane is one rectangle") {
  Moment moment;
  moment.registers = plane(32, 8);
  CHECK(boxes(svg(moment)).size() == 1);
}

TEST_CASE("Names in a picture are text") {
  Moment moment;
  moment.title = "a </text><script>alert(1)</script> & \"b\"";
  moment.tmem = plane(128, 32);
  moment.tmem.bands.push_back({0, 31, "<b>"});
  const std::string text = svg(moment);
  CHECK(text.find("<script") == std::string::npos);
  CHECK(text.find("<b>") == std::string::npos);
  CHECK(text.find("a &lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;b&quot;") != std::string::npos);
  CHECK(escaped_xml(std::string("a\x01\x1f") + "b\tc") == "ab\tc");
}

TEST_CASE("The legend names what occurs") {
  Moment moment;
  moment.tmem = plane(128, 32);
  std::string text = svg(moment);
  CHECK(text.find(">never written<") != std::string::npos);
  CHECK(text.find(">write in flight<") == std::string::npos);
  CHECK(text.find("written by it") == std::string::npos);
  moment.tmem.words[5] = WordState::write_in_flight;
  moment.tmem.marks.push_back({true, 0, 31, 0, 3});
  text = svg(moment);
  CHECK(text.find(">write in flight<") != std::string::npos);
  CHECK(text.find("written by it") != std::string::npos);
}
