// What a run counts as open, exploring it, tokens, and the policy that shows wrong values. For each open choice a program in which
// a schedule decides, and a twin in which none does.
#include <set>

#include "sim/schedules/explore.hpp"
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::string kernel(std::string_view body, std::string_view launch = "warps=2") {
  return fmt::format(R"(kernel k
target sm_100a
launch {}
buffer B: global u32 [256] init=fill(1)
buffer slot: shared u32 [4] offset=0
buffer bar: shared mbarrier [4] offset=64
buffer F: shared u32 [4] offset=128 init=fill(0)
buffer S: shared u32 [64] offset=1024 init=fill(0)
buffer R: local u32 [16]
program {{
mov dst=R.r[0:8] a=0
mov dst=R.r[2] a=1
{}
}}
)", launch, body);
}

std::string with_bar(std::string_view body, int count = 1, std::string_view launch = "warps=2") {
  return kernel(fmt::format("@warp 0 lane 0 mbarrier.init bar=bar[0] count={} barrier.sync\n{}", count, body), launch);
}

// The labels of the open pairs and choices: "a/b, c: which lane is elected".
std::string open(const sim::Outcome& outcome) {
  std::string text;
  for (const auto& [first, second] : outcome.unordered) text += fmt::format("{}{}/{}", text.empty() ? "" : ", ", name_of(first), name_of(second));
  for (const sim::OpenChoice& choice : outcome.choices) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name_of(choice.at), choice.what);
  CHECK(outcome.all_schedules == text.empty());
  return text;
}
std::string open(const std::string& text) { return open(simulate(text)); }

// All findings that exploring shows.
std::set<std::string> explored(const std::string& text, sim::Exploration* done = nullptr, std::uint64_t most = 2000) {
  const Program program = program_of(text);
  std::set<std::string> all;
  sim::Options options;
  options.max_steps = 5000;
  const sim::Exploration exploration = sim::explore(program, options, most, [&](const sim::Schedule&, const sim::Outcome& outcome) {
    all.insert(findings(outcome));
    return true;
  });
  if (done) *done = exploration;
  return all;
}

}  // namespace

