// An atom of the rocdl target as LLVM intermediate text: a function with the operands as arguments and one call of the
// intrinsic. `clang --target=amdgcn-amd-amdhsa -mcpu=CHIP -c` assembles it, if that clang knows the chip.
#pragma once

#include <string>
#include <vector>

#include "ir/atom/atom.hpp"

namespace tmemsim::lower {

struct AmdgcnModule {
  std::string text;
  std::vector<std::string> chips;  // that have the instruction, newest first
};
// Reason: no instruction of this target, or one without an intrinsic that is described here (the tensor data mover).
Result<AmdgcnModule> amdgcn_module(const atom::Payload& payload);

}  // namespace tmemsim::lower
