// Register rows of one warp, covered exactly by the fewest tcgen05.ld or .st.
//
// A row is one 32-bit register of all 32 threads. Where its cells lie has a pattern; each pattern belongs to one shape (all
// patterns of all shapes differ), so rows of a shape form chains along the columns, and cutting each chain widest first gives
// the least number of instructions: an instruction is a power-of-two piece of one chain, and two equal pieces below the
// largest .num can be merged in count, because columns need no alignment.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/op.hpp"
#include "ir/result.hpp"

namespace tmemsim::lower {

// How lane and column of a row change with each bit of the thread's lane; columns of 32 bits.
struct RowPattern {
  std::array<std::int32_t, 5> lane{}, column{};
  bool packed = false;     // the register's halves are the low halves of two neighbouring cells
  bool operator==(const RowPattern&) const = default;
};

struct RowType {
  Shape shape = Shape::s32x32b;
  bool packed = false;
  std::int32_t half = 0;   // immHalfSplitoff of 16x32bx2
  bool operator==(const RowType&) const = default;
};
// The only shape whose rows have this pattern, or nothing.
std::optional<RowType> type_of(const RowPattern& pattern);

struct Row {
  std::uint16_t reg = 0;
  std::int32_t lane = 0;    // of thread 0, in the quadrant: 0..31
  std::int32_t column = 0;  // of thread 0 (its low half when packed)
};

struct Issue {
  RowType type;
  int num = 1;
  std::int32_t lane = 0;    // 0 or 16
  std::int32_t column = 0;
  std::vector<std::uint16_t> registers;
};

// What keeps a row from being part of any instruction.
struct Uncovered {
  Row row;
  std::string reason;
};
// By first register. `rows` may name a cell twice (registers that hold the same element).
std::variant<std::vector<Issue>, Uncovered> cover(const RowType& type, std::vector<Row> rows);

}  // namespace tmemsim::lower
