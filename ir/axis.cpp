#include "ir/axis.hpp"

#include <algorithm>

namespace tmemsim {

std::optional<Axis> axis_named(std::string_view name) {
  const auto* found =
      std::find_if(axis_table.begin(), axis_table.end(), [&](const AxisFacts& row) { return row.name == name; });
  if (found == axis_table.end()) return std::nullopt;
  return found->axis;
}

std::string_view name(Scope scope) {
  switch (scope) {
    case Scope::thread:
      return "thread";
    case Scope::warp:
      return "warp";
    case Scope::warpgroup:
      return "warpgroup";
    case Scope::cta:
      return "cta";
    case Scope::cluster:
      return "cluster";
    case Scope::grid:
      return "grid";
  }
  return "?";
}

}  // namespace tmemsim
