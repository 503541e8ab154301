#include "sim/check/open.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "ir/tcgen05.hpp"
#include "sim/exec/dispatch.hpp"
#include "sim/exec/exec.hpp"

namespace tmemsim::sim {
namespace {

bool tells_lanes_apart(const Expr& expr) { return expr.uses(ExprOp::lane) || expr.uses(ExprOp::tid); }

bool names_lanes(const Where& where) { return where.lanes && (where.lanes->first != 0 || where.lanes->last < 31); }

// Calls visit(expr) for every expression of an operand, rows(rows, use) for registers.
template <class OnExpr, class OnRows, class OnMem> struct Operands {
  const OnExpr& on_expr;
  const OnRows& on_rows;
  const OnMem& on_mem;
  Use use = Use::value;

  void operator()(const Expr& expr) const { on_expr(expr); }
  void operator()(const Rows& rows) const { on_rows(rows, use); }
  void operator()(const Mem& mem) const {
    on_mem(mem.buffer, use);
    if (mem.byte) on_expr(*mem.byte);
    box(mem.box);
  }
  void operator()(const Region& region) const {
    on_mem(region.buffer, use);
    box(region.box);
  }
  void operator()(const TmemAddr& address) const {  // the base is left aside: it is what an allocated address is for
    if (address.cell) return (*this)(*address.cell);
    on_expr(address.lane);
    on_expr(address.col);
  }
  void operator()(const std::vector<Expr>& values) const {
    for (const Expr& value : values) on_expr(value);
  }
  void operator()(const Value& value) const { std::visit(*this, value); }
  template <class T> void operator()(const std::optional<T>& maybe) const {
    if (maybe) (*this)(*maybe);
  }
  template <class T> void operator()(const T&) const {}
  void box(const std::vector<Range>& ranges) const {
    for (const Range& range : ranges) {
      on_expr(range.lo);
      if (range.hi) on_expr(*range.hi);
    }
  }
};

template <class OnExpr, class OnRows, class OnMem>
void visit_operands(const Step& step, const OnExpr& on_expr, const OnRows& on_rows, const OnMem& on_mem) {
  if (step.stmt == nullptr) return;
  if (step.kind == Step::Kind::op) {
    std::visit([&](const auto& op) {
      for_each_field(op, [&](const auto& field, const auto& member) { Operands<OnExpr, OnRows, OnMem>{on_expr, on_rows, on_mem, field.use}(member); });
    }, std::get<MachineOps::Any>(step.stmt->node));
    return;
  }
  if (const auto* loop = std::get_if<While>(&step.stmt->node)) on_expr(loop->condition);
  else if (const auto* branch = std::get_if<If>(&step.stmt->node)) on_expr(branch->condition);
  else if (const auto* counted = std::get_if<For>(&step.stmt->node)) {
    on_expr(counted->begin);
    on_expr(counted->end);
    on_expr(counted->step);
  }
}

// Marks the steps of all statements inside an `if` or `while` whose condition tells lanes apart.
void mark_below(const Program& program, std::vector<std::uint8_t>& marks) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.kind != Step::Kind::branch_unless) continue;
    const auto* loop = std::get_if<While>(&step.stmt->node);
    if (!tells_lanes_apart(loop ? loop->condition : std::get<If>(step.stmt->node).condition)) continue;
    std::fill(marks.begin() + static_cast<std::ptrdiff_t>(i), marks.begin() + std::max<std::ptrdiff_t>(step.after, static_cast<std::ptrdiff_t>(i)), std::uint8_t{1});
  }
}

const MachineOps::Any* operation(const Step& step) { return step.kind == Step::Kind::op ? &std::get<MachineOps::Any>(step.stmt->node) : nullptr; }

