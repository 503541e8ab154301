// The table of probes: the question, the program that asks it, and how its words are read.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "diff/probe/probe.hpp"

namespace tmemsim::diff {
namespace {

using Words = std::vector<std::uint32_t>;

float as_float(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

std::size_t count_of(const Words& words, std::size_t first, std::size_t count, const std::function<bool(std::size_t, std::uint32_t)>& holds) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += holds(i, words[first + i]);
  return found;
}

// "2 of 64".
std::string part(std::size_t some, std::size_t all) { return fmt::format("{} of {}", some, all); }

// ---- upper halves ----

Seen high_halves(const Words& words, std::size_t cells, const std::function<std::uint32_t(std::size_t)>& before, const std::function<std::uint32_t(std::size_t)>& low) {
  const std::size_t right = count_of(words, 0, cells, [&](std::size_t i, std::uint32_t word) { return (word & 0xffff) == low(i); });
  const std::size_t kept = count_of(words, 0, cells, [&](std::size_t i, std::uint32_t word) { return word >> 16 == before(i); });
  const std::size_t zero = count_of(words, 0, cells, [&](std::size_t, std::uint32_t word) { return word >> 16 == 0; });
  const std::string detail = fmt::format("lower halves as written: {}; upper halves kept: {}, zero: {}", part(right, cells), part(kept, cells), part(zero, cells));
  if (right != cells) return {"unexpected", detail};
  return {kept == cells ? "preserved" : zero == cells ? "zero" : "other", detail};
}

constexpr std::string_view unpack_kernel = R"cuda(
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  store_cell(at, 0xaaaa5555u);
  store_cell(at + 1, 0xcccc3333u);
  wait_st();
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%0], {%1};" ::"r"(at), "r"(0x22221111u) : "memory");
  wait_st();
  out[threadIdx.x] = load_cell(at);
  out[32 + threadIdx.x] = load_cell(at + 1);
  end(at, 32);
}
)cuda";

Seen see_unpack(const Words& words) {
  return high_halves(words, 64, [](std::size_t i) { return i < 32 ? 0xaaaau : 0xccccu; }, [](std::size_t i) { return i < 32 ? 0x1111u : 0x2222u; });
}

constexpr std::string_view f16_accumulator_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ alignas(1024) u32 tile[2048];
  __shared__ u64 barrier;
  const u32 at = begin(32);
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  for (u32 column = 0; column < 8; ++column) store_cell(at + own_lanes() + column, 0xaaaa5555u);
  wait_st();
  fence_before();
  fill(tile, 2048, 0);  // 0 * 0 in every element of D
  fence_after();
  if (threadIdx.x == 0) {
    mma(at, descriptor(tile, 128, 256), descriptor(tile, 128, 256), instruction(128, 8, false), 0);
    commit(&barrier);
  }
  __syncwarp();
  out[1024] = wait_barrier(&barrier);
  fence_after();
  for (u32 column = 0; column < 8; ++column) out[128 * column + threadIdx.x] = load_cell(at + own_lanes() + column);
  end(at, 32);
}
)cuda";

Seen see_f16_accumulator(const Words& words) {
  if (words[1024] != 1) return {"no completion", "the commit never arrived"};
  return high_halves(words, 1024, [](std::size_t) { return 0xaaaau; }, [](std::size_t) { return 0u; });
}

// ---- allocation ----

constexpr std::string_view growth_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ u32 slot[2];
  alloc(&slot[0], 32);
  alloc(&slot[1], 64);
  store_cell(slot[1] + 63, 77 + threadIdx.x);
  wait_st();
  out[threadIdx.x] = load_cell(slot[1] + 63);
  if (threadIdx.x == 0) {
    out[32] = slot[0];
    out[33] = slot[1];
  }
  __syncwarp();
  dealloc(slot[1], 64);
  dealloc(slot[0], 32);
}
)cuda";

Seen see_growth(const Words& words) {
  const std::size_t right = count_of(words, 0, 32, [](std::size_t i, std::uint32_t word) { return word == 77 + i; });
  return {right == 32 ? "works" : "wrong data", fmt::format("addresses {:#x} and {:#x}", words[32], words[33])};
}

constexpr std::string_view other_warp_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ u32 slot[2];
  if (threadIdx.x < 32) alloc(&slot[0], 512);
  __syncthreads();
  if (threadIdx.x >= 32) dealloc(slot[0], 512);
  __syncthreads();
  if (threadIdx.x < 32) {
    alloc(&slot[1], 512);
    out[0] = slot[1];
    dealloc(slot[1], 512);
  }
}
)cuda";

