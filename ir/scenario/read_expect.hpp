// What a scenario says must come out.
#pragma once

#include <string>

#include "ir/scenario/reader.hpp"
#include "ir/scenario/scenario.hpp"

namespace tmemsim::scenario {

// `kernel` has its statement paths, so that `at` and `other` can be checked against what exists.
Expect read_expect(const Reader& reader, const Node& node, const Kernel& kernel);

}  // namespace tmemsim::scenario
