// Whole files: the order of their parts, and what stands at the top.
#include "emit/emit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/device_functions.hpp"
#include "emit/cuda/identifier.hpp"
#include "emit/cuda/program.hpp"

namespace tmemsim::emit {
namespace {

constexpr std::string_view device_includes = "#include <cuda_runtime.h>\n\n#include <cstdint>\n";
constexpr std::string_view host_includes =
    "#include <cuda_runtime.h>\n\n#include <algorithm>\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n#include "
    "<cstring>\n#include <filesystem>\n#include <fstream>\n#include <string>\n#include <vector>\n";

// What stands in front of the device functions: CUDA, or its stand-in for the host, and the emulated tensor memory.
std::string runtime_text(Backend backend, const std::string& functions, bool uses_tmem) {
  std::string text(host_includes);
  if (backend == Backend::host) {
    text.erase(0, text.find("#include <algorithm>"));
    text += "\n" + std::string(host_cuda_text);
    if (functions.find("host_async::") != std::string::npos) text += "\n" + std::string(host_async_text);
  }
  if (backend != Backend::native && uses_tmem) text += "\n" + std::string(emulated_tmem_text);
  return text;
}

std::string comment_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = comment_text(text.substr(0, end));
    lines += line.empty() ? "//\n" : "// " + line + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The line that compiles the file.
std::string build_line(const Kernel& kernel, const Options& options) {
  if (options.backend == Backend::host) return "c++ -std=c++17 -pthread -x c++ FILE.cu -o k";
  if (options.arch) return fmt::format("nvcc {} FILE.cu -o k", nvcc_flags(*options.arch));
  if (options.backend == Backend::emulated) return "nvcc -std=c++17 -arch=native FILE.cu -o k";
  return fmt::format("nvcc {} FILE.cu -o k", nvcc_flags(arch_named(tmemsim::name(kernel.target)).value()));
}

std::string backend_line(Backend backend) {
  switch (backend) {
    case Backend::native:
      return "";
    case Backend::emulated:
      return "// Tensor memory is emulated in global memory: this says nothing about the hardware's.\n";
    case Backend::host:
      return "// Runs on the CPU, with tensor memory emulated: this says nothing about the hardware.\n";
  }
  return "";
}

std::string title(const Kernel& kernel, const Options& options) {
  std::string text = comment_lines(kernel.name);
  if (!kernel.doc.empty()) text += comment_lines(kernel.doc);
  text += fmt::format("//\n// Build: {}    Run: ./k IN OUT\n", build_line(kernel, options)) + backend_line(options.backend);
  text += "// Reads IN/BUFFER.npy for every initialised global buffer, writes OUT/BUFFER.npy for all of them.\n";
  text += "// Exit status: 0; 2 bad arguments or files; 3 a CUDA error.\n";
  const Launch& launch = kernel.launch;
  if (launch.ctas_per_sm > 1)
    text += fmt::format("// The scenario has {} CTAs on each SM; here the hardware decides.\n", launch.ctas_per_sm);
  if (launch.held_columns > 0) {
    text +=
        fmt::format("// In the scenario another kernel holds {} columns of every SM; here nobody does.\n", launch.held_columns);
  }
  return text;
}

}  // namespace

std::string cuda(const Kernel& kernel, const Options& options) {
  DeviceFunctions functions(options.backend);
  const KernelText function = kernel_text(kernel, options, functions);
  const HostNeeds needs = host_needs(kernel, function);
  return title(kernel, options) + runtime_text(options.backend, functions.text(), function.uses_tmem) + functions.text() + function.text +
         common_host_text(needs) + run_text(kernel, function, needs, options.backend) + main_text(needs);
}

Arch least_arch(const Kernel& kernel, const Options& options) {
  DeviceFunctions functions(options.backend);
  return kernel_text(kernel, options, functions).least;
}

std::string cuda_batch(std::span<const Kernel> kernels, const Options& options) {
  DeviceFunctions functions(options.backend);
  std::vector<KernelText> texts;
  HostNeeds needs;
  needs.batch = true;
  bool uses_tmem = false;
  for (const Kernel& kernel : kernels) {
    texts.push_back(kernel_text(kernel, options, functions));
    const HostNeeds own = host_needs(kernel, texts.back());
    needs.globals |= own.globals;
    needs.inputs |= own.inputs;
    needs.outputs |= own.outputs;
    needs.layouts |= own.layouts;
    needs.packed |= own.packed;
    uses_tmem |= texts.back().uses_tmem;
  }
  std::string text = fmt::format("// {} kernels. Run: ./k N IN OUT [N IN OUT]..., N from 0.\n", kernels.size()) +
                     backend_line(options.backend) + runtime_text(options.backend, functions.text(), uses_tmem) + functions.text() +
                     common_host_text(needs);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    text += fmt::format("\n// {}\nnamespace k{} {{\n{}{}\n}}  // namespace k{}\n", comment_text(kernels[i].name), i,
                        texts[i].text, run_text(kernels[i], texts[i], needs, options.backend), i);
  }
  return text + batch_main_text(needs, kernels.size());
}

std::string device_code(std::span<const Kernel> kernels) {
  DeviceFunctions functions;
  std::string texts;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    texts += fmt::format("\nnamespace k{} {{\n{}}}  // namespace k{}\n", i, kernel_text(kernels[i], {}, functions).text, i);
  }
  return std::string(device_includes) + functions.text() + texts;
}

}  // namespace tmemsim::emit
