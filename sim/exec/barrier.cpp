// Named barriers of the CTA, warp barrier, elect. PTX ISA 9.7.13.
#include "ir/ops/barrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::uint32_t barrier_ids = 16;

std::uint32_t all_threads(const Machine& machine) { return machine.kernel.launch.warps * 32; }

std::uint32_t barrier_id(Warp& warp, const Expr& id) {
  const WarpValue value = warp.evaluate_for_warp(id, "the barrier id");
  if (value.value < 0 || static_cast<std::uint32_t>(value.value) >= barrier_ids) {
    input_error(warp.machine.kernel.files, warp.machine.program.steps[warp.step].stmt->at,
                fmt::format("barrier id {} does not exist", value.value), "a CTA has the barriers 0 to 15");
  }
  return static_cast<std::uint32_t>(value.value);
}

bool is_complete(const Machine& machine, const Cta& cta, const NamedBarrier& barrier) {
  if (barrier.expected == 0) return false;
  if (!barrier.all_threads) return barrier.threads >= barrier.expected;
  for (std::uint32_t w = 0; w < machine.kernel.launch.warps; ++w)
    if (cta.warps[w].live != 0 && !barrier.counted[w]) return false;
  return true;
}

// Everybody has arrived: those who wait go on and know what the arrivers knew; the barrier is ready for its next use.
void complete(Machine& machine, Cta& cta, std::uint32_t id) {
  NamedBarrier& barrier = cta.barriers[id];
  const Views carried = std::move(barrier.views);
  const std::uint32_t uses = barrier.uses + 1, record = barrier.last_record;
  std::vector<NamedBarrier::Own> own = std::move(barrier.own);
  const std::vector<std::uint8_t> for_all = std::move(barrier.for_all);
  barrier = NamedBarrier{};
  barrier.own = std::move(own);
  barrier.uses = uses;
  barrier.completed_by = record;
  const SyncPoint key{BarrierState::Kind::named, cta.index, id};
  if (machine.tracer) machine.tracer->complete_phase(key);
  for (WarpState& warp : cta.warps) {
    for (LaneGroup& group : warp.groups) {
      if (group.state != LaneGroup::State::barrier || group.waits_for != id) continue;
      Warp waiting(machine, warp, group.pc, group.lanes, group.number);
      waiting.acquire(group.lanes, carried, Edge::barrier);
      waiting.change_views(group.lanes, [&](Views& views) { views.any.raise(cta.index, barrier_agent(machine, id), uses); });
      group.state = LaneGroup::State::ready;
      if (machine.tracer) machine.tracer->wake(warp, group, group.pc, true, &key);
      ++group.pc;
      machine.make_ready(warp);
    }
    if (!for_all[warp.warp] || warp.live == 0) continue;
    Warp whole(machine, warp, static_cast<std::uint32_t>(machine.program.steps.size() - 1), warp.live, warp.executed);
    whole.acquire(warp.live, carried, Edge::barrier);
    whole.change_views(warp.live, [&](Views& views) { views.any.raise(cta.index, barrier_agent(machine, id), uses); });
  }
}

// Some threads of the warp never come, which is reported here: they count as if they had come and waited.
void count_for_all(Machine& machine, NamedBarrier& barrier, WarpState& warp) {
  barrier.counted[warp.warp] = barrier.for_all[warp.warp] = 1;
  barrier.threads += 32;
  barrier.views.join_released(Warp(machine, warp, static_cast<std::uint32_t>(machine.program.steps.size() - 1), warp.live, warp.executed).released(warp.live));
}

void count_if_whole(NamedBarrier& barrier, const WarpState& warp) {
  if (barrier.counted[warp.warp] || warp.live == 0 || (warp.live & ~barrier.arrived[warp.warp]) != 0 || barrier.arrived[warp.warp] == 0) return;
  barrier.counted[warp.warp] = 1;
  barrier.threads += 32;
}

// A warp may arrive again when it knows that the use of which its last arrival was part is complete. Whether that use happens to
// be complete by now is up to the schedule, so it does not count.
void report_second_arrival(Warp& warp, NamedBarrier& barrier, std::uint32_t id) {
  barrier.own.resize(warp.cta.warps.size());
  const NamedBarrier::Own& own = barrier.own[warp.state.warp];
  if (own.record == 0) return;
  const bool arrived_in_this_use = (barrier.arrived[warp.state.warp] & warp.lanes) != 0;
  const bool knows = std::all_of(warp.state.views.begin(), warp.state.views.end(), [&](const ViewGroup& group) {
    return !(group.lanes & warp.lanes) || group.views.any.count(warp.cta.index, barrier_agent(warp.machine, id)) > own.use;
  });
  const bool other_lanes = own.use == barrier.uses && !arrived_in_this_use;  // the lanes of a warp come in parts
  if (knows || other_lanes) return;
  warp.report(warp.candidate(Verdict::participation, fmt::format("the warp arrives at barrier {} a second time, and does not know that it is complete", id),
                             own.record));
}

