#include "tests/conformance/layout_cases.hpp"

namespace tmemsim::conformance {

Outcome run_layout_case(const YAML::Node& entry) { return run_tile_case(entry); }

}  // namespace tmemsim::conformance
