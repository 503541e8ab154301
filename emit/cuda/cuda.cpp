#include "emit/cuda/cuda.hpp"

#include <fmt/format.h>

#include "emit/cuda/identifier.hpp"

namespace tmemsim::emit {

// ---- Text. ----

void Cuda::line(std::string_view text) {
  body_ += std::string(2 * static_cast<std::size_t>(depth_), ' ') + std::string(text) + "\n";
}

void Cuda::blank_line() { body_ += "\n"; }

void Cuda::open(std::string_view text) {
  line(text);
  ++depth_;
}

void Cuda::otherwise() {
  --depth_;
  open("} else {");
}

void Cuda::close() {
  --depth_;
  line("}");
}

// ---- Operands. ----

Interval Cuda::coordinate_range(ExprOp op) const {
  const std::int64_t warps = kernel_.launch.warps;
  switch (op) {
    case ExprOp::tid:
      return {0, 32 * warps - 1};
    case ExprOp::lane:
      return {0, 31};
    case ExprOp::warp:
      return {0, warps - 1};
    case ExprOp::wg:
      return {0, (warps - 1) / 4};
    case ExprOp::cta:
      return {0, std::int64_t{cta_count(kernel_.launch)} - 1};
    case ExprOp::rank:
      return {0, std::int64_t{cluster_size(kernel_.launch)} - 1};
    default:
      return {};
  }
}

Leaf Cuda::leaf(const Expr& expr) {
  switch (expr.op()) {
    case ExprOp::loop: {
      for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
        if (loop->first == expr.loop_name()) return {loop_identifier(expr.loop_name()), loop->second};
      }
      unsupported(fmt::format("the loop variable '{}' is used outside its loop", comment_text(expr.loop_name())));
    }
    case ExprOp::word: {
      const Place word = place(Mem{expr.buffer(), {}, expr.a() * Expr(4)});
      return {call(word.window == Window::global ? "global_word" : "shared_word", word.text), {}};
    }
    case ExprOp::reg:
      return {fmt::format("int({})", reg(expr.buffer(), expr.row())), {}};
    default:
      coordinates_.insert(expr.op());
      return {std::string(spelling(expr.op())), coordinate_range(expr.op())};
  }
}

std::string Cuda::expr(const Expr& expr, bool as_operand) {
  const ExpressionContext context{[this](const Expr& node) { return leaf(node); },
                                  [this](std::string_view helper) { functions_.need(helper); }};
  return expression_text(expr, context, as_operand);
}

std::string Cuda::registers(BufferId id) {
  used_.insert(id);
  return identifier(buffer(id));
}

std::string Cuda::reg(BufferId id, std::uint16_t row) { return fmt::format("{}[{}]", registers(id), row); }

Place Cuda::place(const Mem& mem, const std::optional<Expr>& rank) {
  const Buffer& at = buffer(mem.buffer);
  used_.insert(mem.buffer);
  const Expr offset = byte_offset(at, mem);
  std::string text = identifier(at);
  if (offset.as_constant() != 0) text += " + " + expr(offset, offset.op() >= ExprOp::bit_and);
  if (at.space == Space::global) {
    if (rank) unsupported("'rank' names the shared memory of another CTA, and " + at.name + " is a global buffer");
    return {Window::global, text};
  }
  if (at.space != Space::shared) unsupported(fmt::format("{} is neither a shared nor a global buffer", at.name));
  if (!rank) return {Window::shared, text};
  use(Needs::cluster, "the shared memory of another CTA");
  uses_peers_ = true;
  return {Window::shared_cluster, call("peer_address", text + ", " + expr(*rank))};
}

std::string Cuda::shared_word(BufferId id) { return call("shared_word", place(Mem{id, {}, Expr(0)}).text); }

std::string Cuda::tmem_address(const TmemAddr& address) {
  std::string base;
  Expr lane = address.lane, column = address.col;
  if (address.cell) {
    const Buffer& at = buffer(address.cell->buffer);
    used_.insert(address.cell->buffer);
    const CellOffset offset = cell_offset(at, address.cell->box);
    base = at.slot ? shared_word(*at.slot) : fmt::format("{}", at.base.value_or(0));
    lane = offset.lane;
    column = offset.column;
  } else {
    base = expr(address.base);
  }
  if (lane.as_constant() == 0 && column.as_constant() == 0) return base;
  return call("tmem_address", fmt::format("{}, {}, {}", base, expr(lane), expr(column)));
}

std::string Cuda::register_arguments(const Rows& rows) {
  bool consecutive = true;
  for (std::size_t i = 1; i < rows.rows.size(); ++i) consecutive = consecutive && rows.rows[i] == rows.rows[0] + i;
  if (consecutive) return "&" + reg(rows.buffer, rows.rows.at(0));
  std::string text;
  for (const std::uint16_t row : rows.rows) text += (text.empty() ? "" : ", ") + reg(rows.buffer, row);
  return text;
}

std::string Cuda::call(std::string_view function, std::string_view arguments) {
  functions_.need(function);
  return fmt::format("{}({})", function, arguments);
}

// ---- What the program uses of the GPU. ----

void Cuda::use(Needs needs, std::string_view operation) {
  if (const auto missing = facilities_.use(needs)) unsupported(fmt::format("{}: {}", operation, *missing));
}

// ---- Statements. ----

void Cuda::unsupported(std::string reason) const { throw Unsupported(std::move(reason), at_); }

void Cuda::need_whole_warp(std::string_view operation) const {
  if (!some_lanes_) return;
  unsupported(
      fmt::format("{} needs all 32 lanes of the warp, and this statement leaves some out: undefined on the hardware, so "
                  "there is no code for it",
                  operation));
}

void Cuda::converge(std::string_view operation) {
  need_whole_warp(operation);
  if (!apart_ || lane_dependent_) return;
  line("__syncwarp();  // the next operation needs the whole warp");
  apart_ = false;
}

std::string Cuda::active_lanes() const { return some_lanes_ || lane_dependent_ ? "__activemask()" : "0xffffffffu"; }

}  // namespace tmemsim::emit
