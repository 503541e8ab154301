// Results of an mma that appear progressively: whoever reads too early sees old values, new ones, and some that are neither.
#include <bit>
#include <set>

#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// D holds 0 or 5 everywhere, then products of 16 times 1 * 2 are added or take its place.
std::string kernel(std::string_view body, std::string_view d = "f32", int initial = 0) {
  return fmt::format(R"(kernel k
target sm_100a
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [1] offset=8
buffer A: shared f16 [128, 16] layout="S[(16,8,2,8):(64,8,1024,1)]" offset=1024 init=fill(1)
buffer B: shared f16 [32, 16] layout="S[(4,8,2,8):(64,8,256,1)]" offset=8192 init=fill(2)
buffer D: tmem {} [128, 32] layout="S[(128,32):(1@TLane,{}@TCol)]" slot=slot
buffer G: global u32 [128]
buffer R: local u32 [64]
program {{
  @warp 0 tcgen05.alloc slot=slot cols=32
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  mov dst=R.r[0:32] a={}
  barrier.sync
  tcgen05.st shape=32x32b num=32 dst={{base: word(slot, 0), lane: warp * 32}} src=R.r[0:32] tcgen05.wait::st
  tcgen05.fence::before_thread_sync barrier.sync tcgen05.fence::after_thread_sync
  {}
  barrier.sync
  @warp 0 tcgen05.dealloc slot=slot cols=32
}}
)", d, d == "f16" ? 2 : 1, initial, body);
}

std::string mma(int accumulate, std::string_view more = "") { return fmt::format("first: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate={} {}\n", accumulate, more); }
const std::string commit = "@warp 0 lane 0 tcgen05.commit bar=bar[0]\n", wait = "mbarrier.try_wait bar=bar[0] parity=0\n";
const std::string load = "load: tcgen05.ld shape=32x32b num=32 dst=R.r[32:64] src={base: word(slot, 0), lane: warp * 32} tcgen05.wait::ld\n";

// Registers 32 to 63 of all warps as numbers.
std::set<float> loaded(const std::string& text, const sim::Options& options) {
  const sim::Outcome outcome = simulate(text, options);
  std::set<float> values;
  for (const auto& warp : outcome.image.ctas.at(0).registers)
    for (std::size_t row = 32; row < 64; ++row)
      for (std::uint32_t word : warp.at(row).value) values.insert(std::bit_cast<float>(word));
  return values;
}

const std::vector<sim::Policy> policies{sim::Policy::late, sim::Policy::early, sim::Policy::random, sim::Policy::adversarial};

}  // namespace

TEST_CASE("An mma that is read too early shows values that are neither old nor new") {
  sim::Options options;
  options.policy = sim::Policy::adversarial;
  const std::string early = kernel(mma(0) + load + commit + wait);
  CHECK(loaded(early, options) == std::set<float>{16, 32});  // half of the steps of K; the columns that are done
  CHECK(loaded(kernel(mma(1) + load + commit + wait, "f32", 0x40a00000), options) == std::set<float>{5 + 16, 5 + 32});
  options.policy = sim::Policy::random;
  std::set<float> seen;
  for (options.seed = 0; options.seed < 200; ++options.seed) seen.merge(loaded(early, options));
  CHECK(seen.count(0) == 1);
  CHECK(seen.count(32) == 1);
  CHECK(seen.size() > 4);  // multiples of 2
  for (const sim::Policy policy : policies) {
    options.policy = policy;
    options.seed = 3;
    CHECK(findings(simulate(early, options)) == "raw-mma load < first");
  }
}

TEST_CASE("Once an mma is complete nothing is left of what it has shown") {
  const std::string twice = kernel(mma(0) + "second: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=1\n" + commit + wait + load);
  const std::string masked = kernel(mma(1, "lanes_off=[0xffffffff, 0, 0, 0]") + commit + wait + load, "f32", 0x40a00000);
  for (const sim::Policy policy : policies) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      sim::Options options;
      options.policy = policy;
      options.scheduler = seed == 0 ? sim::Scheduler::round_robin : sim::Scheduler::random;
      options.seed = seed;
      REQUIRE(findings(simulate(twice, options)) == "");
      REQUIRE(loaded(twice, options) == std::set<float>{64});
      REQUIRE(loaded(masked, options) == std::set<float>{5, 37});
    }
  }
}
