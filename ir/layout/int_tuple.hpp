// Int tuples: an integer, or a tuple of int tuples. The shapes, strides and coordinates of nested layouts.
//
// A leaf is an integer, `?` (known at run time only), `*` (a mode that is kept) or a basis element nEi: n steps along mode i
// of the codomain, nEiEj along mode j inside mode i. A tuple of one, (x), is not x. Arithmetic is 64-bit and checked.
// Source of the rules: FlyDSL, CuTe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.hpp"

namespace tmemsim {

struct IntTuple {
  enum class Kind : std::uint8_t { integer, dynamic, kept, tuple };
  Kind kind = Kind::integer;
  std::int64_t value = 0;       // integer
  std::vector<int> path;        // basis element: mode, mode inside it, ...
  std::vector<IntTuple> items;  // tuple

  IntTuple() = default;
  IntTuple(std::int64_t integer) : value(integer) {}
  static IntTuple dynamic();
  static IntTuple kept();
  static IntTuple basis(std::int64_t count, std::vector<int> path);
  static IntTuple of(std::vector<IntTuple> items);

  bool is_leaf() const { return kind != Kind::tuple; }
  bool is_integer() const { return kind == Kind::integer && path.empty(); }
  bool is(std::int64_t integer) const { return is_integer() && value == integer; }
  std::size_t rank() const { return is_leaf() ? 1 : items.size(); }
  const IntTuple& mode(std::size_t k) const { return is_leaf() ? *this : items[k]; }

  bool operator==(const IntTuple&) const = default;
};

Result<IntTuple> parse_int_tuple(std::string_view text);
std::string to_string(const IntTuple& tuple);

bool congruent(const IntTuple& a, const IntTuple& b);  // same nesting
std::vector<IntTuple> leaves(const IntTuple& tuple);   // in order
IntTuple flatten(const IntTuple& tuple);               // leaf, or a tuple of all leaves

// Leaf by leaf over congruent tuples. Sums of basis elements are tuples: 2E0 + 3E1 = (2,3).
Result<IntTuple> add(const IntTuple& a, const IntTuple& b);
Result<IntTuple> subtract(const IntTuple& a, const IntTuple& b);
Result<IntTuple> multiply(const IntTuple& a, const IntTuple& b);
Result<IntTuple> divide(const IntTuple& a, const IntTuple& b);  // rounds down
Result<IntTuple> remainder(const IntTuple& a, const IntTuple& b);
Result<IntTuple> ceil_div(const IntTuple& a, const IntTuple& b);
// How often b fits into a; a leaf b is used up by the modes of a in turn, a leaf a divided by the product of b. One of each
// pair must divide the other.
Result<IntTuple> shape_div(const IntTuple& a, const IntTuple& b);

Result<IntTuple> product(const IntTuple& tuple);                                        // a leaf
Result<IntTuple> product_each(const IntTuple& tuple);                                   // one leaf a mode
Result<IntTuple> product_like(const IntTuple& tuple, const IntTuple& guide);            // one leaf a leaf of the guide
Result<IntTuple> select(const IntTuple& tuple, const std::vector<std::size_t>& modes);  // one mode: the mode itself

}  // namespace tmemsim
