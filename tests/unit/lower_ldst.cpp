#include <fmt/format.h>

#include "tests/unit/lowered.hpp"

using namespace tmemsim;
using tests::contains;

namespace {

struct Tile {
  std::string dtype = "f32", tmem_shape = "", tmem_layout = "", reg_shape = "", reg_layout = "";
  std::string tmem_box = "", reg_box = "";
  std::string at = "warpgroup 0";
  int warps = 4, col = 0;
};

std::string text_of(const Tile& tile, bool load) {
  const std::string tmem = "T" + tile.tmem_box, reg = "R" + tile.reg_box;
  return fmt::format("kernel k launch warps={} buffer slot: shared u32 [1] buffer T: tmem {} [{}] layout=\"{}\" slot=slot column={} buffer R: local {} [{}] layout=\"{}\"\n"
                     "program {{ @{} copy_async dst={} src={} }}", tile.warps, tile.dtype, tile.tmem_shape, tile.tmem_layout, tile.col, tile.dtype, tile.reg_shape,
                     tile.reg_layout, tile.at, load ? reg : tmem, load ? tmem : reg);
}

// Exact in both directions; every warp that takes part executes `issues` instructions, written as `statements`.
void exact(const Tile& tile, int issues, int statements = 0) {
  for (const bool load : {true, false}) {
    const std::string text = text_of(tile, load);
    CAPTURE(text);
    const tests::SymbolicResult result = tests::run_text(text);
    CHECK(result.problem == "");
    for (const auto& [warp, count] : result.issues) CHECK(count == issues);
    CHECK(result.statements == (statements == 0 ? issues : statements));
  }
}

std::string refusal(const Tile& tile, bool load = true) { return tests::run_text(text_of(tile, load)).problem; }
std::string load_of(const Tile& tile) { return tests::instructions(tests::lowered_kernel(text_of(tile, true))); }

std::string rows_of(int cols) { return fmt::format("S[(128,{0}):(1@TLane,1@TCol)]", cols); }
std::string lanes_of_group(int cols) { return fmt::format("S[(128,{0}):(1@tid_in_wg,1)]", cols); }
Tile full(int cols) { return {.tmem_shape = fmt::format("128, {}", cols), .tmem_layout = rows_of(cols), .reg_shape = fmt::format("128, {}", cols), .reg_layout = lanes_of_group(cols)}; }

}  // namespace

TEST_CASE("ldst: widths off the table are cut into powers of two, widest first", "[lower]") {
  exact(full(96), 2);
  exact(full(48), 2);
  exact(full(1), 1);
  exact(full(7), 3);
  exact(full(128), 1);
  exact(full(200), 3);   // 128 + 64 + 8
  CHECK(load_of(full(96)) ==
        "tcgen05.ld shape=32x32b num=64 dst=R.r[0:64] src={base: word(slot, 0), lane: warp * 32}\n"
        "tcgen05.ld shape=32x32b num=32 dst=R.r[64:96] src={base: word(slot, 0), lane: warp * 32, col: 64}\n");
}

TEST_CASE("ldst: fragments on 128 and 64 rows", "[lower]") {
  const std::string f = "S[(4,16,32):(32@TLane,1@TLane,1@TCol)]";
  const std::string b256 = "S[(4,2,8,4,4,2):(1@wid_in_wg,2,4@laneid,4,1@laneid,1)]", b128 = "S[(4,2,8,8,4):(1@wid_in_wg,1,4@laneid,2,1@laneid)]",
                    b64 = "S[(4,2,8,16,2):(1@wid_in_wg,1@laneid,4@laneid,1,2@laneid)]";
  for (const std::string& fragment : {b256, b128, b64}) {
    exact({.tmem_shape = "64, 32", .tmem_layout = f, .reg_shape = "64, 32", .reg_layout = fragment}, 1);
    exact({.tmem_shape = "64, 32", .tmem_layout = f + " + 16@TLane", .reg_shape = "64, 32", .reg_layout = fragment, .col = 20}, 1);
  }
  exact({.tmem_shape = "128, 32", .tmem_layout = rows_of(32), .reg_shape = "128, 32", .reg_layout = "S[(4,2,2,8,4,4,2):(1@wid_in_wg,16,2,4@laneid,4,1@laneid,1)]"}, 2);
  exact({.tmem_shape = "128, 32", .tmem_layout = rows_of(32), .reg_shape = "128, 32", .reg_layout = "S[(4,2,2,8,8,4):(1@wid_in_wg,16,1,4@laneid,2,1@laneid)]"}, 2);
  exact({.tmem_shape = "128, 32", .tmem_layout = rows_of(32), .reg_shape = "128, 32", .reg_layout = "S[(4,2,2,8,16,2):(1@wid_in_wg,16,1@laneid,4@laneid,1,2@laneid)]"}, 2);
  // Two 64-row buffers in the halves of one allocation.
  CHECK(load_of({.tmem_shape = "64, 32", .tmem_layout = f + " + 16@TLane", .reg_shape = "64, 32", .reg_layout = b256}) ==
        "tcgen05.ld shape=16x256b num=4 dst=R.r[0:16] src={base: word(slot, 0), lane: warp * 32 + 16}\n");
}