Seen see_other_warp(const Words& words) { return {"works", fmt::format("all 512 columns could be allocated again, at {:#x}", words[0])}; }

constexpr std::string_view part_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ u32 slot[2];
  alloc(&slot[0], 64);
  dealloc(slot[0], 32);
  alloc(&slot[1], 32);
  out[0] = slot[0];
  out[1] = slot[1];
  __syncwarp();
  dealloc(slot[1], 32);
}
)cuda";

Seen see_part(const Words& words) { return {"works", fmt::format("64 columns at {:#x}; after 32 of them were freed, 32 at {:#x}", words[0], words[1])}; }

constexpr std::string_view rest_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ u32 slot;
  alloc(&slot, 64);
  dealloc(slot, 32);
  dealloc(slot + 32, 32);
  out[0] = slot;
}
)cuda";

Seen see_rest(const Words& words) { return {"works", fmt::format("both halves of {:#x} were freed", words[0])}; }

constexpr std::string_view zero_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ u32 slot;
  alloc(&slot, 32);
  dealloc(slot, 0);
  out[0] = slot;
  __syncwarp();
  dealloc(slot, 32);
}
)cuda";

Seen see_zero(const Words&) { return {"works", "the columns could still be freed afterwards"}; }

constexpr std::string_view reacquire_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ u32 slot[2];
  alloc(&slot[0], 32);
  relinquish();
  dealloc(slot[0], 32);
  alloc(&slot[1], 32);
  out[0] = slot[1];
  __syncwarp();
  dealloc(slot[1], 32);
}
)cuda";

Seen see_reacquire(const Words& words) { return {"works", fmt::format("a second allocation, at {:#x}", words[0])}; }

constexpr std::string_view blocking_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ u32 slot[2];
  if (threadIdx.x < 32) alloc(&slot[0], 512);
  __syncthreads();
  if (threadIdx.x < 32) {
    pass_time(10000000);
    out[2] = 1;
    __threadfence();
    dealloc(slot[0], 512);
  } else {
    const long long start = clock64();
    alloc(&slot[1], 32);
    out[0] = u32((clock64() - start) / 1000);
    out[1] = slot[1];
    __syncwarp();
    dealloc(slot[1], 32);
  }
}
)cuda";

Seen see_blocking(const Words& words) {
  return {words[0] >= 5000 ? "blocks" : "returns at once", fmt::format("alloc took {} thousand cycles while all columns were held for 10,000 thousand; address {:#x}", words[0], words[1])};
}

constexpr std::string_view permit_kernel = R"cuda(
// Every CTA: the SM, and how long its alloc of 32 columns took while all others hold 32 and their permit.
__global__ void probe(u32* out) {
  __shared__ u32 slot;
  const long long start = clock64();
  alloc(&slot, 32);
  const long long waited = clock64() - start;
  pass_time(20000000);
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = sm_number();
    out[2 * blockIdx.x + 1] = u32(waited / 1000);
  }
  __syncwarp();
  dealloc(slot, 32);
}
)cuda";

Seen see_permit(const Words& words) {
  std::set<std::uint32_t> sms;
  std::size_t late = 0;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    sms.insert(words[i]);
    late += words[i + 1] >= 10000;
  }
  const std::string detail = fmt::format("{} CTAs on {} SMs; {} waited for another one's end", words.size() / 2, sms.size(), late);
  if (sms.size() == words.size() / 2) return {"not seen", detail + "; no two shared an SM"};
  return {late > 0 ? "blocks" : "does not block", detail};
}

constexpr std::string_view contents_kernel = R"cuda(
__global__ void leave() {
  const u32 at = begin(512);
  for (u32 column = 0; column < 512; ++column) store_cell(at + own_lanes() + column, 0xfeed0000u + column);
  wait_st();
  end(at, 512);
}
__global__ void probe(u32* out) {
  const u32 at = begin(512);
  for (u32 column = 0; column < 512; ++column) out[128 * column + threadIdx.x] = load_cell(at + own_lanes() + column);
  end(at, 512);
}
)cuda";

Seen see_contents(const Words& words) {
  const std::size_t old = count_of(words, 0, words.size(), [](std::size_t i, std::uint32_t word) { return word == 0xfeed0000u + i / 128; });
  const std::size_t zero = count_of(words, 0, words.size(), [](std::size_t, std::uint32_t word) { return word == 0; });
  const std::string detail = fmt::format("cells of the kernel before: {}; zero: {}", part(old, words.size()), part(zero, words.size()));
  return {old == words.size() ? "old values" : zero == words.size() ? "zero" : "mixed", detail};
}

