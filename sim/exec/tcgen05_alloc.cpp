// tcgen05.alloc, .dealloc, .relinquish_alloc_permit. PTX ISA 9.7.16.7.
#include "ir/ops/tcgen05_alloc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/check/hazards.hpp"
#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

// The other CTA of the pair; null where there is none, which is reported.
Cta* peer_of(Warp& warp) {
  if ((warp.cta.rank ^ 1u) < cluster_size(warp.machine.kernel.launch)) return &warp.machine.ctas[warp.machine.cta_of_rank(warp.cta, warp.cta.rank ^ 1u)];
  warp.report(warp.candidate(Verdict::peer_lifecycle, "cta_group::2 in a CTA that has no peer"));
  return nullptr;
}

// Nothing that the peer has done comes before: it may not even have started.
bool knows_that_it_runs(const Warp& warp, const Cta& peer) {
  for (const ViewGroup& group : warp.state.views)
    for (const WarpState& other : peer.warps)
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        if (group.views.any.order(peer.index, other.warp, lane) > 0) return true;
  return false;
}

// The other half of the operation has come: the warp of the peer goes on.
void release(Warp& warp, Cta& peer, std::uint32_t record) {
  for (WarpState& state : peer.warps) {
    for (LaneGroup& group : state.groups) {
      if (group.record != record || (group.state != LaneGroup::State::pair && group.state != LaneGroup::State::alloc)) continue;
      group.state = LaneGroup::State::ready;
      group.retrying = true;
      warp.machine.make_ready(state);
      warp.machine.note_wake(state, group);
    }
  }
}

void note_allocation(Warp& warp, const Allocation& allocation, bool live) {
  if (warp.machine.tracer) warp.machine.tracer->allocate(warp.machine.ctas[allocation.cta].sm, allocation.cta, allocation.base, allocation.columns, live);
}

Place columns_place(const Warp& warp, std::int64_t first, std::int64_t count) {
  Place place;
  place.space = "tmem";
  place.sm = warp.cta.sm;
  place.cta = warp.cta.index;
  place.columns = {first, first + count - 1};
  return place;
}

// The life cycle operations of one CTA follow each other; two warps inside them at once is a participation warning.
void note_lifecycle(Warp& warp, std::uint32_t record) {
  const std::uint32_t last = warp.cta.last_lifecycle_record;
  if (last != 0 && !warp.happened_before(Sight::any, last, ~0u, warp.lanes, true)) {
    Candidate found = warp.candidate(Verdict::participation, "two warps of the CTA may be inside alloc or dealloc at the same time", last);
    found.severity = Severity::warning;
    warp.report(std::move(found));
    warp.machine.note_unordered(record, last);
  }
  warp.cta.last_lifecycle_record = record;
}

void check_order_of_sizes(Warp& warp, std::uint32_t record, std::uint32_t columns) {
  for (std::size_t i = 0; i < warp.cta.allocs.size(); ++i) {
    const std::uint32_t earlier = warp.cta.allocs[i], size = warp.cta.alloc_columns[i];
    const bool ordered = warp.happened_before(Sight::any, earlier, ~0u, warp.lanes, true);
    if (size == columns || (ordered && size > columns)) continue;
    Candidate found = warp.candidate(Verdict::alloc_order, fmt::format("{} columns are requested after {}", std::max(size, columns), std::min(size, columns)), earlier);
    if (columns < size) {  // unordered: the larger one may come second
      swap_sides(found);
    }
    warp.report(std::move(found));
    break;
  }
  for (std::size_t i = warp.cta.allocs.size(); i-- > 0;) {  // what this one follows need not be kept
    if (!warp.happened_before(Sight::any, warp.cta.allocs[i], ~0u, warp.lanes, true)) continue;
    warp.cta.allocs.erase(warp.cta.allocs.begin() + static_cast<std::ptrdiff_t>(i));
    warp.cta.alloc_columns.erase(warp.cta.alloc_columns.begin() + static_cast<std::ptrdiff_t>(i));
  }
  warp.cta.allocs.push_back(record);
  warp.cta.alloc_columns.push_back(columns);
}

