// Tensor memory of one SM: 128 lanes x 512 columns of 32-bit cells, what is known of each cell, and who touched it.
// Stored column by column, so that one column of a quadrant is 32 consecutive words. PTX ISA 9.7.16.2.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "ir/tcgen05.hpp"
#include "sim/check/access.hpp"

namespace tmemsim::sim {

inline constexpr std::uint32_t tmem_poison = 0xbad0bad0u;
inline constexpr int quadrants = tcgen05::lanes / tcgen05::quadrant_lanes;
inline constexpr int slab_lanes = 16;  // every ld and st touches whole slabs: 16 lanes x 1 column
inline constexpr int slabs = tcgen05::lanes / slab_lanes;
constexpr std::uint32_t lanes_of_slab(std::uint32_t slab) { return slab % 2 == 0 ? 0x0000ffffu : 0xffff0000u; }  // of its quadrant

// One column of one quadrant; bit i is lane 32 * quadrant + i.
struct CellState {
  std::uint32_t low = 0, high = 0;  // halves that somebody has written since the allocation
  std::uint32_t defined = 0;        // whose value came from written data
  std::uint32_t bad = 0;            // about which a finding has been made: no more findings until rewritten
  bool operator==(const CellState&) const = default;
};

// Who touched each lane of a slab that some operation touched in part.
struct SplitSlab {
  std::array<AccessId, slab_lanes> writer{}, reader{};
};

struct Tmem {
  std::array<std::array<std::uint32_t, tcgen05::lanes>, tcgen05::columns> cell;            // [column][lane]
  std::array<std::array<CellState, tcgen05::columns>, quadrants> state{};                  // [quadrant][column]
  std::array<std::array<AccessId, tcgen05::columns>, slabs> writer{}, reader{};            // [slab][column]

  std::map<std::uint32_t, std::uint32_t> origins;  // column * 128 + lane: of an undefined value that has been stored (Machine::origins)

  void set_origins(std::uint32_t quadrant, std::uint32_t column, std::uint32_t lanes_of_quadrant, std::uint32_t origin) {
    for (std::uint32_t lane = 0; lane < tcgen05::quadrant_lanes; ++lane)
      if (lanes_of_quadrant >> lane & 1u) origins[column * tcgen05::lanes + quadrant * tcgen05::quadrant_lanes + lane] = origin;
  }

  Tmem() {
    for (auto& column : cell) column.fill(tmem_poison);
  }
  // A fresh allocation: nothing in these columns has a value or a past.
  void reset(std::uint32_t first_column, std::uint32_t count) {
    for (std::uint32_t column = first_column; column < first_column + count; ++column) {
      cell[column].fill(tmem_poison);
      for (auto& quadrant : state) quadrant[column] = {};
      for (std::uint32_t slab = 0; slab < slabs; ++slab) join(slab, column, 0, 0);
    }
    origins.erase(origins.lower_bound(first_column * tcgen05::lanes), origins.lower_bound((first_column + count) * tcgen05::lanes));
  }

  // ---- split slabs: `writer` and `reader` of such a slab both hold its mark ----
  static bool is_split(AccessId id) { return !AccessTable::is_set(id) && (id & 63u) == 63u; }
  SplitSlab& lanes_of(AccessId mark) { return splits_[mark >> 6]; }
  const SplitSlab& lanes_of(AccessId mark) const { return splits_[mark >> 6]; }
  bool has_splits() const { return splits_.size() != free_splits_.size(); }
  SplitSlab& split(std::uint32_t slab, std::uint32_t column) {
    AccessId& of_writer = writer[slab][column];
    if (is_split(of_writer)) return lanes_of(of_writer);
    std::size_t index = splits_.size();
    if (free_splits_.empty()) {
      splits_.emplace_back();
    } else {
      index = free_splits_.back();
      free_splits_.pop_back();
    }
    splits_[index].writer.fill(of_writer);
    splits_[index].reader.fill(reader[slab][column]);
    of_writer = reader[slab][column] = static_cast<AccessId>(index << 6 | 63u);
    return splits_[index];
  }
  // One past for all lanes of the slab.
  void join(std::uint32_t slab, std::uint32_t column, AccessId one_writer, AccessId one_reader) {
    if (is_split(writer[slab][column])) free_splits_.push_back(writer[slab][column] >> 6);
    writer[slab][column] = one_writer;
    reader[slab][column] = one_reader;
  }
  void join_if_equal(std::uint32_t slab, std::uint32_t column) {
    const SplitSlab& lanes = lanes_of(writer[slab][column]);
    const auto equal = [](const auto& ids) { return std::all_of(ids.begin(), ids.end(), [&](AccessId id) { return id == ids.front(); }); };
    if (equal(lanes.writer) && equal(lanes.reader)) join(slab, column, lanes.writer.front(), lanes.reader.front());
  }
  // Calls visit(writer, reader, lanes in the quadrant) for what the lanes of a slab have in their past.
  template <class Visit> void for_each_past(std::uint32_t slab, std::uint32_t column, Visit&& visit) const {
    if (!is_split(writer[slab][column])) return visit(writer[slab][column], reader[slab][column], lanes_of_slab(slab));
    const SplitSlab& lanes = lanes_of(writer[slab][column]);
    for (std::uint32_t i = 0; i < slab_lanes; ++i) visit(lanes.writer[i], lanes.reader[i], 1u << (slab % 2 * slab_lanes + i));
  }

 private:
  std::vector<SplitSlab> splits_;
  std::vector<std::uint32_t> free_splits_;
};

}  // namespace tmemsim::sim
