#include "diff/machine.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "diff/process.hpp"

namespace tmemsim::diff {
namespace {

// A shared library that may not be there.
class Library {
 public:
  explicit Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }

  // Calls a function of the C interface; `missing` when the library has none of that name.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(handle_, name));
    return function == nullptr ? missing : function(arguments...);
  }
  static constexpr int missing = -1;

 private:
  void* handle_;
};

constexpr int cuda_no_device = 100, cuda_driver_mismatch = 803;
constexpr int major_attribute = 75, minor_attribute = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR

std::string driver_version() {
  const Library library("libnvidia-ml.so.1");
  char version[96] = {};
  if (!library || library.call("nvmlInit_v2") != 0) return {};
  if (library.call("nvmlSystemGetDriverVersion", version, static_cast<unsigned>(sizeof(version) - 1)) != 0) version[0] = '\0';
  library.call("nvmlShutdown");
  return version;
}

std::string why_no_gpu(int error) {
  if (error == cuda_no_device) return "the driver finds no GPU";
  if (error == cuda_driver_mismatch) return "the GPU driver's library does not fit its kernel module";
  return fmt::format("the GPU driver does not start (cuInit: error {})", error);
}

void look_for_gpu(Machine& machine) {
  // Stays loaded: the driver's threads do not end with dlclose.
  static const Library library("libcuda.so.1");
  if (!library) {
    machine.no_gpu = "no GPU driver (libcuda.so.1) is installed";
    return;
  }
  if (const int error = library.call("cuInit", 0u); error != 0) {
    machine.no_gpu = why_no_gpu(error);
    return;
  }
  int count = 0, device = 0;
  if (library.call("cuDeviceGetCount", &count) != 0 || count == 0 || library.call("cuDeviceGet", &device, 0) != 0) {
    machine.no_gpu = why_no_gpu(cuda_no_device);
    return;
  }
  Gpu gpu;
  char name[256] = {};
  library.call("cuDeviceGetName", name, static_cast<int>(sizeof(name) - 1), device);
  library.call("cuDeviceGetAttribute", &gpu.major, major_attribute, device);
  library.call("cuDeviceGetAttribute", &gpu.minor, minor_attribute, device);
  library.call("cuDriverGetVersion", &gpu.driver_cuda);
  gpu.name = name;
  gpu.driver = driver_version();
  machine.gpu = gpu;
}

std::optional<std::filesystem::path> find_nvcc() {
  if (const auto program = find_program("nvcc")) return program;
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    const char* root = std::getenv(variable);
    if (root == nullptr || *root == '\0') continue;
    if (const auto program = find_program((std::filesystem::path(root) / "bin" / "nvcc").string())) return program;
  }
  return find_program("/usr/local/cuda/bin/nvcc");
}

std::optional<std::string> version_text(const std::filesystem::path& program) {
  const Ended ended = run({{program.string(), "--version"}, {}, std::chrono::seconds(30)});
  return ended.ok() ? std::optional(ended.output) : std::nullopt;
}

void look_for_nvcc(Machine& machine) {
  const auto program = find_nvcc();
  if (!program) {
    machine.no_nvcc = "nvcc is not installed (looked in PATH, CUDA_PATH, CUDA_HOME and /usr/local/cuda)";
    return;
  }
  const auto text = version_text(*program);
  auto compiler = text ? parse_nvcc_version(*text) : std::nullopt;
  if (!compiler) {
    machine.no_nvcc = fmt::format("{} does not tell its version", program->string());
    return;
  }
  if (std::pair(compiler->major, compiler->minor) < std::pair(12, 8)) {
    machine.no_nvcc = fmt::format("{} is {}: emitted programs need CUDA 12.8 or later", program->string(), compiler->version);
    return;
  }
  compiler->program = *program;
  machine.nvcc = std::move(compiler);
}

void look_for_host_compiler(Machine& machine) {
  for (const char* name : {"c++", "g++", "clang++"}) {
    const auto program = find_program(name);
    const auto text = program ? version_text(*program) : std::nullopt;
    if (!text) continue;
    machine.host = Compiler{*program, text->substr(0, text->find('\n'))};
    return;
  }
}

}  // namespace

std::string capability_text(int capability) { return fmt::format("{}.{}", capability / 10, capability % 10); }

std::optional<Compiler> parse_nvcc_version(const std::string& text) {
  const std::size_t at = text.rfind(", V");
  Compiler compiler;
  if (at == std::string::npos || std::sscanf(text.c_str() + at + 3, "%4d.%4d", &compiler.major, &compiler.minor) != 2) {
    return std::nullopt;
  }
  const std::size_t end = text.find_first_not_of("0123456789.", at + 3);
  compiler.version = text.substr(at + 3, end == std::string::npos ? end : end - at - 3);
  return compiler;
}

Machine this_machine_without_gpu() {
  Machine machine;
  machine.no_gpu = "no GPU was asked for";
  look_for_nvcc(machine);
  look_for_host_compiler(machine);
  return machine;
}

Machine this_machine() {
  Machine machine = this_machine_without_gpu();
  look_for_gpu(machine);
  return machine;
}

}  // namespace tmemsim::diff
