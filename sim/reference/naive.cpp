#include "sim/reference/naive.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <Eigen/Core>

namespace tmemsim::reference {
namespace {

std::int64_t swizzled(const Swizzle& swizzle, std::int64_t m) {
  const std::int64_t low_size = std::int64_t{1} << swizzle.per_element;
  const std::int64_t window = std::int64_t{1} << swizzle.swizzle_len;
  const std::int64_t shift = std::int64_t{1} << swizzle.atom_len;
  const std::int64_t low = m % low_size;
  std::int64_t high = m / low_size;
  if (swizzle.inner) {
    high ^= high / shift % window;
  } else {
    high ^= high % window * shift;
  }
  return high * low_size + low;
}

// The f32 nearest to `value` with round to odd: rounding it again to a narrower format gives what one rounding would.
float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == value) return nearest;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &nearest, 4);
  if (bits & 1) return nearest;
  const bool away = std::abs(static_cast<double>(nearest)) > std::abs(value);
  bits += away ? ~0u : 1u;
  float odd = 0;
  std::memcpy(&odd, &bits, 4);
  return odd;
}

template <class Bits, class T> std::uint64_t bits_of(T value) {
  static_assert(sizeof(Bits) == sizeof(T));
  Bits bits{};
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// tf32: f32 whose mantissa has 10 bits. The quantum is a power of two, so that the division is exact.
std::uint64_t tf32_bits(double value) {
  if (!std::isfinite(value) || value == 0) return bits_of<std::uint32_t>(static_cast<float>(value));
  int exponent = 0;
  std::frexp(value, &exponent);
  const double quantum = std::ldexp(1.0, std::max(exponent - 1, -126) - 10);
  return bits_of<std::uint32_t>(static_cast<float>(std::nearbyint(value / quantum) * quantum));
}

// The narrow floats, as their tables say: sign, exponent, mantissa; nothing for a pattern that is no number.
struct Narrow {
  int exponent_bits, mantissa_bits;
};
std::optional<double> narrow_value(Dtype dtype, const Narrow& format, std::uint64_t bits) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const auto mantissa = static_cast<int>(bits & ((1u << format.mantissa_bits) - 1));
  const auto exponent = static_cast<int>(bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1));
  const bool all_ones = exponent == (1 << format.exponent_bits) - 1;
  if (dtype == Dtype::e5m2 && all_ones) return std::nullopt;                    // infinity and NaN
  if (dtype == Dtype::e4m3 && all_ones && mantissa == 7) return std::nullopt;   // NaN
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - format.mantissa_bits)
                                         : std::ldexp((1 << format.mantissa_bits) + mantissa, exponent - bias - format.mantissa_bits);
  return magnitude;
}

std::uint64_t narrow_bits(Dtype dtype, double value) {
  const Narrow format = dtype == Dtype::e4m3   ? Narrow{4, 3}
                        : dtype == Dtype::e5m2 ? Narrow{5, 2}
                        : dtype == Dtype::e3m2 ? Narrow{3, 2}
                        : dtype == Dtype::e2m3 ? Narrow{2, 3}
                                               : Narrow{2, 1};
  const int width = format.exponent_bits + format.mantissa_bits;  // without the sign
  const bool has_nan = dtype == Dtype::e4m3 || dtype == Dtype::e5m2;
  if (std::isnan(value) && has_nan) return 0x7f;
  std::uint64_t best = 0, largest = 0;
  double least = std::numeric_limits<double>::infinity(), largest_value = -1;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << width; ++bits) {
    const auto magnitude = narrow_value(dtype, format, bits);
    if (!magnitude) continue;
    if (*magnitude > largest_value) { largest_value = *magnitude; largest = bits; }
    const double distance = std::abs(*magnitude - std::abs(value));
    if (distance < least || (distance == least && (bits & 1) == 0)) { least = distance; best = bits; }
  }
  if (std::isnan(value)) return largest;
  if (std::abs(value) > largest_value) best = largest;
  return best | (std::signbit(value) ? std::uint64_t{1} << width : 0);
}

