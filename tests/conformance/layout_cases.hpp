// Cases about layouts: tirx_layout_cases.yaml, fly_layout_cases.yaml, fly_layout_derived.yaml and fly_nv_mapping.yaml.
#pragma once

#include <yaml-cpp/yaml.h>

#include "tests/conformance/case.hpp"

namespace tmemsim::conformance {

bool is_layout_case(const Case& one);
Outcome run_layout_case(const Case& one);

// The families of cases; run_layout_case picks by the form of the case.
Outcome run_tile_case(const YAML::Node& entry);     // operations of TileLayout: op, in, expect
Outcome run_nested_case(const YAML::Node& entry);   // operations of nested layouts: op, in, out or size
Outcome run_mapping_case(const YAML::Node& entry);  // images of tcgen05.ld/st: reg and tmem bit layouts

}  // namespace tmemsim::conformance
