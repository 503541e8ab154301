#include "sim/exec/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/ops/mbarrier.hpp"
#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::int64_t most_count = (std::int64_t{1} << 20) - 1;
constexpr std::size_t object_bytes = 8;
constexpr std::size_t most_waits = 256;  // kept of one barrier

Place place_of(const Machine& machine, const Cta& cta, std::int64_t offset) {
  Place place;
  place.space = "barrier";
  place.cta = cta.index;
  place.bytes = {offset, offset + static_cast<std::int64_t>(object_bytes) - 1};
  for (const Buffer& buffer : machine.kernel.buffers) {
    const std::int64_t first = buffer.offset.value_or(0);
    if (buffer.space != Space::shared || buffer.dtype != Dtype::mbarrier || offset < first || offset >= first + byte_size(buffer)) continue;
    place.buffer = buffer.name;
    place.index = {(offset - first) / static_cast<std::int64_t>(object_bytes)};
  }
  return place;
}

Candidate about(const Machine& machine, const Cta& cta, std::int64_t offset, Verdict verdict, std::uint32_t at, std::string message) {
  Candidate found;
  found.verdict = verdict;
  found.at = machine.ref(at);
  const Access& access = machine.accesses[at];
  found.at_instance = {access.cta, access.warp, access.number};
  found.where = place_of(machine, cta, offset);
  found.message = std::move(message);
  return found;
}

void set_other(const Machine& machine, Candidate& found, std::uint32_t record) {
  if (record == 0) return;
  const Access& access = machine.accesses[record];
  found.other = machine.ref(record);
  found.other_instance = {access.cta, access.warp, access.number};
}

bool knows(const Views& views, const Machine& machine, std::uint32_t record) {
  const Access& x = machine.accesses[record];
  for (std::uint32_t lanes = x.lanes; lanes != 0; lanes &= lanes - 1)  // one event of the lanes that made it
    if (views.any.order(x.cta, x.warp, static_cast<std::uint32_t>(std::countr_zero(lanes))) >= x.number) return true;
  return false;
}

// Waits for an older phase have to come before this completion, or they may miss theirs.
void check_waits(Machine& machine, Cta& owner, std::int64_t offset, Mbarrier& barrier, const Views& completion) {
  for (const Mbarrier::Wait& wait : barrier.waits) {
    if (wait.meant >= static_cast<std::int64_t>(barrier.phase) || knows(completion, machine, wait.record)) continue;
    machine.note_unordered(wait.record, barrier.last_arrival);
    if (barrier.reported) continue;
    Candidate found = about(machine, owner, offset, Verdict::mbar_phase, wait.record,
                            fmt::format("the wait means phase {}, and nothing orders it before the completion of phase {}", wait.meant, barrier.phase));
    found.severity = machine.options.profile.is_strict() ? Severity::error : Severity::note;
    set_other(machine, found, barrier.last_arrival);
    machine.candidates.add(std::move(found));
  }
  std::erase_if(barrier.waits, [&](const Mbarrier::Wait& wait) { return wait.meant < static_cast<std::int64_t>(barrier.phase); });
}

void complete_if_due(Machine& machine, Cta& owner, std::int64_t offset, Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.tx != 0) return;
  Views all = barrier.arriving;
  all.any.join(barrier.arriving_relaxed.any);
  all.any.join(barrier.completed.any);
  all.any.join(barrier.completed_relaxed.any);
  check_waits(machine, owner, offset, barrier, all);
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.arrivals = 0;
  barrier.completed_by = barrier.last_arrival;
  barrier.completed.join_released(barrier.arriving);
  barrier.completed_relaxed.join_released(barrier.arriving_relaxed);
  barrier.arriving = {};
  barrier.arriving_relaxed = {};
  machine.wake_mbarrier_waits(owner, offset);
}

void check_range_of_tx(Machine& machine, Cta& owner, std::int64_t offset, Mbarrier& barrier, const Signal& signal) {
  if (barrier.tx >= -most_count && barrier.tx <= most_count) return;
  if (!barrier.reported) machine.candidates.add(about(machine, owner, offset, Verdict::mbar_tx, signal.record, fmt::format("the transaction count becomes {}", barrier.tx)));
  barrier.reported = true;
  barrier.tx = std::clamp(barrier.tx, -most_count, most_count);
}

}  // namespace

Mbarrier* mbarrier_at(Cta& cta, std::int64_t offset) {
  const auto found = cta.mbarriers.find(offset);
  return found == cta.mbarriers.end() ? nullptr : &found->second;
}

