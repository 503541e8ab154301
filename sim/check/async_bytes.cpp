// Shared and global bytes that mma, cp and bulk copies touch through the asynchronous proxy.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/operand.hpp"

namespace tmemsim::sim {
namespace {

class AsyncChecker {
 public:
  AsyncChecker(Warp& warp, const AsyncBytes& where, Warp::Touch touch, std::uint32_t record)
      : warp_(warp), where_(where), writes_(touch == Warp::Touch::write), record_(record), table_(warp.machine.accesses) {}

  bool run(std::int64_t first, std::int64_t count) {
    if (where_.owner && !where_.owner->mbarriers.empty()) check_objects(first, count);
    bool fine = true;
    for (std::int64_t at = first; at < first + count; at += unit) fine = piece(at, std::min(unit, first + count - at)) && fine;
    return fine;
  }

  // One finding for each earlier access: a race with some of its threads hides the fence that others lack.
  void finish() {
    for (auto& [x_record, found] : found_) warp_.report(std::move(found));
  }

 private:
  static constexpr std::int64_t unit = 16;  // bytes that are known bad together

  bool piece(std::int64_t first, std::int64_t count) {
    bool fine = true;
    std::uint8_t* flags = where_.memory->flags() + first;
    const bool told = std::all_of(flags, flags + count, [](std::uint8_t flag) { return (flag & ByteMemory::bad) != 0; });
    bool in_order = true;  // whatever is wrong with the piece
    const AccessId me = AccessTable::whole(record_);
    where_.memory->for_each_access(static_cast<std::size_t>(first), static_cast<std::size_t>(count), [&](WordAccess& past) {
      AccessId unordered_readers = 0;
      if (told) {
        fine = false;
        note_open(past);
        if (writes_) unordered_readers = unordered_of(past.reader);
        // Known bad or not, a read that nothing orders with this write is told: with the last such write.
        if (unordered_readers != 0) check_all(unordered_readers, false, first);
      } else {
        const bool readers_fine = !writes_ || past.reader == 0 || check_all(past.reader, false, first);
        // Who overwrites what may still be read, although it was written long before, misses the order with the readers alone.
        const bool readers_alone = !readers_fine && knows_of_all(past);
        if (!readers_alone && past.writer != last_writer_) {
          writer_fine_ = check_all(past.writer, true, first);
          last_writer_ = past.writer;
        }
        if (!readers_fine) unordered_readers = unordered_of(past.reader);
        const bool word_fine = readers_fine && (readers_alone || writer_fine_);
        fine = fine && word_fine;
        in_order = in_order && (word_fine || knows_of_all(past));
      }
      if (writes_) {
        past = {me, unordered_readers};
        return;
      }
      if (past.reader != last_reader_ || next_reader_ == 0) {
        last_reader_ = past.reader;
        next_reader_ = with_me(past.reader);
      }
      past.reader = next_reader_;
    });
    if (!fine && !writes_ && in_order)
      for (std::int64_t i = 0; i < count; ++i) flags[i] |= ByteMemory::bad;
    return fine;
  }

  // Whether everything that has been done to the word comes before this access, complete or not: under every schedule.
  bool knows_of_all(const WordAccess& past) {
    const auto known = [&](AccessId id) {
      if (id == 0) return true;
      for (const AccessTable::Reader& x : table_.readers(id))
        if (x.record != record_ && !warp_.happened_before(Sight::any, x.record, x.lanes, warp_.lanes, false)) return false;
      return true;
    };
    return known(past.writer) && known(past.reader);
  }

  // Who comes first is open although nothing is told again.
  void note_open(const WordAccess& past) {
    for (AccessId id : {past.writer, writes_ ? past.reader : AccessId{0}})
      for (const AccessTable::Reader& x : table_.readers(id))
        if (x.record != record_ && !warp_.happened_before(Sight::any, x.record, x.lanes, warp_.lanes, false)) warp_.machine.note_unordered(record_, x.record);
  }

  // Readers that nothing orders with this write: a later one may lack the order, too, and then it is the one that is told.
  AccessId unordered_of(AccessId id) {
    if (id == last_unordered_.first) return last_unordered_.second;
    AccessTable::Readers readers = table_.readers(id);
    std::erase_if(readers, [&](const AccessTable::Reader& x) { return x.record == record_ || warp_.happened_before(Sight::any, x.record, x.lanes, warp_.lanes, false); });
    last_unordered_ = {id, table_.intern(readers)};
    return last_unordered_.second;
  }

