// Cases about layouts: tirx_layout_cases.yaml, fly_layout_cases.yaml, fly_layout_derived.yaml and fly_nv_mapping.yaml.
#pragma once

#include <yaml-cpp/yaml.h>

#include "tests/conformance/case.hpp"

namespace tmemsim::conformance {

Outcome run_layout_case(const YAML::Node& entry);

// The two families of operations. `run_layout_case` picks by the form of the case.
Outcome run_tile_case(const YAML::Node& entry);
Outcome run_nested_case(const YAML::Node& entry);

}  // namespace tmemsim::conformance
