#include "sim/exec/mbarrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

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

Candidate about(const Machine& machine, const Cta& cta, std::int64_t offset, Verdict verdict, BarrierFault fault, std::uint32_t at, std::string message) {
  Candidate found;
  found.barrier_fault = fault;
  found.barrier = BarrierKey{cta.index, offset};
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

bool knows(const View& view, const Machine& machine, std::uint32_t record) {
  const Access& x = machine.accesses[record];
  for (std::uint32_t lanes = x.lanes; lanes != 0; lanes &= lanes - 1)  // one event of the lanes that made it
    if (view.order(x.cta, x.warp, static_cast<std::uint32_t>(std::countr_zero(lanes))) >= x.number) return true;
  return false;
}

std::uint32_t lane_record(Warp& warp, std::uint32_t lanes) {
  Access access = warp.describe();
  access.lanes = lanes;
  access.collective = true;
  return warp.machine.accesses.add(access);
}

BarrierChain chain_of_signal(const Machine& machine, const Mbarrier& barrier, std::int64_t in_doubt, const Signal& signal) {
  BarrierChain chain = chain_of(barrier, in_doubt);
  chain.knew = signal.views->any;
  chain.passed_new = machine.accesses[signal.record].passed_new;
  return chain;
}

// ---- what a schedule may decide ----

// The order of two operations on the object is open, and with it that of all that touch it.
void note_open(Machine& machine, Mbarrier& barrier, std::uint32_t record, std::uint32_t other) {
  machine.note_unordered(record, other != 0 ? other : barrier.init_record);
  barrier.open.any = true;
}

// Of a barrier about which something is reported, the first to show it may be named: that depends on the schedule once two
// operations are not ordered.
void note_touch(Machine& machine, Mbarrier& barrier, std::uint32_t record, const View& knows) {
  OpenPhases& open = barrier.open;
  const std::uint32_t step = machine.accesses[record].step;
  if (std::find(open.steps.begin(), open.steps.end(), step) == open.steps.end()) open.steps.push_back(step);
  if (open.concurrent == 0 && !knows.covers(open.touched)) {
    open.concurrent = record;
    open.concurrent_with = open.touched_by;
  }
  open.touched.join(knows);
  open.touched_by = record;
}

// Whoever changes the phase under way has to know that the one before it is complete.
void note_turn(Machine& machine, Mbarrier& barrier, const Signal& signal) {
  const View& knows = signal.knows ? *signal.knows : signal.views->any;
  note_touch(machine, barrier, signal.record, knows);
  if (!barrier.open.turns.follow_the_last(knows)) note_open(machine, barrier, signal.record, barrier.completed_by);
  barrier.open.turns.take_part(signal.views->any);
}

// The object is made or taken away: after everything that was done to it.
void note_life(Machine& machine, Mbarrier& barrier, std::uint32_t record, const View& view) {
  note_touch(machine, barrier, record, view);
  OpenPhases& open = barrier.open;
  if (!open.turns.follow_all(view)) note_open(machine, barrier, record, barrier.last_arrival);
  for (const Mbarrier::Wait& wait : barrier.waits)
    if (!knows(view, machine, wait.record)) note_open(machine, barrier, record, wait.record);
  for (std::uint32_t poll : open.said_no)
    if (!knows(view, machine, poll)) note_open(machine, barrier, record, poll);
  open.turns.take_part(view);
  open.turns.next();
  open.arrived = {};
  open.expects.clear();
  open.said_no.clear();
}

// Bytes have to be expected before some arrival of the phase, and a poll that is told no has to come before the completion:
// otherwise the phase may be complete without them.
void note_completion(Machine& machine, Mbarrier& barrier) {
  OpenPhases& open = barrier.open;
  for (std::uint32_t record : open.expects)
    if (!knows(open.arrived, machine, record)) note_open(machine, barrier, record, barrier.last_arrival);
  View completion = open.turns.last();
  completion.join(open.arrived);
  for (std::uint32_t record : open.said_no)
    if (!knows(completion, machine, record)) note_open(machine, barrier, record, barrier.last_arrival);
  open.expects.clear();
  open.said_no.clear();
  open.turns.next();
  open.arrived = {};
}

View known_from(const HandedOverFrom& from) {
  View all;
  for (const HandedOver& views : from) {
    all.join(views.release.any);
    all.join(views.relaxed.any);
  }
  return all;
}

// A wait that means an older phase than the one that may be complete when it comes.
void report_overtaken(Machine& machine, Cta& owner, std::int64_t offset, const Mbarrier::Wait& wait, std::uint32_t completer) {
  const Mbarrier& barrier = mbarrier_entry(machine, owner, offset);
  Candidate found = about(machine, owner, offset, Verdict::mbar_phase, BarrierFault::overtaken, wait.record,
                          fmt::format("the wait means phase {}, and nothing orders it before the completion of phase {}", wait.meant, wait.meant + 1));
  found.severity = machine.options.profile.is_strict() ? Severity::error : Severity::note;
  set_other(machine, found, completer);
  found.chain = chain_of(barrier, wait.meant + 1);
  found.chain.stale = wait.stale;
  // What the completion of that phase knew, as far as it is kept.
  const std::int64_t since = std::int64_t{barrier.phase} - (wait.meant + 1);
  found.chain.knew = since <= 0 ? barrier.handed_over() : known_from(since == 1 ? barrier.completed : barrier.before_last);
  found.chain.passed_new = machine.accesses[wait.record].passed_new | machine.accesses[completer].passed_new;
  machine.candidates.add(std::move(found));
}

// Waits for an older phase have to come before this completion, or they may miss theirs.
void check_waits(Machine& machine, Cta& owner, std::int64_t offset, Mbarrier& barrier, const View& completion) {
  const auto phase = static_cast<std::int64_t>(barrier.phase);
  for (const Mbarrier::Wait& wait : barrier.waits) {
    if (wait.meant >= phase || knows(completion, machine, wait.record)) continue;
    note_open(machine, barrier, wait.record, barrier.last_arrival);
    report_overtaken(machine, owner, offset, wait, barrier.named_arrival);
  }
  std::erase_if(barrier.waits, [&](const Mbarrier::Wait& wait) { return wait.meant < phase; });
}

SyncPoint key_of(const Cta& owner, std::int64_t offset) { return {BarrierState::Kind::mbarrier, owner.index, offset}; }

void complete_if_due(Machine& machine, Cta& owner, std::int64_t offset, Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.tx != 0) return;
  const View all = barrier.handed_over();
  check_waits(machine, owner, offset, barrier, all);
  note_completion(machine, barrier);
  barrier.completers[barrier.phase % Mbarrier::kept_phases] = barrier.named_arrival;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.arrivals = 0;
  barrier.named_arrival = 0;
  barrier.last_phase_arrivals = std::move(barrier.phase_arrivals);
  barrier.phase_arrivals.clear();
  barrier.completed_by = barrier.last_arrival;
  barrier.before_last = barrier.completed;
  for (std::size_t i = 0; i < barrier.completed.size(); ++i) barrier.completed[i].join(barrier.arriving[i]);
  barrier.arriving = {};
  if (machine.tracer) machine.tracer->complete_phase(key_of(owner, offset));
  machine.wake_mbarrier_waits(owner, offset);
  const std::vector<Mbarrier::Early> arrivals = std::exchange(barrier.for_next_phase, {});
  for (const Mbarrier::Early& arrival : arrivals) arrival.effect(machine);
}