// Whether some address of tensor memory does not come from an alloc, or one that does is looked at as a number.
bool placement_shows(const Program& program) {
  const Kernel& kernel = *program.kernel;
  std::vector<std::uint8_t> slot(kernel.buffers.size(), 0);
  std::set<std::pair<BufferId, std::uint16_t>> holds_address;  // registers
  for (const Step& step : program.steps)
    if (const auto* op = operation(step); op && std::holds_alternative<TcgenAlloc>(*op)) slot[std::get<TcgenAlloc>(*op).slot.buffer] = 1;
  for (const Step& step : program.steps) {
    const auto* op = operation(step);
    const auto* load = op ? std::get_if<Load>(op) : nullptr;
    if (!load || !slot[load->src.buffer]) continue;
    for (std::uint16_t row : load->dst.rows) holds_address.insert({load->dst.buffer, row});
  }
  bool shows = false;
  const auto looks = [&](const Expr& expr) {
    expr.for_each_node([&](const Expr& node) {
      if (node.op() == ExprOp::word && slot[node.buffer()]) shows = true;
      if (node.op() == ExprOp::reg && holds_address.count({node.buffer(), node.row()}) != 0) shows = true;
    });
  };
  const auto made_up = [&](const Expr& base) {
    bool from_storage = false;
    base.for_each_node([&](const Expr& node) { from_storage = from_storage || node.op() == ExprOp::word || node.op() == ExprOp::reg; });
    if (!from_storage) shows = true;
  };
  const auto through = [&](BufferId buffer) {
    if (kernel.buffers[buffer].space == Space::tmem && !kernel.buffers[buffer].slot) shows = true;
  };
  for (const Step& step : program.steps) {
    const auto* op = operation(step);
    if (op && std::holds_alternative<TcgenAlloc>(*op)) continue;
    if (op && std::holds_alternative<TcgenDealloc>(*op)) {
      if (const auto& addr = std::get<TcgenDealloc>(*op).addr) made_up(*addr);
      continue;
    }
    const bool loads = op && std::holds_alternative<Load>(*op);
    visit_operands(
        step, looks,
        [&](const Rows& rows, Use use) {
          if (loads || use == Use::write) return;
          for (std::uint16_t row : rows.rows)
            if (holds_address.count({rows.buffer, row}) != 0) shows = true;
        },
        [&](BufferId buffer, Use) {
          through(buffer);
          if (slot[buffer] && !loads) shows = true;
        });
    if (!op) continue;
    std::visit([&](const auto& one) {
      for_each_field(one, [&](const auto&, const auto& member) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, TmemAddr>) {
          if (!member.cell) made_up(member.base);
        }
      });
    }, *op);
  }
  return shows;
}

bool keeps_thread(std::string_view name) {
  return name == "tcgen05.mma" || name == "tcgen05.cp" || name == "tcgen05.shift" || name == "tcgen05.commit" || name.starts_with("cp.async.bulk") ||
         name == "mbarrier.test_wait" || name == "mbarrier.try_wait";
}

bool affects_others(std::string_view name) {
  if (name == "st" || name == "stmatrix" || name.starts_with("barrier.") || name == "bar.warp.sync") return true;
  if (name.starts_with("mbarrier.")) return !keeps_thread(name);
  return name.starts_with("cp.async.bulk") || name.starts_with("tcgen05.");
}

}  // namespace

OpenFacts::OpenFacts(const Program& program)
    : names_lanes(program.steps.size(), 0), sees_lane(names_lanes), keeps_thread(names_lanes), affects(names_lanes), asks(names_lanes), loops(names_lanes) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.kind == Step::Kind::branch_unless && std::holds_alternative<While>(step.stmt->node))
      std::fill(loops.begin() + static_cast<std::ptrdiff_t>(i), loops.begin() + static_cast<std::ptrdiff_t>(step.after), std::uint8_t{1});
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    names_lanes[i] = sim::names_lanes(step.where);
    if (step.kind != Step::Kind::op) continue;
    const auto* copy = std::get_if<BulkCopy>(&std::get<MachineOps::Any>(step.stmt->node));
    keeps_thread[i] = copy ? !copy->bar : sim::keeps_thread(row_of(step).name);  // with a barrier it does not matter whose it is
    affects[i] = affects_others(row_of(step).name);
    asks[i] = row_of(step).name == "ld" || row_of(step).name.starts_with("mbarrier.t");
    bool sees = false;
    visit_operands(
        step, [&](const Expr& expr) { sees = sees || tells_lanes_apart(expr) || expr.uses(ExprOp::reg); },
        [&](const Rows&, Use use) { sees = sees || use != Use::write; }, [](BufferId, Use) {});
    sees_lane[i] = sees;
  }
  mark_below(program, names_lanes);
  placement = placement_shows(program);
}