  // Accesses to the bytes of a valid barrier object as data are undefined.
  void check_objects(std::int64_t first, std::int64_t count) {
    const Mbarrier* object = mbarrier_over(*where_.owner, first, count);
    if (object == nullptr || told_object_ == object || (!writes_ && is_data(*object, first, count))) return;
    told_object_ = object;
    warp_.report(warp_.candidate(Verdict::mbar_uninit, "the bytes of a barrier object are accessed as data", object->init_record));
  }

  // Whether what these bytes of the object hold is data, and that has been told.
  bool is_data(const Mbarrier& object, std::int64_t first, std::int64_t count) const {
    const std::uint8_t* flags = where_.memory->flags();
    for (std::int64_t i = first; i < first + count; ++i)
      if (mbarrier_over(*where_.owner, i, 1) == &object && !(flags[i] & ByteMemory::bad)) return false;
    return true;
  }

  bool check_all(AccessId id, bool x_writes, std::int64_t first) {
    if (id == 0) return true;
    bool fine = true;
    for (const AccessTable::Reader& x : table_.readers(id)) fine = check(x.record, x.lanes, x_writes, first) && fine;
    return fine;
  }

  bool is_async(const Access& x) const { return x.kind != AccessKind::order; }

  // Ordinary accesses of each of the lanes, made visible to the async proxy where these bytes are. Own ones count as those of
  // others do: when a fence of the proxies came behind them.
  bool sees(const Access& x, std::uint32_t x_lanes, Scopes scopes) const {
    const std::uint32_t place = where_.owner ? ProxyPlace::of_cta + where_.owner->index : ProxyPlace::global;
    const bool same_warp = x.cta == warp_.state.cta && x.warp == warp_.state.warp;
    for (const ViewGroup& group : warp_.state.views) {
      if (!(group.lanes & warp_.lanes)) continue;
      bool all = true, any = false;
      for (std::uint32_t rest = x_lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
        const bool seen = views_of(group.views, scopes).async.sees(place, x.cta, x.warp, lane, x.number, same_warp && warp_.lanes == 1u << lane);
        all = all && seen;
        any = any || seen;
      }
      return x.collective ? any : all;
    }
    return false;
  }

  bool is_complete(const Access& x, Scopes scopes = Scopes::any) const {
    return warp_.complete_before(Sight::generic, x, scopes) || warp_.complete_before(Sight::tensor, x, scopes);
  }

  bool is_settled(std::uint32_t x_record, std::uint32_t x_lanes, bool x_writes, Scopes scopes) const {
    const Access& x = table_[x_record];
    if (is_async(x)) return is_complete(x, scopes);
    if (x_writes) return sees(x, x_lanes, scopes);
    return warp_.happened_before(Sight::generic, x_record, x_lanes, warp_.lanes, false, scopes);
  }

  bool check(std::uint32_t x_record, std::uint32_t x_lanes, bool x_writes, std::int64_t first) {
    if (x_record == record_) return true;
    if (is_settled(x_record, x_lanes, x_writes, Scopes::any)) {
      if (warp_.machine.narrow_edges && !is_settled(x_record, x_lanes, x_writes, Scopes::wide_enough))
        report(x_record, x_lanes, x_writes, first, race_with(x_record, x_writes), Scopes::wide_enough);
      return true;
    }
    const Access& x = table_[x_record];
    // A round over the one before: what the data is worth shows at its other uses.
    const bool itself = is_async(x) && x.step == table_[record_].step;
    const bool visible = !is_async(x) && warp_.happened_before(Sight::generic, x_record, x_lanes, warp_.lanes, false);
    return report(x_record, x_lanes, x_writes, first, visible ? Verdict::proxy_fence : race_with(x_record, x_writes), Scopes::any) || itself;
  }

  Verdict race_with(std::uint32_t x_record, bool x_writes) const {
    const Access& x = table_[x_record];
    const Access& y = table_[record_];
    const bool shared = where_.owner != nullptr;
    const bool ordered = warp_.happened_before(Sight::any, x_record, x.lanes, warp_.lanes, false);
    const bool has_path = is_async(x) ? warp_.complete_before(Sight::any, x) : ordered;
    const bool tensor_core = is_tensor_core(x.kind) || is_tensor_core(y.kind);
    if (is_tensor_core(x.kind) && !x_writes && ordered) return Verdict::war_mma;
    if (shared && !tensor_core && !has_path && x.buffer != y.buffer && x.buffer != no_buffer) return Verdict::alias_race;
    return shared ? Verdict::smem_race : Verdict::global_race;
  }

