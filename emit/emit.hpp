// The emitter: a machine-level kernel as readable CUDA C++ with a host program around it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::emit {

enum class Backend : std::uint8_t {
  native,    // tcgen05 as inline PTX: sm_100a, sm_103a, ...
  emulated,  // tensor memory emulated in global memory, the rest native: any GPU of compute capability 7.5 or later
  host,      // no GPU: tensor memory emulated, every CUDA thread a thread of the host; for a C++17 compiler, with -pthread
};

struct Options {
  // Also write the raw registers and tensor memory at the end, for comparison with the simulator: OUT/<buffer>.registers.npy,
  // u32 [CTAs, threads, registers], and OUT/tensor-memory.npy, u32 [CTAs, 128 lanes, 512 columns]. Only warps 0 to 3 write
  // their quadrants; the others hold 0xbdbdbdbd. Natively the columns are read after the program freed them.
  bool dump = false;
  Backend backend = Backend::native;
};

// One self-contained .cu text. Program: `./k IN OUT` reads IN/<buffer>.npy for every initialised global buffer, writes
// OUT/<buffer>.npy for all global buffers, exits 0, or 3 with one line on a CUDA error, or 2 with one line on bad input.
// The kernel must be verified at Level::machine. Throws Unsupported, located, for what has no emission (exit 4).
//
// What no buffer initialises is never set to zero: registers and shared memory hold whatever the hardware left there, and
// global bytes hold 0xbd, the byte that stands for "never written" in the simulator too.
std::string cuda(const Kernel& kernel, const Options& options = {});

// Many kernels in one text. Program: `./k N IN OUT` runs kernel N (from 0, in the order given).
std::string cuda_batch(std::span<const Kernel> kernels, const Options& options = {});

// The __global__ functions alone, without a host program, so that one compiler run checks many kernels. Every kernel stands
// in a namespace k0, k1, ... in the order given.
std::string device_code(std::span<const Kernel> kernels);

}  // namespace tmemsim::emit
