#include "sim/check/hazards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

namespace tmemsim::sim {
namespace {

// First and last of some lanes of the slab's quadrant, as lanes of tensor memory.
std::pair<std::int64_t, std::int64_t> lane_range(std::uint32_t slab, std::uint32_t lanes) {
  const std::int64_t first = slab / 2 * tcgen05::quadrant_lanes;
  return {first + std::countr_zero(lanes), first + 31 - std::countl_zero(lanes)};
}

std::string_view doing(bool writes) { return writes ? "written" : "read"; }

Verdict read_after_write(AccessKind writer) { return writer == AccessKind::st ? Verdict::raw_st : Verdict::raw_mma; }

// The table of 14.4: an access x of kind `kind`, then `use`.
Verdict conflict_of(AccessKind kind, bool x_writes, TmemUse use) {
  if (!x_writes) return kind == AccessKind::ld ? Verdict::war_ld : Verdict::war_mma;
  return use == TmemUse::write ? Verdict::waw_async : read_after_write(kind);
}

std::string_view what_happens(Verdict verdict, bool ordered) {
  switch (verdict) {
    case Verdict::waw_async: return ordered ? "the cells are written again before the first write is complete" : "two operations write the cells, and nothing orders them";
    case Verdict::raw_st: return ordered ? "the cells are read before the store is complete" : "the cells are stored and read, and nothing orders the two";
    case Verdict::raw_mma:
      return ordered ? "the cells are read before the operation that writes them is complete" : "the tensor core writes the cells and they are read, and nothing orders the two";
    case Verdict::war_mma: return "the cells are overwritten while the tensor core may still read them";
    default: return "the cells are overwritten before the load is complete";
  }
}

// A load that those who signalled had read all registers of: perhaps only a warning.
void excuse_consumed(const Warp& warp, const Access& x, Candidate& found) {
  const Severity severity = warp.machine.options.profile.severity(Switch::consumed_load);
  if (severity == Severity::none || !warp.consumed_before(x)) return;
  found.severity = severity;
  found.decided_by = Switch::consumed_load;
}

// One access against the shadow.
class Checker {
 public:
  Checker(Warp& warp, Cta& cta, TmemUse use, std::uint32_t record)
      : warp_(warp), cta_(cta), tmem_(warp.machine.sms[cta.sm].cells()), use_(use), record_(record), table_(warp.machine.accesses) {}

  // One finding for each earlier access, with all the cells that it is about.
  void finish() {
    for (auto& [x_record, found] : reported_) warp_.report(std::move(found));
    reported_.clear();
  }

  void box(const SlabBox& box) {
    for (std::uint32_t slab = box.slab; slab < box.slab + box.slabs; ++slab) {
      const std::uint32_t lanes = box.lanes & lanes_of_slab(slab);
      if (lanes != lanes_of_slab(slab)) {
        for (std::uint32_t i = 0; i < box.columns && lanes != 0; ++i) touch_lanes(slab, box.column + i, lanes);
      } else if (use_ == TmemUse::read) {
        read(slab, box.column, box.columns);
      } else {
        write(slab, box.column, box.columns);
      }
    }
  }

 private:
  void read(std::uint32_t slab, std::uint32_t first, std::uint32_t count) {
    const AccessId me = AccessTable::whole(record_);
    AccessId* writer = tmem_.writer[slab].data() + first;
    AccessId* reader = tmem_.reader[slab].data() + first;
    check_writers(writer, count, slab, first);
    AccessId last = 0, next = me;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (reader[i] != last) {
        if (Tmem::is_split(reader[i])) {
          touch_lanes(slab, first + i, lanes_of_slab(slab));
          continue;
        }
        last = reader[i];
        next = with_me(last);
      }
      reader[i] = next;
    }
  }

  void write(std::uint32_t slab, std::uint32_t first, std::uint32_t count) {
    AccessId* writer = tmem_.writer[slab].data() + first;
    AccessId* reader = tmem_.reader[slab].data() + first;
    struct Exception {
      std::uint32_t at = 0;
      AccessId writer = 0, reader = 0;
    };
    std::vector<Exception> exceptions;  // columns that are not as if nobody else had been there
    AccessId settled_writer = 0, settled_reader = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (writer[i] == settled_writer && reader[i] == settled_reader) continue;
      if (Tmem::is_split(writer[i])) {
        touch_lanes(slab, first + i, lanes_of_slab(slab));
        exceptions.push_back({i, writer[i], reader[i]});
        continue;
      }
      const Overwritten result = check_write(writer[i], reader[i], slab, first + i, lanes_of_slab(slab));
      if (result.in_order) settled_writer = writer[i], settled_reader = reader[i];
      if (result.kept != 0) exceptions.push_back({i, AccessTable::whole(record_), result.kept});
    }
    std::fill_n(writer, count, AccessTable::whole(record_));
    std::fill_n(reader, count, AccessId{0});
    for (const Exception& one : exceptions) writer[one.at] = one.writer, reader[one.at] = one.reader;
  }

