// Bad input, each with a twin that is right. What the catalogue makes a finding must pass.
#include <algorithm>

#include "ir/kernel/kernel.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/kernel/region.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;

namespace {

const std::string buffers = R"(buffer A: global f16 [128, 8]
buffer B: global f32 [128, 8]
buffer S: shared f16 [128, 8]
buffer slot: shared u32 [1]
buffer half: shared f16 [4]
buffer acc: tmem f16 [128, 8] layout="S[(128,8):(1@TLane,1@TCol)]" slot=slot
buffer F: local f16 [128, 8] layout="S[(128,8):(1@tid_in_wg,1)]"
buffer R: local u32 [16]
buffer bar: shared mbarrier [2]
)";

std::string kernel_with(const std::string& statements, const std::string& more_buffers = "", const std::string& launch = "warps=4") {
  return "kernel k\nlaunch " + launch + "\n" + buffers + more_buffers + "program {\n" + statements + "\n}\n";
}

std::string error_of(const std::string& text, Level level = Level::tile) {
  Kernel kernel = parse_kernel(text, "k.kernel");
  try {
    verify(kernel, level);
  } catch (const InputError& error) {
    CHECK(error.diagnostic().line > 0);
    return error.diagnostic().message + (error.diagnostic().hint.empty() ? "" : " | " + error.diagnostic().hint);
  }
  return "no error";
}

struct Pair {
  std::string wrong, right, message;
};

}  // namespace

