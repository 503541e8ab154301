#include "emit/cuda/device_functions.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <stdexcept>

#include "ir/tcgen05.hpp"

namespace tmemsim::emit {
namespace {

// Syntax of the tcgen05 instructions: PTX ISA 9.7.16.7 to 9.7.16.11. All asm statements are volatile and clobber memory, so
// that they run exactly where they stand.
constexpr Fixed fixed_functions[] = {
    {"wrapping_add", R"(
// 32-bit arithmetic that wraps.
__device__ __forceinline__ int wrapping_add(int a, int b) { return int(unsigned(a) + unsigned(b)); }
)"},
    {"wrapping_sub", R"(
__device__ __forceinline__ int wrapping_sub(int a, int b) { return int(unsigned(a) - unsigned(b)); }
)"},
    {"wrapping_mul", R"(
__device__ __forceinline__ int wrapping_mul(int a, int b) { return int(unsigned(a) * unsigned(b)); }
)"},
    {"int_quotient", R"(
// Division that truncates; by zero it has no value, so the kernel stops with an error.
__device__ __forceinline__ int int_quotient(int a, int b) {
  if (b == 0) __trap();
  return b == -1 ? int(0u - unsigned(a)) : a / b;
}
)"},
    {"int_remainder", R"(
// Remainder of the division that truncates; by zero it has no value, so the kernel stops with an error.
__device__ __forceinline__ int int_remainder(int a, int b) {
  if (b == 0) __trap();
  return b == -1 ? 0 : a % b;
}
)"},
    {"shift_left", R"(
// Shifts take their count modulo 32.
__device__ __forceinline__ int shift_left(int a, int count) { return int(unsigned(a) << (count & 31)); }
)"},
    {"shift_right", R"(
// Shifts take their count modulo 32; the sign is kept.
__device__ __forceinline__ int shift_right(int a, int count) { return a >> (count & 31); }
)"},
    {"shared_window", R"(
// Address of the shared memory of the CTA. Nothing initialises it.
__device__ __forceinline__ uint32_t shared_window() {
  extern __shared__ __align__(1024) uint8_t window[];
  return uint32_t(__cvta_generic_to_shared(window));
}
)"},
    {"shared_word", R"(
// A 32-bit word of shared memory, read anew each time.
__device__ __forceinline__ int shared_word(uint32_t address) {
  int word;
  asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}
)"},
    {"global_word", R"(
// A 32-bit word of global memory, read anew each time.
__device__ __forceinline__ int global_word(const uint8_t* address) {
  int word;
  asm volatile("ld.volatile.global.b32 %0, [%1];" : "=r"(word) : "l"(__cvta_generic_to_global(address)) : "memory");
  return word;
}
)"},
    {"peer_address", R"(
// The address of the same shared location in the CTA `rank` of the cluster.
__device__ __forceinline__ uint32_t peer_address(uint32_t address, int rank) {
  uint32_t peer;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(address), "r"(rank));
  return peer;
}
)"},
    {"cluster_rank", R"(
__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
)"},
    {"cluster_sync", R"(
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
)"},
    {"leave_undefined", R"(
// Gives the registers whatever values stand there. An empty statement that claims to write them: they are not initialised, and
// yet a program that reads one before it writes it (to replace one byte, say) has a meaning that the compiler cannot undo.
template <int N>
__device__ __forceinline__ void leave_undefined(uint32_t (&r)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "=r"(r[i]));
}
)"},
    {"valid_after_wait", R"(
// The registers of tcgen05.ld are valid only after tcgen05.wait::ld, but for the compiler the load itself defines them: it
// could move their uses in front of the wait. An empty volatile statement that claims to change them keeps its place behind
// the wait (volatile statements keep their order), and every later use depends on it.
template <int N>
__device__ __forceinline__ void valid_after_wait(uint32_t (&r)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(r[i]));
}
)"},
    {"dump_registers", R"(
// The registers of one thread, in a row.
template <int N>
__device__ __forceinline__ void dump_registers(const uint32_t (&r)[N], uint32_t* to, int thread) {
#pragma unroll
  for (int i = 0; i < N; ++i) to[size_t(thread) * N + i] = r[i];
}
)"},
    {"dump_tensor_memory", R"(
// Warps 0 to 3 write out their quadrants: to[CTA][lane][column]. The program has freed its columns by now; they still hold
// what it left there, and ld does not check (unless the file is compiled with -g-tmem-access-check).
__device__ void dump_tensor_memory(uint32_t* to, int cta) {
  __syncthreads();
  if (threadIdx.x >= 128) return;
  __syncwarp();
  uint32_t* row = to + (size_t(cta) * 128 + threadIdx.x) * 512;
  for (int column = 0; column < 512; ++column) {
    uint32_t cell;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];"
                 : "=r"(cell)
                 : "r"((threadIdx.x / 32 * 32 << 16) + column)
                 : "memory");
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    asm volatile("" : "+r"(cell));
    row[column] = cell;
  }
}
)"},
    {"replace_byte", R"(
// `word` with its byte `at` replaced.
__device__ __forceinline__ uint32_t replace_byte(uint32_t word, int at, uint32_t byte) {
  return (word & ~(0xffu << 8 * at)) | byte << 8 * at;
}
)"},
    {"replace_half", R"(
// `word` with the two bytes from byte `at` on replaced.
__device__ __forceinline__ uint32_t replace_half(uint32_t word, int at, uint32_t half) {
  return (word & ~(0xffffu << 8 * at)) | half << 8 * at;
}
)"},
    {"add_f32", R"(
__device__ __forceinline__ uint32_t add_f32(uint32_t a, uint32_t b) {
  return __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
}
)"},
    {"f32_bits", R"(
// An integer converted to f32, as its bits.
__device__ __forceinline__ uint32_t f32_bits(int value) { return __float_as_uint(__int2float_rn(value)); }
)"},
    {"barrier_sync", R"(
// All threads of the CTA arrive at barrier `id` and wait.
__device__ __forceinline__ void barrier_sync(int id) { asm volatile("barrier.sync %0;" ::"r"(id) : "memory"); }
)"},
    {"barrier_sync_count", R"(
// `threads` threads arrive at barrier `id` and wait.
__device__ __forceinline__ void barrier_sync_count(int id, int threads) {
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
)"},
    {"barrier_arrive", R"(
// Arrives at barrier `id` without waiting.
__device__ __forceinline__ void barrier_arrive(int id, int threads) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
)"},
    {"elect_one", R"(
// 1 in the leader of the lanes of `mask`, 0 in the others.
__device__ __forceinline__ uint32_t elect_one(uint32_t mask) {
  uint32_t leader;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  elect.sync _|p, %1;\n"
      "  selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(leader)
      : "r"(mask)
      : "memory");
  return leader;
}
)"},
    {"lowest_lane_of", R"(
// 1 in the lowest lane of `mask`, 0 in the others (elect.sync needs sm_90).
__device__ __forceinline__ uint32_t lowest_lane_of(uint32_t mask) { return threadIdx.x % 32 == __ffs(mask) - 1u; }
)"},
    {"tmem_address", R"(
// Tensor memory address: lane in the upper half, column in the lower.
__device__ __forceinline__ uint32_t tmem_address(uint32_t base, int lane, int column) {
  return base + (uint32_t(lane) << 16) + uint32_t(column);
}
)"},
    {"tcgen05_alloc_cg1", R"(
// Waits until `columns` columns are free and stores their address to the shared word `slot`.
__device__ __forceinline__ void tcgen05_alloc_cg1(uint32_t slot, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot), "r"(columns) : "memory");
}
)"},
    {"tcgen05_alloc_cg2", R"(
// Waits until `columns` columns are free in both CTAs of the pair and stores their address to the shared word `slot`.
__device__ __forceinline__ void tcgen05_alloc_cg2(uint32_t slot, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot), "r"(columns) : "memory");
}
)"},
    {"tcgen05_dealloc_cg1", R"(
__device__ __forceinline__ void tcgen05_dealloc_cg1(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}
)"},
    {"tcgen05_dealloc_cg2", R"(
__device__ __forceinline__ void tcgen05_dealloc_cg2(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}
)"},
    {"tcgen05_relinquish_alloc_permit_cg1", R"(
__device__ __forceinline__ void tcgen05_relinquish_alloc_permit_cg1() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}
)"},
    {"tcgen05_relinquish_alloc_permit_cg2", R"(
__device__ __forceinline__ void tcgen05_relinquish_alloc_permit_cg2() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}
)"},
    {"tcgen05_wait_ld", R"(
__device__ __forceinline__ void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
)"},
    {"tcgen05_wait_st", R"(
__device__ __forceinline__ void tcgen05_wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
)"},
    {"tcgen05_fence_before_thread_sync", R"(
__device__ __forceinline__ void tcgen05_fence_before_thread_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
)"},
    {"tcgen05_fence_after_thread_sync", R"(
__device__ __forceinline__ void tcgen05_fence_after_thread_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}
)"},
};

