// Threads that share the elements of one or two memories evenly.
#pragma once

#include <cstdint>

#include "lower/dispatch.hpp"
#include "lower/operand.hpp"

namespace tmemsim::lower {

// Copies src to dst, or, without src, stores the element `value` everywhere.
Outcome share_elements(const Request& request, const Operand& dst, const Operand* src, std::uint64_t value);

}  // namespace tmemsim::lower