  // Some lanes of a slab: the past of the others stays theirs.
  void touch_lanes(std::uint32_t slab, std::uint32_t column, std::uint32_t lanes) {
    SplitSlab& past = tmem_.split(slab, column);
    const auto index = [](std::uint32_t rest) { return static_cast<std::size_t>(std::countr_zero(rest)) % slab_lanes; };
    while (lanes != 0) {  // those with one past together
      const AccessId writer = past.writer[index(lanes)], reader = past.reader[index(lanes)];
      std::uint32_t same = 0;
      for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
        if (past.writer[index(rest)] == writer && past.reader[index(rest)] == reader) same |= rest & (~rest + 1u);
      lanes &= ~same;
      AccessId next = 0;
      if (use_ == TmemUse::read) {
        check_writer(writer, slab, column, same);
        next = with_me(reader);
      } else {
        next = check_write(writer, reader, slab, column, same).kept;
      }
      for (; same != 0; same &= same - 1) {
        past.reader[index(same)] = next;
        if (use_ != TmemUse::read) past.writer[index(same)] = AccessTable::whole(record_);
      }
    }
    tmem_.join_if_equal(slab, column);
  }

  // The writers of what is read. Ids come in runs: a settled one is not looked at again until it changes.
  void check_writers(const AccessId* ids, std::uint32_t count, std::uint32_t slab, std::uint32_t first) {
    AccessId settled = 0;
    for (std::uint32_t i = 0; i < count; ++i)
      if (ids[i] != settled && !Tmem::is_split(ids[i]) && check_writer(ids[i], slab, first + i, lanes_of_slab(slab))) settled = ids[i];
  }

  bool check_writer(AccessId id, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes) {
    if (is_in_order(AccessTable::record_of(id))) {
      tell_scope(AccessTable::record_of(id), true, slab, column, lanes);
      return true;
    }
    tell(AccessTable::record_of(id), true, slab, column, lanes);
    return false;
  }

  struct Overwritten {
    bool in_order = true;
    AccessId kept = 0;  // readers that a later write meets, too: they may come behind both
  };

  // What is overwritten: the last write, and the reads since. Whoever knows of the write, and misses the order with its readers,
  // misses nothing else; where nothing orders the write either, the readers come behind it.
  Overwritten check_write(AccessId writer, AccessId reader, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes) {
    AccessTable::Readers open = reader == 0 ? AccessTable::Readers{} : table_.readers(reader);
    std::erase_if(open, [&](const AccessTable::Reader& x) {
      if (!is_in_order(x.record)) return false;
      tell_scope(x.record, false, slab, column, lanes);
      return true;
    });
    // Where a later one of the same agent is known to have been issued, its completion covers this one, too.
    for (auto x = open.begin(); x != open.end();) {
      const bool covered = std::any_of(x + 1, open.end(), [&](const AccessTable::Reader& later) { return same_agent(table_[x->record], table_[later.record]) && is_known(later.record); });
      x = covered ? open.erase(x) : x + 1;
    }
    const std::uint32_t written_by = AccessTable::record_of(writer);
    const bool overwrites = !is_in_order(written_by), knows = !overwrites || is_known(written_by);
    if (!overwrites) tell_scope(written_by, true, slab, column, lanes);
    if (!overwrites && open.empty()) return {};
    if (overwrites && (open.empty() || !knows)) tell(written_by, true, slab, column, lanes);
    if (!knows) {
      for (const AccessTable::Reader& x : open) note_open(x.record);
      return {false, 0};
    }
    for (const AccessTable::Reader& x : open) tell(x.record, false, slab, column, lanes);
    std::erase_if(open, [&](const AccessTable::Reader& x) { return is_known(x.record); });
    return {false, table_.intern(open)};
  }

