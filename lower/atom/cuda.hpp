// A call of an atom of the ptx target as CUDA: one __device__ function with the instruction as inline PTX.
//
// Memory form: registers are words in memory (uint32_t*), and so is the predicate (bool*). Value form: registers come and go as
// Registers<N>, the predicate as a bool. A predicated call that yields registers keeps their old values where the predicate is
// false. Memory operands are a pointer (global), a shared address or a TMEM address; state that the instruction reads, such as
// descriptors, are parameters of the state's names.
#pragma once

#include <string>
#include <string_view>

#include "lower/atom/call.hpp"

namespace tmemsim::lower {

// What stands in front of the functions, once.
extern const std::string_view cuda_prelude;

// Reason: no atom of the ptx target, registers that do not lie side by side, or a second result that a call has no operand for.
Result<std::string> cuda_function(const AtomCall& call, std::string_view name);

}  // namespace tmemsim::lower
