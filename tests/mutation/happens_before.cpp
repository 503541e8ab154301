#include "tests/mutation/happens_before.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

namespace tmemsim::tests {
namespace {

using sim::Event;

// Something that the judge cannot work out (a register in an expression that synchronises).
struct Unknown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- sets of what has happened ----

class Bits {
 public:
  void add(std::size_t bit) {
    if (bit / 64 >= words_.size()) words_.resize(bit / 64 + 1);
    words_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  bool has(std::size_t bit) const { return bit / 64 < words_.size() && (words_[bit / 64] >> bit % 64 & 1) != 0; }
  void add(const Bits& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  std::vector<std::uint64_t> words_;
};

// At one point of a thread, or of a barrier: what has happened before it, in the sense of ...
struct Past {
  Bits any;       // ... any synchronisation
  Bits memory;    // ... the memory model: not across relaxed operations
  Bits proxied;   // ... the memory model, with fence.proxy.async on the way
  Bits tensor;    // ... tcgen05 operations
  Bits released;  // of those: what a fence::before_thread_sync has made ready
  Bits pending;   // has come here, and needs a fence::after_thread_sync

  void add(const Past& other) {
    any.add(other.any);
    memory.add(other.memory);
    proxied.add(other.proxied);
    tensor.add(other.tensor);
    released.add(other.released);
    pending.add(other.pending);
  }
  void happen(std::size_t token) {
    any.add(token);
    memory.add(token);
    tensor.add(token);
  }
};

// What a barrier holds of those who arrive.
struct Meeting {
  Past past;
  // Release: everything is handed over. Plain (CTA and cluster barriers): tensor operations only behind a fence. Relaxed: only those.
  void arrive_release(const Past& from) { past.add(from); }
  void arrive_plain(const Past& from) {
    past.any.add(from.any);
    past.memory.add(from.memory);
    past.proxied.add(from.proxied);
    past.released.add(from.released);
  }
  void arrive_relaxed(const Past& from) {
    past.any.add(from.any);
    past.released.add(from.released);
  }
  // An asynchronous operation is complete: its completion is a release, and needs no fence in front.
  void complete(std::size_t token) {
    past.any.add(token);
    past.memory.add(token);
    past.proxied.add(token);
    past.tensor.add(token);
    past.released.add(token);
  }
  void leave_acquire(Past& to) const {
    to.any.add(past.any);
    to.memory.add(past.memory);
    to.proxied.add(past.proxied);
    to.tensor.add(past.tensor);
    to.pending.add(past.released);
    to.pending.add(past.pending);
  }
  void leave_plain(Past& to) const {
    to.any.add(past.any);
    to.memory.add(past.memory);
    to.proxied.add(past.proxied);
    to.pending.add(past.released);
  }
  void leave_relaxed(Past& to) const {
    to.any.add(past.any);
    to.pending.add(past.released);
  }
};

// ---- accesses ----

enum class Kind { ordinary, ld, st, mma, cp, shift, bulk };

bool is_tensor_core(Kind kind) { return kind == Kind::mma || kind == Kind::cp || kind == Kind::shift; }
bool is_async_proxy(Kind kind) { return is_tensor_core(kind) || kind == Kind::bulk; }

using Space = sim::Extent::Space;

struct Box {
  Space space = Space::tmem;
  std::uint32_t place = 0;
  std::int64_t lane_first = 0, lane_last = 0, first = 0, last = 0;
  bool write = false;
  bool meets(const Box& other) const {
    return (write || other.write) && place == other.place && space == other.space && lane_first <= other.lane_last && other.lane_first <= lane_last &&
           first <= other.last && other.first <= last;
  }
};

struct Access {
  std::vector<std::size_t> tokens;  // one a strand of an ordinary access, one for all of another
  Kind kind = Kind::ordinary;
  std::string place, form;      // source place; of an mma: accumulator and shape, of a cp: its shape
  std::uint32_t cta = 0;
  std::uint32_t warp = 0, lanes = 0;
  bool crosses_lanes = false;   // a thread of the warp accesses what another one addresses
  std::size_t lane_joins = 0;   // how often the lanes of its warp had been joined before
  std::size_t thread = 0;       // strand that issued it (mma, cp, shift)
  std::vector<Box> boxes;
};

// Registers: a buffer, and rows of it or all (a lowered primitive).
struct Registers {
  BufferId buffer = 0;
  std::vector<std::uint16_t> rows;
  bool meets(const Registers& other) const {
    if (buffer != other.buffer) return false;
    if (rows.empty() || other.rows.empty()) return true;
    return std::any_of(rows.begin(), rows.end(), [&](std::uint16_t row) { return std::find(other.rows.begin(), other.rows.end(), row) != other.rows.end(); });
  }
};

// The five pairs of tcgen05 operations that one thread may issue behind each other.
bool is_pipelined(const Access& x, const Access& y) {
  if (x.thread != y.thread) return false;
  if (x.kind == Kind::mma && y.kind == Kind::mma) return x.form == y.form;
  if (y.kind == Kind::mma) return x.kind == Kind::cp || x.kind == Kind::shift;
  if (x.kind == Kind::shift) return y.kind == Kind::cp && y.form == "4x256b";
  return x.kind == Kind::mma && y.kind == Kind::shift;
}

// ---- barriers ----

struct Phase {
  Meeting meeting;
  Bits arrivers;                 // what every arrival of the phase had behind it
  std::vector<std::size_t> observed;  // tokens of the waits that have seen it complete
};

struct Object {  // an mbarrier
  std::size_t init = 0;
  std::int64_t expected = 0, pending = 0, tx = 0;
  std::int64_t phase = 0;
  std::map<std::int64_t, Phase> phases;
  std::map<std::size_t, std::int64_t> meant;  // by strand: phase of its last wait
};

struct NamedUse {
  Meeting meeting;
  std::int64_t arrived = 0, expected = 0;
  std::vector<std::size_t> waiting;  // strands
  std::optional<std::size_t> before;  // token of the use before
};

using Barrier = std::array<std::int64_t, 3>;  // CTA, buffer, element

// A bulk copy from shared memory: reads and writes are complete at a wait_group.
struct GroupedCopy {
  std::size_t read = 0, written = 0;
  std::size_t group = 0;
};

struct Columns {
  std::size_t token = 0, relinquished = 0;
  bool live = false, pair = false;
};

std::string source_place(const Ref& ref) { return fmt::format("{}:{} {}", ref.at.line, ref.at.col, ref.op); }

std::string instance(const Ref& ref) {
  std::string text = fmt::format("{} CTA {} warp {}", source_place(ref), ref.cta, ref.warp);
  for (const auto& [variable, value] : ref.loop) text += fmt::format(" {}={}", variable, value);
  return text;
}

bool is_tensor_memory(const std::string& op) {
  return op == "tcgen05.ld" || op == "tcgen05.st" || op == "tcgen05.mma" || op == "tcgen05.cp" || op == "tcgen05.shift";
}

class Judge {
 public:
  Judge(const Program& program, const std::vector<Event>& events, const Baseline& baseline)
      : kernel_(*program.kernel), events_(events), baseline_(baseline) {
    find_statements(kernel_.body);
    find_strands();
  }

  Judgement judge() {
    for (const Event& event : events_) take(event);
    finish();
    return std::move(judgement_);
  }

 private:
  // -- statements and values --

  void find_statements(const Body& body) {
    for (const Stmt& stmt : body) {
      statements_[stmt.path] = &stmt;
      if (!std::holds_alternative<Lowered>(stmt.node)) for_each_body(stmt, [&](const Body& inner) { find_statements(inner); });
    }
  }

  const MachineOps::Any* operation(const Ref& ref) const {
    const auto found = statements_.find(ref.path);
    return found == statements_.end() ? nullptr : std::get_if<MachineOps::Any>(&found->second->node);
  }

  static std::string place_of(const Ref& ref) { return source_place(ref); }

  std::int64_t value(const Expr& expr, const Ref& ref) const {
    const std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(ref.lanes));
    const Expr known = expr.replaced([&](const Expr& node) -> std::optional<Expr> {
      switch (node.op()) {
        case ExprOp::tid: return Expr(ref.warp * 32 + lane);
        case ExprOp::lane: return Expr(lane);
        case ExprOp::warp: return Expr(ref.warp);
        case ExprOp::wg: return Expr(ref.warp / 4);
        case ExprOp::cta: return Expr(ref.cta);
        case ExprOp::rank: return Expr(ref.cta % cluster_size(kernel_.launch));
        case ExprOp::loop: return Expr(ref.loop.at(node.loop_name()));
        default: return std::nullopt;
      }
    });
    if (const auto constant = folded(known)) return *constant;
    throw Unknown("a value that depends on memory");
  }

  static std::optional<std::int32_t> folded(const Expr& expr) {
    if (const auto constant = expr.as_constant()) return constant;
    if (expr.op() < ExprOp::add) return std::nullopt;
    const auto a = folded(expr.a()), b = folded(expr.b());
    return a && b ? Expr::apply(expr.op(), *a, *b) : std::nullopt;
  }

  std::uint32_t cta_of_rank(const Ref& ref, std::int64_t rank) const {
    const std::uint32_t size = cluster_size(kernel_.launch);
    return ref.cta / size * size + static_cast<std::uint32_t>(rank);
  }

  Barrier barrier_of(const Mem& bar, const Ref& ref, std::uint32_t cta) const {
    const std::int64_t element = bar.byte ? value(*bar.byte, ref) / 8 : bar.box.empty() ? 0 : value(bar.box.front().lo, ref);
    return {cta, bar.buffer, element};
  }

  // -- strands: the lanes of a warp that take part in the same instructions --

  void find_strands() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> parts;
    for (const Event& event : events_) {
      auto& masks = parts[{event.ref.cta, event.ref.warp}];
      if (masks.empty()) masks.push_back(~0u);
      std::vector<std::uint32_t> finer;
      for (const std::uint32_t mask : masks)
        for (const std::uint32_t part : {mask & event.ref.lanes, mask & ~event.ref.lanes})
          if (part != 0) finer.push_back(part);
      masks = std::move(finer);
    }
    for (const auto& [warp, masks] : parts) {
      for (const std::uint32_t mask : masks) {
        strand_masks_[warp].emplace_back(mask, past_.size());
        past_.emplace_back();
        strand_cta_.push_back(warp.first);
      }
    }
    for (std::size_t strand = 0; strand < past_.size(); ++strand) {
      if (start_.count(strand_cta_[strand]) == 0) start_[strand_cta_[strand]] = fresh();
      past_[strand].happen(start_[strand_cta_[strand]]);
    }
    exited_.resize(past_.size());
  }

