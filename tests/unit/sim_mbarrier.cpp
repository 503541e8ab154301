// mbarrier objects and clusters: what they order, and the verdicts about them.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::string kernel(std::string_view body, std::string_view launch = "warps=4") {
  return fmt::format(R"(kernel k
target sm_100a
launch {}
buffer B: global u32 [1024]
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [4] offset=64
buffer S: shared u32 [256] offset=1024
buffer R: local u32 [16]
program {{
{}
}}
)", launch, body);
}

// Barrier 0 made for `count` arrivals, and everybody knows.
std::string with_bar(std::string_view body, int count = 1) {
  return kernel(fmt::format("i: @warp 0 lane 0 mbarrier.init bar=bar[0] count={} barrier.sync mov dst=R.r[0:8] a=tid {}", count, body));
}

const std::string put = "put: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 ";
const std::string get = "get: @warp 1 ld dst=R.r[8] src=S[lane] bytes=4 ";

}  // namespace

TEST_CASE("an arrival and the wait for its phase order what stands around them") {
  const std::string wait = "w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 ";
  CHECK(findings_everywhere(with_bar(put + "bar.warp.sync a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] " + wait + get)) == "");
  CHECK(findings_everywhere(with_bar(put + "a: @warp 0 mbarrier.arrive bar=bar[0] " + wait + get, 32)) == "");
  // One lane signals for the others without bar.warp.sync.
  CHECK(findings_everywhere(with_bar(put + "a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] " + wait + get)) == "smem-race get < put");
  CHECK(findings_everywhere(with_bar(put + "bar.warp.sync a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] " + get + wait)) == "smem-race get < put");
  // A relaxed edge orders nothing.
  CHECK(findings_everywhere(with_bar(put + "bar.warp.sync a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] sem=relaxed " + wait + get)) == "smem-race get < put");
  CHECK(simulate(with_bar(put + "bar.warp.sync a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] " + wait + get)).all_schedules);
}

TEST_CASE("phases go round: a ring of one stage") {
  // Warp 0 fills, warp 1 empties; both follow the parity.
  const std::string ring = R"(
    i0: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
    i1: @warp 0 lane 0 mbarrier.init bar=bar[1] count=1
    barrier.sync
    for i in [0, 6] {
      @warp 0 mbarrier.try_wait bar=bar[1] parity=(i & 1) ^ 1
      @warp 0 mov dst=R.r[0] a=i * 100 + lane
      put: @warp 0 st dst=S[lane] src=R.r[0] bytes=4
      @warp 0 bar.warp.sync
      full: @warp 0 lane 0 mbarrier.arrive bar=bar[0]
      @warp 1 mbarrier.try_wait bar=bar[0] parity=i & 1
      get: @warp 1 ld dst=R.r[8] src=S[31 - lane] bytes=4
      @warp 1 bar.warp.sync
      @warp 1 lane 0 mbarrier.arrive bar=bar[1]
      @warp 1 st dst=B[i * 32 + lane] src=R.r[8] bytes=4
    })";
  CHECK(findings_everywhere(kernel(ring)) == "");
  const sim::Outcome outcome = simulate(kernel(ring));
  CHECK(outcome.all_schedules);
  for (std::uint32_t i = 0; i < 6; ++i)
    for (std::uint32_t lane = 0; lane < 32; ++lane) REQUIRE(global_word(outcome, 0, i * 32 + lane) == i * 100 + 31 - lane);
  // Without the producer's wait its arrivals run ahead: nobody has been seen to wait.
  std::string broken = ring;
  const std::string wait = "@warp 0 mbarrier.try_wait bar=bar[1] parity=(i & 1) ^ 1";
  broken.replace(broken.find(wait), wait.size(), "");
  CHECK(findings_everywhere(kernel(broken)) == "mbar-count full < full");
  // Where that alone is no error, the race that follows from it is.
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  CHECK(findings_everywhere(kernel(broken), lenient) == "smem-race get < put");
}