constexpr std::string_view leak_kernel = R"cuda(
__global__ void leak() {
  __shared__ u32 slot;
  alloc(&slot, 32);
}
__global__ void probe(u32* out) {
  __shared__ u32 slot;
  alloc(&slot, 512);
  out[blockIdx.x] = slot;
  __syncwarp();
  dealloc(slot, 512);
}
)cuda";

Seen see_leak(const Words&) { return {"works", "the next kernel got all 512 columns of its SM"}; }

// ---- addresses ----

constexpr std::string_view quadrant_zero_kernel = R"cuda(
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  store_cell(at + own_lanes(), threadIdx.x);
  wait_st();
  fence_before();
  __syncthreads();
  fence_after();
  if (threadIdx.x / 32 == 1) out[threadIdx.x % 32] = load_cell(at);  // lane field 0: the lanes of warp 0
  end(at, 32);
}
)cuda";
constexpr std::string_view quadrant_other_kernel = R"cuda(
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  store_cell(at + own_lanes(), threadIdx.x);
  wait_st();
  fence_before();
  __syncthreads();
  fence_after();
  if (threadIdx.x / 32 == 1) out[threadIdx.x % 32] = load_cell(at + (64u << 16));  // the lanes of warp 2
  end(at, 32);
}
)cuda";

Seen see_quadrant(const Words& words) {
  const std::size_t own = count_of(words, 0, 32, [](std::size_t i, std::uint32_t word) { return word == 32 + i; });
  return {own == 32 ? "own lanes" : "other lanes", fmt::format("thread 0 of warp 1 got lane {}", words[0])};
}

constexpr std::string_view low_lanes_kernel = R"cuda(
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  store_cell(at + own_lanes(), threadIdx.x);
  wait_st();
  fence_before();
  __syncthreads();
  fence_after();
  if (threadIdx.x < 32) out[threadIdx.x] = load_cell(at + (5u << 16));
  end(at, 32);
}
)cuda";

Seen see_low_lanes(const Words& words) {
  const auto all = [&](const std::function<std::uint32_t(std::uint32_t)>& lane) {
    return count_of(words, 0, 32, [&](std::size_t i, std::uint32_t word) { return word == lane(static_cast<std::uint32_t>(i)); }) == 32;
  };
  const std::string detail = fmt::format("threads 0, 1 and 31 got lanes {}, {} and {}", words[0], words[1], words[31]);
  if (all([](std::uint32_t i) { return i; })) return {"ignored", detail};
  if (all([](std::uint32_t i) { return (i + 5) % 32; })) return {"wraps in the quadrant", detail};
  if (all([](std::uint32_t i) { return i + 5; })) return {"moves on", detail};
  return {"other", detail};
}

constexpr std::string_view half_split_kernel = R"cuda(
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  store_cell(at + own_lanes(), threadIdx.x);
  wait_st();
  u32 value;
  asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%0}, [%1], 0x100000;\n\ttcgen05.wait::ld.sync.aligned;" : "=r"(value) : "r"(at) : "memory");
  out[threadIdx.x] = value;
  end(at, 32);
}
)cuda";

Seen see_half_split(const Words& words) {
  const std::string detail = fmt::format("threads 0, 16 and 31 got lanes {}, {} and {}", words[0], words[16], words[31]);
  const auto upper = [&](std::uint32_t add) { return count_of(words, 16, 16, [&](std::size_t i, std::uint32_t word) { return word == i + add; }) == 16; };
  return {upper(16) ? "adds to the lane" : upper(0) ? "ignored" : "other", detail};
}

// ---- order ----

constexpr std::string_view before_wait_kernel = R"cuda(
// The register is stored right behind the load. 1024 rounds, each with another value.
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  u32 stale = 0;
  for (u32 round = 0; round < 1024; ++round) {
    store_cell(at, round);
    wait_st();
    const u32 value = load_without_wait(at);
    volatile u32* place = out + 32 + threadIdx.x;
    *place = value;
    wait_ld();
    stale += *place != round;
  }
  out[threadIdx.x] = stale;
  end(at, 32);
}
)cuda";

// What the threads of a warp have counted.
std::size_t counted(const Words& words) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < 32; ++i) count += words[i];
  return count;
}

Seen see_before_wait(const Words& words) {
  const std::size_t stale = counted(words);
  return {stale == 0 ? "the loaded value" : "something else", fmt::format("something else in {} of 32768 uses", stale)};
}

