// Generated copies: both layouts are built digit by digit, so that they are valid by construction, and then sometimes damaged.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ir/kernel/kernel.hpp"
#include "ir/tcgen05.hpp"
#include "tests/property/layout_random.hpp"

namespace tmemsim::tests {

// One digit of the logical index, where it lies on both sides.
struct CopyDigit {
  std::int64_t extent = 1;
  Iter reg, mem;
};

struct CopyCase {
  Buffer reg, mem;                 // mem: tmem, shared or global
  Region reg_region{1, {}}, mem_region{2, {}};
  std::uint32_t warps = 4;
  Where where;
};

template <class T> void shuffle(Random& random, std::vector<T>& list) {
  for (std::size_t k = list.size(); k > 1; --k) std::swap(list[k - 1], list[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(k) - 1))]);
}

// The digits in any order, some of them joined into one dimension: shape and layouts of both buffers.
inline void build(Random& random, std::vector<CopyDigit> digits, CopyCase& result) {
  shuffle(random, digits);
  for (const CopyDigit& digit : digits) {
    result.reg.layout->shard.push_back({digit.extent, digit.reg.stride, digit.reg.axis});
    result.mem.layout->shard.push_back({digit.extent, digit.mem.stride, digit.mem.axis});
    if (!result.reg.shape.empty() && pick(random, 0, 2) != 0) {
      result.reg.shape.back() *= digit.extent;
    } else {
      result.reg.shape.push_back(digit.extent);
    }
  }
  if (result.reg.shape.empty()) {
    result.reg.shape.push_back(1);
    result.reg.layout->shard.push_back({1, 1, Axis::m});
    result.mem.layout->shard.push_back({1, 1, result.mem.space == Space::tmem ? Axis::TCol : Axis::m});
  }
  result.mem.shape = result.reg.shape;
}

// A part of one dimension, on both sides.
inline void take_part(Random& random, CopyCase& one) {
  const auto dimension = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(one.reg.shape.size()) - 1));
  const std::int64_t extent = one.reg.shape[dimension], first = pick(random, 0, extent - 1), last = pick(random, first, extent - 1);
  for (Region* region : {&one.reg_region, &one.mem_region}) {
    for (std::size_t d = 0; d < one.reg.shape.size(); ++d) {
      region->box.push_back(d == dimension ? Range{Expr(first), Expr(last + 1)} : Range{Expr(0), Expr(one.reg.shape[d])});
    }
  }
}

inline void damage(Random& random, TileLayout& layout) {
  if (layout.shard.empty()) return;
  Iter& iter = layout.shard[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(layout.shard.size()) - 1))];
  switch (pick(random, 0, 2)) {
    case 0: iter.stride += pick(random, -2, 2); break;
    case 1: iter.stride *= 2; break;
    default: layout.offset.push_back({iter.axis, pick(random, 1, 3)}); break;
  }
}