  bool is_in_order(std::uint32_t x_record) {
    if (x_record == 0 || x_record == record_) return true;
    for (const auto& [known, in_order] : asked_)
      if (known == x_record) return in_order;
    asked_.emplace_back(x_record, is_ordered(Sight::tensor, table_[x_record]));
    return asked_.back().second;
  }
  static bool same_agent(const Access& x, const Access& y) {  // waits cover a prefix
    return x.cta == y.cta && x.warp == y.warp && x.kind == y.kind && x.agent == y.agent;
  }
  // Whether its issue comes before this one.
  bool is_known(std::uint32_t x_record) const { return warp_.happened_before(Sight::any, x_record, table_[x_record].lanes, warp_.lanes, true); }
  // Who comes first is open although nothing is told.
  void note_open(std::uint32_t x_record) {
    if (!is_known(x_record)) warp_.machine.note_unordered(record_, x_record);
  }

  // In order, but only over a scope that does not reach from one to the other.
  void tell_scope(std::uint32_t x_record, bool x_writes, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes) {
    if (!warp_.machine.narrow_edges || x_record == 0 || x_record == record_ || is_ordered(Sight::tensor, table_[x_record], Scopes::wide_enough)) return;
    conflict(x_record, x_writes, slab, column, lanes, Scopes::wide_enough);
  }

  void tell(std::uint32_t x_record, bool x_writes, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes) {
    CellState& state = tmem_.state[slab / 2][column];
    if (x_writes && (state.bad & lanes) == lanes && !table_[x_record].excused) return note_open(x_record);  // told before
    if (conflict(x_record, x_writes, slab, column, lanes, Scopes::any) == Severity::warning) table_.at(use_ == TmemUse::read ? x_record : record_).excused = true;
    state.bad |= lanes;
  }

  // Complete before this access, or in a pipeline in front of it, or in the issue order that the profile grants.
  bool is_ordered(Sight which, const Access& x, Scopes scopes = Scopes::any) const {
    return warp_.complete_before(which, x, scopes) || warp_.piped_before(which, x, table_[record_], scopes) ||
           (in_issue_order(x) && warp_.machine.options.profile.on(Switch::tensor_issue_order));
  }
  bool in_issue_order(const Access& x) const {
    const Access& y = table_[record_];
    return is_tensor_core(x.kind) && is_tensor_core(y.kind) && x.cta == y.cta && x.issue_agent == y.issue_agent;
  }

  // `scopes`: the edges that count; without the narrow ones the two are in no order.
  std::optional<Severity> conflict(std::uint32_t x_record, bool x_writes, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes, Scopes scopes) {
    const auto range = lane_range(slab, lanes);
    for (auto& [known, told] : reported_) {
      if (known != x_record) continue;
      extend(*told.where.lanes, range.first, range.second);
      extend(*told.where.columns, column, column);
      return told.severity;
    }
    const Access& x = table_[x_record];
    const Access& y = table_[record_];
    const bool y_writes = use_ != TmemUse::read;
    const bool tensor_core = is_tensor_core(x.kind) || is_tensor_core(y.kind);
    Candidate found = warp_.candidate(Verdict::raw_st, "", x_record);
    found.conflicts.push_back({{y, use_ != TmemUse::write, y_writes}, {x, !x_writes || x.updates, x_writes}, {}});
    bool y_first = false;
    if (scopes == Scopes::wide_enough) {
      found.verdict = conflict_of(x.kind, x_writes, use_);
      found.message = what_happens(found.verdict, true);
      warp_.out_of_scope(found);
    } else if (is_ordered(Sight::any, x)) {
      found.verdict = Verdict::missing_fence;
      found.message = fmt::format("the cells {} by the earlier access are handed over without tcgen05 fences", doing(x_writes));
      found.severity = Severity::error;
      if (is_ordered(Sight::tolerant, x)) {
        found.severity = warp_.machine.options.profile.severity(Switch::fence_at_barrier);
        found.decided_by = Switch::fence_at_barrier;
      }
    } else {
      const bool ordered = warp_.happened_before(Sight::any, x_record, x.lanes, warp_.lanes, true);
      const bool same_warp = x.cta == y.cta && x.warp == y.warp;
      const bool other_view = x.buffer != y.buffer && x.buffer != no_buffer && y.buffer != no_buffer;
      found.unordered = !ordered;
      // Nothing is phrased in time: of an unordered pair the write comes first; of two writes the one that reads nothing, else
      // the smaller.
      if (!ordered && y_writes) {
        const bool pure_x = x_writes && !x.updates, pure_y = use_ == TmemUse::write;
        const bool smaller = std::tuple(y.cta, y.warp, y.step, y.number) < std::tuple(x.cta, x.warp, x.step, x.number);
        y_first = !x_writes || (pure_x == pure_y ? smaller : pure_y);
      }
      const TmemUse x_use = !x_writes ? TmemUse::read : x.updates ? TmemUse::update : TmemUse::write;
      found.verdict = y_first ? conflict_of(y.kind, true, x_use) : conflict_of(x.kind, x_writes, use_);
      found.message = what_happens(found.verdict, ordered);
      if (other_view && !same_warp && !ordered && !tensor_core) {
        found.verdict = Verdict::alias_race;
        found.message = fmt::format("{} and {} share cells, and nothing orders their uses", warp_.machine.kernel.buffers[std::min(x.buffer, y.buffer)].name,
                                    warp_.machine.kernel.buffers[std::max(x.buffer, y.buffer)].name);
      } else if (in_issue_order(x) && (found.verdict == Verdict::war_mma || found.verdict == Verdict::waw_async)) {
        found.severity = Severity::warning;
        found.decided_by = Switch::tensor_issue_order;
      } else if (found.verdict == Verdict::war_ld && !y_first) {
        excuse_consumed(warp_, x, found);
      }
    }
    if (y_first) {
      swap_sides(found);
    }
    found.where.space = "tmem";
    found.where.sm = cta_.sm;
    found.where.cta = cta_.index;
    found.where.lanes = range;
    found.where.columns = {column, column};
    reported_.emplace_back(x_record, std::move(found));
    return reported_.back().second.severity;
  }

