// The CUDA text of a probe: device functions that every probe may use, its kernels, and main().
#include <fmt/format.h>

#include <algorithm>

#include "diff/probe/probe.hpp"

namespace tmemsim::diff {
namespace {

constexpr std::string_view prelude = R"cuda(#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

using u32 = uint32_t;
using u64 = uint64_t;

__device__ inline u32 shared_address(const void* pointer) { return u32(__cvta_generic_to_shared(pointer)); }

// ---- tensor memory ----

__device__ inline void alloc(u32* slot, u32 columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(slot)), "r"(columns) : "memory");
}
__device__ inline void dealloc(u32 address, u32 columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}
__device__ inline void relinquish() { asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory"); }
__device__ inline void wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
__device__ inline void wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
__device__ inline void fence_before() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ inline void fence_after() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

__device__ inline void store_cell(u32 address, u32 value) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(address), "r"(value) : "memory");
}
__device__ inline u32 load_without_wait(u32 address) {
  u32 value;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
__device__ inline u32 load_cell(u32 address) {
  u32 value;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\n\ttcgen05.wait::ld.sync.aligned;" : "=r"(value) : "r"(address) : "memory");
  return value;
}

// Warp 0 allocates, all threads of the CTA get the address.
__device__ inline u32 begin(u32 columns) {
  __shared__ u32 slot;
  if (threadIdx.x / 32 == 0) alloc(&slot, columns);
  fence_before();
  __syncthreads();
  fence_after();
  return slot;
}
__device__ inline void end(u32 address, u32 columns) {
  fence_before();
  __syncthreads();
  fence_after();
  if (threadIdx.x / 32 == 0) dealloc(address, columns);
}
// The lane field of the first lane that this warp owns.
__device__ inline u32 own_lanes() { return threadIdx.x / 32 % 4 << 21; }

// ---- mbarriers and the tensor core ----

__device__ inline void init_barrier(u64* barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
// Waits for phase 0; gives up after about a second. Whether it came.
__device__ inline u32 wait_barrier(u64* barrier) {
  const long long start = clock64();
  u32 done = 0;
  while (done == 0 && clock64() - start < 2000000000ll) {
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(shared_address(barrier)) : "memory");
  }
  return done;
}
__device__ inline void commit(u64* barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// K-major, no swizzle: 8-row groups of 16-byte units.
__device__ inline u64 descriptor(const void* tile, u32 leading_bytes, u32 stride_bytes) {
  return u64(shared_address(tile) >> 4 & 0x3fffu) | u64(leading_bytes >> 4) << 16 | u64(stride_bytes >> 4) << 32 | u64(1) << 46;
}
// kind f16: f16 inputs; `f32`: the accumulator is f32, else f16.
__device__ inline u32 instruction(u32 m, u32 n, bool f32) { return (f32 ? 1u << 4 : 0u) | (n >> 3) << 17 | (m >> 4) << 24; }
__device__ inline void mma(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate) {
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n\t}" ::"r"(d), "l"(a),
               "l"(b), "r"(instruction), "r"(accumulate) : "memory");
}
__device__ inline void mma_a_in_tmem(u32 d, u32 a, u64 b, u32 instruction, u32 accumulate) {
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %4, 0;\n\ttcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n\t}" ::"r"(d), "r"(a),
               "l"(b), "r"(instruction), "r"(accumulate) : "memory");
}
// Fills a tile of shared memory with one word, so that no layout matters, and shows it to the asynchronous proxy.
__device__ inline void fill(u32* tile, u32 words, u32 value) {
  for (u32 i = threadIdx.x; i < words; i += blockDim.x) tile[i] = value;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

// ---- other ----

__device__ inline u32 sm_number() {
  u32 number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
__device__ inline void pass_time(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) __nanosleep(100);
}
)cuda";

constexpr std::string_view host = R"cuda(
static void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("CUDA error: %s: %s\n", what, cudaGetErrorName(error));
  std::exit(3);
}

int main() {
  constexpr size_t words = {words};
  u32* out = nullptr;
  check(cudaMalloc(&out, 4 * words), "cudaMalloc");
  check(cudaMemset(out, 0xbd, 4 * words), "cudaMemset");
{launch}  check(cudaGetLastError(), "launch");
  check(cudaDeviceSynchronize(), "kernel");
  static u32 seen[words];
  check(cudaMemcpy(seen, out, 4 * words, cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (const u32 word : seen) std::printf("%08x\n", word);
}
)cuda";

std::string comment(std::string_view text) { return fmt::format("// {}\n", text); }

std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += fmt::format("  {}\n", lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

}  // namespace

std::string probe_program(const Probe& probe) {
  std::string end(host);
  const auto put = [&](std::string_view place, const std::string& value) { end.replace(end.find(place), place.size(), value); };
  put("{words}", std::to_string(probe.words));
  put("{launch}", indented(probe.launch));
  return comment(fmt::format("tmemsim probe {}", probe.name)) + comment(probe.question) + std::string(prelude) +
         std::string(probe.kernels) + end;
}

}  // namespace tmemsim::diff
