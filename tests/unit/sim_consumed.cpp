// Registers of a load that are read before tcgen05.wait::ld: what lenient grants (switches reg-before-wait, consumed-load).
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// Column c of lane t holds t + 100 * c.
std::string kernel(std::string_view body) {
  return fmt::format(R"(kernel k
target sm_100a
launch warps=2
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [1] offset=8
buffer G: global u32 [64]
buffer R: local u32 [16]
program {{
  @warp 0 tcgen05.alloc slot=slot cols=32
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  mov dst=R.r[0] a=tid
  mov dst=R.r[1] a=tid + 100
  mov dst=R.r[8:10] a=7
  barrier.sync
  tcgen05.st shape=32x32b num=2 dst={{base: word(slot, 0), lane: warp * 32}} src=R.r[0:2] tcgen05.wait::st
  {}
  barrier.sync
  free: @warp 0 tcgen05.dealloc slot=slot cols=32
}}
)", body);
}

const std::string load = "load: @warp 0 tcgen05.ld shape=32x32b num=2 dst=R.r[2:4] src={base: word(slot, 0)}\n";
const std::string done = "@warp 0 tcgen05.wait::ld\n";
const std::string use_first = "@warp 0 add.s32 dst=R.r[4] a=R.r[2] b=1\n", use_second = "@warp 0 add.s32 dst=R.r[5] a=R.r[3] b=1\n";
const std::string over = "over: @warp 0 tcgen05.st shape=32x32b num=2 dst={base: word(slot, 0)} src=R.r[8:10] tcgen05.wait::st\n";

std::string strict(const std::string& body) { return findings_everywhere(kernel(body)); }
std::string lenient(const std::string& body) {
  sim::Options options;
  options.profile = Profile::lenient();
  return findings_everywhere(kernel(body), options);
}

}  // namespace

TEST_CASE("consumed-load: cells of a load whose registers have all been read are overwritten") {
  CHECK(strict(load + use_first + use_second + over + done) == "war-ld over < load");
  CHECK(lenient(load + use_first + use_second + over + done) == "war-ld over < load [warning]");
  CHECK(lenient(load + use_first + over + use_second + done) == "war-ld over < load");
  CHECK(lenient(load + use_first + over + done) == "war-ld over < load");
  CHECK(lenient(load + "@warp 0 lanes 0..30 add.s32 dst=R.r[4] a=R.r[2] b=1\n" + use_second + over + done) == "war-ld over < load");
  CHECK(lenient(load + use_first + use_second + done + over) == "");
  CHECK(strict(load + done + use_first + use_second + over) == "");
  sim::Options off;
  off.profile = Profile::lenient();
  off.profile.set("consumed-load=off");
  CHECK(findings_everywhere(kernel(load + use_first + use_second + over + done), off) == "war-ld over < load");
}

TEST_CASE("consumed-load: before the signal, not behind it") {
  const std::string signal = "@warp 0 bar.warp.sync @warp 0 lane 0 mbarrier.arrive bar=bar[0]\n", wait = "@warp 1 mbarrier.try_wait bar=bar[0] parity=0\n";
  // Warp 1 cannot reach the lanes of warp 0; a thread of it lets the tensor core overwrite them.
  const std::string copy = "cp: @warp 1 lane 0 tcgen05.cp shape=128x128b dst={base: word(slot, 0)} src=src\n@warp 1 lane 0 tcgen05.commit bar=bar[1]\nmbarrier.try_wait bar=bar[1] parity=0\n";
  const auto with_source = [](std::string text) {
    text.replace(text.find("buffer G"), 0, "buffer src: shared u8 [128, 16] layout=\"S[(128,16):(16,1)]\" offset=2048 init=fill(1)\n");
    text.replace(text.find("mbarrier [1]"), 12, "mbarrier [2]");
    text.replace(text.find("barrier.sync"), 0, "@warp 0 lane 0 mbarrier.init bar=bar[1] count=1\n");
    return text;
  };
  const auto found = [&](const std::string& body, const Profile& profile) {
    sim::Options options;
    options.profile = profile;
    const std::string handed_over = "tcgen05.fence::before_thread_sync barrier.sync tcgen05.fence::after_thread_sync\n";  // what was stored first
    return findings_everywhere(with_source(kernel(handed_over + body)), options);
  };
  CHECK(found(load + use_first + use_second + signal + wait + copy + done, Profile::strict()) == "war-ld cp < load");
  CHECK(found(load + use_first + use_second + signal + wait + copy + done, Profile::lenient()) == "war-ld cp < load [warning]");
  CHECK(found(load + use_first + signal + use_second + wait + copy + done, Profile::lenient()) == "war-ld cp < load");
  CHECK(found(load + done + use_first + use_second + signal + wait + copy, Profile::strict()) == "");
}

TEST_CASE("consumed-load: columns are freed") {
  CHECK(strict(load + use_first + use_second) == "dealloc-live free < load");
  CHECK(lenient(load + use_first + use_second) == "dealloc-live free < load [warning]");
  CHECK(lenient(load + use_first) == "dealloc-live free < load");
  CHECK(lenient(load + use_first + use_second + done) == "");
}

TEST_CASE("A register that is read before wait::ld holds what was loaded, where the profile allows it") {
  const std::string out = "@warp 0 st dst=G[lane] src=R.r[4] bytes=4 @warp 0 st dst=G[32 + lane] src=R.r[5] bytes=4\n";
  const std::string in_place = "sum: @warp 0 add.s32 dst=R.r[2] a=R.r[2] b=1 @warp 0 mov dst=R.r[4] a=R.r[2]\n";
  for (const sim::Policy policy : {sim::Policy::late, sim::Policy::early, sim::Policy::random, sim::Policy::adversarial}) {
    for (const std::string& first : {use_first, in_place}) {
      sim::Options options;
      options.profile = Profile::lenient();
      options.policy = policy;
      const sim::Outcome outcome = simulate(kernel(load + first + use_second + done + out), options);
      CHECK(findings(outcome) == "");
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        REQUIRE(global_word(outcome, 2, lane) == lane + 1);
        REQUIRE(global_word(outcome, 2, 32 + lane) == lane + 101);
      }
    }
  }
  CHECK(lenient(load + "kill: @warp 0 mov dst=R.r[2] a=1\n" + done) == "read-before-wait kill < load");
  CHECK(strict(load + in_place + done) == "read-before-wait sum < load");
}
