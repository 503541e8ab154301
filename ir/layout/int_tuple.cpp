#include "ir/layout/int_tuple.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/checked.hpp"
#include "ir/layout/nested_text.hpp"

namespace tmemsim {

IntTuple IntTuple::dynamic() {
  IntTuple leaf;
  leaf.kind = Kind::dynamic;
  return leaf;
}
IntTuple IntTuple::kept() {
  IntTuple leaf;
  leaf.kind = Kind::kept;
  return leaf;
}
IntTuple IntTuple::basis(std::int64_t count, std::vector<int> path) {
  IntTuple leaf(count);
  leaf.path = std::move(path);
  return leaf;
}
IntTuple IntTuple::of(std::vector<IntTuple> items) {
  IntTuple tuple;
  tuple.kind = Kind::tuple;
  tuple.items = std::move(items);
  return tuple;
}

namespace {

using LeafOperation = std::function<Result<IntTuple>(const IntTuple&, const IntTuple&)>;

Reason because(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

Reason too_large() { return because("the result exceeds 64 bits"); }

// A basis element as a vector over the codomain: 3E1 is (0,3).
IntTuple as_vector(const IntTuple& leaf) {
  if (leaf.path.empty()) return leaf;
  IntTuple coefficient = leaf;
  coefficient.path.erase(coefficient.path.begin());
  std::vector<IntTuple> items(static_cast<std::size_t>(leaf.path.front()) + 1, IntTuple(0));
  items.back() = as_vector(coefficient);
  return IntTuple::of(std::move(items));
}

Result<IntTuple> from(std::optional<std::int64_t> value) {
  if (!value) return too_large();
  return IntTuple(*value);
}

Result<IntTuple> leaf_by_leaf(const IntTuple& a, const IntTuple& b, const LeafOperation& operation) {
  if (a.is_leaf() && b.is_leaf()) {
    if (a.kind == IntTuple::Kind::kept || b.kind == IntTuple::Kind::kept) return because("a kept mode (*) has no value");
    return operation(a, b);
  }
  if (a.is_leaf() || b.is_leaf() || a.items.size() != b.items.size()) {
    return because(fmt::format("{} and {} are not congruent", to_string(a), to_string(b)));
  }
  std::vector<IntTuple> items;
  for (std::size_t k = 0; k < a.items.size(); ++k) {
    const auto item = leaf_by_leaf(a.items[k], b.items[k], operation);
    if (!item) return item;
    items.push_back(*item);
  }
  return IntTuple::of(std::move(items));
}

// Adding to 0 leaves a vector as it is; a shorter vector is padded.
Result<IntTuple> add_vectors(const IntTuple& a, const IntTuple& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  if (a.is_leaf() && b.is_leaf()) {
    if (a.path.empty() != b.path.empty())
      return because(fmt::format("{} and {} are not congruent", to_string(a), to_string(b)));
    if (!a.path.empty() && a.path != b.path) return add_vectors(as_vector(a), as_vector(b));
    IntTuple sum = a;
    const bool known = a.kind == IntTuple::Kind::integer && b.kind == IntTuple::Kind::integer;
    const auto value = known ? checked_add(a.value, b.value) : std::optional<std::int64_t>(0);
    if (!value) return too_large();
    sum.kind = known ? IntTuple::Kind::integer : IntTuple::Kind::dynamic;
    sum.value = *value;
    return sum;
  }
  const IntTuple left = a.is_leaf() ? as_vector(a) : a;
  const IntTuple right = b.is_leaf() ? as_vector(b) : b;
  if (left.is_leaf() || right.is_leaf()) return because(fmt::format("{} and {} are not congruent", to_string(a), to_string(b)));
  std::vector<IntTuple> items;
  for (std::size_t k = 0; k < std::max(left.items.size(), right.items.size()); ++k) {
    if (k >= left.items.size() || k >= right.items.size()) {
      items.push_back(k >= left.items.size() ? right.items[k] : left.items[k]);
      continue;
    }
    const auto item = add_vectors(left.items[k], right.items[k]);
    if (!item) return item;
    items.push_back(*item);
  }
  return IntTuple::of(std::move(items));
}

Result<IntTuple> times(const IntTuple& a, const IntTuple& b) {
  if (a.is(0) || b.is(0)) return IntTuple(0);
  if (!a.path.empty() && !b.path.empty()) return because("two basis elements have no product");
  IntTuple result = a.path.empty() ? b : a;  // keeps the basis
  const IntTuple& other = a.path.empty() ? a : b;
  if (result.kind == IntTuple::Kind::dynamic || other.kind == IntTuple::Kind::dynamic) {
    if (result.is(1)) return other;
    if (other.is(1)) return result;
    result.kind = IntTuple::Kind::dynamic;
    result.value = 0;
    return result;
  }
  const auto value = checked_mul(result.value, other.value);
  if (!value) return too_large();
  result.value = *value;
  return result;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0); }

LeafOperation dividing(std::int64_t (*operation)(std::int64_t, std::int64_t)) {
  return [operation](const IntTuple& a, const IntTuple& b) -> Result<IntTuple> {
    if (!a.path.empty() || !b.path.empty()) return because("basis elements cannot be divided");
    if (b.is(0)) return because("division by zero");
    if (a.is(0)) return IntTuple(0);
    if (!a.is_integer() || !b.is_integer()) return IntTuple::dynamic();
    if (b.value == -1) return from(operation(1, -1) == 0 ? std::optional<std::int64_t>(0) : checked_sub(0, a.value));
    return IntTuple(operation(a.value, b.value));
  };
}

Result<IntTuple> shape_div_leaf(std::int64_t a, std::int64_t b) {
  if (a < 1 || b < 1) return because(fmt::format("shapes are positive; got {} and {}", a, b));
  if (a % b != 0 && b % a != 0) return because(fmt::format("neither of {} and {} divides the other", a, b));
  return IntTuple(ceil_div(a, b));
}

}  // namespace

bool congruent(const IntTuple& a, const IntTuple& b) {
  if (a.is_leaf() || b.is_leaf()) return a.is_leaf() && b.is_leaf();
  return a.items.size() == b.items.size() && std::equal(a.items.begin(), a.items.end(), b.items.begin(), congruent);
}

std::vector<IntTuple> leaves(const IntTuple& tuple) {
  if (tuple.is_leaf()) return {tuple};
  std::vector<IntTuple> result;
  for (const IntTuple& item : tuple.items) {
    const std::vector<IntTuple> own = leaves(item);
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

IntTuple flatten(const IntTuple& tuple) { return tuple.is_leaf() ? tuple : IntTuple::of(leaves(tuple)); }

std::string to_string(const IntTuple& tuple) {
  if (tuple.kind == IntTuple::Kind::kept) return "*";
  if (tuple.kind == IntTuple::Kind::tuple) {
    std::vector<std::string> items;
    for (const IntTuple& item : tuple.items) items.push_back(to_string(item));
    return fmt::format("({})", fmt::join(items, ","));
  }
  std::string text = tuple.kind == IntTuple::Kind::dynamic ? "?" : std::to_string(tuple.value);
  for (const int mode : tuple.path) text += fmt::format("E{}", mode);
  return text;
}

Result<IntTuple> add(const IntTuple& a, const IntTuple& b) {
  for (const IntTuple* side : {&a, &b}) {
    for (const IntTuple& leaf : leaves(*side)) {
      if (leaf.kind == IntTuple::Kind::kept) return because("a kept mode (*) has no value");
    }
  }
  return add_vectors(a, b);
}

Result<IntTuple> subtract(const IntTuple& a, const IntTuple& b) {
  return leaf_by_leaf(a, b, [](const IntTuple& x, const IntTuple& y) -> Result<IntTuple> {
    if (y.is(0)) return x;
    if (!x.path.empty() || !y.path.empty()) return because("basis elements cannot be subtracted");
    if (!x.is_integer() || !y.is_integer()) return IntTuple::dynamic();
    return from(checked_sub(x.value, y.value));
  });
}

Result<IntTuple> multiply(const IntTuple& a, const IntTuple& b) { return leaf_by_leaf(a, b, times); }

Result<IntTuple> divide(const IntTuple& a, const IntTuple& b) { return leaf_by_leaf(a, b, dividing(floor_div)); }

Result<IntTuple> remainder(const IntTuple& a, const IntTuple& b) {
  return leaf_by_leaf(a, b, [](const IntTuple& x, const IntTuple& y) {
    if (y.is(1)) return Result<IntTuple>(IntTuple(0));
    return dividing([](std::int64_t p, std::int64_t q) { return p - floor_div(p, q) * q; })(x, y);
  });
}

Result<IntTuple> ceil_div(const IntTuple& a, const IntTuple& b) {
  if (!a.is_leaf() && b.is_leaf()) {  // used up by the modes in turn
    std::vector<IntTuple> items;
    IntTuple rest = b;
    for (const IntTuple& item : a.items) {
      const auto quotient = ceil_div(item, rest);
      const auto used = product(item);
      if (!quotient || !used) return quotient ? used : quotient;
      items.push_back(*quotient);
      const auto left = ceil_div(rest, *used);
      if (!left) return left;
      rest = *left;
    }
    return IntTuple::of(std::move(items));
  }
  return leaf_by_leaf(a, b, dividing([](std::int64_t p, std::int64_t q) { return -floor_div(-p, q); }));
}

Result<IntTuple> shape_div(const IntTuple& a, const IntTuple& b) {
  if (a.is_leaf() && !b.is_leaf()) {
    const auto divisor = product(b);
    return divisor ? shape_div(a, *divisor) : divisor;
  }
  if (!a.is_leaf() && b.is_leaf()) {
    std::vector<IntTuple> items;
    IntTuple rest = b;
    for (const IntTuple& item : a.items) {
      const auto quotient = shape_div(item, rest);
      if (!quotient) return quotient;
      items.push_back(*quotient);
      const auto used = product(item);
      const auto left = used ? shape_div(rest, *used) : used;
      if (!left) return left;
      rest = *left;
    }
    return IntTuple::of(std::move(items));
  }
  return leaf_by_leaf(a, b, [](const IntTuple& x, const IntTuple& y) -> Result<IntTuple> {
    if (!x.is_integer() || !y.is_integer())
      return x.path.empty() && y.path.empty() ? Result<IntTuple>(IntTuple::dynamic())
                                              : because("basis elements cannot be divided");
    return shape_div_leaf(x.value, y.value);
  });
}

Result<IntTuple> product(const IntTuple& tuple) {
  Result<IntTuple> result = IntTuple(1);
  for (const IntTuple& leaf : leaves(tuple)) {
    if (leaf.kind == IntTuple::Kind::kept) return because("a kept mode (*) has no value");
    result = times(*result, leaf);
    if (!result) return result;
  }
  return result;
}

Result<IntTuple> product_each(const IntTuple& tuple) {
  if (tuple.is_leaf()) return product(tuple);
  std::vector<IntTuple> items;
  for (const IntTuple& item : tuple.items) {
    const auto one = product(item);
    if (!one) return one;
    items.push_back(*one);
  }
  return IntTuple::of(std::move(items));
}

Result<IntTuple> product_like(const IntTuple& tuple, const IntTuple& guide) {
  if (guide.is_leaf()) return product(tuple);
  if (tuple.rank() != guide.items.size() || tuple.is_leaf())
    return because(fmt::format("{} does not have the profile {}", to_string(tuple), to_string(guide)));
  std::vector<IntTuple> items;
  for (std::size_t k = 0; k < guide.items.size(); ++k) {
    const auto one = product_like(tuple.items[k], guide.items[k]);
    if (!one) return one;
    items.push_back(*one);
  }
  return IntTuple::of(std::move(items));
}

Result<IntTuple> select(const IntTuple& tuple, const std::vector<std::size_t>& modes) {
  if (modes.empty()) return because("no mode is selected");
  std::vector<IntTuple> items;
  for (const std::size_t k : modes) {
    if (k >= tuple.rank()) return because(fmt::format("{} has no mode {}", to_string(tuple), k));
    items.push_back(tuple.mode(k));
  }
  return items.size() == 1 ? items.front() : IntTuple::of(std::move(items));
}

}  // namespace tmemsim
