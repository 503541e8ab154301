// Options that several commands share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/profile.hpp"
#include "ir/scenario/scenario.hpp"
#include "sim/sim.hpp"

namespace CLI {
class App;
}

namespace tmemsim::cli {

// Which kernels: --define and --only.
struct KernelOptions {
  std::vector<std::string> define, only;
  LoadOptions load() const { return {define, only}; }
};
void add_options(CLI::App& command, KernelOptions& options);

// How they run: --profile, --set, --policy, --scheduler, --seed, --max-steps.
struct SimOptions {
  std::string profile;  // empty: the scenario's own, else strict
  std::vector<std::string> set;
  std::string policy = "late", scheduler = "round-robin";
  std::uint64_t seed = 0;
  std::uint64_t max_steps = 10'000'000;

  // Many schedules: --schedules N, --scheduler exhaustive; one of them again: --replay TOKEN. Only some commands have them.
  std::uint64_t most_schedules = 0;  // 0: not given
  std::string replay;
  static constexpr std::uint64_t exhaustive_bound = 10'000;
  // How many schedules to run: 1 unless some are asked for. InputError where the options contradict each other.
  std::uint64_t schedules() const;

  // For a scenario whose file names `of_file` (or nothing). InputError for switches and values that do not exist; Unsupported
  // for policies and schedulers that this version does not have.
  sim::Options for_profile(const std::optional<std::string>& of_file) const;
  // The same, with the schedule that --replay names. InputError for a token of another program.
  sim::Options for_run(const std::optional<std::string>& of_file, const Program& program) const;
};
void add_options(CLI::App& command, SimOptions& options);
void add_schedules(CLI::App& command, SimOptions& options);  // --schedules

// The scenario of a command that looks at one run; `shows`: "trace follows". InputError where there are several instances or
// schedules.
Scenario only_run(const std::string& file, const KernelOptions& kernels, const SimOptions& simulation, std::string_view shows);

// An option that takes a whole number; CLI11 alone reads -1 as the largest one.
void add_number(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& what);

// What a machine reads: --format text|json.
void add_format(CLI::App& command, std::string& format, std::vector<std::string> formats = {"text", "json"});
void add_output(CLI::App& command, std::string& path, const std::string& what);

// The last part of a --help: "Examples:" and one command a line.
void add_examples(CLI::App& command, const std::vector<std::string>& lines);

}  // namespace tmemsim::cli