void check_permit(Warp& warp, std::uint32_t record) {
  const std::uint32_t relinquish = warp.cta.relinquish_record;
  if (relinquish == 0) return;
  warp.report(warp.candidate(Verdict::alloc_permit, "the CTA allocates although it has relinquished its permit", relinquish));
  if (!warp.happened_before(Sight::any, relinquish, ~0u, warp.lanes, true)) warp.machine.note_unordered(record, relinquish);
}

// What the CTA takes from those that share the SM with it: judged at the end (Machine::note_open_ends).
void note_request(Warp& warp, std::uint32_t columns) {
  warp.cta.most_columns = std::max(warp.cta.most_columns, warp.sm().allocator.held_by(warp.cta.index) + columns);
  warp.cta.alloc_sizes |= columns;
}

// Where the columns are is open: the lowest free place, unless the schedule says another one.
std::optional<Allocation> take(Warp& warp, Sm& sm, std::uint32_t columns, std::uint32_t cta, std::uint32_t record) {
  const std::vector<std::uint32_t> places = sm.allocator.places(columns);
  if (places.empty()) return std::nullopt;
  Machine& machine = warp.machine;
  if (places.size() > 1 && machine.open_facts.placement) machine.note_choice(Machine::Open::placement, warp.step, machine.ref(record));
  const bool decides = machine.options.schedule && std::binary_search(machine.options.schedule->points.placement.begin(), machine.options.schedule->points.placement.end(), warp.step);
  return sm.allocator.take_at(places[decides ? machine.decide(places.size()) : 0], columns, cta, record);
}

// The base address goes to the slot as a weak generic write of the warp.
void store_base(Warp& warp, const Mem& slot, std::uint32_t base, bool bad) {
  const MemPlan& mem = warp.plan(slot);
  ByteSpan span = warp.locate(mem, 4);
  if (span.lanes == 0) return;
  span.lanes = warp.lanes;
  const std::uint32_t record = warp.record(mem.buffer);
  Access& access = warp.machine.accesses.at(record);
  access.collective = true;
  access.alloc_slot = true;
  const bool raced = warp.touch(span, 4, Warp::Touch::write, record) != 0;
  const std::int64_t first = span.first[warp.first_lane()];
  std::memcpy(span.memory->data() + first, &base, 4);
  std::memset(span.memory->flags() + first, ByteMemory::defined | (bad || raced ? ByteMemory::bad : 0), 4);
}

std::uint32_t lifecycle_record(Warp& warp) {
  Access access = warp.describe();
  access.collective = true;
  return warp.machine.accesses.add(access);
}

// The two halves of an operation do not fit; told from the CTA with the higher index, whoever came first.
void report_halves(Warp& warp, std::string message, std::uint32_t theirs) {
  Candidate found = warp.candidate(Verdict::peer_lifecycle, std::move(message), theirs);
  if (found.at_instance < found.other_instance) swap_sides(found);
  warp.report(std::move(found));
}

