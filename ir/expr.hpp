// Integer expressions: what stands wherever a kernel needs a number that may depend on the thread, a loop or a loaded word.
//
// Values are 32-bit two's complement and wrap; / and % truncate as in C, comparisons are signed and give 0 or 1, shifts take
// their count modulo 32 and >> keeps the sign. Division by zero has no value: who evaluates reports it at the statement.
// An Expr is an immutable tree, cheap to copy; equality is structural.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tmemsim {

enum class ExprOp : std::uint8_t {
  constant,
  tid, lane, warp, wg, cta, rank,  // thread in CTA, thread in warp, warp in CTA, warpgroup in CTA, CTA in grid, CTA in cluster
  loop,                            // loop variable, by name
  word,                            // 32-bit word `a` of buffer (shared or global), counted in words from its start
  reg,                             // register row `value` of a local buffer
  add, sub, mul, div, mod, bit_and, bit_xor, bit_or, shl, shr,
  eq, ne, lt, le, gt, ge,
};

using BufferId = std::uint16_t;  // index into Kernel::buffers

class Expr {
 public:
  Expr(std::int64_t constant = 0);  // reduced to 32 bits
  static Expr coordinate(ExprOp op);  // tid .. rank
  static Expr loop(std::string name);
  static Expr word(BufferId buffer, Expr index);
  static Expr reg(BufferId buffer, std::uint16_t row);
  static Expr binary(ExprOp op, Expr a, Expr b);  // add .. ge; folds constants, except a division by zero

  ExprOp op() const;
  std::int32_t constant() const;          // op() == constant
  const std::string& loop_name() const;   // op() == loop
  BufferId buffer() const;                // op() == word, reg
  std::uint16_t row() const;              // op() == reg
  Expr a() const;                         // first operand; the index of word
  Expr b() const;

  std::optional<std::int32_t> as_constant() const;
  bool operator==(const Expr& other) const;

  // The value of a binary operator; nothing for a division by zero.
  static std::optional<std::int32_t> apply(ExprOp op, std::int32_t a, std::int32_t b);

  // Calls `visit` for this node and everything below it.
  void for_each_node(const std::function<void(const Expr&)>& visit) const;
  bool uses(ExprOp op) const;
  // Copy in which every node for which `with` gives a replacement is replaced (outermost first).
  Expr replaced(const std::function<std::optional<Expr>(const Expr&)>& with) const;

 private:
  struct Node;
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

// Keyword or operator sign of a node: "tid", "+", "<=", ...
std::string_view spelling(ExprOp op);

inline Expr operator+(Expr a, Expr b) { return Expr::binary(ExprOp::add, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return Expr::binary(ExprOp::mul, std::move(a), std::move(b)); }

}  // namespace tmemsim
