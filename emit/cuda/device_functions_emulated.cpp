// The device functions of the emulated and the host backend: same names, same parameters, other bodies.
#include <fmt/format.h>

#include <array>
#include <span>

#include "emit/cuda/device_functions.hpp"

namespace tmemsim::emit {
namespace {

// Tensor memory: calls of runtime/emulated_tmem.hpp. All of these are .sync.aligned, so the warp meets first.
constexpr Replacement emulated_functions[] = {
    {"elect_one", R"(
// 1 in the lowest lane of `mask`, 0 in the others (elect.sync needs sm_90).
__device__ __forceinline__ uint32_t elect_one(uint32_t mask) {
  __syncwarp(mask);
  return threadIdx.x % 32 == __ffs(mask) - 1u;
}
)"},
    {"tcgen05_alloc_cg1", R"(
// Waits until `columns` columns are free and stores their address to the shared word `slot`.
__device__ __forceinline__ void tcgen05_alloc_cg1(uint32_t slot, uint32_t columns) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) st_shared_b32(slot, emulated::alloc(columns));
  __syncwarp();
}
)",
     true},
    {"tcgen05_alloc_cg2", R"(
// Waits until `columns` columns are free in both CTAs of the pair and stores their address to the shared word `slot`.
__device__ __forceinline__ void tcgen05_alloc_cg2(uint32_t slot, uint32_t columns) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) st_shared_b32(slot, emulated::alloc_pair(columns));
  __syncwarp();
}
)",
     true},
    {"tcgen05_dealloc_cg2", R"(
__device__ __forceinline__ void tcgen05_dealloc_cg2(uint32_t address, uint32_t columns) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) emulated::dealloc(address, columns);
  __syncwarp();
}
)"},
    {"tcgen05_relinquish_alloc_permit_cg2", R"(
__device__ __forceinline__ void tcgen05_relinquish_alloc_permit_cg2() {
  __syncwarp();
  if (threadIdx.x % 32 == 0) emulated::relinquish();
  __syncwarp();
}
)"},
    {"tcgen05_dealloc_cg1", R"(
__device__ __forceinline__ void tcgen05_dealloc_cg1(uint32_t address, uint32_t columns) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) emulated::dealloc(address, columns);
  __syncwarp();
}
)"},
    {"tcgen05_relinquish_alloc_permit_cg1", R"(
__device__ __forceinline__ void tcgen05_relinquish_alloc_permit_cg1() {
  __syncwarp();
  if (threadIdx.x % 32 == 0) emulated::relinquish();
  __syncwarp();
}
)"},
    {"dump_tensor_memory", R"(
// Warps 0 to 3 write out their quadrants: to[CTA][lane][column].
__device__ inline void dump_tensor_memory(uint32_t* to, int cta) {
  __syncthreads();
  if (threadIdx.x >= 128) return;
  uint32_t* row = to + (size_t(cta) * 128 + threadIdx.x) * 512;
  for (int column = 0; column < 512; ++column) row[column] = emulated::own().cell[threadIdx.x][column];
}
)"},
    {"tcgen05_wait_ld", R"(
__device__ __forceinline__ void tcgen05_wait_ld() { __syncwarp(); }
)"},
    {"tcgen05_wait_st", R"(
__device__ __forceinline__ void tcgen05_wait_st() {
  __threadfence_block();
  __syncwarp();
}
)"},
    {"tcgen05_fence_before_thread_sync", R"(
__device__ __forceinline__ void tcgen05_fence_before_thread_sync() { __threadfence_block(); }
)"},
    {"tcgen05_fence_after_thread_sync", R"(
__device__ __forceinline__ void tcgen05_fence_after_thread_sync() { __threadfence_block(); }
)"},
};

// Everything else that is inline PTX on a GPU: calls of runtime/host_cuda.hpp.
constexpr Replacement host_functions[] = {
    {"shared_window", R"(
// Address of the shared memory of the CTA.
inline uint32_t shared_window() { return host::cta->rank << 24; }
)"},
    {"shared_word", R"(
// A 32-bit word of shared memory, read anew each time.
inline int shared_word(uint32_t address) {
  std::this_thread::yield();  // it may be polled
  return host::load<int>(host::shared(address, 4), 4);
}
)"},
    {"global_word", R"(
// A 32-bit word of global memory, read anew each time.
inline int global_word(const uint8_t* address) {
  std::this_thread::yield();  // it may be polled
  return host::load<int>(address, 4);
}
)"},
    {"peer_address", R"(
// The address of the same shared location in the CTA `rank` of the cluster.
inline uint32_t peer_address(uint32_t address, int rank) { return (address & 0xffffffu) | uint32_t(rank) << 24; }
)"},
    {"cluster_rank", R"(
inline int cluster_rank() { return int(host::cta->rank); }
)"},
    {"cluster_sync", R"(
inline void cluster_sync() {
  host::cta->cluster->barrier.arrive();
  host::cta->cluster->barrier.wait();
}
)"},
    {"barrier_sync", R"(
// All threads of the CTA arrive at barrier `id` and wait.
inline void barrier_sync(int id) { host::barrier(id).arrive_and_wait(host::cta->threads); }
)"},
    {"barrier_sync_count", R"(
// `threads` threads arrive at barrier `id` and wait.
inline void barrier_sync_count(int id, int threads) { host::barrier(id).arrive_and_wait(unsigned(threads)); }
)"},
    {"barrier_arrive", R"(
// Arrives at barrier `id` without waiting.
inline void barrier_arrive(int id, int threads) { host::barrier(id).arrive(unsigned(threads)); }
)"},
};

