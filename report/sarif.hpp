// Runs in the forms that other programs show: SARIF 2.1.0 (code scanning) and JUnit XML (test reports). One document for all runs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/run_result.hpp"

namespace tmemsim::report {

// A result each finding, mismatch, failed expectation, and what is unsupported or an error. Findings that the scenario expects are
// suppressed ones. Ends with a line end.
std::string sarif(std::span<const RunResult> runs, std::string_view version);

// A test case each run: failed where not everything came as expected, in error where the run could not be decided.
std::string junit(std::span<const RunResult> runs);

}  // namespace tmemsim::report
