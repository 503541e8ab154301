#include "report/worksheet.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "report/text.hpp"

namespace tmemsim::report {
namespace {

using sim::Event;
using sim::Extent;

constexpr std::size_t most_events = 50'000;
constexpr std::size_t most_signals = 32;  // of a warp that are looked at for one handover
constexpr std::size_t most_lines = 8;  // of one kind in a worksheet

// ---- what an instruction does for synchronisation ----

enum class Completes { nothing, loads, stores, tensor_core, bulk };

struct Sync {
  std::string object;  // "full[1]", "barrier 0": who meets there; empty: nobody
  std::uint32_t cta = 0;
  bool signals = false, waits = false;
  Completes completes = Completes::nothing;
  std::size_t use = 0;  // how often the warp has met others there before
};

class Statements {
 public:
  explicit Statements(const Kernel& kernel) : kernel_(kernel) { collect(kernel.body); }

  const MachineOps::Any* operation(const Ref& ref) const {
    const auto found = by_path_.find(ref.path);
    return found == by_path_.end() ? nullptr : found->second;
  }

  Sync sync(const Ref& ref) const {
    const MachineOps::Any* op = operation(ref);
    if (!op) return {};
    return std::visit([&](const auto& each) { return sync_of(each, ref); }, *op);
  }

  // A number in an expression, or nothing where it depends on memory.
  std::optional<std::int64_t> value(const Expr& expr, const Ref& ref) const {
    const std::uint32_t lane = ref.lanes == 0 ? 0 : static_cast<std::uint32_t>(std::countr_zero(ref.lanes));
    return folded(expr.replaced([&](const Expr& node) -> std::optional<Expr> {
      switch (node.op()) {
        case ExprOp::tid: return Expr(ref.warp * 32 + lane);
        case ExprOp::lane: return Expr(lane);
        case ExprOp::warp: return Expr(ref.warp);
        case ExprOp::wg: return Expr(ref.warp / 4);
        case ExprOp::cta: return Expr(ref.cta);
        case ExprOp::rank: return Expr(ref.cta % cluster_size(kernel_.launch));
        case ExprOp::loop: {
          const auto found = ref.loop.find(node.loop_name());
          return found == ref.loop.end() ? std::nullopt : std::optional<Expr>(Expr(found->second));
        }
        default: return std::nullopt;
      }
    }));
  }

  std::string barrier_name(const Mem& bar, const Ref& ref) const {
    const std::string& name = kernel_.buffers[bar.buffer].name;
    std::optional<std::int64_t> element = 0;
    if (bar.byte) {
      element = value(*bar.byte, ref);
      if (element) *element /= 8;
    } else if (!bar.box.empty()) {
      element = value(bar.box.front().lo, ref);
    }
    return element ? fmt::format("{}[{}]", name, *element) : name;
  }

 private:
  void collect(const Body& body) {
    for (const Stmt& stmt : body) {
      if (const auto* op = std::get_if<MachineOps::Any>(&stmt.node)) by_path_[stmt.path] = op;
      if (!std::holds_alternative<Lowered>(stmt.node)) for_each_body(stmt, [&](const Body& inner) { collect(inner); });
    }
  }

  static std::optional<std::int64_t> folded(const Expr& expr) {
    if (const auto constant = expr.as_constant()) return *constant;
    if (expr.op() < ExprOp::add) return std::nullopt;
    const auto a = folded(expr.a()), b = folded(expr.b());
    if (!a || !b) return std::nullopt;
    const auto result = Expr::apply(expr.op(), static_cast<std::int32_t>(*a), static_cast<std::int32_t>(*b));
    return result ? std::optional<std::int64_t>(*result) : std::nullopt;
  }

  std::uint32_t cta_of(const std::optional<Expr>& rank, const Ref& ref) const {
    const std::uint32_t size = cluster_size(kernel_.launch);
    const auto wanted = rank ? value(*rank, ref) : std::nullopt;
    return wanted ? ref.cta / size * size + static_cast<std::uint32_t>(*wanted) % size : ref.cta;
  }

