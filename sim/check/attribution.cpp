#include "sim/check/attribution.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "sim/exec/exec.hpp"

namespace tmemsim::sim {
namespace {

struct Object {
  BarrierKey key;
  const Mbarrier* barrier;
  View handed_over;
};

std::vector<Object> objects_of(const Machine& machine, bool ever_valid) {
  std::vector<Object> objects;
  for (const Cta& cta : machine.ctas) {
    for (const auto& [offset, barrier] : cta.mbarriers) {
      if (barrier.ever_valid != ever_valid) continue;
      objects.push_back({{cta.index, offset}, &barrier, barrier.handed_over()});
    }
  }
  return objects;
}

// Whether the view includes the access, complete.
bool includes(const View& view, const Access& access) {
  switch (access.kind) {
    case AccessKind::ld: return view.count(access.cta, agent_of(access.warp, WarpAgent::ld)) >= access.async_number;
    case AccessKind::st: return view.count(access.cta, agent_of(access.warp, WarpAgent::st)) >= access.async_number;
    case AccessKind::order: break;
    default: return view.count(access.agent_cta, access.agent) >= access.async_number;
  }
  bool all = true, any = false;
  for (std::uint32_t rest = access.lanes; rest != 0; rest &= rest - 1) {
    const bool known = view.order(access.cta, access.warp, static_cast<std::uint32_t>(std::countr_zero(rest))) >= access.number;
    all = all && known;
    any = any || known;
  }
  return access.collective ? any : all;
}

// Whether the view knows that the access was made, be it complete or not.
bool is_before_arrival(const View& view, const Access& access) {
  for (std::uint32_t rest = access.lanes; rest != 0; rest &= rest - 1)
    if (view.order(access.cta, access.warp, static_cast<std::uint32_t>(std::countr_zero(rest))) >= access.number) return true;
  return false;
}

bool has_waited(const Access& access, const Mbarrier& barrier) { return access.waited >> barrier.bit & 1u; }

// One of the warp that made the access signals the barrier afterwards, in its first phase.
bool signals_itself(const Machine& machine, const Mbarrier& barrier, const Access& access) {
  return std::any_of(barrier.first_arrivals.begin(), barrier.first_arrivals.end(), [&](std::uint32_t record) {
    const Access& arrival = machine.accesses[record];
    return arrival.cta == access.cta && arrival.warp == access.warp && arrival.number >= access.number;
  });
}

// Conflicts whose two sides are ordered, but not as they have to be: no barrier has let anybody through too early.
bool is_ordered(Verdict verdict) { return verdict == Verdict::missing_fence || verdict == Verdict::proxy_fence; }

class Attribution {
 public:
  explicit Attribution(Machine& machine) : machine_(machine), objects_(objects_of(machine, true)), never_made_(objects_of(machine, false)) {}

  void apply() {
    std::vector<Candidate> waits;
    for (Candidate& candidate : machine_.candidates.all()) {
      if (is_ordered(candidate.verdict)) continue;
      for (Conflict& conflict : candidate.conflicts) {
        const bool at_waits = look_at(candidate, conflict, conflict.other, conflict.at), other_waits = look_at(candidate, conflict, conflict.at, conflict.other);
        // A reader that has waited for nothing that hands the data over: no other barrier is to blame.
        if ((reads_alone(conflict.at) && !at_waits) || (reads_alone(conflict.other) && !other_waits)) conflict.explained_by.clear();
        for (const Object& place : never_made_)  // they hand over nothing, and whoever waits there goes on without it
          if (has_waited(conflict.at.access, *place.barrier) || has_waited(conflict.other.access, *place.barrier)) conflict.explained_by.push_back(place.key);
      }
      if (readers_are_missing(candidate)) {
        candidate.verdict = Verdict::mbar_count;
        candidate.message = "the writer has waited on a barrier on which other readers have arrived, and this one does not arrive";
        continue;
      }
      if (candidate.lacks_wait) continue;
      for (const Conflict& conflict : candidate.conflicts) {
        auto wait = wait_on_new_object(conflict.at, conflict.other);
        if (!wait) wait = wait_on_new_object(conflict.other, conflict.at);
        if (wait) waits.push_back(std::move(*wait));
      }
    }
    for (Candidate& wait : waits) machine_.candidates.add(std::move(wait));
  }

 private:
  // 14.5, mbar-count by attribution: who overwrites has waited for other readers, and the count leaves this one out.
  bool readers_are_missing(const Candidate& candidate) const {
    if (candidate.conflicts.empty() || is_ordered(candidate.verdict) || candidate.verdict == Verdict::dealloc_live || candidate.verdict == Verdict::peer_lifecycle) return false;
    return std::all_of(candidate.conflicts.begin(), candidate.conflicts.end(), [&](const Conflict& conflict) {
      const bool at_reads = reads_alone(conflict.at);
      if (at_reads == reads_alone(conflict.other)) return false;
      const Access& reader = (at_reads ? conflict.at : conflict.other).access;
      const Access& writer = (at_reads ? conflict.other : conflict.at).access;
      return std::any_of(objects_.begin(), objects_.end(), [&](const Object& object) { return has_waited(writer, *object.barrier) && leaves_out(object, reader); });
    });
  }