  std::vector<std::size_t> strands(const Ref& ref) const {
    std::vector<std::size_t> found;
    for (const auto& [mask, strand] : strand_masks_.at({ref.cta, ref.warp}))
      if ((mask & ref.lanes) != 0) found.push_back(strand);
    return found;
  }

  std::int64_t threads(std::size_t strand) const {
    for (const auto& [warp, masks] : strand_masks_)
      for (const auto& [mask, each] : masks)
        if (each == strand) return std::popcount(mask);
    return 0;
  }

  std::size_t fresh() { return tokens_++; }

  void fault(std::string sentence) {
    if (judgement_.wrong.size() < 20) judgement_.wrong.push_back(std::move(sentence));
  }

  // All strands of the instruction have the token behind them.
  bool all_have(const std::vector<std::size_t>& who, Bits Past::*sense, std::size_t token) const {
    return std::all_of(who.begin(), who.end(), [&](std::size_t strand) { return (past_[strand].*sense).has(token); });
  }

  // -- events --

  void take(const Event& event) {
    if (event.kind == Event::Kind::exit) {
      for (const std::size_t strand : strands(event.ref)) exited_[strand] = true;
      return;
    }
    const MachineOps::Any* op = operation(event.ref);
    const bool meets = op && (std::holds_alternative<BarrierSync>(*op) || std::holds_alternative<WarpSync>(*op));
    if (event.kind != Event::Kind::execute && !(meets && event.kind == Event::Kind::block)) return;
    execute_event(is_tensor_memory(event.ref.op) && event.reads.empty() && event.writes.empty() ? with_known_footprint(event) : event, op);
  }