std::uint64_t encode_double(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::f64: return bits_of<std::uint64_t>(value);
    case Dtype::f32: return bits_of<std::uint32_t>(static_cast<float>(value));
    case Dtype::tf32: return tf32_bits(value);
    case Dtype::f16: return Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(to_odd(value)));
    case Dtype::bf16: return Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(to_odd(value)));
    case Dtype::e4m3: case Dtype::e5m2: case Dtype::e3m2: case Dtype::e2m3: case Dtype::e2m1: return narrow_bits(dtype, value);
    case Dtype::u64: return static_cast<std::uint64_t>(value);
    default: return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & ((std::uint64_t{1} << bits(dtype)) - 1);
  }
}

std::uint64_t encode_integer(Dtype dtype, std::int64_t value) {
  if (is_float(dtype)) {
    if (dtype == Dtype::f32) return bits_of<std::uint32_t>(static_cast<float>(value));
    return encode_double(dtype, static_cast<double>(value));
  }
  const auto wrapped = static_cast<std::uint64_t>(value);
  return bits(dtype) == 64 ? wrapped : wrapped & ((std::uint64_t{1} << bits(dtype)) - 1);
}

std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

std::optional<std::int32_t> binary(ExprOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case ExprOp::add: return wrap(a + b);
    case ExprOp::sub: return wrap(a - b);
    case ExprOp::mul: return wrap(a * b);
    case ExprOp::div: return b == 0 ? std::nullopt : std::optional(wrap(a / b));
    case ExprOp::mod: return b == 0 ? std::nullopt : std::optional(wrap(a % b));
    case ExprOp::bit_and: return wrap(a & b);
    case ExprOp::bit_xor: return wrap(a ^ b);
    case ExprOp::bit_or: return wrap(a | b);
    case ExprOp::shl: return wrap(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << (b & 31)));
    case ExprOp::shr: return wrap(a >> (b & 31));
    case ExprOp::eq: return a == b;
    case ExprOp::ne: return a != b;
    case ExprOp::lt: return a < b;
    case ExprOp::le: return a <= b;
    case ExprOp::gt: return a > b;
    case ExprOp::ge: return a >= b;
    default: return std::nullopt;
  }
}

}  // namespace

Point naive_apply(const TileLayout& layout, std::int64_t x) {
  Point point{};
  for (std::size_t i = layout.shard.size(); i-- > 0;) {
    const Iter& iter = layout.shard[i];
    const std::int64_t digit = i == 0 ? x : x % iter.extent;
    x /= iter.extent;
    at(point, iter.axis) += digit * iter.stride;
  }
  for (const AxisOffset& offset : layout.offset) at(point, offset.axis) += offset.value;
  if (layout.swizzle) at(point, Axis::m) = swizzled(*layout.swizzle, at(point, Axis::m));
  return point;
}

Point naive_place(const Buffer& buffer, std::int64_t x) {
  if (buffer.layout) return naive_apply(*buffer.layout, x);
  Point point{};
  at(point, Axis::m) = x;
  return point;
}

std::vector<Point> naive_places(const Buffer& buffer, std::int64_t x) {
  if (!buffer.layout || buffer.layout->replica.empty()) return {naive_place(buffer, x)};
  TileLayout moved = *buffer.layout;  // one copy of the layout for each displacement r: { D(x) + r + O }
  moved.replica.clear();
  std::int64_t copies = 1;
  for (const Iter& iter : buffer.layout->replica) copies *= iter.extent;
  std::vector<Point> places;
  for (std::int64_t r = 0; r < copies; ++r) {
    moved.offset = buffer.layout->offset;
    std::int64_t rest = r;
    for (std::size_t i = buffer.layout->replica.size(); i-- > 0;) {
      const Iter& iter = buffer.layout->replica[i];
      moved.offset.push_back({iter.axis, rest % iter.extent * iter.stride});
      rest /= iter.extent;
    }
    places.push_back(naive_apply(moved, x));
  }
  return places;
}

std::uint64_t naive_encode(Dtype dtype, const Number& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return encode_integer(dtype, *integer);
  return encode_double(dtype, std::get<double>(number));
}

namespace {

float float_of(Dtype dtype, std::uint64_t bits) {
  if (dtype == Dtype::f16) return static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(bits)));
  if (dtype == Dtype::bf16) return static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(static_cast<std::uint16_t>(bits)));
  const auto word = static_cast<std::uint32_t>(dtype == Dtype::tf32 ? bits & ~std::uint64_t{0x1fff} : bits);
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

}  // namespace

