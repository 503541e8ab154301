// Helpers of the lowering tests: a kernel of one copy, lowered and run on symbols.
#pragma once

#include <string>

#include "lower/lower.hpp"
#include "tests/catch.hpp"
#include "tests/symbolic_copy.hpp"

namespace tmemsim::tests {

inline Kernel lowered_kernel(const std::string& text) {
  Kernel kernel = parse_kernel(text, "k.kernel");
  verify(kernel, Level::tile);
  return lower::lower(kernel);
}

// "" when the copy is exact, otherwise what is wrong; the text of the refusal when it was refused.
inline SymbolicResult run_text(const std::string& text, SymbolicInputs inputs = {}) {
  try {
    return run_symbolically(lowered_kernel(text), std::move(inputs));
  } catch (const lower::Refused& refused) {
    SymbolicResult result;
    result.problem = refused.text();
    return result;
  }
}

// The instructions of the first lowered primitive, one a line, without `at`.
inline std::string instructions(const Kernel& kernel) {
  Where where;
  const Stmt* stmt = first_lowered(kernel.body, where);
  REQUIRE(stmt != nullptr);
  std::string text;
  const auto add = [&](const auto& self, const Body& body, const std::string& indent) -> void {
    for (const Stmt& inner : body) {
      const std::string line = print(kernel, inner);
      text += indent + line.substr(line.find("  ") + 2) + "\n";
      if (const auto* branch = std::get_if<If>(&inner.node)) self(self, branch->then, indent + "  ");
      if (const auto* loop = std::get_if<For>(&inner.node)) self(self, loop->body, indent + "  ");
    }
  };
  add(add, std::get<Lowered>(stmt->node).body, "");
  return text;
}

}  // namespace tmemsim::tests
