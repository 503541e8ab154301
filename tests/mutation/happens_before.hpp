// What the rules say of a run, by brute force: a second judge beside the simulator's checks.
//
// The judge sees the instructions that one run issued, with the storage they touch. It builds the graph of what happens before
// what, node by node, with a set of everything that has happened at each node; then it compares every pair of accesses. It shares
// nothing with sim/check: no views, no counters, no shadow memory. Rules: those of the strict profile.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::tests {

// The two statements of a pair that nothing orders, as places in the source: deleting or moving others leaves them alone.
using StatementPair = std::pair<std::string, std::string>;

// What a program known to be right says about the programs that differ from it by one statement.
struct Baseline {
  // Pairs that it does not order: the boxes of its accesses overlap where their bytes do not.
  std::set<StatementPair> tolerated;
  // What each tcgen05 instruction touches: the simulator does not tell that of one that it refuses. By place, threads, loop values.
  std::map<std::string, std::vector<sim::Extent>> reads, writes;
};

struct Judgement {
  bool decided = true;                     // false: the program does something that the judge does not know
  std::vector<std::string> wrong;          // one sentence a fault; empty: the program is right
  std::set<StatementPair> unordered;       // pairs that conflict, as far as boxes of storage tell
};

// The events must come from a run with Policy::early, to the end.
Judgement judge(const Program& program, const std::vector<sim::Event>& events, const Baseline& baseline);
Baseline baseline(const Program& program, const std::vector<sim::Event>& events);

}  // namespace tmemsim::tests
