// cp.async.bulk between global and shared memory, with its groups. PTX ISA 9.7.9.25.
//
// A copy to shared memory is complete for whoever waits on the phase that its bytes count in; one to global memory when its
// thread has waited for its group.
#include "ir/ops/bulk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "sim/exec/families.hpp"
#include "sim/exec/operand.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::int64_t unit = 16;  // addresses and sizes are multiples of it

BulkThread& thread_of(Warp& warp) {
  BulkThread& thread = warp.cta.bulk_threads[warp.state.warp * 32 + warp.first_lane()];
  if (thread.agent == 0) {
    thread.read_agent = warp.cta.next_agent++;
    thread.agent = warp.cta.next_agent++;
  }
  return thread;
}

struct Side {
  ByteMemory* memory = nullptr;
  Cta* owner = nullptr;       // of shared memory
  const Buffer* buffer = nullptr;
  BufferId id = 0;
  std::int64_t first = 0, count = 0;
  std::vector<std::int64_t> order;  // of each element, where it begins; empty where they follow each other
  std::int64_t base() const { return owner ? buffer->offset.value_or(0) : 0; }
};

// Whether elements of `width` bits that begin at these bytes follow each other, and whether they fill one block in whatever order.
bool follow_each_other(const std::vector<std::int64_t>& byte, int width) {
  for (std::size_t i = 0; i < byte.size(); ++i)
    if (byte[i] != byte.front() + static_cast<std::int64_t>(i) * width / 8) return false;
  return true;
}
bool fill_one_block(const std::vector<std::int64_t>& byte, std::int64_t first, int width) {
  if (width < 8) return false;  // several elements a byte
  std::vector<bool> filled(byte.size(), false);
  for (const std::int64_t each : byte) {
    const auto slot = static_cast<std::size_t>((each - first) / (width / 8));
    if ((each - first) % (width / 8) != 0 || slot >= filled.size() || filled[slot]) return false;
    filled[slot] = true;
  }
  return true;
}

std::optional<Side> side_of(Warp& warp, const Region& region) {
  const Warp::Start start = warp.start_of(region);
  if (!start.fine) return std::nullopt;
  Side side;
  side.id = region.buffer;
  side.buffer = &warp.machine.kernel.buffers[region.buffer];
  side.owner = side.buffer->space == Space::shared ? &warp.cta : nullptr;
  side.memory = side.owner ? &side.owner->shared : &warp.machine.global[region.buffer];
  const std::vector<std::int64_t> byte = region_bytes(*side.buffer, warp.plan(region), start.element);
  const int width = bits(side.buffer->dtype);
  side.first = *std::min_element(byte.begin(), byte.end());
  side.count = static_cast<std::int64_t>(byte.size()) * width / 8;
  if (!follow_each_other(byte, width))
    for (const std::int64_t each : byte) side.order.push_back(each - side.first);
  if (!side.order.empty() && !fill_one_block(byte, side.first, width))
    input_error(warp.machine.kernel.files, warp.machine.program.steps[warp.step].stmt->at,
                fmt::format("the elements of {} in the bulk copy are not one block of memory", side.buffer->name), "a bulk copy moves one contiguous block");
  const auto place = [&](Candidate found) {
    found.where.space = side.owner ? "shared" : "global";
    if (side.owner) found.where.cta = side.owner->index;
    found.where.buffer = side.buffer->name;
    found.where.bytes = {side.first - side.base(), side.first - side.base() + side.count - 1};
    warp.report(std::move(found));
  };
  if (side.first % unit == 0 && side.count % unit == 0) return side;
  place(warp.candidate(Verdict::misaligned, side.first % unit != 0 ? fmt::format("the address in {} is not a multiple of {} bytes", side.buffer->name, unit)
                                                                   : fmt::format("{} bytes are not a multiple of {}", side.count, unit)));
  return std::nullopt;
}

AsyncBytes bytes_of(const Side& side) { return {side.memory, side.owner, side.id, side.base()}; }

std::uint32_t bulk_record(Warp& warp, BufferId buffer, std::uint32_t agent_cta, std::uint32_t agent, std::uint32_t number) {
  Access access = warp.describe();
  access.kind = AccessKind::bulk;
  access.buffer = buffer;
  access.agent_cta = agent_cta;
  access.agent = agent;
  access.async_number = number;
  return warp.machine.accesses.add(access);
}

// What is known of the destination: what is known of the source.
void copy_flags(const Side& dst, const Side& src, bool bad) {
  for (std::int64_t i = 0; i < src.count; ++i)
    dst.memory->flags()[dst.first + i] = static_cast<std::uint8_t>(src.memory->flags()[src.first + i] | (bad ? ByteMemory::bad : 0));
  if (!dst.owner || mbarrier_over(*dst.owner, dst.first, src.count) == nullptr) return;
  for (std::int64_t i = 0; i < src.count; ++i)  // data over a barrier object: that has been told
    if (mbarrier_over(*dst.owner, dst.first + i, 1) != nullptr) dst.memory->flags()[dst.first + i] |= ByteMemory::bad;
}