std::string_view window_name(Window window) {
  static constexpr std::array<std::string_view, 3> names{"shared", "shared_cluster", "global"};
  return names[static_cast<std::size_t>(window)];
}

std::string_view state_space(Window window) {
  static constexpr std::array<std::string_view, 3> names{"shared", "shared::cluster", "global"};
  return names[static_cast<std::size_t>(window)];
}

// ".relaxed.gpu"; a weak access names no scope.
std::string order_suffix(Sem sem, MemScope scope, std::string_view separator) {
  return sem == Sem::weak ? "" : fmt::format("{0}{1}{0}{2}", separator, keyword(sem), keyword(scope));
}

std::string_view type_suffix(int bytes) {
  switch (bytes) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return "b32";
    case 8:
      return "v2.b32";
    case 16:
      return "v4.b32";
    default:
      throw std::logic_error("no load or store of this width");
  }
}

std::string_view type_name(int bytes) {
  switch (bytes) {
    case 8:
      return "v2_b32";
    case 16:
      return "v4_b32";
    default:
      return type_suffix(bytes);
  }
}

std::string address_parameter(Window window) {
  return window == Window::global ? "const uint8_t* address" : "uint32_t address";
}
std::string address_operand(Window window) {
  return window == Window::global ? R"("l"(__cvta_generic_to_global(address)))" : R"("r"(address))";
}

