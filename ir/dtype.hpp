// Element types and their bit patterns.
//
// A value in memory is its low bits(dtype) bits, held here in a 64-bit word. Conversions round once, to nearest even,
// whatever the source. What is out of range becomes
//   * f64 f32 tf32 f16 bf16: infinity (IEEE 754 round to nearest);
//   * e4m3 e5m2 e3m2 e2m3 e2m1: the largest finite value of that sign, infinities too (PTX cvt .satfinite; OCP FP8 and MX);
//   * integers: nothing is promised, the caller asks representable() first.
// NaN becomes the quiet NaN that a host makes (f64 f32 tf32 f16 bf16), 0x7f (e4m3 e5m2), or the largest finite value
// (e3m2 e2m3 e2m1, which have no NaN): PTX cvt .satfinite.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tmemsim {

enum class Dtype : std::uint8_t {
  f64,
  f32,
  tf32,  // 32 bits in memory; the tensor core ignores the low 13, and so do conversions
  f16,
  bf16,
  e4m3,
  e5m2,
  e3m2,
  e2m3,
  e2m1,
  s8,
  u8,
  s16,
  u16,
  s32,
  u32,
  u64,
  mbarrier,  // the 64-bit barrier object in shared memory: no number
};
inline constexpr std::size_t dtype_count = 18;

enum class DtypeKind : std::uint8_t { floating, signed_integer, unsigned_integer, object };

// What the exponent of all ones means.
enum class FloatSpecials : std::uint8_t {
  none,      // an ordinary binade: no infinity, no NaN (e3m2 e2m3 e2m1)
  nan_only,  // an ordinary binade but for the mantissa of all ones, which is NaN (e4m3)
  ieee,      // infinity and NaN
};

struct DtypeFacts {
  Dtype dtype;
  std::string_view name;
  int bits;  // in memory
  DtypeKind kind;
  int exponent_bits = 0, mantissa_bits = 0;  // floating only; the bias is 2^(exponent_bits - 1) - 1
  FloatSpecials specials = FloatSpecials::ieee;
  bool saturates = false;
  int unused_low_bits = 0;
};

inline constexpr std::array<DtypeFacts, dtype_count> dtype_table{{
    {Dtype::f64, "f64", 64, DtypeKind::floating, 11, 52},
    {Dtype::f32, "f32", 32, DtypeKind::floating, 8, 23},
    {Dtype::tf32, "tf32", 32, DtypeKind::floating, 8, 10, FloatSpecials::ieee, false, 13},
    {Dtype::f16, "f16", 16, DtypeKind::floating, 5, 10},
    {Dtype::bf16, "bf16", 16, DtypeKind::floating, 8, 7},
    {Dtype::e4m3, "e4m3", 8, DtypeKind::floating, 4, 3, FloatSpecials::nan_only, true},
    {Dtype::e5m2, "e5m2", 8, DtypeKind::floating, 5, 2, FloatSpecials::ieee, true},
    {Dtype::e3m2, "e3m2", 6, DtypeKind::floating, 3, 2, FloatSpecials::none, true},
    {Dtype::e2m3, "e2m3", 6, DtypeKind::floating, 2, 3, FloatSpecials::none, true},
    {Dtype::e2m1, "e2m1", 4, DtypeKind::floating, 2, 1, FloatSpecials::none, true},
    {Dtype::s8, "s8", 8, DtypeKind::signed_integer},
    {Dtype::u8, "u8", 8, DtypeKind::unsigned_integer},
    {Dtype::s16, "s16", 16, DtypeKind::signed_integer},
    {Dtype::u16, "u16", 16, DtypeKind::unsigned_integer},
    {Dtype::s32, "s32", 32, DtypeKind::signed_integer},
    {Dtype::u32, "u32", 32, DtypeKind::unsigned_integer},
    {Dtype::u64, "u64", 64, DtypeKind::unsigned_integer},
    {Dtype::mbarrier, "mbarrier", 64, DtypeKind::object},
}};

constexpr const DtypeFacts& facts(Dtype dtype) { return dtype_table[static_cast<std::size_t>(dtype)]; }
constexpr std::string_view name(Dtype dtype) { return facts(dtype).name; }
constexpr int bits(Dtype dtype) { return facts(dtype).bits; }
constexpr bool is_float(Dtype dtype) { return facts(dtype).kind == DtypeKind::floating; }
constexpr bool is_integer(Dtype dtype) {
  return facts(dtype).kind == DtypeKind::signed_integer || facts(dtype).kind == DtypeKind::unsigned_integer;
}
std::optional<Dtype> dtype_named(std::string_view name);

// Number -> bits. The integer forms round once, also where a double could not hold the number.
// Throws std::logic_error for mbarrier.
std::uint64_t encode(Dtype dtype, double value);
std::uint64_t encode_int(Dtype dtype, std::int64_t value);
std::uint64_t encode_uint(Dtype dtype, std::uint64_t value);

// Whether encode keeps the value: an integer type must hold it exactly; a floating type may round it, but not turn a
// finite number or an infinity into something out of its range, nor lose a NaN. Never for mbarrier.
bool representable(Dtype dtype, double value);
bool representable_int(Dtype dtype, std::int64_t value);
bool representable_uint(Dtype dtype, std::uint64_t value);

// Bits -> number; bits above bits(dtype) are ignored. Exact, but for u64 above 2^53, which rounds: use decode_uint.
double decode(Dtype dtype, std::uint64_t bits);
// Integer types only: the number with its sign extended, and the same for the unsigned ones.
std::int64_t decode_int(Dtype dtype, std::uint64_t bits);
std::uint64_t decode_uint(Dtype dtype, std::uint64_t bits);

// The shortest decimal text that encodes to these bits: "0.1", "-0", "inf", "nan"; another NaN than encode's shows its bits,
// "nan(0x7e01)". An mbarrier is shown as hexadecimal. The unused bits of tf32 are not shown.
std::string format_value(Dtype dtype, std::uint64_t bits);

}  // namespace tmemsim
