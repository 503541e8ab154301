#include "ir/layout/factories.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim {
namespace {

template <class... Arguments>
Reason because(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return Reason{fmt::format(text, std::forward<Arguments>(arguments)...), {}, {}, {}};
}

Result<TileLayout> checked(TileLayout layout) {
  if (auto reason = problem_with(layout)) return *reason;
  return layout;
}

struct Datapath {
  char letter;
  int rows;
  int folds;       // the columns fall into this many parts, which stand above one another
  bool scattered;  // 16 rows to a quadrant
};
constexpr std::array<Datapath, 7> datapaths{{
    {'A', 128, 1, false},
    {'B', 64, 2, false},
    {'C', 64, 1, true},
    {'D', 128, 1, false},
    {'E', 64, 2, false},
    {'F', 64, 1, true},
    {'G', 32, 4, false},
}};

const Datapath* datapath_of(char letter) {
  const auto* row = std::find_if(datapaths.begin(), datapaths.end(), [&](const Datapath& d) { return d.letter == letter; });
  return row == datapaths.end() ? nullptr : row;
}

// One row of tcgen05.ld/st: how many columns and registers one repetition has, and which digits of row and column the lanes
// and registers hold. Iters of the row follow the warp digit, iters of the column follow the repetitions.
struct FragmentShape {
  std::string_view name;
  int columns;    // 32-bit columns of one repetition
  int registers;  // of one repetition, 64 rows
  int most_num;
  std::array<Iter, 2> rows;  // below the warp: bit 3 of the 16 rows, then rows 0 to 7
  std::array<Iter, 2> column_digits;
};
constexpr std::array<FragmentShape, 3> fragment_shapes{{
    {"16x64b", 2, 1, 128, {{{2, 1, Axis::laneid}, {8, 4, Axis::laneid}}}, {{{2, 2, Axis::laneid}, {1, 1, Axis::m}}}},
    {"16x128b", 4, 2, 64, {{{2, 1, Axis::m}, {8, 4, Axis::laneid}}}, {{{4, 1, Axis::laneid}, {1, 1, Axis::m}}}},
    {"16x256b", 8, 4, 32, {{{2, 2, Axis::m}, {8, 4, Axis::laneid}}}, {{{4, 1, Axis::laneid}, {2, 1, Axis::m}}}},
}};

bool is_num(std::int64_t num, int most) {
  return num >= 1 && num <= most && std::has_single_bit(static_cast<std::uint64_t>(num));
}

Reason bad_num(std::string_view shape, std::int64_t cols, std::int64_t num, int most) {
  return because("{} columns need .{}.x{}, but the repetitions of .{} are powers of two up to {}", cols, shape, num, shape,
                 most);
}

Result<TileLayout> row_per_thread_fragment(std::int64_t rows, std::int64_t cols, int bits) {
  constexpr int most = 128;
  if (rows == 128) {
    const int elements = 32 / bits;
    if (cols < 1 || cols % elements != 0) return because("{} columns of {} bits do not fill whole registers", cols, bits);
    if (!is_num(cols / elements, most)) return bad_num("32x32b", cols, cols / elements, most);
    return TileLayout{{{128, 1, Axis::tid_in_wg}, {cols, 1, Axis::m}}, {}, {}, {}};
  }
  if (bits != 32) return because("64 rows of .32x32b read datapath B, which holds 32-bit elements only; got {} bits", bits);
  if (cols < 2 || cols % 2 != 0)
    return because("64 rows of .32x32b read datapath B, whose columns fall into two halves; got {} columns", cols);
  if (!is_num(cols / 2, most)) return bad_num("32x32b", cols, cols / 2, most);
  return TileLayout{{{64, 1, Axis::tid_in_wg}, {2, 64, Axis::tid_in_wg}, {cols / 2, 1, Axis::m}}, {}, {}, {}};
}

Iter scaled(Iter iter, std::int64_t elements) {
  if (iter.axis == Axis::m) iter.stride *= elements;
  return iter;
}

struct SwizzleAtom {
  int chunk_bits;  // bits that move together
  int swizzle_len, atom_len;
  int rows;
  int row_bits;
};
constexpr SwizzleAtom atom_of(SharedSwizzle swizzle) {
  switch (swizzle) {
    case SharedSwizzle::none:
      break;
    case SharedSwizzle::b32:
      return {128, 1, 3, 8, 256};
    case SharedSwizzle::b64:
      return {128, 2, 3, 8, 512};
    case SharedSwizzle::b128:
      return {128, 3, 3, 8, 1024};
    case SharedSwizzle::b128_atom32:
      return {256, 2, 2, 4, 1024};
  }
  return {128, 0, 0, 8, 128};
}

// Shape (..., rows, contiguous) without swizzle: 16-byte chunks, all rows of one chunk before the next chunk.
TileLayout packed_chunks(std::span<const std::int64_t> shape, std::int64_t chunk) {
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t contiguous = shape.back();
  if (contiguous % chunk != 0) return row_major(shape);
  TileLayout layout = row_major(shape);
  layout.shard.pop_back();
  layout.shard.back().stride = chunk;
  layout.shard.push_back({contiguous / chunk, rows * chunk, Axis::m});
  layout.shard.push_back({chunk, 1, Axis::m});
  return layout;
}

Result<TileLayout> swizzled_tile(std::span<const std::int64_t> shape, const SwizzleAtom& atom, int bits) {
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t contiguous = shape.back();
  const std::int64_t row_elements = atom.row_bits / bits;
  if (rows % atom.rows != 0 || contiguous % row_elements != 0) {
    return because("shape {} does not consist of swizzle atoms of {} rows x {} elements", shape_text(shape), atom.rows,
                   row_elements);
  }
  // Rows run through all atoms of one column of atoms; the next column of atoms follows.
  TileLayout layout = row_major(shape);
  layout.shard.pop_back();
  layout.shard.back().stride = row_elements;
  layout.shard.push_back({contiguous / row_elements, rows * row_elements, Axis::m});
  layout.shard.push_back({row_elements, 1, Axis::m});
  const int per_element = std::bit_width(static_cast<unsigned>(atom.chunk_bits / bits)) - 1;
  layout.swizzle = Swizzle{per_element, atom.swizzle_len, atom.atom_len, true};
  return layout;
}

Result<char> datapath_letter(const MmaInstruction& mma) {
  if (mma.sparse) return because("sparse operands have no operand layout; datapath C is tmem_datapath_layout('C', ...)");
  if (mma.ws && !(mma.cta_group == 1 && mma.m == 64)) {
    return because("ws is valid for cta_group 1 with M = 64 only; got cta_group {} with M = {}", mma.cta_group, mma.m);
  }
  if (mma.cta_group == 1 && mma.m == 128) return 'D';
  if (mma.cta_group == 1 && mma.m == 64) return mma.ws ? 'E' : 'F';
  if (mma.cta_group == 2 && mma.m == 256) return 'A';
  if (mma.cta_group == 2 && mma.m == 128) return 'B';
  return because("no datapath for M = {} with cta_group {}; cta_group 1 has M 64 and 128, cta_group 2 has M 128 and 256", mma.m,
                 mma.cta_group);
}

std::optional<Reason> wrong_rows(const MmaInstruction& mma, std::int64_t rows, std::span<const std::int64_t> shape) {
  if (rows == mma.m / mma.cta_group) return std::nullopt;
  return because("M = {} with cta_group {} has {} rows a CTA; shape {} has {}", mma.m, mma.cta_group, mma.m / mma.cta_group,
                 shape_text(shape), rows);
}

Result<TileLayout> grouped_accumulator(char letter, std::span<const std::int64_t> shape, const MmaInstruction& mma,
                                       std::span<const std::int64_t> group) {
  if (shape.size() != 2) return because("an accumulator with a group is (m, N); got {}", shape_text(shape));
  if (group.size() != 3 || group[1] != 2 || group[0] < 1 || group[2] < 1)
    return because("the group must be (s, 2, n); got {}", shape_text(group));
  if (saturating_mul(group[0], saturating_mul(2, group[2])) != shape[1]) {
    return because("the group {} does not multiply to {} columns", shape_text(group), shape[1]);
  }
  if (datapath_of(letter)->folds != 2)
    return because("only datapaths B and E fold columns; M = {} with cta_group {} is {}", mma.m, mma.cta_group, letter);
  if (auto reason = wrong_rows(mma, shape[0], shape)) return *reason;
  return TileLayout{
      {{shape[0], 1, Axis::TLane}, {group[0], group[2], Axis::TCol}, {2, 64, Axis::TLane}, {group[2], 1, Axis::TCol}},
      {},
      {},
      {}};
}

Result<TileLayout> accumulator_layout(char letter, std::span<const std::int64_t> shape, const MmaInstruction& mma) {
  const bool folds = datapath_of(letter)->folds == 2;
  if (shape.size() == 2) {
    if (auto reason = wrong_rows(mma, shape[0], shape)) return *reason;
    return tmem_datapath_layout(letter, shape[0], shape[1]);
  }
  if (folds && shape.size() == 3 && shape[0] == 2) {
    if (auto reason = wrong_rows(mma, shape[1], shape)) return *reason;
    return TileLayout{{{2, 64, Axis::TLane}, {shape[1], 1, Axis::TLane}, {shape[2], 1, Axis::TCol}}, {}, {}, {}};
  }
  if (folds && shape.size() == 3 && shape[1] == 2) {
    if (auto reason = wrong_rows(mma, shape[0], shape)) return *reason;
    return TileLayout{{{shape[0], 1, Axis::TLane}, {2, 64, Axis::TLane}, {shape[2], 1, Axis::TCol}}, {}, {}, {}};
  }
  if (folds && shape.size() == 4 && shape[2] == 2) {
    if (auto reason = wrong_rows(mma, shape[0], shape)) return *reason;
    return TileLayout{
        {{shape[0], 1, Axis::TLane}, {shape[1], shape[3], Axis::TCol}, {2, 64, Axis::TLane}, {shape[3], 1, Axis::TCol}},
        {},
        {},
        {}};
  }
  return because("an accumulator of datapath {} has no shape {}", letter, shape_text(shape));
}

// Row m of A stands in the lanes that row m of D is written to.
Result<TileLayout> a_operand_layout(char letter, std::span<const std::int64_t> shape, const MmaInstruction& mma) {
  const bool folds = datapath_of(letter)->folds == 2;
  if (folds && shape.size() == 3 && shape[0] == 2) {
    if (auto reason = wrong_rows(mma, shape[1], shape)) return *reason;
    return TileLayout{{{2, 64, Axis::TLane}, {shape[1], 1, Axis::TLane}, {shape[2], 1, Axis::TCol}}, {}, {}, {}};
  }
  if (letter == 'E')
    return because("A of M = 64 .ws is read from two banks: the shape is (2, 64, K), not {}", shape_text(shape));
  if (shape.size() != 2) return because("A of datapath {} is (m, K); got {}", letter, shape_text(shape));
  if (auto reason = wrong_rows(mma, shape[0], shape)) return *reason;
  if (letter == 'B') return TileLayout{{{shape[0], 1, Axis::TLane}, {shape[1], 1, Axis::TCol}}, {{2, 64, Axis::TLane}}, {}, {}};
  return tmem_datapath_layout(letter, shape[0], shape[1]);
}

}  // namespace