TEST_CASE("statements: bad input and its twin") {
  const std::vector<Pair> pairs{
      // regions
      {"copy dst=A[0:129, 0] src=A", "copy dst=A[0:128, 0] src=A[0:128, 1]", "A[0:129, 0]: index 128 is outside dimension 0, which has 128 elements | 0 to 127"},
      {"copy dst=A[0, 8] src=A[0, 0]", "copy dst=A[0, 7] src=A[0, 0]", "A[0, 8]: index 8 is outside dimension 1"},
      {"copy dst=A[-1, 0] src=A[0, 0]", "copy dst=A[1, 0] src=A[0, 0]", "index -1 is outside dimension 0"},
      {"copy dst=A[tid:0, 0] src=A[0, 0]", "copy dst=A[tid:128, 0] src=A", "A[tid:0, 0] holds no element"},
      {"copy dst=A[4:4, 0] src=A[0, 0]", "copy dst=A[4:5, 0] src=A[0, 0]", "A[4:4, 0] holds no element"},
      {"copy dst=A[0] src=A[0, 0]", "copy dst=A[0, 0] src=A[0, 0]", "A[0] has 1 indices, but A has 2 dimensions"},
      {"for i in [0, 4] { copy dst=A[i:i + 129, 0] src=A[0, 0] }", "for i in [0, 4] { copy dst=A[i:i + 2, 0] src=A[0:2, 0] }",
       "129 elements do not fit in dimension 0"},
      // the two sides of a copy
      {"copy dst=B src=A", "copy dst=S src=A", "B is f32 and A is f16"},
      {"copy dst=S src=A[0:64, 0:8]", "copy dst=S[0:64, 0:8] src=A[64:128, 0:8]", "S has the shape [128, 8], but A[0:64, 0:8] has [64, 8]"},
      {"copy dst=S[0:8, 0] src=A[0, 0:7]", "copy dst=S[0:8, 0:1] src=A[0, 0:8]", "S[0:8, 0] has the shape [8], but A[0, 0:7] has [7]"},
      {"copy dst=A[0, 0:7] src=S[0:8, 0:1]", "copy dst=A[0, 0:8] src=S[0:8, 0:1]", "A[0, 0:7] has the shape [7], but S[0:8, 0:1] has [8, 1]"},
      {"copy_async dst=acc src=A[0, 0]", "copy_async dst=acc src=F", "acc has the shape [128, 8], but A[0, 0] has []"},
      {"for i in [0, 4] { copy dst=S[i * 4:i * 4 + 4, 0] src=A[0:5, 0] }", "for i in [0, 4] { copy dst=S[i * 4:4 + i * 4, 0] src=A[0:4, 0] }",
       "S[i * 4:i * 4 + 4, 0] has the shape [4], but A[0:5, 0] has [5]"},
      {"fill dst=bar src=0", "fill dst=S src=0", "'bar' holds mbarriers"},
      {"fill dst=A src=70000", "fill dst=A src=60000", "70000 is out of the range of f16"},
      {"fill dst=R src=0.5", "fill dst=R src=7", "0.5 is out of the range of u32"},
      // tcgen05.ld and st
      {"tcgen05.ld shape=32x32b num=3 dst=R.r[0:3] src=acc", "tcgen05.ld shape=32x32b num=4 dst=R.r[0:4] src=acc", "shape 32x32b has no num 3 | a power of two, 1 to 128"},
      {"tcgen05.st shape=16x256b num=64 dst=acc src=R.r[0:4]", "tcgen05.st shape=16x256b num=1 dst=acc src=R.r[0:4]", "shape 16x256b has no num 64 | a power of two, 1 to 32"},
      {"tcgen05.st shape=16x256b num=2 dst=acc src=R.r[0:4]", "tcgen05.st shape=16x256b num=2 dst=acc src=R.r[0:8]", "moves 8 registers a thread, and R.r[0:4] are 4"},
      {"tcgen05.ld shape=16x32bx2 num=1 dst=R.r[0] src=acc", "tcgen05.ld shape=16x32bx2 num=1 half=4 dst=R.r[0] src=acc", "shape 16x32bx2 needs 'half'"},
      {"tcgen05.ld shape=32x32b num=1 half=4 dst=R.r[0] src=acc", "tcgen05.ld shape=32x32b num=1 dst=R.r[0] src=acc", "shape 32x32b has no 'half'"},
      {"tcgen05.ld shape=32x32b num=2 dst=R.r[1, 1] src=acc", "tcgen05.ld shape=32x32b num=2 dst=R.r[1, 0] src=acc", "names a register twice"},
      {"tcgen05.ld shape=32x32b num=1 dst=R.r[0] src=acc[0, 9]", "tcgen05.ld shape=32x32b num=1 dst=R.r[0] src=acc[0, 7]", "index 9 is outside dimension 1"},
      // allocation
      {"tcgen05.alloc slot=half cols=32", "tcgen05.alloc slot=slot cols=32", "the slot of an address is a shared u32 word, but half is shared f16"},
      {"tcgen05.alloc slot=A[0, 0] cols=32", "tcgen05.alloc slot=slot[0] cols=32", "a shared u32 word, but A is global f16"},
      {"tcgen05.dealloc cols=32", "tcgen05.dealloc slot=slot cols=32", "one of 'slot' and 'addr'"},
      {"tcgen05.dealloc slot=slot addr=0 cols=32", "tcgen05.dealloc addr=0 cols=32", "one of 'slot' and 'addr'"},
      {"tcgen05.alloc slot=slot cols=32 cta_group=3", "tcgen05.alloc slot=slot cols=32 cta_group=2", "cta_group is 1 or 2, not 3"},
      {"tcgen05.relinquish_alloc_permit cta_group=0", "tcgen05.relinquish_alloc_permit cta_group=1", "cta_group is 1 or 2, not 0"},
      // barriers
      {"barrier.sync id=16", "barrier.sync id=15", "a CTA has barriers 0 to 15, not 16"},
      {"barrier.sync count=48", "barrier.sync count=64", "48 is no count"},
      {"barrier.arrive id=1 count=0", "barrier.arrive id=1 count=128", "0 is no count"},
      {"elect.sync dst=R.r[0:2]", "elect.sync dst=R.r[0]", "elect.sync sets one register"},
      // loads and stores
      {"ld dst=R.r[0] src=A bytes=3", "ld dst=R.r[0] src=A bytes=2", "1, 2, 4, 8 or 16 bytes, not 3"},
      {"ld dst=R.r[0] src=A bytes=16", "ld dst=R.r[0:4] src=A bytes=16", "16 bytes are 4 registers, and R.r[0] are 1"},
      {"ld dst=R.r[0] src=A bytes=2 reg_byte=1", "ld dst=R.r[0] src=A bytes=2 reg_byte=2", "reg_byte 1 does not fit an access of 2 bytes"},
      {"st dst=A src=R.r[0] bytes=4 reg_byte=0", "st dst=A src=R.r[0] bytes=1 reg_byte=3", "reg_byte 0 does not fit an access of 4 bytes"},
      {"ld dst=R.r[0] src=A bytes=4 sem=release", "ld dst=R.r[0] src=A bytes=4 sem=acquire", "a load does not release"},
      {"st dst=A src=R.r[0] bytes=4 sem=acquire scope=gpu", "st dst=A src=R.r[0] bytes=4 sem=release scope=gpu", "a store does not acquire"},
      {"ld dst=R.r[0] src=A bytes=4 scope=gpu", "ld dst=R.r[0] src=A bytes=4 sem=relaxed scope=gpu", "a weak access has no scope"},
      {"ld dst=R.r[0] src=A bytes=4 rank=0", "ld dst=R.r[0] src=S bytes=4 rank=0", "only an access to shared memory has a rank"},
      {"ld dst=R.r[0] src=S bytes=4 rank=1", "ld dst=R.r[0] src=S bytes=4 rank=cta", "the cluster has 1 CTAs, so there is no rank 1"},
      {"ld dst=R.r[0] src=A{byte: 2048} bytes=4", "ld dst=R.r[0] src=A{byte: 2044} bytes=4", "byte 2048 is outside 'A', which has 2048 bytes"},
      // arithmetic
      {"mov dst=R.r[0:4] a=R.r[0:2]", "mov dst=R.r[0:4] a=R.r[4:8]", "R.r[0:4] are 4 registers, but R.r[0:2] are 2"},
      {"add.s32 dst=R.r[0:4] a=1 b=R.r[0:3]", "add.s32 dst=R.r[0:4] a=1 b=R.r[3]", "as many on both sides, or one"},
      {"mov dst=R.r[0] a=word(slot, 1)", "mov dst=R.r[0] a=word(slot, 0)", "word(slot, 1) is outside the buffer, which has 4 bytes"},
      // threads
      {"@warp 4 delay 1", "@warp 3 delay 1", "there is no warp 4 | the launch has 4 warps a CTA"},
      {"@warps 2..4 delay 1", "@warps 2..3 delay 1", "there is no warp 4"},
      {"@warpgroup 1 delay 1", "@warpgroup 0 delay 1", "there is no whole warpgroup 1"},
      {"@cta 1 delay 1", "@cta 0 delay 1", "there is no CTA 1 | the launch has 1 CTAs"},
      // loops, labels, delays, means
      {"for i in [0, 4, 0] { }", "for i in [0, 4, 1] { }", "the step of a loop is above 0, not 0"},
      {"for A in [0, 4] { }", "for a in [0, 4] { }", "'A' already names a buffer"},
      {"for tid in [0, 4] { }", "for t in [0, 4] { }", "'tid' means something else"},
      {"for i in [0, 4] { for i in [0, 4] { } }", "for i in [0, 4] { } for i in [0, 4] { }", "'i' already is the variable of a loop around this one"},
      {"x: delay 1 x: delay 2", "x: delay 1 y: delay 2", "two statements have the label 'x'"},
      {"x: delay 1 while 0 { x: delay 2 }", "x: delay 1 while 0 { delay 2 }", "two statements have the label 'x'"},
      {"delay 4000000000", "delay 1000", "a delay has at most 1000000 steps"},
      {"tcgen05.ld shape=32x32b num=1 dst=R.r[0] src=acc means(F <- B)", "tcgen05.ld shape=32x32b num=1 dst=R.r[0] src=acc means(F <- acc)", "F is f16 and B is f32"},
  };
  for (const Pair& pair : pairs) {
    INFO(pair.wrong);
    CHECK_THAT(error_of(kernel_with(pair.wrong)), tests::contains(pair.message));
    CHECK(error_of(kernel_with(pair.right)) == "no error");
  }
}

