// Barrier objects, clusters, bulk copies: every form assembles for Hopper and Blackwell, what cannot be emitted says so, and
// what a program asks of the GPU is known before it is compiled.
#include <fmt/format.h>

#include "emit/emit.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"
#include "tests/emit/samples.hpp"

using namespace tmemsim;

namespace {

// A program of one cluster of two CTAs around some statements.
std::string around(const std::string& statements, std::string_view target = "sm_100a") {
  return fmt::format(R"(kernel k
target {}
ptx 9.0
launch warps=4 cluster=[2, 1, 1] grid=[2, 1, 1]
buffer A: global u32 [4, 64]
buffer V: global u32 [64, 4] layout="S[(64,4):(1,64)]"
buffer W: shared u32 [4, 64] layout="S[(4,64):(1,4)]"
buffer S: shared u32 [4, 64]
buffer bar: shared mbarrier [4]
buffer R: local u32 [8]
buffer acc: tmem f32 [128, 8] layout="S[(128,8):(1@TLane,1@TCol)]" base=0
program {{
{}}}
)",
                     target, statements);
}

Kernel kernel(const std::string& text) {
  Kernel result = parse_kernel(text, "k.kernel");
  verify(result, Level::machine);
  return result;
}

std::string refusal(const std::string& statements, const emit::Options& options = {}) {
  try {
    (void)emit::cuda(kernel(around(statements)), options);
    return "not refused";
  } catch (const Unsupported& error) { return error.reason(); }
}

constexpr std::string_view every_form = R"(
  mbarrier.init bar=bar[0] count=5
  mbarrier.inval bar=bar[1]
  mbarrier.arrive bar=bar[0]
  mbarrier.arrive bar=bar[0] count=3
  mbarrier.arrive bar=bar[0] count=lane + 1 sem=relaxed
  mbarrier.arrive bar=bar[0] scope=cluster
  mbarrier.arrive bar=bar[0] scope=cluster rank=1 - rank
  mbarrier.arrive bar=bar[0] scope=cluster rank=0 sem=relaxed count=2
  mbarrier.arrive.expect_tx bar=bar[0] bytes=64
  mbarrier.arrive.expect_tx bar=bar[0] bytes=64 scope=cluster rank=0
  mbarrier.arrive.expect_tx bar=bar[0] bytes=64 sem=relaxed
  mbarrier.expect_tx bar=bar[0] bytes=64
  mbarrier.expect_tx bar=bar[0] bytes=64 scope=cluster rank=1
  mbarrier.test_wait bar=bar[0] parity=0 poll=R.r[0]
  mbarrier.test_wait bar=bar[0] parity=1 scope=cluster
  mbarrier.try_wait bar=bar[0] parity=R.r[0] % 2
  mbarrier.try_wait bar=bar[0] parity=0 sem=relaxed scope=cluster poll=R.r[1]
  barrier.cluster.arrive
  barrier.cluster.wait
  barrier.cluster.arrive sem=relaxed
  barrier.cluster.wait
  fence.proxy.async
  fence.proxy.async space=shared::cta
  fence.proxy.async space=shared::cluster
  fence.proxy.async space=global
  fence.mbarrier_init
  mapa dst=R.r[2] src=S[1, 2] rank=1 - rank
  cp.async.bulk dst=S[0:2, 0:64] src=A[1:3, 0:64] bar=bar[0]
  cp.async.bulk dst=S[1, 0:64] src=A[cta, 0:64] bar=bar[0] mask=3
  cp.async.bulk dst=A[rank, 4:8] src=S[2, 8:12]
  cp.async.bulk.commit_group
  cp.async.bulk.wait_group n=3
  cp.async.bulk.wait_group n=0 read=true
)";

