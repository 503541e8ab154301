#include "lower/affine.hpp"

#include <algorithm>

namespace tmemsim::lower {
namespace {

constexpr std::int64_t largest_factor = std::int64_t{1} << 31;  // products of two stay within 64 bits

void add(Affine& sum, const Affine& more, std::int64_t factor) {
  sum.constant += more.constant * factor;
  for (const Term& term : more.terms) {
    const auto same = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const Term& t) { return t.expr == term.expr; });
    if (same != sum.terms.end()) {
      same->coefficient += term.coefficient * factor;
    } else {
      sum.terms.push_back({term.expr, term.coefficient * factor});
    }
  }
  std::erase_if(sum.terms, [](const Term& term) { return term.coefficient == 0; });
}

bool is_small(const Affine& sum) {
  const auto small = [](std::int64_t value) { return -largest_factor < value && value < largest_factor; };
  return small(sum.constant) && std::all_of(sum.terms.begin(), sum.terms.end(), [&](const Term& t) { return small(t.coefficient); });
}

// a * b when one of them is a constant.
bool multiply(Affine& result, const Affine& a, const Affine& b) {
  if (!a.is_constant() && !b.is_constant()) return false;
  if (b.is_constant()) {
    add(result, a, b.constant);
  } else {
    add(result, b, a.constant);
  }
  return true;
}

}  // namespace

Affine affine(const Expr& expr) {
  Affine result;
  bool known = true;
  switch (expr.op()) {
    case ExprOp::constant: result.constant = expr.constant(); break;
    case ExprOp::add:
      add(result, affine(expr.a()), 1);
      add(result, affine(expr.b()), 1);
      break;
    case ExprOp::sub:
      add(result, affine(expr.a()), 1);
      add(result, affine(expr.b()), -1);
      break;
    case ExprOp::mul: known = multiply(result, affine(expr.a()), affine(expr.b())); break;
    case ExprOp::shl: {
      const auto count = expr.b().as_constant();
      known = count && *count >= 0 && *count < 31;
      if (known) add(result, affine(expr.a()), std::int64_t{1} << *count);
      break;
    }
    default: known = false;
  }
  if (known && is_small(result)) return result;
  return Affine{0, {{expr, 1}}};
}

Affine difference(Affine a, const Affine& b) {
  add(a, b, -1);
  return a;
}

Expr scaled(const Expr& expr, std::int64_t coefficient) { return coefficient == 0 ? Expr(0) : expr * Expr(coefficient); }

Expr sum(const Expr& a, const Expr& b) {
  if (b.op() == ExprOp::add) return sum(sum(a, b.a()), b.b());
  const auto constant = b.as_constant();
  if (constant && *constant < 0 && !a.as_constant()) return Expr::binary(ExprOp::sub, a, Expr(-std::int64_t{*constant}));
  return a.as_constant() ? b + a : a + b;
}

Expr to_expr(const Affine& affine_sum) {
  Expr result(0);
  for (const Term& term : affine_sum.terms) result = sum(result, scaled(term.expr, term.coefficient));
  return sum(result, Expr(affine_sum.constant));
}

}  // namespace tmemsim::lower
