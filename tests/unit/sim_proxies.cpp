// One thread hands bytes that the lanes of its warp have written to the async proxy: every lane's write has to come before it,
// and a fence of the proxies that covers the state space has to stand behind each of them.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

const std::string bulk_head = R"(kernel k
target sm_100a
launch warps=2
buffer out: global u32 [32] init=fill(0)
buffer from: global u32 [32] init=fill(3)
buffer box: shared u32 [32] offset=1024 init=fill(1)
buffer bar: shared mbarrier [1] offset=8
buffer R: local u32 [2]
program {
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  barrier.sync
  mov dst=R.r[0] a=tid
)";
const std::string put = "put: @warp 0 st dst=box{byte: lane * 4} src=R.r[0] bytes=4\n";
const std::string get = "get: @warp 0 ld dst=R.r[1] src=box{byte: lane * 4} bytes=4\n";
const std::string to_global = "out: @warp 0 lane 0 cp.async.bulk dst=out src=box @warp 0 lane 0 cp.async.bulk.commit_group @warp 0 lane 0 cp.async.bulk.wait_group n=0\n";
const std::string to_shared = "in: @warp 0 lane 0 cp.async.bulk dst=box src=from bar=bar[0]\n";
const std::string together = "bar.warp.sync\n";

std::string fence(std::string_view space = "all", std::string_view where = "@warp 0") { return fmt::format("{} fence.proxy.async space={}\n", where, space); }
std::string in() { return "@warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128\n" + to_shared + "mbarrier.try_wait bar=bar[0] parity=0\n"; }
std::string verdicts(const std::string& body) { return findings_everywhere(bulk_head + body + "}\n"); }

}  // namespace

TEST_CASE("a bulk copy by one lane of what all lanes wrote: they have to be ordered before it") {
  CHECK(verdicts(put + fence() + together + to_global) == "");
  CHECK(verdicts(put + together + fence() + to_global) == "");
  CHECK(verdicts(put + together + fence("all", "@warp 0 lane 0") + to_global) == "");
  CHECK(verdicts(put + fence() + to_global) == "smem-race out < put");
  CHECK(verdicts(put + to_global) == "smem-race out < put");
  CHECK(verdicts(put + together + to_global) == "proxy-fence out < put");
  // The fence of another lane covers neither what this one did nor what it did not know.
  CHECK(verdicts(put + fence("all", "@warp 0 lanes 1..31") + together + to_global) == "proxy-fence out < put");
  CHECK(verdicts(put + fence("all", "@warp 0 lanes 0..15") + together + to_global) == "proxy-fence out < put");
  const std::string own = "put: @warp 0 lane 0 st dst=box{byte: 0} src=R.r[0] bytes=4\n";
  CHECK(verdicts(own + to_global) == "proxy-fence out < put");
  CHECK(verdicts(own + fence() + to_global) == "");
  CHECK(verdicts(own + fence("all", "@warp 0 lane 1") + together + to_global) == "proxy-fence out < put");
  CHECK(verdicts(own + together + fence("all", "@warp 0 lane 1") + together + to_global) == "");
}

TEST_CASE("a bulk copy by one lane over what all lanes wrote or read") {
  CHECK(verdicts(put + fence() + together + in()) == "");
  CHECK(verdicts(put + fence() + in()) == "smem-race in < put");
  CHECK(verdicts(get + together + in()) == "");
  CHECK(verdicts(get + in()) == "smem-race get < in");
}

TEST_CASE("a fence that a warp executes reaches other warps with whoever signals") {
  const std::string other = "out: @warp 1 lane 0 cp.async.bulk dst=out src=box @warp 1 lane 0 cp.async.bulk.commit_group @warp 1 lane 0 cp.async.bulk.wait_group n=0\n";
  CHECK(verdicts(put + fence() + "barrier.sync\n" + other) == "");
  CHECK(verdicts(put + "barrier.sync\n" + other) == "proxy-fence out < put");
  CHECK(verdicts(put + "barrier.sync\n" + fence("all", "@warp 1") + other) == "");
  const std::string tell = "@warp 0 lane 0 mbarrier.arrive bar=bar[0]\n@warp 1 mbarrier.try_wait bar=bar[0] parity=0\n";
  CHECK(verdicts(put + fence() + together + tell + other) == "");
  CHECK(verdicts(put + fence() + tell + other) == "smem-race out < put");
}

