// Device functions of mbarrier objects, clusters, proxies and bulk copies. Syntax: PTX ISA 9.7.13.15 (mbarrier), 9.7.13.4
// (barrier.cluster, fences), 9.7.9.22 (mapa), 9.7.9.25 (bulk copies), 9.7.16.12 (commit).
#include <fmt/format.h>

#include <array>

#include "emit/cuda/device_functions.hpp"

namespace tmemsim::emit {
namespace {

constexpr Fixed native_functions[] = {
    {"mbarrier_init", R"(
// Makes a barrier object: phase 0, `count` arrivals pending.
__device__ __forceinline__ void mbarrier_init(uint32_t bar, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
)"},
    {"mbarrier_inval", R"(
// Ends the barrier object: its bytes are ordinary memory again.
__device__ __forceinline__ void mbarrier_inval(uint32_t bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}
)"},
    {"cluster_arrive_release", R"(
__device__ __forceinline__ void cluster_arrive_release() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
)"},
    {"cluster_arrive_relaxed", R"(
__device__ __forceinline__ void cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
)"},
    {"cluster_wait", R"(
// Waits until every thread of the cluster has arrived.
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
)"},
    {"fence_mbarrier_init", R"(
// Makes earlier mbarrier.init of the thread visible to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
)"},
    {"fence_proxy_async", R"(
// Orders the generic and the asynchronous accesses of the thread.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
)"},
    {"fence_proxy_async_shared_cta", R"(
// Orders the generic and the asynchronous accesses of the thread to the shared memory of its CTA.
__device__ __forceinline__ void fence_proxy_async_shared_cta() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
)"},
    {"fence_proxy_async_shared_cluster", R"(
// Orders the generic and the asynchronous accesses of the thread to the shared memory of its cluster.
__device__ __forceinline__ void fence_proxy_async_shared_cluster() {
  asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
}
)"},
    {"fence_proxy_async_global", R"(
// Orders the generic and the asynchronous accesses of the thread to global memory.
__device__ __forceinline__ void fence_proxy_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
)"},
    {"from_window", R"(
// An address in the shared memory of a cluster, counted from where the windows of its CTAs begin: rank << 24 | offset.
__device__ __forceinline__ uint32_t from_window(uint32_t address) { return address - (shared_window() & 0xffffffu); }
)"},
    {"bulk_copy_to_shared", R"(
// Copies global bytes to shared memory; they count on the barrier `bar`.
__device__ __forceinline__ void bulk_copy_to_shared(uint32_t to, const uint8_t* from, uint32_t bytes, uint32_t bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(bar)
               : "memory");
}
)"},
    {"bulk_copy_to_cluster", R"(
// Copies global bytes to the same place in the shared memory of every CTA whose rank bit `ctas` holds; they count on the barrier
// at the place of `bar` in each.
__device__ __forceinline__ void bulk_copy_to_cluster(uint32_t to, const uint8_t* from, uint32_t bytes, uint32_t bar,
                                                     uint16_t ctas) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
               ::"r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(bar), "h"(ctas)
               : "memory");
}
)"},
    {"bulk_copy_to_global", R"(
// Copies shared bytes to global memory; the copy belongs to the bulk group that the thread closes next.
__device__ __forceinline__ void bulk_copy_to_global(uint8_t* to, uint32_t from, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               ::"l"(__cvta_generic_to_global(to)), "r"(from), "r"(bytes)
               : "memory");
}
)"},
    {"bulk_commit_group", R"(
__device__ __forceinline__ void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
)"},
    {"bulk_wait_group", R"(
// Waits until at most N of the thread's latest bulk groups are pending.
template <int N>
__device__ __forceinline__ void bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
)"},
    {"bulk_wait_group_read", R"(
// Waits until at most N of the thread's latest bulk groups have still to read their sources.
template <int N>
__device__ __forceinline__ void bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
)"},
    {"tcgen05_commit_cg1", R"(
// Arrives on the barrier once all earlier mma, cp and shift of the thread are complete.
__device__ __forceinline__ void tcgen05_commit_cg1(uint32_t bar) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
)"},
    {"tcgen05_commit_cg2", R"(
// Arrives on the barrier once all earlier mma, cp and shift of the thread are complete.
__device__ __forceinline__ void tcgen05_commit_cg2(uint32_t bar) {
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}
)"},
    {"tcgen05_commit_multicast_cg1", R"(
// As a commit to the barrier at the same place in every CTA whose rank bit `ctas` holds.
__device__ __forceinline__ void tcgen05_commit_multicast_cg1(uint32_t bar, uint16_t ctas) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
               ::"r"(bar), "h"(ctas)
               : "memory");
}
)"},
    {"tcgen05_commit_multicast_cg2", R"(
// As a commit to the barrier at the same place in every CTA whose rank bit `ctas` holds.
__device__ __forceinline__ void tcgen05_commit_multicast_cg2(uint32_t bar, uint16_t ctas) {
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
               ::"r"(bar), "h"(ctas)
               : "memory");
}
)"},
};