// Both CTAs of the pair ask; whoever comes second allocates for both.
Ran alloc_in_pair(const TcgenAlloc& op, Warp& warp, std::uint32_t columns, std::uint32_t record, bool faulty) {
  PairCall& mine = warp.cta.pair_alloc;
  if (mine.granted) {
    const PairCall granted = mine;
    mine = {};
    store_base(warp, op.slot, granted.base, granted.faulty);
    return Ran::finished();
  }
  Cta* peer = warp.retrying ? &warp.machine.ctas[warp.machine.cta_of_rank(warp.cta, warp.cta.rank ^ 1u)] : peer_of(warp);
  if (!peer) {
    store_base(warp, op.slot, no_address, true);
    return Ran::finished();
  }
  if (!warp.retrying && !knows_that_it_runs(warp, *peer)) {
    warp.report(warp.candidate(Verdict::peer_lifecycle, fmt::format("nothing orders the alloc of the pair after the start of CTA {}", peer->index)));
  }
  mine = {true, false, columns, 0, record, faulty};
  PairCall& theirs = peer->pair_alloc;
  if (!theirs.waiting) return Ran::blocked(LaneGroup::State::pair, columns, record);
  if (faulty || theirs.faulty) {  // neither gets any
    const std::uint32_t waiting = theirs.record;
    theirs = {false, true, theirs.columns, no_address, waiting, true};
    mine = {};
    store_base(warp, op.slot, no_address, true);
    release(warp, *peer, waiting);
    return Ran::finished();
  }
  const bool differ = theirs.columns != columns;
  if (differ && !warp.retrying) report_halves(warp, fmt::format("one CTA of the pair asks for {} columns and the other for {}", columns, theirs.columns), theirs.record);
  Sm& sm = warp.sm();
  Sm& other = warp.machine.sms[peer->sm];
  const auto own_half = take(warp, sm, columns, warp.cta.index, record);
  auto peer_half = own_half ? other.allocator.take_at(own_half->base, theirs.columns, peer->index, theirs.record) : std::nullopt;
  if (own_half && !peer_half) peer_half = other.allocator.take(theirs.columns, peer->index, theirs.record);
  if (!peer_half) {
    if (own_half) sm.allocator.give(own_half->base);
    return Ran::blocked(LaneGroup::State::alloc, columns, record);
  }
  if (own_half->base != peer_half->base) {
    if (!differ) report_halves(warp, fmt::format("the pair got column {} in one CTA and {} in the other", own_half->base, peer_half->base), theirs.record);
  }
  if (differ) {
    sm.allocator.mark_faulty(own_half->base);
    other.allocator.mark_faulty(peer_half->base);
  }
  sm.cells().reset(own_half->base, columns);
  other.cells().reset(peer_half->base, theirs.columns);
  settle_early_accesses(warp, warp.cta, own_half->base, columns, record);
  settle_early_accesses(warp, *peer, peer_half->base, theirs.columns, theirs.record);
  note_allocation(warp, *own_half, true);
  note_allocation(warp, *peer_half, true);
  const std::uint32_t waiting = theirs.record;
  theirs.granted = true;
  theirs.waiting = false;
  theirs.base = peer_half->base;
  mine = {};
  store_base(warp, op.slot, own_half->base, false);
  if (warp.event) warp.event->text = fmt::format("columns {}..{} of the pair", own_half->base, own_half->base + columns - 1);
  release(warp, *peer, waiting);
  return Ran::finished();
}

void give_back(Warp& warp, Cta& cta, std::uint32_t base, std::uint32_t record) {
  Sm& sm = warp.machine.sms[cta.sm];
  const Allocation* allocation = sm.allocator.starting_at(base);
  if (!allocation || allocation->cta != cta.index) return;
  const Allocation freed = *allocation;
  sm.allocator.give(freed.base);
  note_allocation(warp, freed, false);
  for (std::uint32_t granule = freed.base / 32; granule < (freed.base + freed.columns) / 32; ++granule) sm.history[granule] = {record, cta.index};
  warp.machine.columns_freed(sm);
}

// The columns are free when both CTAs of the pair have come; those of a half that misses its allocation are not freed at all.
Ran dealloc_in_pair(Warp& warp, const Allocation& freed, std::uint32_t record, bool mismatched) {
  Cta* peer = peer_of(warp);
  if (!peer) {
    if (!mismatched) give_back(warp, warp.cta, freed.base, record);
    return Ran::finished();
  }
  const Allocation* half = warp.machine.sms[peer->sm].allocator.starting_at(freed.base);
  if (half && half->cta == peer->index) {
    if (!half->faulty && !warp.happened_before(Sight::any, half->record, ~0u, warp.lanes, true)) {
      warp.report(warp.candidate(Verdict::peer_lifecycle, fmt::format("nothing orders the dealloc of the pair after the alloc of CTA {}", peer->index), half->record));
    } else {
      const Allocation of_peer = *half;
      if (!freed.faulty) check_dealloc(warp, *peer, of_peer);
    }
  }
  PairCall& theirs = peer->pair_dealloc;
  if (!theirs.waiting) {
    warp.cta.pair_dealloc = {true, false, freed.columns, freed.base, record, mismatched};
    return Ran::blocked(LaneGroup::State::pair, freed.columns, record);
  }
  if (theirs.columns != freed.columns && !freed.faulty && !(half && half->faulty))
    report_halves(warp, fmt::format("one CTA of the pair frees {} columns and the other {}", freed.columns, theirs.columns), theirs.record);
  const PairCall waiting = theirs;
  theirs.waiting = false;
  theirs.granted = true;
  if (!mismatched) give_back(warp, warp.cta, freed.base, record);
  if (!waiting.faulty) give_back(warp, *peer, waiting.base, waiting.record);
  release(warp, *peer, waiting.record);
  return Ran::finished();
}

}  // namespace

