// What depends on a value, address or barrier that a finding has been made about is silent.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::string kernel(std::string_view body, std::string_view launch = "warps=1") {
  return fmt::format(R"(kernel k
target sm_100a
launch {}
buffer A: global u32 [64] init=iota(1, 1)
buffer B: global u32 [64]
buffer a: shared u32 [1] offset=0
buffer b: shared u32 [1] offset=16
buffer bar: shared mbarrier [2] offset=32
buffer S: shared u32 [64] offset=1024
buffer R: local u32 [8]
program {{
{}
}}
)", launch, body);
}

}  // namespace

TEST_CASE("a store to a wrong address: the bytes that it was meant for are known bad") {
  const auto program = [](std::string_view byte) {
    return kernel(fmt::format("mov dst=R.r[0] a=lane put: st dst=S{{byte: {}}} src=R.r[0] bytes=4 ld dst=R.r[1] src=S{{byte: lane * 4}} bytes=4 "
                              "wr: st dst=B{{byte: lane * 4}} src=R.r[1] bytes=4", byte));
  };
  CHECK(findings_everywhere(program("lane * 4")) == "");
  CHECK(findings_everywhere(program("lane * 4 + 2")) == "misaligned put");
  CHECK(findings_everywhere(program("lane * 4 + 256")) == "out-of-bounds put");
  CHECK(findings_everywhere(program("lane * 4 + 128")) == "uninit-read wr");  // a right store, elsewhere
}

TEST_CASE("an alloc that is refused gets no columns, and what is done with its address is silent") {
  const auto program = [](std::string_view first, std::string_view first_free, std::string_view launch = "warps=1") {
    return kernel(fmt::format("ra: tcgen05.alloc slot=a cols={} rb: tcgen05.alloc slot=b cols=32 r: tcgen05.relinquish_alloc_permit mov dst=R.r[0] a=lane "
                              "tcgen05.st shape=32x32b num=1 dst={{base: word(a, 0)}} src=R.r[0] tcgen05.wait::st "
                              "tcgen05.ld shape=32x32b num=1 dst=R.r[1] src={{base: word(a, 0)}} tcgen05.wait::ld "
                              "tcgen05.st shape=32x32b num=1 dst={{base: word(b, 0)}} src=R.r[0] tcgen05.wait::st "
                              "st dst=B{{byte: lane * 4}} src=R.r[1] bytes=4 tcgen05.dealloc slot=b cols=32 tcgen05.dealloc slot=a cols={}", first, first_free), launch);
  };
  CHECK(findings_everywhere(program("64", "64")) == "");
  CHECK(findings_everywhere(program("1024", "1024")) == "alloc-size ra");
  CHECK(findings_everywhere(program("96", "96")) == "alloc-size ra");
  CHECK(findings_everywhere(program("0", "0")) == "alloc-size ra");
  CHECK(findings_everywhere(program("512", "512")) == "alloc-capacity rb < ra");
}

TEST_CASE("a CTA that asks for more than there is, and a neighbour that waits for its columns: one fault") {
  const auto program = [](int second) {
    return kernel(fmt::format("ra: tcgen05.alloc slot=a cols=256 rb: tcgen05.alloc slot=b cols={0} tcgen05.relinquish_alloc_permit tcgen05.dealloc slot=b cols={0} "
                              "tcgen05.dealloc slot=a cols=256", second), "warps=1 grid=[2, 1, 1] ctas_per_sm=2");
  };
  CHECK(findings_everywhere(program(512)) == "alloc-capacity rb < ra; alloc-order rb < ra");
  const std::string full = "ra: tcgen05.alloc slot=a cols=512 rb: tcgen05.alloc slot=b cols=32 tcgen05.relinquish_alloc_permit tcgen05.dealloc slot=b cols=32 "
                           "tcgen05.dealloc slot=a cols=512";
  CHECK(findings_everywhere(kernel(full, "warps=1 grid=[2, 1, 1] ctas_per_sm=2")) == "alloc-capacity rb < ra");
}

TEST_CASE("a dealloc with the wrong count frees nothing: the right one that follows is right") {
  const auto program = [](std::string_view frees) { return kernel("ra: tcgen05.alloc slot=a cols=64 rb: tcgen05.alloc slot=b cols=32 " + std::string(frees)); };
  CHECK(findings_everywhere(program("tcgen05.dealloc slot=b cols=32 tcgen05.dealloc slot=a cols=64")) == "");
  CHECK(findings_everywhere(program("fb: tcgen05.dealloc slot=a cols=32 tcgen05.dealloc slot=a cols=64")) == "alloc-leak rb; dealloc-mismatch fb < ra");
  CHECK(findings_everywhere(program("tcgen05.dealloc slot=b cols=32 fa: tcgen05.dealloc slot=a cols=32")) == "dealloc-mismatch fa < ra");
  CHECK(findings_everywhere(program("tcgen05.dealloc slot=b cols=32 tcgen05.dealloc slot=a cols=64 again: tcgen05.dealloc slot=a cols=64")).find("dealloc-mismatch again") == 0);
  // A neighbour gets the columns all the same.
  CHECK(findings_everywhere(kernel("ra: tcgen05.alloc slot=a cols=512 tcgen05.relinquish_alloc_permit fa: tcgen05.dealloc slot=a cols=256",
                                   "warps=1 grid=[2, 1, 1] ctas_per_sm=2")) == "dealloc-mismatch fa < ra");
  CHECK(findings_everywhere(kernel("ra: tcgen05.alloc slot=a cols=512 fa: tcgen05.dealloc slot=a cols=256 rb: tcgen05.alloc slot=b cols=512 "
                                   "tcgen05.relinquish_alloc_permit tcgen05.dealloc slot=b cols=512")) == "dealloc-mismatch fa < ra");
}

