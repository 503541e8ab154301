// Index expressions as C++ text with exactly the values of ir/expr.hpp: 32-bit, wrapping, C division, masked shift counts.
//
// A range analysis decides where plain C++ int arithmetic already has that value; only where an int could overflow, a count
// leave 0..31, or a divisor be 0 or -1, a helper function is called instead. So usual index arithmetic reads as C++.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ir/expr.hpp"

namespace tmemsim::emit {

// Values an expression may take, both ends included; within 32 bits.
struct Interval {
  std::int64_t lo = INT32_MIN, hi = INT32_MAX;
  bool operator==(const Interval&) const = default;
};

// What a leaf (coordinate, loop variable, word, register) is called; `text` is a primary expression of type int.
struct Leaf {
  std::string text;
  Interval range;
};

struct ExpressionContext {
  std::function<Leaf(const Expr&)> leaf;
  std::function<void(std::string_view helper)> need;  // called with the name of each helper function that the text calls
};

// C++ text of an int (or bool, for comparisons). `as_operand`: in parentheses unless it is a primary expression.
std::string expression_text(const Expr& expr, const ExpressionContext& context, bool as_operand = false);

Interval range_of(const Expr& expr, const std::function<Interval(const Expr&)>& leaf);

}  // namespace tmemsim::emit
