// Facts about tensor memory and the tcgen05.ld/st shapes, as closed forms. PTX ISA 9.7.16.2 and 9.7.16.8.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/op.hpp"

namespace tmemsim::tcgen05 {

inline constexpr int lanes = 128;             // of one SM's tensor memory
inline constexpr int columns = 512;           // of 32 bits
inline constexpr int quadrant_lanes = 32;     // lanes that one warp reaches: 32 * (warp % 4) ..
inline constexpr int granule_columns = 32;    // unit of allocation
inline constexpr int most_registers = 128;    // of one ld or st
inline constexpr std::uint32_t address_mask = 0x007f01ffu;  // lane in bits 22:16, column in bits 8:0

constexpr bool is_alloc_size(std::int64_t cols) { return cols == 32 || cols == 64 || cols == 128 || cols == 256 || cols == 512; }

constexpr std::uint32_t address(std::uint32_t lane, std::uint32_t column) { return (lane << 16) | column; }
constexpr std::uint32_t lane_of(std::uint32_t address) { return address >> 16; }
constexpr std::uint32_t column_of(std::uint32_t address) { return address & 0xffffu; }

// One row a shape: registers per thread and columns of one repetition, largest .num, lanes touched.
struct ShapeFacts {
  int registers, columns, most_num, lanes;
};
constexpr ShapeFacts facts(Shape shape) {
  switch (shape) {
    case Shape::s32x32b: return {1, 1, 128, 32};
    case Shape::s16x64b: return {1, 2, 128, 16};
    case Shape::s16x128b: return {2, 4, 64, 16};
    case Shape::s16x256b: return {4, 8, 32, 16};
    case Shape::s16x32bx2: return {1, 1, 128, 16};  // columns of one half
  }
  return {};
}
constexpr bool is_legal_num(Shape shape, int num) { return num >= 1 && (num & (num - 1)) == 0 && num <= facts(shape).most_num; }
constexpr int registers(Shape shape, int num) { return facts(shape).registers * num; }

// The cell that register `reg` of thread `thread` stands for, relative to the address. With pack/unpack a register covers the
// low halves of two cells: `packed_half` 0 and 1. `half_split` is immHalfSplitoff (16x32bx2 only; may carry lane bits).
struct Cell {
  int lane, column;
};
constexpr Cell cell(Shape shape, bool packed, std::int32_t half_split, int thread, int reg, int packed_half = 0) {
  int lane = 0, column = 0, split = 0;
  switch (shape) {
    case Shape::s32x32b: lane = thread; column = reg; break;
    case Shape::s16x64b: lane = (thread >> 2) + 8 * (thread & 1); column = 2 * reg + ((thread >> 1) & 1); break;
    case Shape::s16x128b: lane = (thread >> 2) + 8 * (reg & 1); column = 4 * (reg >> 1) + (thread & 3); break;
    case Shape::s16x256b: lane = (thread >> 2) + 8 * ((reg >> 1) & 1); column = 8 * (reg >> 2) + 2 * (thread & 3) + (reg & 1); break;
    case Shape::s16x32bx2: lane = thread & 15; column = reg; split = thread >> 4; break;
  }
  if (packed) column = 2 * column + packed_half;
  if (split != 0) {
    const int columns_apart = static_cast<std::int16_t>(half_split & 0xffff);
    lane += (half_split - columns_apart) >> 16;  // an addend: a negative column borrows from the lane
    column += columns_apart;
  }
  return {lane, column};
}

}  // namespace tmemsim::tcgen05
