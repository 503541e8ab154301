#include "ir/dtype.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/catch.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;

namespace {

// The OCP FP8 and MX tables and IEEE 754, written down a second time: value of a code from its three fields.
struct Format {
  Dtype dtype;
  int exponent_bits, mantissa_bits, bias;
  double largest;   // finite
  double smallest;  // subnormal
};
const Format formats[] = {
    {Dtype::f16, 5, 10, 15, 65504.0, std::ldexp(1, -24)},
    {Dtype::bf16, 8, 7, 127, 0x1.fep127, std::ldexp(1, -133)},
    {Dtype::e4m3, 4, 3, 7, 448.0, std::ldexp(1, -9)},
    {Dtype::e5m2, 5, 2, 15, 57344.0, std::ldexp(1, -16)},
    {Dtype::e3m2, 3, 2, 3, 28.0, 0.0625},
    {Dtype::e2m3, 2, 3, 1, 7.5, 0.125},
    {Dtype::e2m1, 2, 1, 1, 6.0, 0.5},
};

double by_fields(const Format& format, unsigned code) {
  const unsigned mantissa = code % (1u << format.mantissa_bits);
  const unsigned exponent = (code >> format.mantissa_bits) % (1u << format.exponent_bits);
  const bool negative = code >> (format.mantissa_bits + format.exponent_bits);
  const bool top = exponent == (1u << format.exponent_bits) - 1;
  double value = 0;
  if (format.dtype == Dtype::e4m3 && top && mantissa == 7) {
    value = std::nan("");
  } else if (top && (format.dtype == Dtype::f16 || format.dtype == Dtype::bf16 || format.dtype == Dtype::e5m2)) {
    value = mantissa ? std::nan("") : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = mantissa * std::pow(2.0, 1 - format.bias - format.mantissa_bits);
  } else {
    value = (1 + mantissa / std::pow(2.0, format.mantissa_bits)) * std::pow(2.0, static_cast<int>(exponent) - format.bias);
  }
  return negative ? -value : value;
}

unsigned code_count(const Format& format) { return 2u << (format.exponent_bits + format.mantissa_bits); }

// The nearest finite code, the even one of two equally near: by search over all of them, in long double.
unsigned nearest(const std::vector<double>& positive, double value) {
  const long double size = std::fabs(static_cast<long double>(value));
  const auto above = std::lower_bound(positive.begin(), positive.end(), static_cast<double>(size));
  if (above == positive.end()) return static_cast<unsigned>(positive.size() - 1);
  const auto high = static_cast<unsigned>(above - positive.begin());
  if (high == 0) return 0;
  const long double up = positive[high] - size, down = size - positive[high - 1];
  if (up == down) return high % 2 == 0 ? high : high - 1;
  return up < down ? high : high - 1;
}

template <class To, class From>
To reinterpret(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

double any_double(std::mt19937_64& random, int lowest_exponent, int highest_exponent) {
  std::uniform_int_distribution<int> exponent(lowest_exponent, highest_exponent);
  std::uniform_real_distribution<double> fraction(1.0, 2.0);
  return std::ldexp(fraction(random), exponent(random)) * (random() % 2 ? 1 : -1);
}

}  // namespace

TEST_CASE("The dtype table is indexed by the dtype, and names are found") {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    CHECK(static_cast<std::size_t>(dtype_table[i].dtype) == i);
    CHECK(dtype_named(dtype_table[i].name) == dtype_table[i].dtype);
  }
  CHECK_FALSE(dtype_named("f17"));
  CHECK(bits(Dtype::tf32) == 32);
  CHECK(bits(Dtype::e3m2) == 6);
  CHECK(bits(Dtype::e2m1) == 4);
  CHECK(bits(Dtype::mbarrier) == 64);
}

