// Expressions as constant + sum of coefficient * term, so that differences and divisibility can be decided.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/expr.hpp"

namespace tmemsim::lower {

struct Term {
  Expr expr;                      // not a sum, difference or constant multiple of anything
  std::int64_t coefficient = 0;   // not zero
};

struct Affine {
  std::int64_t constant = 0;
  std::vector<Term> terms;        // their expressions differ
  bool is_constant() const { return terms.empty(); }
};

Affine affine(const Expr& expr);
Affine difference(Affine a, const Affine& b);
Expr to_expr(const Affine& sum);

// coefficient * expr and a + b without the terms that do nothing; constants go last.
Expr scaled(const Expr& expr, std::int64_t coefficient);
Expr sum(const Expr& a, const Expr& b);

}  // namespace tmemsim::lower
