// The kinds of cases that are run. A case that no runner recognises is skipped under the name of its operation.
#pragma once

#include <vector>

#include "tests/conformance/atom_cases.hpp"
#include "tests/conformance/case.hpp"
#include "tests/conformance/layout_cases.hpp"
#include "tests/conformance/lowering_cases.hpp"
#include "tests/conformance/report_cases.hpp"

namespace tmemsim::conformance {

inline const std::vector<Runner>& runners() {
  static const std::vector<Runner> table{{is_layout_case, run_layout_case}, {is_lowering_case, run_lowering_case},
                                         {is_atom_case, run_atom_case},
                                         {is_atom_call_case, run_atom_call_case},
                                         {is_report_case, run_report_case}};
  return table;
}

}  // namespace tmemsim::conformance