std::uint32_t completer_of(const Mbarrier& barrier, std::int64_t phase) {
  const std::int64_t oldest = std::max<std::int64_t>(0, std::int64_t{barrier.phase} - Mbarrier::kept_phases);
  return barrier.completers[static_cast<std::size_t>(std::max(phase, oldest)) % Mbarrier::kept_phases];
}

void check_range_of_tx(Machine& machine, Cta& owner, std::int64_t offset, Mbarrier& barrier, const Signal& signal) {
  if (barrier.tx >= -most_count && barrier.tx <= most_count) return;
  if (!barrier.reported) {
    Candidate found = about(machine, owner, offset, Verdict::mbar_tx, BarrierFault::count, signal.record, fmt::format("the transaction count becomes {}", barrier.tx));
    found.chain = chain_of_signal(machine, barrier, barrier.phase, signal);
    machine.candidates.add(std::move(found));
  }
  barrier.reported = true;
  barrier.tx = std::clamp(barrier.tx, -most_count, most_count);
}

HandedOver& arriving_from(const Machine& machine, const Cta& owner, Mbarrier& barrier, const Signal& signal) {
  // A commit has neither a .sem nor a scope to choose (PTX 9.7.16.12.1): it reaches the threads of every CTA that it signals.
  const Access& access = machine.accesses[signal.record];
  const bool own = access.cta == owner.index || std::holds_alternative<TcgenCommit>(std::get<MachineOps::Any>(machine.program.steps[access.step].stmt->node));
  HandedOver& handed = barrier.arriving[static_cast<std::size_t>(own ? From::own_cta : signal.cta_scope ? From::other_cta_narrow : From::other_cta)];
  handed.any = true;
  return handed;
}

// Effects on a place that has no object: kept for the init, if one may still come.
bool defer(Machine& machine, Cta& owner, std::int64_t offset, const Signal& signal, const std::function<void(Machine&, const Signal&)>& effect) {
  Mbarrier& entry = mbarrier_entry(machine, owner, offset);
  if (entry.valid) return false;
  note_touch(machine, entry, signal.record, signal.knows ? *signal.knows : signal.views->any);
  if (entry.ever_valid) return true;
  constexpr std::size_t most_early = 4096;
  if (entry.early.size() >= most_early) return true;
  entry.early.push_back({signal.record, [effect, record = signal.record, views = *signal.views, release = signal.release, narrow = signal.cta_scope](Machine& later) {
                           effect(later, Signal{record, &views, release, nullptr, narrow});
                         }});
  return true;
}

