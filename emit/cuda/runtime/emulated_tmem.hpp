// Tensor memory emulated in ordinary memory: 128 lanes x 512 columns for each CTA, for GPUs that have none and for the host.
//
// A second implementation of alloc, dealloc, ld and st, written from the inverse maps (which register of which thread owns a
// cell; PTX ISA 9.7.16.8) and apart from the simulator, with which its results are compared. Loads and stores take effect at
// once. CTAs do not share columns; the CTAs of a pair allocate together. What the hardware leaves undefined or traps on stops the program.
//
// This text is put into emitted programs.
#pragma once

#include <cstdint>
#include <cstdio>

#include "emit/cuda/runtime/host_cuda.hpp"

namespace emulated {

struct TensorMemory {
  uint32_t cell[128][512];  // lane, column
  uint32_t owner[16];       // by unit of 32 columns: 1 + first unit of the allocation that holds it; 0: free
  uint32_t lock;            // 1: some warp is changing owner
  uint32_t relinquished;    // 1: the CTA may not allocate any more
  uint32_t pair_columns;    // second CTA of a pair: columns that it asks for; 0: none
  uint32_t pair_answer;     // second CTA of a pair: 1 + the address that the first one has found for both; 0: none
};

constexpr uint32_t never_written = 0xbad0bad0u;

__device__ TensorMemory* tensor_memories = nullptr;  // by CTA of the grid

__device__ inline uint32_t cta_in_grid() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

__device__ inline TensorMemory& own() { return tensor_memories[cta_in_grid()]; }

__device__ inline void fault(const char* what) {
  printf("emulated tensor memory: %s\n", what);
  __trap();
}

__device__ inline void take_lock(TensorMemory& memory) {
  while (atomicCAS(&memory.lock, 0, 1) != 0) __nanosleep(20);
  __threadfence();
}

__device__ inline void give_lock(TensorMemory& memory) {
  __threadfence();
  atomicExch(&memory.lock, 0);
}

__device__ inline bool is_free(const TensorMemory& memory, int first, int units) {
  for (int unit = first; unit < first + units; ++unit) {
    if (memory.owner[unit] != 0) return false;
  }
  return true;
}

__device__ inline void take(TensorMemory& memory, int first, int units) {
  for (int unit = first; unit < first + units; ++unit) memory.owner[unit] = uint32_t(first) + 1;
}

__device__ inline int units_of(uint32_t columns) {
  const bool legal = columns >= 32 && columns <= 512 && (columns & (columns - 1)) == 0;
  if (!legal) fault("alloc takes 32, 64, 128, 256 or 512 columns");
  return int(columns) / 32;
}

// Takes the lowest run that is free in both memories (which may be one and the same) and aligned to its length: its first unit,
// or -1.
__device__ inline int take_lowest(TensorMemory& memory, TensorMemory& other, int units) {
  for (int first = 0; first + units <= 16; first += units) {
    if (!is_free(memory, first, units) || !is_free(other, first, units)) continue;
    take(memory, first, units);
    take(other, first, units);
    return first;
  }
  return -1;
}

// One lane allocates; waits while the columns are not free. The address, lane 0.
__device__ inline uint32_t alloc(uint32_t columns) {
  TensorMemory& memory = own();
  const int units = units_of(columns);
  while (true) {
    take_lock(memory);
    if (memory.relinquished) fault("alloc after the permit was relinquished");
    const int first = take_lowest(memory, memory, units);
    give_lock(memory);
    if (first >= 0) return uint32_t(32 * first);
    __nanosleep(100);
  }
}

// One lane of each CTA of a pair (CTAs 2p and 2p + 1 of the grid) allocates; the first CTA finds the columns for both.
__device__ inline uint32_t alloc_pair(uint32_t columns) {
  const int units = units_of(columns);
  if (own().relinquished) fault("alloc after the permit was relinquished");
  const bool first_of_pair = cta_in_grid() % 2 == 0;
  TensorMemory& one = tensor_memories[cta_in_grid() & ~1u];
  TensorMemory& two = tensor_memories[cta_in_grid() | 1u];
  if (!first_of_pair) {
    if (atomicExch(&two.pair_columns, columns) != 0) fault("two warps of a CTA allocate in the pair at once");
    uint32_t answer = 0;
    while ((answer = atomicExch(&two.pair_answer, 0)) == 0) __nanosleep(100);
    __threadfence();
    return answer - 1;
  }
  uint32_t asked = 0;
  while ((asked = atomicExch(&two.pair_columns, 0)) == 0) __nanosleep(100);
  if (asked != columns) fault("the CTAs of a pair ask for different numbers of columns");
  while (true) {
    take_lock(one);
    take_lock(two);
    const int first = take_lowest(one, two, units);
    give_lock(two);
    give_lock(one);
    if (first >= 0) {
      atomicExch(&two.pair_answer, uint32_t(32 * first) + 1);
      return uint32_t(32 * first);
    }
    __nanosleep(100);
  }
}

// One lane frees exactly what was allocated; in a pair each CTA frees its half, and a later allocation needs both.
__device__ inline void dealloc(uint32_t address, uint32_t columns) {
  TensorMemory& memory = own();
  const uint32_t first = address / 32, end = first + columns / 32;
  if (address % 32 != 0 || columns == 0 || columns % 32 != 0 || end > 16) fault("dealloc does not name an allocation");
  take_lock(memory);
  bool exact = true;
  for (uint32_t unit = first; unit < end; ++unit) exact = exact && memory.owner[unit] == first + 1;
  if (!exact || (end < 16 && memory.owner[end] == first + 1)) fault("dealloc does not name an allocation");
  for (uint32_t unit = first; unit < end; ++unit) memory.owner[unit] = 0;
  give_lock(memory);
}

__device__ inline void relinquish() {
  take_lock(own());
  own().relinquished = 1;
  give_lock(own());
}

// The register that owns a cell, from the cell's lane and column relative to the address.
struct Owner {
  int thread, reg;
};

struct Shape32x32b {
  static constexpr int lanes = 32;
  static constexpr int columns = 1;
  __device__ static Owner owner(int lane, int column) { return {lane, column}; }
};
struct Shape16x64b {
  static constexpr int lanes = 16;
  static constexpr int columns = 2;
  __device__ static Owner owner(int lane, int column) { return {4 * (lane % 8) + lane / 8 + 2 * (column % 2), column / 2}; }
};
struct Shape16x128b {
  static constexpr int lanes = 16;
  static constexpr int columns = 4;
  __device__ static Owner owner(int lane, int column) { return {4 * (lane % 8) + column % 4, lane / 8 + 2 * (column / 4)}; }
};
struct Shape16x256b {
  static constexpr int lanes = 16;
  static constexpr int columns = 8;
  __device__ static Owner owner(int lane, int column) {
    return {4 * (lane % 8) + column % 8 / 2, column % 2 + 2 * (lane / 8) + 4 * (column / 8)};
  }
};
// One half of .16x32bx2: the lower 16 threads at the address, the upper ones behind the half split, both on the same lanes.
template <int Half>
struct Shape16x32bHalf {
  static constexpr int lanes = 16;
  static constexpr int columns = 1;
  __device__ static Owner owner(int lane, int column) { return {lane + 16 * Half, column}; }
};

// The first lane that an address means for this warp: its own quadrant, which the address may name or leave out.
__device__ inline int first_lane(uint32_t address, int lanes) {
  const int quadrant = int(threadIdx.x / 32 % 4), lane = int(address >> 16);
  if (lane > 127 || (lane / 32 != 0 && lane / 32 != quadrant)) fault("the address names lanes of another warp");
  if (lane % 32 != 0 && (lanes == 32 || lane % 32 != 16)) fault("the address starts at a lane that the shape does not take");
  return 32 * quadrant + lane % 32;
}

__device__ inline void check_columns(const TensorMemory& memory, int first, int count) {
  if (first < 0 || first + count > 512) fault("the access leaves the 512 columns");
  for (int unit = first / 32; unit <= (first + count - 1) / 32; ++unit) {
    if (memory.owner[unit] == 0) fault("the access touches columns that are not allocated");
  }
}

// Cells in the order of lanes and columns: `Move` is called for those whose register the thread holds. A packed register is
// the low halves of two neighbouring cells.
template <class Shape, int Num, bool Packed, class Move>
__device__ void for_own_cells(uint32_t address, Move move) {
  TensorMemory& memory = own();
  constexpr int columns = Shape::columns * Num * (Packed ? 2 : 1);
  const int lane0 = first_lane(address, Shape::lanes), column0 = int(address & 0xffffu);
  check_columns(memory, column0, columns);
  const int self = int(threadIdx.x % 32);
  for (int lane = 0; lane < Shape::lanes; ++lane) {
    for (int column = 0; column < columns; ++column) {
      const Owner owner = Shape::owner(lane, Packed ? column / 2 : column);
      if (owner.thread == self) move(memory.cell[lane0 + lane][column0 + column], owner.reg, Packed ? column % 2 : 0);
    }
  }
}

template <class Shape, int Num, bool Pack>
__device__ void ld(uint32_t address, uint32_t* r) {
  for_own_cells<Shape, Num, Pack>(address, [r](uint32_t& cell, int reg, int half) {
    if (!Pack) {
      r[reg] = cell;
    } else if (half == 0) {
      r[reg] = cell & 0xffffu;
    } else {
      r[reg] |= cell << 16;
    }
  });
}

// The upper half of a cell keeps its value under .unpack::16b; the ISA leaves it open.
template <class Shape, int Num, bool Unpack>
__device__ void st(uint32_t address, const uint32_t* r) {
  for_own_cells<Shape, Num, Unpack>(address, [r](uint32_t& cell, int reg, int half) {
    cell = Unpack ? (cell & 0xffff0000u) | (r[reg] >> 16 * half & 0xffffu) : r[reg];
  });
}

// .16x32bx2: the address of the second half is the first plus the immediate, as 32-bit numbers.
template <int Num, bool Pack>
__device__ void ld_halves(uint32_t address, int split, uint32_t* r) {
  ld<Shape16x32bHalf<0>, Num, Pack>(address, r);
  ld<Shape16x32bHalf<1>, Num, Pack>(address + uint32_t(split), r);
}
template <int Num, bool Unpack>
__device__ void st_halves(uint32_t address, int split, const uint32_t* r) {
  st<Shape16x32bHalf<0>, Num, Unpack>(address, r);
  st<Shape16x32bHalf<1>, Num, Unpack>(address + uint32_t(split), r);
}

}  // namespace emulated