constexpr std::string_view barrier_fence_kernel = R"cuda(
// Warps 0 and 4 own the same lanes. Warp 0 stores, waits, and meets warp 4 at a barrier, without tcgen05 fences.
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  u32 stale = 0;
  for (u32 round = 0; round < 4096; ++round) {
    if (threadIdx.x / 32 == 0) {
      store_cell(at, round);
      wait_st();
    }
    __syncthreads();
    if (threadIdx.x / 32 == 4) stale += load_cell(at) != round;
    __syncthreads();
  }
  if (threadIdx.x / 32 == 4) out[threadIdx.x % 32] = stale;
  end(at, 32);
}
)cuda";

constexpr std::string_view acquire_fence_kernel = R"cuda(
// As with a barrier, but warp 0 hands over by a release store that warp 4 acquires.
__global__ void probe(u32* out) {
  __shared__ u32 flag;
  if (threadIdx.x == 0) flag = 0;
  const u32 at = begin(32);
  u32 stale = 0;
  for (u32 round = 1; round <= 4096; ++round) {
    if (threadIdx.x / 32 == 0) {
      store_cell(at, round);
      wait_st();
      asm volatile("st.release.cta.shared::cta.u32 [%0], %1;" ::"r"(shared_address(&flag)), "r"(round) : "memory");
    }
    if (threadIdx.x / 32 == 4) {
      u32 seen = 0;
      while (seen != round) asm volatile("ld.acquire.cta.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(shared_address(&flag)) : "memory");
      __syncwarp();
      stale += load_cell(at) != round;
    }
    fence_before();
    __syncthreads();
    fence_after();
  }
  if (threadIdx.x / 32 == 4) out[threadIdx.x % 32] = stale;
  end(at, 32);
}
)cuda";

Seen see_stale(const Words& words) {
  const std::size_t stale = counted(words);
  return {stale == 0 ? "never stale" : "stale", fmt::format("{} of 131072 loads saw an older value", stale)};
}

// ---- the tensor core ----

constexpr std::string_view many_issuers_kernel = R"cuda(
// A and B are all ones, K is 16: one multiplication adds 16 to every element of D. 32 threads issue it.
__global__ void probe(u32* out) {
  __shared__ alignas(1024) u32 tile[2048];
  __shared__ u64 barrier;
  const u32 at = begin(32);
  if (threadIdx.x == 0) init_barrier(&barrier, 32);
  for (u32 column = 0; column < 8; ++column) store_cell(at + own_lanes() + column, 0);
  wait_st();
  fence_before();
  fill(tile, 2048, 0x3c003c00u);
  fence_after();
  if (threadIdx.x < 32) {
    mma(at, descriptor(tile, 128, 256), descriptor(tile, 128, 256), instruction(128, 8, true), 1);
    commit(&barrier);
  }
  __syncwarp();
  const u32 done = wait_barrier(&barrier);
  fence_after();
  out[threadIdx.x] = load_cell(at + own_lanes());
  if (threadIdx.x == 0) out[128] = done;
  end(at, 32);
}
)cuda";

Seen see_many_issuers(const Words& words) {
  if (words[128] != 1) return {"no completion", "the commits never arrived"};
  return {fmt::format("{} operations", as_float(words[0]) / 16), fmt::format("D[0][0] is {}", as_float(words[0]))};
}

// A in tensor memory: lane r holds the f16 number r + 1 in all K = 16 places, B is all ones, so that D / 16 - 1 is the lane that
// the row of D was made from.
constexpr std::string_view a_in_tmem_text = R"cuda(
__device__ u32 f16_pair(u32 number) {  // of a whole number from 1 to 128, twice
  u32 exponent = 0;
  while (number >> (exponent + 1)) ++exponent;
  const u32 bits = (exponent + 15) << 10 | ((number << (10 - exponent)) & 0x3ffu);
  return bits << 16 | bits;
}
__device__ void multiply_lanes(u32* out, u32 m, u32 n) {
  __shared__ alignas(1024) u32 tile[2048];
  __shared__ u64 barrier;
  const u32 a = begin(64), d = a + 32;
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  for (u32 column = 0; column < 8; ++column) store_cell(a + own_lanes() + column, f16_pair(threadIdx.x + 1));
  for (u32 column = 0; column < 16; ++column) store_cell(d + own_lanes() + column, 0);
  wait_st();
  fence_before();
  fill(tile, 2048, 0x3c003c00u);
  fence_after();
  if (threadIdx.x == 0) {
    mma_a_in_tmem(d, a, descriptor(tile, 128, 256), instruction(m, n, true), 0);
    commit(&barrier);
  }
  __syncwarp();
  const u32 done = wait_barrier(&barrier);
  fence_after();
  out[threadIdx.x] = load_cell(d + own_lanes());
  if (threadIdx.x == 0) out[128] = done;
  end(a, 64);
}
)cuda";
const std::string m64_kernel = std::string(a_in_tmem_text) + "__global__ void probe(u32* out) { multiply_lanes(out, 64, 8); }\n";
const std::string n8_kernel = std::string(a_in_tmem_text) + "__global__ void probe(u32* out) { multiply_lanes(out, 128, 8); }\n";