void note(Warp& warp, const Side& side, bool write) {
  if (!warp.event) return;
  note_range(write ? warp.event->writes : warp.event->reads, side.owner ? Extent::Space::shared : Extent::Space::global,
             side.owner ? side.owner->index : std::uint32_t{side.id}, side.first, side.first + side.count - 1);
}

using Effect = std::function<void(Machine&)>;

void move_bytes(const Side& dst, const Side& src) { std::memcpy(dst.memory->data() + dst.first, src.memory->data() + src.first, static_cast<std::size_t>(src.count)); }

// The CTAs of the cluster that a copy to shared memory goes to.
std::vector<Cta*> destinations(const BulkCopy& op, Warp& warp, std::int64_t bar) {
  if (!op.mask) return {&warp.cta};
  const WarpValue mask = warp.evaluate_for_warp(*op.mask, "the mask of CTAs");
  const std::uint32_t size = cluster_size(warp.machine.kernel.launch), named = static_cast<std::uint32_t>(mask.value);
  if (mask.bad) return {};
  if (size < 32 && named >> size != 0) {
    Candidate found = warp.candidate(Verdict::mbar_target, fmt::format("the mask {:#b} names a CTA that a cluster of {} does not have", named, size));
    found.barrier_fault = BarrierFault::object;
    found.barrier = BarrierKey{warp.cta.index, bar};
    warp.report(std::move(found));
  }
  std::vector<Cta*> ctas;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    if (named >> rank & 1u) ctas.push_back(&warp.machine.ctas[warp.machine.cta_of_rank(warp.cta, rank)]);
  return ctas;
}

Effect load(const BulkCopy& op, Warp& warp, const Side& own, const Side& src, std::uint32_t& record) {
  const ByteSpan bar = warp.locate(warp.plan(*op.bar), 8);
  if (bar.lanes == 0) return {};
  const std::int64_t offset = bar.first[warp.first_lane()];
  std::vector<Effect> effects;
  for (Cta* cta : destinations(op, warp, offset)) {
    Side dst = own;
    dst.owner = cta;
    dst.memory = &cta->shared;
    Cta::BulkSignal& of_barrier = cta->bulk_signals[offset];
    if (of_barrier.agent == 0) of_barrier.agent = cta->next_agent++;
    const std::uint32_t agent = of_barrier.agent, number = ++of_barrier.copies;
    record = bulk_record(warp, dst.id, cta->index, agent, number);
    of_barrier.last_record = record;
    const bool valid = use_mbarrier(warp, *cta, offset, record);
    if (cta != &warp.cta) cta->remote.push_back(record);
    const std::uint32_t read = bulk_record(warp, src.id, cta->index, agent, number);
    const bool read_fine = check_async_bytes(warp, bytes_of(src), {{src.first, src.count}}, Warp::Touch::read, read);
    const bool write_fine = check_async_bytes(warp, bytes_of(dst), {{dst.first, dst.count}}, Warp::Touch::write, record);
    copy_flags(dst, src, !read_fine || !write_fine);
    note(warp, src, false);
    note(warp, dst, true);
    // What is copied is handed over; what the thread did before is not released by it.
    Views views;
    views.any = warp.released(warp.lanes).any;
    const View knows = views.any;
    const std::uint32_t index = cta->index;
    effects.push_back([dst, src, valid, index, offset, signal_record = record, views, knows, agent, number](Machine& machine) {
      move_bytes(dst, src);
      if (!valid) return;
      Views handed_over = views;
      const std::uint32_t complete = machine.ctas[index].bulk_signals[offset].complete_one(number);
      for (View* view : {&handed_over.any, &handed_over.generic, &handed_over.tensor.now, &handed_over.tensor.released, &handed_over.tolerant.now,
                         &handed_over.tolerant.released})
        view->raise(index, agent, complete);
      mbarrier_complete_tx(machine, machine.ctas[index], offset, dst.count, {signal_record, &handed_over, true, &knows});
    });
  }
  return [effects](Machine& machine) {
    for (const Effect& effect : effects) effect(machine);
  };
}

// A copy that has been reported moves nothing. Its bytes count all the same, and what it was meant to write is known bad.
Effect count_only(const BulkCopy& op, Warp& warp, std::uint32_t& record) {
  const Buffer& buffer = warp.machine.kernel.buffers[op.dst.buffer];
  if (buffer.space != Space::shared) {
    warp.machine.global[op.dst.buffer].spoil_undefined(0, byte_size(buffer));
    return {};
  }
  std::int64_t offset = -1;
  if (op.bar) {
    const ByteSpan bar = warp.locate(warp.plan(*op.bar), 8);
    if (bar.lanes != 0) offset = bar.first[warp.first_lane()];
  }
  const std::int64_t bytes = warp.plan(op.dst).elements * bits(buffer.dtype) / 8;
  const Views views = warp.released(0);
  const View knows = warp.released(warp.lanes).any;
  std::vector<std::uint32_t> signalled;
  for (Cta* cta : destinations(op, warp, offset)) {
    cta->shared.spoil_undefined(buffer.offset.value_or(0), byte_size(buffer));
    record = warp.record(op.dst.buffer);
    if (offset >= 0 && use_mbarrier(warp, *cta, offset, record)) signalled.push_back(cta->index);
  }
  return [signalled, offset, bytes, record, views, knows](Machine& machine) {
    for (std::uint32_t index : signalled) mbarrier_complete_tx(machine, machine.ctas[index], offset, bytes, {record, &views, true, &knows});
  };
}