  bool report(std::uint32_t x_record, std::uint32_t x_lanes, bool x_writes, std::int64_t first, Verdict verdict, Scopes scopes) {
    const auto known = std::find_if(found_.begin(), found_.end(), [&](const auto& one) { return one.first == x_record; });
    const auto is_milder = [](const Candidate& c) { return c.verdict == Verdict::proxy_fence || c.decided_by == Switch::scope_check; };
    if (known != found_.end() && (scopes == Scopes::wide_enough || verdict == Verdict::proxy_fence || !is_milder(known->second))) return false;
    const Access& x = table_[x_record];
    const std::string& name = warp_.machine.kernel.buffers[where_.buffer].name;
    std::string message;
    switch (verdict) {
      case Verdict::proxy_fence: message = fmt::format("ordinary writes to {} are not made visible to the asynchronous proxy", name); break;
      case Verdict::war_mma: message = fmt::format("{} is overwritten while the tensor core may still read it", name); break;
      case Verdict::alias_race:
        message = fmt::format("{} and {} share bytes, and nothing orders their uses", warp_.machine.kernel.buffers[x.buffer].name, name);
        break;
      default:
        message = fmt::format("bytes of {} are {} and {}, and nothing orders the two", name, x_writes ? "written" : "read", writes_ ? "written" : "read");
    }
    Candidate found = warp_.candidate(verdict, std::move(message), x_record);
    found.other->lanes = x_lanes;
    found.conflicts.push_back({{table_[record_], !writes_, writes_}, {x, !x_writes, x_writes}, {}});
    found.conflicts.back().other.access.lanes = x_lanes;
    found.unordered = verdict != Verdict::proxy_fence && !warp_.happened_before(Sight::any, x_record, x_lanes, warp_.lanes, false);
    if (found.unordered && writes_) {
      const Access& y = table_[record_];
      const bool smaller = std::tuple(y.cta, y.warp, y.step, y.number) < std::tuple(x.cta, x.warp, x.step, x.number);
      if (!x_writes || smaller) {  // told as if the write, or the smaller of two, came first
        swap_sides(found);
      }
    }
    if (scopes == Scopes::wide_enough) warp_.out_of_scope(found);
    found.where.space = where_.owner ? "shared" : "global";
    if (where_.owner) found.where.cta = where_.owner->index;
    found.where.buffer = name;
    found.where.bytes = {first - where_.base, first - where_.base};
    if (known != found_.end()) known->second = std::move(found);
    else found_.emplace_back(x_record, std::move(found));
    return false;
  }

  AccessId with_me(AccessId past) {
    const Access& y = table_[record_];
    return warp_.add_reader(past, record_, [&](const AccessTable::Reader& reader) {
      const Access& x = table_[reader.record];
      if (is_async(x)) return (x.agent_cta == y.agent_cta && x.agent == y.agent && x.buffer == y.buffer) || is_complete(x);
      return warp_.happened_before(Sight::generic, reader.record, reader.lanes, warp_.lanes, false);
    });
  }

  Warp& warp_;
  const AsyncBytes& where_;
  const bool writes_;
  const std::uint32_t record_;
  AccessTable& table_;
  std::vector<std::pair<std::uint32_t, Candidate>> found_;  // by the earlier access
  AccessId last_writer_ = 0, last_reader_ = 0, next_reader_ = 0;
  std::pair<AccessId, AccessId> last_unordered_;  // readers, and those of them that nothing orders
  bool writer_fine_ = true;
  const Mbarrier* told_object_ = nullptr;
};

}  // namespace

bool check_async_bytes(Warp& warp, const AsyncBytes& where, const ByteRuns& runs, Warp::Touch touch, std::uint32_t record) {
  AsyncChecker checker(warp, where, touch, record);
  bool fine = true;
  for (const auto& [first, count] : runs) fine = checker.run(first, count) && fine;
  checker.finish();
  return fine;
}

}  // namespace tmemsim::sim
