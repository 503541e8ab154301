#include <algorithm>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/layout/digit_map.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim {
namespace {

// Part of one dimension: iters of the sub-range and the offset of its first element.
struct Part {
  std::vector<Iter> iters;
  std::vector<AxisOffset> offset;
};

void add_offset(std::vector<AxisOffset>& offsets, Axis axis, std::int64_t value) {
  const auto found =
      std::find_if(offsets.begin(), offsets.end(), [&](const AxisOffset& offset) { return offset.axis == axis; });
  if (found != offsets.end()) {
    found->value += value;
  } else {
    offsets.push_back({axis, value});
  }
}

std::vector<std::int64_t> digits_of(std::span<const Iter> iters, std::int64_t x) {
  std::vector<std::int64_t> digits(iters.size());
  for (std::size_t k = iters.size(); k > 0; --k) {
    digits[k - 1] = x % iters[k - 1].extent;
    x /= iters[k - 1].extent;
  }
  return digits;
}

// [begin, begin + extent) of the dimension that `iters` make up. Empty when the range is no mixed-radix map: a carry into an
// outer iter happens in the middle of it.
std::optional<Part> slice_dimension(std::span<const Iter> iters, std::int64_t begin, std::int64_t extent) {
  Part part;
  const std::vector<std::int64_t> digits = digits_of(iters, begin);
  for (std::size_t k = 0; k < iters.size(); ++k) {
    if (digits[k] != 0) add_offset(part.offset, iters[k].axis, digits[k] * iters[k].stride);
  }
  std::int64_t rest = extent;
  for (std::size_t k = iters.size(); k > 0; --k) {
    const Iter& iter = iters[k - 1];
    const std::int64_t digit = digits[k - 1];
    if (digit == 0 && rest % iter.extent == 0) {  // covered whole
      part.iters.insert(part.iters.begin(), iter);
      rest /= iter.extent;
      continue;
    }
    if (digit + rest <= iter.extent) {  // no carry
      part.iters.insert(part.iters.begin(), Iter{rest, iter.stride, iter.axis});
      return part;
    }
    // The range starts `half` elements before the end of this iter and ends `half` after the carry.
    const std::int64_t half = rest / 2;
    const bool straddles = rest % 2 == 0 && digit + half == iter.extent && k > 1 && iters[k - 2].axis == iter.axis;
    if (!straddles || digits[k - 2] + 1 >= iters[k - 2].extent) return std::nullopt;
    part.iters.insert(part.iters.begin(), Iter{half, iter.stride, iter.axis});
    part.iters.insert(part.iters.begin(), Iter{2, iters[k - 2].stride - digit * iter.stride, iter.axis});
    return part;
  }
  return rest == 1 ? std::optional(part) : std::nullopt;
}

std::optional<Reason> box_problem(std::span<const std::int64_t> shape, std::span<const std::int64_t> begin,
                                  std::span<const std::int64_t> extent) {
  if (begin.size() != shape.size() || extent.size() != shape.size()) {
    return Reason{fmt::format("the region has {} bounds and {} extents, the shape {} dimensions", begin.size(), extent.size(),
                              shape.size()),
                  {},
                  {},
                  {}};
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto end = checked_add(begin[d], extent[d]);
    if (begin[d] < 0 || extent[d] < 1 || !end || *end > shape[d]) {
      return Reason{
          fmt::format("[{}, {} + {}) is outside dimension {} of extent {}", begin[d], begin[d], extent[d], d, shape[d]),
          {},
          {begin.begin(), begin.end()},
          {}};
    }
  }
  return std::nullopt;
}

// Dimension by dimension, each over its own iters. Whatever this answers is right; it may refuse what is a layout all the same.
Result<TileLayout> slice_by_iters(const TileLayout& layout, std::span<const std::int64_t> shape,
                                  std::span<const std::int64_t> begin, std::span<const std::int64_t> extent) {
  const auto grouped = group(canonical(layout), shape);
  if (!grouped) return grouped.reason();
  TileLayout result = grouped->layout;
  result.shard.clear();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t first = grouped->separators[d];
    const std::span<const Iter> iters(grouped->layout.shard.data() + first, grouped->separators[d + 1] - first);
    const auto part = slice_dimension(iters, begin[d], extent[d]);
    if (!part) {
      return Reason{
          fmt::format("[{}, {}) of dimension {} carries across iters {} to {} in its middle, so no layout describes it",
                      begin[d], begin[d] + extent[d], d, first, grouped->separators[d + 1] - 1),
          first,
          {begin.begin(), begin.end()},
          {}};
    }
    result.shard.insert(result.shard.end(), part->iters.begin(), part->iters.end());
    for (const AxisOffset& offset : part->offset) add_offset(result.offset, offset.axis, offset.value);
  }
  return result;
}

// Decided by looking at every element of the box.
Result<TileLayout> slice_by_elements(const TileLayout& layout, std::span<const std::int64_t> shape,
                                     std::span<const std::int64_t> begin, std::span<const std::int64_t> extent,
                                     std::int64_t elements) {
  const DigitMap whole = digit_map(layout);
  const auto found = recover(elements, [&](std::int64_t y) {
    std::int64_t x = 0, weight = 1;
    for (std::size_t d = shape.size(); d > 0; --d) {
      x += (begin[d - 1] + y % extent[d - 1]) * weight;
      y /= extent[d - 1];
      weight *= shape[d - 1];
    }
    return evaluate(whole, x);
  });
  if (!found) return found.reason();
  auto result = tile_layout(*found);
  if (!result) return result;
  result->replica = layout.replica;
  result->swizzle = layout.swizzle;
  return result;
}

std::vector<std::int64_t> coordinate_in_box(std::int64_t y, std::span<const std::int64_t> begin,
                                            std::span<const std::int64_t> extent) {
  std::vector<std::int64_t> coordinate(extent.size());
  for (std::size_t d = extent.size(); d > 0; --d) {
    coordinate[d - 1] = begin[d - 1] + y % extent[d - 1];
    y /= extent[d - 1];
  }
  return coordinate;
}

}  // namespace

Result<TileLayout> slice(const TileLayout& layout, std::span<const std::int64_t> shape, std::span<const std::int64_t> begin,
                         std::span<const std::int64_t> extent) {
  if (auto reason = box_problem(shape, begin, extent)) return *reason;
  std::int64_t total = 1, elements = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    total = saturating_mul(total, shape[d]);
    elements = saturating_mul(elements, extent[d]);
  }
  if (total != size(layout))
    return Reason{
        fmt::format("the layout has {} elements, shape {} has {}", size(layout), shape_text(shape), total), {}, {}, {}};
  Result<TileLayout> result = slice_by_iters(layout, shape, begin, extent);
  constexpr std::int64_t most_elements = std::int64_t{1} << 16;
  if (!result && elements <= most_elements) {
    Reason reason = result.reason();
    result = slice_by_elements(layout, shape, begin, extent, elements);
    if (!result) {
      if (!result.reason().coordinate.empty())
        reason.coordinate = coordinate_in_box(result.reason().coordinate.front(), begin, extent);
      return reason;
    }
  }
  if (!result) return result;
  std::erase_if(result->offset, [](const AxisOffset& offset) { return offset.value == 0; });
  std::sort(result->offset.begin(), result->offset.end(),
            [](const AxisOffset& a, const AxisOffset& b) { return a.axis < b.axis; });
  return result;
}

}  // namespace tmemsim