// On a GPU without tensor memory nothing is emitted that a commit could wait for (mma, cp and shift are refused): it arrives.
constexpr Fixed emulated_functions[] = {
    {"tcgen05_commit_cg1", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once.
__device__ __forceinline__ void tcgen05_commit_cg1(uint32_t bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}
)"},
    {"tcgen05_commit_cg2", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once.
__device__ __forceinline__ void tcgen05_commit_cg2(uint32_t bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}
)"},
    {"tcgen05_commit_multicast_cg1", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once, in every CTA whose rank bit `ctas` holds.
__device__ __forceinline__ void tcgen05_commit_multicast_cg1(uint32_t bar, uint16_t ctas) {
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if ((ctas >> rank & 1) == 0) continue;
    uint32_t peer;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(bar), "r"(rank));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer) : "memory");
  }
}
)"},
    {"tcgen05_commit_multicast_cg2", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once, in every CTA whose rank bit `ctas` holds.
__device__ __forceinline__ void tcgen05_commit_multicast_cg2(uint32_t bar, uint16_t ctas) {
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if ((ctas >> rank & 1) == 0) continue;
    uint32_t peer;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(bar), "r"(rank));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer) : "memory");
  }
}
)"},
};

constexpr Fixed host_functions[] = {
    {"mbarrier_init", R"(
// Makes a barrier object: phase 0, `count` arrivals pending.
inline void mbarrier_init(uint32_t bar, int count) { host_async::init(bar, uint32_t(count)); }
)"},
    {"mbarrier_inval", R"(
// Ends the barrier object: its bytes are ordinary memory again.
inline void mbarrier_inval(uint32_t bar) { host_async::inval(bar); }
)"},
    {"cluster_arrive_release", R"(
inline void cluster_arrive_release() { host::cta->cluster->barrier.arrive(); }
)"},
    {"cluster_arrive_relaxed", R"(
inline void cluster_arrive_relaxed() { host::cta->cluster->barrier.arrive(); }
)"},
    {"cluster_wait", R"(
// Waits until every thread of the cluster has arrived.
inline void cluster_wait() { host::cta->cluster->barrier.wait(); }
)"},
    {"fence_mbarrier_init", R"(
inline void fence_mbarrier_init() {}  // all accesses are sequentially consistent here
)"},
    {"fence_proxy_async", R"(
inline void fence_proxy_async() {}  // all accesses are sequentially consistent here
)"},
    {"fence_proxy_async_shared_cta", R"(
inline void fence_proxy_async_shared_cta() {}  // all accesses are sequentially consistent here
)"},
    {"fence_proxy_async_shared_cluster", R"(
inline void fence_proxy_async_shared_cluster() {}  // all accesses are sequentially consistent here
)"},
    {"fence_proxy_async_global", R"(
inline void fence_proxy_async_global() {}  // all accesses are sequentially consistent here
)"},
    {"from_window", R"(
// An address in the shared memory of a cluster, counted from where the windows of its CTAs begin: rank << 24 | offset.
__device__ __forceinline__ uint32_t from_window(uint32_t address) { return address - (shared_window() & 0xffffffu); }
)"},
    {"bulk_copy_to_shared", R"(
// Copies global bytes to shared memory; they count on the barrier `bar`.
inline void bulk_copy_to_shared(uint32_t to, const uint8_t* from, uint32_t bytes, uint32_t bar) {
  host_async::copy(host::shared(to, bytes), from, bytes);
  host_async::complete_tx(bar, bytes);
}
)"},
    {"bulk_copy_to_cluster", R"(
// Copies global bytes to the same place in the shared memory of every CTA whose rank bit `ctas` holds; they count on the barrier
// at the place of `bar` in each.
inline void bulk_copy_to_cluster(uint32_t to, const uint8_t* from, uint32_t bytes, uint32_t bar, uint16_t ctas) {
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if ((ctas >> rank & 1) == 0) continue;
    host_async::copy(host::shared(host_async::in_cta(to, rank), bytes), from, bytes);
    host_async::complete_tx(host_async::in_cta(bar, rank), bytes);
  }
}
)"},
    {"bulk_copy_to_global", R"(
// Copies shared bytes to global memory, at once.
inline void bulk_copy_to_global(uint8_t* to, uint32_t from, uint32_t bytes) {
  host_async::copy(to, host::shared(from, bytes), bytes);
}
)"},
    {"bulk_commit_group", R"(
inline void bulk_commit_group() {}  // copies are complete at once
)"},
    {"bulk_wait_group", R"(
template <int N>
inline void bulk_wait_group() {}  // copies are complete at once
)"},
    {"bulk_wait_group_read", R"(
template <int N>
inline void bulk_wait_group_read() {}  // copies are complete at once
)"},
    {"tcgen05_commit_cg1", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once.
inline void tcgen05_commit_cg1(uint32_t bar) { host_async::arrive(bar, 1); }
)"},
    {"tcgen05_commit_cg2", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once.
inline void tcgen05_commit_cg2(uint32_t bar) { host_async::arrive(bar, 1); }
)"},
    {"tcgen05_commit_multicast_cg1", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once, in every CTA whose rank bit `ctas` holds.
inline void tcgen05_commit_multicast_cg1(uint32_t bar, uint16_t ctas) {
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (ctas >> rank & 1) host_async::arrive(host_async::in_cta(bar, rank), 1);
  }
}
)"},
    {"tcgen05_commit_multicast_cg2", R"(
// No operation of a tensor core is ever pending here: the commit arrives at once, in every CTA whose rank bit `ctas` holds.
inline void tcgen05_commit_multicast_cg2(uint32_t bar, uint16_t ctas) {
  for (uint32_t rank = 0; rank < 16; ++rank) {
    if (ctas >> rank & 1) host_async::arrive(host_async::in_cta(bar, rank), 1);
  }
}
)"},
};

