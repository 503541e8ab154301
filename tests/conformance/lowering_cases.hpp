// Cases about the lowering of copies: tirx_tcgen05_cases.yaml and tirx_reg_copy_cases.yaml.
#pragma once

#include "tests/conformance/case.hpp"

namespace tmemsim::conformance {

bool is_lowering_case(const Case& one);
Outcome run_lowering_case(const Case& one);

}  // namespace tmemsim::conformance
