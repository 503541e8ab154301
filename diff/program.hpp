// Emitted programs: compiled, and run case by case, so that a kernel that faults or hangs loses only its own case.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace tmemsim::emit {
struct Arch;
}

namespace tmemsim::diff {

// How a text becomes a program.
struct Toolchain {
  std::filesystem::path compiler;
  std::vector<std::string> options;  // in front of the names: "-std=c++17", ...
};

Toolchain nvcc_toolchain(const std::filesystem::path& nvcc, emit::Arch arch);

struct Built {
  bool ok = false;
  std::string reason;  // the compiler's first error line, or why it did not end
};

// Compiles FOLDER/k.cu to FOLDER/k; the compiler's output stands in FOLDER/build.log.
Built build(const Toolchain& toolchain, const std::filesystem::path& folder, std::chrono::milliseconds limit);

// One run of kernel `number` of the program: reads `in`, writes `out`, both relative to the program's folder.
struct Run {
  std::size_t number = 0;
  std::string in, out;
};
struct CaseRuns {
  std::vector<Run> runs;
  bool alone = false;  // in a process of its own: it faulted before
};
struct CaseOutcome {
  bool ok = false;
  std::string reason;  // why not, one sentence
};

// Runs the cases of FOLDER/k, many in one process. When a process faults or makes no progress for `limit`, the case that was
// running is run once more in a process of its own, and what happens there counts; the others go on in a new process.
std::vector<CaseOutcome> run_cases(const std::filesystem::path& folder, const std::vector<CaseRuns>& cases, std::chrono::milliseconds limit);

}  // namespace tmemsim::diff
