// Layouts that the hardware fixes: datapaths of tensor memory, fragments of tcgen05.ld/st, operands and scale factors of
// tcgen05.mma, shared-memory tiles that its descriptors describe.
//
// Each returns a Reason for arguments that no instruction has. All of them can be written inside layout notation too:
// tmem_datapath_layout("F", 64, n), tcgen05_atom_layout("16x64b", (64, 32), f16), mma_shared_layout(f16, 3, (64, 128)).
// Source of the rules: TIRx layouts; PTX ISA 9.7.16.10.5.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"

namespace tmemsim {

// Where tcgen05.mma puts row r, column c of D. `letter` A to G is the data-path layout of PTX; `rows` belongs to the letter
// (A, D 128; B, C, E, F 64; G 32). sub_slab 1 is the upper 16 lanes of each quadrant (C and F only).
Result<TileLayout> tmem_datapath_layout(char letter, std::int64_t rows, std::int64_t cols, int sub_slab = 0);

// The registers of a warpgroup after tcgen05.ld of one whole fragment: shape "32x32b", "16x64b", "16x128b" or "16x256b",
// (rows, cols) elements of 16 or 32 bits, rows 64 or 128. 16-bit elements lie two to a register.
Result<TileLayout> tcgen05_atom_layout(std::string_view shape, std::int64_t rows, std::int64_t cols, int bits);

// One row of the tile for each thread of a warpgroup: S[(rows,cols):(1@tid_in_wg,1)].
Result<TileLayout> wg_local_layout(std::int64_t cols, std::int64_t rows = 128);

enum class SharedSwizzle : std::uint8_t { none = 0, b32 = 1, b64 = 2, b128 = 3, b128_atom32 = 4 };
enum class Major : std::uint8_t { k, mn };
// Operand tile of tcgen05.mma in shared memory, shape (..., MN, K), strides in elements of `bits` bits. K-major: 16-byte
// chunks run along K; MN-major: along MN. Swizzle atoms of 8 rows (4 for b128_atom32, MN-major only) are tiled along the
// rows first, then along the contiguous dimension.
Result<TileLayout> mma_shared_layout(int bits, SharedSwizzle swizzle, std::span<const std::int64_t> shape,
                                     Major major = Major::k);

// Scale factors of a block-scaled tcgen05.mma in tensor memory: one byte for each (row, block of K), rows a multiple of 32,
// replicated in the four quadrants. Strides on TCol count bytes, four to a column.
Result<TileLayout> scale_factor_layout(std::int64_t rows, std::int64_t blocks);

struct MmaInstruction {
  int m = 128;        // M of the instruction: 64, 128 or 256
  int cta_group = 1;  // 1 or 2
  bool ws = false;
  bool sparse = false;
};
// Operand 'A' (in tensor memory) or accumulator 'D' of an mma, as one CTA sees it. D takes (m, N), (m, 2, N/2), (2, m, N/2) or
// (m, s, 2, n) where the datapath folds columns (B, E), or a flat (m, N) with `group` = (s, 2, n). A takes (m, K), or
// (2, m, K) where both lane halves hold a bank.
Result<TileLayout> tmem_mma_operand_layout(char operand, std::span<const std::int64_t> shape, MmaInstruction mma,
                                           std::span<const std::int64_t> group = {});

// Bits of an element type by its name, as written in scenarios (f16, e4m3) or in full (float16, float8_e4m3fn, uint8).
std::optional<int> element_bits(std::string_view dtype);

// A factory called by name, as layout notation does. Values are integers, words (also quoted) or tuples of integers.
using FactoryValue = std::variant<std::int64_t, std::string, std::vector<std::int64_t>>;
struct FactoryCall {
  std::string name;
  std::vector<FactoryValue> values;
  std::map<std::string, FactoryValue> named;
};
bool is_factory(std::string_view name);
Result<TileLayout> call_factory(const FactoryCall& call);

}  // namespace tmemsim
