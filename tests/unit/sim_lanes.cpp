// Operations that touch some lanes of a slab of 16 only: cp.4x256b and an mma whose mask leaves lanes out. They meet others in
// the lanes that both touch and nowhere else.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

const std::string head = R"(kernel k
target sm_100a
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [2] offset=8
buffer A: shared f16 [128, 16] layout="S[(16,8,2,8):(64,8,1024,1)]" offset=1024 init=fill(1)
buffer B: shared f16 [32, 16] layout="S[(4,8,2,8):(64,8,256,1)]" offset=8192 init=fill(2)
buffer src: shared u8 [4, 32] layout="S[(4,2,16):(16,2048,1)]" offset=16384 init=random_bits(7)
buffer D: tmem f32 [128, 32] layout="S[(128,32):(1@TLane,1@TCol)]" slot=slot
buffer R: local u32 [32]
program {
  @warp 0 tcgen05.alloc slot=slot cols=32
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  @warp 0 lane 0 mbarrier.init bar=bar[1] count=1
  mov dst=R.r[0:32] a=tid
  barrier.sync
)";
const std::string tail = "barrier.sync\nfree: @warp 0 tcgen05.dealloc slot=slot cols=32\n}\n";

// By lane 0 of warp `warp`; its commit arrives on the barrier of that number.
std::string refresh(int warp, int lane, int column = 0) {
  return fmt::format("cp{}: @warp {} lane 0 tcgen05.cp shape=4x256b dst={{base: word(slot, 0), lane: {}, col: {}}} src=src\n", warp, warp, lane, column);
}
std::string product(int warp, std::string_view off, int accumulate = 0) {
  return fmt::format("mma{}: @warp {} lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate={} lanes_off=[{}]\n", warp, warp, accumulate, off);
}
std::string signal(int warp) { return fmt::format("@warp {} lane 0 tcgen05.commit bar=bar[{}]\n", warp, warp); }
std::string wait(int warp) { return fmt::format("mbarrier.try_wait bar=bar[{}] parity=0\n", warp); }
std::string done(int warp) { return signal(warp) + wait(warp); }

const std::string fill = "store: tcgen05.st shape=32x32b num=32 dst={base: word(slot, 0), lane: warp * 32} src=R.r[0:32] tcgen05.wait::st\n"
                         "tcgen05.fence::before_thread_sync barrier.sync tcgen05.fence::after_thread_sync\n";
const std::string load = "load: tcgen05.ld shape=32x32b num=8 dst=R.r[0:8] src={base: word(slot, 0), lane: warp * 32} tcgen05.wait::ld\n";

std::string verdicts(const std::string& body) { return findings_everywhere(head + body + tail); }

// Disables all lanes of every quadrant but those of the mask.
std::string only(std::uint32_t lanes) { return fmt::format("{0}, {0}, {0}, {0}", ~lanes); }

}  // namespace

TEST_CASE("cp.4x256b: neighbours in a slab do not meet") {
  const std::string both_done = done(0) + done(1);
  CHECK(verdicts(fill + refresh(0, 4) + refresh(1, 5) + both_done) == "");
  CHECK(verdicts(fill + refresh(0, 15) + refresh(1, 16) + both_done) == "");
  CHECK(verdicts(fill + refresh(0, 5) + refresh(1, 5) + both_done) == "waw-async cp1 < cp0");
  CHECK(verdicts(fill + refresh(0, 5) + refresh(1, 5, 8) + both_done) == "");
  CHECK(verdicts(fill + refresh(0, 5) + refresh(1, 5, 4) + both_done) == "waw-async cp1 < cp0");
  const sim::Outcome one_lane = simulate(head + fill + refresh(0, 5) + refresh(1, 5, 4) + both_done + tail);
  REQUIRE(one_lane.findings.size() == 1);
  CHECK(one_lane.findings.front().where.columns == std::pair<std::int64_t, std::int64_t>{4, 7});
  CHECK(one_lane.findings.front().where.lanes == std::pair<std::int64_t, std::int64_t>{5, 96 + 5});
}

TEST_CASE("mma: lanes that the mask disables do not meet") {
  const std::string both_done = done(0) + done(1);
  CHECK(verdicts(product(0, only(0x00ff00ffu)) + product(1, only(0xff00ff00u)) + both_done) == "");
  CHECK(verdicts(product(0, only(0x00ff00ffu)) + product(1, only(0xff00ff01u)) + both_done) == "waw-async mma1 < mma0");
  const sim::Outcome one_lane =
      simulate(head + product(0, "0xff00ff00, 0xff00ff00, 0xff00fe00, 0xff00ff00") + product(1, only(0xff00ff00u)) + both_done + tail);
  CHECK(findings(one_lane) == "waw-async mma1 < mma0");
  REQUIRE(one_lane.findings.size() == 1);
  CHECK(one_lane.findings.front().where.lanes == std::pair<std::int64_t, std::int64_t>{72, 72});
}

