// Whole emitted programs: both seed programs with their copies lowered by hand, and one program of every kind of statement.
// What is checked is what the assembler says and in which order the instructions come out, not the text.
#include "emit/emit.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"

using namespace tmemsim;

namespace {

// A warpgroup moves a 128x8 f16 tile registers -> tensor memory -> registers.
const std::string tmem_round_trip = R"(kernel tmem_roundtrip_f16
doc "Registers to tensor memory and back, bit exact."
target sm_100a
ptx 9.0
launch warps=4 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer A:      global f16 [128, 8] init=iota(1, 1)
buffer B:      global f16 [128, 8] init=fill(0)
buffer slot:   shared u32 [1] offset=0
buffer acc:    tmem f16 [128, 8] layout="S[(128,8):(1@TLane,1@TCol)]" slot=slot
buffer A_frag: local f16 [128, 8] layout="S[(128,8):(1@tid_in_wg,1)]"
buffer B_frag: local f16 [128, 8] layout="S[(128,8):(1@tid_in_wg,1)]"
program {
  @warp 0  tcgen05.alloc slot=slot cols=32
  @cta  barrier.sync
  @warpgroup 0  copy dst=A_frag src=A by reg {
    ld dst=A_frag.r[0:4] src=A[tid, 0] bytes=16
  }
  @warpgroup 0  copy_async dst=acc src=A_frag by tcgen05_ldst {
    tcgen05.st shape=32x32b num=4 dst=acc[warp % 4 * 32, 0] src=A_frag.r[0:4]
  }
  @warpgroup 0  tcgen05.wait::st
  @warpgroup 0  copy_async dst=B_frag src=acc by tcgen05_ldst {
    tcgen05.ld shape=32x32b num=4 src=acc[warp % 4 * 32, 0] dst=B_frag.r[0:4]
  }
  @warpgroup 0  tcgen05.wait::ld
  @warpgroup 0  copy dst=B src=B_frag by reg {
    st src=B_frag.r[0:4] dst=B[tid, 0] bytes=16
  }
  @cta  barrier.sync
  @warp 0  tcgen05.dealloc slot=slot cols=32
  @warp 0  tcgen05.relinquish_alloc_permit
}
)";

// A warp moves a 32x8 f32 tile shared -> registers -> shared.
const std::string shared_round_trip = R"(kernel smem_roundtrip_f32
target sm_90
ptx 9.0
launch warps=1 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer A: global f32 [32, 8] init=iota(1, 1)
buffer B: global f32 [32, 8]
buffer S: shared f32 [32, 8] offset=0
buffer T: shared f32 [32, 8] offset=1024
buffer R: local f32 [32, 8] layout="S[(32,8):(1@laneid,1)]"
program {
  ld dst=R.r[0:4] src=A[lane, 0] bytes=16
  ld dst=R.r[4:8] src=A[lane, 4] bytes=16
  st src=R.r[0:4] dst=S[lane, 0] bytes=16
  st src=R.r[4:8] dst=S[lane, 4] bytes=16
  bar.warp.sync
  copy dst=R src=S by reg {
    ld dst=R.r[0:4] src=S[lane, 0] bytes=16
    ld dst=R.r[4:8] src=S[lane, 4] bytes=16
  }
  copy dst=T src=R by reg {
    st src=R.r[0:4] dst=T[lane, 0] bytes=16
    st src=R.r[4:8] dst=T[lane, 4] bytes=16
  }
  bar.warp.sync
  ld dst=R.r[0:4] src=T[lane, 0] bytes=16
  ld dst=R.r[4:8] src=T[lane, 4] bytes=16
  st src=R.r[0:4] dst=B[lane, 0] bytes=16
  st src=R.r[4:8] dst=B[lane, 4] bytes=16
}
)";

