#include "sim/exec/tensor_math.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tmemsim::sim {
namespace {

// f32 operands of kind tf32 lose their low 13 bits.
float as_float(Dtype dtype, std::uint32_t bits) {
  if (dtype == Dtype::f32) return std::bit_cast<float>(bits);
  if (dtype == Dtype::bf16) return std::bit_cast<float>(bits << 16);
  return static_cast<float>(decode(dtype, bits));
}
float as_operand(Dtype dtype, std::uint32_t bits) {
  if (dtype == Dtype::f32 || dtype == Dtype::tf32) return std::bit_cast<float>(bits & ~0x1fffu);
  return as_float(dtype, bits);
}

// Products of such numbers neither overflow nor lose bits in f32, so that one multiplication and one addition are the same as
// an exact product and one rounding.
bool is_moderate(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return x == 0 || (std::fabs(x) < 0x1p60f && std::fabs(x) > 0x1p-60f); });
}

void multiply_floats(const Product& shape, const std::vector<std::uint32_t>& a_bits, const std::vector<std::uint32_t>& b_bits, bool accumulate,
                     std::vector<std::uint32_t>& d) {
  const auto m = static_cast<std::size_t>(shape.m), n = static_cast<std::size_t>(shape.n), k = static_cast<std::size_t>(shape.k);
  std::vector<float> a(m * k), b(k * n), sum(n);  // b transposed: k x n
  for (std::size_t i = 0; i < m * k; ++i) a[i] = as_operand(shape.a, a_bits[i]);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j) b[j * n + i] = as_operand(shape.b, b_bits[i * k + j]);
  const bool moderate = is_moderate(a) && is_moderate(b);
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t i = 0; i < n; ++i) sum[i] = accumulate ? as_float(shape.d, d[row * n + i]) : 0.0f;
    for (std::size_t j = 0; j < k; ++j) {
      const float factor = a[row * k + j];
      const float* line = b.data() + j * n;
      if (moderate) {
        for (std::size_t i = 0; i < n; ++i) sum[i] += factor * line[i];
      } else {
        for (std::size_t i = 0; i < n; ++i) sum[i] = std::fma(factor, line[i], sum[i]);
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      d[row * n + i] = shape.d == Dtype::f32 ? std::bit_cast<std::uint32_t>(sum[i]) : static_cast<std::uint32_t>(encode(shape.d, static_cast<double>(sum[i])));
  }
}

void multiply_integers(const Product& shape, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, bool accumulate,
                       std::vector<std::uint32_t>& d) {
  const auto n = static_cast<std::size_t>(shape.n), k = static_cast<std::size_t>(shape.k);
  const auto value = [](Dtype dtype, std::uint32_t bits) { return static_cast<std::uint32_t>(decode_int(dtype, bits)); };
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape.m); ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      std::uint32_t sum = accumulate ? d[row * n + column] : 0;
      for (std::size_t j = 0; j < k; ++j) sum += value(shape.a, a[row * k + j]) * value(shape.b, b[column * k + j]);
      d[row * n + column] = sum;
    }
  }
}

}  // namespace

void multiply(const Product& shape, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, bool accumulate,
              std::vector<std::uint32_t>& d) {
  if (shape.d == Dtype::s32) multiply_integers(shape, a, b, accumulate, d);
  else multiply_floats(shape, a, b, accumulate, d);
}

}  // namespace tmemsim::sim