TEST_CASE("buffers: bad input and its twin") {
  const auto tmem = [](const std::string& layout, const std::string& rest = " base=0") {
    return "buffer T: tmem f32 [128, 8] layout=\"" + layout + "\"" + rest;
  };
  const std::vector<Pair> pairs{
      {"buffer tid: global f32 [4]", "buffer tid1: global f32 [4]", "buffer tid: this name means something else"},
      {"buffer A: global f32 [4]", "buffer A1: global f32 [4]", "there are two buffers named A"},
      {"buffer T: global f32 []", "buffer T: global f32 [1]", "1 to 16 dimensions, not 0"},
      {"buffer T: global f32 [4, 0]", "buffer T: global f32 [4, 1]", "an extent below 1"},
      {"buffer T: global f32 [4, -1]", "buffer T: global f32 [4, 1]", "an extent below 1"},
      {"buffer T: global f32 [1000000, 1000000]", "buffer T: global f32 [1000, 1000]", "more than 268435456 elements"},
      {"buffer T: global f64 [9000, 9000]", "buffer T: global f64 [5000, 9000]", "the global buffers need more than 512 MiB"},
      {"buffer T: global mbarrier [1]", "buffer T: shared mbarrier [1]", "an mbarrier lives in shared memory"},
      {"buffer T: shared mbarrier [1] init=fill(0)", "buffer T: shared u64 [1] init=fill(0)", "an mbarrier has no initial value"},
      {"buffer T: local f32 [1] init=fill(0)", "buffer T: global f32 [1] init=fill(0)", "a local buffer has no initial value"},
      {"buffer T: global f32 [3] init=data(1, 2)", "buffer T: global f32 [3] init=data(1, 2, 3)", "'data' has 2 values, but the shape [3] has 3 elements"},
      {"buffer T: global f32 [3] init=random(1, 2, 1)", "buffer T: global f32 [3] init=random(1, 1, 2)", "'random' needs low <= high"},
      {"buffer T: shared f32 [1] out=\"x.npy\"", "buffer T: global f32 [1] out=\"x.npy\"", "only a global buffer has 'out'"},
      {"buffer T: global f32 [1] offset=4", "buffer T: shared f32 [1] offset=4", "only a shared buffer has 'offset'"},
      {"buffer T: global f32 [1] base=4", "buffer T: global f32 [1]", "only a tmem buffer has 'base'"},
      {"buffer T: shared f32 [1] offset=232448", "buffer T: shared f32 [1] offset=232444", "do not fit into the 232448 bytes of shared memory"},
      {"buffer T: shared f32 [1] offset=-4", "buffer T: shared f32 [1] offset=0", "do not fit into the 232448 bytes of shared memory"},
      {"buffer T: shared u8 [232448]", "buffer T: shared u8 [227328]", "do not fit into the 232448 bytes of shared memory"},  // 5120 are taken
      {"buffer T: local f32 [5000]", "buffer T: local f32 [4000]", "more than 4096 registers a thread"},
      // layouts
      {"buffer T: shared f32 [4, 8] layout=\"S[(4,4):(4,1)]\"", "buffer T: shared f32 [4, 4] layout=\"S[(4,4):(4,1)]\"", "the layout has 16 elements, shape (4, 8) has 32"},
      {"buffer T: shared f32 [4] layout=\"S[4:1@TCol]\"", "buffer T: shared f32 [4] layout=\"S[4:1]\"", "iter 0 (4:1@TCol): axis TCol does not exist in shared memory, which has m"},
      {tmem("S[(128,8):(8,1)]"), tmem("S[(128,8):(1@TLane,1@TCol)]"), "iter 0 (128:8@m): axis m does not exist in tmem memory, which has TLane and TCol"},
      {"buffer T: local f32 [4] layout=\"S[4:1@bx]\"", "buffer T: local f32 [4] layout=\"S[4:1@laneid]\"", "iter 0 (4:1@bx): axis bx does not exist in local memory"},
      {tmem("S[(128,8):(1@TLane,1@TCol)] + 1@TLane"), tmem("S[(128,8):(1@TLane,1@TCol)] + 1@TCol"), "coordinate on TLane past the last one, 127, first at element (127, 0), through iter 0 (128:1@TLane)"},
      {tmem("S[(128,8):(1@TLane,-1@TCol)]"), tmem("S[(128,8):(1@TLane,-1@TCol)] + 7@TCol"), "negative coordinate on TCol, first at element (0, 1), through iter 1 (8:-1@TCol)"},
      {tmem("S[(128,8):(1@TLane,0@TCol)]"), tmem("S[(128,8):(1@TLane,4@TCol)]"), "elements (0, 0) and (0, 1) share one place"},
      {"buffer T: shared f32 [4, 4] layout=\"S[(4,4):(3,1)]\"", "buffer T: shared f32 [4, 4] layout=\"S[(4,4):(5,1)]\"", "elements (0, 3) and (1, 0) share one place, first at element (1, 0), through iter 0 (4:3@m)"},
      {"buffer T: shared f32 [2, 3] layout=\"S[(2,3):(4,2)]\"", "buffer T: shared f32 [2, 3] layout=\"S[(2,3):(3,2)]\"", "elements (0, 2) and (1, 0) share one place, first at element (1, 0), through iter 0 (2:4@m)"},
      {"buffer T: local f32 [64] layout=\"S[64:1@laneid]\"", "buffer T: local f32 [64] layout=\"S[64:1@tid_in_wg]\"", "coordinate on laneid past the last one, 31, first at element (32), through iter 0 (64:1@laneid)"},
      {"buffer T: local f32 [256] layout=\"S[256:1@tx]\"", "buffer T: local f32 [128] layout=\"S[128:1@tx]\"", "coordinate on tx past the last one, 127, first at element (128), through iter 0 (256:1@tx) | the launch has 4 warps"},
      // tensor memory
      {"buffer T: tmem f32 [128, 8] base=0", tmem("S[(128,8):(1@TLane,1@TCol)]"), "a tmem buffer needs a layout"},
      {tmem("S[(128,8):(1@TLane,1@TCol)]", ""), tmem("S[(128,8):(1@TLane,1@TCol)]", " slot=slot"), "a tmem buffer has one base"},
      {tmem("S[(128,8):(1@TLane,1@TCol)]", " base=0 slot=slot"), tmem("S[(128,8):(1@TLane,1@TCol)]"), "a tmem buffer has one base"},
      {tmem("S[(128,8):(1@TLane,1@TCol)]", " slot=half"), tmem("S[(128,8):(1@TLane,1@TCol)]", " slot=slot"), "but half is shared f16"},
      {tmem("S[(128,8):(1@TLane,1@TCol)]", " base=-1"), tmem("S[(128,8):(1@TLane,1@TCol)]", " base=1"), "there is no column -1"},
      {tmem("S[(128,8):(1@TLane,1@TCol)]", " base=0 column=-8"), tmem("S[(128,8):(1@TLane,1@TCol)]", " base=0 column=8"), "there is no column -8"},
  };
  for (const Pair& pair : pairs) {
    INFO(pair.wrong);
    CHECK_THAT(error_of(kernel_with("", pair.wrong + "\n")), tests::contains(pair.message));
    CHECK(error_of(kernel_with("", pair.right + "\n")) == "no error");
  }
}