// Every operation that runs on Hopper, in two clusters of two CTAs, with layouts, packed elements and a window above 48 KiB.
const std::string everything = R"(kernel every-thing
doc "a doc that tries: */ \\\n#error this line left its comment ??/"
target sm_90
ptx 9.0
launch warps=8 cluster=[2, 1, 1] grid=[4, 1, 1] ctas_per_sm=2
buffer A: global f32 [256, 8] init=iota(1, 1) layout="S[(256,8):(1,256)]"
buffer P: global e2m1 [64, 8] init=fill(1)
buffer Q: global u64 [4]
buffer S: shared f32 [256, 8] offset=0
buffer I: shared u16 [32] offset=8192 init=iota(1, 1) layout="S[(8,4):(1,9)]"
buffer J: shared u64 [2] offset=9216 init=iota(5, 1)
buffer big: shared u8 [65536] offset=16384
buffer R: local u32 [12]
program {
  ld dst=R.r[0] src=A[tid, 0] bytes=4
  ld dst=R.r[1] src=P[lane, 2] bytes=1 reg_byte=3
  ld dst=R.r[1] src=I[lane] bytes=2 reg_byte=0
  ld dst=R.r[2:4] src=J[0] bytes=8 sem=relaxed scope=cta
  ld dst=R.r[4] src=S[tid, 1] bytes=4 sem=acquire scope=cluster rank=1 - rank
  ld dst=R.r[4] src=Q[0] bytes=4 sem=acquire scope=gpu
  st src=R.r[4:8] dst=S[tid, 0] bytes=16 rank=rank
  st src=R.r[1] dst=big{byte: tid} bytes=1 reg_byte=3
  st src=R.r[1] dst=Q[2] bytes=2 sem=release scope=sys
  mov dst=R.r[0:4] a=R.r[4:8]
  mov dst=R.r[0:4] a=R.r[1]
  mov dst=R.r[8] a=word(A, tid) + 1
  add.s32 dst=R.r[0:4] a=R.r[0] b=tid * 5 - 100
  add.f32 dst=R.r[4:6] a=R.r[6:8] b=3
  setp cmp=ne type=f32 dst=R.r[5] a=R.r[4] b=tid / word(S, 0)
  setp cmp=lt type=u32 dst=R.r[5:7] a=R.r[4] b=cta
  setp cmp=ge type=s32 dst=R.r[5] a=R.r[4] b=wg
  barrier.sync id=1 count=256
  @warps 0..3  barrier.arrive id=2 count=256
  @warps 4..7  barrier.sync id=2 count=256
  @cta 1 warpgroup 1 lanes 0..15  mov dst=R.r[9] a=7
  elect.sync dst=R.r[10]
  @warp 3 elect  mov dst=R.r[11] a=R.r[10] >> 40
  for i in [0, 8, 2] {
    if tid < i {
      @lane 3  mov dst=R.r[0] a=i + 1
      @elect  mov dst=R.r[0] a=i + 2
      delay 5
    } else {
      for j in [i, word(S, i), 1] {
        bar.warp.sync mask=0b1111
      }
    }
    bar.warp.sync
  }
  while word(Q, tid) == R.r[2] * 7 {
  }
}
)";

Kernel kernel(const std::string& text) {
  Kernel result = parse_kernel(text, "k.kernel");
  verify(result, Level::machine);
  return result;
}

std::size_t position(const std::string& text, std::string_view part, std::size_t from = 0) {
  const std::size_t at = text.find(part, from);
  CAPTURE(part);
  REQUIRE(at != std::string::npos);
  return at;
}

std::string refusal(const std::string& text) {
  try {
    (void)emit::cuda(kernel(text));
    return "not refused";
  } catch (const Unsupported& error) { return std::to_string(error.at().line) + ": " + error.reason(); }
}

std::string replaced(std::string text, std::string_view part, std::string_view by) {
  const std::size_t at = position(text, part);
  return text.replace(at, part.size(), by);
}

}  // namespace

TEST_CASE("the seed programs assemble for sm_100a and sm_103a, and the loaded registers are used behind the wait") {
  const std::string text = emit::cuda(kernel(tmem_round_trip));
  CHECK_THAT(text, tests::contains("// k.kernel:18 program[3]: @warpgroup 0  copy_async"));
  CHECK_THAT(text, tests::contains("arch=compute_100a,code=sm_100a"));
  if (!tests::have_nvcc()) {
    WARN("no nvcc 12.8 or later: not assembled");
    return;
  }
  const tests::Compiled tmem = tests::compile(text, "100a 103a", true);
  INFO(tmem.log);
  REQUIRE(tmem.ok);
  CHECK(tmem.stack_bytes == 0);
  const std::size_t load = position(tmem.ptx, "tcgen05.ld.sync.aligned.32x32b.x4.b32");
  const std::size_t wait = position(tmem.ptx, "tcgen05.wait::ld.sync.aligned;");
  CHECK(position(tmem.ptx, "tcgen05.wait::st") < load);
  CHECK(load < wait);
  CHECK(wait < position(tmem.ptx, "st.global.v4.b32"));
}

TEST_CASE("a program without tensor memory assembles for the GPUs that have no tensor memory") {
  const std::string text = emit::cuda(kernel(shared_round_trip));
  CHECK(text.find("tcgen05") == std::string::npos);
  if (!tests::have_nvcc()) return;
  const tests::Compiled compiled = tests::compile(text, "90", true);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
  CHECK(compiled.stack_bytes == 0);
}