// "{%0, %1, ...}" as adjacent string literals, eight operands a line.
std::string register_list(int count, int first_operand, std::string_view indent) {
  std::string text = "\"{";
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += i % 8 == 0 ? ", \"\n" + std::string(indent) + "\"" : ", ";
    text += fmt::format("%{}", first_operand + i);
  }
  return text + "}";
}

std::string instruction(const TmemForm& form) {
  return fmt::format("tcgen05.{}.sync.aligned.{}.x{}{}.b32", form.load ? "ld" : "st", keyword(form.shape), form.num,
                     !form.packed ? ""
                     : form.load  ? ".pack::16b"
                                  : ".unpack::16b");
}

std::string tmem_function(const TmemForm& form, bool contiguous) {
  const int count = form.registers();
  const std::string constraint = form.load ? "\"=r\"" : "\"r\"";
  const std::string operands = join_lines(count, "        ", [&](int i) {
    return contiguous ? fmt::format("{}(r[{}])", constraint, i) : fmt::format("{}(r{})", constraint, i);
  });
  const std::string address = fmt::format("[%{}]{}", form.load ? count : 0, form.half ? fmt::format(", {}", *form.half) : "");
  const std::string registers = register_list(count, form.load ? 0 : 1, "      ");
  std::string text = function_head(form, contiguous) + fmt::format("  asm volatile(\n      \"{} \"\n", instruction(form));
  if (form.load) {
    text += fmt::format("      {}, {};\"\n      : {}\n      : \"r\"(address)\n", registers, address, operands);
  } else {
    text += fmt::format("      \"{}, \"\n      {};\"\n      ::\"r\"(address), {}\n", address, registers, operands);
  }
  return text + "      : \"memory\");\n}\n";
}

}  // namespace

std::string join(int count, std::string_view separator, const std::function<std::string(int)>& item) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : std::string(separator)) + item(i);
  return text;
}

// As join, with a line break after every eight items.
std::string join_lines(int count, std::string_view indent, const std::function<std::string(int)>& item) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += i % 8 == 0 ? ",\n" + std::string(indent) : ", ";
    text += item(i);
  }
  return text;
}

int TmemForm::registers() const { return tcgen05::registers(shape, num); }

// The half split is an immediate of the instruction, so it is part of the name; hexadecimal, because it may be negative.
std::string TmemForm::name() const {
  return fmt::format("tcgen05_{}_{}_x{}{}{}", load ? "ld" : "st", keyword(shape), num,
                     !packed ? ""
                     : load  ? "_pack_16b"
                             : "_unpack_16b",
                     half ? fmt::format("_half_{:x}", static_cast<std::uint32_t>(*half)) : "");
}

std::string function_head(const TmemForm& form, bool contiguous) {
  const std::string type = form.load ? "uint32_t" : "const uint32_t";
  const std::string parameters =
      contiguous ? type + "* r"
                 : "\n    " + join_lines(form.registers(), "    ", [&](int i) { return fmt::format("{}& r{}", type, i); });
  return fmt::format("\n__device__ __forceinline__ void {}(uint32_t address, {}) {{\n", form.name(), parameters);
}

void DeviceFunctions::add(std::string key, std::string text) {
  if (known_.insert(std::move(key)).second) texts_.push_back(std::move(text));
}

void DeviceFunctions::need(std::string_view name) {
  if (known_.contains(name)) return;
  if (const Replacement* other = replacement(backend_, name)) {
    if (other->stores_word) (void)need_store(Window::shared, Sem::weak, MemScope::cta, 4);
    return add(std::string(name), std::string(other->text));
  }
  if (const std::string_view text = async_function(backend_, name); !text.empty()) {
    return add(std::string(name), std::string(text));
  }
  for (const Fixed& function : fixed_functions) {
    if (function.name == name) return add(std::string(name), std::string(function.text));
  }
  throw std::logic_error("the emitter has no device function " + std::string(name));
}