// Registers <-> tensor memory: rows of a random shape, chains with gaps, registers in random order.
inline CopyCase random_tensor_copy(Random& random) {
  CopyCase result;
  result.reg.name = "R";
  result.mem.name = "T";
  result.reg.space = Space::local;
  result.mem.space = Space::tmem;
  result.mem.slot = BufferId{0};
  result.mem.column = pick(random, 0, 3);
  result.reg.layout.emplace();
  result.mem.layout.emplace();

  const Shape shape = static_cast<Shape>(pick(random, 0, 4));
  static constexpr std::array dtypes{Dtype::f32, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::u8, Dtype::f64, Dtype::e2m1, Dtype::u32};
  const Dtype dtype = dtypes[static_cast<std::size_t>(pick(random, 0, 7))];
  result.reg.dtype = result.mem.dtype = dtype;
  const std::int64_t width = bits(dtype);
  const bool packed = width == 16 && pick(random, 0, 2) == 0;
  const std::int64_t cell = std::max<std::int64_t>(1, 32 / width);      // elements of a column
  const std::int64_t word = cell;                                       // elements of a register
  const std::int64_t per_column = width == 64 ? 1 : cell;               // TCol units of one column; 64 bits: two columns a unit
  const bool wide = width == 64;

  std::vector<CopyDigit> digits;
  // Inside a register.
  if (packed) {
    digits.push_back({2, {0, 1, Axis::m}, {0, 2, Axis::TCol}});
  } else if (word > 1) {
    digits.push_back({word, {0, 1, Axis::m}, {0, 1, Axis::TCol}});
  }
  const std::int64_t columns_per_unit = packed ? 2 : 1;                 // columns of one register row
  const auto column = [&](std::int64_t c) { return Iter{0, c * columns_per_unit * per_column, Axis::TCol}; };
  // Lanes: bits of the thread, as the shape has them. 64-bit elements need whole pairs of columns: .32x32b only.
  const Shape used = wide ? Shape::s32x32b : shape;
  const std::int64_t split = pick(random, 1, 40) * (pick(random, 0, 3) == 0 ? 64 : 1);
  const auto bit = [&](std::int64_t b) -> Iter {
    const tcgen05::Cell zero = tcgen05::cell(used, false, 0, 0, 0), one = tcgen05::cell(used, false, 0, 1 << b, 0);
    if (used == Shape::s16x32bx2 && b == 4) return column(std::min<std::int64_t>(split, 200));
    if (one.lane != zero.lane) return {0, one.lane - zero.lane, Axis::TLane};
    return column(one.column - zero.column);
  };
  const bool group = pick(random, 0, 1) == 0;
  std::vector<CopyDigit> lanes;
  for (std::int64_t b = 0; b < 5; ++b) lanes.push_back({2, {0, std::int64_t{1} << b, group && pick(random, 0, 1) == 0 ? Axis::laneid : Axis::laneid}, bit(b)});
  digits.insert(digits.end(), lanes.begin(), lanes.end());
  // Warps.
  if (group) {
    result.where.warpgroup = 0;
    digits.push_back({4, {0, 1, Axis::wid_in_wg}, {0, 32, Axis::TLane}});
  } else {
    const auto warp = static_cast<std::uint32_t>(pick(random, 0, 3));
    result.where.warps = Where::Span{warp, warp};
    if (warp > 0) result.mem.layout->offset.push_back({Axis::TLane, 32 * warp});
  }
  // Registers: sub-rows of the shape, then repetitions in one or two runs.
  std::int64_t registers = 1, reach = 1;  // columns of a repetition, in register rows
  std::vector<std::pair<std::int64_t, Iter>> rows;
  if (used == Shape::s16x128b) rows.push_back({2, {0, 8, Axis::TLane}});
  if (used == Shape::s16x256b) {
    rows.push_back({2, column(1)});
    rows.push_back({2, {0, 8, Axis::TLane}});
  }
  reach = tcgen05::facts(used).columns;
  const bool narrow = pick(random, 0, 9) != 0;
  const std::int64_t most = (narrow ? 60 : 400) / columns_per_unit / (wide ? 2 : 1) / (used == Shape::s16x32bx2 ? 2 : 1);
  const std::int64_t first_run = pick(random, 1, std::max<std::int64_t>(1, most / reach / pick(random, 1, 4)));
  if (first_run > 1) rows.push_back({first_run, column(reach)});
  if (pick(random, 0, 2) == 0) rows.push_back({pick(random, 2, 3), column(reach * (first_run + pick(random, 0, 2)))});
  if (used != Shape::s32x32b && pick(random, 0, 1) == 0) {
    if (pick(random, 0, 1) == 0) {
      rows.push_back({2, {0, 16, Axis::TLane}});
    } else {
      result.mem.layout->offset.push_back({Axis::TLane, 16});
    }
  }
  shuffle(random, rows);
  const std::int64_t reg_step = packed ? 2 : word;
  const std::int64_t gap = pick(random, 0, 5) == 0 ? 2 : 1;
  for (const auto& [extent, mem] : rows) {
    digits.push_back({extent, {0, registers * reg_step * gap, Axis::m}, mem});
    registers *= extent;
  }
  build(random, std::move(digits), result);
  if (pick(random, 0, 3) == 0) take_part(random, result);
  if (pick(random, 0, 5) == 0) damage(random, pick(random, 0, 1) == 0 ? *result.reg.layout : *result.mem.layout);
  // One entry an axis.
  for (TileLayout* layout : {&*result.reg.layout, &*result.mem.layout}) {
    std::vector<AxisOffset> merged;
    for (const AxisOffset& offset : layout->offset) {
      const auto same = std::find_if(merged.begin(), merged.end(), [&](const AxisOffset& m) { return m.axis == offset.axis; });
      if (same != merged.end()) {
        same->value += offset.value;
      } else {
        merged.push_back(offset);
      }
    }
    layout->offset = std::move(merged);
  }
  return result;
}

