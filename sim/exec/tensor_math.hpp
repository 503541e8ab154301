// The arithmetic of tcgen05.mma: D[m][n] = (D[m][n] or 0) + sum over k of A[m][k] * B[n][k].
//
// Products are exact; sums are rounded to f32 once a step, in the order of k. An f16 accumulator is rounded once at the end.
// Integers wrap.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/dtype.hpp"

namespace tmemsim::sim {

struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  Dtype a = Dtype::f16, b = Dtype::f16, d = Dtype::f32;
};

// Element bits: `a` m x k, `b` n x k, `d` m x n, all row-major; `d` is replaced.
void multiply(const Product& shape, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b, bool accumulate,
              std::vector<std::uint32_t>& d);

}  // namespace tmemsim::sim
