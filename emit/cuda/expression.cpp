#include "emit/cuda/expression.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace tmemsim::emit {
namespace {

constexpr Interval every_int{};

bool fits_int(Interval range) { return range.lo >= INT32_MIN && range.hi <= INT32_MAX; }
Interval or_every_int(Interval range) { return fits_int(range) ? range : every_int; }
bool contains(Interval range, std::int64_t value) { return range.lo <= value && value <= range.hi; }

Interval corners(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  const auto [lo, hi] = std::minmax({a, b, c, d});
  return {lo, hi};
}

// The mathematical result, which may leave 32 bits.
Interval sum(Interval a, Interval b) { return {a.lo + b.lo, a.hi + b.hi}; }
Interval difference(Interval a, Interval b) { return {a.lo - b.hi, a.hi - b.lo}; }
Interval product(Interval a, Interval b) { return corners(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi); }

Interval remainder_range(Interval a, Interval b) {
  const std::int64_t most = std::max(std::abs(b.lo), std::abs(b.hi)) - 1;
  return {a.lo >= 0 ? 0 : std::max(a.lo, -most), a.hi <= 0 ? 0 : std::min(a.hi, most)};
}

Interval bits_range(ExprOp op, Interval a, Interval b) {
  if (op == ExprOp::bit_and) {
    if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
    if (a.lo >= 0) return {0, a.hi};
    return b.lo >= 0 ? Interval{0, b.hi} : every_int;
  }
  if (a.lo < 0 || b.lo < 0) return every_int;
  return {0, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(a.hi, b.hi)) + 1)) - 1};
}

bool constant_count(Interval count) { return count.lo == count.hi && count.lo >= 0 && count.lo <= 31; }

// A divisor that is neither 0 nor, with the smallest int on the left, -1.
bool divides_plainly(Interval a, Interval b) { return !contains(b, 0) && !(contains(b, -1) && a.lo == INT32_MIN); }

// The helper that computes `op` where plain int arithmetic would be undefined; "" where it is not needed.
std::string_view helper(ExprOp op, Interval a, Interval b) {
  switch (op) {
    case ExprOp::add:
      return fits_int(sum(a, b)) ? "" : "wrapping_add";
    case ExprOp::sub:
      return fits_int(difference(a, b)) ? "" : "wrapping_sub";
    case ExprOp::mul:
      return fits_int(product(a, b)) ? "" : "wrapping_mul";
    case ExprOp::div:
      return divides_plainly(a, b) ? "" : "int_quotient";
    case ExprOp::mod:
      return divides_plainly(a, b) ? "" : "int_remainder";
    case ExprOp::shl:
      return constant_count(b) && a.lo >= 0 && a.hi << b.lo <= INT32_MAX ? "" : "shift_left";
    case ExprOp::shr:
      return constant_count(b) ? "" : "shift_right";
    default:
      return "";
  }
}

Interval binary_range(ExprOp op, Interval a, Interval b) {
  switch (op) {
    case ExprOp::add:
      return or_every_int(sum(a, b));
    case ExprOp::sub:
      return or_every_int(difference(a, b));
    case ExprOp::mul:
      return or_every_int(product(a, b));
    case ExprOp::div:
      return contains(b, 0) ? every_int : or_every_int(corners(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi));
    case ExprOp::mod:
      return contains(b, 0) ? every_int : remainder_range(a, b);
    case ExprOp::bit_and:
    case ExprOp::bit_xor:
    case ExprOp::bit_or:
      return bits_range(op, a, b);
    case ExprOp::shl:
      return helper(op, a, b).empty() ? Interval{a.lo << b.lo, a.hi << b.lo} : every_int;
    case ExprOp::shr:
      return constant_count(b) ? Interval{a.lo >> b.lo, a.hi >> b.lo} : every_int;
    default:
      return {0, 1};  // comparisons
  }
}

bool is_binary(ExprOp op) { return op >= ExprOp::add; }

enum class Level : std::uint8_t {
  product,
  sum,
  other
};  // how tightly an operator binds; `other` never stands without parentheses

Level level(ExprOp op) {
  if (op == ExprOp::mul || op == ExprOp::div || op == ExprOp::mod) return Level::product;
  return op == ExprOp::add || op == ExprOp::sub ? Level::sum : Level::other;
}

struct Printed {
  std::string text;
  Interval range;
  std::optional<ExprOp> top;  // the operator that is applied last; absent for a primary expression
};

std::string in_parentheses(const Printed& printed) { return printed.top ? "(" + printed.text + ")" : printed.text; }

// C++ needs, or a reader wants, parentheses around an operand of `op`. Comparisons bind loosest, so sums and products may
// stand in them; bitwise operators and shifts get parentheses always.
bool needs_parentheses(ExprOp op, const Printed& operand, bool right) {
  if (!operand.top) return false;
  const Level inner = level(*operand.top);
  if (op >= ExprOp::eq) return inner == Level::other;
  if (level(op) == Level::other || inner == Level::other) return true;
  return inner > level(op) || (inner == level(op) && right);
}

std::string constant_text(std::int32_t value) {
  if (value == INT32_MIN) return "(-2147483647 - 1)";
  return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
}

Printed printed(const Expr& expr, const ExpressionContext& context) {
  const ExprOp op = expr.op();
  if (op == ExprOp::constant) return {constant_text(expr.constant()), {expr.constant(), expr.constant()}, std::nullopt};
  if (!is_binary(op)) {
    Leaf leaf = context.leaf(expr);
    return {std::move(leaf.text), leaf.range, std::nullopt};
  }
  const Printed a = printed(expr.a(), context), b = printed(expr.b(), context);
  const Interval range = binary_range(op, a.range, b.range);
  if (const std::string_view name = helper(op, a.range, b.range); !name.empty()) {
    context.need(name);
    return {fmt::format("{}({}, {})", name, a.text, b.text), range, std::nullopt};
  }
  const auto operand = [&](const Printed& side, bool right) {
    return needs_parentheses(op, side, right) ? in_parentheses(side) : side.text;
  };
  return {fmt::format("{} {} {}", operand(a, false), spelling(op), operand(b, true)), range, op};
}

}  // namespace

std::string expression_text(const Expr& expr, const ExpressionContext& context, bool as_operand) {
  const Printed result = printed(expr, context);
  return as_operand ? in_parentheses(result) : result.text;
}

Interval range_of(const Expr& expr, const std::function<Interval(const Expr&)>& leaf) {
  const ExprOp op = expr.op();
  if (op == ExprOp::constant) return {expr.constant(), expr.constant()};
  if (!is_binary(op)) return leaf(expr);
  return binary_range(op, range_of(expr.a(), leaf), range_of(expr.b(), leaf));
}

}  // namespace tmemsim::emit
