// The parts of an emitted file.
#pragma once

#include <string>

#include "emit/cuda/cuda.hpp"
#include "emit/emit.hpp"

namespace tmemsim::emit {

// The __global__ function of a kernel with what only it needs in front of it. Adds the device functions that it calls.
struct KernelText {
  std::string text;
  std::vector<BufferId> parameters;  // global buffers that it uses, in order of declaration
  std::vector<BufferId> dumped;      // local buffers whose registers it writes out: parameters behind the others
  std::uint32_t shared_bytes = 0;    // dynamic shared memory
  bool uses_tmem = false;
  Arch least;               // the lowest architecture that it runs on
  bool dumps_tmem = false;  // last parameter: where the tensor memory of all CTAs goes
};
KernelText kernel_text(const Kernel& kernel, const Options& options, DeviceFunctions& functions);

// What the host parts of a program need: the union over its kernels decides what is printed.
struct HostNeeds {
  bool globals = false, inputs = false, outputs = false;
  bool layouts = false;  // buffers that are not row-major
  bool packed = false;   // elements below 8 bits
  bool batch = false;    // several kernels
};
HostNeeds host_needs(const Kernel& kernel, const KernelText& function);

// Errors, .npy files, placing of logical elements: once a program.
std::string common_host_text(const HostNeeds& needs);
// "static void run(in, out)": reads, launches, writes.
std::string run_text(const Kernel& kernel, const KernelText& function, const HostNeeds& needs, Backend backend);
std::string main_text(const HostNeeds& needs);
// Of a batch whose kernels stand in namespaces k0, k1, ...
std::string batch_main_text(const HostNeeds& needs, std::size_t kernels);

inline constexpr int never_written = 0xbd;  // bytes of global memory that nothing initialised

// "int slot_g_A(int x)": where the row-major element x stands, in elements; "" when the buffer is row-major.
std::string slot_function(const Buffer& buffer, std::string_view qualifiers);
std::string slot_function_name(const Buffer& buffer);

}  // namespace tmemsim::emit