TEST_CASE("a replica may repeat what the shard says") {
  CHECK(error_of(kernel_with("", "buffer T: local f32 [4] layout=\"S[4:1] + R[32:1@laneid]\"\n")) == "no error");
}

TEST_CASE("launches: bad input and its twin") {
  const std::vector<Pair> pairs{
      {"warps=0", "warps=4", "1 to 32 warps, not 0"},
      {"warps=33", "warps=32", "1 to 32 warps, not 33"},
      {"warps=4 cluster=[4, 4, 2] grid=[4, 4, 2]", "warps=4 cluster=[4, 4, 1] grid=[4, 4, 2]", "at most 16 CTAs, not 32"},
      {"warps=4 cluster=[2, 1, 1] grid=[3, 1, 1]", "warps=4 cluster=[2, 1, 1] grid=[4, 1, 1]", "no multiple of the cluster"},
      {"warps=4 grid=[0, 1, 1]", "warps=4 grid=[1, 1, 1]", "at least one CTA"},
      {"warps=32 grid=[1025, 1, 1]", "warps=4 grid=[148, 1, 1]", "too many to simulate"},
      {"warps=4 grid=[4294967295, 4294967295, 4294967295]", "warps=4 grid=[16, 16, 2]", "too many to simulate"},
      {"warps=4 ctas_per_sm=0", "warps=4 ctas_per_sm=2", "an SM holds 1 to 32 CTAs"},
      {"warps=4 held_columns=48", "warps=4 held_columns=64", "a multiple of 32, 0 to 480, not 48"},
      {"warps=4 held_columns=512", "warps=4 held_columns=480", "a multiple of 32, 0 to 480, not 512"},
  };
  for (const Pair& pair : pairs) {
    INFO(pair.wrong);
    CHECK_THAT(error_of(kernel_with("", "", pair.wrong)), tests::contains(pair.message));
    CHECK(error_of(kernel_with("", "", pair.right)) == "no error");
  }
}

