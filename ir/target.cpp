#include "ir/target.hpp"

#include <array>
#include <charconv>
#include <initializer_list>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tmemsim {
namespace {

struct TargetFacts {
  Target target;
  std::string_view name;
  PtxVersion first_ptx;
};
constexpr std::array<TargetFacts, target_count> targets{{
    {Target::sm_80, "sm_80", {7, 0}},
    {Target::sm_90, "sm_90", {7, 8}},
    {Target::sm_90a, "sm_90a", {8, 0}},
    {Target::sm_100, "sm_100", {8, 6}},
    {Target::sm_100a, "sm_100a", {8, 6}},
    {Target::sm_100f, "sm_100f", {8, 8}},
    {Target::sm_103, "sm_103", {8, 8}},
    {Target::sm_103a, "sm_103a", {8, 8}},
    {Target::sm_103f, "sm_103f", {8, 8}},
    {Target::sm_110, "sm_110", {9, 0}},
    {Target::sm_110a, "sm_110a", {9, 0}},
    {Target::sm_110f, "sm_110f", {9, 0}},
    {Target::sm_120, "sm_120", {8, 7}},
    {Target::sm_120a, "sm_120a", {8, 7}},
    {Target::sm_120f, "sm_120f", {8, 8}},
    {Target::sm_121, "sm_121", {8, 8}},
    {Target::sm_121a, "sm_121a", {8, 8}},
}};

class TargetSet {
 public:
  constexpr TargetSet(std::initializer_list<Target> members) {
    for (Target target : members) bits_ |= bit(target);
  }
  static constexpr TargetSet from(Target first) {
    TargetSet set({});
    for (std::size_t i = static_cast<std::size_t>(first); i < target_count; ++i) set.bits_ |= std::uint32_t{1} << i;
    return set;
  }
  constexpr bool contains(Target target) const { return (bits_ & bit(target)) != 0; }

