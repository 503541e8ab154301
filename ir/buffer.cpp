#include "ir/buffer.hpp"

#include <algorithm>
#include <limits>

#include "ir/checked.hpp"

namespace tmemsim {
namespace {

// A swizzle permutes aligned blocks of slots, so the last slot in use may be the last one of its block.
std::int64_t swizzle_block(const Swizzle& swizzle) {
  const int moved = swizzle.inner ? swizzle.swizzle_len : swizzle.atom_len + swizzle.swizzle_len;
  return std::int64_t{1} << std::clamp(swizzle.per_element + moved, 0, 62);
}

// Slots from 0 to the last one in use on a memory axis.
std::int64_t slots(const TileLayout& layout, Axis axis) {
  const std::int64_t span = std::max<std::int64_t>(0, span_on(layout, axis));
  if (axis != Axis::m || !layout.swizzle) return span;
  const std::int64_t block = swizzle_block(*layout.swizzle);
  return saturating_mul(ceil_div(span, block), block);
}

std::int64_t units(std::int64_t count, Dtype dtype, int unit_bits) {
  const std::int64_t bits_in_all = saturating_mul(count, bits(dtype));
  return ceil_div(bits_in_all, unit_bits);
}

}  // namespace

std::int64_t element_count(const Buffer& buffer) {
  std::int64_t count = 1;
  for (std::int64_t extent : buffer.shape) count = saturating_mul(count, std::max<std::int64_t>(0, extent));
  return count;
}

TileLayout layout_of(const Buffer& buffer) { return buffer.layout ? *buffer.layout : row_major(buffer.shape); }

std::int64_t byte_size(const Buffer& buffer) {
  return units(buffer.layout ? slots(*buffer.layout, Axis::m) : element_count(buffer), buffer.dtype, 8);
}

int register_count(const Buffer& buffer) {
  const std::int64_t count = units(buffer.layout ? slots(*buffer.layout, Axis::m) : element_count(buffer), buffer.dtype, 32);
  return static_cast<int>(std::min<std::int64_t>(count, std::numeric_limits<int>::max()));
}

std::int64_t tmem_columns(const Buffer& buffer) {
  return buffer.layout ? units(slots(*buffer.layout, Axis::TCol), buffer.dtype, 32) : 0;
}

}  // namespace tmemsim