TEST_CASE("Every code of the narrow formats decodes to the value of its fields, and encodes back") {
  for (const Format& format : formats) {
    INFO(name(format.dtype));
    int wrong = 0;
    for (unsigned code = 0; code < code_count(format); ++code) {
      const double expected = by_fields(format, code), found = decode(format.dtype, code);
      if (std::isnan(expected)) {
        wrong += !std::isnan(found);
        continue;
      }
      wrong += found != expected || std::signbit(found) != std::signbit(expected);
      if (std::isfinite(expected)) wrong += encode(format.dtype, expected) != code;
    }
    CHECK(wrong == 0);
    CHECK(decode(format.dtype, 1) == format.smallest);
  }
}

TEST_CASE("Encoding finds the nearest code, the even one of two") {
  std::mt19937_64 random(7);
  for (const Format& format : formats) {
    INFO(name(format.dtype));
    std::vector<double> positive;
    for (unsigned code = 0; by_fields(format, code) <= format.largest; ++code) {
      positive.push_back(by_fields(format, code));
      if (positive.size() == code_count(format) / 2) break;
    }
    REQUIRE(positive.back() == format.largest);
    const unsigned sign = code_count(format) / 2;
    int wrong = 0;
    const auto check = [&](double value) {
      const unsigned expected = nearest(positive, value) | (std::signbit(value) ? sign : 0);
      wrong += encode(format.dtype, value) != expected;
    };
    for (std::size_t i = 0; i + 1 < positive.size(); ++i) {
      const double middle = (positive[i] + positive[i + 1]) / 2;
      check(middle);
      check(-middle);
      check(std::nextafter(middle, 0));
      check(std::nextafter(middle, 1e300));
    }
    const int top = std::ilogb(format.largest), bottom = std::ilogb(format.smallest);
    for (int i = 0; i < tests::scaled(20000); ++i) check(any_double(random, bottom - 3, top - 1));
    CHECK(wrong == 0);
  }
}

TEST_CASE("What is out of range saturates in 8 bits and below, and is infinite above") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Format& format : formats) {
    INFO(name(format.dtype));
    const bool saturates = bits(format.dtype) <= 8;
    const double beyond = saturates ? format.largest : infinity;
    const double step = format.largest - by_fields(format, static_cast<unsigned>(encode(format.dtype, format.largest)) - 1);
    CHECK(decode(format.dtype, encode(format.dtype, 1e300)) == beyond);
    CHECK(decode(format.dtype, encode(format.dtype, -1e300)) == -beyond);
    CHECK(decode(format.dtype, encode(format.dtype, infinity)) == beyond);
    CHECK(decode(format.dtype, encode(format.dtype, format.largest + 0.49 * step)) == format.largest);
    CHECK(representable(format.dtype, format.largest + 0.49 * step));
    CHECK(decode(format.dtype, encode(format.dtype, format.largest + 0.75 * step)) == beyond);
    CHECK_FALSE(representable(format.dtype, format.largest + 0.75 * step));
    CHECK(representable(format.dtype, infinity) == !saturates);
  }
}

TEST_CASE("NaN follows the rule of the format") {
  const double nan = std::nan("");
  for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::tf32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2}) {
    CHECK(std::isnan(decode(dtype, encode(dtype, nan))));
    CHECK(representable(dtype, nan));
  }
  CHECK(encode(Dtype::e4m3, nan) == 0x7f);
  CHECK(encode(Dtype::e5m2, nan) == 0x7f);
  CHECK(encode(Dtype::f32, nan) == reinterpret<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()));
  CHECK(decode(Dtype::e3m2, encode(Dtype::e3m2, nan)) == 28.0);
  CHECK(decode(Dtype::e2m3, encode(Dtype::e2m3, nan)) == 7.5);
  CHECK(decode(Dtype::e2m1, encode(Dtype::e2m1, nan)) == 6.0);
  CHECK_FALSE(representable(Dtype::e2m1, nan));
}

