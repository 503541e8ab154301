#include "ir/dtype.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

namespace tmemsim {
namespace {

constexpr std::uint64_t low_bits(int count) { return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1; }

int bias(const DtypeFacts& type) { return (1 << (type.exponent_bits - 1)) - 1; }
int code_bits(const DtypeFacts& type) { return type.bits - type.unused_low_bits; }
std::uint64_t sign_bit(const DtypeFacts& type) { return std::uint64_t{1} << (code_bits(type) - 1); }
std::uint64_t infinity_code(const DtypeFacts& type) { return low_bits(type.exponent_bits) << type.mantissa_bits; }

// Codes of positive finite numbers ascend with their value.
std::uint64_t largest_finite_code(const DtypeFacts& type) {
  switch (type.specials) {
    case FloatSpecials::none:
      return sign_bit(type) - 1;
    case FloatSpecials::nan_only:
      return sign_bit(type) - 2;
    case FloatSpecials::ieee:
      return infinity_code(type) - 1;
  }
  return 0;
}

std::uint64_t nan_code(const DtypeFacts& type) {
  if (type.specials == FloatSpecials::none) return largest_finite_code(type);
  if (type.saturates) return sign_bit(type) - 1;
  return infinity_code(type) | std::uint64_t{1} << (type.mantissa_bits - 1);
}

std::uint64_t out_of_range_code(const DtypeFacts& type) {
  return type.saturates ? largest_finite_code(type) : infinity_code(type);
}

// significand / 2^shift, to nearest even.
std::uint64_t shift_rounding(std::uint64_t significand, int shift) {
  if (shift <= 0) return significand << -shift;
  if (shift > 64) return 0;
  const std::uint64_t kept = shift == 64 ? 0 : significand >> shift;
  const std::uint64_t rest = significand & low_bits(shift);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
}

// The code of significand * 2^exponent, before its range is checked. Adding the significand with its leading one to the
// exponent field less one gives subnormals and the carry of a rounding without a case of their own.
std::uint64_t unbounded_code(const DtypeFacts& type, std::uint64_t significand, int exponent) {
  if (significand == 0) return 0;
  const int lowest = 1 - bias(type);
  const int leading = std::max(lowest, exponent + static_cast<int>(std::bit_width(significand)) - 1);
  const std::uint64_t mantissa = shift_rounding(significand, leading - type.mantissa_bits - exponent);
  return (static_cast<std::uint64_t>(leading - lowest) << type.mantissa_bits) + mantissa;
}

struct Magnitude {
  std::uint64_t significand;
  int exponent;
};

Magnitude magnitude(double finite) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(finite), &exponent);
  return {static_cast<std::uint64_t>(std::ldexp(fraction, 53)), exponent - 53};
}

std::uint64_t float_bits(const DtypeFacts& type, bool negative, std::uint64_t code) {
  return ((negative ? sign_bit(type) : 0) | code) << type.unused_low_bits;
}

std::uint64_t encode_float(const DtypeFacts& type, bool negative, Magnitude value) {
  const std::uint64_t code = unbounded_code(type, value.significand, value.exponent);
  return float_bits(type, negative, code > largest_finite_code(type) ? out_of_range_code(type) : code);
}

bool in_float_range(const DtypeFacts& type, Magnitude value) {
  return unbounded_code(type, value.significand, value.exponent) <= largest_finite_code(type);
}

std::uint64_t magnitude_of(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

const DtypeFacts& number_facts(Dtype dtype) {
  if (facts(dtype).kind == DtypeKind::object) throw std::logic_error("an mbarrier object is no number");
  return facts(dtype);
}

std::string hexadecimal(const DtypeFacts& type, std::uint64_t bits) {
  return fmt::format("0x{:0{}x}", bits & low_bits(type.bits), (type.bits + 3) / 4);
}

template <class T, class... Format>
std::string decimal(T value, Format... format) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value, format...).ptr;
  return {text, end};
}

std::string format_float(const DtypeFacts& type, std::uint64_t bits) {
  const double value = decode(type.dtype, bits);
  if (std::isnan(value)) { return bits == encode(type.dtype, value) ? "nan" : "nan(" + hexadecimal(type, bits) + ")"; }
  if (type.dtype == Dtype::f64) return decimal(value);
  if (type.dtype == Dtype::f32) return decimal(static_cast<float>(value));
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const std::uint64_t wanted = bits & (low_bits(type.bits) & ~low_bits(type.unused_low_bits));
  for (int digits = 1; digits < std::numeric_limits<double>::max_digits10; ++digits) {
    const std::string text = decimal(value, std::chars_format::general, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (encode(type.dtype, read) == wanted) return decimal(read);  // 10, not 1e+01
  }
  return decimal(value);
}

}  // namespace

std::optional<Dtype> dtype_named(std::string_view name) {
  for (const DtypeFacts& type : dtype_table) {
    if (type.name == name) return type.dtype;
  }
  return std::nullopt;
}

