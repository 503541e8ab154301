#include "ir/kernel/region.hpp"

#include <algorithm>
#include <utility>

namespace tmemsim {
namespace {

// constant + sum of factor * term, all modulo 2^32 as expressions are.
struct Sum {
  std::uint32_t constant = 0;
  std::vector<std::pair<Expr, std::uint32_t>> terms;

  void add(const Expr& expr, std::uint32_t factor) {
    const auto left_constant = [&] { return expr.a().as_constant(); };
    const auto right_constant = [&] { return expr.b().as_constant(); };
    switch (expr.op()) {
      case ExprOp::constant: constant += factor * static_cast<std::uint32_t>(expr.constant()); return;
      case ExprOp::add: add(expr.a(), factor); add(expr.b(), factor); return;
      case ExprOp::sub: add(expr.a(), factor); add(expr.b(), 0u - factor); return;
      case ExprOp::mul:
        if (right_constant()) return add(expr.a(), factor * static_cast<std::uint32_t>(*right_constant()));
        if (left_constant()) return add(expr.b(), factor * static_cast<std::uint32_t>(*left_constant()));
        break;
      case ExprOp::shl:
        if (right_constant()) return add(expr.a(), factor << (static_cast<std::uint32_t>(*right_constant()) & 31u));
        break;
      default: break;
    }
    const auto same = std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.first == expr; });
    if (same == terms.end()) terms.emplace_back(expr, factor);
    else same->second += factor;
  }
};

}  // namespace

std::optional<std::int32_t> constant_difference(const Expr& a, const Expr& b) {
  Sum sum;
  sum.add(a, 1);
  sum.add(b, 0u - 1u);
  const bool is_constant = std::all_of(sum.terms.begin(), sum.terms.end(), [](const auto& term) { return term.second == 0; });
  if (!is_constant) return std::nullopt;
  return static_cast<std::int32_t>(sum.constant);
}

std::optional<std::vector<std::int64_t>> extents_of(const Buffer& buffer, const Region& region) {
  if (region.box.empty()) return buffer.shape;
  std::vector<std::int64_t> extents;
  for (const Range& range : region.box) {
    if (!range.hi) continue;
    const auto extent = constant_difference(*range.hi, range.lo);
    if (!extent) return std::nullopt;
    extents.push_back(*extent);
  }
  return extents;
}

}  // namespace tmemsim
