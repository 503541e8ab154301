// Byte addresses of a shared or global operand, as expressions of the executing thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/expr.hpp"
#include "lower/operand.hpp"
#include "lower/threads.hpp"

namespace tmemsim::lower {

// `start` + step, both in bytes from the start of the buffer, before the swizzle. `start` holds the terms of threads and moving
// bounds and the constant offset; it is the same for all accesses.
class MemoryAddress {
 public:
  // `terms` is the part that differs between threads, in bytes; it is a multiple of `granule` bytes.
  MemoryAddress(const Operand& memory, Expr terms, std::int64_t constant, std::int64_t granule);
  // The byte at which the access `step` bytes further starts.
  Expr at(std::int64_t step) const;

 private:
  struct ByteSwizzle {
    std::int64_t mask = 0;   // bits of the address that are changed (inner) or looked at (outer)
    int distance = 0;
    bool inner = true;
    std::int64_t apply(std::int64_t byte) const;
    Expr apply(const Expr& byte) const;
  };
  Expr terms_;
  std::int64_t constant_, granule_;
  std::optional<ByteSwizzle> swizzle_;
  Expr swizzled_terms_;
};

// Bits that a swizzled operand keeps together; 0 without swizzle. Nothing when its swizzle is not one of bytes.
std::optional<std::int64_t> bits_kept_together(const Operand& memory);

// Byte terms of the moving bounds and the constant offset in bits of an operand; reason when a moving bound is not on axis m.
struct MovingTerms {
  Expr bytes{0};
  std::int64_t granule = 0;  // greatest common divisor of the coefficients in bytes; 0: no terms
};
MovingTerms moving_bytes(const Operand& memory);

}  // namespace tmemsim::lower
