// The emitter: a machine-level kernel as readable CUDA C++ with a host program around it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::emit {

enum class Backend : std::uint8_t {
  native,    // tcgen05 as inline PTX: sm_100a, sm_103a, ...
  emulated,  // tensor memory emulated in global memory, the rest native: any GPU of compute capability 7.5 or later
  host,      // no GPU: tensor memory emulated, every CUDA thread a thread of the host; for a C++17 compiler, with -pthread
};

// What a program is compiled for: compute capability times ten, and 'a' or 'f' for its own features. sm_90a is {90, 'a'}.
struct Arch {
  int capability = 0;
  char feature = 0;
  bool operator==(const Arch&) const = default;
};
std::optional<Arch> arch_named(std::string_view name);  // "sm_75", "sm_90a"; from sm_75 on
std::string name(Arch arch);
std::string nvcc_flags(Arch arch);  // "-std=c++17 -gencode arch=compute_90a,code=sm_90a"

struct Options {
  // Also write the raw registers and tensor memory at the end, for comparison with the simulator: OUT/<buffer>.registers.npy,
  // u32 [CTAs, threads, registers], and OUT/tensor-memory.npy, u32 [CTAs, 128 lanes, 512 columns]. Only warps 0 to 3 write
  // their quadrants; the others hold 0xbdbdbdbd. Natively the columns are read after the program freed them.
  bool dump = false;
  Backend backend = Backend::native;
  // The program will be compiled for it: an operation that it lacks is Unsupported. Absent: natively the kernel's target counts;
  // the emulated program may run on any GPU that has what it uses (least_arch).
  std::optional<Arch> arch = std::nullopt;
};

// The lowest architecture that the emitted program runs on: sm_75, or what its operations ask for. Host programs: sm_75.
// Throws what cuda() throws.
Arch least_arch(const Kernel& kernel, const Options& options);

// One self-contained .cu text. Program: `./k IN OUT` reads IN/<buffer>.npy for every initialised global buffer, writes
// OUT/<buffer>.npy for all global buffers, exits 0, or 3 with one line on a CUDA error, or 2 with one line on bad input.
// The kernel must be verified at Level::machine. Throws Unsupported, located, for what has no emission (exit 4).
//
// What no buffer initialises is never set to zero: registers and shared memory hold whatever the hardware left there, and
// global bytes hold 0xbd, the byte that stands for "never written" in the simulator too.
std::string cuda(const Kernel& kernel, const Options& options = {});

// Many kernels in one text. Program: `./k N IN OUT [N IN OUT]...` runs kernels N (from 0, in the order given) one after the
// other, and says "run N" and "done N" on standard output around each. The line of an error names the kernel; what was done
// before it is complete.
std::string cuda_batch(std::span<const Kernel> kernels, const Options& options = {});

// The __global__ functions alone, without a host program, so that one compiler run checks many kernels. Every kernel stands
// in a namespace k0, k1, ... in the order given.
std::string device_code(std::span<const Kernel> kernels);

}  // namespace tmemsim::emit
