// What this machine has for running emitted programs: a GPU with its driver, nvcc, a host compiler. All of it is optional.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ir/target.hpp"

namespace tmemsim::diff {

struct Gpu {
  std::string name;         // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  std::string driver;       // "580.159.04", or empty where the driver does not tell
  int driver_cuda = 0;      // the CUDA version that the driver is made for: 13000 is 13.0

  int capability() const { return 10 * major + minor; }
  bool has_tmem() const { return major == 10 || major == 11; }
};

struct Compiler {
  std::filesystem::path program;
  std::string version;      // nvcc: "13.0.88"; host: the first line of --version
  int major = 0, minor = 0;  // nvcc only
};

struct Machine {
  std::optional<Gpu> gpu;
  std::string no_gpu;       // why there is none, one sentence
  std::optional<Compiler> nvcc;
  std::string no_nvcc;
  std::optional<Compiler> host;  // a C++17 compiler for the host
};

// Looks at this machine. The first GPU counts (CUDA_VISIBLE_DEVICES chooses another). The driver is loaded at run time:
// tmemsim itself needs none.
Machine this_machine();
Machine this_machine_without_gpu();  // does not ask the driver

// "9.0".
std::string capability_text(int capability);
// nvcc's --version as numbers: "release 13.0, V13.0.88".
std::optional<Compiler> parse_nvcc_version(const std::string& text);

}  // namespace tmemsim::diff
