// mbarrier objects: phases, arrivals, transaction bytes; who waits for what, and what a completed phase hands over.
// PTX ISA 9.7.13.15; tcgen05.md section 9, 14.1 and 14.5.
//
// Whoever signals a barrier from an asynchronous operation (commit, bulk copy) calls mbarrier_arrive and
// mbarrier_complete_tx with the views that the signal carries: those of the issuing thread at issue, with the counters of
// what is complete by then raised.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/view.hpp"

namespace tmemsim::sim {

struct Machine;
struct Cta;
class Warp;

struct Mbarrier {
  bool valid = false;
  std::uint32_t phase = 0;               // current, incomplete one
  std::int64_t expected = 0, pending = 0, tx = 0;
  std::uint32_t init_record = 0, init_lanes = 0, inval_record = 0;
  bool init_fenced = false;              // fence.mbarrier_init stands behind it
  std::uint32_t arrivals = 0;            // in this phase
  std::uint32_t last_arrival = 0;        // record; kept over phases
  std::uint32_t completed_by = 0;        // record of the arrival that completed the last phase
  Views arriving, arriving_relaxed;      // of this phase: release arrivals, relaxed arrivals
  Views completed, completed_relaxed;    // what waits for completed phases acquire
  std::uint32_t agent = 0;               // counter: phases observed by some wait (index + 1)
  struct Wait {
    std::int64_t meant = 0;              // phase
    std::uint32_t record = 0;
  };
  std::vector<Wait> waits;               // of the last phases, for the order with later completions
  std::vector<std::pair<std::uint32_t, std::int64_t>> meant;  // (warp * 32 + lane) -> phase of the last wait that said yes
  bool reported = false;                 // a finding has been made about it: none that only follows from it
};

// Who signals: for findings and for the order between phases.
struct Signal {
  std::uint32_t record = 0;
  const Views* views = nullptr;          // what is handed over
  bool release = true;
};

// The object at byte `offset` of the CTA's window, or null.
Mbarrier* mbarrier_at(Cta& cta, std::int64_t offset);
const Mbarrier* mbarrier_over(const Cta& cta, std::int64_t first, std::int64_t bytes);  // a valid one that overlaps

// The object that an operation of the warp names; reports mbar-uninit where there is none or its init is not ordered before.
// Null: nothing to do. `remote`: it belongs to another CTA.
Mbarrier* usable_mbarrier(Warp& warp, Cta& owner, std::int64_t offset);

void mbarrier_arrive(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t count, const Signal& signal);
void mbarrier_expect_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal);
void mbarrier_complete_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal);

// At a standstill: why the phase that somebody waits for does not come.
struct Standstill {
  bool count = false, tx = false;        // arrivals are missing; bytes do not fit
  std::string text;
};
Standstill why_incomplete(const Mbarrier& barrier);

}  // namespace tmemsim::sim