  template <class Op>
  Sync sync_of(const Op& op, const Ref& ref) const {
    Sync sync;
    sync.cta = ref.cta;
    if constexpr (std::is_same_v<Op, TcgenWaitLd>) sync.completes = Completes::loads;
    if constexpr (std::is_same_v<Op, TcgenWaitSt>) sync.completes = Completes::stores;
    if constexpr (std::is_same_v<Op, TcgenCommit>) sync.completes = Completes::tensor_core;
    if constexpr (std::is_same_v<Op, BulkWaitGroup>) sync.completes = Completes::bulk;
    if constexpr (std::is_same_v<Op, BarrierSync> || std::is_same_v<Op, BarrierArrive>) {
      const auto id = value(op.id, ref);
      sync.object = id ? fmt::format("barrier {}", *id) : "a named barrier";
      sync.signals = true;
      sync.waits = std::is_same_v<Op, BarrierSync>;
    }
    if constexpr (std::is_same_v<Op, WarpSync>) sync = {fmt::format("warp {}", ref.warp), ref.cta, true, true, Completes::nothing, 0};
    if constexpr (std::is_same_v<Op, ClusterArrive> || std::is_same_v<Op, ClusterWait>)
      sync = {"the cluster barrier", ref.cta / cluster_size(kernel_.launch), std::is_same_v<Op, ClusterArrive>, std::is_same_v<Op, ClusterWait>, Completes::nothing, 0};
    if constexpr (requires { op.bar; }) {
      if constexpr (std::is_same_v<Op, BulkCopy>) {
        if (op.bar) sync.object = barrier_name(*op.bar, ref);
        sync.signals = op.bar.has_value();
      } else {
        sync.object = barrier_name(op.bar, ref);
        sync.waits = std::is_same_v<Op, MbarrierTryWait> || std::is_same_v<Op, MbarrierTestWait>;
        sync.signals = std::is_same_v<Op, MbarrierArrive> || std::is_same_v<Op, MbarrierArriveExpectTx> || std::is_same_v<Op, TcgenCommit>;
      }
    }
    if constexpr (requires { op.rank; op.bar; }) sync.cta = cta_of(op.rank, ref);
    return sync;
  }

  const Kernel& kernel_;
  std::map<std::string, const MachineOps::Any*> by_path_;
};

// ---- storage ----

bool overlap(std::int64_t first, std::int64_t last, std::int64_t other_first, std::int64_t other_last) { return first <= other_last && other_first <= last; }

bool meets(const Extent& a, const Extent& b) {
  return a.space == b.space && a.place == b.place && overlap(a.lane_first, a.lane_last, b.lane_first, b.lane_last) && overlap(a.first, a.last, b.first, b.last);
}

bool is_storage(const Extent& extent) { return extent.space != Extent::Space::registers; }

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "; ")); }