TEST_CASE("every kind of statement assembles, with and without the register dump") {
  for (const bool dump : {false, true}) {
    const std::string text = emit::cuda(kernel(everything), {dump});
    CHECK((text.find("R.registers.npy") != std::string::npos) == dump);
    if (!tests::have_nvcc()) continue;
    const tests::Compiled compiled = tests::compile(text, "90", dump);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
    for (const std::string_view part :
         {"ld.relaxed.cta.shared.v2.b32", "ld.acquire.cluster.shared::cluster.b32", "ld.acquire.gpu.global.b32",
          "st.release.sys.global.u16", "st.shared::cluster.v4.b32", "mapa.shared::cluster.u32", "setp.ne.f32", "setp.lt.u32",
          "setp.ge.s32", "elect.sync", "barrier.arrive", "add.rn.f32"}) {
      (void)position(compiled.ptx, part);
    }
  }
}

TEST_CASE("what a kernel does not use is not printed") {
  const std::string text = emit::cuda(kernel(shared_round_trip));
  for (const std::string_view absent :
       {"to_device", "from_device", "elect", "barrier", "wrapping", "const int warp", "const int tid", "cudaFuncSetAttribute",
        "cudaLaunchAttribute", "copy_bits", "replace_byte"}) {
    CAPTURE(absent);
    CHECK(text.find(absent) == std::string::npos);
  }
  const std::string all = emit::cuda(kernel(everything));
  for (const std::string_view present :
       {"to_device", "from_device", "elect", "barrier", "wrapping", "const int warp", "const int tid", "cudaFuncSetAttribute",
        "cudaLaunchAttribute", "copy_bits", "replace_byte"}) {
    CAPTURE(present);
    CHECK(all.find(present) != std::string::npos);
  }
}

TEST_CASE("aligned operations: the warp is brought together first, and a part of a warp is refused") {
  const std::string together = replaced(tmem_round_trip, "  @warpgroup 0  tcgen05.wait::st\n",
                                        "  @lane 3  mov dst=B_frag.r[0] a=1\n  @warpgroup 0  tcgen05.wait::st\n");
  const std::string text = emit::cuda(kernel(together));
  const std::size_t sync = position(text, "__syncwarp()");
  CHECK(sync > position(text, "if (lane == 3)"));
  CHECK(sync < position(text, "  tcgen05_wait_st();", position(text, "__global__")));
  CHECK(emit::cuda(kernel(tmem_round_trip)).find("__syncwarp") == std::string::npos);

  CHECK_THAT(refusal(replaced(tmem_round_trip, "@warpgroup 0  tcgen05.wait::st", "@warp 0 lanes 0..15  tcgen05.wait::st")),
             tests::contains("21: tcgen05.wait::st needs all 32 lanes"));
  CHECK(refusal(replaced(tmem_round_trip, "@warpgroup 0  tcgen05.wait::st", "@warp 0 lanes 0..31  tcgen05.wait::st")) ==
        "not refused");
}

TEST_CASE("what the target lacks is refused, with the place") {
  const Kernel not_lowered =
      parse_kernel(replaced(tmem_round_trip, "by reg {\n    ld dst=A_frag.r[0:4] src=A[tid, 0] bytes=16\n  }", ""), "k.kernel");
  CHECK_THROWS_AS(emit::cuda(not_lowered), Unsupported);
}

TEST_CASE("an election without elect.sync, for targets before sm_90") {
  const std::string text = emit::cuda(kernel(R"(kernel before_sm_90
target sm_80
ptx 9.0
launch warps=1 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer R: local u32 [1]
program {
  @elect  mov dst=R.r[0] a=1
}
)"));
  CHECK(text.find("elect.sync _|p") == std::string::npos);
  if (!tests::have_nvcc()) return;
  const tests::Compiled compiled = tests::compile(text, "80");
  INFO(compiled.log);
  CHECK(compiled.ok);
}

TEST_CASE("names that are no names are refused") {
  for (const std::string name : {"A\"; int x = system(\"ls\"); //", "../../A", "A\n#error", "", "A B"}) {
    Kernel evil = kernel(shared_round_trip);
    evil.buffers[0].name = name;
    CAPTURE(name);
    CHECK_THROWS_AS(emit::cuda(evil), Unsupported);
  }
  Kernel odd = kernel(shared_round_trip);
  odd.buffers[0].name = "__int";
  CHECK_NOTHROW(emit::cuda(odd));
}