TEST_CASE("Open: which arrival completes a phase") {
  // Two warps arrive on a barrier of one arrival: who comes second falls into the next phase.
  CHECK(open(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] b: @warp 1 lane 0 mbarrier.arrive bar=bar[0]")) == "a/b");
  CHECK(open(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] b: @warp 1 lane 0 mbarrier.arrive bar=bar[0]", 2)) == "");
  CHECK(open(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] barrier.sync b: @warp 1 lane 0 mbarrier.arrive bar=bar[0]")) == "");
}

TEST_CASE("Open: bytes that may be expected of a phase that is complete, or of the one before") {
  // Expected first, the bytes keep phase 0 from being complete, and nobody brings them.
  const std::string one = "a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] w: @warp 0 mbarrier.try_wait bar=bar[0] parity=0 ";
  const std::string expect = "@warp 1 delay 50 e: @warp 1 lane 0 mbarrier.expect_tx bar=bar[0] bytes=64 ";
  CHECK(findings(simulate(with_bar(one + expect))) == "");
  CHECK(open(with_bar(one + expect)) == "a/e");
  CHECK(open(with_bar(one + "barrier.sync " + expect)) == "");
  CHECK(explored(with_bar(one + expect)).size() > 1);
}

TEST_CASE("Open: bytes that are expected by nobody who arrives later") {
  const std::string copy = "c: @warp 1 lane 0 cp.async.bulk dst=S[0:16] src=B[0:16] bar=bar[0] ";
  CHECK(open(with_bar("e: @warp 1 lane 0 mbarrier.expect_tx bar=bar[0] bytes=64 " + copy + "a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]")) != "");
  CHECK(open(with_bar("e: @warp 1 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=64 " + copy + "mbarrier.try_wait bar=bar[0] parity=0")) == "");
  CHECK(open(with_bar("e: @warp 1 lane 0 mbarrier.expect_tx bar=bar[0] bytes=64 " + copy + "barrier.sync a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] mbarrier.try_wait bar=bar[0] parity=0")) == "");
}

TEST_CASE("Open: what a poll is told") {
  const std::string poll = "p: @warp 1 lane 0 mbarrier.test_wait bar=bar[0] parity=0 poll=R.r[1] ";
  const std::string arrive = "a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] ";
  CHECK(open(with_bar(poll + arrive)) != "");
  CHECK(open(with_bar(arrive + poll)) != "");
  CHECK(open(with_bar(poll + "barrier.sync " + arrive)) == "");
  CHECK(open(with_bar(arrive + "barrier.sync " + poll)) == "");
  // Both answers are explored.
  const std::set<std::string> both = explored(with_bar("put: @warp 0 lane 0 st dst=S[0] src=R.r[0] bytes=4 " + arrive + poll + "@warp 1 lane 0 if R.r[1] == 0 { get: ld dst=R.r[3] src=S[0] bytes=4 }"));
  CHECK(both == std::set<std::string>{"", "smem-race get < put"});
}

TEST_CASE("Open: taking a barrier object away, or making it, while others use it") {
  CHECK(open(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] v: @warp 1 lane 0 mbarrier.inval bar=bar[0]")) == "a/v");
  CHECK(open(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] barrier.sync v: @warp 1 lane 0 mbarrier.inval bar=bar[0]")) == "");
  CHECK(open(with_bar("p: @warp 0 lane 0 mbarrier.try_wait bar=bar[0] parity=1 v: @warp 1 lane 0 mbarrier.inval bar=bar[0]")) == "p/v");
  CHECK(open(kernel("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] i: @warp 1 lane 0 mbarrier.init bar=bar[0] count=1")) != "");
}

TEST_CASE("Open: who comes first at a flag") {
  const std::string set = "s: @warp 0 lane 0 st dst=F[0] src=R.r[2] bytes=4 sem=relaxed ", see = "l: @warp 1 lane 0 ld dst=R.r[1] src=F[0] bytes=4 sem=relaxed ";
  CHECK(open(kernel(set + see)) == "s/l");
  CHECK(open(kernel(set + "barrier.sync " + see)) == "");
  CHECK(open(kernel(see + "x: @warp 0 lane 0 ld dst=R.r[1] src=F[0] bytes=4 sem=relaxed")) == "");
  // A reader that came in between is not forgotten.
  CHECK(open(kernel("l: @warp 0 lane 0 ld dst=R.r[1] src=F[0] bytes=4 sem=relaxed m: @warp 1 lane 0 ld dst=R.r[1] src=F[0] bytes=4 sem=relaxed "
                    "s: @warp 1 lane 0 st dst=F[0] src=R.r[2] bytes=4 sem=relaxed")) == "l/s");
}

TEST_CASE("Open: a race, and what a spoilt value decides") {
  const std::string put = "put: @warp 0 lane 0 st dst=S[0] src=R.r[2] bytes=4 ", get = "get: @warp 1 lane 0 ld dst=R.r[1] src=S[0] bytes=4 ";
  CHECK(open(kernel(put + get)) != "");
  CHECK(open(kernel(put + get + "f: @warp 1 lane 0 if R.r[1] == 1 { mov dst=R.r[3] a=1 }")).find("f: a value") != std::string::npos);
  CHECK(open(kernel(put + "barrier.sync " + get + "f: @warp 1 lane 0 if R.r[1] == 1 { mov dst=R.r[3] a=1 }")) == "");
}

TEST_CASE("Open: uses of named barriers") {
  const std::string three = "warps=3";
  CHECK(open(kernel("a: barrier.sync id=1 count=64", three)) != "");
  CHECK(open(kernel("a: @warps 0..1 barrier.sync id=1 count=64", three)) == "");
  CHECK(open(kernel("a: @warps 0..1 barrier.sync id=1 count=64 barrier.sync b: @warps 1..2 barrier.sync id=1 count=64", three)) == "");
}

TEST_CASE("Open: life cycle of allocations") {
  const std::string one = "a: @warp 0 tcgen05.alloc slot=slot cols=32 @warp 0 tcgen05.dealloc slot=slot cols=32 ";
  const std::string two = "b: @warp 1 tcgen05.alloc slot=slot[1] cols=32 @warp 1 tcgen05.dealloc slot=slot[1] cols=32 ";
  CHECK(open(kernel(one + two)) != "");
  CHECK(open(kernel(one + "barrier.sync " + two)) == "");
  // CTAs that share an SM: nothing is decided while there are columns for both.
  const auto shared = [](int cols, const std::string& launch) {
    return kernel(fmt::format("a: @warp 0 tcgen05.alloc slot=slot cols={0} @warp 0 tcgen05.relinquish_alloc_permit @warp 0 tcgen05.dealloc slot=slot cols={0}", cols), launch);
  };
  CHECK(open(shared(512, "warps=1 grid=[2, 1, 1] ctas_per_sm=2")) == "a/a");
  CHECK(open(shared(256, "warps=1 grid=[2, 1, 1] ctas_per_sm=2")) == "");
  CHECK(open(shared(512, "warps=1 grid=[2, 1, 1]")) == "");
}

TEST_CASE("Open: where an alloc is placed, once somebody counts on it") {
  const auto life = [](const std::string& body, int cols) {
    return kernel(fmt::format("a: @warp 0 tcgen05.alloc slot=slot cols={0} {1} @warp 0 tcgen05.dealloc slot=slot cols={0}", cols, body), "warps=1");
  };
  const auto load = [](const std::string& base) { return fmt::format("s: tcgen05.st shape=32x32b num=1 dst={{base: {0}}} src=R.r[0] tcgen05.wait::st", base); };
  CHECK(open(life(load("word(slot, 0)"), 32)) == "");
  CHECK(open(life(load("0"), 32)) == "a: which columns the alloc gets");
  CHECK(open(life(load("0"), 512)) == "");  // there is one place only
  CHECK(open(life("@warp 0 if word(slot, 0) == 0 { mov dst=R.r[3] a=1 }", 32)) == "a: which columns the alloc gets");
  CHECK(open(life("ld dst=R.r[4] src=slot bytes=4 " + load("R.r[4]"), 32)) == "");
  CHECK(open(life("ld dst=R.r[4] src=slot bytes=4 @lane 0 st dst=B[0] src=R.r[4] bytes=4", 32)) == "a: which columns the alloc gets");
  const std::set<std::string> places = explored(life(load("0"), 256));
  CHECK(places.size() == 2);
  CHECK(places.count("") == 1);
}

TEST_CASE("Open: which lane is elected, once lanes differ") {
  const std::string one = "warps=1";
  CHECK(open(with_bar("e: @warp 0 elect mbarrier.arrive bar=bar[0] mbarrier.try_wait bar=bar[0] parity=0")) == "");
  // Lane 0 stores and an elected lane arrives for it, without a synchronisation of the warp.
  const std::string put = "put: @warp 0 lane 0 st dst=S[0] src=R.r[0] bytes=4 ", sync = "@warp 0 bar.warp.sync ";
  const std::string rest = "e: @warp 0 elect mbarrier.arrive bar=bar[0] w: @warp 1 mbarrier.try_wait bar=bar[0] parity=0 get: @warp 1 lane 0 ld dst=R.r[1] src=S[0] bytes=4";
  CHECK(open(with_bar(put + rest)).find("e: which lane is elected") != std::string::npos);
  CHECK(open(with_bar(put + sync + rest)) == "");
  CHECK(explored(with_bar(put + rest)) == std::set<std::string>{"", "smem-race get < put"});
  // The elected lane's own value differs.
  CHECK(open(kernel("mov dst=R.r[1] a=lane e: @elect st dst=S[0] src=R.r[1] bytes=4", one)) == "e: which lane is elected");
  CHECK(open(kernel("e: elect.sync dst=R.r[1] if R.r[1] == 1 { fence.proxy.async }", one)) == "");
}

TEST_CASE("Policy adversarial: what nothing orders comes out wrong") {
  // Two stores to one cell without a wait between them: the value that a program which counts on their order expects is not there.
  const auto stores = [](const std::string& between) {
    return kernel("@warp 0 tcgen05.alloc slot=slot cols=32 mov dst=R.r[4] a=7 mov dst=R.r[5] a=9\n"
                  "tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0)} src=R.r[4] " + between +
                  " tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0)} src=R.r[5] tcgen05.wait::st\n"
                  "tcgen05.ld shape=32x32b num=1 dst=R.r[6] src={base: word(slot, 0)} tcgen05.wait::ld @warp 0 lane 0 st dst=B[0] src=R.r[6] bytes=4\n"
                  "@warp 0 tcgen05.dealloc slot=slot cols=32", "warps=1");
  };
  sim::Options options;
  options.policy = sim::Policy::adversarial;
  CHECK(global_word(simulate(stores(""), options), 0, 0) == 7);
  CHECK(global_word(simulate(stores("tcgen05.wait::st"), options), 0, 0) == 9);
  options.policy = sim::Policy::late;
  CHECK(global_word(simulate(stores(""), options), 0, 0) == 9);
  // A bulk copy out of shared memory that is overwritten before the copy has read it.
  const auto copy = [](const std::string& wait) {
    return kernel("@lane 0 st dst=S[0] src=R.r[2] bytes=4 mov dst=R.r[4] a=5 @lane 0 fence.proxy.async @lane 0 cp.async.bulk dst=B[0:16] src=S[0:16]\n"
                  "@lane 0 cp.async.bulk.commit_group " + wait + " @lane 0 st dst=S[0] src=R.r[4] bytes=4 @lane 0 cp.async.bulk.wait_group n=0", "warps=1");
  };
  options.policy = sim::Policy::adversarial;
  CHECK(global_word(simulate(copy(""), options), 0, 0) == 5);
  CHECK(global_word(simulate(copy("@lane 0 cp.async.bulk.wait_group n=0 read=true"), options), 0, 0) == 1);
}

TEST_CASE("Exploring stops where nothing is open, and says when it stopped before the end") {
  sim::Exploration done;
  CHECK(explored(with_bar("e: @warp 0 elect mbarrier.arrive bar=bar[0] mbarrier.try_wait bar=bar[0] parity=0"), &done) == std::set<std::string>{""});
  CHECK(done.schedules == 1);
  CHECK(done.complete);
  explored(with_bar("for i in [0, 4] { s: @lane 0 st dst=F[0] src=R.r[2] bytes=4 sem=relaxed }", 1, "warps=3"), &done, 50);
  CHECK(done.schedules == 50);
  CHECK_FALSE(done.complete);
}

TEST_CASE("A failing schedule is found again by its token") {
  const std::string text = with_bar("put: @warp 0 lane 0 st dst=S[0] src=R.r[0] bytes=4 a: @warp 0 lane 0 mbarrier.arrive bar=bar[0] "
                                    "p: @warp 1 lane 0 mbarrier.test_wait bar=bar[0] parity=0 poll=R.r[1] @warp 1 lane 0 if R.r[1] == 0 { get: ld dst=R.r[3] src=S[0] bytes=4 }");
  const Program program = program_of(text);
  int failing = 0, runs = 0;
  sim::explore(program, {}, 100, [&](const sim::Schedule& schedule, const sim::Outcome& outcome) {
    if (schedule.points.empty()) return true;
    const std::string token = sim::to_token(schedule, program);
    CHECK(token.size() < 60);
    CHECK(sim::from_token(token, program) == schedule);
    sim::Options options;
    options.schedule = sim::from_token(token, program);
    CHECK(findings(sim::run(program, options)) == findings(outcome));
    failing += findings(outcome) != "";
    ++runs;
    return true;
  });
  CHECK(failing > 0);
  CHECK(failing < runs);
}

TEST_CASE("Tokens that are none, or belong elsewhere, are refused") {
  const Program program = program_of(with_bar("a: @warp 0 lane 0 mbarrier.arrive bar=bar[0]"));
  const std::string good = sim::to_token({{{1, 3}, {}, {}}, {0, 0, 0, 2}}, program);
  CHECK(good.substr(6) == "-o1.3-z3.2");
  CHECK(sim::from_token(good, program).taken == std::vector<std::uint16_t>{0, 0, 0, 2});
  for (const std::string& bad : {std::string(), std::string("x"), good.substr(0, 5), good + "-o3.1", good + "-o99999", good + "-q", good + "-1.", good + "-z99999999999", good + "-70000", good + "-1", good + "-o5",
                                 good + "-z900000.z900000", std::string(200'000, '1')}) {
    CAPTURE(bad.substr(0, 80));
    CHECK_THROWS_AS(sim::from_token(bad, program), InputError);
  }
  const Program other = program_of(with_bar("b: @warp 0 lane 0 mbarrier.arrive bar=bar[0]"));
  CHECK_THROWS_AS(sim::from_token(good, other), InputError);
  // Options that the run does not have.
  sim::Options options;
  options.schedule = sim::Schedule{{{}, {}, {}}, {7}};
  CHECK(findings(sim::run(program, options)) == "");  // no decision comes
  const Program open_one = program_of(kernel("s: @warp 0 lane 0 st dst=F[0] src=R.r[2] bytes=4 sem=relaxed l: @warp 1 lane 0 ld dst=R.r[1] src=F[0] bytes=4 sem=relaxed"));
  options.schedule = sim::Schedule{sim::run(open_one, {}).branches, {7}};
  CHECK_THROWS_AS(sim::run(open_one, options), InputError);
}

TEST_CASE("Loops that ask wait for those who can get on") {
  const std::set<std::string> silent{""};
  sim::Exploration done;
  // A whole warp asks, and an elected lane answers: each side asks the other's barrier.
  const std::string both = R"(@warp 0 lane 0 mbarrier.init bar=bar[1] count=1 barrier.sync
    @warp 0 lane 0 while R.r[0] == 0 { @warp 0 lane 0 mbarrier.try_wait bar=bar[1] parity=1 poll=R.r[0] }
    @warp 0 lane 0 mbarrier.arrive bar=bar[0]
    @warp 1 while R.r[0] == 0 { @warp 1 mbarrier.try_wait bar=bar[0] parity=0 poll=R.r[0] }
    @warp 1 elect mbarrier.arrive bar=bar[1])";
  CHECK(explored(with_bar(both), &done) == silent);
  CHECK(done.complete);
  // The loop counts how often it has asked: that is open, but keeps nobody else back.
  const std::string counted = R"(@warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128
    @warp 0 lane 0 cp.async.bulk dst=S[0:32] src=B[0:32] bar=bar[0]
    @warp 1 while R.r[0] == 0 { @warp 1 add.s32 dst=R.r[1] a=R.r[1] b=1 p: @warp 1 mbarrier.test_wait bar=bar[0] parity=0 poll=R.r[0] })";
  CHECK(explored(with_bar(counted), &done) == silent);
  CHECK_FALSE(done.complete);
  // It ends by itself where the answer never comes.
  const std::string impatient = "@warp 1 while (R.r[0] == 0) & (R.r[1] < 5) { @warp 1 add.s32 dst=R.r[1] a=R.r[1] b=1 @warp 1 mbarrier.test_wait bar=bar[0] parity=0 poll=R.r[0] }";
  CHECK(explored(with_bar(impatient + " @warp 0 lane 0 mbarrier.arrive bar=bar[0]"), &done) == silent);
}

TEST_CASE("A thread that spins on a flag does not keep a copy back") {
  // Warp 0 waits for the copy, then sets the flag that all lanes of warp 1 ask for.
  const std::string text = with_bar(R"(@warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128
    @warp 0 lane 0 cp.async.bulk dst=S[0:32] src=B[0:32] bar=bar[0]
    @warp 0 lane 0 mbarrier.try_wait bar=bar[0] parity=0
    s: @warp 0 lane 0 st dst=F[0] src=R.r[2] bytes=4 sem=release
    @warp 1 while R.r[0] == 0 { l: @warp 1 ld dst=R.r[0] src=F[0] bytes=4 sem=acquire }
    @warp 1 ld dst=R.r[3] src=S[lane] bytes=4)");
  for (const sim::Policy policy : {sim::Policy::late, sim::Policy::early, sim::Policy::random, sim::Policy::adversarial}) {
    sim::Options options;
    options.policy = policy;
    options.max_steps = 5000;
    const sim::Outcome outcome = simulate(text, options);
    CHECK(findings(outcome) == "");
    CHECK(open(outcome) == "s/l");
  }
}

TEST_CASE("A delay decides nothing, wherever it stands") {
  const std::string late = "@warp 1 if lane == 0 { @warp 1 delay 3 } @warp 1 tcgen05.wait::st";
  CHECK(findings_everywhere(kernel(late)) == "");
  CHECK(findings_everywhere(kernel("@warp 1 if lane < 8 { @warp 1 if lane < 4 { @warp 1 delay 5 } } @warp 1 tcgen05.wait::st")) == "");
}