constexpr std::string_view forms[] = {
    "mbarrier.init.shared::cta.b64 [",
    "mbarrier.inval.shared::cta.b64 [",
    "mbarrier.arrive.shared::cta.b64 _, [",
    "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [",
    "mbarrier.arrive.release.cluster.shared::cta.b64 _, [",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [",
    "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [",
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [",
    "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [",
    "mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [",
    "mbarrier.expect_tx.shared::cta.b64 [",
    "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [",
    "mbarrier.test_wait.parity.shared::cta.b64 p, [",
    "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 p, [",
    "mbarrier.try_wait.parity.shared::cta.b64 p, [",
    "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [",
    "barrier.cluster.arrive.release;",
    "barrier.cluster.arrive.relaxed;",
    "barrier.cluster.wait.acquire;",
    "fence.proxy.async;",
    "fence.proxy.async.shared::cta;",
    "fence.proxy.async.shared::cluster;",
    "fence.proxy.async.global;",
    "fence.mbarrier_init.release.cluster;",
    "mapa.shared::cluster.u32",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [",
    "cp.async.bulk.global.shared::cta.bulk_group [",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group 3;",
    "cp.async.bulk.wait_group.read 0;",
};

}  // namespace

TEST_CASE("every form of barrier objects, clusters and bulk copies assembles for sm_90a and sm_100a") {
  const std::string text = emit::cuda(kernel(around(std::string(every_form))));
  CHECK_THAT(text, tests::contains("bulk_copy_to_shared(s_S, g_A + 256, 512, s_bar);"));
  CHECK_THAT(text, tests::contains("while (!mbarrier_test_wait_acquire_cluster(s_bar, 1)) {}"));
  if (!tests::have_nvcc()) {
    WARN("no nvcc 12.8 or later: not assembled");
    return;
  }
  const tests::Compiled compiled = tests::compile(text, "90a 100a");
  INFO(compiled.log);
  REQUIRE(compiled.ok);
  CHECK(compiled.stack_bytes == 0);
  for (const std::string_view form : forms) {
    CAPTURE(form);
    CHECK(compiled.ptx.find(form) != std::string::npos);
  }
}

TEST_CASE("the programs with barrier objects assemble: native for sm_100a, with emulated tensor memory for sm_90a") {
  std::vector<Kernel> kernels;
  for (const tests::Sample& sample : tests::async_programs()) kernels.push_back(sample.kernel);
  const std::string native = emit::device_code(kernels);
  const std::string emulated = emit::cuda_batch(kernels, {true, emit::Backend::emulated, emit::Arch{90, 'a'}});
  if (!tests::have_nvcc()) return;
  const tests::Compiled for_blackwell = tests::compile(native, "100a");
  INFO(for_blackwell.log);
  CHECK(for_blackwell.ok);
  CHECK(for_blackwell.stack_bytes == 0);
  const tests::Compiled for_hopper = tests::compile(emulated, "90a", true);
  INFO(for_hopper.log);
  CHECK(for_hopper.ok);
}

TEST_CASE("what the tensor core does is refused by name") {
  const emit::Options emulated{false, emit::Backend::emulated, {}};
  CHECK_THAT(refusal("  tcgen05.shift addr={base: 0, lane: 0, col: 0}\n"), tests::contains("tcgen05.shift is not emitted"));
  CHECK_THAT(refusal("  tcgen05.cp shape=128x256b dst={base: 0, lane: 0, col: 0} src=S\n"),
             tests::contains("tcgen05.cp is not emitted"));
  CHECK_THAT(refusal("  tcgen05.mma kind=tf32 d=acc a=S b=S\n"), tests::contains("tcgen05.mma is not emitted"));
  CHECK(refusal("  tcgen05.commit bar=bar[0]\n") == "not refused");
  CHECK(refusal("  tcgen05.commit bar=bar[0] rank=1\n", emulated) == "not refused");
  CHECK(refusal("  tcgen05.commit bar=bar[0] mask=3 cta_group=2\n") == "not refused");
  CHECK(refusal("  tcgen05.commit bar=bar[0] cta_group=2\n", emulated) == "not refused");
}

TEST_CASE("pairs of CTAs that are no neighbours in x have no emulated tensor memory") {
  const auto pair_along = [](std::string_view cluster) {
    std::string text = around("  tcgen05.relinquish_alloc_permit cta_group=2\n");
    for (int i = 0; i < 2; ++i) text.replace(text.find("[2, 1, 1]"), 9, cluster);
    return kernel(text);
  };
  const emit::Options emulated{false, emit::Backend::emulated, {}};
  CHECK_NOTHROW(emit::cuda(pair_along("[4, 1, 1]"), emulated));
  CHECK_THROWS_AS(emit::cuda(pair_along("[1, 2, 1]"), emulated), Unsupported);
  CHECK_NOTHROW(emit::cuda(pair_along("[1, 2, 1]")));
}

TEST_CASE("bulk copies that are no block of memory, or of no fixed size, are refused") {
  CHECK_THAT(refusal("  cp.async.bulk dst=S[0:2, 0:4] src=A[0:2, 0:4] bar=bar[0]\n"), tests::contains("not always one block"));
  CHECK(refusal("  cp.async.bulk dst=S[0:1, 0:4] src=A[3, 8:12] bar=bar[0]\n") == "not refused");
  CHECK_THAT(refusal("  cp.async.bulk dst=S[0, 0:4] src=V[0, 0:4] bar=bar[0]\n"), tests::contains("elements of V"));
  CHECK(refusal("  cp.async.bulk dst=S[0, 0:4] src=V[0:4, 2] bar=bar[0]\n") == "not refused");
  // A layout that is not row-major, at a place that the thread decides: whole columns are blocks wherever they begin.
  CHECK(refusal("  cp.async.bulk dst=W[0:4, rank] src=A[0, 0:4] bar=bar[0]\n") == "not refused");
  CHECK_THAT(refusal("  cp.async.bulk dst=W[rank, 0:4] src=A[0, 0:4] bar=bar[0]\n"), tests::contains("elements of W"));
  CHECK_THAT(refusal("  cp.async.bulk dst=S[0, 0:3] src=A[0, 0:3] bar=bar[0]\n"), tests::contains("multiple of 16 bytes"));
  CHECK_THAT(refusal("  cp.async.bulk.wait_group n=lane\n"), tests::contains("a constant"));
}

TEST_CASE("what an architecture lacks is refused, and what a program needs is known") {
  using emit::Arch;
  const auto least = [](const std::string& statements, emit::Backend backend) {
    std::string text = around(statements);
    text.replace(text.find("cluster=[2"), 10, "cluster=[1");
    return emit::least_arch(kernel(text), {false, backend, {}});
  };
  constexpr auto native = emit::Backend::native, emulated = emit::Backend::emulated, host = emit::Backend::host;
  const std::string load = "  ld dst=R.r[0] src=A[0, 0] bytes=4\n";
  const std::string fence = "  tcgen05.fence::before_thread_sync\n";
  CHECK(least(load, native) == Arch{75, 0});
  CHECK(least(load + "  mbarrier.arrive bar=bar[0]\n", native) == Arch{80, 0});
  CHECK(least(load + "  mbarrier.arrive bar=bar[0] count=2\n", native) == Arch{90, 0});
  CHECK(least(load + "  mbarrier.try_wait bar=bar[0] parity=0\n", emulated) == Arch{90, 0});
  CHECK(least(load + "  @elect  mov dst=R.r[0] a=1\n", native) == Arch{90, 0});
  CHECK(least(load + "  @elect  mov dst=R.r[0] a=1\n", emulated) == Arch{75, 0});
  CHECK(least(load + "  ld dst=R.r[0] src=A[0, 0] bytes=4 sem=acquire scope=cluster\n", native) == Arch{90, 0});
  CHECK(least(fence, native) == Arch{100, 'a'});
  CHECK(least(fence, emulated) == Arch{75, 0});
  CHECK(least("  mbarrier.try_wait bar=bar[0] parity=0\n", host) == Arch{75, 0});
  CHECK(emit::least_arch(kernel(around(load)), {}) == Arch{90, 0});  // clusters

  CHECK_THAT(refusal(fence, {false, native, Arch{90, 'a'}}), tests::contains("tcgen05.fence::before_thread_sync: tcgen05 needs"));
  CHECK(refusal(fence, {false, native, Arch{103, 'a'}}) == "not refused");
  CHECK(refusal(fence, {false, emulated, Arch{90, 0}}) == "not refused");
  CHECK_THAT(refusal(fence, {false, emulated, Arch{89, 0}}), tests::contains("needs sm_90 or later; the program is for sm_89"));
}

TEST_CASE("names of architectures") {
  using emit::Arch;
  CHECK(emit::arch_named("sm_75") == Arch{75, 0});
  CHECK(emit::arch_named("sm_90a") == Arch{90, 'a'});
  CHECK(emit::arch_named("sm_103f") == Arch{103, 'f'});
  for (const std::string_view wrong : {"", "sm_", "sm_70", "90a", "sm_90b", "sm_90aa", "sm_-90", "sm_9999", "sm_90;ls", "sm_90 "}) {
    CAPTURE(wrong);
    CHECK(!emit::arch_named(wrong));
  }
  CHECK(emit::name(Arch{100, 'a'}) == "sm_100a");
  CHECK(emit::nvcc_flags(Arch{100, 'a'}) == "-std=c++17 -gencode arch=compute_100a,code=sm_100a");
}
