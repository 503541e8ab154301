// The order in which a run issued the statements that move data: what the reference interpreter follows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tmemsim {

struct Stmt;

// One instance of a Lowered primitive, or of a machine instruction outside one that writes buffer elements.
// A primitive is listed once per CTA and set of loop values, when its first thread issues it; an instruction once per warp.
struct Issued {
  const Stmt* stmt = nullptr;                   // in the kernel that ran
  std::map<std::string, std::int64_t> loop;     // values of the loops around it
  std::uint32_t cta = 0;                        // in the grid
  std::uint32_t warp = 0, lanes = 0;            // first warp that issued it; its lanes
  bool complete = true;                         // false: not all threads that the statement names have executed it
};

}  // namespace tmemsim
