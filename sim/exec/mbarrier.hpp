// mbarrier objects: phases, arrivals, transaction bytes; who waits for what, and what a completed phase hands over.
// PTX ISA 9.7.13.15.
//
// Whoever signals a barrier from an asynchronous operation (commit, bulk copy) calls mbarrier_arrive and
// mbarrier_complete_tx with the views that the signal carries: those of the issuing thread at issue, with the counters of
// what is complete by then raised.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/open.hpp"
#include "sim/check/view.hpp"

namespace tmemsim::sim {

struct Machine;
struct Cta;
class Warp;
struct BarrierChain;

// Who signals: for findings and for the order between phases.
struct Signal {
  std::uint32_t record = 0;
  const Views* views = nullptr;          // what is handed over
  bool release = true;
  const View* knows = nullptr;           // what orders the signal itself; null: views->any
  bool cta_scope = false;                // its scope does not reach beyond the CTA
  bool told = false;                     // that it comes too early has been reported
};

// What arrivals hand over, release and relaxed ones.
struct HandedOver {
  Views release, relaxed;
  bool any = false;
  void join(const HandedOver& other) {
    any = any || other.any;
    release.join_released(other.release);
    relaxed.join_released(other.relaxed);
  }
};
// The same by who arrived: a thread of the barrier's CTA; one of another CTA, with a scope that reaches here; with one that does not.
enum class From : std::uint8_t { own_cta, other_cta, other_cta_narrow };
using HandedOverFrom = std::array<HandedOver, 3>;

struct Mbarrier {
  bool valid = false, ever_valid = false;
  std::uint32_t phase = 0;               // current, incomplete one
  std::int64_t expected = 0, pending = 0, tx = 0;
  std::uint32_t init_record = 0, init_lanes = 0, inval_record = 0;
  bool init_fenced = false;              // fence.mbarrier_init stands behind it
  std::uint32_t arrivals = 0;            // in this phase
  std::uint32_t last_arrival = 0;        // record; kept over phases
  std::uint32_t named_arrival = 0;       // of this phase, the one that findings name: the last in the program's text
  std::uint32_t named_wait = 0, named_expect = 0;  // of all phases, those that findings name: the first wait in the program's text, the last expect_tx
  std::vector<std::uint32_t> phase_arrivals, last_phase_arrivals;  // records (bounded)
  std::uint32_t completed_by = 0;        // record of the arrival that completed the last phase
  static constexpr std::uint32_t kept_phases = 8;
  std::array<std::uint32_t, kept_phases> completers{};  // named_arrival of the last phases, by phase modulo their number
  HandedOverFrom arriving;               // in this phase
  HandedOverFrom completed;              // what waits for completed phases acquire
  HandedOverFrom before_last;            // the same without the last completed phase
  View first_phase, first_arrived;       // what phase 0 hands over; what happened before those of its arrivals that it waited for
  View of_earlier_objects;               // what was handed over by objects that stood here before
  std::uint32_t agent = 0;               // counter: phases observed by some wait (index + 1)
  std::uint32_t bit = 0;                 // in Views::waited
  bool ever_waited_for = false;
  struct Wait {
    std::int64_t meant = 0;              // phase
    std::uint32_t record = 0;
    bool stale = false;                  // its threads knew before that the phase is complete: it has waited for nothing
  };
  std::vector<Wait> waits;               // of the last phases, for the order with later completions
  std::vector<std::pair<std::uint32_t, std::int64_t>> meant;  // (warp * 32 + lane) -> phase of the last wait that said yes
  std::vector<std::uint32_t> new_waits;  // records of waits that passed because the object was new
  std::vector<std::uint32_t> first_arrivals;  // records, of phase 0 (bounded)
  std::vector<std::uint32_t> users;      // records of operations that an inval has to come after (bounded)
  bool reported = false;                 // its counts are known to be wrong
  // Operations that came before any init; those that nothing orders before it take effect when it comes.
  struct Early {
    std::uint32_t record = 0;
    std::function<void(Machine&)> effect;  // may be empty
  };
  std::vector<Early> early;
  std::vector<Early> for_next_phase;     // arrivals that came while this one only waits for bytes
  OpenPhases open;                       // what a schedule may decide
  bool given_up = false;                 // nobody will ever init it: waits pass
  // Everything that was ever handed over by arrivals here.
  View handed_over() const;
};

// What a fault of the barrier puts in doubt: the given phase and later ones.
BarrierChain chain_of(const Mbarrier& barrier, std::int64_t in_doubt);

// The object at byte `offset` of the CTA's window, or null.
Mbarrier* mbarrier_at(Cta& cta, std::int64_t offset);
const Mbarrier* mbarrier_over(const Cta& cta, std::int64_t first, std::int64_t bytes);  // a valid one that overlaps

// Notes that the access `record` of the warp (0: one that an inval need not come after) uses the object; reports mbar-uninit where there is none any more, or its init or inval is not ordered
// with the use. False: the operation has no effect. Where no init has come yet the effect waits for it (mbarrier_arrive and the
// others see to that themselves).
bool use_mbarrier(Warp& warp, Cta& owner, std::int64_t offset, std::uint32_t record);
// The entry for the place, made when it is named first.
Mbarrier& mbarrier_entry(Machine& machine, Cta& owner, std::int64_t offset);

// `bytes`: arrive.expect_tx.
void mbarrier_arrive(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t count, const Signal& signal, std::int64_t bytes = 0);
void mbarrier_expect_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal);
void mbarrier_complete_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal);

// Nobody can run: waits on places that nobody has initialised are reported and pass. True where there was one.
bool resolve_uninitialised_waits(Machine& machine);
// At the end: operations on places that were never initialised.
void report_never_initialised(Machine& machine);
// At the end: barriers that have got more bytes than were ever expected, so that some phase was complete before its last bytes
// came. Where somebody is left waiting bytes may only be early: then those barriers alone whose bytes are expected by that step.
void report_unexpected_bytes(Machine& machine, std::optional<std::uint32_t> expected_by = {});
// Whether another barrier of the cluster lacks the bytes that this one has too many, or the other way round: they went to the wrong one.
bool has_opposite_residue(const Machine& machine, std::uint32_t cluster, const Mbarrier& barrier);

// At a standstill: why the phase that somebody waits for does not come.
struct Standstill {
  bool count = false, tx = false;        // arrivals are missing; bytes do not fit
  std::string text;
};
Standstill why_incomplete(const Mbarrier& barrier);
// Of the threads: the phase that a blocked wait names if they wait for one phase after the other, and the one that would come.
bool waits_for_an_older_phase(const Mbarrier& barrier, std::uint32_t thread, std::uint32_t parity);

}  // namespace tmemsim::sim