Result<TileLayout> tmem_datapath_layout(char letter, std::int64_t rows, std::int64_t cols, int sub_slab) {
  const Datapath* path = datapath_of(letter);
  if (path == nullptr) return because("'{}' is no datapath; they are A to G", letter);
  if (rows != path->rows) return because("datapath {} has {} rows; got {}", letter, path->rows, rows);
  if (cols < 1) return because("{} columns; at least one is needed", cols);
  if (sub_slab != 0 && sub_slab != 1) return because("sub_slab is 0 or 1; got {}", sub_slab);
  if (path->scattered) {
    TileLayout layout{{{4, 32, Axis::TLane}, {16, 1, Axis::TLane}, {cols, 1, Axis::TCol}}, {}, {}, {}};
    if (sub_slab == 1) layout.offset.push_back({Axis::TLane, 16});
    return layout;
  }
  if (sub_slab != 0) return because("datapath {} spans both halves of each quadrant, so sub_slab must be 0", letter);
  if (cols % path->folds != 0)
    return because("datapath {} folds its columns into {} parts; {} columns cannot be folded", letter, path->folds, cols);
  if (path->folds == 1) return TileLayout{{{rows, 1, Axis::TLane}, {cols, 1, Axis::TCol}}, {}, {}, {}};
  return TileLayout{
      {{rows, 1, Axis::TLane}, {path->folds, rows, Axis::TLane}, {cols / path->folds, 1, Axis::TCol}}, {}, {}, {}};
}

