// Where a finding is, as JSON: what of it is known, under the names that docs/cli.md and docs/trace-schema.md give.
#pragma once

#include <nlohmann/json.hpp>

#include "ir/finding.hpp"

namespace tmemsim::report {

nlohmann::ordered_json place_json(const Place& place);

}  // namespace tmemsim::report
