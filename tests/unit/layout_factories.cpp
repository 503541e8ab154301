#include "ir/layout/factories.hpp"
#include "ir/layout/tile_algebra.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;

namespace {

TileLayout made(const Result<TileLayout>& layout) {
  INFO((layout ? "" : layout.reason().text));
  REQUIRE(layout);
  return *layout;
}

// PTX ISA 9.7.16.10.5: lane and column of row r, column c of D.
struct Cell {
  std::int64_t lane, column;
};
Cell datapath_cell(char letter, std::int64_t cols, int sub_slab, std::int64_t r, std::int64_t c) {
  switch (letter) {
    case 'A':
    case 'D':
      return {r, c};
    case 'B':
    case 'E':
      return {r + 64 * (c >= cols / 2 ? 1 : 0), c % (cols / 2)};
    case 'C':
    case 'F':
      return {32 * (r / 16) + 16 * sub_slab + r % 16, c};
    default:
      return {r + 32 * (c / (cols / 4)), c % (cols / 4)};
  }
}

std::int64_t rows_of(char letter) { return letter == 'A' || letter == 'D' ? 128 : letter == 'G' ? 32 : 64; }

}  // namespace

TEST_CASE("datapath layouts are the maps of the instruction set", "[layout]") {
  for (const char letter : std::string("ABCDEFG")) {
    const bool scattered = letter == 'C' || letter == 'F';
    for (int sub_slab = 0; sub_slab <= (scattered ? 1 : 0); ++sub_slab) {
      for (const std::int64_t cols : {8, 32, 256}) {
        const std::int64_t rows = rows_of(letter);
        const TileLayout layout = made(tmem_datapath_layout(letter, rows, cols, sub_slab));
        bool good = true;
        for (std::int64_t x = 0; x < rows * cols; ++x) {
          const Cell cell = datapath_cell(letter, cols, sub_slab, x / cols, x % cols);
          const Point point = evaluate(layout, x);
          good = good && at(point, Axis::TLane) == cell.lane && at(point, Axis::TCol) == cell.column;
        }
        INFO(letter << " " << cols << " " << sub_slab);
        CHECK(good);
      }
    }
  }
}

TEST_CASE("datapath layouts refuse what no instruction has", "[layout]") {
  CHECK_FALSE(tmem_datapath_layout('H', 128, 8));
  CHECK_FALSE(tmem_datapath_layout('D', 64, 8));
  CHECK_FALSE(tmem_datapath_layout('F', 64, 8, 2));
  CHECK_FALSE(tmem_datapath_layout('D', 128, 8, 1));
  CHECK_FALSE(tmem_datapath_layout('B', 64, 31));
  CHECK_FALSE(tmem_datapath_layout('G', 32, 6));
  CHECK_FALSE(tmem_datapath_layout('G', 32, 0));
}

namespace {

// PTX ISA 9.7.16.8: lane within the 16 of the slab and 32-bit column of register r of lane t.
Cell fragment_cell(const std::string& shape, std::int64_t t, std::int64_t r) {
  if (shape == "32x32b") return {t, r};
  if (shape == "16x64b") return {t / 4 + 8 * (t % 2), 2 * r + t / 2 % 2};
  if (shape == "16x128b") return {t / 4 + 8 * (r % 2), 4 * (r / 2) + t % 4};
  return {t / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (t % 4) + r % 2};
}

}  // namespace

TEST_CASE("fragments hold what tcgen05.ld leaves in the registers", "[layout]") {
  struct Form {
    std::string shape;
    int columns, registers;
  };
  for (const Form& form : {Form{"16x64b", 2, 1}, Form{"16x128b", 4, 2}, Form{"16x256b", 8, 4}}) {
    for (const int bits : {16, 32}) {
      for (const std::int64_t rows : {64, 128}) {
        const std::int64_t num = 4;
        const std::int64_t per_register = 32 / bits;
        const std::int64_t cols = form.columns * num * per_register;
        const TileLayout layout = made(tcgen05_atom_layout(form.shape, rows, cols, bits));
        REQUIRE(size(layout) == rows * cols);
        const std::int64_t registers = form.registers * num;
        bool good = true;
        for (std::int64_t x = 0; x < rows * cols; ++x) {
          const Point point = evaluate(layout, x);
          const std::int64_t slot = at(point, Axis::m);
          const std::int64_t reg = slot / per_register;
          const Cell cell = fragment_cell(form.shape, at(point, Axis::laneid), reg % registers);
          // 64 rows: 16 a warp. 128 rows: 32 a warp, the upper 16 in the upper half of the registers.
          const std::int64_t row = at(point, Axis::wid_in_wg) * (rows / 4) + 16 * (reg / registers) + cell.lane;
          const std::int64_t column = cell.column * per_register + slot % per_register;
          good = good && row == x / cols && column == x % cols;
        }
        INFO(form.shape << " " << bits << " " << rows);
        CHECK(good);
      }
    }
  }
}

