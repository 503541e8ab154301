#include "ir/kernel/operand_text.hpp"

#include <cmath>

#include <fmt/format.h>

#include "ir/kernel/operand_parser.hpp"

namespace tmemsim {
namespace {

template <class Read> auto whole(std::string_view text, const Names& names, Read read) {
  if (text.size() > longest_operand) throw TextError(longest_operand, fmt::format("this text has more than {} characters", longest_operand));
  OperandParser parser(text, names);
  auto operand = read(parser);
  parser.expect_end();
  return operand;
}

// C's precedence; leaves bind strongest.
int strength(ExprOp op) {
  switch (op) {
    case ExprOp::bit_or: return 1;
    case ExprOp::bit_xor: return 2;
    case ExprOp::bit_and: return 3;
    case ExprOp::eq: case ExprOp::ne: return 4;
    case ExprOp::lt: case ExprOp::le: case ExprOp::gt: case ExprOp::ge: return 5;
    case ExprOp::shl: case ExprOp::shr: return 6;
    case ExprOp::add: case ExprOp::sub: return 7;
    case ExprOp::mul: case ExprOp::div: case ExprOp::mod: return 8;
    default: return 9;
  }
}

std::string name_of(BufferId id, const std::vector<Buffer>& buffers) {
  return id < buffers.size() ? buffers[id].name : fmt::format("buffer_{}", id);
}

std::string operand_of(const Expr& child, int weakest, const std::vector<Buffer>& buffers) {
  const std::string text = to_text(child, buffers);
  return strength(child.op()) < weakest ? "(" + text + ")" : text;
}

std::string to_text(const std::vector<Range>& box, const std::vector<Buffer>& buffers) {
  if (box.empty()) return {};
  std::string text;
  for (const Range& range : box) {
    text += text.empty() ? "[" : ", ";
    text += to_text(range.lo, buffers);
    if (range.hi) text += ":" + to_text(*range.hi, buffers);
  }
  return text + "]";
}

std::string to_text(const Where::Span& span, std::string_view one) {
  return span.first == span.last ? fmt::format("{} {}", one, span.first) : fmt::format("{}s {}..{}", one, span.first, span.last);
}

}  // namespace

Expr parse_expr(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.expr(); });
}
Region parse_region(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.region(); });
}
Rows parse_rows(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.rows(); });
}
Mem parse_mem(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.mem(); });
}
TmemAddr parse_tmem_addr(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.tmem_addr(); });
}
Value parse_value(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.value(); });
}
Where parse_where(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.where(); });
}
Number parse_number(std::string_view text, const Names& names) {
  return whole(text, names, [](OperandParser& parser) { return parser.number(); });
}

std::string to_text(const Expr& expr, const std::vector<Buffer>& buffers) {
  switch (expr.op()) {
    case ExprOp::constant: return fmt::format("{}", expr.constant());
    case ExprOp::loop: return expr.loop_name();
    case ExprOp::word: return fmt::format("word({}, {})", name_of(expr.buffer(), buffers), to_text(expr.a(), buffers));
    case ExprOp::reg: return fmt::format("{}.r[{}]", name_of(expr.buffer(), buffers), expr.row());
    case ExprOp::tid: case ExprOp::lane: case ExprOp::warp: case ExprOp::wg: case ExprOp::cta: case ExprOp::rank:
      return std::string(spelling(expr.op()));
    default: break;
  }
  const int own = strength(expr.op());
  return fmt::format("{} {} {}", operand_of(expr.a(), own, buffers), spelling(expr.op()), operand_of(expr.b(), own + 1, buffers));
}

std::string to_text(const Region& region, const std::vector<Buffer>& buffers) {
  return name_of(region.buffer, buffers) + to_text(region.box, buffers);
}

std::string to_text(const Rows& rows, const std::vector<Buffer>& buffers) {
  std::string text;
  for (std::size_t first = 0; first < rows.rows.size();) {
    std::size_t last = first;
    while (last + 1 < rows.rows.size() && rows.rows[last + 1] == rows.rows[last] + 1) ++last;
    const bool is_run = last > first + 1 || (last > first && last + 1 - first == rows.rows.size());
    if (!is_run) last = first;
    if (!text.empty()) text += ", ";
    text += is_run ? fmt::format("{}:{}", rows.rows[first], rows.rows[last] + 1) : fmt::format("{}", rows.rows[first]);
    first = last + 1;
  }
  return fmt::format("{}.r[{}]", name_of(rows.buffer, buffers), text);
}

std::string to_text(const Mem& mem, const std::vector<Buffer>& buffers) {
  const std::string name = name_of(mem.buffer, buffers);
  return mem.byte ? fmt::format("{}{{byte: {}}}", name, to_text(*mem.byte, buffers)) : name + to_text(mem.box, buffers);
}

std::string to_text(const TmemAddr& addr, const std::vector<Buffer>& buffers) {
  if (addr.cell) return to_text(*addr.cell, buffers);
  std::string text = "{base: " + to_text(addr.base, buffers);
  if (!(addr.lane == Expr(0))) text += ", lane: " + to_text(addr.lane, buffers);
  if (!(addr.col == Expr(0))) text += ", col: " + to_text(addr.col, buffers);
  return text + "}";
}

std::string to_text(const Value& value, const std::vector<Buffer>& buffers) {
  if (const Rows* rows = std::get_if<Rows>(&value)) return to_text(*rows, buffers);
  const Expr& expr = std::get<Expr>(value);
  const std::string text = to_text(expr, buffers);
  return expr.op() == ExprOp::reg ? "(" + text + ")" : text;  // without parentheses it would be registers
}

std::string to_text(const Where& where) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  if (where.cta) add(fmt::format("cta {}", *where.cta));
  if (where.warps) add(to_text(*where.warps, "warp"));
  if (where.warpgroup) add(fmt::format("warpgroup {}", *where.warpgroup));
  if (where.lanes) add(to_text(*where.lanes, "lane"));
  if (where.elect) add("elect");
  return text.empty() ? "cta" : text;
}

std::string to_text(const Number& number) {
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&number)) return fmt::format("{}", *integer);
  const double value = std::get<double>(number);
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".enif") == std::string::npos) text += ".0";
  return text;
}

}  // namespace tmemsim
