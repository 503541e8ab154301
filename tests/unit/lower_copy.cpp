#include <fmt/format.h>

#include "tests/unit/lowered.hpp"

using namespace tmemsim;
using tests::contains;

namespace {

struct Tile {
  std::string dtype = "f32", mem_shape = "", mem_layout = "", reg_shape = "", reg_layout = "";
  std::string mem_box = "", reg_box = "";
  std::string space = "shared", at = "warp 0";
  int warps = 1;
};

std::string quoted(const std::string& layout) { return layout.empty() ? "" : " layout=\"" + layout + "\""; }

std::string text_of(const Tile& tile, bool load) {
  const std::string mem = "M" + tile.mem_box, reg = "R" + tile.reg_box;
  return fmt::format("kernel k launch warps={} buffer M: {} {} [{}]{} buffer R: local {} [{}]{}\nprogram {{ @{} copy dst={} src={} }}", tile.warps,
                     tile.space, tile.dtype, tile.mem_shape, quoted(tile.mem_layout), tile.dtype, tile.reg_shape, quoted(tile.reg_layout), tile.at,
                     load ? reg : mem, load ? mem : reg);
}

// Exact in both directions, with accesses of this many bytes.
void exact(const Tile& tile, int bytes) {
  for (const bool load : {true, false}) {
    const std::string text = text_of(tile, load);
    CAPTURE(text);
    const tests::SymbolicResult result = tests::run_text(text);
    CHECK(result.problem == "");
    CHECK(result.narrowest == bytes);
    CHECK(result.widest == bytes);
  }
}

std::string refusal(const Tile& tile, bool load) { return tests::run_text(text_of(tile, load)).problem; }

}  // namespace