// Of the operations of one phase the first or last in the program's text, whatever came first in this run.
bool precedes_in_text(const Machine& machine, std::uint32_t a, std::uint32_t b) {
  const auto place = [&](std::uint32_t record) {
    const Access& access = machine.accesses[record];
    return std::tuple(access.step, access.cta, access.warp, access.number);
  };
  return place(a) < place(b);
}
std::uint32_t earlier_in_text(const Machine& machine, std::uint32_t a, std::uint32_t b) { return a == 0 || precedes_in_text(machine, b, a) ? b : a; }
std::uint32_t later_in_text(const Machine& machine, std::uint32_t a, std::uint32_t b) { return a == 0 || precedes_in_text(machine, a, b) ? b : a; }

constexpr std::size_t most_arrivals = 1024;  // kept of one phase

// What phase 0 hands over: arrivals that it did not wait for are none of its.
void take_part_in_first_phase(Mbarrier& barrier, const Signal& signal) {
  if (barrier.phase != 0) return;
  barrier.first_phase.join(signal.views->any);
  if (barrier.first_arrivals.size() < most_arrivals) barrier.first_arrivals.push_back(signal.record);
}

// Whether the thread has made one of these arrivals of a phase, too, by the same statement: it has gone round a loop without
// having seen that phase complete. Otherwise it belongs to the first phase that it has not seen complete, which was complete without it.
bool has_gone_round(const Machine& machine, const std::vector<std::uint32_t>& arrivals, std::uint32_t record) {
  const Access& mine = machine.accesses[record];
  return std::any_of(arrivals.begin(), arrivals.end(), [&](std::uint32_t other) {
    const Access& x = machine.accesses[other];
    return x.step == mine.step && x.cta == mine.cta && x.warp == mine.warp && (x.lanes & mine.lanes) != 0;
  });
}

// An inval has to come after everything that used the object.
void note_user(Warp& warp, Mbarrier& barrier, std::uint32_t record) {
  constexpr std::size_t most_users = 64;
  if (barrier.users.size() >= most_users) {
    std::erase_if(barrier.users, [&](std::uint32_t user) { return warp.happened_before(Sight::any, user, ~0u, warp.lanes, true); });
    if (barrier.users.size() >= most_users) barrier.users.erase(barrier.users.begin());
  }
  barrier.users.push_back(record);
}

}  // namespace

BarrierChain chain_of(const Mbarrier& barrier, std::int64_t in_doubt) {
  BarrierChain chain;
  chain.agent = barrier.agent;
  chain.bit = std::uint64_t{1} << barrier.bit;
  chain.in_doubt = in_doubt;
  return chain;
}

bool has_opposite_residue(const Machine& machine, std::uint32_t cluster, const Mbarrier& of) {
  return std::any_of(machine.ctas.begin(), machine.ctas.end(), [&](const Cta& cta) {
    return cta.cluster == cluster && std::any_of(cta.mbarriers.begin(), cta.mbarriers.end(), [&](const auto& entry) { return entry.second.valid && entry.second.tx == -of.tx; });
  });
}

void report_unexpected_bytes(Machine& machine, std::optional<std::uint32_t> expected_by) {
  for (Cta& cta : machine.ctas) {
    for (auto& [offset, barrier] : cta.mbarriers) {
      if (expected_by && (barrier.named_expect == 0 || machine.accesses[barrier.named_expect].step != *expected_by)) continue;
      if (expected_by && barrier.named_wait == 0) continue;
      if (!barrier.valid || barrier.tx >= 0 || barrier.reported || has_opposite_residue(machine, cta.cluster, barrier)) continue;
      const std::uint32_t at = barrier.named_wait != 0 ? barrier.named_wait : barrier.open.last_bytes;
      Candidate found = about(machine, cta, offset, Verdict::mbar_tx, BarrierFault::count, at,
                              fmt::format("{} bytes more have come than were expected: some phase was complete before its last bytes came", -barrier.tx));
      set_other(machine, found, barrier.named_expect != 0 ? barrier.named_expect : barrier.open.last_bytes);
      found.chain = chain_of(barrier, 0);
      machine.candidates.add(std::move(found));
    }
  }
}

View Mbarrier::handed_over() const {
  View all = of_earlier_objects;
  for (const HandedOverFrom* from : {&arriving, &completed}) all.join(known_from(*from));
  return all;
}

Mbarrier* mbarrier_at(Cta& cta, std::int64_t offset) {
  const auto found = cta.mbarriers.find(offset);
  return found == cta.mbarriers.end() ? nullptr : &found->second;
}

Mbarrier& mbarrier_entry(Machine& machine, Cta& owner, std::int64_t offset) {
  const auto [at, made] = owner.mbarriers.try_emplace(offset);
  if (made) {
    at->second.agent = owner.next_agent++;
    at->second.bit = machine.mbarrier_places++ % 64;
  }
  return at->second;
}

const Mbarrier* mbarrier_over(const Cta& cta, std::int64_t first, std::int64_t bytes) {
  auto at = cta.mbarriers.lower_bound(first - static_cast<std::int64_t>(object_bytes) + 1);
  for (; at != cta.mbarriers.end() && at->first < first + bytes; ++at)
    if (at->second.valid) return &at->second;
  return nullptr;
}