// Registers <-> shared or global memory: any thread digits, padded rows, swizzles, replicas.
inline CopyCase random_memory_copy(Random& random) {
  CopyCase result;
  result.reg.name = "R";
  result.mem.name = "M";
  result.reg.space = Space::local;
  result.mem.space = pick(random, 0, 1) == 0 ? Space::shared : Space::global;
  result.reg.layout.emplace();
  result.mem.layout.emplace();
  static constexpr std::array dtypes{Dtype::f32, Dtype::f16, Dtype::u8, Dtype::f64, Dtype::e2m1, Dtype::e3m2, Dtype::u32, Dtype::f16};
  result.reg.dtype = result.mem.dtype = dtypes[static_cast<std::size_t>(pick(random, 0, 7))];
  result.warps = static_cast<std::uint32_t>(pick(random, 0, 1) == 0 ? 1 : 4);

  std::vector<CopyDigit> digits;
  std::vector<std::pair<std::int64_t, Iter>> walked;
  const std::int64_t kind = pick(random, 0, 3);
  const Axis axis = kind == 0 || result.warps == 1 ? Axis::laneid : kind == 1 ? Axis::tid_in_wg : kind == 2 ? Axis::tx : Axis::wid_in_wg;
  const std::int64_t threads = axis == Axis::laneid ? 32 : axis == Axis::wid_in_wg ? 4 : 128;
  std::int64_t used = pick(random, 0, 3) == 0 ? pick(random, 2, 3) : 1;   // gaps below, between and above
  while (used < threads) {
    const std::int64_t extent = pick(random, 0, 1) == 0 ? std::min<std::int64_t>(threads / used, 8) : pick(random, 2, 5);
    if (extent < 2 || used * extent > threads) break;
    walked.push_back({extent, {0, used, axis}});
    used *= extent;
    if (pick(random, 0, 4) == 0) ++used;
  }
  if (axis == Axis::laneid && result.warps == 1 && pick(random, 0, 2) == 0) result.where.warps = Where::Span{0, 0};
  if (result.warps == 4 && axis != Axis::laneid && pick(random, 0, 1) == 0) result.where.warpgroup = 0;
  const std::int64_t register_digits = pick(random, 0, 3);
  std::int64_t slots = 1;
  for (std::int64_t k = 0; k < register_digits; ++k) {
    static constexpr std::array extents{2, 2, 4, 4, 8, 3};
    const std::int64_t extent = extents[static_cast<std::size_t>(pick(random, 0, 5))];
    walked.push_back({extent, {0, slots, Axis::m}});
    slots *= extent;
    if (pick(random, 0, 7) == 0) slots *= 2;
  }
  // Memory order: registers innermost more often than not.
  if (pick(random, 0, 3) == 0) {
    shuffle(random, walked);
  } else {
    std::stable_sort(walked.begin(), walked.end(), [](const auto& a, const auto& b) { return (a.second.axis == Axis::m) > (b.second.axis == Axis::m); });
  }
  std::int64_t stride = 1;
  bool powers = true;
  for (const auto& [extent, place] : walked) {
    digits.push_back({extent, place, {0, stride, Axis::m}});
    stride *= extent;
    powers = powers && (extent & (extent - 1)) == 0;
    if (pick(random, 0, 5) == 0) {
      const std::int64_t padding = pick(random, 1, 8);
      stride += padding;
      powers = powers && (stride & (stride - 1)) == 0;
    }
  }
  if (powers && result.mem.space == Space::shared && bits(result.mem.dtype) != 6 && pick(random, 0, 2) == 0) {
    const int length = static_cast<int>(pick(random, 1, 3));
    result.mem.layout->swizzle = Swizzle{static_cast<int>(pick(random, bits(result.mem.dtype) == 4 ? 1 : 0, 4)), length, static_cast<int>(pick(random, length, 4)), pick(random, 0, 3) != 0};
  }
  build(random, std::move(digits), result);
  if (pick(random, 0, 9) == 0 && axis == Axis::laneid && used <= 16) result.reg.layout->replica.push_back({2, 16, Axis::laneid});
  if (pick(random, 0, 3) == 0) take_part(random, result);
  if (pick(random, 0, 7) == 0) damage(random, pick(random, 0, 1) == 0 ? *result.reg.layout : *result.mem.layout);
  return result;
}

// The kernel of the one copy; buffer 0 is the slot of the base address, 1 the registers, 2 the memory.
inline Kernel kernel_of(const CopyCase& one, bool into_registers) {
  Kernel kernel;
  kernel.name = "generated";
  kernel.launch.warps = one.warps;
  Buffer slot;
  slot.name = "slot";
  slot.space = Space::shared;
  slot.dtype = Dtype::u32;
  slot.shape = {1};
  kernel.buffers = {slot, one.reg, one.mem};
  Stmt stmt;
  stmt.where = one.where;
  const Region& dst = into_registers ? one.reg_region : one.mem_region;
  const Region& src = into_registers ? one.mem_region : one.reg_region;
  if (one.mem.space == Space::tmem) {
    stmt.node = TileOps::Any(CopyAsync{dst, src, {}});
  } else {
    stmt.node = TileOps::Any(Copy{dst, src, {}});
  }
  kernel.body.push_back(std::move(stmt));
  return kernel;
}

}  // namespace tmemsim::tests