class Worksheet {
 public:
  Worksheet(const Kernel& kernel, const EventLog& log, const Finding& finding) : kernel_(kernel), events_(log.events()), statements_(kernel), finding_(finding) {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind != Event::Kind::execute && events_[i].kind != Event::Kind::block) continue;
      Sync sync = statements_.sync(events_[i].ref);
      if (sync.object.empty() && sync.completes == Completes::nothing) continue;
      const std::pair warp{events_[i].ref.cta, events_[i].ref.warp};
      sync.use = uses_[{warp, sync.object}]++;
      syncs_[warp].emplace_back(i, std::move(sync));
    }
  }

  std::string fill() {
    if (finding_.where.space == "barrier" && !finding_.where.buffer.empty()) return barrier_sheet();
    find_storage();
    return storage_.empty() ? std::string() : storage_sheet();
  }

 private:
  struct Use {
    std::size_t first = 0;  // event
    Ref ref;
    std::vector<std::uint32_t> warps;
    bool several_ctas = false;
  };

  // Parts of what the two statements touch that are in the space of the finding, and at its place.
  void find_storage() {
    for (const Event& event : events_) {
      if (event.kind != Event::Kind::execute) continue;
      const bool concerned = same(event.ref, finding_.at) || (finding_.other && same(event.ref, *finding_.other));
      if (!concerned) continue;
      for (const auto* extents : {&event.reads, &event.writes})
        for (const Extent& extent : *extents)
          if (is_storage(extent) && is_in_question(extent)) add(extent);
    }
  }

  static bool same(const Ref& a, const Ref& b) { return a.path == b.path && a.op == b.op && a.cta == b.cta && a.warp == b.warp; }

  bool is_in_question(const Extent& extent) const {
    const Place& place = finding_.where;
    if (place.space != sim::name(extent.space)) return false;
    if (place.space == "tmem") return !place.columns || overlap(extent.first, extent.last, place.columns->first, place.columns->second);
    if (place.buffer.empty()) return true;
    if (place.space == "global") return extent.place < kernel_.buffers.size() && kernel_.buffers[extent.place].name == place.buffer;
    const auto id = buffer_named(kernel_, place.buffer);
    if (!id || !kernel_.buffers[*id].offset) return true;
    const std::int64_t begin = *kernel_.buffers[*id].offset;
    return overlap(extent.first, extent.last, begin, begin + byte_size(kernel_.buffers[*id]) - 1);
  }

  void add(const Extent& extent) {
    const bool known = std::any_of(storage_.begin(), storage_.end(), [&](const Extent& each) {
      return each.space == extent.space && each.place == extent.place && each.first <= extent.first && extent.last <= each.last &&
             each.lane_first <= extent.lane_first && extent.lane_last <= each.lane_last;
    });
    if (!known && storage_.size() < 64) storage_.push_back(extent);
  }

  bool touches(const std::vector<Extent>& extents) const {
    return std::any_of(extents.begin(), extents.end(),
                       [&](const Extent& extent) { return std::any_of(storage_.begin(), storage_.end(), [&](const Extent& each) { return meets(each, extent); }); });
  }

  std::string title() const {
    Extent whole = storage_.front();
    for (const Extent& each : storage_) {
      whole.lane_first = std::min(whole.lane_first, each.lane_first);
      whole.lane_last = std::max(whole.lane_last, each.lane_last);
      whole.first = std::min(whole.first, each.first);
      whole.last = std::max(whole.last, each.last);
    }
    std::string text = finding_.where.buffer.empty() ? "" : finding_.where.buffer + ", ";
    if (whole.space == Extent::Space::tmem)
      return text + fmt::format("tensor memory of SM {}, lanes {}-{}, columns {}-{}", whole.place, whole.lane_first, whole.lane_last, whole.first, whole.last);
    return text + (whole.space == Extent::Space::shared ? fmt::format("shared memory of CTA {}", whole.place) : "global memory") +
           fmt::format(", bytes {}-{}", whole.first, whole.last);
  }

  // -- who uses it --

  static std::string statement(const Ref& ref) {
    return fmt::format("{}{}{}", ref.op, ref.label.empty() ? "" : fmt::format(" ({})", ref.label), ref.at.line > 0 ? fmt::format(", line {}", ref.at.line) : "");
  }

  void note(std::vector<Use>& uses, std::size_t event) {
    const Ref& ref = events_[event].ref;
    auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.ref.path == ref.path && use.ref.op == ref.op; });
    if (found == uses.end()) found = uses.insert(uses.end(), Use{event, ref, {}, false});
    if (std::find(found->warps.begin(), found->warps.end(), ref.warp) == found->warps.end()) found->warps.push_back(ref.warp);
    found->several_ctas |= ref.cta != found->ref.cta;
  }

  static std::string by_whom(const Use& use) {
    std::vector<std::uint32_t> warps = use.warps;
    std::sort(warps.begin(), warps.end());
    std::uint32_t mask = 0;
    for (const std::uint32_t warp : warps) mask |= 1u << warp % 32;
    return fmt::format("{}, {}warp{} {}", statement(use.ref), use.several_ctas ? "several CTAs, " : fmt::format("CTA {}, ", use.ref.cta), warps.size() == 1 ? "" : "s",
                       lanes_text(mask));
  }

  static void write_uses(std::string& text, std::string_view word, const std::vector<Use>& uses) {
    for (std::size_t i = 0; i < std::min(uses.size(), most_lines); ++i) text += fmt::format("    {:<12} {}\n", i == 0 ? word : "", by_whom(uses[i]));
    if (uses.empty()) text += fmt::format("    {:<12} nobody\n", word);
    if (uses.size() > most_lines) text += fmt::format("    {:<12} ... and {} more\n", "", uses.size() - most_lines);
  }

  std::string storage_sheet() {
    std::vector<Use> writers, readers, owners;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.kind != Event::Kind::execute) continue;
      if (storage_.front().space == Extent::Space::tmem && (event.ref.op == "tcgen05.alloc" || event.ref.op == "tcgen05.dealloc")) note(owners, i);
      if (touches(event.writes)) note(writers, i);
      if (touches(event.reads)) note(readers, i);
    }
    std::string text = fmt::format("  worksheet of {}\n", title());
    write_uses(text, "written by", writers);
    write_uses(text, "read by", readers);
    write_handovers(text, writers, readers);
    write_reuse(text, readers);
    if (!owners.empty()) write_uses(text, "owned from", owners);
    return text;
  }

  // -- through which synchronisation --

  Completes completion_of(const Ref& ref) const {
    const MachineOps::Any* op = statements_.operation(ref);
    if (ref.op == "tcgen05.ld") return Completes::loads;
    if (ref.op == "tcgen05.st") return Completes::stores;
    if (op && (std::holds_alternative<TcgenMma>(*op) || std::holds_alternative<TcgenCp>(*op) || std::holds_alternative<TcgenShift>(*op)))
      return Completes::tensor_core;
    if (const auto* copy = op ? std::get_if<BulkCopy>(op) : nullptr; copy && !copy->bar) return Completes::bulk;
    return Completes::nothing;
  }

  static bool same_warp(const Ref& a, const Ref& b) { return a.cta == b.cta && a.warp == b.warp; }

  using Syncs = std::vector<std::pair<std::size_t, Sync>>;

  const Syncs& syncs_of(const Ref& ref) const {
    static const Syncs none;
    const auto found = syncs_.find({ref.cta, ref.warp});
    return found == syncs_.end() ? none : found->second;
  }
  // Those of the warp from an event on.
  std::pair<Syncs::const_iterator, Syncs::const_iterator> syncs_from(std::size_t event) const {
    const Syncs& all = syncs_of(events_[event].ref);
    return {std::lower_bound(all.begin(), all.end(), event, [](const auto& each, std::size_t at) { return each.first < at; }), all.end()};
  }

  // The next event of the warp that completes operations of this kind.
  std::optional<std::size_t> completed_at(std::size_t from, Completes kind) const {
    const auto [begin, end] = syncs_from(from);
    const auto found = std::find_if(begin, end, [&](const auto& each) { return each.second.completes == kind; });
    return found == end ? std::nullopt : std::optional(found->first);
  }

  const Sync& sync_at(std::size_t event) const { return syncs_from(event).first->second; }

  struct Met {
    std::size_t signal = 0, wait = 0;
    std::string object;
  };

  // The first meeting point that the one warp signals from `from` on and the other waits at before `to`.
  std::optional<Met> meeting(std::size_t from, std::size_t to) const {
    std::size_t looked = 0;
    const auto [begin, end] = syncs_from(from);
    for (auto signal = begin; signal != end && signal->first < to && looked < most_signals; ++signal) {
      if (!signal->second.signals) continue;
      ++looked;
      for (const auto& [at, wait] : syncs_of(events_[to].ref)) {
        if (at >= to) break;
        const bool same_use = wait.signals ? wait.use == signal->second.use : at > signal->first;  // where both signal, either may come first
        if (wait.waits && same_use && wait.object == signal->second.object && wait.cta == signal->second.cta)
          return Met{signal->first, at, wait.object};
      }
    }
    return std::nullopt;
  }

  std::string handover(std::size_t from, std::size_t to) const {
    std::vector<std::string> parts;
    const Completes kind = completion_of(events_[from].ref);
    std::size_t complete = from;
    if (kind != Completes::nothing) {
      const auto at = completed_at(from, kind);
      if (!at || (same_warp(events_[from].ref, events_[to].ref) && *at > to)) {
        parts.push_back(fmt::format("not complete before line {}", events_[to].ref.at.line));
      } else {
        parts.push_back(fmt::format("complete by {}", statement(events_[*at].ref)));
        complete = *at;
      }
    }
    if (same_warp(events_[from].ref, events_[to].ref) && kind != Completes::tensor_core) {
      if (parts.empty()) parts.push_back("in the same warp");
    } else if (const auto met = meeting(complete, to)) {
      const bool joint = events_[met->signal].ref.path == events_[met->wait].ref.path;
      if (joint) parts.push_back(fmt::format("{} joins the two", statement(events_[met->wait].ref)));
      else if (met->signal != complete) parts.push_back(fmt::format("{} signals {}", statement(events_[met->signal].ref), met->object));
      else if (kind == Completes::tensor_core) parts.back() += fmt::format(", which arrives on {}", met->object);
      if (!joint) parts.push_back(fmt::format("{} waits for {}", statement(events_[met->wait].ref), met->object));
    } else {
      parts.push_back("nothing that one of them signals and the other waits for");
    }
    return joined(parts);
  }

  // The first event of a statement, by anybody, behind `from` that touches the storage.
  std::optional<std::size_t> next_use(std::size_t from, const Use& use) const {
    for (std::size_t i = from + 1; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (event.kind == Event::Kind::execute && event.ref.path == use.ref.path && event.ref.op == use.ref.op && (touches(event.reads) || touches(event.writes))) return i;
    }
    return std::nullopt;
  }

  void write_handovers(std::string& text, const std::vector<Use>& writers, const std::vector<Use>& readers) const {
    std::size_t lines = 0;
    for (const Use& writer : writers) {
      for (const Use& reader : readers) {
        if (writer.ref.path == reader.ref.path || lines == most_lines) continue;
        const auto later = next_use(writer.first, reader);
        // The two of the finding may have run the other way round.
        const bool in_question = finding_.at.path == reader.ref.path && finding_.other && finding_.other->path == writer.ref.path;
        if (!later && !in_question) continue;
        const std::size_t to = later.value_or(reader.first);
        text += fmt::format("    {:<12} line {} to line {}: {}\n", lines++ == 0 ? "handed over" : "", writer.ref.at.line, reader.ref.at.line, handover(writer.first, to));
      }
    }
  }

  void write_reuse(std::string& text, const std::vector<Use>& readers) const {
    std::size_t lines = 0;
    for (const Use& reader : readers) {
      if (lines == most_lines) break;
      text += fmt::format("    {:<12} line {}: {}\n", lines++ == 0 ? "free again" : "", reader.ref.at.line, released(reader.first));
    }
  }

  // What must have happened after a read before the storage may be written again.
  std::string released(std::size_t read) const {
    const Completes kind = completion_of(events_[read].ref);
    std::vector<std::string> parts;
    std::size_t complete = read;
    if (kind != Completes::nothing) {
      const auto at = completed_at(read, kind);
      if (!at) return "never: nothing completes the read";
      complete = *at;
      parts.push_back(fmt::format("after {}", statement(events_[*at].ref)));
      if (kind == Completes::tensor_core) return parts.front() + " has been waited for on " + sync_at(*at).object;
    }
    const auto [begin, end] = syncs_from(complete + (complete == read ? 0 : 1));
    const auto signal = std::find_if(begin, end, [](const auto& each) { return each.second.signals; });
    if (signal != end) {
      parts.push_back(fmt::format("for others when {} has signalled {}", statement(events_[signal->first].ref), signal->second.object));
      return joined(parts);
    }
    parts.push_back("no signal to others follows");
    return joined(parts);
  }

  // -- barriers --

  std::string barrier_sheet() {
    std::vector<Use> makers, arrivals, waits;
    const std::string& name = finding_.where.buffer;
    for (const auto& [warp, syncs] : syncs_)
      for (const auto& [i, sync] : syncs)
        if (sync.object == name || sync.object.rfind(name + "[", 0) == 0) note(sync.signals ? arrivals : sync.waits ? waits : makers, i);
    std::string text = fmt::format("  worksheet of {}{}\n", name, finding_.where.cta ? fmt::format(", a barrier of CTA {}", *finding_.where.cta) : "");
    write_uses(text, "made by", makers);
    write_uses(text, "arrived on by", arrivals);
    write_uses(text, "waited for by", waits);
    return text;
  }

  const Kernel& kernel_;
  const std::vector<Event>& events_;
  const Statements statements_;
  const Finding& finding_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Syncs> syncs_;  // by CTA and warp, in order
  std::map<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::string>, std::size_t> uses_;
  std::vector<Extent> storage_;
};

}  // namespace

namespace {

// Who of the threads touches which bytes is of no interest here.
void without_threads(std::vector<Extent>& extents) {
  for (Extent& extent : extents) {
    if (extent.space != Extent::Space::shared && extent.space != Extent::Space::global) continue;
    std::tie(extent.first, extent.last) = sim::hull(extent);
    extent.lane_first = extent.lane_last = extent.stride = 0;
    extent.by_thread = false;
  }
}

}  // namespace

void EventLog::event(const Event& event) {
  if (events_.size() >= most_events) {
    cut_off_ = true;
    return;
  }
  events_.push_back(event);
  without_threads(events_.back().reads);
  without_threads(events_.back().writes);
}

std::string worksheet(const Kernel& kernel, const EventLog& log, const Finding& finding) {
  std::string text = Worksheet(kernel, log, finding).fill();
  if (!text.empty() && log.is_cut_off()) text += fmt::format("    {:<12} the first {} events\n", "seen are", most_events);
  return text;
}

}  // namespace tmemsim::report