TEST_CASE("fragments refuse repetitions that do not exist", "[layout]") {
  CHECK(tcgen05_atom_layout("32x32b", 128, 64, 32));
  CHECK(tcgen05_atom_layout("32x32b", 128, 64, 16));
  CHECK(tcgen05_atom_layout("32x32b", 64, 64, 32));
  CHECK_FALSE(tcgen05_atom_layout("32x32b", 64, 64, 16));
  CHECK_FALSE(tcgen05_atom_layout("32x32b", 64, 6, 32));
  CHECK_FALSE(tcgen05_atom_layout("32x32b", 128, 96, 32));
  CHECK_FALSE(tcgen05_atom_layout("16x256b", 64, 512, 32));
  CHECK(tcgen05_atom_layout("16x256b", 64, 256, 32));
  CHECK_FALSE(tcgen05_atom_layout("16x64b", 64, 3, 32));
  CHECK_FALSE(tcgen05_atom_layout("16x64b", 64, 32, 8));
  CHECK_FALSE(tcgen05_atom_layout("16x32bx2", 64, 32, 32));
  CHECK_FALSE(tcgen05_atom_layout("16x64b", 32, 32, 32));
}

namespace {

// Canonical byte offset of a tile in shared memory, with dense strides: atoms along the rows of storage first.
std::int64_t shared_byte(SharedSwizzle swizzle, Major major, std::int64_t bytes, std::int64_t rows_mn, std::int64_t cols_k,
                         std::int64_t mn, std::int64_t k) {
  const std::int64_t t = 16 / bytes;
  if (swizzle == SharedSwizzle::none) {
    if (major == Major::k) return mn % 8 * 16 + mn / 8 * 128 + k % t * bytes + k / t * (rows_mn * 16);
    return mn % t * bytes + mn / t * (cols_k * 16) + k % 8 * 16 + k / 8 * 128;
  }
  if (swizzle == SharedSwizzle::b128_atom32) {
    const std::int64_t a = mn % t * bytes + mn / t % 8 * 16 + mn / (8 * t) * (cols_k * 128) + k % 4 * 128 + k / 4 * 512;
    return a ^ ((a >> 7 & 3) << 5);
  }
  const std::int64_t s = swizzle == SharedSwizzle::b32 ? 2 : swizzle == SharedSwizzle::b64 ? 4 : 8;
  std::int64_t a = 0;
  if (major == Major::k) {
    const std::int64_t row_bytes = 16 * s;
    a = mn % 8 * row_bytes + mn / 8 * (8 * row_bytes) + (k * bytes) % row_bytes +
        (k * bytes) / row_bytes * (rows_mn * row_bytes);
  } else {
    a = mn % t * bytes + mn / t % s * 16 + mn / (t * s) * (cols_k * 16 * s) + k % 8 * 16 * s + k / 8 * (8 * 16 * s);
  }
  return a ^ ((a >> 7 & (s - 1)) << 4);
}

}  // namespace

TEST_CASE("shared-memory tiles agree with the descriptor formulas", "[layout]") {
  for (const int bits : {8, 16, 32}) {
    for (const SharedSwizzle swizzle :
         {SharedSwizzle::none, SharedSwizzle::b32, SharedSwizzle::b64, SharedSwizzle::b128, SharedSwizzle::b128_atom32}) {
      for (const Major major : {Major::k, Major::mn}) {
        if (swizzle == SharedSwizzle::b128_atom32 && major == Major::k) continue;
        const std::int64_t mn = major == Major::k ? 24 : 256;
        const std::int64_t k = major == Major::k ? 256 : 16;
        const TileLayout layout = made(mma_shared_layout(bits, swizzle, std::vector<std::int64_t>{mn, k}, major));
        bool good = true;
        for (std::int64_t x = 0; x < mn * k; ++x) {
          const std::int64_t bytes = bits / 8;
          good = good && at(evaluate(layout, x), Axis::m) * bytes == shared_byte(swizzle, major, bytes, mn, k, x / k, x % k);
        }
        INFO(bits << " bits, swizzle " << static_cast<int>(swizzle) << ", major " << static_cast<int>(major) << " "
                  << to_string(layout));
        CHECK(good);
      }
    }
  }
  CHECK_FALSE(mma_shared_layout(16, SharedSwizzle::b128, std::vector<std::int64_t>{8, 32}));
  CHECK_FALSE(mma_shared_layout(16, SharedSwizzle::b128, std::vector<std::int64_t>{12, 64}));
  CHECK_FALSE(mma_shared_layout(16, SharedSwizzle::b128_atom32, std::vector<std::int64_t>{8, 64}));
  CHECK_FALSE(mma_shared_layout(16, SharedSwizzle::b128, std::vector<std::int64_t>{64}));
}

