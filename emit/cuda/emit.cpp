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
    "<cstring>\n"
    "#include <filesystem>\n#include <fstream>\n#include <string>\n#include <vector>\n";

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

// The line that compiles the file. The short -arch=sm_100a would also build for plain compute_100, which has no tcgen05.
std::string build_line(Target target) {
  const std::string number(name(target).substr(3));
  return fmt::format("nvcc -std=c++17 -gencode arch=compute_{0},code=sm_{0} FILE.cu -o k", number);
}

std::string title(const Kernel& kernel) {
  std::string text = comment_lines(kernel.name);
  if (!kernel.doc.empty()) text += comment_lines(kernel.doc);
  text += fmt::format("//\n// Build: {}    Run: ./k IN OUT\n", build_line(kernel.target));
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
  DeviceFunctions functions;
  const KernelText function = kernel_text(kernel, options, functions);
  return title(kernel) + std::string(host_includes) + functions.text() + function.text + host_text(kernel, function);
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
