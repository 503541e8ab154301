// One fault, one finding: what the same missing statement brings about is told once, and two faults are told twice.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::string kernel(std::string_view body, std::string_view launch = "warps=5") {
  return fmt::format(R"(kernel k
target sm_100a
launch {}
buffer slot: shared u32 [1] offset=0
buffer slot2: shared u32 [1] offset=4
buffer bar: shared mbarrier [3] offset=8
buffer S: shared u32 [160] offset=1024
buffer A: shared f16 [128, 16] layout="S[(16,8,2,8):(64,8,1024,1)]" offset=4096 init=fill(1)
buffer B: shared f16 [32, 16] layout="S[(4,8,2,8):(64,8,256,1)]" offset=8192 init=fill(1)
buffer G: global u32 [64] init=iota(1, 1)
buffer F: global u32 [4] init=fill(0)
buffer O: global u32 [160] init=fill(0)
buffer D: tmem f32 [128, 32] layout="S[(128,32):(1@TLane,1@TCol)]" slot=slot
buffer T: tmem f16 [128, 16] layout="S[(128,16):(1@TLane,1@TCol)]" slot=slot column=32
buffer R: local u32 [40]
program {{
{}
}}
)", launch, body);
}

const std::string alloc = "a: @warp 0 tcgen05.alloc slot=slot cols=64 ";
const std::string inits = "@warp 0 lane 0 mbarrier.init bar=bar[0] count=1 @warp 0 lane 0 mbarrier.init bar=bar[1] count=1 ";
const std::string begin = "barrier.sync mov dst=R.r[0:40] a=tid ", end = " barrier.sync ";
const std::string give_back = "free: @warp 0 tcgen05.dealloc slot=slot cols=64 ";
const std::string own = "{base: word(slot, 0), lane: warp % 4 * 32}";

std::string store(std::string_view who) { return fmt::format("put: @{} tcgen05.st shape=32x32b num=1 dst={} src=R.r[0] ", who, own); }
std::string load(std::string_view who) { return fmt::format("get: @{} tcgen05.ld shape=32x32b num=1 dst=R.r[1] src={} ", who, own); }
const std::string wait_st = "tcgen05.wait::st ", wait_ld = "tcgen05.wait::ld ";

}  // namespace

TEST_CASE("a missing wait for a load: the overwrite is told, and not the dealloc or the registers as well") {
  const auto rounds = [](std::string_view wait, std::string_view last_wait = "") {
    return kernel(alloc + begin + store("warps 0..3") + wait_st +
                  fmt::format("for i in [0, 3] {{ {} {} again: @warps 0..3 tcgen05.st shape=32x32b num=1 dst={} src=R.r[2] @warps 0..3 tcgen05.wait::st }} {}", load("warps 0..3"), wait, own,
                              last_wait) + load("warp 2").replace(0, 4, "last:") + std::string(last_wait) + end + give_back);
  };
  CHECK(findings_everywhere(rounds(wait_ld, wait_ld)) == "");
  CHECK(findings_everywhere(rounds("", wait_ld)) == "war-ld again < get");
  // Another load without its wait is another fault.
  CHECK(findings_everywhere(rounds("")) == "war-ld again < get; dealloc-live free < last");
  CHECK(findings_everywhere(rounds(wait_ld)) == "dealloc-live free < last");
  // Where a register is used too early as well, in rounds whose cells nobody overwrites.
  const auto used = [](std::string_view wait) {
    return kernel(alloc + begin + store("warps 0..3") + wait_st +
                  fmt::format("for i in [0, 3] {{ {} {} use: add.s32 dst=R.r[3] a=R.r[1] b=1 if i == 1 {{ again: @warps 0..3 tcgen05.st shape=32x32b num=1 dst={} src=R.r[2] "
                              "@warps 0..3 tcgen05.wait::st }} }} tcgen05.wait::ld ", load("warps 0..3"), wait, own) + end + give_back);
  };
  CHECK(findings_everywhere(used(wait_ld)) == "");
  CHECK(findings_everywhere(used("")) == "war-ld again < get");
}

TEST_CASE("a missing barrier before the dealloc: the load is told, not the store that it comes after") {
  const auto program = [](std::string_view barrier, std::string_view between) {
    return kernel(alloc + begin + store("warps 0..3") + wait_st + "tcgen05.fence::before_thread_sync barrier.sync tcgen05.fence::after_thread_sync " + load("warps 1..4") + wait_ld +
                  std::string(between) + std::string(barrier) + give_back);
  };
  CHECK(findings_everywhere(program("barrier.sync ", "")) == "");
  CHECK(findings_everywhere(program("", "")) == "dealloc-live free < get");
  // A store that nobody reads before the dealloc is told for itself.
  const std::string other = "more: @warp 3 tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0), lane: warp % 4 * 32, col: 8} src=R.r[0] @warp 3 tcgen05.wait::st ";
  CHECK(findings_everywhere(program("barrier.sync ", other)) == "");
  CHECK(findings_everywhere(program("", other)).find("more") != std::string::npos);
}

