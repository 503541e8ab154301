// Element types: names, storage bits, bit-exact conversions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tmemsim {

enum class Dtype : std::uint8_t {
  f64, f32, tf32, f16, bf16, e4m3, e5m2, e3m2, e2m3, e2m1,
  s8, u8, s16, u16, s32, u32, u64,
  mbarrier,  // 64-bit barrier object in shared memory; has no value
};
inline constexpr std::size_t dtype_count = 18;

std::optional<Dtype> dtype_named(std::string_view name);
std::string_view name(Dtype dtype);
int bits(Dtype dtype);  // storage bits of one element: 4, 6, 8, 16, 32 or 64

}  // namespace tmemsim