const Replacement* find(std::span<const Replacement> list, std::string_view name) {
  for (const Replacement& function : list) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

std::string_view shape_type(Shape shape) {
  static constexpr std::array<std::string_view, 4> names{"Shape32x32b", "Shape16x64b", "Shape16x128b", "Shape16x256b"};
  return names[static_cast<std::size_t>(shape)];
}

std::string emulated_call(const TmemForm& form) {
  const std::string_view name = form.load ? "ld" : "st";
  if (form.half) return fmt::format("emulated::{}_halves<{}, {}>(address, {}, r);", name, form.num, form.packed, *form.half);
  return fmt::format("emulated::{}<emulated::{}, {}, {}>(address, r);", name, shape_type(form.shape), form.num, form.packed);
}

std::string_view host_type(int bytes) { return bytes == 1 ? "uint8_t" : bytes == 2 ? "uint16_t" : "uint32_t"; }

// The bytes at `address`, which is a shared address or a pointer.
std::string host_pointer(Window window, int bytes) {
  return window == Window::global ? "address" : fmt::format("host::shared(address, {})", bytes);
}

}  // namespace

const Replacement* replacement(Backend backend, std::string_view name) {
  if (backend == Backend::native) return nullptr;
  if (const Replacement* function = backend == Backend::host ? find(host_functions, name) : nullptr) return function;
  return find(emulated_functions, name);
}

std::string emulated_tmem_function(const TmemForm& form, bool contiguous) {
  const int count = form.registers();
  const auto each = [&](const char* format) {
    return join_lines(count, "      ", [&](int i) { return fmt::format(fmt::runtime(format), i); });
  };
  std::string text = function_head(form, contiguous) + "  __syncwarp();\n";
  if (contiguous) return text + "  " + emulated_call(form) + "\n}\n";
  if (!form.load) return text + fmt::format("  const uint32_t r[] = {{{}}};\n  {}\n}}\n", each("r{}"), emulated_call(form));
  text += fmt::format("  uint32_t r[{}];\n  {}\n", count, emulated_call(form));
  for (int i = 0; i < count; ++i) text += fmt::format("  r{0} = r[{0}];\n", i);
  return text + "}\n";
}

std::string host_load(std::string_view name, Window window, int bytes) {
  const std::string_view parameter = window == Window::global ? "const uint8_t* address" : "uint32_t address";
  const std::string pointer = host_pointer(window, bytes);
  if (bytes <= 4) {
    return fmt::format("\ninline uint32_t {}({}) {{ return host::load<{}>({}, {}); }}\n", name, parameter, host_type(bytes),
                       pointer, bytes);
  }
  std::string text = fmt::format("\ninline void {}({}, {}) {{\n  const uint8_t* from = {};\n", name, parameter,
                                 join(bytes / 4, ", ", [](int i) { return fmt::format("uint32_t& r{}", i); }), pointer);
  for (int i = 0; i < bytes / 4; ++i) {
    text += fmt::format("  r{} = host::load<uint32_t>(from + {}, {});\n", i, 4 * i, i == 0 ? bytes : 4);
  }
  return text + "}\n";
}

std::string host_store(std::string_view name, Window window, int bytes) {
  const std::string_view parameter = window == Window::global ? "uint8_t* address" : "uint32_t address";
  const int registers = bytes <= 4 ? 1 : bytes / 4;
  std::string text =
      fmt::format("\ninline void {}({}, {}) {{\n  uint8_t* to = {};\n", name, parameter,
                  join(registers, ", ", [](int i) { return fmt::format("uint32_t r{}", i); }), host_pointer(window, bytes));
  for (int i = 0; i < registers; ++i) {
    text += fmt::format("  host::store<{0}>(to + {1}, {2}, {0}(r{3}));\n", host_type(bytes), 4 * i, i == 0 ? bytes : 4, i);
  }
  return text + "}\n";
}

// A comparison with NaN is false, .ne too.
std::string host_compare(std::string_view name, Compare compare, AluType type) {
  static constexpr std::array<std::string_view, 6> signs{"==", "!=", "<", "<=", ">", ">="};
  const std::string_view sign = signs[static_cast<std::size_t>(compare)];
  const std::string_view convert = type == AluType::f32 ? "__uint_as_float" : type == AluType::s32 ? "int" : "uint32_t";
  const std::string result = type == AluType::f32 && compare == Compare::ne ? "x < y || x > y" : fmt::format("x {} y", sign);
  return fmt::format(
      "\n// 1 where a {0} b, else 0.\ninline uint32_t {1}(uint32_t a, uint32_t b) {{\n  const auto x = {2}(a), y = {2}(b);\n"
      "  return {3};\n}}\n",
      keyword(compare), name, convert, result);
}

}  // namespace tmemsim::emit