TEST_CASE("what the catalogue makes a finding is no bad input") {
  for (const std::string statement : {
           "@warp 0 tcgen05.alloc slot=slot cols=96",                                       // alloc-size
           "@warp 0 tcgen05.alloc slot=slot cols=0",
           "@warp 0 lane 3 tcgen05.alloc slot=slot cols=32",                                // participation
           "@warp 0 elect barrier.sync",
           "ld dst=R.r[0:4] src=S{byte: 2} bytes=16",                                       // misaligned
           "ld dst=R.r[0:4] src=S[127, 7] bytes=16",                                        // out-of-bounds
           "tcgen05.ld shape=32x32b num=1 dst=R.r[0] src={base: 0, lane: 200, col: 600}",   // taddr-bits
           "for i in [0, 99] { copy dst=A[i:i + 100, 0] src=A[0:100, 1] }",                 // out-of-bounds in some iteration
           "mov dst=R.r[0] a=1 / 0",
           "barrier.sync id=tid",
       }) {
    INFO(statement);
    CHECK(error_of(kernel_with(statement)) == "no error");
  }
  CHECK(error_of(kernel_with("", "buffer T: tmem f32 [128, 8] layout=\"S[(128,8):(1@TLane,1@TCol)]\" base=0 column=510\n")) == "no error");  // alloc-capacity
  CHECK(error_of("kernel k target sm_90 program { tcgen05.wait::ld }") == "no error");  // target
}