const Mbarrier* mbarrier_over(const Cta& cta, std::int64_t first, std::int64_t bytes) {
  auto at = cta.mbarriers.lower_bound(first - static_cast<std::int64_t>(object_bytes) + 1);
  for (; at != cta.mbarriers.end() && at->first < first + bytes; ++at)
    if (at->second.valid) return &at->second;
  return nullptr;
}

Mbarrier* usable_mbarrier(Warp& warp, Cta& owner, std::int64_t offset) {
  Mbarrier* barrier = mbarrier_at(owner, offset);
  const auto complain = [&](std::string message, std::uint32_t other) {
    Candidate found = warp.candidate(Verdict::mbar_uninit, std::move(message), other);
    found.where = place_of(warp.machine, owner, offset);
    warp.report(std::move(found));
  };
  if (!barrier || !barrier->valid) {
    if (!barrier || !barrier->reported) complain(barrier ? "the barrier object has been invalidated" : "there is no barrier object here", barrier ? barrier->inval_record : 0);
    owner.mbarriers[offset].reported = true;
    return nullptr;
  }
  const Sight which = barrier->init_fenced ? Sight::any : Sight::generic;
  if (!warp.happened_before(which, barrier->init_record, barrier->init_lanes, warp.lanes, false) && !barrier->reported) {
    complain("nothing orders the operation after the barrier's init", barrier->init_record);
    barrier->reported = true;
  }
  return barrier;
}

void mbarrier_arrive(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t count, const Signal& signal) {
  Mbarrier* barrier = mbarrier_at(owner, offset);
  if (!barrier || !barrier->valid) return;
  if (barrier->phase > 0) {
    const bool observed = signal.views->any.count(owner.index, barrier->agent) >= barrier->phase;
    if (!observed) {
      machine.note_unordered(signal.record, barrier->completed_by);
      const Severity severity = machine.options.profile.severity(Switch::observe_each_phase);
      if (!barrier->reported && severity != Severity::none) {
        Candidate found = about(machine, owner, offset, Verdict::mbar_count, signal.record,
                                fmt::format("an arrival on phase {} of a barrier with {} arrivals a phase; nobody has been seen to wait for phase {}",
                                            barrier->phase, barrier->expected, barrier->phase - 1));
        found.severity = severity;
        found.decided_by = Switch::observe_each_phase;
        set_other(machine, found, barrier->completed_by);
        machine.candidates.add(std::move(found));
        barrier->reported = severity == Severity::error;
      }
    }
  }
  barrier->last_arrival = signal.record;
  if (count > barrier->pending) {
    if (!barrier->reported) {
      machine.candidates.add(about(machine, owner, offset, Verdict::mbar_count, signal.record,
                                   fmt::format("{} arrivals on a phase that has only {} pending", count, barrier->pending)));
    }
    barrier->reported = true;
    count = barrier->pending;
  }
  ++barrier->arrivals;
  (signal.release ? barrier->arriving : barrier->arriving_relaxed).join_released(*signal.views);
  barrier->pending -= count;
  complete_if_due(machine, owner, offset, *barrier);
}

void mbarrier_expect_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal) {
  Mbarrier* barrier = mbarrier_at(owner, offset);
  if (!barrier || !barrier->valid) return;
  barrier->tx += bytes;
  barrier->arriving_relaxed.any.join(signal.views->any);
  check_range_of_tx(machine, owner, offset, *barrier, signal);
  complete_if_due(machine, owner, offset, *barrier);
}

void mbarrier_complete_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal) {
  Mbarrier* barrier = mbarrier_at(owner, offset);
  if (!barrier || !barrier->valid) return;
  barrier->tx -= bytes;
  barrier->arriving.join_released(*signal.views);
  check_range_of_tx(machine, owner, offset, *barrier, signal);
  complete_if_due(machine, owner, offset, *barrier);
}

Standstill why_incomplete(const Mbarrier& barrier) {
  Standstill why;
  if (!barrier.valid) return {false, false, "there is no barrier object"};
  why.count = barrier.arrivals > 0 && barrier.pending > 0;
  why.tx = barrier.pending == 0 && barrier.tx != 0;
  why.text = fmt::format("phase {} has had {} of {} arrivals", barrier.phase, barrier.expected - barrier.pending, barrier.expected);
  if (barrier.tx != 0) why.text += fmt::format(" and {} bytes are {}", barrier.tx > 0 ? barrier.tx : -barrier.tx, barrier.tx > 0 ? "still expected" : "more than expected");
  return why;
}

// ---- executors ----