TEST_CASE("two warps that free one allocation: the second has nothing to free, and no warning beside it") {
  const auto program = [](std::string_view who) {
    return kernel(fmt::format("@warp 0 tcgen05.alloc slot=a cols=64 barrier.sync free: @{} tcgen05.dealloc slot=a cols=64", who), "warps=2");
  };
  CHECK(findings_everywhere(program("warp 1")) == "");
  CHECK(findings_everywhere(program("warps 0..1")) == "dealloc-mismatch free < free");
}

TEST_CASE("a pair whose halves ask for different counts: told where they ask, not where they free") {
  const auto program = [](std::string_view count, std::string_view free_count) {
    return kernel(fmt::format("barrier.cluster.arrive barrier.cluster.wait req: tcgen05.alloc slot=a cols={} cta_group=2 barrier.cluster.arrive barrier.cluster.wait "
                              "free: tcgen05.dealloc slot=a cols={} cta_group=2", count, free_count), "warps=1 cluster=[2, 1, 1] grid=[2, 1, 1]");
  };
  CHECK(findings_everywhere(program("64", "64")) == "");
  CHECK(findings_everywhere(program("64 + rank * 64", "64 + rank * 64")) == "peer-lifecycle req < req");
  CHECK(findings_everywhere(program("64 + rank * 32", "64 + rank * 32")) == "alloc-size req");
  CHECK(findings_everywhere(program("96", "96")) == "alloc-size req");
  CHECK(findings_everywhere(program("64", "64 + rank * 64")) == "dealloc-mismatch free < req");
}

TEST_CASE("a barrier that names some lanes is one fault: the warps go on as if it named them all") {
  const auto program = [](std::string_view guard, std::string_view as_if) {
    return kernel(fmt::format("mov dst=R.r[0] a=lane @warp 0 st dst=S[lane] src=R.r[0] bytes=4 {} {{ b: {}barrier.sync }} @warp 1 ld dst=R.r[1] src=S[lane] bytes=4 "
                              "barrier.sync @warp 0 tcgen05.alloc slot=a cols=32 @warp 0 tcgen05.dealloc slot=a cols=32 "
                              "@warp 1 st dst=B[lane] src=R.r[1] bytes=4", guard, as_if), "warps=2");
  };
  CHECK(findings_everywhere(program("if 1", "")) == "");
  CHECK(findings_everywhere(program("if 1", "@lane 0 ")) == "participation b");
  CHECK(findings_everywhere(program("if 1", "@lanes 0..30 ")) == "participation b");
  CHECK(findings_everywhere(program("if lane == 0", "")) == "participation b");
  CHECK(findings_everywhere(program("if lane < 31", "")) == "participation b");
}

TEST_CASE("lanes that are wrong in all warps: one verdict, also where the last warp leaves the memory") {
  const auto program = [](std::string_view who, int plus) {
    return kernel(fmt::format("@warp 0 tcgen05.alloc slot=a cols=32 barrier.sync mov dst=R.r[0] a=lane "
                              "put: @{} tcgen05.st shape=32x32b num=1 dst={{base: word(a, 0), lane: warp * 32 + {}}} src=R.r[0] tcgen05.wait::st "
                              "barrier.sync @warp 0 tcgen05.dealloc slot=a cols=32", who, plus), "warps=4");
  };
  CHECK(findings_everywhere(program("cta", 0)) == "");
  CHECK(findings_everywhere(program("cta", 16)) == "lane-window put");
  CHECK(findings_everywhere(program("warp 3", 16)) == "out-of-bounds put");
}

