// Text inside XML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace tmemsim::report {

// As character data or inside "": markup is written as entities; characters that XML does not have are left out.
std::string escaped_xml(std::string_view text);

}  // namespace tmemsim::report
