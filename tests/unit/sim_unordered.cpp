// Reads and writes that nothing orders are told as if the writes came first: the first read of a warp with the last write of the
// other, whichever the schedule brings first. And whoever overwrites misses the order with the last access, which has that of the
// earlier ones.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

const std::string head = R"(kernel k
target sm_100a
launch warps=8
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [2] offset=8
buffer box: shared u32 [64] offset=1024 init=fill(1)
buffer A: shared f16 [128, 16] layout="S[(16,8,2,8):(64,8,1024,1)]" offset=4096 init=fill(1)
buffer B: shared f16 [32, 16] layout="S[(4,8,2,8):(64,8,256,1)]" offset=8192 init=fill(2)
buffer T: tmem f16 [128, 16] layout="S[(128,16):(1@TLane,1@TCol)]" slot=slot
buffer D: tmem f32 [128, 32] layout="S[(128,32):(1@TLane,1@TCol)]" slot=slot column=32
buffer R: local u32 [8]
program {
  @warp 0 tcgen05.alloc slot=slot cols=64
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  @warp 0 lane 0 mbarrier.init bar=bar[1] count=1
  mov dst=R.r[0:8] a=tid
  barrier.sync
)";
const std::string tail = "barrier.sync\nfree: @warp 0 tcgen05.dealloc slot=slot cols=64\n}\n";
std::string verdicts(const std::string& body) { return findings_everywhere(head + body + tail); }

std::string store(std::string_view name, int column = 0, int columns = 1) {
  return fmt::format("{}: @warp 0 tcgen05.st shape=32x32b num={} dst={{base: word(slot, 0), col: {}}} src=R.r[0:{}] @warp 0 tcgen05.wait::st\n", name, columns, column, columns);
}
std::string load(std::string_view name, int columns = 1) {
  return fmt::format("{}: @warp 4 tcgen05.ld shape=32x32b num={} dst=R.r[0:{}] src={{base: word(slot, 0)}} @warp 4 tcgen05.wait::ld\n", name, columns, columns);
}
const std::string handed_over = "tcgen05.fence::before_thread_sync\nbarrier.sync\ntcgen05.fence::after_thread_sync\n";

}  // namespace

TEST_CASE("of several reads before or behind an unordered store the first is told") {
  for (const char* late : {"", "@warp 0 delay 40\n", "@warp 4 delay 40\n"}) {
    INFO(late);
    CHECK(verdicts(late + store("put") + load("get") + load("again")) == "raw-st get < put");
    CHECK(verdicts(store("before", 0, 2) + handed_over + late + store("put") + load("get") + load("again")) == "raw-st get < put");
    // The first read comes before the store, and that is known: the second does not.
    const std::string told = "@warp 4 tcgen05.fence::before_thread_sync @warp 4 bar.warp.sync @warp 4 lane 0 mbarrier.arrive bar=bar[0]\n"
                             "@warp 0 mbarrier.try_wait bar=bar[0] parity=0 @warp 0 tcgen05.fence::after_thread_sync\n";
    CHECK(verdicts(store("before") + handed_over + load("get") + told + late + store("put") + load("again")) == "raw-st again < put");
  }
  CHECK(verdicts(store("put") + handed_over + load("get") + load("again")) == "");
}

TEST_CASE("of several writes before or behind an unordered read the last is told") {
  for (const char* late : {"", "@warp 0 delay 40\n", "@warp 4 delay 40\n"}) {
    INFO(late);
    CHECK(verdicts(late + store("put") + store("over") + load("get")) == "raw-st get < over");
    CHECK(verdicts(late + store("put") + store("over") + load("get") + load("again")) == "raw-st get < over");
    // Whatever orders the last store of a warp orders its earlier ones, in other cells, too.
    CHECK(verdicts(late + store("put", 0, 2) + store("over", 0, 1) + load("get", 2)) == "raw-st get < over");
  }
}

TEST_CASE("shared bytes: the first read and the last write") {
  const std::string put = "put: @warp 0 st dst=box{byte: lane * 4} src=R.r[0] bytes=4\n", over = "over: @warp 0 st dst=box{byte: lane * 4} src=R.r[1] bytes=4\n";
  const std::string get = "get: @warp 4 ld dst=R.r[2] src=box{byte: lane * 4} bytes=4\n", again = "again: @warp 4 ld dst=R.r[3] src=box{byte: lane * 4} bytes=4\n";
  for (const char* late : {"", "@warp 0 delay 40\n", "@warp 4 delay 40\n"}) {
    INFO(late);
    CHECK(verdicts(late + put + get + again) == "smem-race get < put");
    CHECK(verdicts(late + put + over + get) == "smem-race get < over");
    CHECK(verdicts(late + put + over + get + again) == "smem-race get < over");
  }
  CHECK(verdicts(put + over + "barrier.sync\n" + get + again) == "");
}

