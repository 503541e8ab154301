// The one file of the simulator that sees the whole list of operations.
#include <type_traits>

#include "ir/kernel/region.hpp"
#include "ir/op_list.hpp"
#include "sim/exec/dispatch.hpp"
#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

template <class Op> constexpr bool is_simulated() {
  static_assert(Simulated<Op>, "operation without executor: declare execute or issue in sim/exec/families.hpp");
  return true;
}
template <class... Op> constexpr bool all_simulated(OpList<Op...>) { return (is_simulated<Op>() && ...); }
static_assert(all_simulated(MachineOps{}));

// The plans of one operand. Kinds of operand that need none (modifiers, regions that the executor walks itself) fall through.
struct PlanOperand {
  const Program& program;
  const Step& step;
  StepPlan& plan;

  void operator()(const Expr& expr) const { plan.add(program, step, expr); }
  void operator()(const Rows& rows) const { plan.add(program, rows); }
  void operator()(const Mem& mem) const { plan.add(program, step, mem); }
  void operator()(const TmemAddr& address) const { plan.add(program, step, address); }
  void operator()(const Region& region) const { plan.add(program, step, region); }
  void operator()(const std::vector<Expr>& values) const {
    for (const Expr& value : values) (*this)(value);
  }
  void operator()(const Value& value) const { std::visit(*this, value); }
  template <class T> void operator()(const std::optional<T>& maybe) const {
    if (maybe) (*this)(*maybe);
  }
  template <class T> void operator()(const T&) const {}
};

}  // namespace

void plan_step(const Program& program, const Step& step, StepPlan& plan) {
  if (step.stmt == nullptr) return;
  const PlanOperand operand{program, step, plan};
  switch (step.kind) {
    case Step::Kind::op:
      std::visit([&](const auto& op) { for_each_field(op, [&](const auto&, const auto& member) { operand(member); }); },
                 std::get<MachineOps::Any>(step.stmt->node));
      if (step.stmt->means) {
        for (const Region* region : {&step.stmt->means->dst, &step.stmt->means->src})
          if (extents_of(program.kernel->buffers.at(region->buffer), *region)) operand(*region);
      }
      break;
    case Step::Kind::branch_unless:
      if (const auto* loop = std::get_if<While>(&step.stmt->node)) operand(loop->condition);
      else operand(std::get<If>(step.stmt->node).condition);
      break;
    case Step::Kind::loop_enter:
    case Step::Kind::loop_next: {
      const auto& loop = std::get<For>(step.stmt->node);
      operand(loop.begin);
      operand(loop.end);
      operand(loop.step);
      break;
    }
    default: break;
  }
}

std::string_view op_name(const Step& step) {
  switch (step.kind) {
    case Step::Kind::op:
      return std::visit([](const auto& op) -> std::string_view { return std::remove_cvref_t<decltype(op)>::row.name; },
                        std::get<MachineOps::Any>(step.stmt->node));
    case Step::Kind::tile_begin:
    case Step::Kind::tile_end:
      return std::visit([](const auto& op) -> std::string_view { return std::remove_cvref_t<decltype(op)>::row.name; },
                        std::get<Lowered>(step.stmt->node).origin);
    case Step::Kind::branch_unless: return std::holds_alternative<While>(step.stmt->node) ? "while" : "if";
    case Step::Kind::loop_enter:
    case Step::Kind::loop_next: return "for";
    case Step::Kind::delay: return "delay";
    default: return "";
  }
}

const Row& row_of(const Step& step) {
  return std::visit([](const auto& op) -> const Row& { return std::remove_cvref_t<decltype(op)>::row; },
                    std::get<MachineOps::Any>(step.stmt->node));
}

Dispatched dispatch(Warp& warp, const Step& step) {
  return std::visit(
      [&](const auto& op) -> Dispatched {
        using Op = std::remove_cvref_t<decltype(op)>;
        if constexpr (Op::row.async == Async::none) {
          return {execute(op, warp), std::nullopt};
        } else {
          return {Ran::finished(), issue(op, warp)};
        }
      },
      std::get<MachineOps::Any>(step.stmt->node));
}

}  // namespace tmemsim::sim