bool use_mbarrier(Warp& warp, Cta& owner, std::int64_t offset, std::uint32_t record) {
  Mbarrier& barrier = mbarrier_entry(warp.machine, owner, offset);
  if (record != 0) note_user(warp, barrier, record);
  const auto complain = [&](std::string message, std::uint32_t other) {
    Candidate found = warp.candidate(Verdict::mbar_uninit, std::move(message), other);
    found.where = place_of(warp.machine, owner, offset);
    found.barrier_fault = BarrierFault::object;
    found.barrier = BarrierKey{owner.index, offset};
    found.chain = chain_of(barrier, 0);
    warp.report(std::move(found));
  };
  if (!barrier.valid && barrier.ever_valid) {
    complain("the barrier object has been invalidated", barrier.inval_record);
    return false;
  }
  if (!barrier.valid) return true;
  const Sight which = barrier.init_fenced ? Sight::any : Sight::generic;
  if (!warp.happened_before(which, barrier.init_record, barrier.init_lanes, warp.lanes, false))
    complain("nothing orders the operation after the barrier's init", barrier.init_record);
  return true;
}

namespace {

// An arrival after the phase, although nobody has been seen to wait for it.
void report_unobserved(Machine& machine, const Cta& owner, std::int64_t offset, const Signal& signal, std::int64_t phase, std::uint32_t known) {
  const Severity severity = machine.options.profile.severity(Switch::observe_each_phase);
  if (severity == Severity::none) return;
  const Mbarrier& barrier = owner.mbarriers.at(offset);
  Candidate found = about(machine, owner, offset, Verdict::mbar_count, BarrierFault::unobserved, signal.record,
                          fmt::format("an arrival on phase {} of a barrier with {} arrivals a phase; nobody has been seen to wait for phase {}", phase + 1, barrier.expected, phase));
  found.severity = severity;
  found.decided_by = Switch::observe_each_phase;
  const bool is_under_way = phase == barrier.phase;
  const std::uint32_t completer = is_under_way ? barrier.named_arrival : completer_of(barrier, phase);
  set_other(machine, found, completer);
  const auto& arrivals = is_under_way ? barrier.phase_arrivals : barrier.last_phase_arrivals;
  const bool gone_round = has_gone_round(machine, arrivals, signal.record);
  found.chain = chain_of_signal(machine, barrier, gone_round ? phase + 1 : known, signal);
  found.chain.gone_round = gone_round;
  found.unordered = completer != 0 && !knows(signal.views->any, machine, completer);
  machine.candidates.add(std::move(found));
}

// Bytes of a thread whose arrival, made before, waits for the next phase: it has expected them there.
bool belongs_to_next_phase(const Machine& machine, const Mbarrier& barrier, std::uint32_t record) {
  const Access& mine = machine.accesses[record];
  return std::any_of(barrier.for_next_phase.begin(), barrier.for_next_phase.end(), [&](const Mbarrier::Early& early) {
    const Access& x = machine.accesses[early.record];
    return x.cta == mine.cta && x.warp == mine.warp && (x.lanes & mine.lanes) != 0 && x.number < mine.number;
  });
}

void arrive_at_next_phase(Mbarrier& barrier, Cta& owner, std::int64_t offset, std::int64_t count, const Signal& signal, std::int64_t bytes) {
  constexpr std::size_t most_early = 4096;
  if (barrier.for_next_phase.size() >= most_early) return;
  const View knows = signal.knows ? *signal.knows : signal.views->any;
  barrier.for_next_phase.push_back({signal.record, [&owner, offset, count, bytes, record = signal.record, release = signal.release, narrow = signal.cta_scope, views = *signal.views, knows](Machine& machine) {
                                      Signal later{record, &views, release, &knows, narrow};
                                      later.told = true;
                                      mbarrier_arrive(machine, owner, offset, count, later, bytes);
                                    }});
}

}  // namespace

void mbarrier_arrive(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t count, const Signal& signal, std::int64_t bytes) {
  if (defer(machine, owner, offset, signal, [&owner, offset, count, bytes](Machine& later, const Signal& then) { mbarrier_arrive(later, owner, offset, count, then, bytes); })) return;
  Mbarrier& barrier = mbarrier_entry(machine, owner, offset);
  const std::uint32_t known = signal.views->any.count(owner.index, barrier.agent);
  // An arrival that the phase no longer waits for, because only bytes are missing, is one of the next phase, as if they had come.
  const bool is_early = barrier.pending == 0;
  if (!signal.told && (is_early || known < barrier.phase)) report_unobserved(machine, owner, offset, signal, is_early ? barrier.phase : std::int64_t{barrier.phase} - 1, known);
  if (is_early) {
    note_open(machine, barrier, signal.record, barrier.last_arrival);
    arrive_at_next_phase(barrier, owner, offset, count, signal, bytes);
    return;
  }
  if (bytes != 0) mbarrier_expect_tx(machine, owner, offset, bytes, signal);
  take_part_in_first_phase(barrier, signal);
  if (barrier.phase == 0) barrier.first_arrived.join(signal.views->any);
  if (barrier.phase_arrivals.size() < most_arrivals) barrier.phase_arrivals.push_back(signal.record);
  note_turn(machine, barrier, signal);
  barrier.open.arrived.join(signal.views->any);
  barrier.last_arrival = signal.record;
  barrier.named_arrival = later_in_text(machine, barrier.named_arrival, signal.record);
  if (count > barrier.pending) {
    Candidate found = about(machine, owner, offset, Verdict::mbar_count, BarrierFault::count, signal.record,
                            fmt::format("{} arrivals on a phase that has only {} pending", count, barrier.pending));
    found.chain = chain_of_signal(machine, barrier, barrier.phase, signal);
    machine.candidates.add(std::move(found));
    barrier.reported = true;
    count = barrier.pending;
  }
  ++barrier.arrivals;
  if (machine.tracer) machine.tracer->arrive(key_of(owner, offset));
  HandedOver& handed = arriving_from(machine, owner, barrier, signal);
  (signal.release ? handed.release : handed.relaxed).join_released(*signal.views);
  barrier.pending -= count;
  complete_if_due(machine, owner, offset, barrier);
}