void report_partial(Machine& machine, WarpState& warp, std::uint32_t id, std::uint32_t arrived) {
  for (const LaneGroup& group : warp.groups) {
    if (group.state != LaneGroup::State::barrier || group.waits_for != id) continue;
    Warp waiting(machine, warp, group.pc, group.lanes, group.number);
    Candidate found = waiting.candidate(Verdict::participation, fmt::format("only {} of the 32 threads of the warp come to barrier {}", std::popcount(arrived), id));
    found.others_ran_ahead = true;
    waiting.report(std::move(found));
    return;
  }
}

// Lanes of the warp stand in the same barrier at an earlier statement: that use is theirs, and these lanes come to the next one.
bool others_wait_before(const Warp& warp, std::uint32_t id) {
  return std::any_of(warp.state.groups.begin(), warp.state.groups.end(), [&](const LaneGroup& group) {
    return group.state == LaneGroup::State::barrier && group.waits_for == id && group.pc < warp.step;
  });
}

Ran arrive(Warp& warp, const Expr& id_expr, const Expr* count, bool waits) {
  const std::uint32_t id = barrier_id(warp, id_expr);
  Machine& machine = warp.machine;
  NamedBarrier& barrier = warp.cta.barriers[id];
  std::uint32_t expected = all_threads(machine);
  if (count) {
    const WarpValue value = warp.evaluate_for_warp(*count, "the thread count");
    if (value.value <= 0 || value.value % 32 != 0 || static_cast<std::uint32_t>(value.value) > 1024) {
      if (!value.bad) {
        warp.report(warp.candidate(Verdict::participation, fmt::format("a barrier cannot have {} threads: the count is a multiple of 32 up to 1024",
                                                                       value.value)));
      }
    } else {
      expected = static_cast<std::uint32_t>(value.value);
    }
  }
  if (barrier.expected == 0) {
    barrier.expected = expected;
    barrier.all_threads = !count;
    barrier.arrived.assign(warp.cta.warps.size(), 0);
    barrier.counted.assign(warp.cta.warps.size(), 0);
    barrier.for_all.assign(warp.cta.warps.size(), 0);
  } else if (barrier.expected != expected) {
    warp.report(warp.candidate(Verdict::participation,
                               fmt::format("this use of barrier {} has {} threads for some warps and {} for this one", id, barrier.expected, expected),
                               barrier.last_record));
  }
  if (others_wait_before(warp, id)) return Ran::blocked(LaneGroup::State::rendezvous, id, barrier.last_record);
  report_second_arrival(warp, barrier, id);
  const std::uint32_t record = warp.record(no_buffer);
  barrier.own[warp.state.warp] = {record, barrier.uses};
  // Determinate only if whoever arrives knows that the use before this one is complete.
  for (const ViewGroup& group : warp.state.views) {
    if (!(group.lanes & warp.lanes) || barrier.uses == 0) continue;
    if (group.views.any.count(warp.cta.index, barrier_agent(machine, id)) < barrier.uses) machine.note_unordered(record, barrier.completed_by);
  }
  barrier.last_record = record;
  const SyncPoint key{BarrierState::Kind::named, warp.cta.index, id};
  if (machine.tracer) machine.tracer->arrive(key);
  barrier.arrived[warp.state.warp] |= warp.lanes;
  barrier.views.join_released(warp.released(warp.lanes));
  count_if_whole(barrier, warp.state);
  if (!is_complete(machine, warp.cta, barrier)) return waits ? Ran::blocked(LaneGroup::State::barrier, id, record) : Ran::finished();
  if (waits) {  // the last arriver is released like everybody else
    const Views carried = barrier.views;
    const std::uint32_t uses = barrier.uses + 1;
    complete(machine, warp.cta, id);
    if (machine.tracer) machine.tracer->see(key);
    warp.acquire(warp.lanes, carried, Edge::barrier);
    warp.change_views(warp.lanes, [&](Views& views) { views.any.raise(warp.cta.index, barrier_agent(machine, id), uses); });
  } else {
    complete(machine, warp.cta, id);
  }
  return Ran::finished();
}

}  // namespace

std::uint32_t barrier_agent(const Machine& machine, std::uint32_t id) { return 3 * machine.kernel.launch.warps + id; }