TEST_CASE("mbar-uninit") {
  CHECK(findings_everywhere(kernel("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]")) == "mbar-uninit a");
  CHECK(findings_everywhere(kernel("i: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1 a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]")) == "");
  CHECK(findings_everywhere(kernel("i: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1 a: @warp 1 lane 0 mbarrier.arrive bar=bar[0]")) == "mbar-uninit a < i");
  // A wait that nothing orders after the init does not hang for it, and what it waits for takes place.
  const std::string unordered = "i: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1 a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0";
  CHECK(findings_everywhere(kernel(unordered)) == "mbar-uninit w < i");
  CHECK(findings_everywhere(kernel("w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0")) == "mbar-uninit w");
  CHECK(findings_everywhere(kernel("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] i: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1")) == "mbar-uninit a");
  // An inval has to come after every use.
  CHECK(findings_everywhere(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] v: @warp 1 lane 0 mbarrier.inval bar=bar[0]")) == "mbar-uninit a < v");
  CHECK(findings_everywhere(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] barrier.sync v: @warp 1 lane 0 mbarrier.inval bar=bar[0]")) == "");
  CHECK(findings_everywhere(with_bar("j: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1")) == "mbar-uninit j < i");
  // The other lanes of the warp have to come after it, too.
  const auto own_warp = [](std::string_view between) {
    return kernel(fmt::format("i: @warp 0 lane 0 mbarrier.init bar=bar[0] count=32 {} a: @warp 0 mbarrier.arrive bar=bar[0]", between));
  };
  CHECK(findings_everywhere(own_warp("")) == "mbar-uninit a < i");
  CHECK(findings_everywhere(own_warp("@warp 0 bar.warp.sync")) == "");
  CHECK(findings_everywhere(with_bar("v: @warp 0 lane 0 mbarrier.inval bar=bar[0] j: @warp 0 lane 0 mbarrier.init bar=bar[0] count=1")) == "");
  CHECK(findings_everywhere(with_bar("v: @warp 0 lane 0 mbarrier.inval bar=bar[0] a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]")) == "mbar-uninit a < v");
  CHECK(findings_everywhere(with_bar("l: @warp 0 lane 0 ld dst=R.r[0:2] src=bar{byte: 0} bytes=8")) == "mbar-uninit l < i");
}

TEST_CASE("mbar-count") {
  const std::string wait = "w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 ";
  CHECK(findings_everywhere(kernel("i: @warp 0 lane 0 mbarrier.init bar=bar[0] count=0")) == "mbar-count i");
  CHECK(findings_everywhere(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] " + wait, 2)) == "mbar-count w < a");
  CHECK(findings_everywhere(with_bar("a: @warp 0 lanes 0..1 mbarrier.arrive bar=bar[0] " + wait, 2)) == "");
  CHECK(findings_everywhere(with_bar("a: @warp 0 mbarrier.arrive bar=bar[0] " + wait)).find("mbar-count a < a") == 0);
  CHECK(findings_everywhere(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] count=3", 2)) == "mbar-count a");
}

TEST_CASE("mbar-tx and deadlock at a standstill") {
  const std::string wait = "w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 ";
  CHECK(findings_everywhere(with_bar("a: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128 " + wait)) == "mbar-tx w < a");
  CHECK(findings_everywhere(with_bar("a: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=0 " + wait)) == "");
  // Bytes that went to another barrier are no wrong count.
  const std::string other = "j: @warp 0 lane 0 mbarrier.init bar=bar[1] count=1 a: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128 ";
  CHECK(findings_everywhere(with_bar(other + "@warp 0 lane 0 mbarrier.expect_tx bar=bar[1] bytes=64 " + wait)) == "mbar-tx w < a");
  CHECK(findings_everywhere(with_bar(wait)) == "deadlock w");
  CHECK(findings_everywhere(with_bar(wait + "barrier.sync")).find("deadlock") == 0);
  // Endless polling of a phase that cannot come is a standstill too.
  sim::Options options;
  options.max_steps = 2000;
  CHECK(findings_everywhere(with_bar("@warp 1 mov dst=R.r[0] a=0 @warp 1 while R.r[0] == 0 { p: mbarrier.test_wait bar=bar[0] parity=0 poll=R.r[0] }"), options).find("deadlock") == 0);
}

TEST_CASE("deadlock names the wait that nobody can end, and says who could have arrived") {
  // Warp 0 waits for an arrival that stands nowhere; warp 1 waits for warp 0, and the others for both.
  const std::string chain = "j: @warp 0 lane 0 mbarrier.init bar=bar[1] count=1 barrier.sync w1: @warp 1 mbarrier.try_wait bar=bar[1] parity=0 "
                            "w0: @warp 0 mbarrier.try_wait bar=bar[0] parity=0 a: @warp 0 lane 0 mbarrier.arrive bar=bar[1] end: barrier.sync";
  CHECK(findings_everywhere(with_bar(chain)) == "deadlock w0 < w1");
  const sim::Outcome outcome = simulate(with_bar(chain));
  REQUIRE(outcome.findings.size() == 1);
  const std::string& text = outcome.findings.front().message;
  CHECK(text.find("warp 0 waits at") != std::string::npos);
  CHECK(text.find("no thread that is left could arrive") != std::string::npos);
  CHECK(text.find("those who could arrive: CTA 0 warp 0 by mbarrier.arrive (a)") != std::string::npos);
  CHECK(text.find("warps 2, 3 wait at") != std::string::npos);
}

TEST_CASE("threads of a warp wait each for its own barrier") {
  const std::string both = "j: @warp 0 lane 0 mbarrier.init bar=bar[1] count=1 barrier.sync a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] b: @warp 2 lane 0 mbarrier.arrive bar=bar[1] "
                           "w: @warp 1 lanes 0..1 mbarrier.try_wait bar=bar[lane] parity=0 ";
  CHECK(findings_everywhere(with_bar(both)) == "");
  std::string one = both;
  one.replace(one.find("b: @warp 2 lane 0 mbarrier.arrive bar=bar[1]"), 44, "");
  CHECK(findings_everywhere(with_bar(one)) == "deadlock w");
}

TEST_CASE("a wait of a whole warp means one phase for all its lanes") {
  // Lane 0 comes later than the others, and goes on alone; its arrival lets the next phase complete.
  const auto program = [](std::string_view who) {
    return with_bar(fmt::format(R"(@warp 0 lanes 1..2 mbarrier.init bar=bar[lane] count=1 barrier.sync
      @warp 0 lane 0 mbarrier.arrive bar=bar[2] @warp 1 lane 0 mbarrier.try_wait bar=bar[2] parity=0
      w: @warp 1{} mbarrier.try_wait bar=bar[0] parity=0 c: @warp 1 lane 0 mbarrier.arrive bar=bar[1]
      @warp 0 lane 0 mbarrier.arrive bar=bar[0] @warp 0 lane 0 mbarrier.try_wait bar=bar[0] parity=0
      @warp 0 lane 0 mbarrier.try_wait bar=bar[1] parity=0 b: @warp 0 lane 0 mbarrier.arrive bar=bar[0])", who));
  };
  CHECK(findings_everywhere(program("")) == "");
  // Two statements are two waits.
  CHECK(findings_everywhere(program(" lanes 1..31 mbarrier.try_wait bar=bar[0] parity=0 @warp 1 lane 0")) == "mbar-phase w < b");
  // Lanes that never come are not waited for.
  CHECK(findings_everywhere(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] @warp 1 if lane < 8 { w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 }")) == "");
  CHECK(findings_everywhere(with_bar("@warp 1 if lane == 0 { @warp 1 barrier.sync id=1 count=64 } w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 "
                                     "a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]")).find("participation") == 0);
}

TEST_CASE("mbar-phase: a wait that a later completion may overtake") {
  const std::string first = "a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] wa: @warp 0 mbarrier.try_wait bar=bar[0] parity=0 ";
  const std::string late = "w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 ";
  const std::string second = "@warp 0 bar.warp.sync b: @warp 0 lane 0 mbarrier.arrive bar=bar[0] wb: @warp 0 mbarrier.try_wait bar=bar[0] parity=1 ";
  CHECK(findings_everywhere(with_bar(first + late + "barrier.sync " + second)) == "");
  CHECK(findings_everywhere(with_bar(first + second + late)) == "mbar-phase w < b");
  // Who knows that phase 0 is complete means phase 2 by the same parity.
  const std::string third = "barrier.sync w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 ";
  CHECK(findings_everywhere(with_bar(first + second + "c: @warp 0 lane 0 mbarrier.arrive bar=bar[0] " + third)) == "");
}

TEST_CASE("mbar-phase: a race behind a wait that passed because the barrier is new") {
  const auto program = [](int parity) {
    return with_bar(put + "@warp 0 bar.warp.sync a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] " +
                    fmt::format("w: @warp 1 mbarrier.try_wait bar=bar[0] parity={} ", parity) + get);
  };
  CHECK(findings_everywhere(program(0)) == "");
  CHECK(findings_everywhere(program(1)) == "mbar-phase w < a");
  // The other way round such a wait is right: the writer waits for a stage that nobody has used yet. Its reader does not wait.
  const std::string reader = "i1: @warp 0 lane 0 mbarrier.init bar=bar[1] count=1 barrier.sync w: @warp 0 mbarrier.try_wait bar=bar[1] parity=1 " + put +
                             "@warp 0 bar.warp.sync @warp 0 lane 0 mbarrier.arrive bar=bar[0] " + get + "@warp 1 bar.warp.sync @warp 1 lane 0 mbarrier.arrive bar=bar[1] ";
  CHECK(findings_everywhere(with_bar(reader)) == "smem-race get < put");
}

TEST_CASE("mbar-count: a race behind a phase that is complete too early") {
  const std::string two = "p0: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 @warp 0 bar.warp.sync a0: @warp 0 lane 0 mbarrier.arrive bar=bar[0] "
                          "p2: @warp 2 st dst=S[32 + lane] src=R.r[0] bytes=4 @warp 2 bar.warp.sync a2: @warp 2 lane 0 mbarrier.arrive bar=bar[0] "
                          "w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 g0: @warp 1 ld dst=R.r[8] src=S[lane] bytes=4 g2: @warp 1 ld dst=R.r[9] src=S[32 + lane] bytes=4 ";
  CHECK(findings_everywhere(with_bar(two, 2)) == "");
  CHECK(findings_everywhere(with_bar(two, 1)) == "mbar-count a2 < a0");
}

TEST_CASE("a ring: one fault of a barrier is told there, whatever follows from it at the other one") {
  // Warp 0 fills, warp 1 empties, each barrier with its own count and its own parity at the waits.
  const auto ring = [](int full_count, int empty_count, std::string_view fills, std::string_view reads, std::string_view between = "") {
    return kernel(fmt::format(R"(
      @warp 0 lane 0 mbarrier.init bar=bar[0] count={}
      @warp 0 lane 0 mbarrier.init bar=bar[1] count={}
      barrier.sync
      mov dst=R.r[0] a=tid
      for i in [0, 4] {{
        may_fill: @warp 0 mbarrier.try_wait bar=bar[1] parity={}
        put: @warp 0 st dst=S[lane] src=R.r[0] bytes=4
        full: @warp 0 mbarrier.arrive bar=bar[0]
        may_read: @warp 1 mbarrier.try_wait bar=bar[0] parity={}
        get: @warp 1 ld dst=R.r[8] src=S[31 - lane] bytes=4
        empty: @warp 1 mbarrier.arrive bar=bar[1]
        {}
      }})", full_count, empty_count, fills, reads, between));
  };
  CHECK(findings_everywhere(ring(32, 32, "(i & 1) ^ 1", "i & 1")) == "");
  CHECK(findings_everywhere(ring(32, 32, "(i & 1) ^ 1", "(i & 1) ^ 1")) == "mbar-phase may_read < full");
  CHECK(findings_everywhere(ring(16, 32, "(i & 1) ^ 1", "i & 1")) == "mbar-count full < full");
  CHECK(findings_everywhere(ring(32, 16, "(i & 1) ^ 1", "i & 1")) == "mbar-count empty < empty");
  // A race that no barrier was to prevent is no fault of the wait that passed in the first round.
  const std::string aside = "@warp 0 if i == 0 { look: @warp 0 ld dst=R.r[9] src=S[64 + lane] bytes=4 } @warp 2 if i == 0 { aside: @warp 2 st dst=S[64 + lane] src=R.r[0] bytes=4 }";
  CHECK(findings_everywhere(ring(32, 32, "(i & 1) ^ 1", "i & 1", aside)) == "smem-race look < aside");
}

TEST_CASE("mbar-phase: a race that its reader hands on afterwards is not the fault of a wait on a new barrier") {
  // Warp 0 waits for a stage that nobody has used, fills it and reads something that warp 2 writes; warp 1 frees the stage.
  const auto program = [](std::string_view order) {
    return with_bar(fmt::format("j: @warp 0 lane 0 mbarrier.init bar=bar[1] count=32 barrier.sync free: @warp 0 mbarrier.try_wait bar=bar[1] parity=1 "
                                "@warp 0 st dst=S[64 + lane] src=R.r[0] bytes=4 {}look: @warp 0 ld dst=R.r[9] src=S[lane] bytes=4 tell: @warp 0 mbarrier.arrive bar=bar[0] "
                                "aside: @warp 2 st dst=S[lane] src=R.r[0] bytes=4 @warp 2 barrier.arrive id=2 count=64 @warp 1 barrier.sync id=2 count=64 "
                                "@warp 1 mbarrier.try_wait bar=bar[0] parity=0 @warp 1 ld dst=R.r[8] src=S[64 + lane] bytes=4 left: @warp 1 mbarrier.arrive bar=bar[1]",
                                order), 32);
  };
  CHECK(findings_everywhere(program("")) == "smem-race look < aside");
}

TEST_CASE("mbar-tx: more bytes than a phase expects") {
  const auto program = [](int expected, std::string_view source = "B") {
    std::string text = with_bar(fmt::format(
        "for i in [0, 2] {{ a: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes={} "
        "one: @warp 0 lane 0 cp.async.bulk dst=S[0:32] src={}[0:32] bar=bar[0] two: @warp 0 lane 0 cp.async.bulk dst=S[32:64] src={}[32:64] bar=bar[0] "
        "w: mbarrier.try_wait bar=bar[0] parity=i get: @warp 1 ld dst=R.r[8] src=S[lane] bytes=4 got: @warp 1 ld dst=R.r[9] src=S[32 + lane] bytes=4 barrier.sync }}",
        expected, source, source));
    const std::string global = "buffer B: global u32 [1024]";
    return text.replace(text.find(global), global.size(), global + " init=iota(1, 1)");
  };
  CHECK(findings_everywhere(program(256)) == "");
  CHECK(findings_everywhere(program(128)) == "mbar-tx w < a");
  CHECK(findings_everywhere(program(384)) == "mbar-tx w < a");
}

TEST_CASE("a ring of copies: the producer's missing or stale wait is one fault, and no standstill follows") {
  const auto ring = [](std::string_view producer_wait, std::string_view inits = "full empty") {
    std::string text = kernel(fmt::format(R"(
      {}
      {}
      barrier.sync
      for i in [0, 4] {{
        {}
        expect: @warp 0 elect mbarrier.arrive.expect_tx bar=bar[0] bytes=128
        copy: @warp 0 elect cp.async.bulk dst=S[0:32] src=B[i * 32:i * 32 + 32] bar=bar[0]
      }}
      for i in [0, 4] {{
        may_read: @warp 1 mbarrier.try_wait bar=bar[0] parity=i & 1
        get: @warp 1 ld dst=R.r[8] src=S[lane] bytes=4
        left: @warp 1 mbarrier.arrive bar=bar[1]
      }})", inits.find("full") == std::string_view::npos ? "" : "@warp 0 lane 0 mbarrier.init bar=bar[0] count=1",
      inits.find("empty") == std::string_view::npos ? "" : "@warp 0 lane 0 mbarrier.init bar=bar[1] count=32", producer_wait));
    const std::string global = "buffer B: global u32 [1024]";
    return text.replace(text.find(global), global.size(), global + " init=iota(1, 1)");
  };
  const std::string right = "if i > 0 { may_fill: @warp 0 mbarrier.try_wait bar=bar[1] parity=(i - 1) & 1 }";
  CHECK(findings_everywhere(ring(right)) == "");
  CHECK(findings_everywhere(ring("")) == "mbar-count expect < expect");
  CHECK(findings_everywhere(ring("if i > 0 { may_fill: @warp 0 mbarrier.try_wait bar=bar[1] parity=i & 1 }")) == "mbar-phase may_fill < left");
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  CHECK(findings_everywhere(ring(""), lenient) == "smem-race get < copy");
  // What a barrier that nobody has made should have ordered is not told besides.
  CHECK(findings_everywhere(ring(right, "empty")) == "mbar-uninit expect");
  CHECK(findings_everywhere(ring(right, "full")) == "mbar-uninit may_fill");
}

TEST_CASE("a copy that overwrites its own of the round before is told where nobody else's use lacks the order") {
  // Warp 0 copies, warp 1 reads and hands the stage back; the reader's wait for the bytes is what varies.
  const auto program = [](std::string_view before_get, std::string_view get, std::string_view left) {
    std::string text = with_bar(fmt::format(
        "j: @warp 0 lane 0 mbarrier.init bar=bar[1] count=32 barrier.sync for i in [0, 3] {{ @warp 0 lane 0 mbarrier.try_wait bar=bar[1] parity=(i & 1) ^ 1 "
        "full: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128 copy: @warp 0 lane 0 cp.async.bulk dst=S[0:32] src=B[i * 32:i * 32 + 32] bar=bar[0] "
        "{} {} left: @warp 1 mbarrier.arrive bar=bar[1]{} }}",
        before_get, get, left));
    const std::string global = "buffer B: global u32 [1024]";
    return text.replace(text.find(global), global.size(), global + " init=iota(1, 1)");
  };
  const std::string wait = "@warp 1 mbarrier.try_wait bar=bar[0] parity=i & 1";
  CHECK(findings_everywhere(program(wait, get, "")) == "");
  CHECK(findings_everywhere(program("", get, "")) == "smem-race get < copy");
  CHECK(findings_everywhere(program(wait, get, " sem=relaxed")) == "smem-race copy < get");
  CHECK(findings_everywhere(program(wait, "", " sem=relaxed")) == "smem-race copy < copy");
}

TEST_CASE("mbar-count by attribution: the writer waits for readers, and one of them is left out") {
  const auto program = [](int count, std::string_view arriving, std::string_view last) {
    return with_bar(fmt::format("j: @warp 0 lane 0 mbarrier.init bar=bar[1] count={} barrier.sync put: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 @warp 0 mbarrier.arrive bar=bar[0] "
                                "@warps 1..3 mbarrier.try_wait bar=bar[0] parity=0 get: @warps 1..3 ld dst=R.r[8] src=S[lane] bytes=4 @warps 1..3 bar.warp.sync "
                                "left: @{} elect mbarrier.arrive bar=bar[1] @warp 0 mbarrier.try_wait bar=bar[1] parity=0 @warp 0 bar.warp.sync {} over: @warp 0 st dst=S[lane] src=R.r[0] bytes=4",
                                count, arriving, last), 32);
  };
  CHECK(findings_everywhere(program(3, "warps 1..3", "")) == "");
  CHECK(findings_everywhere(program(2, "warps 1..2", "")) == "mbar-count get < over");
}

TEST_CASE("one lane that waits for ever while its warp has gone on to a barrier") {
  const auto program = [](std::string_view signal, int count = 1) {
    return with_bar(fmt::format("{} w: @warp 1 lane 0 mbarrier.try_wait bar=bar[0] parity=0 end: barrier.sync", signal), count);
  };
  CHECK(findings_everywhere(program("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]")) == "");
  CHECK(findings_everywhere(program("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]", 2)) == "mbar-count w < a");
  CHECK(findings_everywhere(program("a: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=16")) == "mbar-tx w < a");
  CHECK(findings_everywhere(program("")).find("deadlock w") == 0);
  // Lanes that have gone elsewhere and wait for nobody: a wrong set of threads.
  CHECK(findings_everywhere(with_bar("if lane < 16 { some: @warp 1 barrier.sync id=1 count=32 }")).find("participation some") == 0);
}

TEST_CASE("cluster barrier and the peer's memory") {
  const std::string both = "warps=1 cluster=[2, 1, 1] grid=[2, 1, 1]";
  const std::string sync = "barrier.cluster.arrive barrier.cluster.wait ";
  const std::string put_peer = "mov dst=R.r[0] a=lane + 1 put: @cta 0 st dst=S[lane] src=R.r[0] bytes=4 rank=1 ";
  const std::string get_own = "get: @cta 1 ld dst=R.r[1] src=S[lane] bytes=4 @cta 1 st dst=B[lane] src=R.r[1] bytes=4 ";
  const std::string good = kernel(put_peer + sync + get_own, both);
  CHECK(findings_everywhere(good) == "");
  const sim::Outcome outcome = simulate(good);
  for (std::uint32_t lane = 0; lane < 32; ++lane) REQUIRE(global_word(outcome, 0, lane) == lane + 1);
  CHECK(findings_everywhere(kernel(put_peer + get_own + sync, both)) == "smem-race get < put");
  CHECK(findings_everywhere(kernel(put_peer, both)) == "peer-lifecycle put");
  CHECK(findings_everywhere(kernel("w: barrier.cluster.wait", both)) == "deadlock w");
  CHECK(findings_everywhere(kernel("a: barrier.cluster.arrive b: barrier.cluster.arrive barrier.cluster.wait", both)) == "participation b < a");
  // A barrier of the peer, signalled from here.
  const std::string init = "i: @lane 0 mbarrier.init bar=bar[0] count=1 ";
  const std::string use = "a: @cta 0 lane 0 mbarrier.arrive bar=bar[0] rank=1 scope=cluster w: @cta 1 mbarrier.try_wait bar=bar[0] parity=0 scope=cluster ";
  CHECK(findings_everywhere(kernel(init + sync + use + sync, both)) == "");
  CHECK(findings_everywhere(kernel(init + use + sync, both)) == "mbar-uninit a < i");
  const std::string relaxed = "barrier.cluster.arrive sem=relaxed barrier.cluster.wait ";
  CHECK(findings_everywhere(kernel(init + relaxed + use + sync, both)) == "mbar-uninit a < i");
  CHECK(findings_everywhere(kernel(init + "@lane 0 fence.mbarrier_init " + relaxed + use + sync, both)) == "");
}

TEST_CASE("mapa gives the shared::cluster address") {
  const std::string both = "warps=1 cluster=[2, 1, 1] grid=[2, 1, 1]";
  const sim::Outcome outcome = simulate(kernel("mapa dst=R.r[0] src=S[3] rank=1 st dst=B[cta] src=R.r[0] bytes=4", both));
  CHECK(global_word(outcome, 0, 0) == (1u << 24 | (1024 + 12)));
}
