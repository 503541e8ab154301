// tcgen05.alloc, .dealloc, .relinquish_alloc_permit. PTX ISA 9.7.16.7; tcgen05.md section 2, 14.2, 14.6 rules 3 and 4.
#include "ir/ops/tcgen05_alloc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/check/hazards.hpp"
#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

void need_one_cta(const Warp& warp, std::uint8_t cta_group) {
  if (cta_group != 1) throw Unsupported("cta_group::2 is not simulated yet", warp.machine.program.steps[warp.step].stmt->at);
}

Place columns_place(const Warp& warp, std::int64_t first, std::int64_t count) {
  Place place;
  place.space = "tmem";
  place.sm = warp.cta.sm;
  place.cta = warp.cta.index;
  place.columns = {first, first + count - 1};
  return place;
}

std::uint32_t next_legal_size(std::int64_t cols) {
  for (std::uint32_t size = 32; size < 512; size *= 2)
    if (cols <= size) return size;
  return 512;
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
      std::swap(found.at, *found.other);
      std::swap(found.at_instance, found.other_instance);
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

// Another CTA of the SM that allocates: which of the two gets which columns depends on who comes first.
void note_contention(Warp& warp, std::uint32_t record) {
  for (std::uint32_t other : warp.sm().ctas) {
    const Cta& neighbour = warp.machine.ctas[other];
    if (other == warp.cta.index || neighbour.allocs.empty()) continue;
    if (!warp.happened_before(Sight::any, neighbour.allocs.back(), ~0u, warp.lanes, true)) warp.machine.note_unordered(record, neighbour.allocs.back());
  }
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
  if (warp.event) warp.event->writes.push_back({"shared", warp.cta.index, 0, 0, first, first + 3});
}

std::uint32_t lifecycle_record(Warp& warp) {
  Access access = warp.describe();
  access.collective = true;
  return warp.machine.accesses.add(access);
}

}  // namespace

Ran execute(const TcgenAlloc& op, Warp& warp) {
  need_one_cta(warp, op.cta_group);
  const WarpValue cols = warp.evaluate_for_warp(op.cols, "the number of columns");
  const bool legal = tcgen05::is_alloc_size(cols.value);
  const std::uint32_t columns = legal ? static_cast<std::uint32_t>(cols.value) : next_legal_size(cols.value);
  const LaneGroup* group = warp.machine.group_at(warp.state, warp.step, warp.lanes);
  std::uint32_t record = warp.retrying && group ? group->record : 0;
  if (record == 0) {
    record = lifecycle_record(warp);
    note_lifecycle(warp, record);
    check_permit(warp, record);
    if (!legal && !cols.bad) {
      warp.report(warp.candidate(Verdict::alloc_size, fmt::format("{} columns cannot be allocated", cols.value)));
    }
    note_contention(warp, record);
    if (legal && !cols.bad) check_order_of_sizes(warp, record, columns);
  }
  Sm& sm = warp.sm();
  const auto taken = sm.allocator.take(columns, warp.cta.index, record);
  const bool faulty = !legal || cols.bad;
  if (!taken) {
    if (!faulty) return Ran::blocked(LaneGroup::State::alloc, columns, record);
    store_base(warp, op.slot, 0, true);  // the request has been reported: go on with an address that is known bad
    return Ran::finished();
  }
  if (faulty) sm.allocator.mark_faulty(taken->base);
  sm.cells().reset(taken->base, columns);
  store_base(warp, op.slot, taken->base, faulty);
  if (warp.event) warp.event->text = fmt::format("columns {}..{}", taken->base, taken->base + columns - 1);
  if (warp.retrying) {
    Candidate waited = warp.candidate(Verdict::alloc_blocked, fmt::format("the alloc of {} columns had to wait for columns of others", columns));
    waited.severity = Severity::note;
    warp.report(std::move(waited));
  }
  return Ran::finished();
}

Ran execute(const TcgenDealloc& op, Warp& warp) {
  need_one_cta(warp, op.cta_group);
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
      address.bad = (warp.use_value(warp.lanes, defined ? 0 : ~0u, address.bad ? ~0u : 0, "the address to free") & warp.lanes) != 0;
    }
  } else if (op.addr) {
    address = warp.evaluate_for_warp(*op.addr, "the address to free");
  }
  const std::uint32_t record = lifecycle_record(warp);
  note_lifecycle(warp, record);

  Sm& sm = warp.sm();
  const auto base = static_cast<std::uint32_t>(address.value);
  const Allocation* allocation = sm.allocator.starting_at(base);
  const bool own = allocation && allocation->cta == warp.cta.index;
  if (!own || allocation->columns != static_cast<std::uint32_t>(cols.value)) {
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
    if (!own) return Ran::finished();
  }
  // Who frees with the wrong count meant this allocation: the rest of the program is judged as if it had been right.
  const Allocation freed = *allocation;
  if (!freed.faulty) check_dealloc(warp, freed, record);
  sm.allocator.give(freed.base);
  for (std::uint32_t granule = freed.base / 32; granule < (freed.base + freed.columns) / 32; ++granule) sm.history[granule] = {record, warp.cta.index};
  if (warp.event) warp.event->text = fmt::format("columns {}..{}", freed.base, freed.base + freed.columns - 1);
  warp.machine.columns_freed(sm);
  return Ran::finished();
}

Ran execute(const TcgenRelinquish& op, Warp& warp) {
  need_one_cta(warp, op.cta_group);
  const std::uint32_t record = lifecycle_record(warp);
  for (std::uint32_t alloc : warp.cta.allocs) {
    if (warp.happened_before(Sight::any, alloc, ~0u, warp.lanes, true)) continue;
    Candidate found = warp.candidate(Verdict::alloc_permit, "nothing orders the alloc before the CTA relinquishes its permit", alloc);
    std::swap(found.at, *found.other);
    std::swap(found.at_instance, found.other_instance);
    warp.report(std::move(found));
    warp.machine.note_unordered(record, alloc);
  }
  if (warp.cta.relinquish_record == 0) warp.cta.relinquish_record = record;
  return Ran::finished();
}

}  // namespace tmemsim::sim