TEST_CASE("ldst: 64-row buffers whose columns are split over the lanes, whole and in part", "[lower]") {
  const std::string b = "S[(64,2,32):(1@TLane,64@TLane,1@TCol)]", fragment = "S[(64,2,32):(1@tid_in_wg,64@tid_in_wg,1)]";
  exact({.tmem_shape = "64, 64", .tmem_layout = b, .reg_shape = "64, 64", .reg_layout = fragment}, 1);
  exact({.tmem_shape = "64, 64", .tmem_layout = b, .reg_shape = "64, 64", .reg_layout = fragment, .tmem_box = "[0:64, 32:64]", .reg_box = "[0:64, 32:64]"}, 1);
  exact({.tmem_shape = "64, 64", .tmem_layout = b, .reg_shape = "64, 64", .reg_layout = fragment, .tmem_box = "[0:64, 8:16]", .reg_box = "[0:64, 8:16]"}, 1);
  exact({.tmem_shape = "64, 64", .tmem_layout = b, .reg_shape = "64, 64", .reg_layout = fragment, .tmem_box = "[0:64, 24:40]", .reg_box = "[0:64, 24:40]"}, 1, 2);
  // G: 32 rows, four groups of columns.
  exact({.tmem_shape = "32, 64", .tmem_layout = "S[(32,4,16):(1@TLane,32@TLane,1@TCol)]", .reg_shape = "32, 64", .reg_layout = "S[(32,4,16):(1@laneid,1@wid_in_wg,1)]"}, 1);
}

TEST_CASE("ldst: small elements, in dense cells and one to a cell", "[lower]") {
  exact({.dtype = "u8", .tmem_shape = "128, 64", .tmem_layout = rows_of(64), .reg_shape = "128, 64", .reg_layout = lanes_of_group(64)}, 1);
  exact({.dtype = "e2m1", .tmem_shape = "128, 64", .tmem_layout = rows_of(64), .reg_shape = "128, 64", .reg_layout = lanes_of_group(64)}, 1);
  exact({.dtype = "e3m2", .tmem_shape = "128, 64", .tmem_layout = rows_of(64), .reg_shape = "128, 64", .reg_layout = lanes_of_group(64)}, 2);
  exact({.dtype = "f64", .tmem_shape = "128, 8", .tmem_layout = rows_of(8), .reg_shape = "128, 8", .reg_layout = lanes_of_group(8)}, 1);
  const Tile one_a_cell{.dtype = "f16", .tmem_shape = "128, 16", .tmem_layout = "S[(128,16):(1@TLane,2@TCol)]", .reg_shape = "128, 16", .reg_layout = lanes_of_group(16)};
  exact(one_a_cell, 1);
  CHECK(load_of(one_a_cell) == "tcgen05.ld shape=32x32b num=8 pack=true dst=R.r[0:8] src={base: word(slot, 0), lane: warp * 32}\n");
  exact({.dtype = "f16", .tmem_shape = "64, 16", .tmem_layout = "S[(4,16,16):(32@TLane,1@TLane,2@TCol)]", .reg_shape = "64, 16",
         .reg_layout = "S[(4,2,8,1,4,2,2):(1@wid_in_wg,4,4@laneid,8,1@laneid,2,1)]"}, 1);
  exact({.dtype = "u8", .tmem_shape = "128, 8", .tmem_layout = "S[(128,4,2):(1@TLane,4@TCol,1@TCol)]", .reg_shape = "128, 8", .reg_layout = lanes_of_group(8)}, 1);
}

