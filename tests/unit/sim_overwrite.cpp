// Which of several accesses a conflict in tensor memory names, and what follows from one.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

const std::string head = R"(kernel k
target sm_100a
launch warps=5
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [3] offset=8
buffer A: shared f16 [128, 16] layout="S[(16,8,2,8):(64,8,1024,1)]" offset=1024 init=fill(1)
buffer B: shared f16 [32, 16] layout="S[(4,8,2,8):(64,8,256,1)]" offset=8192 init=fill(2)
buffer D: tmem f32 [128, 32] layout="S[(128,32):(1@TLane,1@TCol)]" slot=slot
buffer T: tmem f16 [128, 16] layout="S[(128,16):(1@TLane,1@TCol)]" slot=slot column=32
buffer R: local u32 [32]
program {
  @warp 0 tcgen05.alloc slot=slot cols=64
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  @warp 0 lane 0 mbarrier.init bar=bar[1] count=1
  @warp 0 lane 0 mbarrier.init bar=bar[2] count=128
  mov dst=R.r[0:32] a=tid
  barrier.sync
)";
const std::string tail = "barrier.sync\nfree: @warp 0 tcgen05.dealloc slot=slot cols=64\n}\n";

const std::string copy = "copy: @warp 4 lane 0 tcgen05.cp shape=128x256b dst=T src=A\n";
const std::string mma = "mma: @warp 4 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=0\n";
const std::string more = "more: @warp 4 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=1\n";
const std::string shift = "shift: @warp 4 lane 0 tcgen05.shift addr={base: word(slot, 0), col: 32}\n";
const std::string commit = "@warp 4 lane 0 tcgen05.commit bar=bar[0]\n", wait = "mbarrier.try_wait bar=bar[0] parity=0\n";
const std::string barrier = "barrier.sync\n", fenced = "tcgen05.fence::before_thread_sync barrier.sync tcgen05.fence::after_thread_sync\n";
const std::string store = "store: @warps 0..3 tcgen05.st shape=32x32b num=8 dst={base: word(slot, 0), lane: warp * 32, col: 32} src=R.r[0:8] @warps 0..3 tcgen05.wait::st\n";
const std::string load = "load: @warps 0..3 tcgen05.ld shape=32x32b num=8 dst=R.r[8:16] src={base: word(slot, 0), lane: warp * 32, col: 32} @warps 0..3 tcgen05.wait::ld\n";
const std::string result = "result: @warps 0..3 tcgen05.ld shape=32x32b num=8 dst=R.r[8:16] src={base: word(slot, 0), lane: warp * 32} @warps 0..3 tcgen05.wait::ld\n";

std::string verdicts(const std::string& body) { return findings_everywhere(head + body + tail); }
std::string lenient(const std::string& body) {
  sim::Options options;
  options.profile = Profile::lenient();
  return findings_everywhere(head + body + tail, options);
}

}  // namespace

TEST_CASE("Whoever overwrites what is still being read misses the order with the reader alone") {
  CHECK(verdicts(copy + mma + commit + barrier + store + wait) == "war-mma store < mma");
  CHECK(verdicts(copy + mma + commit + wait + store) == "");
  CHECK(verdicts(copy + commit + barrier + store + wait) == "waw-async store < copy");  // nobody reads between
  const std::string again = "again: @warp 4 lane 0 tcgen05.cp shape=128x256b dst=T src=A\n";
  CHECK(verdicts(copy + mma + again + commit + wait) == "war-mma again < mma [warning]");
  CHECK(lenient(copy + mma + again + commit + wait) == "");
}

TEST_CASE("missing-fence: of a write and the reads behind it the reads are named") {
  const std::string relaxed = "@warps 0..3 mbarrier.arrive bar=bar[2] sem=relaxed\n@warp 4 mbarrier.try_wait bar=bar[2] parity=0 sem=relaxed\n";
  const std::string before = "@warps 0..3 tcgen05.fence::before_thread_sync\n", after = "@warp 4 tcgen05.fence::after_thread_sync\n";
  const std::string end = "@warp 4 lane 0 tcgen05.commit bar=bar[1]\nmbarrier.try_wait bar=bar[1] parity=0\n";
  const std::string handed = "@warps 0..3 mbarrier.try_wait bar=bar[0] parity=0\n";
  CHECK(verdicts(copy + commit + handed + load + relaxed + shift + end) == "missing-fence shift < load");
  CHECK(verdicts(copy + commit + handed + load + before + relaxed + after + shift + end) == "");
}

TEST_CASE("Before is transitive: what runs in front of something that runs in front") {
  CHECK(verdicts(copy + shift + commit + wait) == "raw-mma shift < copy");
  CHECK(verdicts(copy + mma + shift + commit + wait) == "");
  // Over two threads it takes the fences that tell of the product.
  const std::string theirs = "shift: @warp 0 lane 0 tcgen05.shift addr={base: word(slot, 0), col: 32}\n@warp 0 lane 0 tcgen05.commit bar=bar[0]\n";
  CHECK(verdicts(copy + mma + fenced + theirs + wait) == "");
  CHECK(verdicts(copy + mma + barrier + theirs + wait).find("missing-fence shift < mma") != std::string::npos);
}

TEST_CASE("What the order of issue makes right is still not complete for others") {
  CHECK(verdicts(copy + shift + commit + wait + load) == "raw-mma shift < copy");
  CHECK(lenient(copy + shift + commit + wait + load) == "");
  CHECK(lenient(copy + shift + commit + barrier + load + wait) == "raw-mma load < shift");
}

TEST_CASE("A read that comes too early for several operations of one thread names the last of them") {
  const std::string ready = copy + commit + wait + fenced;
  const std::string end = "@warp 4 lane 0 tcgen05.commit bar=bar[1]\nmbarrier.try_wait bar=bar[1] parity=0\n";
  const std::string initial = "zero: @warps 0..3 tcgen05.st shape=32x32b num=32 dst={base: word(slot, 0), lane: warp * 32} src=R.r[0:32] @warps 0..3 tcgen05.wait::st\n";
  CHECK(verdicts(initial + ready + mma + more + end + result) == "");
  CHECK(verdicts(initial + ready + mma + more + result + end) == "raw-mma result < more");
  CHECK(verdicts(initial + ready + mma + result + end) == "raw-mma result < mma");
  const std::string half = "half: @warp 4 lane 0 tcgen05.mma kind=f16 d=D[0:128, 0:16] a=T b=B[0:16, 0:16] accumulate=0\n";
  const std::string whole = "whole: @warps 0..3 tcgen05.ld shape=32x32b num=32 dst=R.r[0:32] src={base: word(slot, 0), lane: warp * 32} @warps 0..3 tcgen05.wait::ld\n";
  CHECK(verdicts(ready + mma + half + barrier + whole + end) == "waw-async half < mma [warning]; raw-mma whole < half");
  CHECK(verdicts(ready + mma + result) == "raw-mma result < mma");         // and no dealloc-live beside it
  const std::string shift_result = "shift: @warp 4 lane 0 tcgen05.shift addr={base: word(slot, 0)}\n";
  CHECK(verdicts(ready + mma + shift_result + result) == "raw-mma result < shift");  // nor for the operand that the product reads
  CHECK(verdicts(ready + mma + shift_result + wait) == "dealloc-live free < shift");
}
