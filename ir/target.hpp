// GPU targets and PTX versions: which names exist and what each has.
//
// Source: ptxas itself (which mnemonics ptxas 13.0 accepts for which target), and the same question put to ptxas for
// the operations of sm_80 and sm_90. Where nvcc is installed, a test asks ptxas again.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tmemsim {

enum class Target : std::uint8_t {
  sm_80, sm_90, sm_90a,
  sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_110, sm_110a, sm_110f,
  sm_120, sm_120a, sm_120f, sm_121, sm_121a,
};
inline constexpr std::size_t target_count = 17;

struct PtxVersion {
  std::uint8_t major = 9, minor = 0;
  auto operator<=>(const PtxVersion&) const = default;
};

std::optional<Target> target_named(std::string_view name);
std::string_view name(Target target);
PtxVersion first_ptx(Target target);  // the first PTX version that knows the target
bool has_tmem(Target target);

std::optional<PtxVersion> ptx_named(std::string_view text);  // "8.6"
std::string to_string(PtxVersion ptx);

// What an operation or a modifier asks of the target.
enum class Needs : std::uint8_t {
  nothing,
  sm_80,              // what every target of the list has
  sm_90,              // sm_90 with PTX 8.0
  mbarrier,           // init, inval, arrive, test_wait
  mbarrier_count,     // arrive with a count
  mbarrier_try_wait,
  mbarrier_tx,        // expect_tx, arrive.expect_tx, acquire and release written out
  mbarrier_relaxed,
  cluster,            // barrier.cluster, mapa, scope .cluster
  cluster_relaxed,    // barrier.cluster.arrive.relaxed
  bulk_copy,          // cp.async.bulk
  bulk_copy_to_cta,   // its destination written as .shared::cta
  proxy_fence,        // fence.proxy.async, fence.mbarrier_init
  elect,              // elect.sync
  tcgen05,            // alloc, ld, st, wait, fence, cp, commit, mma with .ws, .sp and .ashift
  tcgen05_decompression,  // cp that widens 4 and 6 bits
  tcgen05_ld_red,
  tcgen05_shift,
  tcgen05_i8,             // .kind::i8
  tcgen05_scale_input_d,
  tcgen05_scale_vec,      // .scale_vec::NX
  tcgen05_block,          // .block16, .block32, and .block_scale without a vector size
  tcgen05_sp_mxf4,        // .sp with mxf4 and mxf4nvf4
  tcgen05_k96,            // dense mxf4 and mxf4nvf4 with K = 96
};
inline constexpr std::size_t needs_count = 24;

// Nothing when `target` with PTX version `ptx` has it, else one sentence that names who does.
std::optional<std::string> why_not(Needs needs, Target target, PtxVersion ptx);

}  // namespace tmemsim
