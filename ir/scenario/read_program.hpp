// The statements of a scenario.
#pragma once

#include "ir/kernel/kernel.hpp"
#include "ir/scenario/reader.hpp"

namespace tmemsim::scenario {

// A list of statements; `what` names it in messages. Loop variables are entered into the reader while their body is read.
Body read_body(Reader& reader, const Node& node, std::string_view what);

// Labels are unique in the kernel: fails at the second one. `program` is the node that the body was read from.
void check_labels(const Document& document, const Node& program);

}  // namespace tmemsim::scenario
