// Programs that differ from a given one by one synchronising statement: left out, or exchanged with its neighbour.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::tests {

struct Mutant {
  std::string what;  // "without tcgen05.wait::ld (loaded), line 34"
  Kernel kernel;     // at tile level
};

// Every wait, fence, commit, barrier, arrive, init, alloc and dealloc in turn.
std::vector<Mutant> mutants(const Kernel& kernel);

}  // namespace tmemsim::tests