 private:
  static constexpr std::uint32_t bit(Target target) { return std::uint32_t{1} << static_cast<unsigned>(target); }
  std::uint32_t bits_ = 0;
};

using enum Target;
constexpr TargetSet all = TargetSet::from(sm_80);
constexpr TargetSet since_sm_90 = TargetSet::from(sm_90);
constexpr TargetSet with_tmem{sm_100a, sm_100f, sm_103a, sm_103f, sm_110a, sm_110f};
constexpr TargetSet a_targets{sm_100a, sm_103a, sm_110a};

struct NeedsFacts {
  Needs needs;
  std::string_view what;
  PtxVersion first_ptx;
  TargetSet targets;
};
constexpr std::array<NeedsFacts, needs_count> needs_table{{
    {Needs::nothing, "this", {7, 0}, all},
    {Needs::sm_80, "this", {7, 0}, all},
    {Needs::sm_90, "this", {8, 0}, since_sm_90},
    {Needs::mbarrier, "mbarrier", {7, 1}, all},
    {Needs::mbarrier_count, "mbarrier.arrive with a count", {7, 8}, since_sm_90},
    {Needs::mbarrier_try_wait, "mbarrier.try_wait", {7, 8}, since_sm_90},
    {Needs::mbarrier_tx, "mbarrier with expect_tx or explicit semantics", {8, 0}, since_sm_90},
    {Needs::mbarrier_relaxed, "mbarrier with .relaxed", {8, 6}, since_sm_90},
    {Needs::cluster, "a cluster operation", {7, 8}, since_sm_90},
    {Needs::cluster_relaxed, "barrier.cluster.arrive.relaxed", {8, 0}, since_sm_90},
    {Needs::bulk_copy, "cp.async.bulk", {8, 0}, since_sm_90},
    {Needs::bulk_copy_to_cta, "cp.async.bulk to .shared::cta", {8, 6}, since_sm_90},
    {Needs::proxy_fence, "a fence of the asynchronous proxy", {8, 0}, since_sm_90},
    {Needs::elect, "elect.sync", {8, 0}, since_sm_90},
    {Needs::tcgen05, "tcgen05", {8, 6}, with_tmem},
    {Needs::tcgen05_decompression, "tcgen05.cp with decompression", {8, 6}, with_tmem},
    {Needs::tcgen05_ld_red, "tcgen05.ld.red", {8, 8}, {sm_103a, sm_103f, sm_110a, sm_110f}},
    {Needs::tcgen05_shift, "tcgen05.shift", {8, 6}, a_targets},
    {Needs::tcgen05_i8, "tcgen05.mma with .kind::i8", {8, 6}, {sm_100a, sm_110a}},
    {Needs::tcgen05_scale_input_d, "tcgen05.mma with scale-input-d", {8, 6}, {sm_100a, sm_100f, sm_103a, sm_103f}},
    {Needs::tcgen05_scale_vec, "tcgen05.mma with .scale_vec", {8, 6}, a_targets},
    {Needs::tcgen05_block, "tcgen05.mma with .block16 or .block32, or .block_scale alone,", {8, 8}, with_tmem},
    {Needs::tcgen05_sp_mxf4, "tcgen05.mma.sp with mxf4 or mxf4nvf4", {8, 6}, a_targets},
    {Needs::tcgen05_k96, "tcgen05.mma with K = 96", {8, 8}, {sm_103a}},
}};

constexpr bool ordered() {
  for (std::size_t i = 0; i < target_count; ++i) {
    if (static_cast<std::size_t>(targets[i].target) != i) return false;
  }
  for (std::size_t i = 0; i < needs_count; ++i) {
    if (static_cast<std::size_t>(needs_table[i].needs) != i) return false;
  }
  return true;
}
static_assert(ordered(), "the tables are indexed by their enums");

std::string listed(const TargetSet& set) {
  std::vector<std::string_view> names;
  for (const TargetFacts& facts : targets) {
    if (set.contains(facts.target)) names.push_back(facts.name);
  }
  if (names.size() == 1) return std::string(names[0]);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace

std::optional<Target> target_named(std::string_view name) {
  for (const TargetFacts& facts : targets) {
    if (facts.name == name) return facts.target;
  }
  return std::nullopt;
}

std::string_view name(Target target) { return targets[static_cast<std::size_t>(target)].name; }
PtxVersion first_ptx(Target target) { return targets[static_cast<std::size_t>(target)].first_ptx; }
bool has_tmem(Target target) { return with_tmem.contains(target); }

std::optional<PtxVersion> ptx_named(std::string_view text) {
  PtxVersion ptx;
  const char* const end = text.data() + text.size();
  const auto [dot, wrong_major] = std::from_chars(text.data(), end, ptx.major);
  if (wrong_major != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [rest, wrong_minor] = std::from_chars(dot + 1, end, ptx.minor);
  if (wrong_minor != std::errc() || rest != end || rest - dot > 2 || dot - text.data() > 2) return std::nullopt;
  return ptx;
}

std::string to_string(PtxVersion ptx) { return fmt::format("{}.{}", ptx.major, ptx.minor); }

std::optional<std::string> why_not(Needs needs, Target target, PtxVersion ptx) {
  const NeedsFacts& facts = needs_table[static_cast<std::size_t>(needs)];
  if (!facts.targets.contains(target)) {
    return fmt::format("{} needs {}; the target is {}", facts.what, listed(facts.targets), name(target));
  }
  if (ptx < first_ptx(target)) {
    return fmt::format("{} needs PTX {} or later; the version is {}", name(target), to_string(first_ptx(target)),
                       to_string(ptx));
  }
  if (ptx < facts.first_ptx) {
    return fmt::format("{} needs PTX {} or later; the version is {}", facts.what, to_string(facts.first_ptx), to_string(ptx));
  }
  return std::nullopt;
}

}  // namespace tmemsim
