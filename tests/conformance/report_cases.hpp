// Public defect reports: bug_reports.yaml.
#pragma once

#include "tests/conformance/case.hpp"

namespace tmemsim::conformance {

bool is_report_case(const Case& one);  // a map with id and expected_verdict
// The repository's program for the report shows the verdict and nothing else, and its correction is silent.
Outcome run_report_case(const Case& one);

}  // namespace tmemsim::conformance