Result<TileLayout> tcgen05_atom_layout(std::string_view shape, std::int64_t rows, std::int64_t cols, int bits) {
  if (bits != 16 && bits != 32) return because("fragments hold elements of 16 or 32 bits; got {}", bits);
  if (rows != 64 && rows != 128) return because("a fragment of a warpgroup has 64 or 128 rows; got {}", rows);
  if (shape == "32x32b") return row_per_thread_fragment(rows, cols, bits);
  const auto* row =
      std::find_if(fragment_shapes.begin(), fragment_shapes.end(), [&](const FragmentShape& s) { return s.name == shape; });
  if (row == fragment_shapes.end())
    return because("'{}' is no fragment shape; they are 32x32b, 16x64b, 16x128b and 16x256b", shape);
  const int elements = 32 / bits;
  const std::int64_t columns = row->columns * elements;
  if (cols < 1 || cols % columns != 0)
    return because("one repetition of .{} is {} columns of {} bits; {} is no multiple", shape, columns, bits, cols);
  const std::int64_t num = cols / columns;
  if (!is_num(num, row->most_num)) return bad_num(shape, cols, num, row->most_num);

  TileLayout layout;
  layout.shard.push_back({4, 1, Axis::wid_in_wg});
  if (rows == 128)
    layout.shard.push_back({2, row->registers * num * elements, Axis::m});  // upper 16 lanes: upper half of the registers
  for (const Iter& iter : row->rows) layout.shard.push_back(scaled(iter, elements));
  layout.shard.push_back({num, row->registers * elements, Axis::m});
  for (const Iter& iter : row->column_digits) {
    if (iter.extent > 1) layout.shard.push_back(scaled(iter, elements));
  }
  if (elements > 1) layout.shard.push_back({elements, 1, Axis::m});
  return layout;
}

