// The JSON form of a run: one object a run, on one line. docs/cli.md describes it.
#pragma once

#include <string>

#include "report/run_result.hpp"

namespace tmemsim::report {

std::string json(const RunResult& run);   // without a line end

}  // namespace tmemsim::report
