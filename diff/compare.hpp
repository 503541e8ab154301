// What an emitted program left against what the simulator left: raw bits, wherever the simulator says that something was written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "diff/record.hpp"
#include "ir/program.hpp"
#include "sim/sim.hpp"

namespace tmemsim::diff {

// A program in the simulator: one run, and a second with another seed, scheduler and completion policy.
struct Simulated {
  Program program;
  sim::Options options;
  sim::Outcome run, again;
};

// Runs the program twice.
Simulated simulate(const std::shared_ptr<const Kernel>& machine_level, const sim::Options& options);

// Of the two runs of the simulator, the first place of global memory where they differ; nothing when they agree.
std::optional<Difference> unrepeatable_output(const Simulated& simulated);

struct Compared {
  std::uint64_t elements = 0, registers = 0, cells = 0;
  std::optional<Difference> between_runs;  // two runs of the program differ here (expected: the first run)
  std::optional<Difference> difference;    // the first run differs from the simulator
};

// Compares OUT/<buffer>.npy in `first` and `second`, the folders of two runs of the program, with each other and with the
// simulator. `dump`: also OUT/<buffer>.registers.npy and OUT/tensor-memory.npy, apart from what depends on the simulator's
// schedule, and from cells where CTAs share an SM or another kernel holds columns (their addresses are the hardware's).
// Global elements that the simulator leaves unwritten must still hold what was there before.
// Throws std::runtime_error for a file that is missing or has another form.
Compared compare(const Simulated& simulated, const std::filesystem::path& first, const std::filesystem::path& second, bool dump);

}  // namespace tmemsim::diff