Result<TileLayout> wg_local_layout(std::int64_t cols, std::int64_t rows) {
  if (cols < 1) return because("{} columns; at least one is needed", cols);
  if (rows < 1 || rows > 128) return because("a warpgroup has 128 threads, one for each row; got {} rows", rows);
  return TileLayout{{{rows, 1, Axis::tid_in_wg}, {cols, 1, Axis::m}}, {}, {}, {}};
}

Result<TileLayout> mma_shared_layout(int bits, SharedSwizzle swizzle, std::span<const std::int64_t> shape, Major major) {
  constexpr std::array allowed{4, 8, 16, 32, 64};
  if (std::find(allowed.begin(), allowed.end(), bits) == allowed.end())
    return because("elements of {} bits have no shared-memory layout", bits);
  if (shape.size() < 2) return because("an operand tile has at least two dimensions; got {}", shape_text(shape));
  std::vector<std::int64_t> stored(shape.begin(), shape.end());
  if (major == Major::mn) std::swap(stored[stored.size() - 1], stored[stored.size() - 2]);
  if (const auto reason = problem_with(row_major(stored))) return *reason;
  if (swizzle == SharedSwizzle::b128_atom32 && major == Major::k)
    return because("the 128-byte swizzle with 32-byte atoms is MN-major only");

  const SwizzleAtom atom = atom_of(swizzle);
  Result<TileLayout> tile = swizzle == SharedSwizzle::none ? Result<TileLayout>(packed_chunks(stored, atom.chunk_bits / bits))
                                                           : swizzled_tile(stored, atom, bits);
  if (!tile || major == Major::k) return tile ? Result<TileLayout>(canonical(*tile)) : tile;
  const auto grouped = group(canonical(*tile), stored);
  if (!grouped) return grouped.reason();
  std::vector<std::size_t> order(stored.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  const auto permuted = permute_groups(*grouped, order);
  if (!permuted) return permuted.reason();
  return canonical(*permuted);
}

Result<TileLayout> scale_factor_layout(std::int64_t rows, std::int64_t blocks) {
  constexpr std::int64_t quadrant = 32;
  constexpr std::int64_t bytes = 4;  // of one column
  if (rows < quadrant || rows % quadrant != 0) return because("scale factors come in multiples of 32 rows; got {}", rows);
  if (blocks < 1 || (blocks > bytes && blocks % bytes != 0))
    return because("{} blocks along K; up to 4, or a multiple of 4", blocks);
  const std::int64_t groups = rows / quadrant;
  TileLayout layout;
  layout.shard = {{groups, bytes, Axis::TCol}, {quadrant, 1, Axis::TLane}};
  if (blocks > bytes) layout.shard.push_back({blocks / bytes, saturating_mul(groups, bytes), Axis::TCol});
  layout.shard.push_back({std::min(blocks, bytes), 1, Axis::TCol});
  layout.replica = {{4, quadrant, Axis::TLane}};
  return checked(layout);
}

Result<TileLayout> tmem_mma_operand_layout(char operand, std::span<const std::int64_t> shape, MmaInstruction mma,
                                           std::span<const std::int64_t> group) {
  const auto letter = datapath_letter(mma);
  if (!letter) return letter.reason();
  for (const std::int64_t extent : shape) {
    if (extent < 1) return because("shape {}: dimensions are at least 1", shape_text(shape));
  }
  Result<TileLayout> layout = because("operand '{}': it is A or D", operand);
  if (operand == 'D')
    layout = group.empty() ? accumulator_layout(*letter, shape, mma) : grouped_accumulator(*letter, shape, mma, group);
  if (operand == 'A') layout = a_operand_layout(*letter, shape, mma);
  if (!layout) return layout;
  return checked(canonical(*layout));
}

}  // namespace tmemsim
