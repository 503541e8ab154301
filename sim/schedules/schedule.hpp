// A schedule: where the course of a program may branch, and which way it went there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.hpp"

namespace tmemsim::sim {

// What a run has found open, as steps of the program, sorted. Whatever is not named here has one outcome under all schedules.
struct BranchPoints {
  std::vector<std::uint32_t> order;      // the order among the threads that stand at these steps is open
  std::vector<std::uint32_t> placement;  // allocs: any legal place
  std::vector<std::uint32_t> leader;     // elections: any lane
  // Takes in what the other has; true when something was new.
  bool add(const BranchPoints& more);
  bool empty() const { return order.empty() && placement.empty() && leader.empty(); }
  bool operator==(const BranchPoints&) const = default;
};

// One point where several things could happen next.
struct Decision {
  std::uint16_t options = 0;  // at least 2
  std::uint16_t taken = 0;
  bool operator==(const Decision&) const = default;
};

// A run under a schedule decides at the points, and nowhere else; behind the end of `taken` it takes option 0.
struct Schedule {
  BranchPoints points;
  std::vector<std::uint16_t> taken;
  bool operator==(const Schedule&) const = default;
};

// The text that --replay takes: letters, digits and dashes, bound to the program by a check sum.
std::string to_token(const Schedule& schedule, const Program& program);
// InputError: not a token, or one that belongs to another program.
Schedule from_token(std::string_view token, const Program& program);

}  // namespace tmemsim::sim