std::uint64_t encode(Dtype dtype, double value) {
  const DtypeFacts& type = number_facts(dtype);
  if (type.kind == DtypeKind::floating) {
    if (std::isnan(value)) return float_bits(type, false, nan_code(type));
    if (std::isinf(value)) return float_bits(type, value < 0, out_of_range_code(type));
    return encode_float(type, std::signbit(value), magnitude(value));
  }
  if (!representable(dtype, value)) return 0;
  const auto whole = static_cast<std::uint64_t>(std::fabs(value));
  return (value < 0 ? ~whole + 1 : whole) & low_bits(type.bits);
}

std::uint64_t encode_int(Dtype dtype, std::int64_t value) {
  const DtypeFacts& type = number_facts(dtype);
  if (type.kind == DtypeKind::floating) return encode_float(type, value < 0, {magnitude_of(value), 0});
  return static_cast<std::uint64_t>(value) & low_bits(type.bits);
}

std::uint64_t encode_uint(Dtype dtype, std::uint64_t value) {
  const DtypeFacts& type = number_facts(dtype);
  if (type.kind == DtypeKind::floating) return encode_float(type, false, {value, 0});
  return value & low_bits(type.bits);
}

bool representable(Dtype dtype, double value) {
  const DtypeFacts& type = facts(dtype);
  if (type.kind == DtypeKind::object) return false;
  if (type.kind == DtypeKind::floating) {
    if (std::isnan(value)) return type.specials != FloatSpecials::none;
    if (std::isinf(value)) return !type.saturates;
    return in_float_range(type, magnitude(value));
  }
  if (!std::isfinite(value) || value != std::trunc(value)) return false;
  const bool is_signed = type.kind == DtypeKind::signed_integer;
  const double limit = std::ldexp(1.0, is_signed ? type.bits - 1 : type.bits);
  return value < limit && value >= (is_signed ? -limit : 0.0);
}

bool representable_int(Dtype dtype, std::int64_t value) {
  if (value >= 0) return representable_uint(dtype, static_cast<std::uint64_t>(value));
  const DtypeFacts& type = facts(dtype);
  if (type.kind == DtypeKind::floating) return in_float_range(type, {magnitude_of(value), 0});
  return type.kind == DtypeKind::signed_integer && magnitude_of(value) <= std::uint64_t{1} << (type.bits - 1);
}

bool representable_uint(Dtype dtype, std::uint64_t value) {
  const DtypeFacts& type = facts(dtype);
  switch (type.kind) {
    case DtypeKind::floating:
      return in_float_range(type, {value, 0});
    case DtypeKind::signed_integer:
      return value <= low_bits(type.bits - 1);
    case DtypeKind::unsigned_integer:
      return value <= low_bits(type.bits);
    case DtypeKind::object:
      return false;
  }
  return false;
}

double decode(Dtype dtype, std::uint64_t bits) {
  const DtypeFacts& type = number_facts(dtype);
  if (type.kind == DtypeKind::signed_integer) return static_cast<double>(decode_int(dtype, bits));
  if (type.kind == DtypeKind::unsigned_integer) return static_cast<double>(decode_uint(dtype, bits));
  const std::uint64_t code = (bits & low_bits(type.bits)) >> type.unused_low_bits;
  const std::uint64_t unsigned_code = code & ~sign_bit(type);
  const double sign = code == unsigned_code ? 1.0 : -1.0;
  if (unsigned_code > largest_finite_code(type)) {
    const bool infinite = type.specials == FloatSpecials::ieee && unsigned_code == infinity_code(type);
    using Double = std::numeric_limits<double>;
    return std::copysign(infinite ? Double::infinity() : Double::quiet_NaN(), sign);
  }
  const int exponent = static_cast<int>(unsigned_code >> type.mantissa_bits);
  const std::uint64_t fraction = unsigned_code & low_bits(type.mantissa_bits);
  const std::uint64_t significand = exponent == 0 ? fraction : fraction | std::uint64_t{1} << type.mantissa_bits;
  return sign * std::ldexp(static_cast<double>(significand), std::max(exponent, 1) - bias(type) - type.mantissa_bits);
}

std::int64_t decode_int(Dtype dtype, std::uint64_t bits) {
  const DtypeFacts& type = facts(dtype);
  const std::uint64_t value = decode_uint(dtype, bits);
  if (type.kind != DtypeKind::signed_integer) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (type.bits - 1);
  return static_cast<std::int64_t>((value ^ sign) - sign);
}

std::uint64_t decode_uint(Dtype dtype, std::uint64_t bits) {
  if (!is_integer(dtype)) throw std::logic_error(fmt::format("{} is no integer type", name(dtype)));
  return bits & low_bits(facts(dtype).bits);
}

std::string format_value(Dtype dtype, std::uint64_t bits) {
  const DtypeFacts& type = facts(dtype);
  switch (type.kind) {
    case DtypeKind::floating:
      return format_float(type, bits & low_bits(type.bits));
    case DtypeKind::signed_integer:
      return decimal(decode_int(dtype, bits));
    case DtypeKind::unsigned_integer:
      return decimal(decode_uint(dtype, bits));
    case DtypeKind::object:
      return hexadecimal(type, bits);
  }
  return {};
}

}  // namespace tmemsim