TEST_CASE("cp.4x256b beside an mma whose mask leaves its lane out") {
  const std::string both_done = done(0) + done(1);
  CHECK(verdicts(fill + product(0, only(~0x20u)) + refresh(1, 5) + both_done) == "");
  CHECK(verdicts(fill + product(0, only(~0x10u)) + refresh(1, 5) + both_done) == "waw-async cp1 < mma0");
  CHECK(verdicts(fill + product(0, only(~0x20u), 1) + refresh(1, 5) + both_done) == "");
  CHECK(verdicts(fill + product(0, only(~0x10u), 1) + refresh(1, 5) + both_done) == "raw-mma mma0 < cp1");
}

TEST_CASE("A write to one lane does not hide who wrote the others, or reads them") {
  // Lane 5 has been refreshed and that is complete; the others still are being written.
  const std::string part = "part: @warp 0 tcgen05.ld shape=16x64b num=8 dst=R.r[0:8] src={base: word(slot, 0)} tcgen05.wait::ld\n";
  CHECK(verdicts(fill + product(0, only(~0x20u)) + refresh(1, 5) + done(1) + part + done(0)) == "raw-mma part < mma0");
  CHECK(verdicts(fill + product(0, only(~0x20u)) + refresh(1, 5) + done(1) + done(0) + part) == "");
  CHECK(verdicts(fill + refresh(0, 4) + refresh(1, 5) + done(1)) == "dealloc-live free < cp0");
  CHECK(verdicts(fill + refresh(1, 4) + refresh(0, 5) + done(0)) == "dealloc-live free < cp1");
  CHECK(verdicts(fill + refresh(0, 4) + refresh(1, 5) + done(1) + done(0)) == "");
  const std::string early = "early: @warp 0 tcgen05.ld shape=16x64b num=8 dst=R.r[0:8] src={base: word(slot, 0)}\n";
  const std::string overwrite = "over: @warp 0 tcgen05.st shape=16x64b num=8 dst={base: word(slot, 0)} src=R.r[16:24] tcgen05.wait::st\n";
  const std::string ordered = "tcgen05.fence::before_thread_sync bar.warp.sync tcgen05.fence::after_thread_sync\n";
  CHECK(verdicts(fill + early + overwrite + "tcgen05.wait::ld\n") == "war-ld over < early");
  CHECK(verdicts(fill + early + refresh(1, 5) + done(1) + ordered + overwrite + "tcgen05.wait::ld\n") == "raw-mma early < cp1; war-ld over < early");
}

TEST_CASE("Lanes that nobody has written, lane by lane") {
  const auto lanes_of = [](const std::string& body) {
    const sim::Outcome outcome = simulate(head + body + tail);
    REQUIRE(findings(outcome) == "uninit-read load");
    return outcome.findings.front().where.lanes;
  };
  using Lanes = std::pair<std::int64_t, std::int64_t>;
  CHECK(verdicts(product(0, "0, 0, 0, 0") + done(0) + load) == "");
  CHECK(lanes_of(product(0, "0x400, 0, 0, 0") + done(0) + load) == Lanes{10, 10});
  CHECK(lanes_of(product(0, "0, 0, 0, 0xe") + done(0) + load) == Lanes{97, 99});
  CHECK(verdicts(product(0, "0x400, 0x400, 0x400, 0x400") + refresh(0, 10) + done(0) + load) == "");
  CHECK(lanes_of(product(0, "0x400, 0x400, 0x400, 0xc00") + refresh(0, 10) + done(0) + load) == Lanes{107, 107});
}

TEST_CASE("A slab that is written as a whole is one again") {
  // Behind the store nothing is left of the single lanes: a thousand rounds end in the time of one.
  std::string rounds = fill + "for i in [0, 1000] {\n" + refresh(0, 4) + "@warp 0 lane 0 tcgen05.commit bar=bar[0]\nmbarrier.try_wait bar=bar[0] parity=i % 2\n";
  rounds += "store2: tcgen05.st shape=32x32b num=32 dst={base: word(slot, 0), lane: warp * 32} src=R.r[0:32] tcgen05.wait::st\n";
  rounds += "tcgen05.fence::before_thread_sync barrier.sync tcgen05.fence::after_thread_sync\n}\n";
  CHECK(findings(simulate(head + rounds + load + tail)) == "");
}
