// The order in which a run issued the statements that move data: what the reference interpreter follows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tmemsim {

struct Stmt;

// One warp's issue of a Lowered primitive, or of a machine instruction outside one that writes buffer elements. A primitive
// that several warps run (or lanes of one warp that have parted) has one entry for each, when it came to it: its instance is
// what they share, statement, CTA and loop values. Whether all threads that the statement names are there, the reader sees.
struct Issued {
  const Stmt* stmt = nullptr;                   // in the kernel that ran
  std::map<std::string, std::int64_t> loop;     // values of the loops around it; of loops nested very deeply the outer ones
  std::uint32_t cta = 0;                        // in the grid
  std::uint32_t warp = 0, lanes = 0;            // warp in the CTA; mask of the lanes that issued it together
};

}  // namespace tmemsim
