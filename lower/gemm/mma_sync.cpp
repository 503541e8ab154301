// gemm / mma_sync: D = A * B' (+ D) on fragments in the registers of warps.
//
// Which thread holds which element is evaluated from the layouts, element by element; a tile of one instruction is taken when
// all 32 lanes hold its elements as the row of the atom says, in the same registers. All warps run the same instructions.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/atom/warp_matrix.hpp"
#include "lower/operand.hpp"
#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::int64_t most_places = std::int64_t{1} << 22;  // (thread, element) pairs of an operand

// Element -> who holds it where.
class Held {
 public:
  struct Place {
    std::int32_t tid, bit;  // bit of the thread's registers
    auto operator<=>(const Place&) const = default;
  };

  static Result<Held> of(const Operand& operand, const Threads& threads) {
    Held held;
    held.operand_ = &operand;
    const auto shape = operand.shape();
    if (operand.elements() * threads.count() > most_places)
      return reason(fmt::format("the region of {} is too large for registers", operand.buffer->name));
    const auto tids = held.threads_by_place(threads);
    if (!tids) return tids.reason();
    for (std::int64_t x = 0; x < operand.elements(); ++x) {
      std::vector<Place> places;
      held.for_each_point(x, [&](const Point& point) {
        const auto found = tids->find(held.key(point));
        if (found == tids->end()) return;
        for (const std::int32_t tid : found->second)
          places.push_back({tid, static_cast<std::int32_t>(at(point, Axis::m) * operand.bits)});
      });
      if (places.empty()) return reason(fmt::format("no thread of {} holds {}", describe(threads), element_name(operand, x)));
      std::sort(places.begin(), places.end());
      for (std::size_t i = 1; i < places.size(); ++i) {
        if (places[i].tid == places[i - 1].tid)
          return reason(fmt::format("thread {} holds {} in two places", places[i].tid, element_name(operand, x)));
      }
      held.pairs_ += static_cast<std::int64_t>(places.size());
      held.places_.push_back(std::move(places));
    }
    return held;
  }

  // Bit of element x in the registers of a thread; nothing when it does not hold it.
  std::optional<std::int64_t> bit(std::int64_t x, std::int64_t tid) const {
    const auto& places = places_[static_cast<std::size_t>(x)];
    const auto found = std::lower_bound(places.begin(), places.end(), Place{static_cast<std::int32_t>(tid), 0});
    if (found == places.end() || found->tid != tid) return std::nullopt;
    return found->bit;
  }
  std::int64_t pairs() const { return pairs_; }
  const Operand& operand() const { return *operand_; }
  std::int64_t rows() const { return matrix()[0]; }
  std::int64_t columns() const { return matrix()[1]; }

 private:
  static Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }
  using Key = std::vector<std::int64_t>;

  // The two dimensions that are a matrix: a single index has the extent 1.
  std::vector<std::int64_t> matrix() const {
    std::vector<std::int64_t> shape = operand_->extents;
    while (shape.size() > 2) {
      const auto one = std::find(shape.begin(), shape.end(), 1);
      if (one == shape.end()) break;
      shape.erase(one);
    }
    return shape;
  }

  static std::optional<std::int64_t> coordinate(Axis axis, std::int64_t tid) {
    switch (axis) {
      case Axis::laneid:
        return tid % warp_threads;
      case Axis::tid_in_wg:
        return tid % group_threads;
      case Axis::tx:
        return tid;
      case Axis::wid_in_wg:
        return tid % group_threads / warp_threads;
      case Axis::warpid:
        return tid / warp_threads;
      case Axis::wgid:
        return tid / group_threads;
      default:
        return std::nullopt;
    }
  }
  Key key(const Point& point) const {
    Key key;
    for (const AxisFacts& axis : axis_table)
      if (axis.thread && operand_->named.test(static_cast<std::size_t>(axis.axis))) key.push_back(at(point, axis.axis));
    return key;
  }
  Result<std::map<Key, std::vector<std::int32_t>>> threads_by_place(const Threads& threads) const {
    std::map<Key, std::vector<std::int32_t>> tids;
    for (std::int64_t tid = threads.first_warp * warp_threads; tid < (threads.last_warp + 1) * warp_threads; ++tid) {
      Point point{};
      for (const AxisFacts& axis : axis_table) {
        if (!axis.thread || !operand_->named.test(static_cast<std::size_t>(axis.axis))) continue;
        const auto value = coordinate(axis.axis, tid);
        if (!value) return reason(fmt::format("axis {} places registers in other CTAs", axis.name));
        at(point, axis.axis) = *value;
      }
      tids[key(point)].push_back(static_cast<std::int32_t>(tid));
    }
    return tids;
  }
  template <class Visit>
  void for_each_point(std::int64_t x, Visit&& visit) const {
    Point point = operand_->offset;
    for (std::size_t k = operand_->shard.size(); k-- > 0;) {
      const Iter& iter = operand_->shard[k];
      at(point, iter.axis) += x % iter.extent * iter.stride;
      x /= iter.extent;
    }
    for_each_replica(point, 0, visit);
  }
  template <class Visit>
  void for_each_replica(const Point& point, std::size_t k, Visit&& visit) const {
    if (k == operand_->replica.size()) return visit(point);
    const Iter& iter = operand_->replica[k];
    for (std::int64_t i = 0; i < iter.extent; ++i) {
      Point next = point;
      at(next, iter.axis) += i * iter.stride;
      for_each_replica(next, k + 1, visit);
    }
  }

  const Operand* operand_ = nullptr;
  std::vector<std::vector<Place>> places_;
  std::int64_t pairs_ = 0;
};