TEST_CASE("after lowering no primitive is left") {
  CHECK_THAT(error_of(kernel_with("copy dst=S src=A"), Level::machine), tests::contains("a tile primitive is left"));
  CHECK(error_of(kernel_with("copy dst=S src=A"), Level::tile) == "no error");
  CHECK(error_of(kernel_with("copy dst=S src=A by reg { delay 1 }"), Level::machine) == "no error");
  CHECK_THAT(error_of(kernel_with("copy dst=S src=A by reg { copy dst=S src=A }")), tests::contains("cannot stand inside a lowered one"));
  CHECK_THAT(error_of(kernel_with("copy dst=S src=A by reg { ld dst=R.r[0] src=A bytes=3 }")), tests::contains("not 3"));
  CHECK_THAT(error_of(kernel_with("copy dst=B src=A by reg { }")), tests::contains("B is f32 and A is f16"));
}

TEST_CASE("kernels that were put together by hand are checked as well") {
  Kernel base = parse_kernel(kernel_with("delay 1"), "k.kernel");
  verify(base, Level::tile);
  const auto fails = [&](auto change) {
    Kernel kernel = base;
    change(kernel);
    CHECK_THROWS_AS(verify(kernel, Level::tile), InputError);
  };
  fails([](Kernel& k) { k.name = "a b"; });
  fails([](Kernel& k) { k.name = ""; });
  fails([](Kernel& k) { k.buffers[0].name = "1x"; });
  fails([](Kernel& k) { k.body[0].node = Copy{{99, {}}, {0, {}}, {}}; });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(Move{{7, {16}}, Expr(1)}); });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(Move{{7, {}}, Expr(1)}); });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(Move{{0, {0}}, Expr(1)}); });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(Move{{7, {0}}, Expr::loop("i")}); });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(Move{{7, {0}}, Expr::reg(7, 16)}); });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(Move{{7, {0}}, Expr::word(5, 0)}); });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(TcgenAlloc{{6, {}, {}}, 32, 1}); });
  fails([](Kernel& k) { k.body[0].node = MachineOps::Any(Store{{0, {{Expr(0), {}}, {Expr(0), {}}}, Expr(0)}, {7, {0}}, 4, {}, Sem::weak, MemScope::cta, {}}); });
  fails([](Kernel& k) { k.body[0].means = Means{{0, {}}, {0, {}}}; });
  fails([](Kernel& k) { k.body[0].label = "program[3]"; });
  fails([](Kernel& k) { k.body[0].where = Where{{}, Where::Span{0, 0}, 0, {}, false}; });
  fails([](Kernel& k) { k.body[0].where = Where{{}, Where::Span{1, 0}, {}, {}, false}; });
  fails([](Kernel& k) { k.body[0].where = Where{{}, {}, {}, Where::Span{0, 32}, false}; });
  fails([](Kernel& k) { k.body[0].where = Where{{}, {}, {}, Where::Span{0, 3}, true}; });
  fails([](Kernel& k) {
    Expr deep = Expr::coordinate(ExprOp::tid);
    for (int i = 0; i < 70; ++i) deep = deep + Expr::coordinate(ExprOp::tid);
    k.body[0].node = While{deep, {}};
  });
  fails([](Kernel& k) {
    for (int i = 0; i < 70; ++i) {
      Stmt outer;
      outer.node = While{Expr(1), std::move(k.body)};
      k.body.clear();
      k.body.push_back(std::move(outer));
    }
  });
}