Effect store(Warp& warp, const Side& dst, const Side& src, std::uint32_t& record) {
  BulkThread& thread = thread_of(warp);
  const std::uint32_t number = ++thread.issued;
  if (warp.machine.tracer) warp.machine.tracer->issue_bulk(warp.state, warp.first_lane(), number);
  const std::uint32_t read = bulk_record(warp, src.id, warp.cta.index, thread.read_agent, number);
  thread.last_record = read;
  record = bulk_record(warp, dst.id, warp.cta.index, thread.agent, number);
  bool fine = check_async_bytes(warp, bytes_of(src), {{src.first, src.count}}, Warp::Touch::read, read);
  const std::uint8_t* flags = src.memory->flags() + src.first;
  if (fine && std::any_of(flags, flags + src.count, [](std::uint8_t flag) { return flag == 0; })) {
    Candidate found = warp.candidate(Verdict::uninit_read, fmt::format("bytes of {} are stored to global memory that nobody has written", src.buffer->name));
    found.where.space = "shared";
    found.where.cta = warp.cta.index;
    found.where.buffer = src.buffer->name;
    found.severity = Severity::error;
    warp.report(std::move(found));
    fine = false;
  }
  for (std::int64_t i = 0; i < src.count; ++i)
    if (flags[i] == ByteMemory::bad) warp.machine.reaches_memory(src.memory->origin_of(static_cast<std::size_t>(src.first + i)));
  if (!check_async_bytes(warp, bytes_of(dst), {{dst.first, dst.count}}, Warp::Touch::write, record)) fine = false;
  copy_flags(dst, src, !fine);
  note(warp, src, false);
  note(warp, dst, true);
  return [dst, src](Machine&) { move_bytes(dst, src); };
}

}  // namespace

Flight issue(const BulkCopy& op, Warp& warp) {
  Flight flight{Async::bulk, 0, 0, {}, false};
  std::vector<Effect> effects;
  for (std::uint32_t rest = warp.lanes; rest != 0; rest &= rest - 1) {  // every thread copies by itself
    Warp one(warp.machine, warp.state, warp.step, rest & (~rest + 1u), warp.number);
    one.event = warp.event;
    auto dst = side_of(one, op.dst), src = side_of(one, op.src);
    if (!dst || !src) {
      if (Effect effect = count_only(op, one, flight.record)) effects.push_back(std::move(effect));
      continue;
    }
    if (dst->order != src->order)
      input_error(warp.machine.kernel.files, warp.machine.program.steps[warp.step].stmt->at,
                  fmt::format("the elements of {} and {} stand in different orders", dst->buffer->name, src->buffer->name),
                  "a bulk copy moves bytes as they are: give both sides the same layout");
    dst->order.clear();
    src->order.clear();
    Effect effect = dst->owner ? load(op, one, *dst, *src, flight.record) : store(one, *dst, *src, flight.record);
    if (effect) effects.push_back(std::move(effect));
  }
  if (flight.record == 0) flight.record = warp.record(no_buffer);
  flight.complete = [effects](Machine& machine, WarpState&) {
    for (const Effect& effect : effects) effect(machine);
  };
  return flight;
}

Ran execute(const BulkCommitGroup&, Warp& warp) {
  for (std::uint32_t rest = warp.lanes; rest != 0; rest &= rest - 1) {
    Warp one(warp.machine, warp.state, warp.step, rest & (~rest + 1u), warp.number);
    BulkThread& thread = thread_of(one);
    thread.groups.push_back(thread.issued);
  }
  return Ran::finished();
}

Ran execute(const BulkWaitGroup& op, Warp& warp) {
  const LaneValues pending = warp.evaluate(op.n);
  for (std::uint32_t rest = warp.lanes; rest != 0; rest &= rest - 1) {
    Warp one(warp.machine, warp.state, warp.step, rest & (~rest + 1u), warp.number);
    const BulkThread& thread = thread_of(one);
    const std::int64_t allowed = std::max<std::int32_t>(0, pending.value[one.first_lane()]), groups = static_cast<std::int64_t>(thread.groups.size());
    if (groups <= allowed) continue;
    const std::uint32_t covered = thread.groups[static_cast<std::size_t>(groups - allowed - 1)];
    warp.machine.complete_bulk(warp.state, one.lanes, covered);
    if (warp.machine.tracer) warp.machine.tracer->see_bulk(warp.state, one.first_lane(), covered);
    one.change_views(one.lanes, [&](Views& views) {
      for (View* view : {&views.any, &views.generic, &views.tensor.now, &views.tolerant.now}) {
        view->raise(warp.cta.index, thread.read_agent, covered);
        if (!op.read) view->raise(warp.cta.index, thread.agent, covered);
      }
    });
  }
  return Ran::finished();
}

}  // namespace tmemsim::sim
