// The operations as tables, generated from their rows and fields: for `tmemsim ops` and the documentation.
#pragma once

#include <string>

namespace tmemsim {

std::string ops_text();      // for a terminal
std::string ops_markdown();  // for docs/scenario-format.md

}  // namespace tmemsim