TEST_CASE("f64 and f32 are the host's") {
  std::mt19937_64 random(11);
  int wrong = 0;
  for (int i = 0; i < tests::scaled(50000); ++i) {
    const auto word = random();
    const double value = reinterpret<double>(word);
    if (!std::isnan(value)) {
      wrong += encode(Dtype::f64, value) != word || decode(Dtype::f64, word) != value;
      wrong += encode(Dtype::f32, value) != reinterpret<std::uint32_t>(static_cast<float>(value));
    }
    const double near = any_double(random, -155, 129);
    wrong += encode(Dtype::f32, near) != reinterpret<std::uint32_t>(static_cast<float>(near));
    const float single = reinterpret<float>(static_cast<std::uint32_t>(word));
    if (!std::isnan(single)) wrong += decode(Dtype::f32, word) != static_cast<double>(single);
  }
  CHECK(wrong == 0);
}

#ifdef __FLT16_MAX__
TEST_CASE("f16 is the compiler's _Float16") {
  __extension__ using Half = _Float16;
  std::mt19937_64 random(13);
  int wrong = 0;
  for (unsigned code = 0; code < 0x10000; ++code) {
    const double value = static_cast<double>(reinterpret<Half>(static_cast<std::uint16_t>(code)));
    if (!std::isnan(value)) wrong += decode(Dtype::f16, code) != value;
  }
  for (int i = 0; i < tests::scaled(20000); ++i) {
    const double value = any_double(random, -30, 17);
    wrong += encode(Dtype::f16, value) != reinterpret<std::uint16_t>(static_cast<Half>(value));
  }
  CHECK(wrong == 0);
}
#endif

TEST_CASE("bf16 is the upper half of f32, rounded") {
  std::mt19937_64 random(17);
  int wrong = 0;
  for (int i = 0; i < tests::scaled(50000); ++i) {
    const auto word = static_cast<std::uint32_t>(random());
    const float value = reinterpret<float>(word);
    if (std::isnan(value)) continue;
    const std::uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    wrong += encode(Dtype::bf16, value) != rounded;
  }
  CHECK(wrong == 0);
}

TEST_CASE("tf32 keeps ten mantissa bits and ignores thirteen") {
  CHECK(decode(Dtype::tf32, 0x3f800000) == 1.0);
  CHECK(decode(Dtype::tf32, 0x3f801fff) == 1.0);
  CHECK(decode(Dtype::tf32, 0x3f802000) == 1.0 + 0x1p-10);
  CHECK(encode(Dtype::tf32, 1.0 + 0x1p-11) == 0x3f800000);
  CHECK(encode(Dtype::tf32, 1.0 + 3 * 0x1p-11) == 0x3f804000);
  CHECK(encode(Dtype::tf32, 1.0 + 0x1.1p-11) == 0x3f802000);
  CHECK(encode(Dtype::tf32, 1e300) == 0x7f800000);
  CHECK(encode(Dtype::tf32, -0.0) == 0x80000000);
}

TEST_CASE("Integers keep their value where it fits, and say where it does not") {
  struct Limit {
    Dtype dtype;
    std::int64_t low, high;
  };
  for (const Limit& limit :
       {Limit{Dtype::s8, -128, 127}, Limit{Dtype::u8, 0, 255}, Limit{Dtype::s16, -32768, 32767}, Limit{Dtype::u16, 0, 65535},
        Limit{Dtype::s32, -2147483648LL, 2147483647}, Limit{Dtype::u32, 0, 4294967295LL}}) {
    INFO(name(limit.dtype));
    for (std::int64_t value : {limit.low, std::int64_t{0}, std::int64_t{100}, limit.high}) {
      CHECK(representable_int(limit.dtype, value));
      CHECK(representable(limit.dtype, static_cast<double>(value)));
      CHECK(decode_int(limit.dtype, encode_int(limit.dtype, value)) == value);
      CHECK(decode(limit.dtype, encode(limit.dtype, static_cast<double>(value))) == static_cast<double>(value));
    }
    for (std::int64_t value : {limit.low - 1, limit.high + 1}) {
      CHECK_FALSE(representable_int(limit.dtype, value));
      CHECK_FALSE(representable(limit.dtype, static_cast<double>(value)));
    }
    CHECK_FALSE(representable(limit.dtype, 0.5));
    CHECK_FALSE(representable(limit.dtype, std::nan("")));
  }
  CHECK(encode_int(Dtype::s8, -1) == 0xff);
  CHECK(encode(Dtype::s16, -2.0) == 0xfffe);
}