TEST_CASE("pairs that stand inside each other lack one order") {
  // One flag without release and acquire: the flag, not what it was to hand over.
  const auto flag = [](std::string_view store_form, std::string_view load_form) {
    return kernel(alloc + begin + store("warp 0") + wait_st + fmt::format("tcgen05.fence::before_thread_sync @warp 0 bar.warp.sync raise: @warp 0 lane 0 st dst=F[0] src=R.r[4] bytes=4 {} "
                  "@warp 4 mov dst=R.r[2] a=1 poll: @warp 4 ld dst=R.r[2] src=F[0] bytes=4 {} tcgen05.fence::after_thread_sync ", store_form, load_form) + load("warp 4") + wait_ld + end + give_back);
  };
  CHECK(findings_everywhere(flag("", "")) == "global-race poll < raise");
  // Two buffers behind one missing barrier; what is inside is told.
  const auto shared = [](std::string_view between) {
    return kernel(begin + fmt::format("p0: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 p1: @warp 0 st dst=S[32 + lane] src=R.r[0] bytes=4 {} g1: @warp 1 ld dst=R.r[1] src=S[32 + lane] bytes=4 "
                                      "g0: @warp 1 ld dst=R.r[2] src=S[lane] bytes=4 ", between));
  };
  CHECK(findings_everywhere(shared("barrier.sync ")) == "");
  CHECK(findings_everywhere(shared("")) == "smem-race g1 < p1");
  // In both directions there are two faults.
  const std::string both_ways = "p0: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 g1: @warp 0 ld dst=R.r[1] src=S[32 + lane] bytes=4 "
                                "p1: @warp 1 st dst=S[32 + lane] src=R.r[0] bytes=4 g0: @warp 1 ld dst=R.r[2] src=S[lane] bytes=4 ";
  CHECK(findings_everywhere(kernel(begin + both_ways)) == "smem-race g1 < p1; smem-race g0 < p0");
  // The address of an alloc, read twice without the barrier.
  const std::string no_barrier = alloc + "mov dst=R.r[0:40] a=tid " + store("warp 1") + "@warp 1 tcgen05.wait::st " + load("warp 1") + wait_ld + end + give_back;
  CHECK(findings_everywhere(kernel(no_barrier)) == "addr-publish put < a");
  // Bytes for the tensor core without the fence of the proxies.
  const auto proxy = [](std::string_view fence) {
    return kernel(alloc + inits + begin + fmt::format("fill: @warp 0 lane 0 st dst=B{{byte: 0}} src=R.r[0] bytes=4 {} barrier.sync ", fence) +
                  "m1: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=0 m2: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=1 "
                  "@warp 0 lane 0 tcgen05.commit bar=bar[0] mbarrier.try_wait bar=bar[0] parity=0 " + end + give_back);
  };
  CHECK(findings_everywhere(proxy("fence.proxy.async space=shared::cta")) == "");
  CHECK(findings_everywhere(proxy("")) == "proxy-fence m1 < fill");
}

TEST_CASE("a missing commit is told once: with the last operation that it would cover, at the first use") {
  const auto program = [](std::string_view commit) {
    return kernel(alloc + inits + begin + "copy: @warp 4 lane 0 tcgen05.cp shape=128x256b dst=T src=A m1: @warp 4 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=0 "
                  "tcgen05.fence::before_thread_sync " + std::string(commit) + " barrier.sync tcgen05.fence::after_thread_sync "
                  "read: @warps 0..3 tcgen05.ld shape=32x32b num=8 dst=R.r[0:8] src={base: word(slot, 0), lane: warp % 4 * 32} @warps 0..3 tcgen05.wait::ld " + end + give_back);
  };
  CHECK(findings_everywhere(program("@warp 4 lane 0 tcgen05.commit bar=bar[0] mbarrier.try_wait bar=bar[0] parity=0")) == "");
  CHECK(findings_everywhere(program("")) == "raw-mma read < m1");
}

TEST_CASE("a copy that is refused brings its bytes all the same") {
  const auto copy = [](std::string_view source, std::string_view bytes) {
    return kernel(inits + begin + fmt::format("e: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes={} ", bytes) +
                  fmt::format("for i in [0, 1] {{ send: @warp 0 lane 0 cp.async.bulk dst=S[0:32] src=G[{}] bar=bar[0] }} w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 "
                              "g: @warp 1 ld dst=R.r[1] src=S[lane] bytes=4 @warp 1 st dst=O[lane] src=R.r[1] bytes=4 ", source));
  };
  CHECK(findings_everywhere(copy("i * 32:i * 32 + 32", "128")) == "");
  CHECK(findings_everywhere(copy("i * 32 + 40:i * 32 + 72", "128")) == "out-of-bounds send");
  CHECK(findings_everywhere(copy("i * 32 + 40:i * 32 + 72", "256")).find("mbar-tx") != std::string::npos);  // it would not have been enough
}