TEST_CASE("uses of two buffers over the same columns, by the name that is copied from or to") {
  const auto program = [](std::string_view second, std::string_view between) {
    return fmt::format(R"(kernel k
target sm_100a
launch warps=8
buffer slot: shared u32 [1] offset=0
buffer one: tmem u32 [128, 1] layout="S[(128,1):(1@TLane,1@TCol)]" slot=slot
buffer two: tmem u32 [128, 1] layout="S[(128,1):(1@TLane,1@TCol)]" slot=slot
buffer f: local u32 [128, 1] layout="S[(128,1):(1@tid_in_wg,1)]"
program {{
  @warp 0 tcgen05.alloc slot=slot cols=32
  barrier.sync
  mov dst=f.r[0] a=tid
  first: @warpgroup 0 tcgen05.st shape=32x32b num=1 dst={{base: word(slot, 0), lane: warp * 32}} src=f.r[0] means(one <- f)
  @warpgroup 0 tcgen05.wait::st
  {}
  second: @warpgroup 1 tcgen05.st shape=32x32b num=1 dst={{base: word(slot, 0), lane: warp % 4 * 32}} src=f.r[0] {}
  @warpgroup 1 tcgen05.wait::st
  barrier.sync
  @warp 0 tcgen05.dealloc slot=slot cols=32
}}
)", between, second);
  };
  CHECK(findings_everywhere(program("means(two <- f)", "")) == "alias-race second < first");
  CHECK(findings_everywhere(program("means(one <- f)", "")) == "waw-async second < first");
  CHECK(findings_everywhere(program("", "")) == "waw-async second < first");  // through no name at all
  CHECK(findings_everywhere(program("means(two <- f)", "barrier.sync")).find("alias-race") == std::string::npos);
}

TEST_CASE("layout-mismatch of a cp, and another fault of the same instruction") {
  const auto program = [](std::string_view col, std::string_view layout) {
    return fmt::format(R"(kernel k
target sm_100a
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [1] offset=16
buffer sC: shared u32 [128, 4] offset=1024
buffer tC: tmem u32 [128, 4] layout="{}" slot=slot
buffer R: local u32 [4]
buffer out: global u32 [512]
program {{
  @warp 0 tcgen05.alloc slot=slot cols=32
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  mov dst=R.r[0:4] a=tid
  st dst=sC{{byte: tid * 16}} src=R.r[0:4] bytes=16
  fence.proxy.async space=shared::cta
  barrier.sync
  cp: @warp 1 lane 0 tcgen05.cp shape=128x128b dst={{base: word(slot, 0), col: {}}} src=sC means(tC <- sC)
  @warp 1 lane 0 tcgen05.commit bar=bar[0]
  mbarrier.try_wait bar=bar[0] parity=0
  tcgen05.ld shape=32x32b num=4 dst=R.r[0:4] src={{base: word(slot, 0), lane: warp * 32}}
  tcgen05.wait::ld
  st dst=out{{byte: tid * 16}} src=R.r[0:4] bytes=16
  barrier.sync
  @warp 0 tcgen05.dealloc slot=slot cols=32
}}
)", layout, col);
  };
  const std::string_view right = "S[(128,4):(1@TLane,1@TCol)]";
  CHECK(findings_everywhere(program("0", right)) == "");
  CHECK(findings_everywhere(program("4", right)) == "layout-mismatch cp");
  CHECK(findings_everywhere(program("0", "S[(128,4):(1@TLane,2@TCol)]")) == "layout-mismatch cp");
  CHECK(findings_everywhere(program("0", "S[(2,64,4):(1@TLane,2@TLane,1@TCol)]")) == "layout-mismatch cp");
  CHECK(findings_everywhere(program("2", right)) == "misaligned cp");
}

TEST_CASE("a signal to a rank that the cluster does not have, and who waits for it") {
  const auto signal = [](std::string_view rank) {
    return kernel(fmt::format("@lane 0 mbarrier.init bar=bar[0] count=1 fence.mbarrier_init barrier.cluster.arrive barrier.cluster.wait "
                              "tell: @lane 0 mbarrier.arrive bar=bar[0] rank={} scope=cluster mbarrier.try_wait bar=bar[0] parity=0 scope=cluster "
                              "barrier.cluster.arrive barrier.cluster.wait", rank), "warps=1 cluster=[2, 1, 1] grid=[2, 1, 1]");
  };
  CHECK(findings_everywhere(signal("rank ^ 1")) == "");
  CHECK(findings_everywhere(signal("rank + 1")) == "mbar-target tell");
  CHECK(findings_everywhere(signal("rank - 2")) == "mbar-target tell");
}

TEST_CASE("a bulk copy from or to a place that is not aligned: its bytes count, and nobody is told that they never came") {
  const auto program = [](int dst, int src) {
    return kernel(fmt::format("@lane 0 mbarrier.init bar=bar[0] count=1 bar.warp.sync @lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=64 "
                              "c: @lane 0 cp.async.bulk dst=S[{0}:{0}+16] src=A[{1}:{1}+16] bar=bar[0] mbarrier.try_wait bar=bar[0] parity=0 "
                              "@lanes 0..15 ld dst=R.r[0] src=S[lane] bytes=4 @lanes 0..15 st dst=B[lane] src=R.r[0] bytes=4", dst, src));
  };
  CHECK(findings_everywhere(program(0, 0)) == "");
  CHECK(findings_everywhere(program(1, 0)) == "misaligned c");
  CHECK(findings_everywhere(program(0, 2)) == "misaligned c");
}