  void execute_event(const Event& event, const MachineOps::Any* op) {
    const std::vector<std::size_t> who = strands(event.ref);
    check_registers(event, op);
    if (op) {
      std::visit([&](const auto& each) { execute(each, event, who); }, *op);
    } else {
      access(event, who, event.ref.op == "tcgen05.ld" ? Kind::ld : event.ref.op == "tcgen05.st" ? Kind::st : Kind::ordinary);
    }
  }

  // The simulator refused it, and says nothing about its footprint.
  Event with_known_footprint(Event event) const {
    const std::string which = instance(event.ref);
    if (const auto found = baseline_.reads.find(which); found != baseline_.reads.end()) event.reads = found->second;
    if (const auto found = baseline_.writes.find(which); found != baseline_.writes.end()) event.writes = found->second;
    return event;
  }

  // -- registers of tcgen05.ld: not read and not written before wait::ld --

  static void add_rows(std::vector<Registers>& all, const Rows& rows) { all.push_back({rows.buffer, rows.rows}); }
  static void add_rows(std::vector<Registers>& all, const Value& value) {
    if (const auto* rows = std::get_if<Rows>(&value)) add_rows(all, *rows);
  }
  template <class Other>
  static void add_rows(std::vector<Registers>&, const Other&) {}

  std::vector<Registers> registers_of(const Event& event, const MachineOps::Any* op) const {
    std::vector<Registers> all;
    if (op) {
      std::visit([&](const auto& each) { std::apply([&](const auto&... field) { (add_rows(all, each.*(field.at)), ...); }, each.fields); }, *op);
      return all;
    }
    const auto found = statements_.find(event.ref.path);
    const auto* lowered = found == statements_.end() ? nullptr : std::get_if<Lowered>(&found->second->node);
    if (!lowered) return all;
    std::visit([&](const auto& each) {
      if constexpr (requires { each.dst.buffer; each.src.buffer; })
        for (const BufferId buffer : {each.dst.buffer, each.src.buffer})
          if (kernel_.buffers[buffer].space == tmemsim::Space::local) all.push_back({buffer, {}});
    }, lowered->origin);
    return all;
  }

  void check_registers(const Event& event, const MachineOps::Any* op) {
    const std::vector<Registers> touched = registers_of(event, op);
    auto& pending = loading_[{event.ref.cta, event.ref.warp}];
    for (const auto& [place, loading] : pending)
      for (const Registers& each : touched)
        if (loading.meets(each) && place != place_of(event.ref)) fault(fmt::format("{} uses registers of {} before wait::ld", place_of(event.ref), place));
    if (event.ref.op == "tcgen05.ld")
      for (const Registers& each : touched) pending.emplace_back(place_of(event.ref), each);
  }

  // Everything that is no synchronisation: what it touches.
  template <class Op>
  void execute(const Op&, const Event& event, const std::vector<std::size_t>& who) {
    access(event, who, Op::row.async == Async::ld ? Kind::ld : Op::row.async == Async::st ? Kind::st : Kind::ordinary);
  }
  void execute(const Load& op, const Event& event, const std::vector<std::size_t>& who) { peer_access(op.rank, event, who); }
  void execute(const Store& op, const Event& event, const std::vector<std::size_t>& who) { peer_access(op.rank, event, who); }