void mbarrier_expect_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal) {
  if (defer(machine, owner, offset, signal, [&owner, offset, bytes](Machine& later, const Signal& then) { mbarrier_expect_tx(later, owner, offset, bytes, then); })) return;
  Mbarrier& barrier = mbarrier_entry(machine, owner, offset);
  note_turn(machine, barrier, signal);
  if (barrier.open.expects.size() < most_waits) barrier.open.expects.push_back(signal.record);
  else machine.note_choice(Machine::Open::bound, machine.accesses[signal.record].step, machine.ref(signal.record));
  barrier.tx += bytes;
  barrier.named_expect = later_in_text(machine, barrier.named_expect, signal.record);
  if (machine.tracer) machine.tracer->touch(key_of(owner, offset));
  arriving_from(machine, owner, barrier, signal).relaxed.change([&](Views& views) { views.any.join(signal.views->any); });
  check_range_of_tx(machine, owner, offset, barrier, signal);
  complete_if_due(machine, owner, offset, barrier);
}

void mbarrier_complete_tx(Machine& machine, Cta& owner, std::int64_t offset, std::int64_t bytes, const Signal& signal) {
  if (defer(machine, owner, offset, signal, [&owner, offset, bytes](Machine& later, const Signal& then) { mbarrier_complete_tx(later, owner, offset, bytes, then); })) return;
  Mbarrier& barrier = mbarrier_entry(machine, owner, offset);
  if (belongs_to_next_phase(machine, barrier, signal.record)) {
    barrier.for_next_phase.push_back({signal.record, [&owner, offset, bytes, record = signal.record, views = *signal.views, knows = signal.knows ? *signal.knows : signal.views->any](Machine& later) {
                                        mbarrier_complete_tx(later, owner, offset, bytes, Signal{record, &views, true, &knows});
                                      }});
    return;
  }
  note_turn(machine, barrier, signal);
  barrier.open.last_bytes = signal.record;
  barrier.tx -= bytes;
  if (machine.tracer) machine.tracer->arrive(key_of(owner, offset));
  arriving_from(machine, owner, barrier, signal).release.join_released(*signal.views);
  take_part_in_first_phase(barrier, signal);
  if (barrier.named_arrival == 0) barrier.named_arrival = signal.record;
  check_range_of_tx(machine, owner, offset, barrier, signal);
  complete_if_due(machine, owner, offset, barrier);
}

bool resolve_uninitialised_waits(Machine& machine) {
  bool changed = false;
  for (Cta& cta : machine.ctas) {
    for (WarpState& state : cta.warps) {
      for (LaneGroup& group : state.groups) {
        if (group.state != LaneGroup::State::mbarrier) continue;
        Mbarrier& entry = mbarrier_entry(machine, cta, group.waits_for);
        if (entry.valid || entry.ever_valid || entry.given_up) continue;
        entry.given_up = true;
        machine.wake_mbarrier_waits(cta, group.waits_for);
        changed = true;
      }
    }
  }
  return changed;
}