  static void extend(std::pair<std::int64_t, std::int64_t>& range, std::int64_t first, std::int64_t last) {
    range = {std::min(range.first, first), std::max(range.second, last)};
  }

  // Readers that a later write has to wait for: those before me that I know to be complete need not be kept.
  AccessId with_me(AccessId past) {
    const Access& y = table_[record_];
    const AccessTable::Readers readers = table_.readers(past);
    const auto of_my_agent = [&](const AccessTable::Reader& reader) { return same_agent(table_[reader.record], y) && table_[reader.record].buffer == y.buffer; };
    // The first of several statements is the one that is told where nothing orders it with a later write.
    const auto first = std::find_if(readers.begin(), readers.end(), of_my_agent);
    const bool several = first != readers.end() && (table_[first->record].step != y.step || std::any_of(first + 1, readers.end(), of_my_agent));
    const std::uint32_t kept = several ? first->record : 0;
    return warp_.add_reader(past, record_, [&](const AccessTable::Reader& reader) {
      return reader.record != kept && (of_my_agent(reader) || warp_.complete_before(Sight::tensor, table_[reader.record]));
    });
  }

  Warp& warp_;
  Cta& cta_;
  Tmem& tmem_;
  const TmemUse use_;
  const std::uint32_t record_;
  AccessTable& table_;
  std::vector<std::pair<std::uint32_t, bool>> asked_;          // is_in_order
  std::vector<std::pair<std::uint32_t, Candidate>> reported_;  // by the earlier access
};

}  // namespace

void check_tmem(Warp& warp, Cta& cta, std::span<const SlabBox> cells, TmemUse use, std::uint32_t record) {
  Checker checker(warp, cta, use, record);
  for (const SlabBox& box : cells) checker.box(box);
  checker.finish();
}

namespace {

// What orders the later of two accesses before the dealloc orders the earlier one, too: `found`, about an access of this warp, is
// told of those that it comes after.
void note_freed_under(Warp& warp, Sm& sm, const Instance& freed_by, const Instance& access, std::uint32_t lanes, Candidate* found) {
  constexpr std::size_t most = 256;
  const auto knows = [&](const Sm::FreedUnder& earlier) {
    for (const ViewGroup& group : warp.state.views)
      for (std::uint32_t rest = (group.lanes & warp.lanes) != 0 ? earlier.lanes : 0; rest != 0; rest &= rest - 1)
        if (group.views.any.order(earlier.access.cta, earlier.access.warp, static_cast<std::uint32_t>(std::countr_zero(rest))) >= earlier.access.number) return true;
    return false;
  };
  if (found != nullptr)
    for (const Sm::FreedUnder& earlier : sm.freed_under)
      if (earlier.freed_by == freed_by && earlier.access != access && knows(earlier)) found->after.push_back(earlier.access);
  if (sm.freed_under.size() >= most) sm.freed_under.erase(sm.freed_under.begin());
  sm.freed_under.push_back({freed_by, access, lanes});
}

}  // namespace

