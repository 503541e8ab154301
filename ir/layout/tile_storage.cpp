// Splitting and merging elements, broadcasting, what one thread holds.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim {
namespace {

Result<int> swizzle_bits(const TileLayout& layout, std::int64_t count) {
  if (count < 1) return Reason{fmt::format("{} parts; at least one is needed", count), {}, {}, {}};
  if (!layout.swizzle) return 0;
  if (!std::has_single_bit(static_cast<std::uint64_t>(count))) {
    return Reason{fmt::format("{} parts of an element under a swizzle; a power of two is needed", count), {}, {}, {}};
  }
  return std::countr_zero(static_cast<std::uint64_t>(count));
}

Axis packing_axis(const TileLayout& layout) {
  for (std::size_t k = layout.shard.size(); k > 0; --k) {
    if (!is_thread(layout.shard[k - 1].axis) && layout.shard[k - 1].extent > 1) return layout.shard[k - 1].axis;
  }
  return Axis::m;
}

}  // namespace

Result<TileLayout> unpack(const TileLayout& layout, std::int64_t count) {
  const auto shift = swizzle_bits(layout, count);
  if (!shift) return shift.reason();
  const Axis axis = packing_axis(layout);
  TileLayout result = layout;
  for (std::vector<Iter>* iters : {&result.shard, &result.replica}) {
    for (std::size_t k = 0; k < iters->size(); ++k) {
      if ((*iters)[k].axis != axis) continue;
      const auto stride = checked_mul((*iters)[k].stride, count);
      if (!stride) return Reason{fmt::format("the stride of iter {} exceeds 64 bits", k), k, {}, {}};
      (*iters)[k].stride = *stride;
    }
  }
  for (AxisOffset& offset : result.offset) {
    if (offset.axis != axis) continue;
    const auto value = checked_mul(offset.value, count);
    if (!value) return Reason{fmt::format("the offset on {} exceeds 64 bits", name(axis)), {}, {}, {}};
    offset.value = *value;
  }
  result.shard.push_back({count, 1, axis});
  if (result.swizzle) result.swizzle->per_element += *shift;
  if (auto reason = problem_with(result)) return *reason;
  return result;
}

Result<TileLayout> pack(const TileLayout& layout, std::int64_t count) {
  const auto shift = swizzle_bits(layout, count);
  if (!shift) return shift.reason();
  TileLayout result = layout;
  std::size_t last = result.shard.size();
  while (last > 0 && result.shard[last - 1].extent == 1) --last;
  if (last == 0)
    return count == 1 ? Result<TileLayout>(layout)
                      : Result<TileLayout>(Reason{"a layout of one element cannot be packed", {}, {}, {}});
  Iter& dense = result.shard[last - 1];
  if (is_thread(dense.axis) || dense.stride != 1 || dense.extent % count != 0) {
    return Reason{fmt::format("iter {}, {}:{}@{}, holds no {} neighbouring elements to merge", last - 1, dense.extent,
                              dense.stride, name(dense.axis), count),
                  last - 1,
                  {},
                  {}};
  }
  const Axis axis = dense.axis;
  dense.extent /= count;
  for (std::vector<Iter>* iters : {&result.shard, &result.replica}) {
    for (std::size_t k = 0; k < iters->size(); ++k) {
      Iter& iter = (*iters)[k];
      if (iter.axis != axis || &iter == &dense || iter.extent == 1) continue;
      if (iter.stride % count != 0)
        return Reason{fmt::format("the stride {} of iter {} is no multiple of {}", iter.stride, k, count), k, {}, {}};
      iter.stride /= count;
    }
  }
  for (AxisOffset& offset : result.offset) {
    if (offset.axis != axis) continue;
    if (offset.value % count != 0)
      return Reason{fmt::format("the offset {} on {} is no multiple of {}", offset.value, name(axis), count), {}, {}, {}};
    offset.value /= count;
  }
  if (result.swizzle) {
    if (result.swizzle->per_element < *shift)
      return Reason{fmt::format("the swizzle moves chunks smaller than {} elements", count), {}, {}, {}};
    result.swizzle->per_element -= *shift;
  }
  return result;
}

Result<TileLayout> broadcast(const TileLayout& layout, std::int64_t count) {
  if (count < 1) return Reason{fmt::format("{} copies; at least one is needed", count), {}, {}, {}};
  TileLayout result = layout;
  result.shard.push_back({count, 0, Axis::m});
  if (auto reason = problem_with(result)) return *reason;
  return result;
}

TileLayout storage(const TileLayout& layout) {
  TileLayout result = layout;
  const auto on_thread = [](const auto& part) { return is_thread(part.axis); };
  std::erase_if(result.shard, on_thread);
  std::erase_if(result.replica, on_thread);
  std::erase_if(result.offset, on_thread);
  return result;
}

Result<TileLayout> with_swizzle(const TileLayout& layout, const Swizzle& swizzle) {
  TileLayout result = layout;
  if (!layout.swizzle || layout.swizzle->swizzle_len == 0) {
    result.swizzle = swizzle;
  } else if (*layout.swizzle == swizzle) {
    result.swizzle.reset();  // x ^ s ^ s
  } else if (swizzle.swizzle_len != 0) {
    return Reason{"two different swizzles are no swizzle", {}, {}, {}};
  }
  if (auto reason = problem_with(result)) return *reason;
  return result;
}

bool is_trivial(const TileLayout& layout) {
  const TileLayout simple = canonical(layout);
  if (simple.swizzle || !simple.replica.empty() || !simple.offset.empty() || simple.shard.size() > 1) return false;
  return simple.shard.empty() ||
         (!is_thread(simple.shard[0].axis) && (simple.shard[0].stride == 1 || simple.shard[0].extent == 1));
}

std::int64_t storage_span(const TileLayout& layout) {
  std::int64_t last = 0;
  for (const AxisFacts& row : axis_table) {
    if (!row.thread) last = wrapping_add(last, span_on(layout, row.axis) - 1);
  }
  return wrapping_add(last, 1);
}

}  // namespace tmemsim
