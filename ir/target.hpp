// GPU targets and PTX versions: which names exist and what each has. tcgen05.md section 12.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
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

}  // namespace tmemsim