// Named barriers with ids that are known to differ are different objects; all that allocates and frees is one.
std::vector<std::uint32_t> OpenFacts::same_objects(const Program& program, std::uint32_t of) const {
  struct Object {
    int kind = 0;  // 0: its own, 1: a named barrier, 2: allocations
    std::optional<std::int32_t> id;
  };
  const auto object = [&](const Step& step) -> Object {
    const auto* op = operation(step);
    if (op == nullptr) return {};
    if (const auto* sync = std::get_if<BarrierSync>(op)) return {1, sync->id.as_constant()};
    if (const auto* arrive = std::get_if<BarrierArrive>(op)) return {1, arrive->id.as_constant()};
    const bool life = std::holds_alternative<TcgenAlloc>(*op) || std::holds_alternative<TcgenDealloc>(*op) || std::holds_alternative<TcgenRelinquish>(*op);
    return {life ? 2 : 0, {}};
  };
  const Object mine = object(program.steps[of]);
  std::vector<std::uint32_t> steps;
  for (std::uint32_t i = 0; mine.kind != 0 && i < program.steps.size(); ++i) {
    const Object other = object(program.steps[i]);
    if (other.kind == mine.kind && (!other.id || !mine.id || *other.id == *mine.id)) steps.push_back(i);
  }
  return steps;
}

bool BranchPoints::add(const BranchPoints& more) {
  const BranchPoints before = *this;
  const auto take = [](std::vector<std::uint32_t>& mine, const std::vector<std::uint32_t>& theirs) {
    mine.insert(mine.end(), theirs.begin(), theirs.end());
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  };
  take(order, more.order);
  take(placement, more.placement);
  take(leader, more.leader);
  return !(*this == before);
}

// ---- noting ----

namespace {

void insert_sorted(std::vector<std::uint32_t>& sorted, std::uint32_t value) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (at == sorted.end() || *at != value) sorted.insert(at, value);
}

constexpr std::size_t most_named = 64;  // pairs and choices that a result names

std::string_view text_of(Machine::Open kind) {
  switch (kind) {
    case Machine::Open::leader: return "which lane is elected";
    case Machine::Open::placement: return "which columns the alloc gets";
    case Machine::Open::value: return "a value that a reported fault spoils decides what is done";
    case Machine::Open::repeats: return "how often a loop asks before the answer changes";
    case Machine::Open::bound: return "more threads are involved than are kept apart";
  }
  return "";
}

}  // namespace

void Machine::note_unordered(std::uint32_t record, std::uint32_t other) {
  if (other == 0) other = record;
  const std::uint32_t first = accesses[other].step, second = accesses[record].step;
  for (std::uint32_t step : {first, second}) {
    insert_sorted(branches.order, step);
    for (std::uint32_t same : open_facts.same_objects(program, step)) insert_sorted(branches.order, same);
  }
  if (!unordered_steps_.insert(std::minmax(first, second)).second || unordered.size() >= most_named) return;
  const auto place = [&](std::uint32_t of) { return std::tuple(accesses[of].cta, accesses[of].warp, accesses[of].step); };
  if (place(record) < place(other)) std::swap(record, other);  // named in an order that no schedule decides
  unordered.emplace_back(ref(other), ref(record));
}