Seen see_m64(const Words& words) {
  if (words[128] != 1) return {"no completion", "the commit never arrived"};
  std::size_t same = 0, packed = 0;
  for (std::size_t row = 0; row < 64; ++row) {
    const std::size_t lane = 32 * (row / 16) + row % 16;  // where row `row` of D stands
    const float from = as_float(words[lane]) / 16 - 1;
    same += from == static_cast<float>(lane);
    packed += from == static_cast<float>(row);
  }
  const std::string detail = fmt::format("rows of A from the lane of D: {}; from lanes 0 to 63: {}", part(same, 64), part(packed, 64));
  return {same == 64 ? "scattered" : packed == 64 ? "contiguous" : "other", detail};
}

Seen see_n8(const Words& words) {
  if (words[128] != 1) return {"no completion", "the commit never arrived"};
  const std::size_t right = count_of(words, 0, 128, [](std::size_t i, std::uint32_t word) { return as_float(word) == 16 * (static_cast<float>(i) + 1); });
  return {right == 128 ? "works" : "wrong data", fmt::format("right rows: {}", part(right, 128))};
}

const std::string ashift_kernel = std::string(a_in_tmem_text) + R"cuda(
__global__ void probe(u32* out) {
  __shared__ alignas(1024) u32 tile[2048];
  __shared__ u64 barrier;
  const u32 a = begin(64), d = a + 32;
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  for (u32 column = 0; column < 8; ++column) store_cell(a + own_lanes() + column, f16_pair(threadIdx.x + 1));
  for (u32 column = 0; column < 16; ++column) store_cell(d + own_lanes() + column, 0);
  wait_st();
  fence_before();
  fill(tile, 2048, 0x3c003c00u);
  fence_after();
  if (threadIdx.x == 0) {
    asm volatile("tcgen05.mma.cta_group::1.kind::f16.ashift.collector::a::discard [%0], [%1], %2, %3, 0;" ::"r"(d), "r"(a),
                 "l"(descriptor(tile, 128, 256)), "r"(instruction(128, 16, true)) : "memory");
    commit(&barrier);
  }
  __syncwarp();
  const u32 done = wait_barrier(&barrier);
  fence_after();
  out[threadIdx.x] = load_cell(d + own_lanes());
  out[128 + threadIdx.x] = load_cell(a + own_lanes()) == f16_pair(threadIdx.x + 1);
  if (threadIdx.x == 0) out[256] = done;
  end(a, 64);
}
)cuda";

Seen see_ashift(const Words& words) {
  if (words[256] != 1) return {"no completion", "the commit never arrived"};
  const auto from = [&](std::size_t lane) { return as_float(words[lane]) / 16 - 1; };
  std::size_t plain = 0, shifted = 0, kept = 0;
  for (std::size_t lane = 0; lane < 128; ++lane) {
    plain += from(lane) == static_cast<float>(lane);
    shifted += from(lane) == static_cast<float>(lane % 32 == 31 ? lane : lane + 1);
    kept += words[128 + lane];
  }
  const std::string detail = fmt::format("rows of D from the same row: {}, from the next one: {}; lanes of A unchanged: {}", part(plain, 128), part(shifted, 128), part(kept, 128));
  const std::string moved = kept == 128 ? ", A stays" : ", A moves";
  return {(plain == 128 ? "before the shift" : shifted == 128 ? "after the shift" : "other") + moved, detail};
}

constexpr std::string_view i8_kernel = R"cuda(
__global__ void probe(u32* out) {
  __shared__ alignas(1024) u32 tile[2048];
  __shared__ u64 barrier;
  const u32 at = begin(32);
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  for (u32 column = 0; column < 24; ++column) store_cell(at + own_lanes() + column, 0);
  wait_st();
  fence_before();
  fill(tile, 2048, 0x01010101u);
  fence_after();
  if (threadIdx.x == 0) {
    const u32 kind = 2u << 4 | (24u >> 3) << 17 | (128u >> 4) << 24;  // u8 * u8 -> s32, N = 24, K = 32
    asm volatile("tcgen05.mma.cta_group::1.kind::i8 [%0], %1, %2, %3, 0;" ::"r"(at), "l"(descriptor(tile, 128, 256)),
                 "l"(descriptor(tile, 128, 256)), "r"(kind) : "memory");
    commit(&barrier);
  }
  __syncwarp();
  const u32 done = wait_barrier(&barrier);
  fence_after();
  for (u32 column = 0; column < 24; ++column) out[128 * column + threadIdx.x] = load_cell(at + own_lanes() + column);
  if (threadIdx.x == 0) out[3072] = done;
  end(at, 32);
}
)cuda";