  // An event of an access to a peer names the window of its own CTA.
  void peer_access(const std::optional<Expr>& rank, Event event, const std::vector<std::size_t>& who) {
    if (rank) {
      const std::uint32_t target = cta_of_rank(event.ref, value(*rank, event.ref));
      for (auto* extents : {&event.reads, &event.writes})
        for (sim::Extent& extent : *extents)
          if (extent.space == Space::shared) extent.place = target;
      const std::size_t token = fresh();
      for (const std::size_t strand : who) past_[strand].happen(token);
      if (target != event.ref.cta) reaches(target, token, place_of(event.ref));
    }
    access(event, who, Kind::ordinary);
  }

  // -- accesses --

  static void add_boxes(std::vector<Box>& boxes, const std::vector<sim::Extent>& extents, bool write) {
    for (const sim::Extent& extent : extents) {
      if (extent.space == Space::registers) continue;
      if (extent.space == Space::tmem) {
        boxes.push_back({extent.space, extent.place, extent.lane_first, extent.lane_last, extent.first, extent.last, write});
      } else {  // lanes are threads there
        const auto [first, last] = hull(extent);
        boxes.push_back({extent.space, extent.place, 0, 0, first, last, write});
      }
    }
  }

  Access& access(const Event& event, const std::vector<std::size_t>& who, Kind kind, std::string form = {}, bool pair = false) {
    Access now = make_access(event, who, kind);
    now.form = std::move(form);
    add_boxes(now.boxes, event.reads, false);
    add_boxes(now.boxes, event.writes, true);
    for (std::size_t i = 0, count = now.boxes.size(); pair && i < count; ++i) {  // the same places of the peer
      Box peer = now.boxes[i];
      peer.place ^= 1;
      now.boxes.push_back(std::move(peer));
    }
    return enter(std::move(now), event, who);
  }

  Access make_access(const Event& event, const std::vector<std::size_t>& who, Kind kind) {
    Access now;
    for (std::size_t i = 0; i < (kind == Kind::ordinary ? who.size() : 1); ++i) now.tokens.push_back(fresh());
    now.kind = kind;
    now.place = place_of(event.ref);
    now.cta = event.ref.cta;
    now.warp = event.ref.warp;
    now.lanes = event.ref.lanes;
    now.crosses_lanes = event.ref.op.find("matrix") != std::string::npos;  // ldmatrix, stmatrix
    now.lane_joins = lane_joins_[{event.ref.cta, event.ref.warp}];
    now.thread = who.front();
    return now;
  }

  // Compares with everything before, and is remembered.
  Access& enter(Access now, const Event& event, const std::vector<std::size_t>& who) {
    if (kind_in_tmem(now)) check_allocated(event, who);
    for (const Access& before : accesses_) compare(before, now, who);
    accesses_.push_back(std::move(now));
    Access& kept = accesses_.back();
    if (kept.kind == Kind::ordinary)
      for (std::size_t i = 0; i < who.size(); ++i) past_[who[i]].happen(kept.tokens[i]);
    if (kept.kind == Kind::ld) loads_[{event.ref.cta, event.ref.warp}].push_back(kept.tokens.front());
    if (kept.kind == Kind::st) stores_[{event.ref.cta, event.ref.warp}].push_back(kept.tokens.front());
    if (is_tensor_core(kept.kind)) tensor_[kept.thread].push_back(kept.tokens.front());
    return kept;
  }

  static bool kind_in_tmem(const Access& access) {
    return access.kind == Kind::ld || access.kind == Kind::st || is_tensor_core(access.kind) ||
           std::any_of(access.boxes.begin(), access.boxes.end(), [](const Box& box) { return box.space == Space::tmem; });
  }

  void compare(const Access& x, const Access& y, const std::vector<std::size_t>& who) {
    for (const Box& a : x.boxes) {
      for (const Box& b : y.boxes) {
        if (!a.meets(b) || is_ordered(x, a, y, who)) continue;
        const StatementPair pair{x.place, y.place};
        judgement_.unordered.insert(pair);
        if (baseline_.tolerated.count(pair) == 0) fault(fmt::format("{} and {} are not ordered ({})", x.place, y.place, sim::name(a.space)));
        return;
      }
    }
  }

  bool is_ordered(const Access& x, const Box& a, const Access& y, const std::vector<std::size_t>& who) const {
    if (a.space == Space::tmem) return (is_tensor_core(x.kind) && is_tensor_core(y.kind) && is_pipelined(x, y)) || all_have(who, &Past::tensor, x.tokens.front());
    const bool crosses = x.kind == Kind::ordinary && a.write && is_async_proxy(y.kind);
    const auto sense = crosses ? &Past::proxied : &Past::memory;
    // The same lanes again: each is taken to touch its own part, unless the instruction works across lanes.
    if (x.kind == Kind::ordinary && y.kind == Kind::ordinary && x.cta == y.cta && x.warp == y.warp && x.lanes == y.lanes)
      return (!x.crosses_lanes && !y.crosses_lanes) || x.lane_joins < y.lane_joins;
    return std::all_of(x.tokens.begin(), x.tokens.end(), [&](std::size_t token) { return all_have(who, sense, token); });
  }

  // -- tensor memory: life cycle --

  void check_allocated(const Event& event, const std::vector<std::size_t>& who) {
    const Columns& columns = columns_[event.ref.cta];
    if (!columns.live) fault(fmt::format("{} without columns", place_of(event.ref)));
    else if (!all_have(who, &Past::any, columns.token)) fault(fmt::format("{} does not come after alloc", place_of(event.ref)));
  }

