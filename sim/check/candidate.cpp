#include "sim/check/candidate.hpp"

#include <algorithm>

namespace tmemsim::sim {
namespace {

constexpr std::size_t most_instances = 4096;  // kept of the repeats of one finding
constexpr std::size_t most_conflicts = 256;   // whose two sides are kept

// Alike in all that says which barriers stand between the two.
bool alike(const Conflict& a, const Conflict& b) {
  const auto key = [](const ConflictSide& side) { return std::tuple(side.access.cta, side.access.warp, side.access.waited, side.access.passed_new, side.reads, side.writes); };
  return key(a.at) == key(b.at) && key(a.other) == key(b.other);
}

// The instance that is told is the lowest, whichever was executed first.
void tell_the_lowest(Candidate& known, Candidate& more) {
  const auto place = [](const Candidate& c) { return std::tuple(c.at_instance, c.other_instance); };
  if (!(place(more) < place(known))) return;
  std::swap(known.at, more.at);
  std::swap(known.other, more.other);
  std::swap(known.where, more.where);
  std::swap(known.message, more.message);
  std::swap(known.at_instance, more.at_instance);
  std::swap(known.other_instance, more.other_instance);
  std::swap(known.origin, more.origin);
}

// Of the repeats the one that knows least stands first in the chain of faults.
void chain_of_both(BarrierChain& known, BarrierChain& more) {
  const std::int64_t in_doubt = std::min(known.in_doubt, more.in_doubt);
  const bool stale = known.stale || more.stale;
  const bool gone_round = known.gone_round && more.gone_round;
  if (known.knew.covers(more.knew) && (known.passed_new | more.passed_new) == known.passed_new) std::swap(known, more);
  known.in_doubt = in_doubt;
  known.gone_round = gone_round;
  known.stale = stale;
}

void count_in(Candidate& known, Candidate& more) {
  if (known.barrier) chain_of_both(known.chain, more.chain);
  tell_the_lowest(known, more);
  ++known.count;
  for (Conflict& conflict : more.conflicts)
    if (known.conflicts.size() < most_conflicts && std::none_of(known.conflicts.begin(), known.conflicts.end(), [&](const Conflict& one) { return alike(one, conflict); })) known.conflicts.push_back(std::move(conflict));
  for (const Instance& one : more.after)
    if (known.after.size() < most_instances && std::find(known.after.begin(), known.after.end(), one) == known.after.end()) known.after.push_back(one);
  if (known.more_at.size() >= most_instances) return;
  known.more_at.push_back(more.at_instance);
  known.more_other.push_back(more.other_instance);
  known.more_origins.push_back(more.origin);
}

}  // namespace

void swap_sides(Candidate& candidate) {
  if (!candidate.other) return;
  std::swap(candidate.at, *candidate.other);
  std::swap(candidate.at_instance, candidate.other_instance);
  for (Conflict& conflict : candidate.conflicts) std::swap(conflict.at, conflict.other);
}

void Candidates::raise_uninit(const std::set<Instance>& brought_in) {
  if (brought_in.empty()) return;
  for (Candidate& candidate : all_) {
    if (candidate.verdict != Verdict::uninit_read) continue;
    bool any = brought_in.count(candidate.at_instance) != 0;
    for (const Instance& one : candidate.more_at) any = any || brought_in.count(one) != 0;
    if (any) candidate.severity = Severity::error;
  }
}

void Candidates::add(Candidate candidate) {
  if (on_add) on_add(candidate);
  const Key key{candidate.verdict, candidate.at.path, candidate.at.op, candidate.other ? candidate.other->path : "", candidate.other ? candidate.other->op : "",
                candidate.barrier};
  for (std::size_t index : known_[key]) {
    if (all_[index].severity != candidate.severity) continue;
    count_in(all_[index], candidate);
    return;
  }
  known_[key].push_back(all_.size());
  all_.push_back(std::move(candidate));
}

}  // namespace tmemsim::sim
