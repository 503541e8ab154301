// The device functions of ldmatrix, stmatrix and mma.sync. Syntax: PTX ISA 9.7.14.5.14 to 9.7.14.5.16.
//
// On the host the lanes show each other their registers; who holds what is written out again here, from the tables of the ISA.
#include <fmt/format.h>

#include "emit/cuda/device_functions.hpp"

namespace tmemsim::emit {
namespace {

constexpr std::string_view host_matrix_text = R"(
// ldmatrix and stmatrix on the host. Lane 8 * j + i points at row i of matrix j; the lane's register j is its part of it.
namespace host {

inline uint8_t* matrix_row(uint32_t address) {
  if (address % 16 != 0) fault("misaligned address");
  return shared(address, 16);
}

template <int Num, bool Trans>
void ldmatrix(uint32_t address, uint32_t* r) {
  Warp& all = warp();
  all.shown[lane()][0] = address;
  warp_sync(0xffffffffu);
  for (unsigned j = 0; j < Num; ++j) {
    r[j] = 0;
    for (unsigned half = 0; half < 2; ++half) {
      const unsigned pair = 2 * (lane() % 4) + half, group = lane() / 4;
      const uint8_t* row = matrix_row(all.shown[8 * j + (Trans ? pair : group)][0]);
      r[j] |= uint32_t(load<uint16_t>(row + 2 * (Trans ? group : pair), 2)) << 16 * half;
    }
  }
  warp_sync(0xffffffffu);
}

template <int Num, bool Trans>
void stmatrix(uint32_t address, const uint32_t* r) {
  Warp& all = warp();
  for (unsigned j = 0; j < Num; ++j) all.shown[lane()][j] = r[j];
  warp_sync(0xffffffffu);
  const unsigned j = lane() / 8, i = lane() % 8;
  for (unsigned column = 0; j < Num && column < 8; ++column) {
    const unsigned pair = Trans ? i : column, group = Trans ? column : i;
    const uint32_t word = all.shown[4 * group + pair / 2][j];
    store<uint16_t>(matrix_row(address) + 2 * column, 2, uint16_t(word >> 16 * (pair % 2)));
  }
  warp_sync(0xffffffffu);
}

}  // namespace host
)";

constexpr std::string_view host_mma_text = R"(
// mma.sync on the host: sums in the order of k, in f32 (each product exact), or in 32-bit integers that wrap.
namespace host {

inline float f16_value(uint32_t bits) {
  const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  const float sign = bits >> 15 & 1 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? __uint_as_float(0x7fc00000u) : sign * __uint_as_float(0x7f800000u);
  return sign * (exponent ? std::ldexp(float(1024 + mantissa), int(exponent) - 25) : std::ldexp(float(mantissa), -24));
}

// Rounds to nearest even.
inline uint32_t f16_bits(float value) {
  const uint32_t bits = __float_as_uint(value), sign = bits >> 16 & 0x8000u;
  const float size = std::fabs(value);
  if (size != size) return 0x7fff;
  if (size == 0) return sign;
  if (size >= 65520.0f) return sign | 0x7c00;
  int exponent;
  std::frexp(size, &exponent);
  const int unit = exponent - 11 < -24 ? -24 : exponent - 11;
  const float units = std::nearbyint(std::ldexp(size, -unit));  // at most 2048: the sum below carries into the exponent
  return sign | (unit == -24 ? uint32_t(units) : uint32_t(unit + 24) * 1024 + uint32_t(units));
}

enum class Input { f16, bf16, tf32, s8, u8 };

template <Input type>
float input_value(uint32_t bits) {
  return type == Input::f16 ? f16_value(bits) : type == Input::bf16 ? __uint_as_float(bits << 16) : __uint_as_float(bits & 0xffffe000u);
}

// Registers of a: 2 for each step of 128 bits along k (rows 0..7, rows 8..15); of b: 1. `a`, `b` and `c` stand in a row in `in`.
template <Input type, int K, bool F16Result>
void mma_sync(const uint32_t* in, uint32_t* d) {
  constexpr unsigned bits = type == Input::tf32 ? 32 : type == Input::s8 || type == Input::u8 ? 8 : 16, packed = 32 / bits;
  constexpr unsigned steps = K / (4 * packed);
  Warp& all = warp();
  for (unsigned i = 0; i < 3 * steps; ++i) all.shown[lane()][i] = in[i];
  warp_sync(0xffffffffu);
  const uint32_t* c = in + 3 * steps;
  const auto part = [](uint32_t word, unsigned at) { return bits == 32 ? word : word >> bits * at & ((1u << bits % 32) - 1); };
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane() / 4 + 8 * (i / 2), column = lane() % 4 * 2 + i % 2;
    float sum = F16Result ? f16_value(c[i / 2] >> 16 * (i % 2) & 0xffffu) : __uint_as_float(c[F16Result ? 0 : i]);
    uint32_t integer = c[F16Result ? 0 : i];
    for (unsigned k = 0; k < K; ++k) {
      const unsigned step = k / (4 * packed), at = k % (4 * packed) / packed;
      const uint32_t a = part(all.shown[4 * (row % 8) + at][2 * step + row / 8], k % packed);
      const uint32_t b = part(all.shown[4 * column + at][2 * steps + step], k % packed);
      if (type == Input::s8) integer += uint32_t(int(int8_t(a)) * int(int8_t(b)));
      else if (type == Input::u8) integer += a * b;
      else sum = std::fma(input_value<type>(a), input_value<type>(b), sum);
    }
    const uint32_t result = type == Input::s8 || type == Input::u8 ? integer : __float_as_uint(sum);
    if (!F16Result) d[i] = result;
    else d[i / 2] = i % 2 == 0 ? f16_bits(sum) : d[i / 2] | f16_bits(sum) << 16;
  }
  warp_sync(0xffffffffu);
}

}  // namespace host
)";