TEST_CASE("ldst: registers in any order, and fragments that have no name", "[lower]") {
  const Tile permuted{.tmem_shape = "128, 8", .tmem_layout = rows_of(8), .reg_shape = "128, 8", .reg_layout = "S[(128,4,2):(1@tid_in_wg,1,4)]"};
  exact(permuted, 1);
  CHECK(load_of(permuted) == "tcgen05.ld shape=32x32b num=8 dst=R.r[0, 4, 1, 5, 2, 6, 3, 7] src={base: word(slot, 0), lane: warp * 32}\n");
  // The lower 16 lanes at columns c and c + 24 for the two halves of the warp.
  exact({.tmem_shape = "16, 2, 8", .tmem_layout = "S[(16,2,8):(1@TLane,24@TCol,1@TCol)]", .reg_shape = "16, 2, 8", .reg_layout = "S[(16,2,8):(1@laneid,16@laneid,1)]", .at = "warp 0"}, 1);
  exact({.tmem_shape = "16, 2, 8", .tmem_layout = "S[(16,2,8):(1@TLane,-24@TCol,1@TCol)] + 40@TCol", .reg_shape = "16, 2, 8", .reg_layout = "S[(16,2,8):(1@laneid,16@laneid,1)]", .at = "warp 0"}, 1);
  exact({.tmem_shape = "32, 8", .tmem_layout = "S[(2,16,8):(16@TLane,1@TLane,1@TCol)] + 5@TCol", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]", .at = "warp 0"}, 1);
  // Halves of the warp at different columns of different lanes: the split carries lane bits.
  exact({.tmem_shape = "2, 16, 8", .tmem_layout = "S[(2,16,8):(8@TCol,1@TLane,1@TCol)] + 16@TLane", .reg_shape = "2, 16, 8", .reg_layout = "S[(2,16,8):(16@laneid,1@laneid,1)]", .at = "warp 0"}, 1);
  // Every other column.
  exact({.tmem_shape = "128, 8", .tmem_layout = "S[(128,8):(1@TLane,2@TCol)]", .reg_shape = "128, 8", .reg_layout = lanes_of_group(8)}, 8);
  // Gaps between the registers.
  exact({.tmem_shape = "128, 8", .tmem_layout = rows_of(8), .reg_shape = "128, 8", .reg_layout = "S[(128,8):(1@tid_in_wg,3)]"}, 1);
}

TEST_CASE("ldst: warp scope, any subset of warps, several warpgroups", "[lower]") {
  for (int warp = 0; warp < 4; ++warp) {
    exact({.tmem_shape = "32, 8", .tmem_layout = fmt::format("S[(32,8):(1@TLane,1@TCol)] + {}@TLane", 32 * warp), .reg_shape = "32, 8",
           .reg_layout = "S[(32,8):(1@laneid,1)]", .at = fmt::format("warp {}", warp)}, 1);
    exact({.tmem_shape = "128, 8", .tmem_layout = rows_of(8), .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]",
           .tmem_box = fmt::format("[{}:{}, 0:8]", 32 * warp, 32 * warp + 32), .at = fmt::format("warp {}", warp + 4), .warps = 8}, 1);
  }
  exact({.tmem_shape = "64, 8", .tmem_layout = "S[(64,8):(1@TLane,1@TCol)] + 32@TLane", .reg_shape = "64, 8", .reg_layout = "S[(64,8):(1@tid_in_wg,1)] + 32@tid_in_wg", .at = "warps 1..2"}, 1);
  exact({.tmem_shape = "128, 2, 16", .tmem_layout = "S[(128,2,16):(1@TLane,16@TCol,1@TCol)]", .reg_shape = "128, 2, 16", .reg_layout = "S[(128,2,16):(1@tid_in_wg,1@wgid,1)]", .at = "cta", .warps = 8}, 1);
  CHECK(load_of({.tmem_shape = "128, 2, 16", .tmem_layout = "S[(128,2,16):(1@TLane,16@TCol,1@TCol)]", .reg_shape = "128, 2, 16",
                 .reg_layout = "S[(128,2,16):(1@tid_in_wg,1@wgid,1)]", .at = "cta", .warps = 8}) ==
        "tcgen05.ld shape=32x32b num=16 dst=R.r[0:16] src={base: word(slot, 0), lane: warp % 4 * 32, col: wg * 16}\n");
  // Both warpgroups hold the tile: both load it, the first stores it.
  exact({.tmem_shape = "128, 8", .tmem_layout = rows_of(8), .reg_shape = "128, 8", .reg_layout = lanes_of_group(8), .at = "cta", .warps = 8}, 1);
  // Warps at columns that no single term describes get statements of their own.
  exact({.tmem_shape = "2, 2, 32, 4", .tmem_layout = "S[(2,2,32,4):(64@TLane,32@TLane,1@TLane,1@TCol)]", .reg_shape = "2, 2, 32, 4", .reg_layout = "S[(2,2,32,4):(2@wid_in_wg,1@wid_in_wg,1@laneid,1)]"}, 1);
  exact({.tmem_shape = "2, 2, 32, 4", .tmem_layout = "S[(2,2,32,4):(64@TLane,32@TLane,1@TLane,1@TCol)]", .reg_shape = "2, 2, 32, 4", .reg_layout = "S[(2,2,32,4):(2@wid_in_wg,1@wid_in_wg,1@laneid,1)]", .tmem_box = "[1, 0:2, 0:32, 0:4]", .reg_box = "[1, 0:2, 0:32, 0:4]"}, 1);
}