std::uint64_t naive_dot(Dtype result, Dtype input, std::uint64_t start, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  if (result == Dtype::s32) {
    const auto value = [&](std::uint64_t bits) {
      return input == Dtype::s8 ? std::int64_t{static_cast<std::int8_t>(bits)} : static_cast<std::int64_t>(bits & 0xff);
    };
    auto sum = static_cast<std::uint32_t>(start);
    for (std::size_t k = 0; k < a.size(); ++k) sum += static_cast<std::uint32_t>(value(a[k]) * value(b[k]));
    return sum;
  }
  float sum = float_of(Dtype::f32, start);
  for (std::size_t k = 0; k < a.size(); ++k) sum = std::fma(float_of(input, a[k]), float_of(input, b[k]), sum);
  return bits_of<std::uint32_t>(sum);
}

std::uint32_t rank_of(const Launch& launch, std::uint32_t cta) {
  const std::uint32_t x = cta % launch.grid[0], y = cta / launch.grid[0] % launch.grid[1], z = cta / launch.grid[0] / launch.grid[1];
  return x % launch.cluster[0] + launch.cluster[0] * (y % launch.cluster[1] + launch.cluster[1] * (z % launch.cluster[2]));
}

std::optional<std::int32_t> naive_value(const Kernel& kernel, const Expr& expr, const Thread& thread,
                                        const std::map<std::string, std::int64_t>& loop) {
  switch (expr.op()) {
    case ExprOp::constant: return expr.constant();
    case ExprOp::tid: return wrap(thread.tid);
    case ExprOp::lane: return wrap(thread.tid % 32);
    case ExprOp::warp: return wrap(thread.tid / 32);
    case ExprOp::wg: return wrap(thread.tid / 128);
    case ExprOp::cta: return wrap(thread.cta);
    case ExprOp::rank: return wrap(rank_of(kernel.launch, thread.cta));
    case ExprOp::loop: {
      const auto found = loop.find(expr.loop_name());
      if (found == loop.end()) return std::nullopt;
      return wrap(found->second);
    }
    case ExprOp::word: case ExprOp::reg: return std::nullopt;
    default: break;
  }
  const auto a = naive_value(kernel, expr.a(), thread, loop), b = naive_value(kernel, expr.b(), thread, loop);
  if (!a || !b) return std::nullopt;
  return binary(expr.op(), *a, *b);
}

std::optional<Box> naive_box(const Kernel& kernel, const Region& region, const Thread& thread,
                             const std::map<std::string, std::int64_t>& loop) {
  const Buffer& buffer = kernel.buffers.at(region.buffer);
  Box box{region.buffer, std::vector<std::int64_t>(buffer.shape.size(), 0), buffer.shape};
  if (region.box.empty()) return box;
  if (region.box.size() != buffer.shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < region.box.size(); ++i) {
    const auto lo = naive_value(kernel, region.box[i].lo, thread, loop);
    const auto hi = region.box[i].hi ? naive_value(kernel, *region.box[i].hi, thread, loop) : lo;
    if (!lo || !hi) return std::nullopt;
    box.begin[i] = *lo;
    box.end[i] = region.box[i].hi ? std::int64_t{*hi} : std::int64_t{*lo} + 1;
    if (box.begin[i] < 0 || box.end[i] < box.begin[i] || box.end[i] > buffer.shape[i]) return std::nullopt;
  }
  return box;
}

std::vector<std::int64_t> elements_of(const Kernel& kernel, const Box& box) {
  const std::vector<std::int64_t>& shape = kernel.buffers.at(box.buffer).shape;
  std::vector<std::int64_t> found{0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<std::int64_t> next;
    next.reserve(found.size() * static_cast<std::size_t>(box.end[i] - box.begin[i]));
    for (std::int64_t outer : found)
      for (std::int64_t index = box.begin[i]; index < box.end[i]; ++index) next.push_back(outer * shape[i] + index);
    found = std::move(next);
  }
  return found;
}

}  // namespace tmemsim::reference
