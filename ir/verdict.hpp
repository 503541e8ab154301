// The verdict catalogue: every rule that the tool reports, as data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/profile.hpp"

namespace tmemsim {

enum class Verdict : std::uint8_t {
  // 14.2 life cycle of allocations
  target, alloc_size, alloc_capacity, alloc_order, alloc_blocked, alloc_permit, permit_held, alloc_leak, dealloc_mismatch,
  dealloc_live, unallocated_access, cta_group_mismatch, peer_lifecycle,
  // 14.3 addresses and arguments
  taddr_bits, out_of_bounds, lane_window, misaligned, descriptor, layout_mismatch, participation,
  // 14.4 order of TMEM accesses
  read_before_wait, war_ld, raw_st, raw_mma, war_mma, waw_async, alias_race, missing_fence, uninit_read, addr_publish,
  // 14.5 shared and global memory, proxies, barriers, progress
  smem_race, global_race, proxy_fence, mbar_uninit, mbar_count, mbar_phase, mbar_tx, mbar_target, deadlock, step_limit,
};
inline constexpr std::size_t verdict_count = 40;

struct VerdictFacts {
  Verdict verdict;
  std::string_view id;         // "lane-window"
  std::string_view meaning;    // what it is, a few words
  std::string_view rule;       // the rule that is broken, one sentence
  std::string_view fix;        // what would fix it, one sentence
  std::string_view section;    // PTX ISA section, or "tool"
  Severity strict, lenient;    // when no switch decides
  std::optional<Switch> decided_by;
};

const std::array<VerdictFacts, verdict_count>& verdict_table();
const VerdictFacts& facts(Verdict verdict);
std::string_view id(Verdict verdict);
std::optional<Verdict> verdict_named(std::string_view id);

// The severity under a profile: the switch's value where one decides, else the column of the table.
Severity severity_of(Verdict verdict, const Profile& profile);

}  // namespace tmemsim
