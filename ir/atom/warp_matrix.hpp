// What the rows of ldmatrix, stmatrix and mma.sync say about an operation, as tables: who executes, checks or lowers one takes
// them from here, so that nothing can differ from the atom.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/dtype.hpp"
#include "ir/layout/tile_layout.hpp"
#include "ir/ops/warp_matrix.hpp"
#include "ir/result.hpp"

namespace tmemsim::atom {

// The half words of a fragment: where each is in the rows that the lanes point at.
struct MatrixRows {
  struct Half {
    std::uint8_t lane = 0;  // whose address it is counted from
    std::uint8_t byte = 0;  // 0, 2, .. 14
  };
  int num = 1;
  std::vector<Half> half;  // of lane, register and half of the register (0: low), at (lane * num + reg) * 2 + half
  const Half& at(std::size_t lane, std::size_t reg, std::size_t which) const {
    return half[(lane * static_cast<std::size_t>(num) + reg) * 2 + which];
  }
};
// num is 1, 2 or 4.
const MatrixRows& matrix_rows(bool load, int num, bool trans);

// A fragment of mma.sync: which element of the matrix each value of a lane is.
struct Fragment {
  int rows = 0, columns = 0;  // A 16 x K, B 8 x K, C and D 16 x 8
  int bits = 0;               // of a value; value v of a lane stands at bit v * bits of its registers
  int values = 0, registers = 0;
  std::vector<std::pair<std::uint8_t, std::uint8_t>> place;  // (row, column) of value v of a lane, at lane * values + v
  TileLayout layout;  // the same in the notation of buffers: row-major index -> laneid, and slot of the value
  const std::pair<std::uint8_t, std::uint8_t>& at(std::size_t lane, std::size_t value) const {
    return place[lane * static_cast<std::size_t>(values) + value];
  }
};
struct WarpMma {
  MmaShape shape = MmaShape::m16n8k16;
  MmaInput input = MmaInput::f16;
  MmaResult result = MmaResult::f32;
  std::string name;  // of the atom
  Dtype input_type = Dtype::f16, result_type = Dtype::f32;
  Fragment a, b, c;
  int k() const { return a.columns; }
};
// All forms of the operation that the table of atoms has.
const std::vector<WarpMma>& warp_mmas();
// Reason: no row of the table is this form; with what there is.
Result<const WarpMma*> warp_mma(MmaShape shape, MmaInput input, std::optional<MmaResult> acc);

}  // namespace tmemsim::atom