  void execute(const TcgenAlloc& op, const Event& event, const std::vector<std::size_t>& who) {
    Columns& columns = columns_[event.ref.cta];
    if (columns.live) throw Unknown("several allocations");
    if (columns.relinquished != 0) fault("alloc after relinquish");
    if (op.cta_group == 2 && !all_have(who, &Past::any, start_.at(event.ref.cta ^ 1u))) fault("alloc of a pair: the peer may not have started");
    columns = {fresh(), columns.relinquished, true, op.cta_group == 2};
    for (const std::size_t strand : who) past_[strand].happen(columns.token);
    access(event, who, Kind::ordinary);
  }

  void execute(const TcgenDealloc& op, const Event& event, const std::vector<std::size_t>& who) {
    Columns& columns = columns_[event.ref.cta];
    if (!columns.live || !all_have(who, &Past::any, columns.token)) fault("dealloc of what is not allocated");
    if (op.cta_group == 2 && !all_have(who, &Past::any, columns_[event.ref.cta ^ 1u].token)) fault("dealloc: the peer may not have allocated");
    for (const Access& each : accesses_) {
      const bool own = each.cta == event.ref.cta || (op.cta_group == 2 && each.cta == (event.ref.cta ^ 1u));
      if (own && kind_in_tmem(each) && !all_have(who, &Past::any, each.tokens.front())) fault(fmt::format("dealloc while {} may be under way", each.place));
    }
    columns.live = false;
  }

  void execute(const TcgenRelinquish&, const Event& event, const std::vector<std::size_t>&) { columns_[event.ref.cta].relinquished = 1; }

  void execute(const TcgenWaitLd&, const Event& event, const std::vector<std::size_t>& who) {
    loading_[{event.ref.cta, event.ref.warp}].clear();
    complete(loads_[{event.ref.cta, event.ref.warp}], who);
  }
  void execute(const TcgenWaitSt&, const Event& event, const std::vector<std::size_t>& who) { complete(stores_[{event.ref.cta, event.ref.warp}], who); }

  void complete(std::vector<std::size_t>& tokens, const std::vector<std::size_t>& who) {
    for (const std::size_t token : tokens)
      for (const std::size_t strand : who) past_[strand].happen(token);
    tokens.clear();
  }

  // -- fences --

  void execute(const TcgenFenceBefore&, const Event&, const std::vector<std::size_t>& who) {
    for (const std::size_t strand : who) past_[strand].released.add(past_[strand].tensor);
  }
  void execute(const TcgenFenceAfter&, const Event&, const std::vector<std::size_t>& who) {
    for (const std::size_t strand : who) past_[strand].tensor.add(past_[strand].pending);
  }
  void execute(const FenceProxyAsync&, const Event&, const std::vector<std::size_t>& who) {
    for (const std::size_t strand : who) past_[strand].proxied.add(past_[strand].memory);
  }
  void execute(const FenceMbarrierInit&, const Event&, const std::vector<std::size_t>&) {}

  // -- barriers of the CTA, the warp and the cluster --

  void execute(const BarrierSync& op, const Event& event, const std::vector<std::size_t>& who) {
    ++lane_joins_[{event.ref.cta, event.ref.warp}];
    const std::int64_t all = static_cast<std::int64_t>(kernel_.launch.warps) * 32;
    arrive_named(event, who, value(op.id, event.ref), op.count ? value(*op.count, event.ref) : all, true);
  }
  void execute(const BarrierArrive& op, const Event& event, const std::vector<std::size_t>& who) {
    arrive_named(event, who, value(op.id, event.ref), value(op.count, event.ref), false);
  }

  void arrive_named(const Event& event, const std::vector<std::size_t>& who, std::int64_t id, std::int64_t count, bool waits) {
    NamedUse& use = named_[{event.ref.cta, id}];
    if (use.arrived > 0 && use.expected != count) fault("a named barrier with two counts");
    if (use.before && !all_have(who, &Past::any, *use.before)) fault(fmt::format("{} may come to the use before", place_of(event.ref)));
    use.expected = count;
    for (const std::size_t strand : who) {
      use.meeting.arrive_plain(past_[strand]);
      if (waits) use.waiting.push_back(strand);
    }
    use.arrived += std::popcount(event.ref.lanes);
    if (use.arrived < count) return;
    const std::size_t token = fresh();
    for (const std::size_t strand : use.waiting) {
      use.meeting.leave_plain(past_[strand]);
      past_[strand].happen(token);
    }
    use = NamedUse{};
    use.before = token;
  }

  void execute(const WarpSync& op, const Event& event, const std::vector<std::size_t>& who) {
    if (op.mask) throw Unknown("bar.warp.sync with a mask");
    ++lane_joins_[{event.ref.cta, event.ref.warp}];
    std::vector<std::size_t>& waiting = warp_syncs_[{event.ref.cta, event.ref.warp}];
    waiting.insert(waiting.end(), who.begin(), who.end());
    std::int64_t count = 0;
    for (const std::size_t strand : waiting) count += threads(strand);
    if (count < 32) return;
    Past together;
    for (const std::size_t strand : waiting) together.add(past_[strand]);
    together.released = Bits{};
    for (const std::size_t strand : waiting) past_[strand].add(together);
    waiting.clear();
  }

  struct ClusterUse {
    Meeting meeting;
    std::int64_t arrived = 0;
  };

