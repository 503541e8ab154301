#include "tests/conformance/layout_cases.hpp"

#include <string>

namespace tmemsim::conformance {
namespace {

bool file_starts_with(const Case& one, const std::string& prefix) { return one.file.rfind(prefix, 0) == 0; }

bool is_mapping(const YAML::Node& node) { return node["reg"] && node["tmem"] && node["image_bits"]; }
bool is_nested(const YAML::Node& node) {
  return node["op"] && node["in"] && node["in"].IsSequence() && (node["out"] || node["size"]);
}
bool is_tile(const YAML::Node& node) { return node["op"] && node["in"] && node["expect"]; }

}  // namespace

bool is_layout_case(const Case& one) {
  if (file_starts_with(one, "tirx_layout")) return is_tile(one.node);
  if (file_starts_with(one, "fly_layout")) return is_nested(one.node);
  if (file_starts_with(one, "fly_nv_mapping")) return is_mapping(one.node);
  return false;
}

Outcome run_layout_case(const Case& one) {
  if (is_mapping(one.node)) return run_mapping_case(one.node);
  return is_nested(one.node) ? run_nested_case(one.node) : run_tile_case(one.node);
}

}  // namespace tmemsim::conformance