std::string_view verb_name(MbarrierVerb verb) {
  static constexpr std::array<std::string_view, 5> names{"arrive", "arrive_expect_tx", "expect_tx", "test_wait", "try_wait"};
  return names[static_cast<std::size_t>(verb)];
}

std::string_view meaning(const MbarrierForm& form) {
  switch (form.verb) {
    case MbarrierVerb::arrive:
      return form.count ? "Takes `count` off the pending arrivals of the current phase." : "Arrives once.";
    case MbarrierVerb::arrive_expect_tx:
      return "Expects `bytes` more in the current phase, then arrives once.";
    case MbarrierVerb::expect_tx:
      return "Expects `bytes` more in the current phase.";
    default:
      return "1 where the phase of this parity is complete, else 0.";
  }
}

std::string_view second_parameter(const MbarrierForm& form) {
  switch (form.verb) {
    case MbarrierVerb::arrive:
      return form.count ? "count" : "";
    case MbarrierVerb::arrive_expect_tx:
    case MbarrierVerb::expect_tx:
      return "bytes";
    default:
      return "parity";
  }
}

std::string parameters(const MbarrierForm& form) {
  const std::string_view second = second_parameter(form);
  return second.empty() ? "uint32_t bar" : fmt::format("uint32_t bar, int {}", second);
}

}  // namespace

