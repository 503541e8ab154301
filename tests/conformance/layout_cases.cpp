#include "tests/conformance/layout_cases.hpp"

#include <string>

namespace tmemsim::conformance {
namespace {

bool file_starts_with(const Case& one, const std::string& prefix) { return one.file.rfind(prefix, 0) == 0; }

}  // namespace

bool is_layout_case(const Case& one) {
  return file_starts_with(one, "tirx_layout");
}

Outcome run_layout_case(const Case& one) {
  return run_tile_case(one.node);
}

}  // namespace tmemsim::conformance