void report_never_initialised(Machine& machine) {
  for (Cta& cta : machine.ctas)
    for (auto& [offset, entry] : cta.mbarriers)
      if (!entry.ever_valid)
        for (const Mbarrier::Early& early : entry.early) {
          Candidate found = about(machine, cta, offset, Verdict::mbar_uninit, BarrierFault::object, early.record, "there is no barrier object here");
          found.chain = chain_of(entry, -1);
          machine.candidates.add(std::move(found));
        }
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

bool waits_for_an_older_phase(const Mbarrier& barrier, std::uint32_t thread, std::uint32_t parity) {
  for (const auto& [known, m] : barrier.meant) {
    if (known != thread) continue;
    const std::int64_t k = barrier.phase, meant = (m & 1) != parity ? m + 1 : k == m + 1 ? m : m + 2;
    return k - meant >= 2;
  }
  return false;
}

// ---- executors ----

namespace {

template <class Visit> void for_each_lane(std::uint32_t lanes, Visit&& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// Calls act(owner, offset, lane, signal) for each lane: every thread signals by itself.
template <class Act> Ran signal_each(Warp& warp, const Mem& bar, const std::optional<Expr>& rank, Sem sem, MemScope scope, Act&& act) {
  const ByteSpan span = warp.locate(warp.plan(bar), object_bytes, rank, Verdict::mbar_target);
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    Cta& owner = *span.owner;
    const std::uint32_t record = lane_record(warp, 1u << lane);
    if (!use_mbarrier(warp, owner, span.first[lane], record)) return;
    if (&owner != &warp.cta) owner.remote.push_back(record);
    const Views views = warp.released(1u << lane);
    act(owner, span.first[lane], lane, Signal{record, &views, sem == Sem::release, nullptr, scope == MemScope::cta});
  });
  return Ran::finished();
}

// The phases whose completion comes before the wait, as far as its threads know.
std::int64_t known_phases(const Warp& warp, const Mbarrier& barrier) {
  std::uint32_t known = 0;
  for (const ViewGroup& group : warp.state.views)
    if (group.lanes & warp.lanes) known = std::max(known, group.views.any.count(warp.cta.index, barrier.agent));
  return known;
}

// Nothing is phrased in time: with `known` phases complete before it, a wait means the next one or, by the other parity, the
// last of them. -1: it passes because the object is new.
std::int64_t phase_meant(std::int64_t known, std::uint32_t parity) { return (known & 1) == parity ? known : known - 1; }

void remember(Mbarrier& barrier, std::uint32_t thread, std::int64_t phase) {
  for (auto& [known, m] : barrier.meant) {
    if (known != thread) continue;
    m = phase;
    return;
  }
  barrier.meant.emplace_back(thread, phase);
}

// What a wait means follows from what its threads know: it is open where they know different things.
void note_order_of_wait(Warp& warp, Mbarrier& barrier, std::uint32_t record) {
  if (warp.retrying) return;
  note_touch(warp.machine, barrier, record, warp.released(warp.lanes).any);
  const std::int64_t known = known_phases(warp, barrier);
  for (const ViewGroup& group : warp.state.views)
    if ((group.lanes & warp.lanes) && group.views.any.count(warp.cta.index, barrier.agent) != known) note_open(warp.machine, barrier, record, barrier.completed_by);
}

// A question that may be answered either way: yes only if the thread knows that the phase is complete, no only if it comes
// before the completion (judged there).
void note_poll(Warp& warp, Mbarrier& barrier, std::uint32_t record, std::int64_t meant, bool yes) {
  Machine& machine = warp.machine;
  if (!yes) {
    std::vector<std::uint32_t>& said_no = barrier.open.said_no;
    const Access& mine = machine.accesses[record];
    std::erase_if(said_no, [&](std::uint32_t other) {  // the last one of a thread comes after its others
      const Access& x = machine.accesses[other];
      return x.cta == mine.cta && x.warp == mine.warp && x.lanes == mine.lanes && x.step == mine.step;
    });
    if (said_no.size() < most_waits) said_no.push_back(record);
    else machine.note_choice(Machine::Open::bound, warp.step, machine.ref(record));
    return;
  }
  if (meant < 0) return;  // a new object; that its first phase is not complete is judged when it is
  for (const ViewGroup& group : warp.state.views) {
    if (!(group.lanes & warp.lanes) || group.views.any.count(warp.cta.index, barrier.agent) > static_cast<std::uint32_t>(meant)) continue;
    if (meant + 1 == barrier.phase && group.views.any.covers(barrier.open.turns.last())) continue;
    return note_open(machine, barrier, record, barrier.completed_by);
  }
}

template <class Op> Ran wait(const Op& op, Warp& warp) {
  const ByteSpan span = warp.locate(warp.plan(op.bar), object_bytes);
  const LaneValues parities = warp.evaluate(op.parity);
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
  const auto first_lane = static_cast<std::uint32_t>(std::countr_zero(span.lanes));
  const std::int64_t offset = span.first[first_lane];
  const std::int32_t parity = parities.value[first_lane];
  std::uint32_t alike = warp.lanes & ~span.lanes;  // threads wait each for itself: those for one phase of one barrier go together
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    if (span.first[lane] == offset && parities.value[lane] == parity) alike |= 1u << lane;
  });
  if (alike != warp.lanes) return Ran::split(alike);
  if (parity != 0 && parity != 1 && (parities.bad & warp.lanes) == 0) {
    input_error(warp.machine.kernel.files, warp.machine.program.steps[warp.step].stmt->at, fmt::format("the parity is {}", parity), "a parity is 0 or 1");
  }
  Machine& machine = warp.machine;
  Mbarrier& barrier = mbarrier_entry(machine, warp.cta, offset);
  barrier.ever_waited_for = true;
  if (!barrier.ever_valid && !barrier.given_up) {  // an init may still come
    const std::uint32_t record = lane_record(warp, warp.lanes);
    note_touch(machine, barrier, record, warp.released(warp.lanes).any);
    if (!op.poll) {
      if (LaneGroup* mine = machine.group_at(warp.state, warp.step, warp.lanes)) mine->meant = LaneGroup::no_phase;
      return Ran::blocked(LaneGroup::State::mbarrier, static_cast<std::uint32_t>(offset), record);
    }
    if (barrier.early.empty() || machine.accesses[barrier.early.back().record].step != warp.step) barrier.early.push_back({record, {}});
    answer(false);
    warp.state.polled_false = warp.number;
    warp.state.polled_barrier = offset;
    return Ran::finished();
  }
  if (!barrier.ever_valid) {
    Candidate found = about(machine, warp.cta, offset, Verdict::mbar_uninit, BarrierFault::object, lane_record(warp, warp.lanes), "there is no barrier object here");
    found.chain = chain_of(barrier, -1);
    machine.candidates.add(std::move(found));
    const std::uint64_t bit = std::uint64_t{1} << barrier.bit;
    warp.change_views(warp.lanes, [&](Views& views) { views.waited |= bit, views.passed_new |= bit; });
    answer(true);
    return Ran::finished();
  }
  const std::uint32_t record = lane_record(warp, warp.lanes);
  if (!use_mbarrier(warp, warp.cta, offset, warp.retrying ? 0 : record)) {
    answer(true);
    return Ran::finished();  // the fault is told: go on
  }
  const auto p = static_cast<std::uint32_t>(parity & 1);
  const std::int64_t k = barrier.phase;
  // A wait that blocked means the phase that it meant when it was first tried.
  const LaneGroup* group = machine.group_at(warp.state, warp.step, warp.lanes);
  const bool tried = warp.retrying && group && group->meant != LaneGroup::no_phase;
  const std::int64_t meant = tried ? group->meant : phase_meant(known_phases(warp, barrier), p);
  const bool stale = !tried && meant < known_phases(warp, barrier);
  note_order_of_wait(warp, barrier, record);
  if (!tried) barrier.named_wait = earlier_in_text(machine, barrier.named_wait, record);
  if (op.poll) note_poll(warp, barrier, record, meant, k > meant);
  if (!tried && (k > meant || !op.poll)) {
    if (barrier.waits.size() < most_waits) barrier.waits.push_back({meant, record, stale});
    else machine.note_choice(Machine::Open::bound, warp.step, machine.ref(record));
  }
  if (k <= meant) {
    answer(false);
    if (op.poll) {
      warp.state.polled_false = warp.number;
      warp.state.polled_barrier = offset;
      return Ran::finished();
    }
    if (LaneGroup* mine = machine.group_at(warp.state, warp.step, warp.lanes)) mine->meant = meant;
    return Ran::blocked(LaneGroup::State::mbarrier, static_cast<std::uint32_t>(offset), record);
  }
  answer(true);
  // Two phases further on, the hardware would say no, or yes to another phase: told, and judged as if it had come in time.
  if (k - meant >= 2) {
    note_open(machine, barrier, record, barrier.completed_by);
    report_overtaken(machine, warp.cta, offset, {meant, record, stale}, completer_of(barrier, meant + 1));
  }
  if (machine.tracer && meant >= 0) machine.tracer->see(key_of(warp.cta, offset));
  for_each_lane(warp.lanes, [&](std::uint32_t lane) { remember(barrier, warp.state.warp * 32 + lane, meant); });
  warp.change_views(warp.lanes, [&](Views& views) { views.waited |= std::uint64_t{1} << barrier.bit; });
  if (meant < 0) {  // a new object: nothing is handed over
    constexpr std::size_t most_new_waits = 256;
    if (barrier.new_waits.size() < most_new_waits) barrier.new_waits.push_back(record);
    warp.change_views(warp.lanes, [&](Views& views) { views.passed_new |= std::uint64_t{1} << barrier.bit; });
    return Ran::finished();
  }
  const bool acquires = op.sem == Sem::acquire, late = k - meant >= 2;
  const HandedOverFrom& handed = late ? barrier.before_last : barrier.completed;
  const bool checks_scope = machine.options.profile.severity(Switch::scope_check) != Severity::none;
  const auto take = [&](From from, bool narrow) {
    const HandedOver& views = handed[static_cast<std::size_t>(from)];
    if (!views.any) return;
    warp.acquire(warp.lanes, views.release, acquires ? Edge::release_acquire : Edge::relaxed, narrow);
    warp.acquire(warp.lanes, views.relaxed, Edge::relaxed, narrow);
  };
  take(From::own_cta, false);
  take(From::other_cta, checks_scope && op.scope == MemScope::cta);
  take(From::other_cta_narrow, checks_scope);
  warp.change_views(warp.lanes, [&](Views& views) {
    views.any.raise(warp.cta.index, barrier.agent, static_cast<std::uint32_t>(meant + 1));
    views.generic.raise(warp.cta.index, barrier.agent, static_cast<std::uint32_t>(meant + 1));
  });
  return Ran::finished();
}

}  // namespace

