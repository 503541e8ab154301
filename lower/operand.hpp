// One operand of a tile primitive: where the elements of its region live, as digits of the row-major index into the region.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel/kernel.hpp"
#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"
#include "lower/affine.hpp"
#include "lower/threads.hpp"

namespace tmemsim::lower {

// A part of the offset that is no constant: stride * expr on an axis. The same for all threads that execute the primitive.
struct Moving {
  Axis axis = Axis::m;
  Expr expr;
  std::int64_t stride = 0;
};

struct Operand {
  BufferId id = 0;
  const Buffer* buffer = nullptr;
  std::int64_t bits = 0;                 // of an element
  std::vector<std::int64_t> begin;       // of the region, where constant; otherwise the constant part
  std::vector<std::int64_t> extents;     // of the region, one a dimension of the buffer
  std::vector<Iter> shard;               // of the region's elements in row-major order; unit iters left out
  std::vector<Iter> replica;
  Point offset{};
  std::vector<Moving> moving;
  std::optional<Swizzle> swizzle;
  AxisSet named{};                       // axes that the buffer's layout speaks about, also where the region has one coordinate there

  std::int64_t elements() const;
  std::vector<std::int64_t> shape() const;  // extents without unit dimensions
};

// Reason: bounds that differ between threads, extents that are no constant, a region that leaves the buffer, a part of a
// layout that is no layout.
Result<Operand> operand_of(const Kernel& kernel, const Region& region, const Threads& threads);

// The elements of two operands in step: one digit of the index with the place it has in both.
struct Place {
  Axis axis = Axis::m;
  std::int64_t stride = 0;
};
struct Digit {
  std::int64_t extent = 1;
  Place a, b;
};
// Lowest digit first. Reason: the iters have no common refinement (6 as 2 x 3 against 3 x 2).
Result<std::vector<Digit>> digits_in_step(const Operand& a, const Operand& b);

// "A[3, 5]": the element with this row-major index into the operand's region, as an index into the buffer.
std::string element_name(const Operand& operand, std::int64_t index);

}  // namespace tmemsim::lower
