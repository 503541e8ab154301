// scope-check: what is handed from one CTA of a cluster to another over .cta scope is ordered, and a warning.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// CTA 0 puts words into the memory of CTA 1 and arrives on its barrier; CTA 1 waits and reads.
std::string kernel(std::string_view body) {
  return fmt::format(R"(kernel k
target sm_100a
launch warps=2 cluster=[2, 1, 1] grid=[2, 1, 1]
buffer G: global u32 [64] init=iota(1, 1)
buffer B: global u32 [64]
buffer F: global u32 [1] init=fill(0)
buffer bar: shared mbarrier [2] offset=0
buffer S: shared u32 [64] offset=1024
buffer R: local u32 [8]
program {{
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  @warp 0 lane 0 mbarrier.init bar=bar[1] count=1
  @warp 0 lane 0 fence.mbarrier_init
  barrier.cluster.arrive
  barrier.cluster.wait
{}
  barrier.cluster.arrive
  barrier.cluster.wait
}}
)", body);
}

std::string handed_over(std::string_view arrive, std::string_view wait, std::string_view again = "") {
  return kernel(fmt::format("mov dst=R.r[0] a=lane put: @cta 0 warp 0 st dst=S[lane] src=R.r[0] bytes=4 rank=1 @cta 0 warp 0 bar.warp.sync "
                            "a: @cta 0 warp 0 lane 0 mbarrier.arrive bar=bar[0] rank=1 {} w: @cta 1 warp 0 mbarrier.try_wait bar=bar[0] parity=0 {} "
                            "{} get: @cta 1 warp 0 ld dst=R.r[1] src=S[lane] bytes=4", arrive, wait, again));
}

const std::string wide = "scope=cluster";

std::string lenient(std::string_view text) {
  sim::Options options;
  options.profile = Profile::lenient();
  return findings_everywhere(text, options);
}

}  // namespace

TEST_CASE("scope-check: both sides of an arrival in another CTA need cluster scope") {
  CHECK(findings_everywhere(handed_over(wide, wide)) == "");
  CHECK(findings_everywhere(handed_over("", wide)) == "smem-race get < put [warning]");
  CHECK(findings_everywhere(handed_over(wide, "")) == "smem-race get < put [warning]");
  CHECK(findings_everywhere(handed_over("", "")) == "smem-race get < put [warning]");
  CHECK(lenient(handed_over("", "")) == "");
  sim::Options as_error;
  as_error.profile.set("scope-check=E");
  CHECK(findings_everywhere(handed_over("", wide), as_error) == "smem-race get < put");
  // A cluster barrier has the scope, whatever came before it.
  CHECK(findings_everywhere(handed_over("", "", "barrier.cluster.arrive barrier.cluster.wait ")) == "");
  // Without any order it is the race.
  CHECK(findings_everywhere(kernel("mov dst=R.r[0] a=lane put: @cta 0 warp 0 st dst=S[lane] src=R.r[0] bytes=4 rank=1 "
                                   "get: @cta 1 warp 0 ld dst=R.r[1] src=S[lane] bytes=4")) == "smem-race get < put");
}

TEST_CASE("scope-check: inside a CTA .cta scope is enough, also as a part of a longer path") {
  const auto path = [](std::string_view remote) {
    return kernel(fmt::format("mov dst=R.r[0] a=lane put: @cta 0 warp 0 st dst=S[lane] src=R.r[0] bytes=4 rank=1 @cta 0 warp 0 bar.warp.sync "
                              "@cta 0 warp 0 lane 0 mbarrier.arrive bar=bar[1] @cta 0 warp 1 mbarrier.try_wait bar=bar[1] parity=0 "
                              "@cta 0 warp 1 lane 0 mbarrier.arrive bar=bar[0] rank=1 {} @cta 1 warp 1 mbarrier.try_wait bar=bar[0] parity=0 scope=cluster "
                              "@cta 1 warp 1 lane 0 mbarrier.arrive bar=bar[1] @cta 1 warp 0 mbarrier.try_wait bar=bar[1] parity=0 "
                              "get: @cta 1 warp 0 ld dst=R.r[1] src=S[lane] bytes=4", remote));
  };
  CHECK(findings_everywhere(path(wide)) == "");
  CHECK(findings_everywhere(path("")) == "smem-race get < put [warning]");  // carried on through edges that are wide enough
}

TEST_CASE("scope-check: bytes of a copy come with cluster scope, the wait needs it too") {
  const auto copy = [](std::string_view wait) {
    return kernel(fmt::format("e: @warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=128 "
                              "send: @cta 0 warp 0 lane 0 cp.async.bulk dst=S[0:32] src=G[0:32] bar=bar[0] mask=3 "
                              "w: @warp 0 mbarrier.try_wait bar=bar[0] parity=0 {} get: @warp 0 ld dst=R.r[1] src=S[lane] bytes=4", wait));
  };
  CHECK(findings_everywhere(copy(wide)) == "");
  CHECK(findings_everywhere(copy("")) == "smem-race get < send [warning]");
  CHECK(lenient(copy("")) == "");
}

TEST_CASE("scope-check: flags") {
  const auto flag = [](std::string_view store, std::string_view load) {
    return kernel(fmt::format("mov dst=R.r[0] a=lane + 1 put: @cta 0 warp 0 st dst=B[lane] src=R.r[0] bytes=4 @cta 0 warp 0 bar.warp.sync "
                              "raise: @cta 0 warp 0 lane 0 st dst=F src=R.r[0] bytes=4 sem=release {} @cta 1 warp 0 mov dst=R.r[2] a=0 "
                              "@cta 1 warp 0 while R.r[2] == 0 {{ poll: ld dst=R.r[2] src=F bytes=4 sem=acquire {} }} "
                              "get: @cta 1 warp 0 ld dst=R.r[1] src=B[lane] bytes=4 ", store, load));
  };
  CHECK(findings_everywhere(flag(wide, wide)) == "");
  CHECK(findings_everywhere(flag("", wide)).find("global-race poll < raise [warning]") == 0);
  CHECK(findings_everywhere(flag(wide, "")).find("global-race poll < raise [warning]") == 0);
  CHECK(lenient(flag("", "")) == "");
}