Seen see_i8(const Words& words) {
  if (words[3072] != 1) return {"no completion", "the commit never arrived"};
  const std::size_t right = count_of(words, 0, 3072, [](std::size_t, std::uint32_t word) { return word == 32; });
  return {right == 3072 ? "works" : "wrong data", fmt::format("right elements: {}", part(right, 3072))};
}

// ---- cp ----

constexpr std::string_view containers_kernel = R"cuda(
// All bits of the source are ones: what is zero in the cells was made zero.
__global__ void probe(u32* out) {
  __shared__ alignas(1024) u32 tile[2048];
  __shared__ u64 barrier;
  const u32 at = begin(32);
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  fill(tile, 2048, 0xffffffffu);
  if (threadIdx.x == 0) {
    const u64 source = descriptor(tile, 16, 128);
    asm volatile("tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64 [%0], %1;" ::"r"(at), "l"(source) : "memory");
    asm volatile("tcgen05.cp.cta_group::1.128x256b.b8x16.b6x16_p32 [%0], %1;" ::"r"(at + 8), "l"(source) : "memory");
    commit(&barrier);
  }
  __syncwarp();
  const u32 done = wait_barrier(&barrier);
  fence_after();
  for (u32 column = 0; column < 16; ++column) out[128 * column + threadIdx.x] = load_cell(at + own_lanes() + column);
  if (threadIdx.x == 0) out[2048] = done;
  end(at, 32);
}
)cuda";

Seen see_containers(const Words& words) {
  if (words[2048] != 1) return {"no completion", "the commit never arrived"};
  const auto all = [&](std::size_t first, std::uint32_t value) {
    return count_of(words, first, 1024, [&](std::size_t, std::uint32_t word) { return word == value; }) == 1024;
  };
  const std::string detail = fmt::format("4-bit values in {:#010x}, 6-bit values in {:#010x}", words[0], words[1024]);
  return {all(0, 0x3c3c3c3c) && all(1024, 0x7e7e7e7e) ? "in the middle, zeros around" : "other", detail};
}

// ---- pairs ----

constexpr std::string_view pair_shift_kernel = R"cuda(
// Both CTAs of a pair tag their lanes; one thread of the even one shifts.
__global__ void __cluster_dims__(2) probe(u32* out) {
  __shared__ u32 slot;
  __shared__ u64 barrier;
  const u32 warp = threadIdx.x / 32, rank = blockIdx.x;
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  asm volatile("fence.mbarrier_init.release.cluster;\n\tbarrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  if (warp == 0) asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(shared_address(&slot)) : "memory");
  fence_before();
  __syncthreads();
  fence_after();
  const u32 at = slot;
  for (u32 column = 0; column < 8; ++column) store_cell(at + own_lanes() + column, 128 * rank + threadIdx.x);
  wait_st();
  fence_before();
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  fence_after();
  if (rank == 0 && threadIdx.x == 0) {
    asm volatile("tcgen05.shift.cta_group::2.down [%0];" ::"r"(at) : "memory");
    const unsigned short both = 3;
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                     shared_address(&barrier)), "h"(both) : "memory");
  }
  __syncwarp();
  const u32 done = wait_barrier(&barrier);
  fence_after();
  out[128 * rank + threadIdx.x] = load_cell(at + own_lanes());
  if (threadIdx.x == 0) out[256 + rank] = done;
  fence_before();
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
  fence_after();
  if (warp == 0) asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;" ::"r"(at) : "memory");
}
)cuda";

Seen see_pair_shift(const Words& words) {
  if (words[256] != 1 || words[257] != 1) return {"no completion", "the commit did not arrive at both CTAs"};
  std::size_t shifted[2] = {0, 0};
  for (std::size_t i = 0; i < 256; ++i) shifted[i / 128] += words[i] == (i % 32 == 31 ? i : i + 1);
  const std::string detail = fmt::format("lanes moved by one: {} in the even CTA, {} in the odd one", part(shifted[0], 128), part(shifted[1], 128));
  return {shifted[0] == 128 && shifted[1] == 128 ? "both CTAs" : shifted[0] == 128 ? "the even CTA" : "other", detail};
}

// ---- ld.red ----

