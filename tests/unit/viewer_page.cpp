#include <regex>
#include <string>

#include <nlohmann/json.hpp>

#include "report/html/page.hpp"
#include "tests/catch.hpp"

using namespace tmemsim::report;

namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace

TEST_CASE("The page is whole: every part of it has been put in, and the trace stands in its element") {
  const std::string begin(page_begin()), end(page_end());
  CHECK(count(begin + end, "{{") == 0);
  CHECK(count(begin, "<script") == 1);
  CHECK(count(begin, "</script") == 0);
  CHECK(begin.rfind("<script type=\"application/x-ndjson\" id=\"trace-data\">\n") == begin.size() - 53);
  CHECK(end.rfind("</script>", 0) == 0);
  CHECK(count(end, "</html>") == 1);
  for (const char* const name : {"class Replay", "class Grid", "class TmemView", "class PlacesView", "class ProgramView", "class SideView", "class TracksView"})
    CHECK(count(end, name) == 1);
}

TEST_CASE("The page asks nobody for anything") {
  const std::string page = std::string(page_begin()) + std::string(page_end());
  CHECK_FALSE(std::regex_search(page, std::regex("https?:|//cdn|@import|url\\(|\\bfetch\\(|XMLHttpRequest|WebSocket|\\bsrc=|<link rel=\"stylesheet")));
  // Names from the scenario are set as text; nothing makes markup of a string.
  CHECK_FALSE(std::regex_search(page, std::regex("innerHTML|outerHTML|insertAdjacentHTML|document\\.write|\\beval\\(|new Function")));
}

TEST_CASE("No record can end the element that holds it") {
  const nlohmann::json record{{"scenario", "</script><!-- <script>"}, {"n", 3}};
  const std::string text = page_records(record.dump() + "\n");
  CHECK(text.find('<') == std::string::npos);
  CHECK(nlohmann::json::parse(text) == record);
}