TEST_CASE("64-bit integers are exact") {
  const std::uint64_t large = 0xfedcba9876543211;
  CHECK(decode_uint(Dtype::u64, encode_uint(Dtype::u64, large)) == large);
  CHECK(representable_uint(Dtype::u64, large));
  CHECK_FALSE(representable_int(Dtype::u64, -1));
  CHECK_FALSE(representable(Dtype::u64, 0x1p64));
  CHECK(representable(Dtype::u64, 0x1.fffffffffffffp63));
  CHECK(format_value(Dtype::u64, large) == "18364758544493064721");
}

TEST_CASE("An integer becomes a float in one rounding") {
  std::mt19937_64 random(19);
  int wrong = 0;
  for (int i = 0; i < tests::scaled(20000); ++i) {
    const auto value = static_cast<std::int64_t>(random() >> (random() % 64));
    wrong += encode_int(Dtype::f32, -value) != reinterpret<std::uint32_t>(static_cast<float>(-value));
    wrong += encode_uint(Dtype::f64, random()) == 0;
    wrong += encode_int(Dtype::f64, value) != reinterpret<std::uint64_t>(static_cast<double>(value));
  }
  CHECK(wrong == 0);
  // 2^24 + 1 is a tie in f32; one more bit, far below what a double holds, breaks it upwards.
  CHECK(encode_uint(Dtype::f32, (std::uint64_t{0x1000001} << 38) + 1) == reinterpret<std::uint32_t>(0x1.000002p62f));
  CHECK(encode_uint(Dtype::f32, std::uint64_t{0x1000001} << 38) == reinterpret<std::uint32_t>(0x1p62f));
  CHECK(encode_int(Dtype::f32, std::numeric_limits<std::int64_t>::min()) == reinterpret<std::uint32_t>(-0x1p63f));
  CHECK_FALSE(representable_int(Dtype::e4m3, 1000));
  CHECK(representable_int(Dtype::e4m3, -448));
  CHECK_FALSE(representable_int(Dtype::f16, -65520));
  CHECK(representable_int(Dtype::f16, -65519));
}

TEST_CASE("Text of a value is short and reads back to the same bits") {
  CHECK(format_value(Dtype::f16, 0x2e66) == "0.1");
  CHECK(format_value(Dtype::f16, 0x3c00) == "1");
  CHECK(format_value(Dtype::f16, 0x4900) == "10");
  CHECK(format_value(Dtype::f16, 0x8000) == "-0");
  CHECK(format_value(Dtype::f16, 0xfc00) == "-inf");
  CHECK(format_value(Dtype::f16, 0x7e00) == "nan");
  CHECK(format_value(Dtype::f16, 0x7e01) == "nan(0x7e01)");
  CHECK(format_value(Dtype::f32, 0x3dcccccd) == "0.1");
  CHECK(format_value(Dtype::f64, reinterpret<std::uint64_t>(0.1)) == "0.1");
  CHECK(format_value(Dtype::e2m1, 0xf) == "-6");
  CHECK(format_value(Dtype::s8, 0xff) == "-1");
  CHECK(format_value(Dtype::u8, 0xff) == "255");
  CHECK(format_value(Dtype::mbarrier, 1) == "0x0000000000000001");
  for (const Format& format : formats) {
    INFO(name(format.dtype));
    int wrong = 0;
    for (unsigned code = 0; code < code_count(format); ++code) {
      const double value = by_fields(format, code);
      if (!std::isfinite(value)) continue;
      wrong += encode(format.dtype, std::strtod(format_value(format.dtype, code).c_str(), nullptr)) != code;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("A barrier object is no number") {
  CHECK_THROWS_AS(encode(Dtype::mbarrier, 1.0), std::logic_error);
  CHECK_THROWS_AS(decode(Dtype::mbarrier, 1), std::logic_error);
  CHECK_FALSE(representable_uint(Dtype::mbarrier, 1));
}