namespace {

template <class Visit> void for_each_lane(std::uint32_t lanes, Visit&& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

std::uint32_t lane_record(Warp& warp, std::uint32_t lanes) {
  Access access = warp.describe();
  access.lanes = lanes;
  access.collective = true;
  return warp.machine.accesses.add(access);
}

// Calls act(owner, offset, lane, signal) for each lane: every thread signals by itself.
template <class Act> Ran signal_each(Warp& warp, const Mem& bar, const std::optional<Expr>& rank, Sem sem, Act&& act) {
  const ByteSpan span = warp.locate(warp.plan(bar), object_bytes, rank);
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    Cta& owner = *span.owner;
    if (!usable_mbarrier(warp, owner, span.first[lane])) return;
    const std::uint32_t record = lane_record(warp, 1u << lane);
    if (&owner != &warp.cta) owner.remote.push_back(record);
    const Views views = warp.released(1u << lane);
    act(owner, span.first[lane], lane, Signal{record, &views, sem == Sem::release});
  });
  return Ran::finished();
}

std::int64_t phase_meant(const Mbarrier& barrier, std::uint32_t thread, std::uint32_t parity) {
  const std::int64_t k = barrier.phase;
  for (const auto& [known, m] : barrier.meant) {
    if (known != thread) continue;
    if ((m & 1) != parity) return m + 1;
    return k == m + 1 ? m : m + 2;
  }
  return (k & 1) == parity ? k : k - 1;
}

void remember(Mbarrier& barrier, std::uint32_t thread, std::int64_t phase) {
  for (auto& [known, m] : barrier.meant) {
    if (known != thread) continue;
    m = phase;
    return;
  }
  barrier.meant.emplace_back(thread, phase);
}

// Determinate only if whoever waits for a phase knows that the one before it is complete, and asks no open question.
void note_order_of_wait(Warp& warp, const Mbarrier& barrier, std::int64_t meant, bool polls) {
  if (warp.retrying || barrier.last_arrival == 0) return;
  bool known = meant < 1;
  for (const ViewGroup& group : warp.state.views)
    known = known || ((group.lanes & warp.lanes) && group.views.any.count(warp.cta.index, barrier.agent) >= static_cast<std::uint32_t>(meant));
  if (!known || polls) warp.machine.note_unordered(lane_record(warp, warp.lanes), barrier.last_arrival);
}

template <class Op> Ran wait(const Op& op, Warp& warp) {
  const ByteSpan span = warp.locate(warp.plan(op.bar), object_bytes);
  const WarpValue parity = warp.evaluate_for_warp(op.parity, "the parity");
  const auto answer = [&](bool yes) {
    if (!op.poll) return;
    const std::uint32_t row = warp.plan(*op.poll).rows.front();
    warp.write_row(row, warp.lanes, 0, 0);
    for_each_lane(warp.lanes, [&](std::uint32_t lane) { warp.state.registers.row(row)[lane] = yes ? 1 : 0; });
  };
  if (span.lanes == 0) {
    answer(true);
    return Ran::finished();
  }
  const std::int64_t offset = span.first[warp.first_lane()];
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    if (span.first[lane] != offset) {
      throw Unsupported("lanes of one warp that wait for different barriers in one instruction are not simulated", warp.machine.program.steps[warp.step].stmt->at);
    }
  });
  if (parity.value != 0 && parity.value != 1 && !parity.bad) {
    input_error(warp.machine.kernel.files, warp.machine.program.steps[warp.step].stmt->at, fmt::format("the parity is {}", parity.value), "a parity is 0 or 1");
  }
  Mbarrier* barrier = usable_mbarrier(warp, warp.cta, offset);
  if (!barrier) {
    answer(true);
    return Ran::finished();  // the fault is told: go on
  }
  const auto p = static_cast<std::uint32_t>(parity.value & 1);
  const std::uint32_t thread = warp.state.warp * 32 + warp.first_lane();
  const std::int64_t k = barrier->phase;
  const bool yes = (k & 1) != p;
  // A wait that blocked means the phase that it meant when it was first tried.
  const LaneGroup* group = warp.machine.group_at(warp.state, warp.step, warp.lanes);
  const std::int64_t meant = warp.retrying && group ? group->meant : phase_meant(*barrier, thread, p);
  const bool completed = yes || (warp.retrying && meant < k);
  note_order_of_wait(warp, *barrier, meant, op.poll.has_value());
  if (!completed && !op.poll) {
    const std::uint32_t blocked = lane_record(warp, warp.lanes);
    if (!warp.retrying && barrier->waits.size() < most_waits) barrier->waits.push_back({meant, blocked});
    if (LaneGroup* mine = warp.machine.group_at(warp.state, warp.step, warp.lanes)) mine->meant = meant;
    return Ran::blocked(LaneGroup::State::mbarrier, static_cast<std::uint32_t>(offset), blocked);
  }
  answer(completed);
  if (!completed) {
    warp.state.polled_false = warp.number;
    warp.state.polled_barrier = offset;
    return Ran::finished();
  }
  const std::uint32_t record = lane_record(warp, warp.lanes);
  if (k - meant >= 2 && !barrier->reported) {
    Candidate found = warp.candidate(Verdict::mbar_phase, fmt::format("the wait means phase {} of a barrier that is in phase {}", meant, k), barrier->completed_by);
    found.where = place_of(warp.machine, warp.cta, offset);
    warp.report(std::move(found));
    barrier->reported = true;
  }
  for_each_lane(warp.lanes, [&](std::uint32_t lane) { remember(*barrier, warp.state.warp * 32 + lane, meant); });
  if (!warp.retrying && barrier->waits.size() < most_waits) barrier->waits.push_back({meant, record});
  if (meant < 0) return Ran::finished();  // a fresh barrier: nothing is handed over
  const bool acquires = op.sem == Sem::acquire;
  warp.acquire(warp.lanes, barrier->completed, acquires ? Edge::release_acquire : Edge::relaxed);
  warp.acquire(warp.lanes, barrier->completed_relaxed, Edge::relaxed);
  warp.change_views(warp.lanes, [&](Views& views) {
    views.any.raise(warp.cta.index, barrier->agent, static_cast<std::uint32_t>(meant + 1));
    views.generic.raise(warp.cta.index, barrier->agent, static_cast<std::uint32_t>(meant + 1));
  });
  return Ran::finished();
}

}  // namespace

