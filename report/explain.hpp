// What a verdict means: the rule, where it stands, how to fix it, a wrong and a right program, public reports of it.
#pragma once

#include <string>

#include "ir/verdict.hpp"

namespace tmemsim::report {

std::string explain(Verdict verdict);
std::string verdict_list();  // one line a verdict

}  // namespace tmemsim::report
