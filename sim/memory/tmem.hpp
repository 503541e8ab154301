// Tensor memory of one SM: 128 lanes x 512 columns of 32-bit cells, what is known of each cell, and who touched it.
// Stored column by column, so that one column of a quadrant is 32 consecutive words. PTX ISA 9.7.16.2.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "ir/tcgen05.hpp"
#include "sim/check/access.hpp"

namespace tmemsim::sim {

inline constexpr std::uint32_t tmem_poison = 0xbad0bad0u;
inline constexpr int quadrants = tcgen05::lanes / tcgen05::quadrant_lanes;
inline constexpr int slab_lanes = 16;  // every ld and st touches whole slabs: 16 lanes x 1 column
inline constexpr int slabs = tcgen05::lanes / slab_lanes;

// One column of one quadrant; bit i is lane 32 * quadrant + i.
struct CellState {
  std::uint32_t low = 0, high = 0;  // halves that somebody has written since the allocation
  std::uint32_t defined = 0;        // whose value came from written data
  std::uint32_t bad = 0;            // about which a finding has been made: no more findings until rewritten
  bool operator==(const CellState&) const = default;
};

struct Tmem {
  std::array<std::array<std::uint32_t, tcgen05::lanes>, tcgen05::columns> cell;            // [column][lane]
  std::array<std::array<CellState, tcgen05::columns>, quadrants> state{};                  // [quadrant][column]
  std::array<std::array<AccessId, tcgen05::columns>, slabs> writer{}, reader{};            // [slab][column]

  std::map<std::uint32_t, std::uint32_t> origins;  // column * 128 + lane: of an undefined value that has been stored (Machine::origins)

  Tmem() {
    for (auto& column : cell) column.fill(tmem_poison);
  }
  // A fresh allocation: nothing in these columns has a value or a past.
  void reset(std::uint32_t first_column, std::uint32_t count) {
    for (std::uint32_t column = first_column; column < first_column + count; ++column) {
      cell[column].fill(tmem_poison);
      for (auto& quadrant : state) quadrant[column] = {};
      for (auto& row : writer) row[column] = 0;
      for (auto& row : reader) row[column] = 0;
    }
  }
};

}  // namespace tmemsim::sim