void check_dealloc(Warp& warp, const Cta& cta, const Allocation& allocation) {
  const Tmem& tmem = warp.machine.sms[cta.sm].cells();
  AccessTable& table = warp.machine.accesses;
  std::vector<std::uint32_t> seen;
  const auto check = [&](std::uint32_t x_record, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes, bool x_writes) {
    if (std::find(seen.begin(), seen.end(), x_record) != seen.end()) return;
    const Access& x = table[x_record];
    if (!warp.complete_before(Sight::any, x)) {
      if ((tmem.state[slab / 2][column].bad & lanes) == lanes && !x.excused) return;  // another column may still tell
      Candidate found = warp.candidate(x.cta == warp.cta.index ? Verdict::dealloc_live : Verdict::peer_lifecycle, fmt::format("columns are freed while an access that has {} them may not be complete",
                                                                          doing(x_writes)), x_record);
      found.conflicts.push_back({{warp.describe(), true, true}, {x, !x_writes || x.updates, x_writes}, {}});
      found.unordered = !warp.happened_before(Sight::any, x_record, x.lanes, warp.lanes, true);
      if (found.verdict == Verdict::dealloc_live) excuse_consumed(warp, x, found);
      note_freed_under(warp, warp.sm(), warp.instance(), {x.cta, x.warp, x.number}, x.lanes, nullptr);
      found.where.space = "tmem";
      found.where.sm = cta.sm;
      found.where.cta = cta.index;
      found.where.lanes = lane_range(slab, lanes);
      found.where.columns = {column, column};
      warp.report(std::move(found));
    }
    seen.push_back(x_record);
  };
  const auto check_id = [&](AccessId id, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes, bool writes) {
    if (id == 0) return;
    if (!AccessTable::is_set(id)) return check(AccessTable::record_of(id), slab, column, lanes, writes);
    for (const AccessTable::Reader& reader : table.readers(id)) check(reader.record, slab, column, lanes, writes);
  };
  // What orders a read before the dealloc orders the write that the read comes after, too.
  const auto is_read_later = [&](AccessId id, std::uint32_t slab, std::uint32_t column, std::uint32_t lanes) {
    if (id == 0 || (tmem.state[slab / 2][column].bad & lanes) != 0) return false;
    for (const AccessTable::Reader& reader : table.readers(id))
      if (!warp.complete_before(Sight::any, table[reader.record])) return true;
    return false;
  };
  for (std::uint32_t slab = 0; slab < slabs; ++slab) {
    for (std::uint32_t column = allocation.base; column < allocation.base + allocation.columns; ++column) {
      tmem.for_each_past(slab, column, [&](AccessId writer, AccessId reader, std::uint32_t lanes) {
        if (writer != 0 && is_read_later(reader, slab, column, lanes)) seen.push_back(AccessTable::record_of(writer));
      });
    }
  }
  for (std::uint32_t slab = 0; slab < slabs; ++slab) {
    for (std::uint32_t column = allocation.base; column < allocation.base + allocation.columns; ++column) {
      tmem.for_each_past(slab, column, [&](AccessId writer, AccessId reader, std::uint32_t lanes) {
        check_id(writer, slab, column, lanes, true);
        check_id(reader, slab, column, lanes, false);
      });
    }
  }
}

void settle_early_accesses(Warp& warp, Cta& cta, std::uint32_t base, std::uint32_t columns, std::uint32_t record) {
  Tmem& tmem = warp.machine.sms[cta.sm].cells();
  std::erase_if(cta.early_accesses, [&](EarlyAccess& early) {
    if (early.column < base || early.column >= base + columns) return false;
    if (warp.happened_before(Sight::any, early.record, ~0u, warp.lanes, true)) return false;
    const Access& alloc = warp.machine.accesses[record];
    early.found.other = warp.machine.ref(record);
    early.found.other_instance = {alloc.cta, alloc.warp, alloc.number};
    early.found.message = fmt::format("nothing orders the access after the alloc of column {}", early.column);
    for (const EarlyAccess::Cells& box : early.cells)  // what it was to write is known bad, whoever comes first
      for (std::uint32_t slab = box.slab; slab < box.slab + box.slabs; ++slab)
        for (std::uint32_t column = box.column; column < box.column + box.columns; ++column) tmem.state[slab / 2][column].bad |= box.lanes & lanes_of_slab(slab);
    warp.report(std::move(early.found));
    return true;
  });
}

