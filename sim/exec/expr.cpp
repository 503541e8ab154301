#include "sim/exec/expr.hpp"

#include <bit>
#include <stdexcept>

#include "sim/exec/exec.hpp"

namespace tmemsim::sim {

bool LaneValues::uniform(std::uint32_t lanes) const {
  const std::int32_t first = value[static_cast<std::size_t>(std::countr_zero(lanes))];
  for (std::size_t lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1u) && value[lane] != first) return false;
  return true;
}

CompiledExpr::CompiledExpr(const Program& program, const Step& step, const Expr& expr) {
  emit(program, step, expr, 1);
  constant_ = code_.size() == 1 && code_.front().op == ExprOp::constant;
}

void CompiledExpr::emit(const Program& program, const Step& step, const Expr& expr, std::size_t depth) {
  depth_ = std::max(depth_, depth);
  Instruction instruction{expr.op(), 0, 0};
  switch (expr.op()) {
    case ExprOp::constant: instruction.value = expr.constant(); break;
    case ExprOp::tid: case ExprOp::lane: case ExprOp::warp: case ExprOp::wg: case ExprOp::cta: case ExprOp::rank: break;
    case ExprOp::loop: {
      std::optional<std::uint16_t> slot;  // the innermost loop of that name counts
      for (std::uint16_t around : step.loops_around)
        if (program.loops[around].variable == expr.loop_name()) slot = around;
      if (!slot && (step.kind == Step::Kind::loop_next) && program.loops[step.loop].variable == expr.loop_name()) slot = step.loop;
      if (!slot) throw InputError("no loop has the variable '" + expr.loop_name() + "' here");
      instruction.value = *slot;
      break;
    }
    case ExprOp::reg: instruction.value = program.first_row.at(expr.buffer()) + expr.row(); break;
    case ExprOp::word:
      emit(program, step, expr.a(), depth);
      instruction.buffer = expr.buffer();
      break;
    default:
      emit(program, step, expr.a(), depth);
      emit(program, step, expr.b(), depth + 1);
      break;
  }
  code_.push_back(instruction);
}

namespace {

// out[i] = apply(a[i], b[i]); the common operators as plain loops.
void apply_to_lanes(Warp& warp, ExprOp op, std::uint32_t lanes, LaneValues& a, const LaneValues& b) {
  a.undefined |= b.undefined;
  a.bad |= b.bad;
  auto& x = a.value;
  const auto& y = b.value;
  switch (op) {
    case ExprOp::add:
      for (std::size_t i = 0; i < 32; ++i) x[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(x[i]) + static_cast<std::uint32_t>(y[i]));
      return;
    case ExprOp::mul:
      for (std::size_t i = 0; i < 32; ++i) x[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(x[i]) * static_cast<std::uint32_t>(y[i]));
      return;
    default: break;
  }
  for (std::size_t i = 0; i < 32; ++i) {
    if (!(lanes >> i & 1u)) continue;
    const auto value = Expr::apply(op, x[i], y[i]);
    if (!value) {
      const Step& step = warp.machine.program.steps[warp.step];
      input_error(warp.machine.kernel.files, step.stmt->at, "division by zero", "guard the expression, or change the divisor");
    }
    x[i] = *value;
  }
}

void coordinate(const Warp& warp, ExprOp op, LaneValues& out) {
  const auto warp_index = static_cast<std::int32_t>(warp.state.warp);
  for (std::size_t i = 0; i < 32; ++i) {
    const auto lane = static_cast<std::int32_t>(i);
    switch (op) {
      case ExprOp::tid: out.value[i] = 32 * warp_index + lane; break;
      case ExprOp::lane: out.value[i] = lane; break;
      case ExprOp::warp: out.value[i] = warp_index; break;
      case ExprOp::wg: out.value[i] = warp_index / 4; break;
      case ExprOp::cta: out.value[i] = static_cast<std::int32_t>(warp.cta.index); break;
      default: out.value[i] = static_cast<std::int32_t>(warp.cta.rank); break;
    }
  }
  out.undefined = out.bad = 0;
}

}  // namespace

void CompiledExpr::evaluate(Warp& warp, std::uint32_t lanes, LaneValues& out) const {
  if (constant_) {
    out.value.fill(code_.front().value);
    out.undefined = out.bad = 0;
    return;
  }
  constexpr std::size_t on_stack = 8;
  std::array<LaneValues, on_stack> few;
  std::vector<LaneValues> many(depth_ > on_stack ? depth_ : 0);
  LaneValues* stack = many.empty() ? few.data() : many.data();
  std::size_t top = 0;
  for (const Instruction& instruction : code_) {
    switch (instruction.op) {
      case ExprOp::constant:
        stack[top].value.fill(instruction.value);
        stack[top].undefined = stack[top].bad = 0;
        ++top;
        break;
      case ExprOp::loop:
        stack[top].value = warp.state.loops[static_cast<std::size_t>(instruction.value)];
        stack[top].undefined = stack[top].bad = 0;
        ++top;
        break;
      case ExprOp::reg: {
        const auto row = static_cast<std::uint32_t>(instruction.value);
        warp.read_row(row, lanes);
        const std::uint32_t* words = warp.state.registers.row(row);
        for (std::size_t i = 0; i < 32; ++i) stack[top].value[i] = static_cast<std::int32_t>(words[i]);
        stack[top].undefined = lanes & ~warp.state.registers.state(row).written;
        stack[top].bad = lanes & warp.state.registers.state(row).bad;
        ++top;
        break;
      }
      case ExprOp::word: warp.load_words(instruction.buffer, lanes, stack[top - 1]); break;
      case ExprOp::tid: case ExprOp::lane: case ExprOp::warp: case ExprOp::wg: case ExprOp::cta: case ExprOp::rank:
        coordinate(warp, instruction.op, stack[top++]);
        break;
      default:
        --top;
        apply_to_lanes(warp, instruction.op, lanes, stack[top - 1], stack[top]);
        break;
    }
  }
  out = stack[0];
}

}  // namespace tmemsim::sim
