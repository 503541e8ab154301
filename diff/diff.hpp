// tmemsim diff: the same kernel in the simulator and as an emitted program, compared bit for bit.
//
// For each case: simulate twice (another seed, scheduler and completion policy), emit, compile, run twice, compare. Cases are
// compiled and run many at a time; a kernel that faults or hangs loses only its own case.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "diff/machine.hpp"
#include "diff/record.hpp"
#include "diff/results.hpp"
#include "emit/emit.hpp"
#include "ir/scenario/scenario.hpp"
#include "sim/sim.hpp"

namespace tmemsim::diff {

// automatic: native where the GPU has tensor memory or the program needs none, else emulated.
enum class Backend : std::uint8_t { automatic, native, emulated, host };
std::optional<Backend> backend_named(std::string_view name);  // "auto", "native", "emulated", "host"

struct Options {
  Backend backend = Backend::automatic;
  std::optional<emit::Arch> arch;       // default: the GPU's
  bool dump = false;                    // compare registers and tensor memory, too
  std::filesystem::path keep;           // sources, programs, inputs and outputs stay here; empty: they are removed
  std::size_t jobs = 0;                 // at a time; 0: one a core
  std::chrono::seconds limit{20};       // for one case to run
  std::size_t cases_a_module = 0;       // compiled together; 0: chosen
  std::function<sim::Options(const std::optional<std::string>& profile)> simulation;  // default: strict
};

struct Case {
  std::string file;                     // as it was named
  std::optional<Scenario> scenario;     // absent: it could not be loaded
  std::string error;                    // then: why
};

// The instances of a file, or the one case that says why there are none.
std::vector<Case> cases_of(const std::string& file, const LoadOptions& options);
// Copies made at random: numbers [0, count) of a seed.
std::vector<Case> generated_cases(std::uint64_t seed, std::size_t count);

class Differ {
 public:
  // Unsupported, one sentence that says what is missing and what still works: no GPU, no compiler, a driver or GPU too old, code
  // for another GPU.
  Differ(Options options, Machine machine);

  // One result a case, in their order; those of `before` with the same key are taken over. `done` is called as each new result
  // comes, one at a time.
  std::vector<Record> run(const std::vector<Case>& cases, const std::vector<Record>& before, const std::function<void(const Record&)>& done) const;

 private:
  Options options_;
  Machine machine_;
};

// What emitted programs are compiled for on this GPU: its own features where it has some ("sm_90a"), else its capability.
emit::Arch arch_of(const Gpu& gpu);
// Why a program compiled for `arch` does not run on a GPU; nothing when it does.
std::optional<std::string> why_not_run(emit::Arch arch, const Gpu& gpu);
// Whether a statement of the kernel uses tensor memory.
bool uses_tensor_memory(const Kernel& machine_level);

}  // namespace tmemsim::diff
