// What operations do to memory: values stated by closed forms.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

const std::string head = R"(kernel k
target sm_100a
launch warps=4
buffer A: global u32 [128, 8] init=iota(1, 1)
buffer B: global u32 [128, 8]
buffer slot: shared u32 [1] offset=0
buffer S: shared u32 [1024] offset=1024
buffer R: local u32 [16]
)";

const std::string alloc = R"(
  @warp 0 tcgen05.alloc slot=slot cols=32
  barrier.sync
)";
const std::string dealloc = R"(
  barrier.sync
  @warp 0 tcgen05.dealloc slot=slot cols=32
)";

}  // namespace

TEST_CASE("threads load, compute and store") {
  const sim::Outcome outcome = simulate(head + R"(program {
    ld dst=R.r[0:4] src=A{byte: tid * 32} bytes=16
    add.s32 dst=R.r[4] a=R.r[0] b=lane * 100
    mov dst=R.r[5:8] a=R.r[1:4]
    setp cmp=lt dst=R.r[8] a=R.r[0] b=100
    st dst=B[tid, 0] src=R.r[4] bytes=4
    st dst=B[tid, 1] src=R.r[8] bytes=4
    st dst=B{byte: tid * 32 + 8} src=R.r[5:7] bytes=8
  })");
  CHECK(findings(outcome) == "");
  for (std::uint32_t tid = 0; tid < 128; ++tid) {
    REQUIRE(global_word(outcome, 1, tid * 8) == tid * 8 + 1 + (tid % 32) * 100);
    REQUIRE(global_word(outcome, 1, tid * 8 + 1) == (tid * 8 + 1 < 100 ? 1u : 0u));
    REQUIRE(global_word(outcome, 1, tid * 8 + 2) == tid * 8 + 2);
    REQUIRE(global_word(outcome, 1, tid * 8 + 3) == tid * 8 + 3);
  }
  CHECK(outcome.image.global[1].written[0] == 1);
  CHECK(outcome.image.global[1].written[16] == 0);
  const auto writer = outcome.writer_of_global(1, 4 * 8 * 5);
  REQUIRE(writer);
  CHECK(writer->path == "program[4]");
  CHECK(writer->lanes == 1u << 5);
}

TEST_CASE("a tile goes through tensor memory and comes back") {
  const std::string body = head + "program {" + alloc + R"(
    ld dst=R.r[0:4] src=A{byte: tid * 32} bytes=16
    ld dst=R.r[4:8] src=A{byte: tid * 32 + 16} bytes=16
    tcgen05.st shape=32x32b num=8 dst={base: word(slot, 0), lane: warp * 32} src=R.r[0:8]
    tcgen05.wait::st
    tcgen05.ld shape=32x32b num=8 dst=R.r[8:16] src={base: word(slot, 0), lane: warp * 32}
    tcgen05.wait::ld
    st dst=B{byte: tid * 32} src=R.r[8:12] bytes=16
    st dst=B{byte: tid * 32 + 16} src=R.r[12:16] bytes=16
  )" + dealloc + "}";
  CHECK(findings_everywhere(body) == "");
  for (const sim::Policy policy : {sim::Policy::late, sim::Policy::early, sim::Policy::random}) {
    sim::Options options;
    options.policy = policy;
    const sim::Outcome outcome = simulate(body, options);
    for (std::uint32_t i = 0; i < 1024; ++i) REQUIRE(global_word(outcome, 1, i) == i + 1);
    CHECK(outcome.all_schedules);
    CHECK(outcome.image.sms[0].value[3 * 128 + 77] == 77 * 8 + 3 + 1);  // column 3, lane 77
    CHECK(outcome.image.sms[0].written[3 * 128 + 77] == 3);
    CHECK(outcome.image.sms[0].written[8 * 128 + 77] == 0);
  }
}

TEST_CASE("groups of lanes take different branches and come together again") {
  const sim::Outcome outcome = simulate(head + R"(program {
    mov dst=R.r[0] a=0
    for i in [0, lane % 5] {
      add.s32 dst=R.r[0] a=R.r[0] b=i + 1
      if lane % 2 == 0 {
        add.s32 dst=R.r[0] a=R.r[0] b=10
      } else {
        add.s32 dst=R.r[0] a=R.r[0] b=1000
      }
    }
    bar.warp.sync
    @warp 1 lanes 4..7 add.s32 dst=R.r[0] a=R.r[0] b=7
    st dst=B[tid, 0] src=R.r[0] bytes=4
  })");
  CHECK(findings(outcome) == "");
  for (std::uint32_t tid = 0; tid < 128; ++tid) {
    const std::uint32_t lane = tid % 32, n = lane % 5;
    std::uint32_t expected = n * (n + 1) / 2 + n * (lane % 2 == 0 ? 10 : 1000);
    if (tid / 32 == 1 && lane >= 4 && lane <= 7) expected += 7;
    REQUIRE(global_word(outcome, 1, tid * 8) == expected);
  }
}

TEST_CASE("a thread that spins does not starve the lane it waits for") {
  const sim::Outcome outcome = simulate(head + R"(program {
    @warp 0 lane 0 mov dst=R.r[0] a=0
    @warp 0 lane 0 st dst=S[0] src=R.r[0] bytes=4
    barrier.sync
    if tid == 3 {
      while word(S, 0) == 0 { }
    }
    @warp 0 lane 20 mov dst=R.r[0] a=1
    @warp 0 lane 20 st dst=S[0] src=R.r[0] bytes=4
  })");
  CHECK(findings(outcome).find("step-limit") == std::string::npos);
  CHECK(findings(outcome).find("smem-race") != std::string::npos);  // a flag needs strong accesses
}