using RegisterRows = std::vector<std::uint16_t>;

// The registers in which the lanes of a warp hold the part of the matrix that begins at (row, column), as the fragment has
// them.
Result<RegisterRows> registers_of(const Held& held, const atom::Fragment& fragment, std::int64_t warp, std::int64_t row,
                                  std::int64_t column) {
  const std::int64_t packed = 32 / fragment.bits;
  RegisterRows rows(static_cast<std::size_t>(fragment.registers), 0);
  for (std::int64_t lane = 0; lane < warp_threads; ++lane) {
    for (std::int64_t value = 0; value < fragment.values; ++value) {
      const auto [r, c] = fragment.at(static_cast<std::size_t>(lane), static_cast<std::size_t>(value));
      const std::int64_t x = (row + r) * held.columns() + column + c;
      const auto bit = held.bit(x, warp * warp_threads + lane);
      const auto wrong = [&](std::string what) {
        return Reason{fmt::format("{} {}", element_name(held.operand(), x), what), {}, {}, {}};
      };
      if (!bit) return wrong(fmt::format("is wanted in lane {} of warp {}, which does not hold it", lane, warp));
      const std::int64_t within = value % packed * fragment.bits;
      if (*bit % 32 != within)
        return wrong(fmt::format("stands at bit {} of its register; bit {} is wanted", *bit % 32, within));
      std::uint16_t& known = rows[static_cast<std::size_t>(value / packed)];
      const auto reg = static_cast<std::uint16_t>(*bit / 32);
      if (lane == 0 && value % packed == 0) known = reg;
      if (known != reg)
        return wrong(
            fmt::format("is in register {} of lane {}; the instruction has it in register {} of all lanes", reg, lane, known));
    }
  }
  return rows;
}

struct Instruction {
  RegisterRows d, a, b;
  bool operator==(const Instruction&) const = default;
};

class MmaSyncPlan {
 public:
  MmaSyncPlan(const Request& request, const Gemm& gemm, const atom::WarpMma& mma, const Held& d, const Held& a, const Held& b)
      : request_(request), gemm_(gemm), mma_(mma), d_(d), a_(a), b_(b) {}

  Result<Plan> make() {
    std::int64_t covered = 0;
    for (std::int64_t warp = request_.threads.first_warp; warp <= request_.threads.last_warp; ++warp) {
      auto found = instructions_of(warp);
      if (!found) return found.reason();
      covered += static_cast<std::int64_t>(found->size()) / (a_.columns() / mma_.k()) * warp_threads * mma_.c.values;
      if (warp == request_.threads.first_warp)
        instructions_ = *std::move(found);
      else if (!(instructions_ == *found))
        return reason(fmt::format("warp {} would need other instructions than warp {}", warp, request_.threads.first_warp));
    }
    if (covered != d_.pairs())
      return reason(fmt::format("some threads hold parts of {} that their warp cannot compute", d_.operand().buffer->name));
    return plan();
  }

 private:
  static Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

  Result<std::vector<Instruction>> instructions_of(std::int64_t warp) const {
    std::vector<Instruction> found;
    for (std::int64_t k = 0; k < a_.columns(); k += mma_.k()) {
      for (std::int64_t m = 0; m < d_.rows(); m += mma_.c.rows) {
        for (std::int64_t n = 0; n < d_.columns(); n += mma_.c.columns) {
          if (!holds_some(warp, m, n)) continue;
          const auto d = registers_of(d_, mma_.c, warp, m, n), a = registers_of(a_, mma_.a, warp, m, k),
                     b = registers_of(b_, mma_.b, warp, n, k);
          for (const auto* rows : {&d, &a, &b})
            if (!*rows) return rows->reason();
          found.push_back({*d, *a, *b});
        }
      }
    }
    return found;
  }

