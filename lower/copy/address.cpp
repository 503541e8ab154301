#include "lower/copy/address.hpp"

#include <bit>
#include <numeric>

namespace tmemsim::lower {
namespace {

constexpr std::int64_t bits_per_byte = 8;

// log2 of the bytes of an element (negative below a byte); nothing when that is no power of two.
std::optional<int> element_shift(std::int64_t bits) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(bits))) return std::nullopt;
  return std::countr_zero(static_cast<std::uint64_t>(bits)) - 3;
}

}  // namespace

std::optional<std::int64_t> bits_kept_together(const Operand& memory) {
  if (!memory.swizzle || memory.swizzle->swizzle_len == 0) return 0;
  const auto shift = element_shift(memory.bits);
  if (!shift || memory.swizzle->per_element + *shift < 0 || memory.swizzle->per_element > 20) return std::nullopt;
  return memory.bits << memory.swizzle->per_element;
}

MovingTerms moving_bytes(const Operand& memory) {
  MovingTerms result;
  for (const Moving& moving : memory.moving) {
    const std::int64_t bytes = moving.stride * memory.bits / bits_per_byte;
    result.bytes = sum(result.bytes, scaled(moving.expr, bytes));
    result.granule = std::gcd(result.granule, bytes);
  }
  return result;
}

std::int64_t MemoryAddress::ByteSwizzle::apply(std::int64_t byte) const {
  return inner ? byte ^ ((byte >> distance) & mask) : byte ^ ((byte & mask) << distance);
}

Expr MemoryAddress::ByteSwizzle::apply(const Expr& byte) const {
  const Expr phase = inner ? Expr::binary(ExprOp::bit_and, Expr::binary(ExprOp::shr, byte, Expr(distance)), Expr(mask))
                           : Expr::binary(ExprOp::shl, Expr::binary(ExprOp::bit_and, byte, Expr(mask)), Expr(distance));
  return Expr::binary(ExprOp::bit_xor, byte, phase);
}

MemoryAddress::MemoryAddress(const Operand& memory, Expr terms, std::int64_t constant, std::int64_t granule)
    : terms_(std::move(terms)), constant_(constant), granule_(granule) {
  if (!memory.swizzle || memory.swizzle->swizzle_len == 0) return;
  const Swizzle& swizzle = *memory.swizzle;
  const int low = swizzle.per_element + element_shift(memory.bits).value_or(0);
  swizzle_ = ByteSwizzle{((std::int64_t{1} << swizzle.swizzle_len) - 1) << low, swizzle.atom_len, swizzle.inner};
  swizzled_terms_ = terms_.as_constant() ? Expr(0) : swizzle_->apply(terms_);
}

// The swizzle is linear over xor: where the thread's terms and the rest share no bit, each is swizzled by itself, and the
// thread's part is the same for every access.
Expr MemoryAddress::at(std::int64_t step) const {
  const std::int64_t rest = constant_ + step;
  if (!swizzle_) return sum(terms_, Expr(rest));
  if (const auto constant = terms_.as_constant()) return Expr(swizzle_->apply(*constant + rest));
  const std::int64_t lowest = granule_ & -granule_;
  if (0 <= rest && rest < lowest) return Expr::binary(ExprOp::bit_xor, swizzled_terms_, Expr(swizzle_->apply(rest)));
  return swizzle_->apply(sum(terms_, Expr(rest)));
}

}  // namespace tmemsim::lower