Ran execute(const MbarrierInit& op, Warp& warp) {
  const ByteSpan span = warp.locate(warp.plan(op.bar), object_bytes);
  const LaneValues counts = warp.evaluate(op.count);
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    const std::int64_t offset = span.first[lane];
    Machine& machine = warp.machine;
    Mbarrier& barrier = mbarrier_entry(machine, warp.cta, offset);
    const std::uint32_t record = lane_record(warp, 1u << lane);
    machine.accesses.at(record).collective = false;  // the other lanes of the warp have to be ordered after it, too
    const auto report = [&](Verdict verdict, BarrierFault fault, std::string message, std::uint32_t other) {
      Candidate found = about(machine, warp.cta, offset, verdict, fault, record, std::move(message));
      set_other(machine, found, other);
      machine.candidates.add(std::move(found));
    };
    if (barrier.valid) report(Verdict::mbar_uninit, BarrierFault::object, "init of a barrier object that is still valid", barrier.init_record);
    std::int64_t count = counts.value[lane];
    const bool bad = count < 1 || count > most_count;
    if (bad) report(Verdict::mbar_count, BarrierFault::count, fmt::format("a barrier cannot expect {} arrivals", count), 0);
    Mbarrier made;
    made.valid = made.ever_valid = true;
    if (machine.tracer) machine.tracer->touch(key_of(warp.cta, offset));
    made.expected = made.pending = bad ? 1 : count;
    made.init_record = record;
    made.init_lanes = 1u << lane;
    made.agent = barrier.ever_valid ? warp.cta.next_agent++ : barrier.agent;
    made.bit = barrier.bit;
    made.ever_waited_for = barrier.ever_waited_for;
    made.reported = bad;
    if (barrier.ever_valid) made.of_earlier_objects = barrier.handed_over();
    note_life(machine, barrier, record, warp.released(1u << lane).any);
    made.open = std::move(barrier.open);
    const std::vector<Mbarrier::Early> early = std::move(barrier.early);
    barrier = std::move(made);
    for (const Mbarrier::Early& one : early) {
      const Access& access = machine.accesses[one.record];
      const bool before = warp.happened_before(Sight::any, one.record, access.lanes, 1u << lane, false);
      Candidate found = about(machine, warp.cta, offset, Verdict::mbar_uninit, BarrierFault::object, one.record,
                              before ? "there is no barrier object here" : "nothing orders the operation after the barrier's init");
      if (!before) {
        set_other(machine, found, record);
        note_open(machine, barrier, one.record, record);
      }
      machine.candidates.add(std::move(found));
      if (!before && one.effect) one.effect(machine);
    }
    machine.wake_mbarrier_waits(warp.cta, offset);
  });
  return Ran::finished();
}