  void execute(const ClusterArrive& op, const Event& event, const std::vector<std::size_t>& who) {
    auto& uses = cluster_[event.ref.cta / cluster_size(kernel_.launch)];
    for (const std::size_t strand : who) {
      if (cluster_arrivals_[strand] != cluster_waits_[strand]) fault("a second arrive at the cluster barrier before the wait");
      const std::size_t use = cluster_arrivals_[strand]++;
      if (use >= uses.size()) uses.resize(use + 1);
      if (op.sem == Sem::relaxed) uses[use].meeting.arrive_relaxed(past_[strand]);
      else uses[use].meeting.arrive_plain(past_[strand]);
      uses[use].arrived += threads(strand);
    }
  }

  void execute(const ClusterWait&, const Event& event, const std::vector<std::size_t>& who) {
    auto& uses = cluster_[event.ref.cta / cluster_size(kernel_.launch)];
    for (const std::size_t strand : who) {
      const std::size_t use = cluster_arrivals_[strand];
      if (use == 0) throw Unknown("a wait that has not arrived");
      cluster_waits_[strand] = use;
      uses[use - 1].meeting.leave_plain(past_[strand]);
    }
  }

  // -- mbarriers --

  void execute(const MbarrierInit& op, const Event& event, const std::vector<std::size_t>& who) {
    const Barrier at = barrier_of(op.bar, event.ref, event.ref.cta);
    if (objects_.count(at) != 0) fault("init of a barrier that is one");
    Object& object = objects_[at];
    object.init = fresh();
    object.expected = object.pending = value(op.count, event.ref);
    for (const std::size_t strand : who) past_[strand].happen(object.init);
  }
  void execute(const MbarrierInval&, const Event&, const std::vector<std::size_t>&) { throw Unknown("mbarrier.inval"); }

  // The object, if it is one and the instruction comes after its init.
  Object* object(const Barrier& at, const Ref& ref, const std::vector<std::size_t>& who) {
    const auto found = objects_.find(at);
    if (found == objects_.end() || !all_have(who, &Past::memory, found->second.init)) {
      fault(fmt::format("{} may come before the init of its barrier", place_of(ref)));
      return nullptr;
    }
    return &found->second;
  }

  // An arrive-on of the current phase, which must come after somebody has seen the phase before complete.
  void check_arrival(const Object& object, const Ref& ref, const std::vector<std::size_t>& who) {
    if (object.phase == 0) return;
    const auto& observed = object.phases.at(object.phase - 1).observed;
    const bool seen = std::any_of(observed.begin(), observed.end(), [&](std::size_t wait) { return all_have(who, &Past::any, wait); });
    if (!seen) fault(fmt::format("{} arrives in phase {}, nobody has seen the one before", place_of(ref), object.phase));
  }

  void arrive(Object& object, std::int64_t count, const std::vector<std::size_t>& who, bool relaxed) {
    Phase& phase = object.phases[object.phase];
    for (const std::size_t strand : who) {
      if (relaxed) phase.meeting.arrive_relaxed(past_[strand]);
      else phase.meeting.arrive_release(past_[strand]);
      phase.arrivers.add(past_[strand].any);
    }
    object.pending -= count;
    if (object.pending < 0) fault("more arrivals than the barrier expects");
  }

  void complete_if_done(Object& object) {
    if (object.pending > 0 || object.tx != 0) return;
    object.phases[object.phase];
    ++object.phase;
    object.pending = object.expected;
    // Whoever has waited for the phase before this one must have done so before its completion.
    const std::int64_t ended = object.phase - 1;
    for (const auto& [token, meant] : waits_[&object])
      if (meant == ended - 1 && !object.phases[ended].arrivers.has(token)) fault("a wait may come after the phase behind the one it means");
  }

  void reaches(std::uint32_t cta, std::size_t token, std::string what) { reached_.push_back({cta, token, std::move(what)}); }

  template <class Op>
  void arrive_at(const Op& op, const Event& event, const std::vector<std::size_t>& who, std::int64_t each, std::int64_t bytes) {
    const std::uint32_t cta = op.rank ? cta_of_rank(event.ref, value(*op.rank, event.ref)) : event.ref.cta;
    Object* object = this->object(barrier_of(op.bar, event.ref, cta), event.ref, who);
    if (cta != event.ref.cta) {
      const std::size_t token = fresh();
      for (const std::size_t strand : who) past_[strand].happen(token);
      reaches(cta, token, place_of(event.ref));
    }
    if (!object) return;
    object->tx += bytes * std::popcount(event.ref.lanes);
    if (each > 0) {
      check_arrival(*object, event.ref, who);
      arrive(*object, each * std::popcount(event.ref.lanes), who, op.sem == Sem::relaxed);
    }
    complete_if_done(*object);
  }

  void execute(const MbarrierArrive& op, const Event& event, const std::vector<std::size_t>& who) {
    arrive_at(op, event, who, value(op.count, event.ref), 0);
  }
  void execute(const MbarrierArriveExpectTx& op, const Event& event, const std::vector<std::size_t>& who) {
    arrive_at(op, event, who, 1, value(op.bytes, event.ref));
  }
  void execute(const MbarrierExpectTx& op, const Event& event, const std::vector<std::size_t>& who) {
    arrive_at(op, event, who, 0, value(op.bytes, event.ref));
  }