TEST_CASE("an address that is read before the alloc has stored it: the first use is told") {
  const auto program = [](std::string_view between) {
    return "kernel k\ntarget sm_100a\nlaunch warps=8\nbuffer slot: shared u32 [1] offset=0\nbuffer R: local u32 [2]\nprogram {\n mov dst=R.r[0] a=tid\n"
           "@warp 0 delay 30\nreq: @warp 0 tcgen05.alloc slot=slot cols=32\n" + std::string(between) +
           "put: @warp 4 tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0)} src=R.r[0] @warp 4 tcgen05.wait::st\n"
           "get: @warp 4 tcgen05.ld shape=32x32b num=1 dst=R.r[1] src={base: word(slot, 0)} @warp 4 tcgen05.wait::ld\n"
           "barrier.sync\n@warp 0 tcgen05.dealloc slot=slot cols=32\n}\n";
  };
  CHECK(findings_everywhere(program("")) == "addr-publish put < req");
  CHECK(findings_everywhere(program("barrier.sync\n")) == "");
}

TEST_CASE("whoever overwrites what an mma reads misses the order with the mma, and with what stands in front of it") {
  const std::string bring = "bring: @warp 1 lane 0 tcgen05.cp shape=128x256b dst=T src=A\n", multiply = "multiply: @warp 1 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=0\n";
  const std::string signal = "@warp 1 lane 0 tcgen05.commit bar=bar[1]\n", wait = "mbarrier.try_wait bar=bar[1] parity=0\n";
  const std::string again = "again: @warp 1 lane 0 tcgen05.cp shape=128x256b dst=T src=A\n", move = "move: @warp 1 lane 0 tcgen05.shift addr={base: word(slot, 0)}\n";
  CHECK(verdicts(bring + multiply + signal + "barrier.sync\n" + store("put") + wait) == "war-mma put < multiply");
  CHECK(verdicts(bring + signal + "barrier.sync\n" + store("put") + wait) == "waw-async put < bring");
  CHECK(verdicts(bring + multiply + signal + wait + store("put")) == "");
  CHECK(verdicts(bring + multiply + again + signal + wait) == "war-mma again < multiply [warning]");
  CHECK(verdicts(bring + again + signal + wait) == "waw-async again < bring [warning]");
  // cp and shift are no pipelined pair; cp and mma are, and mma and shift.
  CHECK(verdicts(bring + multiply + move + signal + wait) == "");
  CHECK(verdicts(bring + move + signal + wait) == "raw-mma move < bring");
  CHECK(verdicts(bring + move + multiply + signal + wait) == "raw-mma move < bring");
}

TEST_CASE("data over a barrier object is told once; who reads it later reads what is known bad") {
  const auto program = [](std::string_view between) {
    return "kernel k\ntarget sm_100a\nlaunch warps=2\nbuffer from: global u32 [32] init=fill(3)\nbuffer box: shared u32 [32] offset=1024 init=fill(1)\n"
           "buffer inside: shared mbarrier [1] offset=1032\nbuffer bar: shared mbarrier [1] offset=8\nbuffer R: local u32 [2]\nprogram {\n"
           "mov dst=R.r[0] a=tid\n@warp 0 lane 0 mbarrier.init bar=bar[0] count=1\nobject: @warp 0 lane 0 mbarrier.init bar=inside[0] count=1\nbarrier.sync\n" + std::string(between) + "}\n";
  };
  const std::string in = "@warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128\nin: @warp 0 lane 0 cp.async.bulk dst=box src=from bar=bar[0]\nmbarrier.try_wait bar=bar[0] parity=0\n";
  const std::string get = "get: @warp 0 ld dst=R.r[1] src=box{byte: lane * 4} bytes=4\n", put = "put: @warp 0 st dst=box{byte: lane * 4} src=R.r[0] bytes=4\n";
  CHECK(findings_everywhere(program(in + get)) == "mbar-uninit in < object");
  CHECK(findings_everywhere(program(put + get)) == "mbar-uninit put < object");
  CHECK(findings_everywhere(program(get)) == "mbar-uninit get < object");
}