void Machine::note_choice(Open kind, std::uint32_t step, const Ref& at) {
  if (kind == Open::leader) insert_sorted(branches.leader, step);
  if (kind == Open::placement) insert_sorted(branches.placement, step);
  if (!chosen_steps_.insert({static_cast<std::uint32_t>(kind), step}).second || choices.size() >= most_named) return;
  choices.push_back({at, std::string(text_of(kind)), kind == Open::leader || kind == Open::placement});
}

// A finding names two instructions. Where nothing orders them, another schedule has them the other way round.
void Warp::report(Candidate found) {
  if (found.other) {
    const bool mine_first = found.at_instance == instance();
    const Instance& theirs = mine_first ? found.other_instance : found.at_instance;
    const Ref& ref = mine_first ? *found.other : found.at;
    bool known = theirs.cta == state.cta && theirs.warp == state.warp && (ref.lanes & lanes) != 0;
    for (const ViewGroup& group : state.views) {
      if (!(group.lanes & lanes)) continue;
      for (std::uint32_t rest = ref.lanes; rest != 0 && !known; rest &= rest - 1)
        known = group.views.any.order(theirs.cta, theirs.warp, static_cast<std::uint32_t>(std::countr_zero(rest))) >= theirs.number;
    }
    if (found.unordered || !known) machine.note_unordered(*found.other, found.at);
  }
  machine.candidates.add(std::move(found));
}

void Machine::note_unordered(const Ref& first, const Ref& second) {
  const auto steps_of = [&](const std::string& path) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      const bool acts = step.kind == Step::Kind::op || step.kind == Step::Kind::branch_unless || step.kind == Step::Kind::loop_enter || step.kind == Step::Kind::loop_next;
      if (acts && step.stmt->path == path) found.push_back(i);
    }
    return found;
  };
  const std::vector<std::uint32_t> ones = steps_of(first.path), others = steps_of(second.path);
  for (std::uint32_t step : ones) insert_sorted(branches.order, step);
  for (std::uint32_t step : others) insert_sorted(branches.order, step);
  if (ones.empty() || others.empty() || !unordered_steps_.insert(std::minmax(ones.front(), others.front())).second || unordered.size() >= most_named) return;
  const bool swap = std::tuple(second.cta, second.warp, others.front()) < std::tuple(first.cta, first.warp, ones.front());
  unordered.emplace_back(swap ? second : first, swap ? first : second);
}

// CTAs that share an SM allocate in any order. That decides nothing as long as there are always columns for everybody, in pieces
// of one size, and nobody looks at which ones he got.
void Machine::note_contention(const Sm& sm) {
  std::uint32_t columns = sm.held_columns, sizes = 0;
  std::vector<std::uint32_t> allocs;
  for (std::uint32_t index : sm.ctas) {
    columns += ctas[index].most_columns;
    sizes |= ctas[index].alloc_sizes;
    if (!ctas[index].allocs.empty()) allocs.push_back(ctas[index].allocs.back());
  }
  if (columns <= tcgen05::columns && std::has_single_bit(sizes) && !open_facts.placement) return;
  for (std::size_t i = 1; i < allocs.size(); ++i) note_unordered(allocs[i], allocs[0]);
}

void Machine::note_open_ends() {
  const auto branch_at_all = [&](const Mbarrier& barrier) {
    for (std::uint32_t step : barrier.open.steps) insert_sorted(branches.order, step);
  };
  for (const Sm& sm : sms) note_contention(sm);
  for (const Cta& cta : ctas) {
    for (const auto& [offset, barrier] : cta.mbarriers) {
      const OpenPhases& open = barrier.open;
      const BarrierKey key{cta.index, offset};
      const bool told = std::any_of(candidates.all().begin(), candidates.all().end(), [&](const Candidate& c) { return c.barrier == key; });
      if (told && open.concurrent != 0) note_unordered(open.concurrent, open.concurrent_with);
      if (open.any || (told && open.concurrent != 0)) branch_at_all(barrier);
      if (!barrier.valid) continue;
      const auto arrived_after = [&](std::uint32_t record) {
        const Access& x = accesses[record];
        for (std::uint32_t rest = x.lanes; rest != 0; rest &= rest - 1)
          if (open.arrived.order(x.cta, x.warp, static_cast<std::uint32_t>(std::countr_zero(rest))) >= x.number) return true;
        return false;
      };
      for (std::uint32_t record : open.expects) {
        if (barrier.arrivals == 0 || arrived_after(record)) continue;
        note_unordered(record, barrier.last_arrival);
        branch_at_all(barrier);
      }
      // More bytes have come than were expected: had one transfer come later, the phase might have been complete before it.
      if (barrier.tx >= 0 || open.last_bytes == 0) continue;
      note_unordered(open.last_bytes, barrier.last_arrival);
      branch_at_all(barrier);
    }
  }
}