  template <class Op>
  void wait(const Op& op, const Event& event, const std::vector<std::size_t>& who) {
    Object* object = this->object(barrier_of(op.bar, event.ref, event.ref.cta), event.ref, who);
    if (!object) return;
    const std::int64_t parity = value(op.parity, event.ref);
    if ((object->phase & 1) == parity) {
      if (!op.poll) fault(fmt::format("{} goes on while phase {} of its barrier is not complete", place_of(event.ref), object->phase));
      return;  // a poll that is told no
    }
    const std::size_t token = fresh();
    for (const std::size_t strand : who) {
      const std::int64_t seen = object->phase - 1;
      std::int64_t meant = seen;
      if (const auto last = object->meant.find(strand); last != object->meant.end())
        meant = ((last->second & 1) != parity) ? last->second + 1 : object->phase == last->second + 1 ? last->second : last->second + 2;
      if (meant != seen) fault(fmt::format("{} means phase {}, {} is complete", place_of(event.ref), meant, seen));
      object->meant[strand] = meant;
      if (seen >= 0) {
        if (op.sem == Sem::relaxed) object->phases[seen].meeting.leave_relaxed(past_[strand]);
        else object->phases[seen].meeting.leave_acquire(past_[strand]);
      }
      past_[strand].happen(token);
    }
    if (object->phase > 0) object->phases[object->phase - 1].observed.push_back(token);
    waits_[object].emplace_back(token, object->phase - 1);
  }
  void execute(const MbarrierTryWait& op, const Event& event, const std::vector<std::size_t>& who) { wait(op, event, who); }
  void execute(const MbarrierTestWait& op, const Event& event, const std::vector<std::size_t>& who) { wait(op, event, who); }

  // -- the tensor core --

  std::string region_text(const Region& region, const Ref& ref) const {
    std::string text = fmt::format("{}", region.buffer);
    for (const Range& range : region.box) text += fmt::format(",{}:{}", value(range.lo, ref), range.hi ? value(*range.hi, ref) : -1);
    return text;
  }

  void execute(const TcgenMma& op, const Event& event, const std::vector<std::size_t>& who) {
    issue(access(event, who, Kind::mma, region_text(op.d, event.ref), op.cta_group == 2), op.cta_group, event.ref);
  }
  void execute(const TcgenCp& op, const Event& event, const std::vector<std::size_t>& who) {
    issue(access(event, who, Kind::cp, std::string(Keywords<CpShape>::names[static_cast<std::size_t>(op.shape)]), op.cta_group == 2), op.cta_group, event.ref);
  }
  void execute(const TcgenShift& op, const Event& event, const std::vector<std::size_t>& who) {
    issue(access(event, who, Kind::shift, {}, op.cta_group == 2), op.cta_group, event.ref);
  }

  void issue(const Access& access, int cta_group, const Ref& ref) {
    for (std::uint32_t each = 0; each < static_cast<std::uint32_t>(cta_group); ++each) reaches(ref.cta ^ each, access.tokens.front(), access.place);
  }

  void execute(const TcgenCommit& op, const Event& event, const std::vector<std::size_t>& who) {
    const std::uint32_t size = cluster_size(kernel_.launch);
    std::vector<std::uint32_t> ctas;
    if (op.mask) {
      const std::int64_t mask = value(*op.mask, event.ref);
      for (std::uint32_t rank = 0; rank < size; ++rank)
        if (mask >> rank & 1) ctas.push_back(cta_of_rank(event.ref, rank));
    } else {
      ctas.push_back(op.rank ? cta_of_rank(event.ref, value(*op.rank, event.ref)) : event.ref.cta);
    }
    for (const std::uint32_t cta : ctas) {
      for (const std::size_t covered : tensor_[who.front()]) reaches(cta, covered, place_of(event.ref));  // it arrives when they are complete
      Object* object = this->object(barrier_of(op.bar, event.ref, cta), event.ref, who);
      if (!object) continue;
      check_arrival(*object, event.ref, who);
      Phase& phase = object->phases[object->phase];
      for (const std::size_t covered : tensor_[who.front()]) phase.meeting.complete(covered);
      // Its own thread's past is not released by a commit; that it came after is known all the same.
      for (const std::size_t strand : who) {
        phase.meeting.past.any.add(past_[strand].any);
        phase.arrivers.add(past_[strand].any);
      }
      --object->pending;
      if (object->pending < 0) fault("more commits than the barrier expects");
      complete_if_done(*object);
    }
  }

  // -- bulk copies --

  void execute(const BulkCopy& op, const Event& event, const std::vector<std::size_t>& who) {
    if (op.bar) return load(op, event, who);
    Access read = make_access(event, who, Kind::bulk), written = make_access(event, who, Kind::bulk);
    add_boxes(read.boxes, event.reads, false);
    add_boxes(written.boxes, event.writes, true);
    copies_[who.front()].push_back({read.tokens.front(), written.tokens.front(), groups_[who.front()]});
    reaches(event.ref.cta, read.tokens.front(), read.place);
    enter(std::move(read), event, who);
    enter(std::move(written), event, who);
  }