constexpr std::string_view reduce_kernel = R"cuda(
// Columns: +0 and -0; a NaN and 1; each with min and with max, without .NaN.
__global__ void probe(u32* out) {
  const u32 at = begin(32);
  const u32 values[4] = {0x00000000u, 0x80000000u, 0x7fc00000u, 0x3f800000u};
  for (u32 column = 0; column < 4; ++column) store_cell(at + column, values[column]);
  wait_st();
  u32 a, b, result;  // the registers of the load itself do not matter
  for (u32 pair = 0; pair < 2; ++pair) {
    asm volatile("tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {%0, %1}, %2, [%3];\n\ttcgen05.wait::ld.sync.aligned;"
                 : "=r"(a), "=r"(b), "=r"(result) : "r"(at + 2 * pair) : "memory");
    out[2 * pair] = result;
    asm volatile("tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%0, %1}, %2, [%3];\n\ttcgen05.wait::ld.sync.aligned;"
                 : "=r"(a), "=r"(b), "=r"(result) : "r"(at + 2 * pair) : "memory");
    out[2 * pair + 1] = result;
    out[4 + pair] = a ^ b;
  }
  end(at, 32);
}
)cuda";

Seen see_reduce(const Words& words) {
  const std::string detail = fmt::format("min and max of +0 and -0: {:#010x}, {:#010x}; of NaN and 1: {:#010x}, {:#010x}", words[0], words[1], words[2], words[3]);
  const bool like_min = words[0] == 0x80000000 && words[1] == 0 && words[2] == 0x3f800000 && words[3] == 0x3f800000;
  return {like_min ? "as min.f32 and max.f32" : "other", detail};
}

