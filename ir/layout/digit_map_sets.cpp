// Injectivity and coverage: what sets of digits reach.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "ir/checked.hpp"
#include "ir/layout/digit_map.hpp"

namespace tmemsim {
namespace {

struct Part {
  std::int64_t extent;
  Point step;
  std::int64_t weight;  // 0: a replica, which does not change the element
};

std::vector<Part> parts_of(const DigitMap& map, const std::vector<Iter>& replicas) {
  std::vector<Part> parts;
  std::int64_t weight = 1;
  for (const Digit& digit : map.digits) {
    if (digit.extent > 1) parts.push_back({digit.extent, digit.step, weight});
    weight = saturating_mul(weight, digit.extent);
  }
  for (const Iter& iter : replicas) {
    if (iter.extent == 1) continue;
    Part part{iter.extent, {}, 0};
    at(part.step, iter.axis) = iter.stride;
    parts.push_back(part);
  }
  return parts;
}

std::size_t axes_in(const Point& step) {
  return static_cast<std::size_t>(std::count_if(step.begin(), step.end(), [](std::int64_t s) { return s != 0; }));
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

// On each axis every stride exceeds all that the smaller ones reach together.
bool nested(const std::vector<Part>& parts) {
  for (std::size_t a = 0; a < axis_count; ++a) {
    std::vector<std::pair<std::uint64_t, std::int64_t>> strides;
    for (const Part& part : parts) {
      if (part.step[a] != 0) strides.emplace_back(magnitude(part.step[a]), part.extent);
    }
    std::sort(strides.begin(), strides.end());
    std::uint64_t reached = 0;
    for (const auto& [stride, extent] : strides) {
      if (stride <= reached) return false;
      reached += stride * static_cast<std::uint64_t>(extent - 1);  // fits: coordinates of a layout are 64-bit
    }
  }
  return true;
}

struct PointHash {
  std::size_t operator()(const Point& point) const {
    std::uint64_t hash = 0x9e3779b97f4a7c15u;
    for (const std::int64_t coordinate : point)
      hash = (hash ^ static_cast<std::uint64_t>(coordinate)) * 0xbf58476d1ce4e5b9u + (hash >> 29);
    return static_cast<std::size_t>(hash);
  }
};

std::int64_t images_of(const std::vector<Part>& parts) {
  std::int64_t count = 1;
  for (const Part& part : parts) count = saturating_mul(count, part.extent);
  return count;
}

// Elements in ascending order: the first one that meets an image of an earlier one is the witness.
Injectivity by_enumeration(const DigitMap& map, const std::vector<Iter>& replicas) {
  TileLayout copies;
  copies.replica = replicas;
  const std::vector<Point> displacements = evaluate_all(copies, 0);
  std::unordered_map<Point, std::int64_t, PointHash> owner;
  owner.reserve(static_cast<std::size_t>(size(map)) * displacements.size());
  for (std::int64_t x = 0; x < size(map); ++x) {
    const Point base = evaluate(map, x);
    for (const Point& displacement : displacements) {
      Point image;
      for (std::size_t a = 0; a < axis_count; ++a) image[a] = wrapping_add(base[a], displacement[a]);
      const auto [entry, fresh] = owner.emplace(image, x);
      if (!fresh && entry->second != x) return {Answer::no, {entry->second, x}};
    }
  }
  return {Answer::yes, {}};
}

// Two digits on one line that meet: a * s == b * t with both counts in range.
std::optional<std::pair<std::int64_t, std::int64_t>> meeting_pair(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    if (axes_in(part.step) == 0 && part.weight > 0) return std::pair<std::int64_t, std::int64_t>{0, part.weight};
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (axes_in(parts[i].step) != 1 || axes_in(parts[j].step) != 1) continue;
      const auto a = static_cast<std::size_t>(
          std::find_if(parts[i].step.begin(), parts[i].step.end(), [](std::int64_t s) { return s != 0; }) -
          parts[i].step.begin());
      if (parts[j].step[a] == 0 || (parts[i].step[a] < 0) != (parts[j].step[a] < 0)) continue;
      const std::int64_t common = std::gcd(parts[i].step[a], parts[j].step[a]);
      const std::uint64_t own = magnitude(parts[j].step[a] / common);
      const std::uint64_t other = magnitude(parts[i].step[a] / common);
      if (own >= static_cast<std::uint64_t>(parts[i].extent) || other >= static_cast<std::uint64_t>(parts[j].extent)) continue;
      const std::int64_t first = static_cast<std::int64_t>(own) * parts[i].weight;
      const std::int64_t second = static_cast<std::int64_t>(other) * parts[j].weight;
      if (first != second) return std::pair{std::min(first, second), std::max(first, second)};
    }
  }
  return std::nullopt;
}

}  // namespace

