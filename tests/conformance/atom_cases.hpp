// Cases about atoms: fly_atoms.yaml, fly_lowering_cases.yaml.
#pragma once

#include "tests/conformance/case.hpp"

namespace tmemsim::conformance {

bool is_atom_case(const Case& one);  // a map with name, kind mma or copy, and thr
Outcome run_atom_case(const Case& one);

bool is_atom_call_case(const Case& one);  // a call, or an atom that must be refused
Outcome run_atom_call_case(const Case& one);

}  // namespace tmemsim::conformance