TEST_CASE("what a refused alloc or a malformed address was to give is no second fault") {
  const std::string relinquish = "r: @warp 0 tcgen05.relinquish_alloc_permit ";
  CHECK(findings_everywhere(kernel(alloc + relinquish + "b: @warp 0 tcgen05.alloc slot=slot2 cols=32 " + give_back)) == "alloc-permit b < r");
  CHECK(findings_everywhere(kernel(alloc + "b: @warp 0 tcgen05.alloc slot=slot2 cols=32 " + relinquish + give_back)) == "alloc-leak b");
  const auto address = [](std::string_view column) {
    return kernel(alloc + begin + fmt::format("put: @warp 0 tcgen05.st shape=32x32b num=1 dst={{base: word(slot, 0), col: {}}} src=R.r[0] @warp 0 tcgen05.wait::st "
                                              "get: @warp 0 tcgen05.ld shape=32x32b num=1 dst=R.r[1] src={{base: word(slot, 0), col: 5}} @warp 0 tcgen05.wait::ld", column) + end + give_back);
  };
  CHECK(findings_everywhere(address("5")) == "");
  CHECK(findings_everywhere(address("5 + 0x8000")) == "taddr-bits put");
  CHECK(findings_everywhere(address("0x8000")) == "taddr-bits put");
  CHECK(findings_everywhere(address("6")) == "uninit-read get");
}

TEST_CASE("a lane with a wrong index leaves the memory in one round and races in another") {
  const auto program = [](std::string_view index, std::string_view word) {
    return kernel("mov dst=R.r[0] a=tid " + fmt::format("for i in [0, 2] {{ get: @warp 0 ld dst=R.r[1] src=S[i * 128 + {}] bytes=4 }} put: @warp 1 lane 0 st dst=S[{}] src=R.r[0] bytes=4 ", index, word));
  };
  CHECK(findings_everywhere(program("lane", "32")) == "");
  CHECK(findings_everywhere(program("lane + 1", "32")) == "out-of-bounds get");
  CHECK(findings_everywhere(program("lane + 1", "31")) == "out-of-bounds get; smem-race get < put");  // another lane
  CHECK(findings_everywhere(program("lane", "31")) == "smem-race get < put");
}

TEST_CASE("inits that nothing publishes are one fault") {
  const std::string use = "w0: @warp 1 lane 0 mbarrier.arrive bar=bar[0] w1: @warp 2 lane 0 mbarrier.arrive bar=bar[1] ";
  const std::string first = "i0: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1 ", second = "i1: @warp 0 lane 0 mbarrier.init bar=bar[1] count=1 ";
  CHECK(findings_everywhere(kernel(first + second + end + use)) == "");
  CHECK(findings_everywhere(kernel(first + second + use)) == "mbar-uninit w0 < i0");
  const std::string by_another = "i1: @warp 3 lane 0 mbarrier.init bar=bar[1] count=1 ";
  CHECK(findings_everywhere(kernel(first + by_another + use)) == "mbar-uninit w0 < i0; mbar-uninit w1 < i1");
}

TEST_CASE("half of a pair's dealloc is missing: the wait for it is told, and no leak") {
  const auto pair = [](std::string_view who) {
    return kernel(fmt::format("barrier.cluster.arrive barrier.cluster.wait @warp 0 tcgen05.alloc slot=slot cols=64 cta_group=2 barrier.cluster.arrive barrier.cluster.wait "
                              "free: @{} tcgen05.dealloc slot=slot cols=64 cta_group=2 ", who), "warps=1 cluster=[2, 1, 1] grid=[2, 1, 1]");
  };
  CHECK(findings_everywhere(pair("warp 0")) == "");
  CHECK(findings_everywhere(pair("cta 0 warp 0")) == "deadlock free");
  CHECK(findings_everywhere(pair("cta 1 warp 0")) == "deadlock free");
}

TEST_CASE("a dealloc that nothing orders after a store and the load behind it: the load is told, whenever the dealloc comes") {
  const auto program = [](std::string_view before_free) {
    return kernel(alloc + inits + begin + store("warps 0..3") + wait_st + "@warps 0..3 barrier.sync id=1 count=256 @warps 4..7 barrier.sync id=1 count=256 " + load("warps 4..7") + wait_ld +
                  std::string(before_free) + "free: @warp 8 tcgen05.dealloc slot=slot cols=64", "warps=9");
  };
  CHECK(findings_everywhere(program(" barrier.sync ")).find("dealloc-live") == std::string::npos);
  CHECK(findings_everywhere(program("")).find("dealloc-live free < get") != std::string::npos);
  CHECK(findings_everywhere(program("")).find("free < put") == std::string::npos);
}