Ran execute(const MbarrierInit& op, Warp& warp) {
  const ByteSpan span = warp.locate(warp.plan(op.bar), object_bytes);
  const LaneValues counts = warp.evaluate(op.count);
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    const std::int64_t offset = span.first[lane];
    Mbarrier& barrier = warp.cta.mbarriers[offset];
    const std::uint32_t record = lane_record(warp, 1u << lane);
    if (barrier.valid && !barrier.reported) {
      Candidate found = warp.candidate(Verdict::mbar_uninit, "init of a barrier object that is still valid", barrier.init_record);
      found.where = place_of(warp.machine, warp.cta, offset);
      warp.report(std::move(found));
    }
    std::int64_t count = counts.value[lane];
    const std::uint32_t agent = barrier.agent != 0 ? barrier.agent : warp.cta.next_agent++;
    const bool bad = count < 1 || count > most_count;
    if (bad) {
      Candidate found = warp.candidate(Verdict::mbar_count, fmt::format("a barrier cannot expect {} arrivals", count));
      found.where = place_of(warp.machine, warp.cta, offset);
      warp.report(std::move(found));
      count = 1;
    }
    barrier = {};
    barrier.valid = true;
    barrier.expected = barrier.pending = count;
    barrier.init_record = record;
    barrier.init_lanes = 1u << lane;
    barrier.agent = agent;
    barrier.reported = bad;
  });
  return Ran::finished();
}

Ran execute(const MbarrierInval& op, Warp& warp) {
  const ByteSpan span = warp.locate(warp.plan(op.bar), object_bytes);
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    Mbarrier* barrier = usable_mbarrier(warp, warp.cta, span.first[lane]);
    if (!barrier) return;
    barrier->valid = false;
    barrier->inval_record = lane_record(warp, 1u << lane);
  });
  return Ran::finished();
}

Ran execute(const MbarrierArrive& op, Warp& warp) {
  const LaneValues counts = warp.evaluate(op.count);
  return signal_each(warp, op.bar, op.rank, op.sem, [&](Cta& owner, std::int64_t offset, std::uint32_t lane, const Signal& signal) {
    mbarrier_arrive(warp.machine, owner, offset, counts.value[lane], signal);
  });
}

Ran execute(const MbarrierArriveExpectTx& op, Warp& warp) {
  const LaneValues bytes = warp.evaluate(op.bytes);
  return signal_each(warp, op.bar, op.rank, op.sem, [&](Cta& owner, std::int64_t offset, std::uint32_t lane, const Signal& signal) {
    mbarrier_expect_tx(warp.machine, owner, offset, bytes.value[lane], signal);
    mbarrier_arrive(warp.machine, owner, offset, 1, signal);
  });
}

Ran execute(const MbarrierExpectTx& op, Warp& warp) {
  const LaneValues bytes = warp.evaluate(op.bytes);
  return signal_each(warp, op.bar, op.rank, op.sem, [&](Cta& owner, std::int64_t offset, std::uint32_t lane, const Signal& signal) {
    mbarrier_expect_tx(warp.machine, owner, offset, bytes.value[lane], signal);
  });
}

Ran execute(const MbarrierTestWait& op, Warp& warp) { return wait(op, warp); }
Ran execute(const MbarrierTryWait& op, Warp& warp) { return wait(op, warp); }

}  // namespace tmemsim::sim
