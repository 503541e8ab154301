// The viewer (report/viewer) around a trace: one HTML file that needs nothing else, not even a network.
#pragma once

#include <string>
#include <string_view>

namespace tmemsim::report {

// What stands before and behind the records of the trace.
std::string_view page_begin();
std::string_view page_end();

// Records of a trace (JSON Lines) as they stand in the page. '<' occurs only inside strings there; written as an escape it can
// neither end the element that holds the records nor open another one, whatever a scenario is called.
std::string page_records(std::string_view json_lines);

}  // namespace tmemsim::report