TEST_CASE("shared buffers are placed in order, on multiples of 1024, around fixed ones") {
  Kernel kernel = parse_kernel("kernel k buffer a: shared u8 [10] buffer b: shared u8 [1025] buffer x: shared u8 [100] offset=1024"
                               " buffer c: shared u8 [1] buffer y: shared u8 [4] offset=1030 program { }", "k.kernel");
  verify(kernel, Level::tile);
  const auto offset = [&](std::string_view name) { return kernel.buffers[*buffer_named(kernel, name)].offset; };
  CHECK(offset("a") == 0);
  CHECK(offset("b") == 2048);  // 1024 is taken by x and y, which overlap as they wish
  CHECK(offset("c") == 4096);
  CHECK(offset("x") == 1024);
  CHECK(offset("y") == 1030);
  const Kernel placed = kernel;
  verify(kernel, Level::tile);
  CHECK(kernel == placed);
}

TEST_CASE("differences of expressions that do not depend on threads or loops") {
  const Names names{nullptr, nullptr, {"i", "j"}};
  const auto difference = [&](std::string_view a, std::string_view b) { return constant_difference(parse_expr(a, names), parse_expr(b, names)); };
  CHECK(difference("i * 8 + 8", "8 * i") == 8);
  CHECK(difference("(i + 1) * 8", "i * 8") == 8);
  CHECK(difference("(i << 3) + 5", "i * 8 + 1") == 4);
  CHECK(difference("i + j - 3", "j + i") == -3);
  CHECK(difference("tid % 4 + 2", "tid % 4") == 2);
  CHECK(difference("i", "j") == std::nullopt);
  CHECK(difference("2 * i", "i") == std::nullopt);
  CHECK(difference("tid % 4", "tid % 8") == std::nullopt);
}
