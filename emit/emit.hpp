// The emitter: a machine-level kernel as readable CUDA C++ with a host program around it.
#pragma once

#include <string>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::emit {

struct Options {
  bool dump = false;   // also write the raw tensor memory and registers at the end (for comparison with the simulator)
};

// One self-contained .cu text. Program: `./k IN OUT` reads IN/<buffer>.npy for every initialised global buffer, writes
// OUT/<buffer>.npy for all global buffers, exits 0, or 3 with one line on a CUDA error.
// Throws Unsupported, located, for what has no emission (exit 4).
std::string cuda(const Kernel& kernel, const Options& options = {});

}  // namespace tmemsim::emit
