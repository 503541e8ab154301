#include "report/html/page.hpp"

namespace tmemsim::report {

extern const char* const viewer_page_text;  // made from report/viewer by cmake/TmemsimEmbed.cmake

namespace {

constexpr std::string_view place_of_trace = "/*{{trace}}*/\n";

}  // namespace

std::string_view page_begin() {
  const std::string_view page = viewer_page_text;
  return page.substr(0, page.find(place_of_trace));
}

std::string_view page_end() {
  const std::string_view page = viewer_page_text;
  return page.substr(page.find(place_of_trace) + place_of_trace.size());
}

std::string page_records(std::string_view json_lines) {
  std::string text;
  text.reserve(json_lines.size());
  for (const char c : json_lines) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace tmemsim::report