// ---- elections ----

// Lanes are interchangeable as long as nothing has told them apart: then it does not matter which one is elected. What
// separates them: a statement that names lanes, until a synchronisation lets every lane know of it; the identity of the thread
// that issued something; operands that differ between lanes.
void Machine::note_lanes(WarpState& warp, std::uint32_t step, const LaneGroup& group, std::uint32_t lanes, std::uint32_t number) {
  const Step& what = program.steps[step];
  const auto* op = &std::get<MachineOps::Any>(what.stmt->node);
  const bool elects = what.where.elect || std::holds_alternative<ElectSync>(*op);
  const auto all_know = [&](std::uint32_t lane, std::uint32_t event, std::uint32_t of_lanes) {
    return std::all_of(warp.views.begin(), warp.views.end(), [&](const ViewGroup& views) {
      return (views.lanes & of_lanes) == 0 || views.lanes == 1u << lane || views.views.any.order(warp.cta, warp.warp, lane) >= event;
    });
  };
  if (elects) {
    bool open = open_facts.sees_lane[step] || warp.thread_named;
    const std::uint32_t named = lanes_of(what.where, warp.cta, warp.warp) & warp.live;
    if ((named & ~group.lanes) != 0) open = true;  // others come separately and elect again
    for (std::uint32_t rest = warp.apart; rest != 0; rest &= rest - 1)
      open = open || !all_know(static_cast<std::uint32_t>(std::countr_zero(rest)), warp.apart_number, warp.live);
    if (!open) warp.apart = 0;
    if (open) note_choice(Open::leader, step, ref(step, warp, lanes));
    warp.elected_step = step;
    warp.elected_number = number;
    if (what.where.elect) warp.leader = lanes;
    warp.thread_elected = warp.thread_elected || (what.where.elect && open_facts.keeps_thread[step]);
    return;
  }
  if (lanes == warp.live) return;
  const bool by_election = warp.elected_number != 0 && lanes == warp.leader && !open_facts.names_lanes[step];
  if (by_election) {  // inside an `if` on what elect.sync has said
    if (open_facts.sees_lane[step] || warp.thread_named) note_choice(Open::leader, warp.elected_step, ref(warp.elected_step, warp, lanes));
    warp.elected_number = number;
    warp.thread_elected = warp.thread_elected || open_facts.keeps_thread[step];
    return;
  }
  warp.apart |= lanes;
  warp.apart_number = number;
  warp.thread_named = warp.thread_named || open_facts.keeps_thread[step];
  const bool follows = warp.elected_number != 0 && !knows_of_leader(warp, lanes);
  if (follows || (warp.thread_elected && warp.thread_named)) note_choice(Open::leader, warp.elected_step, ref(warp.elected_step, warp, warp.leader));
}

// Whether the lanes know, otherwise than by being it, what the elected lane has done.
bool Machine::knows_of_leader(const WarpState& warp, std::uint32_t lanes) const {
  const auto leader = static_cast<std::uint32_t>(std::countr_zero(warp.leader));
  return std::all_of(warp.views.begin(), warp.views.end(), [&](const ViewGroup& group) {
    return (group.lanes & lanes) == 0 || group.views.any.order(warp.cta, warp.warp, leader) >= warp.elected_number;
  });
}

}  // namespace tmemsim::sim
