// Runs the warps: one step of one group of lanes at a time, until every thread has exited or nobody can go on.
//
// Every thread has its own program counter. Lanes of a warp that stand at the same step are a group; the group with the
// smallest counter runs first, so that lanes that took different branches come together again. A group that takes a backward
// branch lets the other lanes run first: a thread that spins does not starve the one it waits for.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/dispatch.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::size_t control_steps_a_turn = 64;  // branches and skipped statements that a warp passes in one turn

std::string_view agent_name(Async agent) {
  switch (agent) {
    case Async::ld: return "ld";
    case Async::st: return "st";
    case Async::mma: return "mma";
    case Async::cp: return "cp";
    case Async::shift: return "shift";
    case Async::bulk: return "bulk";
    case Async::none: break;
  }
  return "";
}

std::string_view waits_for(LaneGroup::State state) {
  switch (state) {
    case LaneGroup::State::barrier: return "waits for the other threads of the barrier";
    case LaneGroup::State::alloc: return "waits for columns";
    case LaneGroup::State::mbarrier: return "waits for the phase";
    case LaneGroup::State::cluster: return "waits for the other threads of the cluster";
    case LaneGroup::State::pair: return "waits for the peer";
    case LaneGroup::State::warp_sync: return "waits for the other lanes";
    default: return "";
  }
}

// A wait on an mbarrier that a whole warp is to make means one phase for all its lanes.
bool is_wait_of_a_warp(const Step& step) {
  if (step.kind != Step::Kind::op || step.where.elect || step.where.lanes) return false;
  const auto& op = std::get<MachineOps::Any>(step.stmt->node);
  const auto* wait = std::get_if<MbarrierTryWait>(&op);
  return wait && !wait->poll;
}

bool names_part_of_a_warp(const Where& where) { return where.elect || (where.lanes && (where.lanes->first != 0 || where.lanes->last < 31)); }

}  // namespace

// Lanes of the group that execute the step.
std::uint32_t Machine::executing(const Step& step, const WarpState& warp, std::uint32_t lanes) {
  const std::uint32_t named = lanes & lanes_of(step.where, warp.cta, warp.warp);
  return step.where.elect && named != 0 ? elected(named) : named;
}

void Machine::make_ready(WarpState& warp) {
  if (warp.queued) return;
  warp.queued = true;
  ready.push_back(&warp);
}

LaneGroup* Machine::group_at(WarpState& warp, std::uint32_t step, std::uint32_t lanes) {
  for (LaneGroup& group : warp.groups)
    if (group.pc == step && (group.lanes & lanes) != 0) return &group;
  return nullptr;
}