  void load(const BulkCopy& op, const Event& event, const std::vector<std::size_t>& who) {
    std::set<std::uint32_t> ctas;
    for (const sim::Extent& extent : event.writes)
      if (extent.space == Space::shared) ctas.insert(extent.place);
    for (const std::uint32_t cta : ctas) {
      Access now = make_access(event, who, Kind::bulk);
      std::int64_t bytes = 0;
      add_boxes(now.boxes, event.reads, false);
      for (const sim::Extent& extent : event.writes) {
        if (extent.place != cta) continue;
        bytes += hull(extent).second - hull(extent).first + 1;
        add_boxes(now.boxes, {extent}, true);
      }
      reaches(cta, now.tokens.front(), now.place);
      Object* object = this->object(barrier_of(*op.bar, event.ref, cta), event.ref, who);
      const std::size_t token = enter(std::move(now), event, who).tokens.front();
      if (!object) continue;
      Phase& phase = object->phases[object->phase];
      phase.meeting.complete(token);
      for (const std::size_t strand : who) phase.meeting.past.any.add(past_[strand].any);
      object->tx -= bytes;
      complete_if_done(*object);
    }
  }

  void execute(const BulkCommitGroup&, const Event&, const std::vector<std::size_t>& who) { ++groups_[who.front()]; }

  void execute(const BulkWaitGroup& op, const Event& event, const std::vector<std::size_t>& who) {
    const std::int64_t allowed = value(op.n, event.ref), closed = static_cast<std::int64_t>(groups_[who.front()]);
    for (const GroupedCopy& copy : copies_[who.front()]) {
      if (static_cast<std::int64_t>(copy.group) >= closed - allowed) continue;
      for (const std::size_t strand : who) {
        past_[strand].happen(copy.read);
        past_[strand].proxied.add(copy.read);
        if (op.read) continue;
        past_[strand].happen(copy.written);
        past_[strand].proxied.add(copy.written);
      }
    }
  }

  // -- the end --

  void finish() {
    for (std::size_t strand = 0; strand < exited_.size(); ++strand) {
      if (exited_[strand]) continue;
      fault("a thread never ends");
      return;
    }
    for (const auto& [cta, columns] : columns_)
      if (columns.live) fault("columns are not freed");
    // What reaches into a CTA, or is issued by it, is over before its last thread leaves.
    for (const auto& [cta, token, what] : reached_) {
      bool known = false;
      for (std::size_t strand = 0; strand < past_.size(); ++strand) known |= strand_cta_[strand] == cta && past_[strand].any.has(token);
      if (!known) fault(fmt::format("{} may be under way when CTA {} ends", what, cta));
    }
    if (kernel_.launch.ctas_per_sm > 1 && cta_count(kernel_.launch) > 1)
      for (const auto& [cta, columns] : columns_)
        if (columns.relinquished == 0) fault("the permit is never given back");
  }

  const Kernel& kernel_;
  const std::vector<Event>& events_;
  const Baseline& baseline_;
  Judgement judgement_;
  std::map<std::string, const Stmt*> statements_;

  using WarpId = std::pair<std::uint32_t, std::uint32_t>;
  std::map<WarpId, std::vector<std::pair<std::uint32_t, std::size_t>>> strand_masks_;
  std::vector<Past> past_;                    // by strand, now
  std::vector<std::uint32_t> strand_cta_;
  std::vector<bool> exited_;
  std::map<std::uint32_t, std::size_t> start_;  // by CTA
  std::size_t tokens_ = 1;

  std::vector<Access> accesses_;
  std::map<WarpId, std::vector<std::size_t>> loads_, stores_;
  std::map<WarpId, std::vector<std::pair<std::string, Registers>>> loading_;  // by which ld, what
  std::map<std::size_t, std::vector<std::size_t>> tensor_;  // by strand: what a commit covers
  std::map<std::uint32_t, Columns> columns_;
  std::map<std::pair<std::uint32_t, std::int64_t>, NamedUse> named_;
  std::map<WarpId, std::vector<std::size_t>> warp_syncs_;
  std::map<WarpId, std::size_t> lane_joins_;
  std::map<std::uint32_t, std::vector<ClusterUse>> cluster_;
  std::map<std::size_t, std::size_t> cluster_arrivals_, cluster_waits_;  // by strand
  std::map<Barrier, Object> objects_;
  std::map<const Object*, std::vector<std::pair<std::size_t, std::int64_t>>> waits_;
  std::map<std::size_t, std::vector<GroupedCopy>> copies_;
  std::map<std::size_t, std::size_t> groups_;
  struct Reached {
    std::uint32_t cta;
    std::size_t token;
    std::string what;
  };
  std::vector<Reached> reached_;
};

}  // namespace

Judgement judge(const Program& program, const std::vector<Event>& events, const Baseline& baseline) {
  try {
    return Judge(program, events, baseline).judge();
  } catch (const Unknown& unknown) {
    Judgement judgement;
    judgement.decided = false;
    judgement.wrong.push_back(unknown.what());
    return judgement;
  }
}

Baseline baseline(const Program& program, const std::vector<Event>& events) {
  Baseline known;
  for (const Event& event : events) {
    if (event.kind != Event::Kind::execute || !is_tensor_memory(event.ref.op)) continue;
    auto& reads = known.reads[instance(event.ref)];
    auto& writes = known.writes[instance(event.ref)];
    reads.insert(reads.end(), event.reads.begin(), event.reads.end());
    writes.insert(writes.end(), event.writes.begin(), event.writes.end());
  }
  known.tolerated = judge(program, events, known).unordered;
  return known;
}

}  // namespace tmemsim::tests