  // Warps that read by the same statement arrive on the barrier; the reader's does not.
  bool leaves_out(const Object& object, const Access& reader) const {
    bool others = false;
    for (std::uint32_t record : object.barrier->first_arrivals) {
      const Access& arrival = machine_.accesses[record];
      if (arrival.cta == reader.cta && arrival.warp == reader.warp) return false;
      const bool reads_too = lanes_of(machine_.program.steps[reader.step].where, arrival.cta, arrival.warp) != 0;
      others = others || (arrival.cta == reader.cta && reads_too);
    }
    return others && !includes(object.handed_over, reader);
  }

  static bool reads_alone(const ConflictSide& side) { return side.reads && !side.writes; }

  // `before` was to be handed to `after` by a barrier. False: there are such barriers, and `after` has waited for none of them.
  bool look_at(Candidate& candidate, Conflict& conflict, const ConflictSide& before, const ConflictSide& after) const {
    bool any = false, waited = false;
    for (const Object& object : objects_) {
      if (!includes(object.handed_over, before.access)) continue;
      any = true;
      candidate.signalled.push_back(object.key);
      if (!object.barrier->ever_waited_for) candidate.lacks_wait = true;
      if (!has_waited(after.access, *object.barrier)) continue;
      waited = true;
      conflict.explained_by.push_back(object.key);
    }
    return waited || !any;
  }

  bool is_copy_for(const Object& object, const Access& access) const {
    if (access.kind != AccessKind::bulk || access.agent_cta != object.key.cta) return false;
    const auto& signals = machine_.ctas[object.key.cta].bulk_signals;
    const auto copies = signals.find(object.key.offset);
    return copies != signals.end() && copies->second.agent == access.agent;
  }

  // The reader has passed a wait on a new barrier whose phase 0 would have handed it the data. Where the read itself comes before
  // an arrival of phase 0 the wait was not for that data: a producer waits so for the first round of its ring.
  std::optional<Candidate> wait_on_new_object(const ConflictSide& writer, const ConflictSide& reader) const {
    if (!writer.writes || !reader.reads) return std::nullopt;
    std::vector<const Object*> direct, others;
    for (const Object& object : objects_) {
      if (!(reader.access.passed_new >> object.barrier->bit & 1u) || !is_of_first_phase(object, writer.access)) continue;
      if (is_before_arrival(object.barrier->first_arrived, reader.access)) continue;
      (signals_itself(machine_, *object.barrier, writer.access) ? direct : others).push_back(&object);
    }
    if (direct.empty() && others.size() != 1) return std::nullopt;
    return about(direct.empty() ? *others.front() : *direct.front(), reader.access);
  }

  // Whether phase 0 hands over the access, or would have: of the copies that signal the barrier another may have come first.
  bool is_of_first_phase(const Object& object, const Access& access) const {
    if (includes(object.barrier->first_phase, access)) return true;
    return is_copy_for(object, access) && (access.passed_new >> object.barrier->bit & 1u) == 0;
  }

  std::optional<Candidate> about(const Object& object, const Access& reader) const {
    const auto place = [&](std::uint32_t record) {
      const Access& access = machine_.accesses[record];
      return std::tuple(access.step, access.cta, access.warp, access.number);
    };
    std::uint32_t wait = 0;
    for (std::uint32_t record : object.barrier->new_waits) {
      const Access& access = machine_.accesses[record];
      const bool same_warp = access.cta == reader.cta && access.warp == reader.warp && access.number < reader.number;
      if (wait == 0 || same_warp) wait = record;
      if (same_warp) break;
    }
    if (wait == 0) return std::nullopt;
    const Access& waiting = machine_.accesses[wait];
    Candidate found;
    found.verdict = Verdict::mbar_phase;
    found.barrier_fault = BarrierFault::new_phase;
    found.barrier = object.key;
    found.chain = chain_of(*object.barrier, -1);
    found.chain.passed_new = waiting.passed_new;
    found.at = machine_.ref(wait);
    found.at_instance = {waiting.cta, waiting.warp, waiting.number};
    const auto& arrivals = object.barrier->first_arrivals;
    if (!arrivals.empty()) {
      const std::uint32_t arrival = *std::max_element(arrivals.begin(), arrivals.end(), [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
      const Access& signal = machine_.accesses[arrival];
      found.other = machine_.ref(arrival);
      found.other_instance = {signal.cta, signal.warp, signal.number};
    }
    found.where.space = "barrier";
    found.where.cta = object.key.cta;
    found.where.bytes = {object.key.offset, object.key.offset + 7};
    found.message = "the wait passes only because the barrier is new; what phase 0 hands over is used before that phase is complete";
    return found;
  }

  Machine& machine_;
  const std::vector<Object> objects_, never_made_;
};

}  // namespace

void attribute_conflicts(Machine& machine) {
  const auto& all = machine.candidates.all();
  if (std::none_of(all.begin(), all.end(), [](const Candidate& c) { return !c.conflicts.empty(); })) return;
  Attribution(machine).apply();
}

}  // namespace tmemsim::sim
