#include "tests/mutation/mutants.hpp"

#include <utility>

#include <fmt/format.h>

namespace tmemsim::tests {
namespace {

template <class... Ops>
bool is_one_of(const MachineOps::Any& op) {
  return (std::holds_alternative<Ops>(op) || ...);
}

bool synchronises(const Stmt& stmt) {
  const auto* op = std::get_if<MachineOps::Any>(&stmt.node);
  return op && is_one_of<TcgenAlloc, TcgenDealloc, TcgenRelinquish, TcgenWaitLd, TcgenWaitSt, TcgenFenceBefore, TcgenFenceAfter, TcgenCommit, BarrierSync,
                         BarrierArrive, WarpSync, MbarrierInit, MbarrierArrive, MbarrierArriveExpectTx, MbarrierExpectTx, MbarrierTestWait, MbarrierTryWait,
                         ClusterArrive, ClusterWait, FenceProxyAsync, FenceMbarrierInit, BulkCommitGroup, BulkWaitGroup>(*op);
}

void collect(Body& body, std::vector<Body*>& bodies) {
  bodies.push_back(&body);
  for (Stmt& stmt : body) for_each_body(stmt, [&](Body& inner) { collect(inner, bodies); });
}

std::vector<Body*> bodies_of(Kernel& kernel) {
  std::vector<Body*> bodies;
  collect(kernel.body, bodies);
  return bodies;
}

std::string named(const Kernel& kernel, const Stmt& stmt) {
  std::string text = print(kernel, stmt);
  if (text.size() > 100) text = text.substr(0, 100) + "...";
  return fmt::format("line {}: {}", stmt.at.line, text);
}

// A copy in which `change` has worked on the body of that number.
template <class Change>
Mutant changed(const Kernel& kernel, std::size_t body, std::string what, const Change& change) {
  Mutant mutant{std::move(what), kernel};
  change(*bodies_of(mutant.kernel)[body]);
  number_statements(mutant.kernel);
  return mutant;
}

}  // namespace

std::vector<Mutant> mutants(const Kernel& original) {
  Kernel kernel = original;
  const std::vector<Body*> bodies = bodies_of(kernel);
  std::vector<Mutant> all;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const Body& body = *bodies[b];
    for (std::size_t i = 0; i < body.size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      if (synchronises(body[i]))
        all.push_back(changed(kernel, b, "without " + named(kernel, body[i]), [at](Body& changing) { changing.erase(changing.begin() + at); }));
      if (i + 1 < body.size() && (synchronises(body[i]) || synchronises(body[i + 1])))
        all.push_back(changed(kernel, b, fmt::format("{} before {}", named(kernel, body[i + 1]), named(kernel, body[i])),
                              [at](Body& changing) { std::swap(changing[static_cast<std::size_t>(at)], changing[static_cast<std::size_t>(at) + 1]); }));
    }
  }
  return all;
}

}  // namespace tmemsim::tests
