// Random kernels for property tests: every operation, every kind of operand, every statement, at both levels. Operations are
// made by folding over the operation lists, so a new one is covered without a change here. The kernels make no sense to run.
#pragma once

#include <cstdint>
#include <random>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::tests {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  std::uint32_t below(std::size_t count) { return static_cast<std::uint32_t>(engine_() % count); }
  bool chance(std::uint32_t one_in) { return below(one_in) == 0; }

 private:
  std::mt19937_64 engine_;
};

Expr random_expr(Random& random, const Kernel& kernel, int levels = 4);
Where random_where(Random& random);
Kernel random_kernel(Random& random, Level level);  // paths are set

}  // namespace tmemsim::tests
