// Expressions compiled once into postfix code and evaluated for the 32 lanes of a warp together.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/program.hpp"

namespace tmemsim::sim {

class Warp;

// A value in each lane, and what is known of it.
struct LaneValues {
  std::array<std::int32_t, 32> value{};
  std::uint32_t undefined = 0;  // lanes whose value comes from storage that nobody wrote
  std::uint32_t bad = 0;        // lanes whose value depends on something already reported

  // Whether all `lanes` (not 0) have one value.
  bool uniform(std::uint32_t lanes) const;
};

class CompiledExpr {
 public:
  CompiledExpr() = default;
  // `loops` gives the slot of each loop variable around the step, outermost first.
  CompiledExpr(const Program& program, const Step& step, const Expr& expr);

  bool is_constant() const { return constant_; }
  std::int32_t constant() const { return code_.front().value; }
  // Values of `lanes`; the others are unspecified. Registers and loaded words are read (and checked) through the warp.
  void evaluate(Warp& warp, std::uint32_t lanes, LaneValues& out) const;

 private:
  struct Instruction {
    ExprOp op = ExprOp::constant;
    std::int32_t value = 0;     // constant; loop slot; absolute register row
    BufferId buffer = 0;        // word
  };
  void emit(const Program& program, const Step& step, const Expr& expr, std::size_t depth);

  std::vector<Instruction> code_;
  std::size_t depth_ = 0;       // values on the stack at once
  bool constant_ = false;
};

}  // namespace tmemsim::sim
