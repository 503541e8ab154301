// The dispatch: which variant lowers a tile primitive, and why the others do not.
//
// Variants are tried by falling priority. Each has predicates, which look at the primitive alone, and a plan, which may still
// find that it cannot be done. Both say why; every reason is kept. An exception is a mistake of the program, never a decline.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lower/lower.hpp"
#include "lower/threads.hpp"

namespace tmemsim::lower {

// One primitive that is to be lowered.
struct Request {
  const Kernel& kernel;
  const Stmt& stmt;
  Threads threads;                     // that execute it
  bool explain = false;                // whether proof lines are wanted
  // Registers that the lowering itself needs: four 32-bit rows of every thread, in a buffer that the pass adds.
  BufferId scratch = 0;

  const TileOps::Any& primitive() const { return std::get<TileOps::Any>(stmt.node); }
};

struct Plan {
  Body body;                           // statements without place and path; the pass fills them in
  std::vector<std::string> proof;
  bool needs_scratch = false;
};
struct Declined {
  std::string predicate, reason;
  std::string nearest;                 // what would work; may be empty
};
using Outcome = std::variant<Plan, Declined>;

struct Predicate {
  std::string_view name;
  std::optional<std::string> (*why_not)(const Request&);
};

struct Variant {
  std::string_view name, operation;
  int priority = 0;
  std::string_view summary;
  std::span<const Predicate> predicates;
  std::span<const std::string_view> plan_predicates;  // names of what the plan may find wrong
  Outcome (*plan)(const Request&);
};

// By operation, then by falling priority.
std::span<const Variant> registry();

struct Choice {
  const Variant* variant = nullptr;
  Plan plan;
  std::vector<Refusal> refusals;       // of the variants tried before
};
// Throws Refused, or InputError for a forced variant that does not exist.
Choice choose(const Request& request);

// The primitive in one line, as the kernel's text form prints it.
std::string one_line(const Request& request);

}  // namespace tmemsim::lower