TEST_CASE("a fence of the proxies counts in its state space alone") {
  for (const char* space : {"all", "shared::cta", "shared::cluster"}) CHECK(verdicts(put + fence(space) + together + to_global) == "");
  CHECK(verdicts(put + fence("global") + together + to_global) == "proxy-fence out < put");
  CHECK(verdicts(put + fence("global") + together + fence("shared::cta") + to_global) == "");
  const std::string put_global = "put: @warp 0 st dst=from{byte: lane * 4} src=R.r[0] bytes=4\n";
  for (const char* space : {"all", "global"}) CHECK(verdicts(put_global + fence(space) + together + in()) == "");
  for (const char* space : {"shared::cta", "shared::cluster"}) CHECK(verdicts(put_global + fence(space) + together + in()) == "proxy-fence in < put");
}

TEST_CASE("shared::cta is the shared memory of the CTA whose thread executes the fence") {
  const auto pair = [](std::string_view before, std::string_view behind) {
    const std::string sync = "barrier.cluster.arrive barrier.cluster.wait\n";
    return "kernel k\ntarget sm_100a\nlaunch warps=1 cluster=[2, 1, 1] grid=[2, 1, 1]\nbuffer out: global u32 [32] init=fill(0)\n"
           "buffer box: shared u32 [32] offset=1024 init=fill(1)\nbuffer R: local u32 [1]\nprogram {\n mov dst=R.r[0] a=tid\n" + sync +
           "put: @cta 0 warp 0 st dst=box{byte: lane * 4} src=R.r[0] bytes=4 rank=1\n" + std::string(before) + sync + std::string(behind) +
           "out: @cta 1 warp 0 lane 0 cp.async.bulk dst=out src=box @cta 1 warp 0 lane 0 cp.async.bulk.commit_group "
           "@cta 1 warp 0 lane 0 cp.async.bulk.wait_group n=0\n" + sync + "}\n";
  };
  CHECK(findings_everywhere(pair("", "")) == "proxy-fence out < put");
  CHECK(findings_everywhere(pair("@cta 0 fence.proxy.async\n", "")) == "");
  CHECK(findings_everywhere(pair("@cta 0 fence.proxy.async space=shared::cluster\n", "")) == "");
  CHECK(findings_everywhere(pair("@cta 0 fence.proxy.async space=shared::cta\n", "")) == "proxy-fence out < put");
  CHECK(findings_everywhere(pair("", "@cta 1 fence.proxy.async space=shared::cta\n")) == "");
}

TEST_CASE("an operand that the warp has filled, and its lane 0 gives to the tensor core") {
  const auto program = [](std::string_view between) {
    return fmt::format(R"(kernel k
target sm_100a
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [1] offset=8
buffer src: shared u8 [4, 32] layout="S[(4,2,16):(16,2048,1)]" offset=16384 init=random_bits(7)
buffer R: local u32 [1]
program {{
  @warp 0 tcgen05.alloc slot=slot cols=32
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  mov dst=R.r[0] a=tid
  barrier.sync
  put: @warp 0 lanes 0..15 st dst=src{{byte: lane * 4}} src=R.r[0] bytes=4
  {}
  bring: @warp 0 lane 0 tcgen05.cp shape=4x256b dst={{base: word(slot, 0)}} src=src
  @warp 0 lane 0 tcgen05.commit bar=bar[0]
  mbarrier.try_wait bar=bar[0] parity=0
  barrier.sync
  @warp 0 tcgen05.dealloc slot=slot cols=32
}})", between);
  };
  CHECK(findings_everywhere(program("@warp 0 fence.proxy.async @warp 0 bar.warp.sync")) == "");
  CHECK(findings_everywhere(program("@warp 0 fence.proxy.async")) == "smem-race bring < put");
  CHECK(findings_everywhere(program("@warp 0 fence.proxy.async space=global @warp 0 bar.warp.sync")) == "proxy-fence bring < put");
}