  bool holds_some(std::int64_t warp, std::int64_t m, std::int64_t n) const {
    for (std::int64_t lane = 0; lane < warp_threads; ++lane)
      if (d_.bit(m * d_.columns() + n, warp * warp_threads + lane)) return true;
    return false;
  }

  Plan plan() const {
    Plan plan;
    if (gemm_.accumulate.as_constant() == 0) plan.body.push_back(zero());
    if (!gemm_.accumulate.as_constant()) {
      Stmt choice;
      choice.node = If{gemm_.accumulate, {}, {zero()}};
      plan.body.push_back(std::move(choice));
    }
    for (const Instruction& one : instructions_) {
      const auto rows = [](const Held& held, const RegisterRows& registers) { return Rows{held.operand().id, registers}; };
      Stmt made;
      made.node = MachineOps::Any(
          MmaSync{mma_.shape, mma_.input, {}, rows(d_, one.d), rows(a_, one.a), rows(b_, one.b), rows(d_, one.d)});
      plan.body.push_back(std::move(made));
    }
    if (request_.explain)
      plan.proof.push_back(
          fmt::format("{} {} a warp, as the atom of that name holds its fragments", instructions_.size(), mma_.name));
    return plan;
  }

  Stmt zero() const {
    std::vector<std::uint16_t> rows;
    for (const Instruction& one : instructions_) rows.insert(rows.end(), one.d.begin(), one.d.end());
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    Stmt made;
    made.node = MachineOps::Any(Move{{d_.operand().id, std::move(rows)}, Value(Expr(0))});
    return made;
  }

  const Request& request_;
  const Gemm& gemm_;
  const atom::WarpMma& mma_;
  const Held &d_, &a_, &b_;
  std::vector<Instruction> instructions_;
};

std::string wanted_layouts(const atom::WarpMma& mma) {
  return fmt::format("fragments as {} has them: a {}, b {}, d {}", mma.name, to_string(mma.a.layout), to_string(mma.b.layout),
                     to_string(mma.c.layout));
}

}  // namespace

Outcome plan_gemm_mma_sync(const Request& request) {
  const auto& gemm = std::get<Gemm>(request.primitive());
  std::vector<Operand> operands;
  for (const Region* region : {&gemm.dst, &gemm.a, &gemm.b}) {
    auto operand = operand_of(request.kernel, *region, request.threads);
    if (!operand) return Declined{"regions", operand.reason().text, {}};
    if (!operand->moving.empty())
      return Declined{"regions",
                      fmt::format("the region of {} moves with a variable, but registers are named when the kernel is built",
                                  operand->buffer->name),
                      "one statement for each part, or a loop around the shared side alone"};
    if (operand->swizzle)
      return Declined{"regions", "a register layout is swizzled; registers have no addresses",
                      "the same layout without swizzle"};
    operands.push_back(*std::move(operand));
  }
  std::vector<Held> held;
  for (const Operand& operand : operands) {
    auto of = Held::of(operand, request.threads);
    if (!of) return Declined{"ownership", of.reason().text, {}};
    held.push_back(*std::move(of));
  }
  const Held &d = held[0], &a = held[1], &b = held[2];
  std::string first_reason, nearest;
  bool fitted = false;  // some form had a shape that divides the matrices
  const auto& forms = atom::warp_mmas();
  for (auto mma = forms.rbegin(); mma != forms.rend(); ++mma) {  // the largest K first
    if (mma->input_type != operands[1].buffer->dtype || mma->result_type != operands[0].buffer->dtype) continue;
    if (nearest.empty()) nearest = wanted_layouts(*mma);
    if (d.rows() % mma->c.rows != 0 || d.columns() % mma->c.columns != 0 || a.columns() % mma->k() != 0) {
      if (first_reason.empty())
        first_reason =
            fmt::format("{} x {} x {} is no multiple of {}", d.rows(), d.columns(), a.columns(), keyword(mma->shape));
      continue;
    }
    auto plan = MmaSyncPlan(request, gemm, *mma, d, a, b).make();
    if (plan) return *std::move(plan);
    if (!fitted) first_reason = fmt::format("{}: {}", mma->name, plan.reason().text);
    if (!fitted) nearest = wanted_layouts(*mma);
    fitted = true;
  }
  return Declined{"fragments", first_reason.empty() ? "no form of mma.sync has these types" : first_reason, nearest};
}

}  // namespace tmemsim::lower
