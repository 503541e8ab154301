// What a schedule may decide. A run in which nothing is open stands for all schedules (Keller: operations that commute, and
// none that another one can disable); one in which something is says where.
//
// Storage: two accesses that conflict and that nothing orders. Objects of synchronisation: operations come in turns. Those of
// one turn commute (the arrivals of a phase); whoever takes part in a turn has to know that the one before it is over.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.hpp"
#include "sim/check/view.hpp"

namespace tmemsim::sim {

// What has been done to one object, as views: an operation is known to whoever knows what its thread knew.
class Turns {
 public:
  // Whether an operation whose thread knows this can only fall into the turn under way.
  bool follow_the_last(const View& knows) const { return knows.covers(before_); }
  // Whether it can only come after everything that has been done to the object.
  bool follow_all(const View& knows) const { return knows.covers(before_) && knows.covers(now_); }
  const View& last() const { return before_; }
  void take_part(const View& operation) { now_.join(operation); }
  void next() {
    before_.join(now_);
    now_ = {};
  }

 private:
  View before_, now_;
};

// What the phases of an mbarrier leave open; a phase is a turn. Numbers are records of operations.
struct OpenPhases {
  Turns turns;
  View arrived;                          // what the arrivals of the phase under way know
  std::vector<std::uint32_t> expects;    // expect_tx in this phase
  std::vector<std::uint32_t> said_no;    // polls that this phase, not being complete, answered with no
  std::uint32_t last_bytes = 0;          // last transfer that brought bytes
  View touched;                          // what the threads knew that have done anything with the object, waits included
  std::uint32_t touched_by = 0;          // the last of them
  std::uint32_t concurrent = 0, concurrent_with = 0;  // two of them that nothing orders
  bool any = false;                      // some order is open
  std::vector<std::uint32_t> steps;      // of the program, that have touched the object
};

// Facts about a program that decide whether an open outcome can be seen at all; by step.
struct OpenFacts {
  explicit OpenFacts(const Program& program);
  std::vector<std::uint8_t> names_lanes;   // the statement, or a condition around it, tells lanes of a warp apart
  std::vector<std::uint8_t> sees_lane;     // its operands may differ between lanes
  std::vector<std::uint8_t> keeps_thread;  // later operations depend on which thread executed it
  std::vector<std::uint8_t> affects;       // other threads may notice that it has been executed
  std::vector<std::uint8_t> asks;          // it looks at what others do and changes nothing but the answer's register
  std::vector<std::uint8_t> loops;         // it stands in a while loop
  // The steps that act on what this step acts on: a named barrier, the allocations of an SM. Others: none.
  std::vector<std::uint32_t> same_objects(const Program& program, std::uint32_t step) const;
  bool placement = false;                  // addresses of tensor memory are used otherwise than as bases, or made up
};

}  // namespace tmemsim::sim