std::string DeviceFunctions::need_load(Window window, Sem sem, MemScope scope, int bytes) {
  const std::string name = fmt::format("ld{}_{}_{}", order_suffix(sem, scope, "_"), window_name(window), type_name(bytes));
  if (backend_ == Backend::host) {
    add(name, host_load(name, window, bytes));
    return name;
  }
  const std::string instruction =
      fmt::format("ld{}.{}.{}", order_suffix(sem, scope, "."), state_space(window), type_suffix(bytes));
  const int registers = bytes <= 4 ? 1 : bytes / 4;
  if (registers == 1) {
    add(name, fmt::format("\n__device__ __forceinline__ uint32_t {}({}) {{\n"
                          "  uint32_t value;\n"
                          "  asm volatile(\"{} %0, [%1];\" : \"=r\"(value) : {} : \"memory\");\n"
                          "  return value;\n}}\n",
                          name, address_parameter(window), instruction, address_operand(window)));
    return name;
  }
  add(name,
      fmt::format(
          "\n__device__ __forceinline__ void {}({}, {}) {{\n"
          "  asm volatile(\"{} {{{}}}, [%{}];\"\n               : {}\n               : {}\n               : \"memory\");\n}}\n",
          name, address_parameter(window), join(registers, ", ", [](int i) { return fmt::format("uint32_t& r{}", i); }),
          instruction, join(registers, ", ", [](int i) { return fmt::format("%{}", i); }), registers,
          join(registers, ", ", [](int i) { return fmt::format("\"=r\"(r{})", i); }), address_operand(window)));
  return name;
}

std::string DeviceFunctions::need_store(Window window, Sem sem, MemScope scope, int bytes) {
  const std::string name = fmt::format("st{}_{}_{}", order_suffix(sem, scope, "_"), window_name(window), type_name(bytes));
  if (backend_ == Backend::host) {
    add(name, host_store(name, window, bytes));
    return name;
  }
  const std::string instruction =
      fmt::format("st{}.{}.{}", order_suffix(sem, scope, "."), state_space(window), type_suffix(bytes));
  const int registers = bytes <= 4 ? 1 : bytes / 4;
  std::string address = address_parameter(window);
  if (window == Window::global) address = "uint8_t* address";
  const std::string values = join(registers, ", ", [](int i) { return fmt::format("%{}", i + 1); });
  add(name, fmt::format("\n__device__ __forceinline__ void {}({}, {}) {{\n"
                        "  asm volatile(\"{} [%0], {};\" \n               ::{}, {}\n               : \"memory\");\n}}\n",
                        name, address, join(registers, ", ", [](int i) { return fmt::format("uint32_t r{}", i); }), instruction,
                        registers == 1 ? values : "{" + values + "}", address_operand(window),
                        join(registers, ", ", [](int i) { return fmt::format("\"r\"(r{})", i); })));
  return name;
}

std::string DeviceFunctions::need_compare(Compare compare, AluType type) {
  const std::string name = fmt::format("setp_{}_{}", keyword(compare), keyword(type));
  if (backend_ == Backend::host) {
    add(name, host_compare(name, compare, type));
    return name;
  }
  const std::string_view constraint = type == AluType::f32 ? "f" : "r";
  const auto operand = [&](std::string_view value) {
    return type == AluType::f32 ? fmt::format("__uint_as_float({})", value) : std::string(value);
  };
  add(name,
      fmt::format("\n// 1 where a {0} b, else 0.\n__device__ __forceinline__ uint32_t {1}(uint32_t a, uint32_t b) {{\n"
                  "  uint32_t result;\n"
                  "  asm volatile(\n      \"{{\\n\"\n      \"  .reg .pred p;\\n\"\n      \"  setp.{0}.{2} p, %1, %2;\\n\"\n"
                  "      \"  selp.u32 %0, 1, 0, p;\\n\"\n      \"}}\"\n"
                  "      : \"=r\"(result)\n      : \"{3}\"({4}), \"{3}\"({5}));\n  return result;\n}}\n",
                  keyword(compare), name, keyword(type), constraint, operand("a"), operand("b")));
  return name;
}

std::string DeviceFunctions::need_tcgen05(const TmemForm& form, bool contiguous) {
  add(form.name() + (contiguous ? "" : " one by one"),
      backend_ == Backend::native ? tmem_function(form, contiguous) : emulated_tmem_function(form, contiguous));
  return form.name();
}

std::string DeviceFunctions::need_mbarrier(const MbarrierForm& form) {
  add(form.name(), backend_ == Backend::host ? host_mbarrier_function(form) : mbarrier_function(form));
  return form.name();
}

std::string DeviceFunctions::text() const {
  std::string all;
  for (const std::string& text : texts_) all += text;
  return all;
}

}  // namespace tmemsim::emit