Ran execute(const MbarrierInval& op, Warp& warp) {
  const ByteSpan span = warp.locate(warp.plan(op.bar), object_bytes);
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    Cta& owner = warp.cta;
    const std::int64_t offset = span.first[lane];
    const std::uint32_t record = lane_record(warp, 1u << lane);
    if (!use_mbarrier(warp, owner, offset, 0)) return;
    Mbarrier& barrier = mbarrier_entry(warp.machine, owner, offset);
    if (!barrier.valid) {
      barrier.early.push_back({record, {}});
      return;
    }
    for (std::uint32_t user : barrier.users) {
      if (warp.happened_before(Sight::any, user, ~0u, 1u << lane, true)) continue;
      Candidate found = about(warp.machine, owner, offset, Verdict::mbar_uninit, BarrierFault::object, user, "nothing orders the operation before the inval of the barrier");
      set_other(warp.machine, found, record);
      note_open(warp.machine, barrier, user, record);
      warp.machine.candidates.add(std::move(found));
    }
    note_life(warp.machine, barrier, record, warp.released(1u << lane).any);
    barrier.users.clear();
    barrier.valid = false;
    if (warp.machine.tracer) warp.machine.tracer->touch(key_of(warp.cta, span.first[lane]));
    barrier.inval_record = record;
  });
  return Ran::finished();
}

Ran execute(const MbarrierArrive& op, Warp& warp) {
  const LaneValues counts = warp.evaluate(op.count);
  return signal_each(warp, op.bar, op.rank, op.sem, op.scope, [&](Cta& owner, std::int64_t offset, std::uint32_t lane, const Signal& signal) {
    mbarrier_arrive(warp.machine, owner, offset, counts.value[lane], signal);
  });
}

Ran execute(const MbarrierArriveExpectTx& op, Warp& warp) {
  const LaneValues bytes = warp.evaluate(op.bytes);
  return signal_each(warp, op.bar, op.rank, op.sem, op.scope, [&](Cta& owner, std::int64_t offset, std::uint32_t lane, const Signal& signal) {
    mbarrier_arrive(warp.machine, owner, offset, 1, signal, bytes.value[lane]);
  });
}

Ran execute(const MbarrierExpectTx& op, Warp& warp) {
  const LaneValues bytes = warp.evaluate(op.bytes);
  return signal_each(warp, op.bar, op.rank, op.sem, op.scope, [&](Cta& owner, std::int64_t offset, std::uint32_t lane, const Signal& signal) {
    mbarrier_expect_tx(warp.machine, owner, offset, bytes.value[lane], signal);
  });
}

Ran execute(const MbarrierTestWait& op, Warp& warp) { return wait(op, warp); }
Ran execute(const MbarrierTryWait& op, Warp& warp) { return wait(op, warp); }

}  // namespace tmemsim::sim
