#include "ir/layout/digit_map.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/checked.hpp"

namespace tmemsim {
namespace {

Point scaled(const Point& point, std::int64_t factor) {
  Point result;
  for (std::size_t a = 0; a < axis_count; ++a) result[a] = wrapping_mul(point[a], factor);
  return result;
}

void add(Point& point, const Point& more, std::int64_t count = 1) {
  for (std::size_t a = 0; a < axis_count; ++a) point[a] = wrapping_add(point[a], wrapping_mul(more[a], count));
}

Point difference(const Point& a, const Point& b) {
  Point result;
  for (std::size_t k = 0; k < axis_count; ++k) result[k] = wrapping_add(a[k], wrapping_mul(b[k], -1));
  return result;
}

bool only_on(const Point& point, Axis axis) {
  for (std::size_t a = 0; a < axis_count; ++a) {
    if (a != static_cast<std::size_t>(axis) && point[a] != 0) return false;
  }
  return true;
}

std::optional<Axis> single_axis(const Point& step) {
  std::optional<Axis> found;
  for (std::size_t a = 0; a < axis_count; ++a) {
    if (step[a] == 0) continue;
    if (found) return std::nullopt;
    found = static_cast<Axis>(a);
  }
  return found ? found : Axis::m;
}

// Digits of a number in the radix of a map, and the quotient past its size.
std::vector<std::int64_t> radix_digits(const DigitMap& map, std::int64_t x) {
  std::vector<std::int64_t> digits;
  for (const Digit& digit : map.digits) {
    digits.push_back(x % digit.extent);
    x /= digit.extent;
  }
  digits.push_back(x);
  return digits;
}

// One digit of the inner map, cut where it crosses digits of the outer map. False when it crosses one in the middle.
bool cut_at_outer_digits(const DigitMap& outer, std::int64_t extent, std::int64_t stride,
                         std::vector<std::pair<std::int64_t, std::int64_t>>& parts) {
  while (extent > 1) {
    if (stride == 0) break;
    std::int64_t weight = 1;
    std::size_t j = 0;
    while (j < outer.digits.size() && stride / weight >= outer.digits[j].extent) weight *= outer.digits[j++].extent;
    if (j == outer.digits.size() || stride % weight != 0)
      break;  // past the size, or several digits at once: checked for carries later
    const std::int64_t step = stride / weight;
    const std::int64_t room = outer.digits[j].extent;
    if (saturating_mul(extent - 1, step) < room) break;
    if (room % step != 0 || extent % (room / step) != 0) return false;
    const std::int64_t within = room / step;
    parts.emplace_back(within, stride);
    extent /= within;
    const auto next = checked_mul(stride, within);
    if (!next) return false;
    stride = *next;
  }
  if (extent > 1) parts.emplace_back(extent, stride);
  return true;
}

// Composition by digits, exact when no sum of inner digits carries in the radix of the outer map.
std::optional<DigitMap> compose_by_digits(const DigitMap& outer, const DigitMap& inner) {
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;
  for (const Digit& digit : inner.digits) {
    const std::int64_t stride = at(digit.step, Axis::m);
    if (stride < 0 || !cut_at_outer_digits(outer, digit.extent, stride, parts)) return std::nullopt;
  }
  const std::int64_t start = at(inner.offset, Axis::m);
  if (start < 0) return std::nullopt;
  std::vector<std::int64_t> highest = radix_digits(outer, start);
  DigitMap result;
  result.offset = evaluate(outer, start);
  for (const auto& [extent, stride] : parts) {
    const std::vector<std::int64_t> own = radix_digits(outer, stride);
    Digit digit{extent, scaled(outer.beyond, own.back())};
    for (std::size_t j = 0; j < outer.digits.size(); ++j) {
      add(digit.step, outer.digits[j].step, own[j]);
      highest[j] = checked_add(highest[j], saturating_mul(extent - 1, own[j])).value_or(outer.digits[j].extent);
      if (highest[j] >= outer.digits[j].extent) return std::nullopt;
    }
    result.digits.push_back(digit);
  }
  return result;
}

std::optional<Reason> counts_elements(const DigitMap& inner) {
  if (!only_on(inner.offset, Axis::m))
    return Reason{"the inner map must count elements on axis m; its offset is on another axis", {}, {}, {}};
  for (std::size_t k = 0; k < inner.digits.size(); ++k) {
    if (!only_on(inner.digits[k].step, Axis::m))
      return Reason{fmt::format("the inner map must count elements on axis m; digit {} moves on another axis", k), k, {}, {}};
  }
  return std::nullopt;
}

}  // namespace

DigitMap digit_map(const TileLayout& layout) {
  DigitMap map;
  for (const AxisOffset& offset : layout.offset)
    at(map.offset, offset.axis) = wrapping_add(at(map.offset, offset.axis), offset.value);
  for (std::size_t k = layout.shard.size(); k > 0; --k) {
    const Iter& iter = layout.shard[k - 1];
    Digit digit{iter.extent, {}};
    at(digit.step, iter.axis) = iter.stride;
    map.digits.push_back(digit);
  }
  if (!map.digits.empty()) map.beyond = scaled(map.digits.back().step, map.digits.back().extent);
  return map;
}

Result<TileLayout> tile_layout(const DigitMap& map) {
  TileLayout layout;
  for (std::size_t k = map.digits.size(); k > 0; --k) {
    const auto axis = single_axis(map.digits[k - 1].step);
    if (!axis) return Reason{fmt::format("digit {} moves on several axes at once; an iter moves on one", k - 1), k - 1, {}, {}};
    layout.shard.push_back({map.digits[k - 1].extent, at(map.digits[k - 1].step, *axis), *axis});
  }
  for (std::size_t a = 0; a < axis_count; ++a) {
    if (map.offset[a] != 0) layout.offset.push_back({static_cast<Axis>(a), map.offset[a]});
  }
  if (auto reason = problem_with(layout)) return *reason;
  return layout;
}

std::int64_t size(const DigitMap& map) {
  std::int64_t product = 1;
  for (const Digit& digit : map.digits) product = saturating_mul(product, digit.extent);
  return product;
}

Point evaluate(const DigitMap& map, std::int64_t x) {
  Point point = map.offset;
  for (const Digit& digit : map.digits) {
    add(point, digit.step, x % digit.extent);
    x /= digit.extent;
  }
  if (x != 0) add(point, map.beyond, x);
  return point;
}

DigitMap canonical(const DigitMap& map) {
  DigitMap result;
  result.offset = map.offset;
  result.beyond = map.beyond;
  for (const Digit& digit : map.digits) {
    if (digit.extent == 1) continue;
    if (!result.digits.empty() && digit.step == scaled(result.digits.back().step, result.digits.back().extent)) {
      result.digits.back().extent *= digit.extent;
    } else {
      result.digits.push_back(digit);
    }
  }
  return result;
}

std::optional<std::int64_t> first_difference(const DigitMap& a, const DigitMap& b) {
  if (a.offset != b.offset) return 0;
  const std::vector<Digit> left = canonical(a).digits;
  const std::vector<Digit> right = canonical(b).digits;
  std::int64_t weight = 1;
  for (std::size_t k = 0; k < left.size() && k < right.size(); ++k) {
    if (left[k].step != right[k].step) return weight;
    const std::int64_t shorter = std::min(left[k].extent, right[k].extent);
    if (left[k].extent != right[k].extent)
      return weight * shorter;  // the shorter digit ends: canonical, so the next does not continue
    weight *= shorter;
  }
  if (left.size() != right.size()) return weight;
  return std::nullopt;
}

bool same_on_domain(const DigitMap& a, const DigitMap& b) { return !first_difference(a, b); }

bool same_everywhere(const DigitMap& a, const DigitMap& b) { return same_on_domain(a, b) && a.beyond == b.beyond; }

Result<DigitMap> recover(std::int64_t size, const std::function<Point(std::int64_t)>& function) {
  if (size < 1 || size > enumeration_bound)
    return Reason{fmt::format("a map of {} elements is not enumerated; at most {} are", size, enumeration_bound), {}, {}, {}};
  DigitMap map;
  map.offset = function(0);
  std::int64_t weight = 1;
  while (weight < size) {
    const std::int64_t count = size / weight;
    const Point step = difference(function(weight), map.offset);
    // The longest linear prefix is the digit.
    std::int64_t extent = 2;
    Point expected = function(weight);
    for (; extent < count; ++extent) {
      add(expected, step);
      if (function(extent * weight) != expected) break;
    }
    if (count % extent != 0) {
      return Reason{fmt::format("a digit of extent {} at weight {} does not divide the size {}", extent, weight, size),
                    {},
                    {extent * weight},
                    {}};
    }
    for (std::int64_t y = extent; y < count; ++y) {
      if (y % extent == 0)
        expected = function(y * weight);
      else
        add(expected, step);
      if (function(y * weight) != expected) {
        return Reason{
            fmt::format("element {} does not continue the digit of extent {} at weight {}", y * weight, extent, weight),
            {},
            {y * weight},
            {}};
      }
    }
    map.digits.push_back({extent, step});
    weight *= extent;
  }
  if (!map.digits.empty()) map.beyond = scaled(map.digits.back().step, map.digits.back().extent);
  return map;
}

Result<DigitMap> compose(const DigitMap& outer, const DigitMap& inner) {
  if (auto reason = counts_elements(inner)) return *reason;
  const DigitMap simple_outer = canonical(outer);
  DigitMap simple_inner = canonical(inner);
  if (auto found = compose_by_digits(simple_outer, simple_inner)) {
    DigitMap result = canonical(*found);
    if (at(inner.beyond, Axis::m) >= 0)
      result.beyond = difference(evaluate(simple_outer, at(inner.beyond, Axis::m)), simple_outer.offset);
    return result;
  }
  if (size(inner) > enumeration_bound) {
    return Reason{fmt::format("undecided: sums of digits carry, and {} elements are more than the {} that are enumerated",
                              size(inner), enumeration_bound),
                  {},
                  {},
                  {}};
  }
  for (std::int64_t x = 0; x < size(inner); ++x) {
    if (at(evaluate(inner, x), Axis::m) < 0)
      return Reason{fmt::format("the inner map takes {} to a negative element", x), {}, {x}, {}};
  }
  return recover(size(inner), [&](std::int64_t x) { return evaluate(simple_outer, at(evaluate(simple_inner, x), Axis::m)); });
}

namespace {

struct Stride {
  std::int64_t stride, extent, weight;
  std::size_t digit;
};

// The digits that move on `axis`, smallest stride first.
Result<std::vector<Stride>> strides_on(const DigitMap& map, Axis axis) {
  std::vector<Stride> strides;
  std::int64_t weight = 1;
  for (std::size_t k = 0; k < map.digits.size(); ++k) {
    const Digit& digit = map.digits[k];
    const std::int64_t stride = at(digit.step, axis);
    if (digit.extent > 1 && digit.step == Point{})
      return Reason{fmt::format("digit {} has stride 0: {} elements share one place", k, digit.extent), k, {weight}, {}};
    if (digit.extent > 1 && stride != 0) {
      if (!only_on(digit.step, axis)) return Reason{fmt::format("digit {} moves on several axes at once", k), k, {weight}, {}};
      if (stride < 0)
        return Reason{fmt::format("digit {} has stride {}; an inverse needs positive strides", k, stride), k, {weight}, {}};
      strides.push_back({stride, digit.extent, weight, k});
    }
    weight = saturating_mul(weight, digit.extent);
  }
  std::sort(strides.begin(), strides.end(), [](const Stride& a, const Stride& b) { return a.stride < b.stride; });
  return strides;
}

}  // namespace

Result<DigitMap> left_inverse(const DigitMap& map, Axis axis) {
  if (at(map.offset, axis) != 0) return Reason{"a map with an offset has no inverse that is a digit map", {}, {}, {}};
  const auto strides = strides_on(map, axis);
  if (!strides) return strides.reason();
  DigitMap result;
  std::int64_t reached = 1;
  for (const Stride& part : *strides) {
    if (part.stride % reached != 0) {
      return Reason{fmt::format("the stride {} of digit {} is no multiple of {}, the span of the digits below it", part.stride,
                                part.digit, reached),
                    part.digit,
                    {part.weight},
                    {}};
    }
    if (part.stride != reached) result.digits.push_back({part.stride / reached, {}});
    Digit digit{part.extent, {}};
    at(digit.step, Axis::m) = part.weight;
    result.digits.push_back(digit);
    const auto next = checked_mul(part.stride, part.extent);
    if (!next) return Reason{fmt::format("the span of digit {} exceeds 64 bits", part.digit), part.digit, {}, {}};
    reached = *next;
  }
  if (!result.digits.empty()) result.beyond = scaled(result.digits.back().step, result.digits.back().extent);
  return canonical(result);
}

}  // namespace tmemsim