std::vector<Probe> make_probes() {
  constexpr std::string_view one_warp = "probe<<<1, 32>>>(out);", four_warps = "probe<<<1, 128>>>(out);", five_warps = "probe<<<1, 160>>>(out);";
  return {
      {"unpack-high-half", "What does tcgen05.st.unpack::16b leave in the upper halves of its cells?", "unpack-high-half", "",
       {{"undefined", "*"}, {"zero", "zero"}}, unpack_kernel, one_warp, 64, see_unpack, ""},
      {"f16-accumulator-high-half", "What does an mma with f16 results leave in the upper halves of the cells of D?", "unpack-high-half", "",
       {{"undefined", "*"}, {"zero", "zero"}}, f16_accumulator_kernel, four_warps, 1025, see_f16_accumulator, ""},
      {"alloc-growth", "May a CTA allocate more columns than before?", "alloc-growth", "",
       {{"E", "faults|hangs"}, {"W", "works"}, {"N", "works"}, {"off", "works"}}, growth_kernel, one_warp, 34, see_growth, ""},
      {"dealloc-by-another-warp", "May another warp than the one that allocated free the columns?", "", "it may",
       {{"it may", "works"}}, other_warp_kernel, "probe<<<1, 64>>>(out);", 1, see_other_warp, ""},
      {"dealloc-part", "What happens when fewer columns are freed than were allocated?", "", "an error (dealloc-mismatch)",
       {{"an error (dealloc-mismatch)", "faults|hangs"}}, part_kernel, one_warp, 2, see_part, ""},
      {"dealloc-rest", "May the rest of an allocation be freed after a part of it?", "", "an error (dealloc-mismatch)",
       {{"an error (dealloc-mismatch)", "faults|hangs"}}, rest_kernel, one_warp, 1, see_rest, ""},
      {"dealloc-zero", "What does tcgen05.dealloc of 0 columns do?", "", "an error (dealloc-mismatch)",
       {{"an error (dealloc-mismatch)", "faults|hangs"}}, zero_kernel, one_warp, 1, see_zero, ""},
      {"alloc-after-relinquish", "Does a dealloc give the permit back to a CTA that relinquished it?", "", "never (alloc-permit)",
       {{"never (alloc-permit)", "faults|hangs"}}, reacquire_kernel, one_warp, 1, see_reacquire, ""},
      {"alloc-blocks", "Does alloc wait for columns that are not free?", "", "it waits", {{"it waits", "blocks"}}, blocking_kernel,
       "probe<<<1, 64>>>(out);", 3, see_blocking, ""},
      {"permit-blocks", "Does an alloc wait until the CTA that allocated before on the SM relinquished or ended?", "permit-blocks", "",
       {{"off", "does not block"}, {"on", "blocks"}}, permit_kernel, "probe<<<512, 32>>>(out);", 1024, see_permit, ""},
      {"contents-after-alloc", "What do freshly allocated columns hold?", "", "nothing defined", {{"nothing defined", "*"}}, contents_kernel,
       "leave<<<1024, 128>>>();\ncheck(cudaDeviceSynchronize(), \"the kernel before\");\nprobe<<<1, 128>>>(out);", 65536, see_contents, ""},
      {"leak-at-exit", "What becomes of columns that a CTA holds at its exit?", "", "an error (alloc-leak)",
       {{"an error (alloc-leak)", "faults|hangs"}}, leak_kernel,
       "leak<<<1024, 32>>>();\ncheck(cudaDeviceSynchronize(), \"the kernel that leaks\");\nprobe<<<1024, 32>>>(out);", 1024, see_leak, ""},
      {"quadrant-bits-zero", "Which lanes does a warp load when the address names lane 0?", "quadrant-bits", "",
       {{"checked", "faults|other lanes"}, {"ignored-when-0", "own lanes"}}, quadrant_zero_kernel, four_warps, 32, see_quadrant, ""},
      {"quadrant-bits-other", "Which lanes does a warp load when the address names the lanes of another warp?", "", "an error (lane-window)",
       {{"an error (lane-window)", "*"}}, quadrant_other_kernel, four_warps, 32, see_quadrant, ""},
      {"lane-low-bits", "What does a lane do in the address that is no multiple of 16?", "", "an error (misaligned)",
       {{"an error (misaligned)", "*"}}, low_lanes_kernel, four_warps, 32, see_low_lanes, ""},
      {"half-split-lanes", "Does the half split of .16x32bx2 add to the lane, too?", "", "it adds to the lane", {{"it adds to the lane", "adds to the lane"}},
       half_split_kernel, one_warp, 32, see_half_split, ""},
      {"reg-before-wait", "What is in a register of tcgen05.ld before wait::ld?", "reg-before-wait", "",
       {{"E", "*"}, {"W", "*"}, {"N", "the loaded value"}, {"off", "the loaded value"}}, before_wait_kernel, one_warp, 64, see_before_wait, ""},
      {"fence-at-barrier", "Is a store seen across a barrier without tcgen05 fences?", "fence-at-barrier", "",
       {{"E", "*"}, {"W", "*"}, {"N", "never stale"}, {"off", "never stale"}}, barrier_fence_kernel, five_warps, 32, see_stale, ""},
      {"fence-at-acquire", "Is a store seen across release and acquire without tcgen05 fences?", "fence-at-acquire", "",
       {{"off", "never stale"}, {"on", "*"}}, acquire_fence_kernel, five_warps, 32, see_stale, ""},
      {"mma-by-32-threads", "How many operations are an mma that 32 threads issue?", "", "one a thread", {{"one a thread", "32 operations"}},
       many_issuers_kernel, four_warps, 129, see_many_issuers, ""},
      {"m64-a-in-tmem", "From which lanes does an mma with M = 64 take A in tensor memory?", "", "those of D, 16 in each quadrant",
       {{"those of D, 16 in each quadrant", "scattered"}}, m64_kernel, four_warps, 129, see_m64, ""},
      {"n8-a-in-tmem", "Is N = 8 taken with M = 128 and A in tensor memory?", "", "it is", {{"it is", "works"}}, n8_kernel, four_warps, 129, see_n8, ""},
      {"ashift-timing", "Does an mma with .ashift multiply before or after the shift of A?", "", "nothing: A is read and written",
       {{"nothing: A is read and written", "*"}}, ashift_kernel, four_warps, 257, see_ashift, ""},
      {"i8-n24", "Is N = 24 taken for kind::i8?", "", "it is", {{"it is", "works"}}, i8_kernel, four_warps, 3073, see_i8, "sm_100a sm_110a"},
      {"cp-containers", "Where do 4-bit and 6-bit values stand in their bytes after tcgen05.cp, and what is around them?", "", "in the middle, zeros around",
       {{"in the middle, zeros around", "in the middle, zeros around"}}, containers_kernel, four_warps, 2049, see_containers, ""},
      {"shift-pair", "Does tcgen05.shift.cta_group::2 move the lanes of both CTAs?", "", "both", {{"both", "both CTAs"}}, pair_shift_kernel,
       "probe<<<2, 128>>>(out);", 258, see_pair_shift, ""},
      {"ld-red-special-values", "What are the minimum and maximum of zeros of both signs, and of a NaN, in tcgen05.ld.red?", "", "as min.f32 and max.f32",
       {{"as min.f32 and max.f32", "as min.f32 and max.f32"}}, reduce_kernel, one_warp, 6, see_reduce, "sm_103a sm_110a"},
  };
}

}  // namespace

const std::vector<Probe>& probes() {
  static const std::vector<Probe> all = make_probes();
  return all;
}

}  // namespace tmemsim::diff