bool MbarrierForm::is_wait() const { return verb == MbarrierVerb::test_wait || verb == MbarrierVerb::try_wait; }

// What an instruction without .sem and .scope means.
bool MbarrierForm::has_default_order() const {
  const Sem usual = is_wait() ? Sem::acquire : verb == MbarrierVerb::expect_tx ? Sem::relaxed : Sem::release;
  return sem == usual && scope == MemScope::cta;
}

std::string MbarrierForm::name() const {
  std::string text = fmt::format("mbarrier_{}", verb_name(verb));
  if (count) text += "_count";
  if (!has_default_order()) text += fmt::format("_{}_{}", keyword(sem), keyword(scope));
  return text + (peer ? "_peer" : "");
}

std::string mbarrier_function(const MbarrierForm& form) {
  static constexpr std::array<std::string_view, 5> mnemonics{"arrive", "arrive.expect_tx", "expect_tx", "test_wait.parity",
                                                             "try_wait.parity"};
  const std::string instruction =
      fmt::format("mbarrier.{}{}.shared::{}.b64", mnemonics[static_cast<std::size_t>(form.verb)],
                  form.has_default_order() ? "" : fmt::format(".{}.{}", keyword(form.sem), keyword(form.scope)),
                  form.peer ? "cluster" : "cta");
  const std::string_view second = second_parameter(form);
  std::string text = fmt::format("\n// {}{}\n__device__ __forceinline__ {} {}({}) {{\n", meaning(form),
                                 form.peer ? " The barrier may be that of another CTA of the cluster." : "",
                                 form.is_wait() ? "uint32_t" : "void", form.name(), parameters(form));
  if (form.is_wait()) {
    return text + fmt::format("  uint32_t complete;\n"
                              "  asm volatile(\n      \"{{\\n\"\n      \"  .reg .pred p;\\n\"\n      \"  {} p, [%1], %2;\\n\"\n"
                              "      \"  selp.u32 %0, 1, 0, p;\\n\"\n      \"}}\"\n"
                              "      : \"=r\"(complete)\n      : \"r\"(bar), \"r\"(parity)\n      : \"memory\");\n"
                              "  return complete;\n}}\n",
                              instruction);
  }
  const std::string_view sink = form.verb == MbarrierVerb::expect_tx ? "" : "_, ";
  return text + fmt::format("  asm volatile(\"{} {}[%0]{};\" ::\"r\"(bar){} : \"memory\");\n}}\n", instruction, sink,
                            second.empty() ? "" : ", %1", second.empty() ? "" : fmt::format(", \"r\"({})", second));
}

std::string host_mbarrier_function(const MbarrierForm& form) {
  const std::string_view second = second_parameter(form);
  const std::string operand = form.verb == MbarrierVerb::arrive ? fmt::format("uint32_t({})", form.count ? second : "1")
                                                                : fmt::format("uint32_t({})", second);
  const std::string_view function = form.is_wait() ? "is_complete" : verb_name(form.verb);
  return fmt::format("\n// {}\ninline {} {}({}) {{ {}host_async::{}(bar, {}); }}\n", meaning(form),
                     form.is_wait() ? "uint32_t" : "void", form.name(), parameters(form), form.is_wait() ? "return " : "",
                     function, operand);
}

std::string_view async_function(Backend backend, std::string_view name) {
  const auto find = [&](std::span<const Fixed> list) -> std::string_view {
    for (const Fixed& function : list) {
      if (function.name == name) return function.text;
    }
    return {};
  };
  if (backend == Backend::host) return find(host_functions);
  const std::string_view emulated = backend == Backend::emulated ? find(emulated_functions) : std::string_view();
  return emulated.empty() ? find(native_functions) : emulated;
}

}  // namespace tmemsim::emit