namespace {

// Whether the CTA has freed the column, and nothing orders that before or after this instruction.
bool freed_meanwhile(Warp& warp, const Cta& cta, std::uint32_t column) {
  const GranuleHistory& history = warp.machine.sms[cta.sm].history[column / tcgen05::granule_columns];
  return history.freed_by != 0 && history.freed_cta == cta.index && !warp.happened_before(Sight::any, history.freed_by, ~0u, warp.lanes, true);
}

// Whether the column is usable for this instruction; otherwise reports why not.
bool check_column(Warp& warp, Cta& cta, std::uint32_t column, std::span<const SlabBox> cells) {
  Sm& sm = warp.machine.sms[cta.sm];
  const Allocation* allocation = sm.allocator.holding(column);
  const bool own = allocation && allocation->cta == cta.index;
  if (own && (allocation->faulty || warp.happened_before(Sight::any, allocation->record, ~0u, warp.lanes, true))) return true;
  const GranuleHistory& history = sm.history[column / tcgen05::granule_columns];
  const bool was_freed = history.freed_by != 0 && history.freed_cta == cta.index;
  Candidate found = warp.candidate(Verdict::unallocated_access, fmt::format("column {} belongs to no live allocation of the CTA", column));
  if (freed_meanwhile(warp, cta, column)) {
    found = warp.candidate(Verdict::dealloc_live, "nothing orders the access before the dealloc of its columns", history.freed_by);
    swap_sides(found);  // always the dealloc
    note_freed_under(warp, sm, warp.machine.instance_of(history.freed_by), warp.instance(), warp.lanes, &found);
  } else if (was_freed) {
    found = warp.candidate(Verdict::unallocated_access, fmt::format("column {} has been freed", column), history.freed_by);
  } else if (own) {
    found = warp.candidate(Verdict::unallocated_access, fmt::format("nothing orders the access after the alloc of column {}", column), allocation->record);
  }
  found.where.space = "tmem";
  found.where.sm = cta.sm;
  found.where.cta = cta.index;
  found.where.columns = {column, column};
  constexpr std::size_t most_early = 256;
  if (!own && !was_freed && cta.early_accesses.size() < most_early) {  // an alloc that nothing orders with it may still come
    EarlyAccess early{std::move(found), warp.record(no_buffer), column, {}};
    for (const SlabBox& box : cells) early.cells.push_back({box.slab, box.slabs, box.column, box.columns, box.lanes});
    cta.early_accesses.push_back(std::move(early));
    return false;
  }
  warp.report(std::move(found));
  return false;
}

// Whether the column was one of an allocation that findings have been made about.
bool was_given_up(const Cta& cta, std::uint32_t column) {
  return std::any_of(cta.given_up.begin(), cta.given_up.end(), [&](const auto& range) { return column >= range.first && column < range.first + range.second; });
}

bool all_bad(const Tmem& tmem, const SlabBox& box) {
  for (std::uint32_t slab = box.slab; slab < box.slab + box.slabs; ++slab)
    for (std::uint32_t column = box.column; column < box.column + box.columns; ++column)
      if (const std::uint32_t lanes = box.lanes & lanes_of_slab(slab); (tmem.state[slab / 2][column].bad & lanes) != lanes) return false;
  return true;
}

}  // namespace

void spoil_unwritten(Machine& machine, const Cta& cta) {
  Sm& sm = machine.sms[cta.sm];
  for (const Allocation& allocation : sm.allocator.live()) {
    if (allocation.cta != cta.index) continue;
    for (auto& quadrant : sm.cells().state)
      for (std::uint32_t column = allocation.base; column < allocation.base + allocation.columns; ++column) quadrant[column].bad |= ~quadrant[column].low;
  }
}

bool check_allocated(Warp& warp, Cta& cta, std::span<const SlabBox> cells) {
  Sm& sm = warp.machine.sms[cta.sm];
  for (const SlabBox& box : cells) {
    for (std::uint32_t column = box.column; column < box.column + box.columns;) {
      const Allocation* allocation = sm.allocator.holding(column);
      const std::uint32_t next = allocation ? allocation->base + allocation->columns : (column / tcgen05::granule_columns + 1) * tcgen05::granule_columns;
      const bool own = allocation && allocation->cta == cta.index;
      const bool fine = own && (allocation->faulty || warp.happened_before(Sight::any, allocation->record, ~0u, warp.lanes, true));
      if (!fine) {
        if (was_given_up(cta, column)) return false;
        if (!freed_meanwhile(warp, cta, column) && all_bad(sm.cells(), box)) return false;  // told before
        return check_column(warp, cta, column, cells);
      }
      column = next;
    }
  }
  return true;
}

}  // namespace tmemsim::sim