Ran execute(const TcgenAlloc& op, Warp& warp) {
  const WarpValue cols = warp.evaluate_for_warp(op.cols, "the number of columns");
  const bool legal = tcgen05::is_alloc_size(cols.value), faulty = !legal || cols.bad;
  const std::uint32_t columns = legal ? static_cast<std::uint32_t>(cols.value) : 0;
  const LaneGroup* group = warp.machine.group_at(warp.state, warp.step, warp.lanes);
  std::uint32_t record = warp.retrying && group ? group->record : 0;
  if (record == 0) {
    record = lifecycle_record(warp);
    note_lifecycle(warp, record);
    check_permit(warp, record);
    if (!legal && !cols.bad) {
      warp.report(warp.candidate(Verdict::alloc_size, fmt::format("{} columns cannot be allocated", cols.value)));
    }
    if (!faulty) {
      note_request(warp, columns);
      check_order_of_sizes(warp, record, columns);
    }
  }
  if (op.cta_group == 2) return alloc_in_pair(op, warp, columns, record, faulty);
  if (faulty) {  // the request has been reported: go on with an address that is known bad, and without columns
    store_base(warp, op.slot, no_address, true);
    return Ran::finished();
  }
  Sm& sm = warp.sm();
  const auto taken = take(warp, sm, columns, warp.cta.index, record);
  if (!taken) return Ran::blocked(LaneGroup::State::alloc, columns, record);
  sm.cells().reset(taken->base, columns);
  settle_early_accesses(warp, warp.cta, taken->base, columns, record);
  note_allocation(warp, *taken, true);
  store_base(warp, op.slot, taken->base, false);
  if (warp.event) warp.event->text = fmt::format("columns {}..{}", taken->base, taken->base + columns - 1);
  if (warp.retrying) {
    if (warp.machine.tracer) warp.machine.tracer->see_dealloc(warp.cta.sm);
    Candidate waited = warp.candidate(Verdict::alloc_blocked, fmt::format("the alloc of {} columns had to wait for columns of others", columns));
    waited.severity = Severity::note;
    warp.report(std::move(waited));
  }
  return Ran::finished();
}

