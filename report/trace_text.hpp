// The event stream as text: one line an event.
#pragma once

#include <string>

#include "ir/kernel/kernel.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::report {

std::string trace_header();  // one line, names the columns
std::string trace_line(const Kernel& kernel, const sim::Event& event);  // ends with a line end

}  // namespace tmemsim::report
