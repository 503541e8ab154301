// Why a copy between tensor memory and registers cannot be: the first element that cannot be moved, and what would work.
#pragma once

#include <string>

#include "lower/copy_async/relation.hpp"
#include "lower/dispatch.hpp"

namespace tmemsim::lower {

Declined explain_refusal(const Request& request, const Operand& local, const Operand& tmem, const Unrelated& problem, bool is_load);

}  // namespace tmemsim::lower