TEST_CASE("ldst: stages and column slices at any offset", "[lower]") {
  for (int first : {0, 1, 3, 8, 10, 24}) {
    exact({.tmem_shape = "128, 32", .tmem_layout = rows_of(32), .reg_shape = "128, 8", .reg_layout = lanes_of_group(8), .tmem_box = fmt::format("[0:128, {}:{}]", first, first + 8)}, 1);
  }
  const std::string stages =
      "kernel k buffer slot: shared u32 [1] buffer T: tmem f16 [3, 128, 32] layout=\"S[(3,128,32):(32@TCol,1@TLane,1@TCol)]\" slot=slot\n"
      "buffer R: local f16 [128, 32] layout=\"S[(128,32):(1@tid_in_wg,1)]\" program { for i in [0, 6] { @warpgroup 0 copy_async dst=T[i % 3, 0:128, 0:32] src=R } }";
  const Kernel kernel = tests::lowered_kernel(stages);
  CHECK(tests::instructions(kernel) == "tcgen05.st shape=32x32b num=16 dst={base: word(slot, 0), lane: warp * 32, col: i % 3 * 16} src=R.r[0:16]\n");
  for (std::int64_t i = 0; i < 6; ++i) CHECK(tests::run_symbolically(kernel, {{{"i", i}}, 64}).problem == "");
}

TEST_CASE("ldst: refusals name the first element, where it is, and what would work", "[lower]") {
  // Rows 0..63 of a 128-row buffer with the fragment of a 64-row one.
  const std::string wrong_rows = refusal({.tmem_shape = "128, 32", .tmem_layout = rows_of(32), .reg_shape = "64, 32", .reg_layout = "S[(4,2,8,4,4,2):(1@wid_in_wg,2,4@laneid,4,1@laneid,1)]", .tmem_box = "[0:64, 0:32]"});
  CHECK_THAT(wrong_rows, contains("T[16, 0]: thread 32 (lane 0 of warp 1) keeps it in register 0; it lies in lane 16, column 0, which warps with warp % 4 == 0 reach"));
  CHECK_THAT(wrong_rows, contains("nearest that would work: registers of layout S[(64,32):(1@tid_in_wg,1)]"));
  // No thread axis at all.
  CHECK_THAT(refusal({.tmem_shape = "128, 8", .tmem_layout = rows_of(8), .reg_shape = "128, 8", .reg_layout = "S[(128,8):(8,1)]"}), contains("every lane of a warp holds the same elements"));
  // Half a repetition of .16x256b.
  const std::string part = refusal({.tmem_shape = "128, 32", .tmem_layout = rows_of(32), .reg_shape = "128, 32", .reg_layout = "S[(4,2,2,8,4,4,2):(1@wid_in_wg,16,2,4@laneid,4,1@laneid,1)]", .tmem_box = "[0:128, 0:4]", .reg_box = "[0:128, 0:4]"});
  CHECK_THAT(part, contains("not all 32 lanes of a warp own elements"));
  CHECK_THAT(part, contains("nearest that would work: registers of layout"));
  // Only one of the two sub-rows.
  CHECK_THAT(refusal({.tmem_shape = "4, 8, 32", .tmem_layout = "S[(4,8,32):(32@TLane,1@TLane,1@TCol)]", .reg_shape = "4, 8, 32", .reg_layout = "S[(4,8,8,4):(1@wid_in_wg,4@laneid,1,1@laneid)]"}),
             contains(".16x128b moves 2 registers together"));
  // Strided rows have no pattern.
  CHECK_THAT(refusal({.tmem_shape = "16, 8", .tmem_layout = "S[(16,8):(2@TLane,1@TCol)]", .reg_shape = "16, 8", .reg_layout = "S[(16,2,4):(1@laneid,16@laneid,1)]", .at = "warp 0"}), contains("those of no .ld or .st shape"));
  // Half registers.
  CHECK_THAT(refusal({.dtype = "f16", .tmem_shape = "128, 3", .tmem_layout = rows_of(3), .reg_shape = "128, 3", .reg_layout = lanes_of_group(3)}), contains("no whole register"));
  CHECK_THAT(refusal({.dtype = "f16", .tmem_shape = "128, 16", .tmem_layout = rows_of(16), .reg_shape = "128, 16", .reg_layout = lanes_of_group(16), .tmem_box = "[0:128, 3:11]", .reg_box = "[0:128, 3:11]"}),
             contains("begin at bit 16"));
  // Lanes of a warp.
  CHECK_THAT(refusal({.tmem_shape = "32, 8", .tmem_layout = "S[(32,8):(1@TLane,1@TCol)]", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]", .at = "warp 0 lanes 0..15"}), contains("all 32 lanes"));
  // Another warp's quadrant.
  CHECK_THAT(refusal({.tmem_shape = "32, 8", .tmem_layout = "S[(32,8):(1@TLane,1@TCol)]", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]", .at = "warp 1"}),
             contains("warp 1 holds lanes 0.., but reaches only lanes 32..63"));
}
