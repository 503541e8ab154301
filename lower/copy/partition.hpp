// How the elements of a copy between registers and memory fall on threads and registers: what the variants of that copy share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lower/copy/access.hpp"
#include "lower/operand.hpp"
#include "lower/threads.hpp"

namespace tmemsim::lower {

// The two operands of the copy in step, sorted by who walks them.
struct Partition {
  std::vector<AxisDigit> owners;             // key: index into thread_strides
  std::vector<std::int64_t> thread_strides;  // memory stride of each owner digit, in bits
  std::vector<StepDigit> steps;              // of one thread: registers and memory, in bits
  Point owner_offset{};
  std::int64_t register_offset = 0, memory_offset = 0;  // in bits
};

// Reason: the iters of the two layouts have no common refinement.
Result<Partition> partition_of(const Operand& local, const Operand& memory, bool is_load);

// Byte term of the digits that the thread's index holds; `strides` in bits, by key of the owner digit.
Expr thread_bytes(const Owners& owners, const std::vector<std::int64_t>& strides);

// A region of registers that moves with a variable has no rows to name.
std::optional<Reason> moving_problem(const Operand& local);

// Two elements of different registers or threads that would be stored to one place.
std::optional<std::string> memory_collides(const Partition& partition, std::int64_t bits);

}  // namespace tmemsim::lower
