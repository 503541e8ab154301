// Candidates: what looks like a fault while running. A pure function decides at the end which of them are findings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ir/finding.hpp"
#include "sim/check/access.hpp"

namespace tmemsim::sim {

// One executed instance: (CTA, warp, instruction of the warp).
struct Instance {
  std::uint32_t cta = 0, warp = 0, number = 0;
  auto operator<=>(const Instance&) const = default;
};

// An mbarrier object: CTA in the grid, byte offset in its window.
struct BarrierKey {
  std::uint32_t cta = 0;
  std::int64_t offset = 0;
  auto operator<=>(const BarrierKey&) const = default;
};

// How strong a finding about an mbarrier is: of several about one object the first in this list is the fault, the others
// follow from it.
enum class BarrierFault : std::uint8_t {
  none,
  object,      // there is no object, or the signal goes elsewhere
  count,       // arrivals or bytes that no order could make right
  new_phase,   // a wait that passed only because the object was new
  unobserved,  // an arrival in a phase although nobody has been seen to wait for the one before
  overtaken,   // a phase that may be complete before those who wait for an earlier one have seen it
  standstill,  // what is missing at the end
};

// How a finding about an mbarrier hangs together with those about others: which completed phases of its own barrier it puts in
// doubt, and which phases its threads relied upon.
struct BarrierChain {
  static constexpr std::int64_t no_phase = std::int64_t{1} << 40;
  std::uint32_t agent = 0;            // counter, in the views, of the barrier's phases that have been waited for
  std::uint64_t bit = 0;              // in Views::passed_new
  std::int64_t in_doubt = no_phase;   // this phase and the later ones; -1: waits that passed because the barrier was new
  bool gone_round = false;            // an arrival of a thread that has arrived before and waited for nobody: it runs ahead
  bool stale = false;                 // a wait that waited for nothing: its threads run ahead
  View knew;                          // of the threads that take part in it
  std::uint64_t passed_new = 0;
};

// The two accesses of a conflict, and what each does to the storage.
struct ConflictSide {
  Access access;
  bool reads = false, writes = false;
};
struct Conflict {
  ConflictSide at, other;
  std::vector<BarrierKey> explained_by;  // filled in at the end: see attribution.hpp
};

struct Candidate {
  Verdict verdict = Verdict::deadlock;
  std::optional<Severity> severity;        // where the catalogue's is not the one
  std::optional<Switch> decided_by;        // the switch whose value decided
  std::optional<Verdict> also;             // the next rule that the instance breaks by the same wrong operand
  Ref at;
  std::optional<Ref> other;
  Place where;
  std::string message, rule, section, fix;  // empty: from the catalogue
  Instance at_instance, other_instance;
  std::optional<Instance> origin;             // of uninit-read: the earlier access that brought the undefined value in
  bool others_ran_ahead = false;            // of participation: the other threads of the warp went past a barrier
  bool unordered = false;                   // nothing orders the two accesses: named by the write
  BarrierFault barrier_fault = BarrierFault::none;
  std::optional<BarrierKey> barrier;        // of a finding about an mbarrier
  BarrierChain chain;                       // the same, and of a standstill
  std::vector<BarrierKey> blocked_on;       // of a standstill: the mbarriers that are waited for
  std::vector<std::uint32_t> blocked_ctas;  // of a standstill: whose threads take part in it
  std::vector<Conflict> conflicts;          // the two sides, of the first instances
  std::vector<BarrierKey> signalled;        // filled in at the end: mbarriers that one of the two was to be handed over by
  bool lacks_wait = false;                  // filled in at the end: one of these mbarriers is never waited for by anybody
  std::uint64_t count = 1;
  std::vector<Instance> more_at, more_other;  // of the repeats (bounded)
  std::vector<Instance> after;                // of dealloc-live: accesses that the told one, or a repeat, comes after (bounded)
  std::vector<std::optional<Instance>> more_origins;
};

// Tells the two accesses the other way round.
void swap_sides(Candidate& candidate);

class Candidates {
 public:
  // Repeats (same verdict, same two statements) are counted, not kept.
  void add(Candidate candidate);
  const std::vector<Candidate>& all() const { return all_; }
  std::vector<Candidate>& all() { return all_; }
  // Values that nobody has written and that these instances brought in were used by an mma or got to global memory: errors
  // under every profile.
  void raise_uninit(const std::set<Instance>& brought_in);

  std::function<void(const Candidate&)> on_add;  // told of each, before it is counted or kept

 private:
  using Key = std::tuple<Verdict, std::string, std::string, std::string, std::string, std::optional<BarrierKey>>;
  std::vector<Candidate> all_;
  std::map<Key, std::vector<std::size_t>> known_;
};

// Precedence: one fault, one finding. In program order of `at`.
std::vector<Finding> resolve(std::vector<Candidate> candidates, const Profile& profile);

}  // namespace tmemsim::sim
