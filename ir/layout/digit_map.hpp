// Digit maps: the one core that both families of layouts reduce to.
//
//   f(x) = offset + sum over digits k of step_k * (x / weight_k mod extent_k) + beyond * (x / size)
//
// Digits stand lowest first; weight_k is the product of the extents below, size the product of all. A step is a vector over
// the axes. `beyond` says how the map goes on past its size and stands apart from the domain [0, size).
//
// Canonical form: no digit of extent 1, and no digit whose step continues the one below (step_{k+1} == extent_k * step_k).
// It is unique on the domain: the lowest digit is the longest linear prefix, and so on by recursion. So equality is decided in
// the number of digits, whatever the size. Composition and inversion are not closed and return a Reason; where the symbolic
// rule does not apply, maps of up to `enumeration_bound` elements are decided by enumeration, larger ones stay undecided.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"

namespace tmemsim {

inline constexpr std::int64_t enumeration_bound = std::int64_t{1} << 20;

struct Digit {
  std::int64_t extent = 1;
  Point step{};
  bool operator==(const Digit&) const = default;
};

struct DigitMap {
  Point offset{};
  std::vector<Digit> digits;
  Point beyond{};
  bool operator==(const DigitMap&) const = default;
};

// D + O of a layout, before its swizzle and without replicas; and back, where every digit moves on one axis only.
DigitMap digit_map(const TileLayout& layout);
Result<TileLayout> tile_layout(const DigitMap& map);

std::int64_t size(const DigitMap& map);
Point evaluate(const DigitMap& map, std::int64_t x);
DigitMap canonical(const DigitMap& map);

// Both are decided in O(digits). The first: on the common domain; maps of different sizes differ at the smaller size.
bool same_on_domain(const DigitMap& a, const DigitMap& b);
bool same_everywhere(const DigitMap& a, const DigitMap& b);
std::optional<std::int64_t> first_difference(const DigitMap& a, const DigitMap& b);

// The digit map of a function on [0, size), or the first x that no digit map explains. Costs about 2 * size evaluations;
// size is at most enumeration_bound.
Result<DigitMap> recover(std::int64_t size, const std::function<Point(std::int64_t)>& function);

// outer(inner(x)), where the inner map counts elements of the outer one on axis m.
Result<DigitMap> compose(const DigitMap& outer, const DigitMap& inner);

// The part of x that one axis tells: x is the sum over the axes of g_axis(f(x) on that axis). Needs offset 0 and positive
// strides that nest. Where f moves on one axis only, g(f(x)) == x; coordinates that f does not reach map to an element below.
Result<DigitMap> left_inverse(const DigitMap& map, Axis axis = Axis::m);

enum class Answer : std::uint8_t { yes, no, undecided };
struct Injectivity {
  Answer answer = Answer::yes;
  std::pair<std::int64_t, std::int64_t> witness{};  // no: two elements with one image, the smaller one first
};
// With `extra` digits (replicas), two elements collide when any of their images do; the copies of one element do not collide
// with each other.
Injectivity injective(const DigitMap& map);
Injectivity injective(const DigitMap& map, const std::vector<Iter>& replicas);

// Which of the coordinates [0, extent) of one axis the map reaches; replicas count. extent at most enumeration_bound.
struct Coverage {
  std::vector<bool> reached;
  std::int64_t lowest = 0, highest = 0;  // over all images, also outside [0, extent)
};
Coverage coverage(const TileLayout& layout, Axis axis, std::int64_t extent);

// Equality of layouts as set-valued maps.
struct Comparison {
  Answer same = Answer::yes;
  std::optional<std::int64_t> first;  // no: the smallest x at which they differ; the smaller size when one map ends before
  std::string why;                    // no, undecided: in words
};
Comparison same_map(const TileLayout& a, const TileLayout& b);

// outer after inner as layouts (inner on m only), and the layout that takes (coordinate on each used axis, in axis order,
// row-major over `shape`) back to the element.
Result<TileLayout> compose(const TileLayout& outer, const TileLayout& inner);
struct InverseLayout {
  TileLayout layout;
  std::vector<Axis> axes;
  std::vector<std::int64_t> shape;
};
Result<InverseLayout> inverse(const TileLayout& layout);

}  // namespace tmemsim
