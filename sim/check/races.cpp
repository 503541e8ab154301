// Races on shared and global bytes: every access is compared with the last writer and the readers since, word by word.
// Which pairs count: the catalogue, ir/verdict.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/exec.hpp"

namespace tmemsim::sim {
namespace {

bool all_bad(const ByteSpan& span, std::uint32_t lane, int bytes) {
  const std::uint8_t* flags = span.memory->flags() + span.first[lane];
  return std::all_of(flags, flags + bytes, [](std::uint8_t flag) { return (flag & ByteMemory::bad) != 0; });
}

// Most ids stand for one access: no list is made of it.
template <class Visit> void for_each_reader(const AccessTable& table, AccessId id, Visit&& visit) {
  if (id == 0) return;
  if (!AccessTable::is_set(id)) return visit(AccessTable::Reader{AccessTable::record_of(id), table.lanes_of(id)});
  for (const AccessTable::Reader& reader : table.readers(id)) visit(reader);
}

std::string_view past(bool writes) { return writes ? "written" : "read"; }

}  // namespace

void Warp::report_race(const ByteSpan& span, std::uint32_t lane, int bytes, Touch touch, std::uint32_t record, std::uint32_t x_record,
                       std::uint32_t x_lanes, bool x_writes, Scopes scopes) {
  const Access& x = machine.accesses[x_record];
  const Access& y = machine.accesses[record];
  const bool y_writes = touch == Touch::write;
  const bool ordered = happened_before(Sight::any, x_record, x_lanes, 1u << lane, y.collective);
  // An order of the issues is none for an asynchronous access: it has to be complete.
  const bool has_path = x.kind == AccessKind::order ? ordered : complete_for(Sight::any, x, 1u << lane);
  const bool same_warp = x.cta == y.cta && x.warp == y.warp;
  const bool other_view = x.buffer != y.buffer && x.buffer != no_buffer && y.buffer != no_buffer;
  const std::string& name = machine.kernel.buffers[span.buffer].name;

  Verdict verdict = span.shared ? Verdict::smem_race : Verdict::global_race;
  std::string message = fmt::format("bytes of {} are {} and {} by threads that nothing orders", name, past(x_writes), past(y_writes));
  if (span.shared && other_view && (!same_warp || x.kind == AccessKind::bulk) && !is_tensor_core(x.kind) && !has_path) {
    verdict = Verdict::alias_race;
    message = fmt::format("{} and {} share bytes, and nothing orders their uses", machine.kernel.buffers[x.buffer].name, name);
  } else if (is_tensor_core(x.kind) && !x_writes && ordered) {
    verdict = Verdict::war_mma;
    message = fmt::format("{} is overwritten while the tensor core may still read it", name);
  } else if ((x.alloc_slot || y.alloc_slot) && !(x_writes && y_writes)) {
    verdict = Verdict::addr_publish;
    message = fmt::format("the base address in {} is read by a thread that is not ordered after the alloc", name);
  }
  Candidate found = candidate(verdict, std::move(message), x_record);
  found.unordered = !ordered;
  found.at.lanes = y.collective ? y.lanes : 1u << lane;
  found.other->lanes = x_lanes;
  found.conflicts.push_back({{y, !y_writes, y_writes}, {x, !x_writes, x_writes}, {}});
  found.conflicts.back().at.access.lanes = found.at.lanes;
  found.conflicts.back().other.access.lanes = x_lanes;
  // Nothing is phrased in time: an unordered pair is told as if the write came first; of two writes the smaller comes first.
  const bool swap = !ordered && (y_writes && (!x_writes || std::tuple(y.cta, y.warp, y.step, y.number) < std::tuple(x.cta, x.warp, x.step, x.number)));
  if (swap) {
    swap_sides(found);
  }
  if (scopes == Scopes::wide_enough) out_of_scope(found);
  const std::int64_t first = span.first[lane] - span.base;
  found.where.space = span.shared ? "shared" : "global";
  if (span.shared) found.where.cta = cta.index;
  found.where.buffer = name;
  found.where.bytes = {first, first + bytes - 1};
  report(std::move(found));
}

// Ordinary accesses to the bytes of a valid barrier object are undefined.
void Warp::report_object_access(const ByteSpan& span, std::uint32_t lane, int bytes) {
  const Mbarrier* object = mbarrier_over(*span.owner, span.first[lane], bytes);
  if (object == nullptr || all_bad(span, lane, bytes)) return;  // nothing there, or data that has been told to lie there
  report(candidate(Verdict::mbar_uninit, "the bytes of a barrier object are accessed as data", object->init_record));
}

std::uint32_t Warp::touch(const ByteSpan& span, int bytes, Touch touch, std::uint32_t record) {
  if (event) {
    note_bytes(touch == Touch::write ? event->writes : event->reads, span.shared ? Extent::Space::shared : Extent::Space::global,
               span.shared ? span.owner->index : std::uint32_t{span.buffer}, span.first, span.lanes, bytes);
  }
  std::uint32_t now_bad = 0, settled_record = 0;
  const Access y = machine.accesses[record];
  AccessTable& table = machine.accesses;

  const auto is_in_scope = [&](std::uint32_t x_record, std::uint32_t x_lanes, std::uint32_t lanes_of_y) {
    const Access& x = table[x_record];
    if (!machine.narrow_edges || (x.cta == y.cta && x.kind == AccessKind::order)) return true;
    if (x.kind != AccessKind::order) return complete_for(Sight::generic, x, lanes_of_y, Scopes::wide_enough);
    return happened_before(Sight::generic, x_record, x_lanes, lanes_of_y, y.collective, Scopes::wide_enough);
  };
  const auto is_settled = [&](std::uint32_t x_record, std::uint32_t x_lanes, std::uint32_t lanes_of_y) {
    if (x_record == settled_record || x_record == record) return true;
    const Access& x = table[x_record];
    if (x.kind != AccessKind::order) return complete_for(Sight::generic, x, lanes_of_y);
    if (x.cta == y.cta && x.warp == y.warp && x_lanes == lanes_of_y && std::has_single_bit(x_lanes)) return true;
    if (happened_before(Sight::generic, x_record, x.lanes, span.lanes, y.collective)) {
      settled_record = x_record;
      return true;
    }
    return happened_before(Sight::generic, x_record, x_lanes, lanes_of_y, y.collective);
  };
  // One lane, or all lanes of the span at one address.
  const auto one = [&](std::uint32_t lane, std::uint32_t lanes_of_y) {
    const AccessId me = lanes_of_y == y.lanes ? AccessTable::whole(record)
                        : std::has_single_bit(lanes_of_y) ? AccessTable::lane(record, lane) : table.intern({{record, lanes_of_y}});
    bool faulty = false;
    if (span.owner && !span.owner->mbarriers.empty()) report_object_access(span, lane, bytes);
    // Whether everything that has been done to the word comes before this access, complete or not: under every schedule.
    const auto knows_of_all = [&](const WordAccess& past) {
      bool all = true;
      for (AccessId id : {past.writer, past.reader}) {
        for_each_reader(table, id, [&](const AccessTable::Reader& x) {
          all = all && (x.record == record || happened_before(Sight::any, x.record, x.lanes, lanes_of_y, y.collective));
        });
      }
      return all;
    };
    // Readers that nothing orders with this write: a later one may lack the order, too, and then it is the one that is told.
    const auto unordered_of = [&](AccessId id) {
      AccessTable::Readers readers = table.readers(id);
      std::erase_if(readers, [&](const AccessTable::Reader& x) {
        return x.record == record || (table[x.record].strong && y.strong) || happened_before(Sight::any, x.record, x.lanes, lanes_of_y, y.collective);
      });
      return table.intern(readers);
    };
    const auto check = [&](std::uint32_t x_record, std::uint32_t x_lanes, bool x_writes) {
      const Access& x = table[x_record];
      if (is_settled(x_record, x_lanes, lanes_of_y)) {
        if (!(x.strong && y.strong) && !is_in_scope(x_record, x_lanes, lanes_of_y)) report_race(span, lane, bytes, touch, record, x_record, x_lanes, x_writes, Scopes::wide_enough);
        return true;
      }
      if (x.strong && y.strong) {  // no race; who comes first is open
        if ((x.cta_scope || y.cta_scope) && is_too_narrow(x.cta, MemScope::cta)) report_race(span, lane, bytes, touch, record, x_record, x_lanes, x_writes, Scopes::wide_enough);
        if (!happened_before(Sight::any, x_record, x_lanes, lanes_of_y, y.collective)) machine.note_unordered(record, x_record);
        return true;
      }
      const bool ordered = happened_before(Sight::any, x_record, x_lanes, lanes_of_y, y.collective);
      if (!all_bad(span, lane, bytes)) {
        report_race(span, lane, bytes, touch, record, x_record, x_lanes, x_writes, Scopes::any);
      } else if (!ordered) {  // told before; but a read that nothing orders with this write is told with the last such write
        if (x_writes) machine.note_unordered(record, x_record);
        else report_race(span, lane, bytes, touch, record, x_record, x_lanes, x_writes, Scopes::any);
      }
      faulty = true;
      return false;
    };
    span.memory->for_each_access(static_cast<std::size_t>(span.first[lane]), static_cast<std::size_t>(bytes), [&](WordAccess& past) {
      bool readers_fine = true;
      if (touch == Touch::write) for_each_reader(table, past.reader, [&](const AccessTable::Reader& x) { readers_fine = check(x.record, x.lanes, false) && readers_fine; });
      // Who overwrites what may still be read, although it was written long before, misses the order with the readers alone.
      if (readers_fine || !knows_of_all(past)) for_each_reader(table, past.writer, [&](const AccessTable::Reader& x) { check(x.record, x.lanes, true); });
      if (touch == Touch::write) {
        past = {me, readers_fine ? AccessId{0} : unordered_of(past.reader)};
        return;
      }
      // Whoever comes after a read of a thread comes after its earlier ones, too. But the first of several statements is the one
      // that is told where nothing orders it with a later write.
      const auto of_my_threads = [&](const AccessTable::Reader& reader) {
        const Access& x = table[reader.record];
        return reader.record != record && x.kind == AccessKind::order && x.cta == y.cta && x.warp == y.warp && (reader.lanes & ~lanes_of_y) == 0;
      };
      const auto stands_for = [&](const AccessTable::Reader& reader) { return of_my_threads(reader) || is_settled(reader.record, reader.lanes, lanes_of_y); };
      const auto replaces_only = [&](AccessId id) {
        if (id == 0) return true;
        if (AccessTable::is_set(id) || AccessTable::record_of(id) == record) return false;
        const AccessTable::Reader only{AccessTable::record_of(id), table.lanes_of(id)};
        return of_my_threads(only) ? table[only.record].step == y.step : is_settled(only.record, only.lanes, lanes_of_y);
      };
      if (replaces_only(past.reader)) {
        past.reader = me;
        return;
      }
      AccessTable::Readers readers = table.readers(past.reader);
      const auto first = std::find_if(readers.begin(), readers.end(), of_my_threads);
      const bool several = first != readers.end() && (table[first->record].step != y.step || std::any_of(first + 1, readers.end(), of_my_threads));
      const std::uint32_t kept = several ? first->record : 0;
      std::uint32_t mine = lanes_of_y;
      std::erase_if(readers, [&](const AccessTable::Reader& x) {
        if (x.record != record) return x.record != kept && stands_for(x);
        mine |= x.lanes;
        return true;
      });
      if (readers.empty() && mine == lanes_of_y) {
        past.reader = me;
        return;
      }
      if (readers.size() < most_readers) readers.push_back({record, mine});
      else machine.note_choice(Machine::Open::bound, step, machine.ref(record));
      past.reader = table.intern(readers);
    });
    if (touch == Touch::write && span.owner && mbarrier_over(*span.owner, span.first[lane], bytes) != nullptr) faulty = true;
    if (!faulty) return;
    now_bad |= lanes_of_y;
    std::uint8_t* flags = span.memory->flags() + span.first[lane];
    for (int i = 0; i < bytes; ++i) flags[i] |= ByteMemory::bad;
  };

  if (span.lanes == 0) return 0;
  constexpr std::size_t most_remote = 4096;
  if (span.owner && span.owner != &cta && span.owner->remote.size() < most_remote &&
      (span.owner->remote.empty() || span.owner->remote.back() != record)) {
    span.owner->remote.push_back(record);
  }
  const auto first_lane = static_cast<std::uint32_t>(std::countr_zero(span.lanes));
  bool same_place = true;
  for (std::uint32_t rest = span.lanes; rest != 0; rest &= rest - 1)
    same_place = same_place && span.first[static_cast<std::size_t>(std::countr_zero(rest))] == span.first[first_lane];
  if (same_place) {
    one(first_lane, span.lanes);
  } else {
    for (std::uint32_t rest = span.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
      one(lane, 1u << lane);
    }
  }
  return now_bad;
}

}  // namespace tmemsim::sim