Ran execute(const BarrierSync& op, Warp& warp) { return arrive(warp, op.id, op.count ? &*op.count : nullptr, true); }
Ran execute(const BarrierArrive& op, Warp& warp) { return arrive(warp, op.id, &op.count, false); }

void barriers_after_exit(Machine& machine, Cta& cta) {
  for (std::uint32_t id = 0; id < barrier_ids; ++id) {
    NamedBarrier& barrier = cta.barriers[id];
    if (barrier.expected == 0) continue;
    for (WarpState& warp : cta.warps) {
      const std::uint32_t arrived = barrier.arrived[warp.warp];
      if (arrived == 0 || barrier.counted[warp.warp] || (warp.live & ~arrived) != 0) continue;
      report_partial(machine, warp, id, arrived);  // the others have gone past it, to their exit
      count_for_all(machine, barrier, warp);
    }
    if (is_complete(machine, cta, barrier)) complete(machine, cta, id);
  }
}

bool resolve_partial_barriers(Machine& machine, Cta& cta) {
  bool changed = false;
  for (std::uint32_t id = 0; id < barrier_ids; ++id) {
    NamedBarrier& barrier = cta.barriers[id];
    if (barrier.expected == 0) continue;
    for (WarpState& warp : cta.warps) {
      const std::uint32_t arrived = barrier.arrived[warp.warp];
      if (arrived == 0 || barrier.counted[warp.warp] || warp.live == 0 || machine.wait_for_others(warp, warp.live & ~arrived)) continue;
      report_partial(machine, warp, id, arrived);
      count_for_all(machine, barrier, warp);
      changed = true;
    }
    if (is_complete(machine, cta, barrier)) complete(machine, cta, id);
  }
  return changed;
}

std::string missing_at_barrier(const Machine& machine, const Cta& cta, std::uint32_t id) {
  const NamedBarrier& barrier = cta.barriers[id];
  std::string missing;
  for (const WarpState& warp : cta.warps) {
    if (barrier.counted[warp.warp]) continue;
    if (!missing.empty()) missing += ", ";
    missing += fmt::format("warp {}{}", warp.warp, warp.live == 0 ? " (exited)" : "");
  }
  (void)machine;
  return missing.empty() ? "no other warp" : missing;
}

Ran execute(const WarpSync& op, Warp& warp) {
  std::uint32_t mask = ~0u;
  if (op.mask) {
    const WarpValue value = warp.evaluate_for_warp(*op.mask, "the mask");
    mask = static_cast<std::uint32_t>(value.value);
    if (!value.bad && (warp.lanes & ~mask) != 0) {
      warp.report(warp.candidate(Verdict::participation, "a thread executes bar.warp.sync without being in its mask"));
      mask |= warp.lanes;
    }
  }
  const std::uint32_t wanted = mask & warp.state.live;
  std::uint32_t here = warp.lanes;
  for (const LaneGroup& group : warp.state.groups)
    if (group.state == LaneGroup::State::warp_sync && group.waits_for == mask) here |= group.lanes;
  if ((wanted & ~here) != 0) return Ran::blocked(LaneGroup::State::warp_sync, mask, warp.record(no_buffer));
  const Views carried = warp.released(here);
  warp.acquire(here, carried, Edge::warp);
  for (LaneGroup& group : warp.state.groups) {
    if (group.state != LaneGroup::State::warp_sync || group.waits_for != mask) continue;
    group.state = LaneGroup::State::ready;
    if (warp.machine.tracer) warp.machine.tracer->wake(warp.state, group, group.pc, true);
    ++group.pc;
  }
  return Ran::finished();
}

Ran execute(const ElectSync& op, Warp& warp) {
  std::uint32_t mask = warp.lanes;
  if (op.mask) {
    const WarpValue value = warp.evaluate_for_warp(*op.mask, "the mask");
    mask = static_cast<std::uint32_t>(value.value);
    if (!value.bad && (warp.lanes & ~mask) != 0) {
      warp.report(warp.candidate(Verdict::participation, "a thread executes elect.sync without being in its mask"));
    }
  }
  const std::uint32_t row = warp.plan(op.dst).rows.front();
  warp.write_row(row, warp.lanes, 0, 0);
  std::uint32_t* words = warp.state.registers.row(row);
  warp.state.leader = warp.machine.elected((mask & warp.lanes) != 0 ? mask & warp.lanes : warp.lanes);
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(warp.state.leader));
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    if (warp.lanes >> lane & 1u) words[lane] = lane == leader ? 1 : 0;
  return Ran::finished();
}

}  // namespace tmemsim::sim