TEST_CASE("scale factors: one byte each, replicated in the four quadrants", "[layout]") {
  for (const std::int64_t rows : {32, 128, 256}) {
    for (const std::int64_t blocks : {1, 2, 4, 16}) {
      const TileLayout layout = made(scale_factor_layout(rows, blocks));
      bool good = true;
      for (std::int64_t x = 0; x < rows * blocks; ++x) {
        const std::int64_t row = x / blocks, block = x % blocks;
        const std::int64_t column = row / 32 + block / 4 * (rows / 32);
        const std::vector<Point> images = evaluate_all(layout, x);
        good = good && images.size() == 4;
        for (std::size_t q = 0; q < images.size(); ++q) {
          good = good && at(images[q], Axis::TLane) == row % 32 + 32 * static_cast<std::int64_t>(q) &&
                 at(images[q], Axis::TCol) == 4 * column + block % 4;
        }
      }
      CHECK(good);
    }
  }
  CHECK_FALSE(scale_factor_layout(48, 4));
  CHECK_FALSE(scale_factor_layout(128, 6));
}

TEST_CASE("operands of an mma in tensor memory", "[layout]") {
  const auto operand = [](char which, std::vector<std::int64_t> shape, MmaInstruction mma,
                          std::vector<std::int64_t> group = {}) {
    const auto layout = tmem_mma_operand_layout(which, shape, mma, group);
    return layout ? to_string(*layout) : std::string("refused");
  };
  CHECK(operand('D', {128, 64}, {128, 1}) == "S[(128,64):(1@TLane,1@TCol)]");
  CHECK(operand('D', {64, 64}, {64, 1}) == "S[(4,16,64):(32@TLane,1@TLane,1@TCol)]");
  CHECK(operand('A', {64, 64}, {64, 1}) == "S[(4,16,64):(32@TLane,1@TLane,1@TCol)]");
  CHECK(operand('A', {64, 64}, {128, 2}) == "S[(64,64):(1@TLane,1@TCol)] + R[2:64@TLane]");
  CHECK(operand('A', {2, 64, 32}, {64, 1, true}) == "S[(128,32):(1@TLane,1@TCol)]");
  CHECK(operand('A', {64, 32}, {64, 1, true}) == "refused");
  CHECK(operand('D', {64, 32}, {128, 1}) == "refused");
  CHECK(operand('D', {128, 32}, {256, 1}) == "refused");
  CHECK(operand('D', {64, 512}, {64, 1, true}, {2, 2, 128}) == "S[(64,2,2,128):(1@TLane,128@TCol,64@TLane,1@TCol)]");
  CHECK(operand('D', {64, 512}, {64, 1, true}, {4, 128}) == "refused");
}

TEST_CASE("factories can be written in layout notation", "[layout]") {
  const auto text = [](std::string_view notation) {
    const auto layout = parse_layout(notation, {{"n", 16}});
    return layout ? to_string(*layout)
                  : "error at " + std::to_string(layout.reason().text_offset.value_or(999)) + ": " + layout.reason().text;
  };
  CHECK(text("wg_local_layout(8, rows=64)") == "S[(64,8):(1@tid_in_wg,1)]");
  CHECK(text("tmem_datapath_layout(\"F\", 64, n*2, sub_slab=1)") == "S[(4,16,32):(32@TLane,1@TLane,1@TCol)] + 16@TLane");
  CHECK(text("tcgen05_atom_layout(16x64b, (64, n), f16)") == to_string(made(tcgen05_atom_layout("16x64b", 64, 16, 16))));
  CHECK(text("mma_shared_layout(float16, 3, (64, 64))") == "Swizzle(3,3,3) o S[4096:1]");
  CHECK(text("  wg_local_layout(0)").substr(0, 10) == "error at 2");
  CHECK(text("wg_local_layout(1, 2, 3)").substr(0, 10) == "error at 0");
  CHECK(text("wg_local_layout(1, row=3)").substr(0, 10) == "error at 0");
  CHECK(text("wg_local_layout(cols").substr(0, 5) == "error");
  CHECK(text("wg_local_layout(8) + 3").substr(0, 11) == "error at 19");
}
