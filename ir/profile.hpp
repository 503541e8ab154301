// Profiles and the named switches that decide where the ISA is uncertain or tolerated practice differs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tmemsim {

enum class Severity : std::uint8_t { none, note, warning, error };
std::string_view name(Severity severity);

enum class Switch : std::uint8_t {
  tensor_issue_order, fence_at_acquire, fence_at_barrier, reg_before_wait, quadrant_bits, unpack_high_half, observe_each_phase,
  proxy_fence_war, consumed_load, scope_check, alloc_growth, permit_held, permit_blocks,
};
inline constexpr std::size_t switch_count = 13;

struct SwitchFacts {
  Switch which;
  std::string_view name;               // tensor-issue-order
  std::vector<std::string_view> values;  // the first is "off"-like; what --set accepts
  std::string_view strict, lenient;
  std::string_view meaning;            // one sentence
};
const std::array<SwitchFacts, switch_count>& switch_table();

class Profile {
 public:
  static Profile strict();
  static Profile lenient();
  static std::optional<Profile> named(std::string_view name);

  bool is_strict() const { return strict_; }
  std::string_view name() const { return strict_ ? "strict" : "lenient"; }
  std::string_view value(Switch which) const { return values_[static_cast<std::size_t>(which)]; }
  bool on(Switch which) const { return value(which) == "on"; }
  // Severity switches hold "E", "W", "N" or "off".
  Severity severity(Switch which) const;
  // "name=value"; throws InputError naming the switches or values that exist.
  void set(std::string_view assignment);

 private:
  bool strict_ = true;
  std::array<std::string_view, switch_count> values_{};
};

}  // namespace tmemsim