void Machine::merge_groups(WarpState& warp) {
  auto& groups = warp.groups;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto mergeable = [](const LaneGroup& g) { return (g.state == LaneGroup::State::ready || g.state == LaneGroup::State::rendezvous) && !g.retrying && g.apart_at != g.pc; };
    if (!mergeable(groups[i])) continue;
    for (std::size_t j = groups.size(); j-- > i + 1;) {
      if (!mergeable(groups[j]) || groups[j].pc != groups[i].pc) continue;
      groups[i].lanes |= groups[j].lanes;
      groups[i].yielded = groups[i].yielded && groups[j].yielded;
      groups[i].alone = groups[i].alone || groups[j].alone;
      groups[i].told_apart = groups[i].told_apart && groups[j].told_apart;
      groups[i].state = LaneGroup::State::ready;
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

bool Machine::others_may_come(const WarpState& warp, std::uint32_t step, std::uint32_t lanes) const {
  return std::any_of(warp.groups.begin(), warp.groups.end(), [&](const LaneGroup& other) { return (other.lanes & ~lanes) != 0 && other.pc < step; });
}

// Lanes that would have waited for an mbarrier together with others go on without them.
bool Machine::let_lanes_wait_alone() {
  bool changed = false;
  for (Cta& cta : ctas) {
    for (WarpState& warp : cta.warps) {
      for (LaneGroup& group : warp.groups) {
        if (group.state != LaneGroup::State::rendezvous || !is_wait_of_a_warp(program.steps[group.pc])) continue;
        group.state = LaneGroup::State::ready;
        group.alone = true;
        make_ready(warp);
        changed = true;
      }
    }
  }
  return changed;
}

// An election waits for the lanes that are still on their way to it.
bool Machine::waits_for_election(const WarpState& warp, const LaneGroup& group) const {
  if (warp.groups.size() == 1 || !program.steps[group.pc].where.elect) return false;
  return std::any_of(warp.groups.begin(), warp.groups.end(), [&](const LaneGroup& other) {
    return other.pc < group.pc && (other.state == LaneGroup::State::ready || other.state == LaneGroup::State::sleeping);
  });
}

// The ready group with the smallest counter; one that has just taken a backward branch comes after the others.
LaneGroup* Machine::pick_group(WarpState& warp) {
  for (LaneGroup& group : warp.groups) {
    if (group.state != LaneGroup::State::sleeping || group.wake > now) continue;
    group.state = LaneGroup::State::ready;
    ++group.pc;
  }
  if (warp.groups.size() > 1) merge_groups(warp);
  LaneGroup* best = nullptr;
  bool any_ready = false;
  for (LaneGroup& group : warp.groups) {
    if (group.state != LaneGroup::State::ready || is_held(warp, group) || waits_for_election(warp, group)) continue;
    any_ready = true;
    if (group.yielded) continue;
    if (!best || group.pc < best->pc) best = &group;
  }
  if (best || !any_ready) return best;
  for (LaneGroup& group : warp.groups) group.yielded = false;
  return pick_group(warp);
}

WarpState* Machine::next_warp() {
  while (!ready.empty()) {
    if (options.scheduler == Scheduler::random) turn = random() % ready.size();
    if (turn >= ready.size()) turn = 0;
    WarpState* warp = ready[turn];
    bool has_work = false, asleep = false;
    for (const LaneGroup& group : warp->groups) {
      has_work = has_work || group.state == LaneGroup::State::ready || (group.state == LaneGroup::State::sleeping && group.wake <= now);
      asleep = asleep || group.state == LaneGroup::State::sleeping;
    }
    if (has_work) {
      if (options.scheduler != Scheduler::random) ++turn;
      return warp;
    }
    if (asleep) {  // nothing to do yet: time goes on
      ++now;
      ++turn;
      continue;
    }
    warp->queued = false;
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(turn));
  }
  return nullptr;
}

void Machine::run_to_end() {
  while (!stopped && options.schedule) {
    if (!run_scheduled() && !quiesce()) break;
    if (accesses.is_full()) collect_garbage();
  }
  std::uint64_t noticed = happened, quiet = 0;
  while (!stopped && !options.schedule) {
    WarpState* warp = next_warp();
    if (!warp) {
      if (quiesce()) continue;
      break;
    }
    ++now;
    constexpr std::uint64_t patience = 256;  // turns in which nobody did anything that others can notice: nobody gets on without the asynchronous ones
    if (happened != noticed) noticed = happened, quiet = 0;
    if (++quiet % patience == 0) {
      if (!background.empty()) complete_background();
      else let_lanes_wait_alone();
    }
    run_warp(*warp);
    if (accesses.is_full()) collect_garbage();
  }
  while (!background.empty()) complete_background();
  for (Cta& cta : ctas)
    for (WarpState& warp : cta.warps)
      for (Flight& flight : warp.flights) complete_one(warp, flight);
  check_permits_held();
  report_remote_after_exit();
  report_never_initialised(*this);
  if (!stopped) report_unexpected_bytes(*this);
  for (Cta& cta : ctas)
    for (EarlyAccess& early : cta.early_accesses) candidates.add(std::move(early.found));
  note_open_ends();
}

void Machine::stop_at_limit(WarpState& warp, const LaneGroup& group) {
  stopped = over_limit = true;
  const Ref here = ref(group.pc, warp, group.lanes);
  for (Cta& cta : ctas) resolve_rendezvous(cta);
  if (everybody_polls()) return report_blocked();
  if (std::any_of(candidates.all().begin(), candidates.all().end(), [](const Candidate& c) { return c.verdict == Verdict::participation; })) return;
  Candidate found;
  found.verdict = Verdict::step_limit;
  found.at = here;
  found.message = fmt::format("{} instructions were executed and the program has not ended", steps);
  candidates.add(std::move(found));
}

void Machine::run_warp(WarpState& warp) {
  if (options.policy == Policy::random && !warp.flights.empty()) complete_random(warp);
  if (options.policy == Policy::random && !options.schedule && !background.empty()) {
    if (random() % 8 == 0) show_random_progress();
    if (random() % 8 == 0) complete_background();
  }
  for (std::size_t passed = 0; passed < control_steps_a_turn; ++passed) {
    LaneGroup* group = pick_group(warp);
    if (!group) return;
    if (steps >= options.max_steps) return stop_at_limit(warp, *group);
    const Step& step = program.steps[group->pc];
    const std::uint32_t lanes = step.kind == Step::Kind::end ? group->lanes : executing(step, warp, group->lanes);
    const bool is_operation = step.kind == Step::Kind::op && lanes != 0;
    step_group(warp, static_cast<std::size_t>(group - warp.groups.data()));
    if (is_operation || step.kind == Step::Kind::end || stopped) return;
  }
}

void Machine::branch(WarpState& warp, std::size_t index, std::uint32_t away, std::uint32_t target) {
  LaneGroup& group = warp.groups[index];
  const bool backward = target <= group.pc;
  if (away == 0) {
    ++group.pc;
    return;
  }
  if (away != group.lanes) {
    LaneGroup rest = group;
    rest.lanes = away;
    rest.pc = target;
    rest.yielded = backward;
    group.lanes &= ~away;
    ++group.pc;
    warp.groups.push_back(rest);  // `group` is dangling from here on
    return;
  }
  group.pc = target;
  group.yielded = backward && warp.groups.size() > 1;
}

void Machine::step_group(WarpState& warp, std::size_t index) {
  LaneGroup& group = warp.groups[index];
  const Step& step = program.steps[group.pc];
  ++steps;
  if (step.kind == Step::Kind::end) {
    if (tracer) tracer->begin(Event::Kind::exit, warp, group.pc, group.lanes);
    exit_lanes(warp, index);
    if (tracer) tracer->end();
    return;
  }
  const std::uint32_t lanes = executing(step, warp, group.lanes);
  Event* control = nullptr;
  const auto begin_control = [&] {
    if (tracer) control = &tracer->begin(Event::Kind::control, warp, group.pc, lanes);
  };
  const auto end_control = [&](std::uint32_t inside) {  // counted loops are in the stream only where a bound is read from memory or registers
    if (!control) return;
    if (std::holds_alternative<For>(step.stmt->node) && control->reads.empty()) return tracer->drop();
    control->text = fmt::format("{} of {} threads go in", std::popcount(inside), std::popcount(lanes));
    tracer->end();
  };
  const auto evaluate = [&](const Expr& expr) {
    LaneValues values;
    Warp context(*this, warp, group.pc, lanes, ++warp.executed);
    context.event = control;
    values = context.evaluate(expr);
    return values;
  };
  switch (step.kind) {
    case Step::Kind::op:
      if (lanes == 0) ++group.pc;
      else execute_operation(warp, index, lanes);
      return;
    case Step::Kind::tile_begin:
      if (lanes != 0) log_issue(warp, group.pc, lanes);
      ++group.pc;
      return;
    case Step::Kind::tile_end: ++group.pc; return;
    case Step::Kind::delay:
      if (lanes == 0 || options.schedule) {  // a schedule needs no hints
        ++group.pc;
        return;
      }
      group.state = LaneGroup::State::sleeping;
      group.wake = now + std::get<Delay>(step.stmt->node).steps;
      return;
    case Step::Kind::jump: branch(warp, index, group.lanes, step.target); return;
    case Step::Kind::branch_unless: {
      std::uint32_t taken = 0;
      if (lanes != 0) {
        const auto* loop = std::get_if<While>(&step.stmt->node);
        begin_control();
        const LaneValues values = evaluate(loop ? loop->condition : std::get<If>(step.stmt->node).condition);
        for (std::size_t lane = 0; lane < 32; ++lane)
          if ((lanes >> lane & 1u) && values.value[lane] == 0) taken |= 1u << lane;
        end_control(lanes & ~taken);
      }
      const std::uint32_t skipped = group.lanes & ~lanes;
      if (skipped != 0 && step.after != step.target && skipped != group.lanes) {
        LaneGroup rest = group;
        rest.lanes = skipped;
        rest.pc = step.after;
        group.lanes = lanes;
        warp.groups.push_back(rest);
        branch(warp, index, taken, step.target);
        return;
      }
      if (skipped != 0 && skipped == group.lanes) {
        group.pc = step.after;
        return;
      }
      branch(warp, index, taken | skipped, step.target);
      return;
    }
    case Step::Kind::loop_enter: {
      std::uint32_t away = group.lanes & ~lanes;
      if (lanes != 0) {
        const auto& loop = std::get<For>(step.stmt->node);
        begin_control();
        const LaneValues begin = evaluate(loop.begin), end = evaluate(loop.end);
        for (std::size_t lane = 0; lane < 32; ++lane) {
          if (!(lanes >> lane & 1u)) continue;
          warp.loops[step.loop][lane] = begin.value[lane];
          if (begin.value[lane] >= end.value[lane]) away |= 1u << lane;
        }
        end_control(lanes & ~away);
      }
      branch(warp, index, away, step.target);
      return;
    }
    case Step::Kind::loop_next: {
      std::uint32_t again = 0;
      if (lanes != 0) {
        const auto& loop = std::get<For>(step.stmt->node);
        begin_control();
        const LaneValues by = evaluate(loop.step), end = evaluate(loop.end);
        for (std::size_t lane = 0; lane < 32; ++lane) {
          if (!(lanes >> lane & 1u)) continue;
          if (by.value[lane] <= 0) {
            input_error(kernel.files, step.stmt->at, fmt::format("the step of the loop is {}", by.value[lane]), "steps are positive");
          }
          const std::int64_t next = std::int64_t{warp.loops[step.loop][lane]} + by.value[lane];
          if (next >= end.value[lane]) continue;
          warp.loops[step.loop][lane] = static_cast<std::int32_t>(next);
          again |= 1u << lane;
        }
        end_control(again);
      }
      branch(warp, index, again, step.target);
      return;
    }
    case Step::Kind::end: return;
  }
}

void Machine::execute_operation(WarpState& warp, std::size_t index, std::uint32_t lanes) {
  LaneGroup& group = warp.groups[index];
  const std::uint32_t at = group.pc;
  const Step& step = program.steps[at];
  const Row& row = row_of(step);
  const bool whole_warp = row.who == Who::warp_aligned || row.name == "barrier.sync" || row.name == "barrier.arrive";
  if (!group.retrying) group.number = ++warp.executed;
  const bool partial_by_guard = whole_warp && names_part_of_a_warp(step.where);
  const std::uint32_t named = lanes;
  if (partial_by_guard && row.who != Who::warp_aligned) lanes = group.lanes;  // reported, and as if the barrier named the warp
  if (whole_warp && !group.retrying && !group.alone && !partial_by_guard && row.who == Who::warp_aligned && lanes != warp.live) {
    group.state = LaneGroup::State::rendezvous;  // the others may still come; if not, quiesce() lets us go on
    --warp.executed;
    return;
  }
  if (!group.retrying && !group.alone && lanes != warp.live && is_wait_of_a_warp(step) && others_may_come(warp, at, lanes)) {
    group.state = LaneGroup::State::rendezvous;
    --warp.executed;
    return;
  }
  Warp context(*this, warp, at, lanes, group.number, group.retrying);
  if (tracer) context.event = &tracer->begin(Event::Kind::execute, warp, at, lanes);
  const bool exited = row.who == Who::warp_aligned && warp.live != ~0u;
  if (!group.retrying && partial_by_guard && !exited) {
    Warp partial(*this, warp, at, named, group.number);
    partial.report(partial.candidate(Verdict::participation, "the statement names only a part of the warp"));
  }
  if (!group.retrying && exited)
    context.report(context.candidate(Verdict::participation, fmt::format("{} threads of the warp have exited", 32 - std::popcount(warp.live))));
  if (!in_tile[at] && row.moves_data && !group.retrying) log_issue(warp, at, lanes);
  if (!group.retrying && (lanes != warp.live || row.choice == Choice::leader)) note_lanes(warp, at, group, lanes, group.number);
  happened += open_facts.affects[at];
  if (open_facts.affects[at]) group.asked = ~std::uint64_t{0};
  group.counts = open_facts.loops[at] && (group.counts || !open_facts.asks[at]);
  executed[at] = 1;
  Dispatched result = dispatch(context, step);
  LaneGroup& now_group = warp.groups[index];  // executors change states, never the list of groups
  now_group.alone = false;
  now_group.retrying = false;
  if (result.ran.state == Ran::State::split) {
    LaneGroup rest = now_group;
    rest.lanes &= ~result.ran.waits_for;
    now_group.lanes = result.ran.waits_for;
    now_group.apart_at = rest.apart_at = at;
    warp.groups.push_back(rest);
    return;
  }
  if (result.ran.state == Ran::State::blocked) {
    now_group.state = result.ran.reason;
    now_group.waits_for = result.ran.waits_for;
    now_group.record = result.ran.record;
  } else {
    ++now_group.pc;
  }
  const bool waits = now_group.state == LaneGroup::State::barrier || result.ran.state == Ran::State::blocked;
  if (waits && lanes != now_group.lanes) {  // those that the statement leaves out go on
    LaneGroup rest = now_group;
    rest.lanes &= ~lanes;
    rest.state = LaneGroup::State::ready;
    rest.pc = at + 1;
    now_group.lanes = lanes;
    warp.groups.push_back(rest);
  }
  if (tracer && result.flight) result.flight->mark = tracer->take_off(agent_name(result.flight->agent), result.flight->agent);
  if (tracer && result.ran.state == Ran::State::blocked) {
    context.event->kind = Event::Kind::block;
    context.event->text = waits_for(result.ran.reason);
  }
  if (result.flight && result.flight->agent != Async::ld && result.flight->agent != Async::st) {
    start({result.flight->record, [&warp, apply = std::move(result.flight->complete)](Machine& machine) { apply(machine, warp); }, result.flight->mark,
           std::move(result.flight->progress)});
  } else if (result.flight) {
    if (options.policy == Policy::early) complete_one(warp, *result.flight);
    else warp.flights.push_back(std::move(*result.flight));
  }
  if (tracer) tracer->end();
}

// ---- asynchronous operations ----

void Machine::complete_one(WarpState& warp, Flight& flight) {
  if (flight.done) return;
  flight.done = true;
  if (flight.mark) tracer->begin_completion(flight.mark);
  flight.complete(*this, warp);
  flight.complete = nullptr;
  if (flight.mark) tracer->end();
}

void Machine::complete(WarpState& warp, Async agent, std::uint32_t count) {
  const auto due = [&](const Flight& flight) { return flight.agent == agent && flight.number <= count; };
  if (options.policy == Policy::adversarial) {  // nothing orders them before they are waited for
    for (auto flight = warp.flights.rbegin(); flight != warp.flights.rend(); ++flight)
      if (due(*flight)) complete_one(warp, *flight);
  } else {
    for (Flight& flight : warp.flights)
      if (due(flight)) complete_one(warp, flight);
  }
  std::erase_if(warp.flights, [](const Flight& flight) { return flight.done; });
}

void Machine::complete_random(WarpState& warp) {
  if (random() % 4 != 0) return;
  complete_one(warp, warp.flights[random() % warp.flights.size()]);
  std::erase_if(warp.flights, [](const Flight& flight) { return flight.done; });
}

void Machine::wake_mbarrier_waits(Cta& cta, std::int64_t offset) {
  for (WarpState& warp : cta.warps) {
    for (LaneGroup& group : warp.groups) {
      if (group.state != LaneGroup::State::mbarrier || group.waits_for != offset) continue;
      group.state = LaneGroup::State::ready;
      group.retrying = true;
      make_ready(warp);
      note_wake(warp, group);
    }
  }
}

void Machine::wake_cluster_waits(std::uint32_t cluster) {
  for (Cta& cta : ctas) {
    if (cta.cluster != cluster) continue;
    for (WarpState& warp : cta.warps) {
      for (LaneGroup& group : warp.groups) {
        if (group.state != LaneGroup::State::cluster) continue;
        group.state = LaneGroup::State::ready;
        group.retrying = true;
        make_ready(warp);
        note_wake(warp, group);
      }
    }
  }
}

// Nothing moves any more: whoever can run has asked an mbarrier lately and was told no.
bool Machine::everybody_polls() const {
  constexpr std::uint32_t recently = 64;  // instructions of the warp
  bool anybody = false;
  for (const Cta& cta : ctas) {
    for (const WarpState& warp : cta.warps) {
      for (const LaneGroup& group : warp.groups) {
        if (group.state != LaneGroup::State::ready && group.state != LaneGroup::State::sleeping) continue;
        if (warp.polled_barrier < 0 || warp.executed - warp.polled_false > recently) return false;
        anybody = true;
      }
    }
  }
  return anybody;
}

void Machine::columns_freed(Sm& sm) {
  for (std::uint32_t index : sm.ctas) {
    for (WarpState& warp : ctas[index].warps) {
      for (LaneGroup& group : warp.groups) {
        if (group.state != LaneGroup::State::alloc) continue;
        group.state = LaneGroup::State::ready;
        group.retrying = true;
        make_ready(warp);
        note_wake(warp, group);
      }
    }
  }
}

// ---- exit ----

void Machine::exit_lanes(WarpState& warp, std::size_t index) {
  const std::uint32_t lanes = warp.groups[index].lanes;
  {
    const Warp leaving(*this, warp, warp.groups[index].pc, lanes, warp.executed);
    ctas[warp.cta].at_exit.join_released(leaving.released(lanes));
  }
  warp.live &= ~lanes;
  warp.groups.erase(warp.groups.begin() + static_cast<std::ptrdiff_t>(index));
  Cta& cta = ctas[warp.cta];
  for (LaneGroup& group : warp.groups) {  // exited lanes are not waited for: try again
    if (group.state == LaneGroup::State::rendezvous && is_wait_of_a_warp(program.steps[group.pc])) group.state = LaneGroup::State::ready;
    if (group.state != LaneGroup::State::warp_sync) continue;
    group.state = LaneGroup::State::ready;
    group.retrying = true;
    note_wake(warp, group);
  }
  barriers_after_exit(*this, cta);
  cluster_after_exit(*this, cta);
  if (warp.live != 0) return;
  for (Flight& flight : warp.flights) complete_one(warp, flight);
  warp.flights.clear();
  if (--cta.live_warps == 0) exit_cta(cta);
}

// What led the CTA to its exit.
namespace {
BarrierChain chain_at_exit(const Cta& cta, const Access& access) {
  BarrierChain chain;
  chain.knew = cta.at_exit.any;
  chain.passed_new = cta.at_exit.passed_new | access.passed_new;
  return chain;
}
}  // namespace

// Shared memory belongs to somebody else when the CTA has ended: no copy may still read or write it.
void Machine::report_unfinished_copies(const Cta& cta) {
  const auto unfinished = [&](std::uint32_t agent, std::uint32_t copies, std::uint32_t record, std::string_view doing, std::optional<std::int64_t> bar) {
    if (copies == 0 || cta.at_exit.any.count(cta.index, agent) >= copies) return;
    const Access& copy = accesses[record];
    Candidate found;
    found.verdict = copy.cta == cta.index ? Verdict::dealloc_live : Verdict::peer_lifecycle;
    found.at = ref(record);
    found.at_instance = {copy.cta, copy.warp, copy.number};
    found.message = fmt::format("the CTA ends while the copy may still {} its shared memory", doing);
    found.where.space = "shared";
    found.where.cta = cta.index;
    if (bar) found.blocked_on = {{cta.index, *bar}};
    found.chain = chain_at_exit(cta, copy);
    candidates.add(std::move(found));
  };
  for (const auto& [thread, copies] : cta.bulk_threads) unfinished(copies.read_agent, copies.issued, copies.last_record, "read", {});
  for (const auto& [offset, copies] : cta.bulk_signals) unfinished(copies.agent, copies.copies, copies.last_record, "write", offset);
}

void Machine::exit_cta(Cta& cta) {
  Sm& sm = sms[cta.sm];
  report_unfinished_copies(cta);
  const std::vector<Allocation> live = sm.allocator.live();
  for (const Allocation& allocation : live) {
    if (allocation.cta != cta.index) continue;
    if (allocation.faulty) {
      sm.allocator.give(allocation.base);
      columns_freed(sm);
      continue;
    }
    if (const auto lost = std::find(cta.lost_deallocs.begin(), cta.lost_deallocs.end(), allocation.columns); lost != cta.lost_deallocs.end()) {
      cta.lost_deallocs.erase(lost);
      continue;
    }
    Candidate found;
    found.verdict = Verdict::alloc_leak;
    found.at = ref(allocation.record);
    found.at_instance = {cta.index, accesses[allocation.record].warp, accesses[allocation.record].number};
    found.message = fmt::format("the CTA ends with {} columns allocated at column {}", allocation.columns, allocation.base);
    found.where.space = "tmem";
    found.where.sm = cta.sm;
    found.where.cta = cta.index;
    found.where.columns = {allocation.base, allocation.base + allocation.columns - 1};
    candidates.add(std::move(found));
  }
}

// What another CTA does to this one's memory or barriers has to come before its threads exit.
void Machine::report_remote_after_exit() {
  for (const Cta& cta : ctas) {
    if (cta.live_warps != 0) continue;
    for (std::uint32_t record : cta.remote) {
      const Access& x = accesses[record];
      bool known = false;
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        known = known || ((x.lanes >> lane & 1u) && cta.at_exit.any.order(x.cta, x.warp, lane) >= x.number);
      if (known) continue;
      Candidate found;
      found.verdict = Verdict::peer_lifecycle;
      found.at = ref(record);
      found.at_instance = {x.cta, x.warp, x.number};
      found.message = fmt::format("nothing orders the access before the exit of CTA {}, whose memory it touches", cta.index);
      found.where.space = "shared";
      found.where.cta = cta.index;
      found.chain = chain_at_exit(cta, x);
      candidates.add(std::move(found));
    }
  }
}

// A CTA that allocated and kept its permit to the end, while another CTA of the SM had to allocate too.
void Machine::check_permits_held() {
  for (const Cta& cta : ctas) {
    if (cta.allocs.empty() || cta.relinquish_record != 0 || cta.live_warps != 0) continue;
    for (std::uint32_t other : sms[cta.sm].ctas) {
      const Cta& neighbour = ctas[other];
      if (other == cta.index || neighbour.allocs.empty()) continue;
      Candidate found;
      found.verdict = Verdict::permit_held;
      found.decided_by = Switch::permit_held;
      found.at = ref(neighbour.allocs.back());
      found.other = ref(cta.allocs.back());
      found.message = fmt::format("CTA {} never relinquishes its permit while CTA {} of the same SM allocates", cta.index, other);
      found.where.sm = cta.sm;
      found.where.cta = cta.index;
      candidates.add(std::move(found));
      break;
    }
  }
}

// ---- nobody can run ----

// Whether some of the lanes wait for something outside their warp, or keep asking for it: then they are not missing elsewhere
// because of a wrong set of threads; what they wait for is the fault.
bool Machine::wait_for_others(const WarpState& warp, std::uint32_t lanes) const {
  return std::any_of(warp.groups.begin(), warp.groups.end(), [&](const LaneGroup& group) {
    if ((group.lanes & lanes) == 0) return false;
    if (group.state == LaneGroup::State::ready) return warp.polled_barrier >= 0;
    return group.state == LaneGroup::State::mbarrier || group.state == LaneGroup::State::alloc || group.state == LaneGroup::State::pair;
  });
}

// Lanes of the warp stand in a named barrier that comes before the step: what they lack is missing there.
namespace {
bool waits_in_barrier(const Cta& cta, const WarpState& warp, std::uint32_t step) {
  return std::any_of(warp.groups.begin(), warp.groups.end(), [&](const LaneGroup& group) {
    return group.state == LaneGroup::State::barrier && (group.pc < step || cta.barriers[group.waits_for].for_all[warp.warp]);
  });
}
}  // namespace

bool Machine::resolve_rendezvous(Cta& cta) {
  bool changed = false;
  for (WarpState& warp : cta.warps) {
    LaneGroup* first = nullptr;
    for (LaneGroup& group : warp.groups)
      if (group.state == LaneGroup::State::rendezvous && !is_wait_of_a_warp(program.steps[group.pc]) && (!first || group.pc < first->pc)) first = &group;
    if (!first) continue;
    const std::uint32_t lanes = executing(program.steps[first->pc], warp, first->lanes);
    if (wait_for_others(warp, warp.live & ~lanes) || waits_in_barrier(cta, warp, first->pc)) continue;
    Warp context(*this, warp, first->pc, lanes, warp.executed + 1);
    if (warp.live == ~0u && !first->told_apart) {  // with exited threads the executor's caller reports
      context.report(context.candidate(Verdict::participation, fmt::format("only {} of the 32 threads of the warp execute it", std::popcount(lanes))));
    }
    first->state = LaneGroup::State::ready;
    first->alone = first->told_apart = true;
    make_ready(warp);
    changed = true;
  }
  return changed;
}

bool Machine::give_up_faulty_columns() {
  bool changed = false;
  for (Sm& sm : sms) {
    const bool wanted = std::any_of(sm.ctas.begin(), sm.ctas.end(), [&](std::uint32_t index) {
      return std::any_of(ctas[index].warps.begin(), ctas[index].warps.end(), [](const WarpState& warp) {
        return std::any_of(warp.groups.begin(), warp.groups.end(), [](const LaneGroup& group) { return group.state == LaneGroup::State::alloc; });
      });
    });
    if (!wanted) continue;
    const std::vector<Allocation> live = sm.allocator.live();
    for (const Allocation& allocation : live) {
      if (!allocation.faulty) continue;
      ctas[allocation.cta].given_up.emplace_back(allocation.base, allocation.columns);
      sm.allocator.give(allocation.base);
      if (tracer) tracer->allocate(ctas[allocation.cta].sm, allocation.cta, allocation.base, allocation.columns, false);
      changed = true;
    }
    if (changed) columns_freed(sm);
  }
  return changed;
}

bool Machine::quiesce() {
  if (!background.empty()) {
    complete_background();
    return true;
  }
  if (let_lanes_wait_alone()) return true;
  for (Cta& cta : ctas)
    if (resolve_rendezvous(cta)) return true;
  for (Cta& cta : ctas)
    if (resolve_partial_barriers(*this, cta)) return true;
  if (resolve_uninitialised_waits(*this) || give_up_faulty_columns()) return true;
  report_blocked();
  return false;
}

// ---- memory of the checks ----

void Machine::collect_garbage() {
  accesses.begin_marking();
  const auto mark = [&](AccessId id) {
    if (id != 0) accesses.mark(id);
  };
  for (const Sm& sm : sms) {
    if (sm.tmem) {
      for (std::uint32_t slab = 0; slab < slabs; ++slab)
        for (std::uint32_t column = 0; column < tcgen05::columns; ++column)
          sm.tmem->for_each_past(slab, column, [&](AccessId writer, AccessId reader, std::uint32_t) { mark(writer), mark(reader); });
    }
    for (const Allocation& allocation : sm.allocator.live()) accesses.mark_record(allocation.record);
    for (const GranuleHistory& history : sm.history) accesses.mark_record(history.freed_by);
  }
  for (const ByteMemory& memory : global) memory.for_each_id(mark);
  for (const ClusterBarrier& barrier : clusters) {
    accesses.mark_record(barrier.last_record);
    accesses.mark_record(barrier.completed_by);
  }
  for (const Background& operation : background) accesses.mark_record(operation.record);
  for (const Cta& cta : ctas) {
    cta.shared.for_each_id(mark);
    accesses.mark_record(cta.relinquish_record);
    accesses.mark_record(cta.pair_alloc.record);
    accesses.mark_record(cta.pair_dealloc.record);
    accesses.mark_record(cta.last_lifecycle_record);
    for (std::uint32_t record : cta.allocs) accesses.mark_record(record);
    for (const EarlyAccess& early : cta.early_accesses) accesses.mark_record(early.record);
    for (const auto& [thread, copies] : cta.bulk_threads) accesses.mark_record(copies.last_record);
    for (const auto& [offset, copies] : cta.bulk_signals) accesses.mark_record(copies.last_record);
    for (std::uint32_t record : cta.remote) accesses.mark_record(record);
    for (const auto& [offset, barrier] : cta.mbarriers) {
      for (std::uint32_t record : {barrier.init_record, barrier.inval_record, barrier.last_arrival, barrier.named_arrival, barrier.completed_by})
        accesses.mark_record(record);
      for (std::uint32_t record : barrier.completers) accesses.mark_record(record);
      for (std::uint32_t record : {barrier.named_wait, barrier.named_expect}) accesses.mark_record(record);
      for (const auto* records : {&barrier.new_waits, &barrier.first_arrivals, &barrier.users, &barrier.phase_arrivals, &barrier.last_phase_arrivals})
        for (std::uint32_t record : *records) accesses.mark_record(record);
      for (const Mbarrier::Wait& one : barrier.waits) accesses.mark_record(one.record);
      for (const auto* kept : {&barrier.early, &barrier.for_next_phase})
        for (const Mbarrier::Early& one : *kept) accesses.mark_record(one.record);
      for (const auto* records : {&barrier.open.expects, &barrier.open.said_no})
        for (std::uint32_t record : *records) accesses.mark_record(record);
      for (std::uint32_t record : {barrier.open.touched_by, barrier.open.concurrent, barrier.open.concurrent_with, barrier.open.last_bytes}) accesses.mark_record(record);
    }
    for (const NamedBarrier& barrier : cta.barriers) {
      accesses.mark_record(barrier.last_record);
      accesses.mark_record(barrier.completed_by);
    }
    for (const WarpState& warp : cta.warps) {
      for (const LaneGroup& group : warp.groups) accesses.mark_record(group.record);
      for (const Flight& flight : warp.flights) accesses.mark_record(flight.record);
      for (std::size_t row = 0; row < warp.registers.rows(); ++row) accesses.mark_record(warp.registers.state(row).pending_record);
    }
  }
  accesses.sweep();
}

}  // namespace tmemsim::sim