Injectivity injective(const DigitMap& map) { return injective(map, {}); }

Injectivity injective(const DigitMap& map, const std::vector<Iter>& replicas) {
  const std::vector<Part> parts = parts_of(map, replicas);
  const bool independent = std::all_of(parts.begin(), parts.end(), [](const Part& part) { return axes_in(part.step) == 1; });
  if (independent && nested(parts)) return {Answer::yes, {}};
  if (images_of(parts) <= enumeration_bound) return by_enumeration(map, replicas);
  if (const auto pair = meeting_pair(parts)) return {Answer::no, *pair};
  return {Answer::undecided, {}};
}

Coverage coverage(const TileLayout& layout, Axis axis, std::int64_t extent) {
  Coverage result;
  const std::int64_t bounded = std::clamp<std::int64_t>(extent, 0, enumeration_bound);
  result.reached.assign(static_cast<std::size_t>(bounded), false);
  std::vector<std::pair<std::int64_t, std::int64_t>> strides;  // positive stride, extent
  std::int64_t base = at(digit_map(layout).offset, axis);
  result.highest = base;
  for (const std::vector<Iter>* iters : {&layout.shard, &layout.replica}) {
    for (const Iter& iter : *iters) {
      if (iter.axis != axis || iter.stride == 0 || iter.extent == 1) continue;
      const std::int64_t reach = wrapping_mul(iter.stride, iter.extent - 1);
      if (iter.stride < 0)
        base = wrapping_add(base, reach);
      else
        result.highest = wrapping_add(result.highest, reach);
      strides.emplace_back(iter.stride < 0 ? -iter.stride : iter.stride, iter.extent);
    }
  }
  result.lowest = base;
  // Sums of what each iter adds, from the lowest coordinate on; only sums up to the last wanted coordinate matter.
  const auto last = checked_sub(bounded, base);
  if (bounded == 0 || !last || *last <= 0) return result;
  const std::int64_t room = std::min(*last, 4 * enumeration_bound);
  std::vector<bool> sums(static_cast<std::size_t>(room), false);
  sums[0] = true;
  for (const auto& [stride, count] : strides) {
    std::vector<std::int64_t> steps(static_cast<std::size_t>(room), -1);  // fewest steps of this iter that reach the sum
    for (std::int64_t sum = 0; sum < room; ++sum) {
      const auto here = static_cast<std::size_t>(sum);
      if (sums[here]) {
        steps[here] = 0;
      } else if (sum >= stride && steps[static_cast<std::size_t>(sum - stride)] >= 0 &&
                 steps[static_cast<std::size_t>(sum - stride)] + 1 < count) {
        steps[here] = steps[static_cast<std::size_t>(sum - stride)] + 1;
      }
    }
    for (std::size_t k = 0; k < steps.size(); ++k) sums[k] = steps[k] >= 0;
  }
  for (std::int64_t sum = 0; sum < room; ++sum) {
    const std::int64_t coordinate = base + sum;
    if (sums[static_cast<std::size_t>(sum)] && coordinate >= 0 && coordinate < bounded)
      result.reached[static_cast<std::size_t>(coordinate)] = true;
  }
  return result;
}

}  // namespace tmemsim
