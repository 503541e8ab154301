// From the logical indices of a box to slots, bytes and cells: the buffer's layout written as an index expression.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "emit/cuda/cuda.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim::emit {
namespace {

using Coordinates = std::array<Expr, axis_count>;

Expr plus(const Expr& a, const Expr& b) {
  if (a.as_constant() == 0) return b;
  return b.as_constant() == 0 ? a : a + b;
}

// a * factor, with the factor taken into sums and constant factors of `a` (32-bit arithmetic wraps, so that is exact).
Expr times(const Expr& a, std::int64_t factor) {
  if (factor == 1) return a;
  if (factor == 0) return 0;
  if (a.op() == ExprOp::add) return times(a.a(), factor) + times(a.b(), factor);
  if (a.op() == ExprOp::mul) {
    if (const auto constant = a.b().as_constant()) return times(a.a(), *constant * factor);
  }
  return a * Expr(factor);
}
Expr quotient(const Expr& a, std::int64_t divisor) { return divisor == 1 ? a : Expr::binary(ExprOp::div, a, Expr(divisor)); }
Expr modulo(const Expr& a, std::int64_t divisor) { return Expr::binary(ExprOp::mod, a, Expr(divisor)); }

// Neighbouring iters that continue each other are one.
std::vector<Iter> fused(std::span<const Iter> iters) {
  std::vector<Iter> result;
  for (const Iter& iter : iters) {
    if (iter.extent == 1) continue;
    if (!result.empty() && result.back().axis == iter.axis && result.back().stride == iter.stride * iter.extent) {
      result.back() = {result.back().extent * iter.extent, iter.stride, iter.axis};
    } else {
      result.push_back(iter);
    }
  }
  return result;
}

// Adds the images of one logical index; the outermost digit takes the whole remaining quotient.
void add_digits(Coordinates& coordinates, std::span<const Iter> iters, const Expr& index) {
  const std::vector<Iter> digits = fused(iters);
  std::int64_t weight = 1;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const Iter& iter = digits[i];
    Expr digit = quotient(index, weight);
    if (i > 0) digit = modulo(digit, iter.extent);
    Expr& coordinate = coordinates[static_cast<std::size_t>(iter.axis)];
    coordinate = plus(coordinate, times(digit, iter.stride));
    weight *= iter.extent;
  }
}

Expr first_index(const std::vector<Range>& box, std::size_t dimension) {
  return dimension < box.size() ? box[dimension].lo : Expr(0);
}

Expr row_major_index(const std::vector<std::int64_t>& shape, const std::vector<Range>& box) {
  Expr index = 0;
  std::int64_t weight = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    index = plus(times(first_index(box, d), weight), index);
    weight *= shape[d];
  }
  return index;
}

Expr swizzled(const Swizzle& swizzle, const Expr& slot) {
  const auto shift_left = [](const Expr& a, int count) { return Expr::binary(ExprOp::shl, a, Expr(count)); };
  const auto shift_right = [](const Expr& a, int count) { return Expr::binary(ExprOp::shr, a, Expr(count)); };
  const auto masked = [](const Expr& a, int bits) {
    return Expr::binary(ExprOp::bit_and, a, Expr((std::int64_t{1} << bits) - 1));
  };
  const Expr unit = shift_right(slot, swizzle.per_element);
  const Expr change = swizzle.inner ? masked(shift_right(unit, swizzle.atom_len), swizzle.swizzle_len)
                                    : shift_left(masked(unit, swizzle.swizzle_len), swizzle.atom_len);
  return Expr::binary(ExprOp::bit_xor, slot, shift_left(change, swizzle.per_element));
}

Coordinates offsets(const TileLayout& layout) {
  Coordinates coordinates;
  coordinates.fill(Expr(0));
  for (const AxisOffset& offset : layout.offset) coordinates[static_cast<std::size_t>(offset.axis)] = Expr(offset.value);
  return coordinates;
}

void swizzle_slot(Coordinates& coordinates, const TileLayout& layout) {
  Expr& slot = coordinates[static_cast<std::size_t>(Axis::m)];
  if (layout.swizzle) slot = swizzled(*layout.swizzle, slot);
}

Coordinates coordinates_of(const Buffer& buffer, const std::vector<Range>& box) {
  const TileLayout layout = layout_of(buffer);
  Coordinates coordinates = offsets(layout);
  if (const auto grouped = group(layout, buffer.shape)) {
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      const std::size_t begin = grouped->separators[d], end = grouped->separators[d + 1];
      add_digits(coordinates, std::span(grouped->layout.shard).subspan(begin, end - begin), first_index(box, d));
    }
  } else {
    add_digits(coordinates, layout.shard, row_major_index(buffer.shape, box));
  }
  swizzle_slot(coordinates, layout);
  return coordinates;
}

}  // namespace

Expr element_slot(const Buffer& buffer, const std::vector<Range>& box) {
  return coordinates_of(buffer, box)[static_cast<std::size_t>(Axis::m)];
}

Expr slot_of_index(const Buffer& buffer, const Expr& index) {
  const TileLayout layout = layout_of(buffer);
  Coordinates coordinates = offsets(layout);
  add_digits(coordinates, layout.shard, index);
  swizzle_slot(coordinates, layout);
  return coordinates[static_cast<std::size_t>(Axis::m)];
}

Expr byte_offset(const Buffer& buffer, const Mem& mem) {
  if (mem.byte) return *mem.byte;
  const Expr slot = element_slot(buffer, mem.box);
  const int width = bits(buffer.dtype);
  return width % 8 == 0 ? times(slot, width / 8) : quotient(times(slot, width), 8);
}

CellOffset cell_offset(const Buffer& buffer, const std::vector<Range>& box) {
  const Coordinates coordinates = coordinates_of(buffer, box);
  const Expr& slot = coordinates[static_cast<std::size_t>(Axis::TCol)];
  const int width = bits(buffer.dtype);
  const Expr column = width % 32 == 0   ? times(slot, width / 32)
                      : 32 % width == 0 ? quotient(slot, 32 / width)
                                        : quotient(times(slot, width), 32);
  return {coordinates[static_cast<std::size_t>(Axis::TLane)], plus(column, Expr(buffer.column))};
}

}  // namespace tmemsim::emit