Ran execute(const TcgenDealloc& op, Warp& warp) {
  if (op.cta_group == 2 && warp.retrying && warp.cta.pair_dealloc.granted) {
    warp.cta.pair_dealloc = {};
    return Ran::finished();
  }
  const WarpValue cols = warp.evaluate_for_warp(op.cols, "the number of columns");
  WarpValue address;
  if (op.slot) {
    const MemPlan& mem = warp.plan(*op.slot);
    const ByteSpan span = warp.locate(mem, 4);
    const std::uint32_t raced = warp.touch(span, 4, Warp::Touch::read, warp.record(mem.buffer));
    address.bad = span.lanes != warp.lanes || raced != 0;
    if (!address.bad) {
      const std::int64_t first = span.first[warp.first_lane()];
      std::memcpy(&address.value, span.memory->data() + first, 4);
      const std::uint8_t* flags = span.memory->flags() + first;
      const bool defined = flags[0] & flags[1] & flags[2] & flags[3] & ByteMemory::defined;
      address.bad = (flags[0] | flags[1] | flags[2] | flags[3]) & ByteMemory::bad;
      address.bad = (warp.steer(warp.lanes, defined ? 0 : ~0u, address.bad ? ~0u : 0, "the address to free") & warp.lanes) != 0;
    }
  } else if (op.addr) {
    address = warp.evaluate_for_warp(*op.addr, "the address to free");
  }
  const std::uint32_t record = lifecycle_record(warp);
  note_lifecycle(warp, record);

  Sm& sm = warp.sm();
  const auto base = static_cast<std::uint32_t>(address.value);
  if (address.bad && is_no_address(base)) return Ran::finished();  // of a refused alloc, which holds nothing
  const Allocation* allocation = sm.allocator.starting_at(base);
  const bool own = allocation && allocation->cta == warp.cta.index;
  const bool mismatched = !own || allocation->columns != static_cast<std::uint32_t>(cols.value);
  if (mismatched && !own && std::erase(warp.cta.given_up, std::pair(base, static_cast<std::uint32_t>(cols.value))) != 0) return Ran::finished();
  if (mismatched) {
    const bool known_bad = address.bad || cols.bad || (own && allocation->faulty);
    if (!known_bad) {
      std::string message;
      if (own) {
        message = fmt::format("the allocation at column {} has {} columns, not {}", base, allocation->columns, cols.value);
      } else if (const Allocation* inside = sm.allocator.holding(base & 0xffffu); inside && inside->cta == warp.cta.index) {
        message = fmt::format("column {} lies inside the allocation that starts at column {}", base & 0xffffu, inside->base);
      } else {
        message = fmt::format("no allocation of this CTA starts at address {:#x}", base);
      }
      Candidate found = warp.candidate(Verdict::dealloc_mismatch, std::move(message), own ? allocation->record : 0);
      if (!own && (base & 0xffffu) < 512) {
        const GranuleHistory& history = sm.history[(base & 0xffffu) / tcgen05::granule_columns];
        if (history.freed_by != 0 && history.freed_cta == warp.cta.index) found = warp.candidate(Verdict::dealloc_mismatch, found.message + "; it has been freed already", history.freed_by);
      }
      found.where = columns_place(warp, base & 0xffffu, std::max<std::int64_t>(1, cols.value));
      warp.report(std::move(found));
    }
    // What the range covers beside it was meant to be freed, too.
    const std::int64_t first = base & 0xffffu, end = first + std::max<std::int64_t>(1, cols.value);
    const std::vector<Allocation> live = sm.allocator.live();
    for (const Allocation& one : live)
      if (one.cta == warp.cta.index && one.base < end && first < one.base + one.columns && one.base != base) sm.allocator.mark_faulty(one.base);
    if (!own && known_bad) warp.cta.lost_deallocs.push_back(static_cast<std::uint32_t>(cols.value));
    if (!own) return Ran::finished();
    // Nothing is freed with the wrong count. Whether this allocation was meant, or another, is open: no finding follows from it.
    sm.allocator.mark_faulty(base);
    if (op.cta_group != 2) return Ran::finished();
  }
  const Allocation freed = *sm.allocator.starting_at(base);
  if (!freed.faulty) check_dealloc(warp, warp.cta, freed);
  if (op.cta_group == 2) return dealloc_in_pair(warp, freed, record, mismatched);
  sm.allocator.give(freed.base);
  note_allocation(warp, freed, false);
  for (std::uint32_t granule = freed.base / 32; granule < (freed.base + freed.columns) / 32; ++granule) sm.history[granule] = {record, warp.cta.index};
  if (warp.event) warp.event->text = fmt::format("columns {}..{}", freed.base, freed.base + freed.columns - 1);
  warp.machine.columns_freed(sm);
  return Ran::finished();
}

Ran execute(const TcgenRelinquish&, Warp& warp) {
  const std::uint32_t record = lifecycle_record(warp);
  for (std::uint32_t alloc : warp.cta.allocs) {
    if (warp.happened_before(Sight::any, alloc, ~0u, warp.lanes, true)) continue;
    Candidate found = warp.candidate(Verdict::alloc_permit, "nothing orders the alloc before the CTA relinquishes its permit", alloc);
    swap_sides(found);
    warp.report(std::move(found));
    warp.machine.note_unordered(record, alloc);
  }
  if (warp.cta.relinquish_record == 0) warp.cta.relinquish_record = record;
  return Ran::finished();
}

}  // namespace tmemsim::sim