TEST_CASE("copy/reg: padded rows are only as wide as they are aligned", "[lower]") {
  exact({.mem_shape = "32, 32", .mem_layout = "S[(32,32):(33,1)]", .reg_shape = "32, 32", .reg_layout = "S[(32,32):(1@laneid,1)]"}, 4);
  exact({.mem_shape = "32, 8", .mem_layout = "S[(32,8):(10,1)]", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]"}, 8);
  exact({.mem_shape = "32, 8", .mem_layout = "S[(32,8):(12,1)]", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]"}, 16);
}

TEST_CASE("copy/reg: registers in any order", "[lower]") {
  exact({.mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,2,2):(1@laneid,1,2)]"}, 16);
  exact({.mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,2,2):(1@laneid,4,1)]"}, 16);
  exact({.dtype = "f16", .mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,2,2):(1@laneid,1,2)]"}, 2);
  exact({.dtype = "f16", .mem_shape = "32, 8", .reg_shape = "32, 8", .reg_layout = "S[(32,4,2):(1@laneid,4,1)]"}, 16);
}

TEST_CASE("copy/reg: thread iters of any stride, guards where not all threads own something", "[lower]") {
  exact({.mem_shape = "8, 4", .reg_shape = "8, 4", .reg_layout = "S[(8,4):(4@laneid,1)]"}, 16);
  exact({.mem_shape = "16, 4", .reg_shape = "16, 4", .reg_layout = "S[(16,4):(1@laneid,1)]"}, 16);
  exact({.mem_shape = "16, 4", .reg_shape = "16, 4", .reg_layout = "S[(16,4):(1@laneid,1)] + 16@laneid"}, 16);
  exact({.mem_shape = "3, 5, 4", .reg_shape = "3, 5, 4", .reg_layout = "S[(3,5,4):(7@laneid,1@laneid,1)] + 2@laneid"}, 16);
  exact({.mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,4):(-1@laneid,1)] + 31@laneid"}, 16);
  exact({.mem_shape = "64, 4", .reg_shape = "64, 4", .reg_layout = "S[(2,32,4):(2@wid_in_wg,1@laneid,1)] + 1@wid_in_wg", .at = "warpgroup 1", .warps = 8}, 16);

  const Kernel half = tests::lowered_kernel(text_of({.mem_shape = "16, 4", .reg_shape = "16, 4", .reg_layout = "S[(16,4):(1@laneid,1)]"}, true));
  CHECK(tests::instructions(half) == "if lane < 16\n  ld dst=R.r[0:4] src=M{byte: lane * 16} bytes=16\n");
  const Kernel every_fourth = tests::lowered_kernel(text_of({.mem_shape = "8, 4", .reg_shape = "8, 4", .reg_layout = "S[(8,4):(4@laneid,1)]"}, true));
  CHECK(tests::instructions(every_fourth) == "if lane % 4 == 0\n  ld dst=R.r[0:4] src=M{byte: lane / 4 * 16} bytes=16\n");
}

TEST_CASE("copy/reg: what several threads hold is loaded by all and stored by one", "[lower]") {
  exact({.mem_shape = "16, 4", .reg_shape = "16, 4", .reg_layout = "S[(16,4):(1@laneid,1)] + R[2:16@laneid]"}, 16);
  exact({.mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,4):(1@laneid,1)] + R[2:2@warpid]", .at = "cta", .warps = 4}, 16);
  exact({.mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,4):(1@laneid,1)]", .at = "cta", .warps = 4}, 16);
  exact({.mem_shape = "4", .reg_shape = "4"}, 16);
  exact({.mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,4):(1@laneid,1)] + R[2:4]"}, 16);
  exact({.mem_shape = "32, 4", .mem_layout = "S[(32,4):(4,1)] + R[2:128]", .reg_shape = "32, 4", .reg_layout = "S[(32,4):(1@laneid,1)]"}, 16);
  const Kernel store = tests::lowered_kernel(text_of({.mem_shape = "4", .reg_shape = "4"}, false));
  CHECK(tests::instructions(store) == "if lane == 0\n  st dst=M{byte: 0} src=R.r[0:4] bytes=16\n");

  std::vector<lower::Explanation> explanations;
  Kernel kernel = parse_kernel(text_of({.mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,4):(1@laneid,1)]", .at = "cta", .warps = 4}, false), "k");
  verify(kernel, Level::tile);
  (void)lower::lower(kernel, &explanations);
  REQUIRE(explanations.size() == 1);
  CHECK(explanations[0].path == "program[0]");
  CHECK(explanations[0].variant == "reg");
  CHECK(explanations[0].proof.back() == "several threads hold the same elements: stored once, by warp 0");
}

TEST_CASE("copy/reg: parts of buffers", "[lower]") {
  exact({.dtype = "f16", .mem_shape = "32, 16", .reg_shape = "32, 16", .reg_layout = "S[(32,16):(1@laneid,1)]", .mem_box = "[0:32, 4:12]", .reg_box = "[0:32, 4:12]"}, 8);
  exact({.dtype = "f16", .mem_shape = "32, 16", .reg_shape = "32, 16", .reg_layout = "S[(32,16):(1@laneid,1)]", .mem_box = "[0:32, 3:11]", .reg_box = "[0:32, 3:11]"}, 2);
  exact({.mem_shape = "3, 32, 8", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]", .mem_box = "[2, 0:32, 0:8]"}, 16);
  exact({.mem_shape = "16, 8", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]", .reg_box = "[16:32, 0:8]"}, 16);
  exact({.mem_shape = "32, 8", .reg_shape = "128, 8", .reg_layout = "S[(128,8):(1@tid_in_wg,1)]", .reg_box = "[64:96, 0:8]", .at = "warp 2", .warps = 4}, 16);
}

TEST_CASE("copy/reg: one row belongs to one thread", "[lower]") {
  const Tile row{.mem_shape = "8", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]", .reg_box = "[0, 0:8]"};
  exact(row, 16);
  CHECK_THAT(tests::instructions(tests::lowered_kernel(text_of(row, true))), contains("if lane == 0\n"));
  exact({.mem_shape = "3, 4", .reg_shape = "4, 2", .reg_layout = "S[(4,2):(1,2@wid_in_wg)]", .mem_box = "[1:2, 0:4]", .reg_box = "[0:4, 0:1]", .at = "warpgroup 0", .warps = 4}, 16);
}

TEST_CASE("copy/reg: elements of 4, 6, 8 and 64 bits", "[lower]") {
  exact({.dtype = "e2m1", .mem_shape = "32, 32", .reg_shape = "32, 32", .reg_layout = "S[(32,32):(1@laneid,1)]"}, 16);
  exact({.dtype = "e2m1", .mem_shape = "32, 6", .reg_shape = "32, 6", .reg_layout = "S[(32,6):(1@laneid,1)]"}, 1);
  exact({.dtype = "e3m2", .mem_shape = "32, 64", .reg_shape = "32, 64", .reg_layout = "S[(32,64):(1@laneid,1)]"}, 16);
  exact({.dtype = "e3m2", .mem_shape = "32, 4", .reg_shape = "32, 4", .reg_layout = "S[(32,4):(1@laneid,1)]"}, 1);
  exact({.dtype = "u8", .mem_shape = "32, 5", .reg_shape = "32, 5", .reg_layout = "S[(32,5):(1@laneid,1)]"}, 1);
  exact({.dtype = "f64", .mem_shape = "32, 3", .reg_shape = "32, 3", .reg_layout = "S[(32,3):(1@laneid,1)]"}, 8);
  CHECK_THAT(refusal({.dtype = "e2m1", .mem_shape = "32, 3", .reg_shape = "32, 3", .reg_layout = "S[(32,3):(1@laneid,1)]"}, true), contains("not even single bytes"));
}

TEST_CASE("copy/reg: swizzled shared memory", "[lower]") {
  exact({.dtype = "f16", .mem_shape = "32, 64", .mem_layout = "Swizzle(3,3,3) o S[(32,64):(64,1)]", .reg_shape = "32, 64", .reg_layout = "S[(32,64):(1@laneid,1)]"}, 16);
  exact({.dtype = "f32", .mem_shape = "64, 64", .mem_layout = "Swizzle(2,3,3) o S[(64,2,32):(32,2048,1)]", .reg_shape = "64, 64",
         .reg_layout = "S[(4,2,8,8,4,2):(1@wid_in_wg,2,4@laneid,4,1@laneid,1)]", .at = "warpgroup 0", .warps = 4}, 8);
  exact({.dtype = "f16", .mem_shape = "8", .mem_layout = "Swizzle(2,3,3) o S[8:1]", .reg_shape = "8"}, 8);
  const Kernel kernel = tests::lowered_kernel(text_of({.dtype = "f16", .mem_shape = "32, 16", .mem_layout = "Swizzle(3,1,3) o S[(32,16):(16,1)]",
                                                       .reg_shape = "32, 16", .reg_layout = "S[(32,16):(1@laneid,1)]"}, true));
  CHECK(tests::instructions(kernel) ==
        "ld dst=R.r[0:4] src=M{byte: lane * 32 ^ lane * 32 >> 3 & 16} bytes=16\n"
        "ld dst=R.r[4:8] src=M{byte: lane * 32 ^ lane * 32 >> 3 & 16 ^ 16} bytes=16\n");
}

TEST_CASE("copy/reg: bounds that move with loops", "[lower]") {
  const std::string loop =
      "kernel k launch warps=1 buffer M: global f32 [4, 32, 16] buffer R: local f32 [32, 8] layout=\"S[(32,8):(1@laneid,1)]\"\n"
      "program { for i in [0, 4] { for j in [0, 2] { @warp 0 copy dst=R src=M[i, 0:32, j * 8:j * 8 + 8] } } }";
  const Kernel kernel = tests::lowered_kernel(loop);
  CHECK(tests::instructions(kernel) ==
        "ld dst=R.r[0:4] src=M{byte: lane * 64 + i * 2048 + j * 32} bytes=16\n"
        "ld dst=R.r[4:8] src=M{byte: lane * 64 + i * 2048 + j * 32 + 16} bytes=16\n");
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) CHECK(tests::run_symbolically(kernel, {{{"i", i}, {"j", j}}, 0}).problem == "");
  }
  // A dimension of several iters: the bound moves in whole tiles.
  const std::string tiles =
      "kernel k launch warps=1 buffer M: shared f32 [64, 8] layout=\"S[(2,32,8):(1024,8,1)]\" buffer R: local f32 [32, 8] layout=\"S[(32,8):(1@laneid,1)]\"\n"
      "program { for i in [0, 2] { @warp 0 copy dst=R src=M[i * 32:i * 32 + 32, 0:8] } }";
  CHECK(tests::run_text(tiles, {{{"i", 1}}, 0}).problem == "");
  const std::string within =
      "kernel k launch warps=1 buffer M: shared f32 [64, 8] layout=\"S[(2,2,16,8):(1024,200,8,1)]\" buffer R: local f32 [16, 8] layout=\"S[(16,8):(1@laneid,1)]\"\n"
      "program { for i in [0, 4] { @warp 0 copy dst=R src=M[i * 16:i * 16 + 16, 0:8] } }";
  for (std::int64_t i = 0; i < 4; ++i) CHECK(tests::run_text(within, {{{"i", i}}, 0}).problem == "");
}

TEST_CASE("copy/reg: refusals say what is wrong", "[lower]") {
  CHECK_THAT(refusal({.mem_shape = "256, 8", .reg_shape = "256, 8", .reg_layout = "S[(256,8):(1@tx,1)]", .at = "warpgroup 0", .warps = 8}, true),
             contains("gives elements to thread 128"));
  // Layouts that the verifier refuses earlier are refused by the lowering too.
  const auto unverified = [](const Tile& tile, bool load) {
    try {
      return tests::run_symbolically(lower::lower(parse_kernel(text_of(tile, load), "k"))).problem;
    } catch (const lower::Refused& refused) { return refused.text(); }
  };
  const Tile one_register{.mem_shape = "32, 8", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,0)]"};
  CHECK_THAT(unverified(one_register, true), contains("two elements fall on bit 0 of register 0"));
  CHECK(unverified(one_register, false) == "");
  const Tile rows_overlap{.mem_shape = "32, 8", .mem_layout = "S[(32,8):(4,1)]", .reg_shape = "32, 8", .reg_layout = "S[(32,8):(1@laneid,1)]"};
  CHECK_THAT(unverified(rows_overlap, false), contains("two elements of the source fall on one place"));
  CHECK(unverified(rows_overlap, true) == "");
  CHECK_THAT(tests::run_text("kernel k launch warps=1 buffer M: shared f32 [32, 8] buffer R: local f32 [8] program { @warp 0 copy dst=R src=M[lane, 0:8] }").problem,
             contains("differs between the threads"));
  CHECK_THAT(tests::run_text("kernel k launch warps=1 buffer M: shared f32 [8] buffer R: local f32 [8] program { if lane < 4 { @warp 0 copy dst=R src=M } }").problem,
             contains("condition that differs between the threads"));
  CHECK(tests::run_text("kernel k launch warps=1 buffer M: shared f32 [8] buffer R: local f32 [8] program { if warp < 4 { @warp 0 copy dst=R src=M } }").problem == "");
  CHECK_THAT(tests::run_text("kernel k buffer T: tmem f32 [128, 8] base=0 layout=\"S[(128,8):(1@TLane,1@TCol)]\" buffer R: local f32 [128, 8] layout=\"S[(128,8):(1@tid_in_wg,1)]\""
                             "program { @warpgroup 0 copy dst=R src=T }").problem,
             contains("nearest that would work: copy_async"));
}

TEST_CASE("a variant can be forced by name", "[lower]") {
  const std::string text = "kernel k launch warps=1 buffer M: shared f32 [32, 4] buffer R: local f32 [32, 4] layout=\"S[(32,4):(1@laneid,1)]\" program { @warp 0 copy dst=R src=M variant=";
  CHECK(tests::run_text(text + "reg }").problem == "");
  CHECK_THAT(tests::run_text(text + "gmem_smem }").problem, contains("both sides are shared or global; this is local <- shared"));
  CHECK_THROWS_WITH(tests::run_text(text + "gmem_smen }"), contains("did you mean gmem_smem?"));
}

TEST_CASE("copy/gmem_smem: equal shares, and a guarded tail where they do not divide", "[lower]") {
  const auto both = [](const std::string& dtype, const std::string& shape, const std::string& shared_layout, int warps, const std::string& at) {
    for (const char* statement : {"copy dst=S src=G", "copy dst=G src=S"}) {
      const std::string text = fmt::format("kernel k launch warps={} buffer S: shared {} [{}]{} buffer G: global {} [{}] program {{ @{} {} }}", warps, dtype, shape,
                                           quoted(shared_layout), dtype, shape, at, statement);
      CAPTURE(text);
      CHECK(tests::run_text(text).problem == "");
    }
  };
  both("f32", "32, 32", "", 1, "warp 0");
  both("f16", "128, 64", "Swizzle(3,3,3) o S[(128,64):(64,1)]", 4, "warpgroup 0");
  both("f32", "32, 32", "S[(32,32):(33,1)]", 4, "cta");
  both("f32", "7, 5", "", 1, "warp 0");
  both("u8", "3, 77", "", 2, "cta");
  both("u8", "3, 80", "S[(3,80):(96,1)]", 2, "cta");
  both("f64", "5, 7", "", 1, "warp 0");
  both("e2m1", "9, 6", "", 1, "warp 0");
  both("f32", "64, 16", "S[(64,16):(1,64)]", 1, "warp 0 lanes 4..11");
  both("f32", "1, 8", "", 1, "warp 0");
  both("f16", "48, 24", "S[(3,16,24):(384,24,1)]", 2, "cta");
  const Kernel kernel = tests::lowered_kernel("kernel k launch warps=1 buffer S: shared f32 [32, 32] buffer G: global f32 [32, 32] program { @warp 0 copy dst=S src=G }");
  CHECK(tests::instructions(kernel) ==
        "for copy_step in [0, 8]\n"
        "  ld dst=copy_scratch.r[0:4] src=G{byte: lane * 16 + copy_step * 512} bytes=16\n"
        "  st dst=S{byte: lane * 16 + copy_step * 512} src=copy_scratch.r[0:4] bytes=16\n");
}