std::string list(std::string_view item, int count, int first = 0) {
  return join(count, ", ", [&](int i) { return fmt::format("{}{}", item, first + i); });
}

std::string braces(int count, int first) { return "{" + list("%", count, first) + "}"; }

}  // namespace

std::string DeviceFunctions::need_matrix_move(bool load, int num, bool trans) {
  const std::string form = fmt::format("{}matrix", load ? "ld" : "st");
  const std::string name = fmt::format("{}_x{}{}", form, num, trans ? "_trans" : "");
  const std::string head = fmt::format("{}(uint32_t address, {})", name, list(load ? "uint32_t& r" : "uint32_t r", num));
  if (backend_ == Backend::host) {
    add("host matrices", std::string(host_matrix_text));
    const std::string call = fmt::format("host::{}<{}, {}>(address, r);", form, num, trans);
    std::string text = fmt::format("\ninline void {} {{\n", head);
    text += load ? fmt::format("  uint32_t r[{}];\n  {}\n", num, call)
                 : fmt::format("  const uint32_t r[] = {{{}}};\n  {}\n", list("r", num), call);
    for (int i = 0; load && i < num; ++i) text += fmt::format("  r{0} = r[{0}];\n", i);
    add(name, text + "}\n");
    return name;
  }
  const std::string instruction = fmt::format("{}.sync.aligned.m8n8.x{}{}.shared.b16", form, num, trans ? ".trans" : "");
  const std::string registers = join(num, ", ", [&](int i) { return fmt::format("\"{}\"(r{})", load ? "=r" : "r", i); });
  const std::string body =
      load ? fmt::format("\"{} {}, [%{}];\"\n               : {}\n               : \"r\"(address)\n", instruction,
                         braces(num, 0), num, registers)
           : fmt::format("\"{} [%0], {};\"\n               ::\"r\"(address), {}\n", instruction, braces(num, 1), registers);
  add(name,
      fmt::format("\n__device__ __forceinline__ void {} {{\n  asm volatile({}               : \"memory\");\n}}\n", head, body));
  return name;
}

std::string DeviceFunctions::need_mma_sync(const MmaForm& form) {
  const std::string name = fmt::format("mma_sync_{}_{}_{}", keyword(form.shape), keyword(form.result), keyword(form.input));
  const std::string head = fmt::format("{}({}, {}, {}, {})", name, list("uint32_t& d", form.c), list("uint32_t a", form.a),
                                       list("uint32_t b", form.b), list("uint32_t c", form.c));
  if (backend_ == Backend::host) {
    add("host mma", std::string(host_mma_text));
    std::string text = fmt::format(
        "\ninline void {} {{\n  const uint32_t in[] = {{{}, {}, {}}};\n  uint32_t d[{}];\n  host::mma_sync<host::Input::{}, "
        "{}, {}>(in, d);\n",
        head, list("a", form.a), list("b", form.b), list("c", form.c), form.c, keyword(form.input), form.k,
        form.result == MmaResult::f16);
    for (int i = 0; i < form.c; ++i) text += fmt::format("  d{0} = d[{0}];\n", i);
    add(name, text + "}\n");
    return name;
  }
  const bool floats = form.result == MmaResult::f32;
  const auto result = keyword(form.result), input = keyword(form.input);
  std::string text = fmt::format("\n__device__ __forceinline__ void {} {{\n", head);
  if (floats) text += fmt::format("  float {};\n", list("f", form.c));
  text += fmt::format("  asm volatile(\n      \"mma.sync.aligned.{}.row.col.{}.{}.{}.{} \"\n      \"{}, {}, {}, {};\"\n",
                      keyword(form.shape), result, input, input, result, braces(form.c, 0), braces(form.a, form.c),
                      braces(form.b, form.c + form.a), braces(form.c, form.c + form.a + form.b));
  text += fmt::format("      : {}\n", join(form.c, ", ", [&](int i) {
                        return floats ? fmt::format("\"=f\"(f{})", i) : fmt::format("\"=r\"(d{})", i);
                      }));
  text += fmt::format("      : {}, {}, {});\n", join(form.a, ", ", [](int i) { return fmt::format("\"r\"(a{})", i); }),
                      join(form.b, ", ", [](int i) { return fmt::format("\"r\"(b{})", i); }), join(form.c, ", ", [&](int i) {
                        return floats ? fmt::format("\"f\"(__uint_as_float(c{}))", i) : fmt::format("\"r\"(c{})", i);
                      }));
  for (int i = 0; floats && i < form.c; ++i) text += fmt::format("  d{0} = __float_as_uint(f{0});\n", i);
  add(name, text + "}\n");
  return name;
}

}  // namespace tmemsim::emit
