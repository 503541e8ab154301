// From a scenario to its result: the passes, in the order in which they happen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/program.hpp"
#include "ir/scenario/scenario.hpp"
#include "lower/lower.hpp"
#include "report/run_result.hpp"
#include "sim/sim.hpp"

namespace tmemsim::cli {

struct PipelineOptions {
  bool values = true;      // compare values (run); without: only the rules (check)
  bool no_expect = false, werror = false;
  bool worksheets = false;  // fill in one for each finding; not together with an observer
  std::uint64_t schedules = 1;  // more: explores up to so many (sim/schedules/explore.hpp)
  std::string replay;      // token of the one schedule to run; empty: the scheduler's
  sim::Observer* observer = nullptr;
  std::function<void(const Program&, const sim::Outcome&)> after_run;  // sees the memory that the run leaves
};

// Names of the passes of `lower`, for --dump-after, in order.
std::vector<std::string_view> pass_names();

// The kernel after a pass: "load" (verified, tile level) or "lower" (machine level). Throws what lowering throws.
Kernel kernel_after(std::string_view pass, const Scenario& scenario, std::vector<lower::Explanation>* explanations = nullptr);

// Runs one scenario. What goes wrong becomes the result's status; nothing is thrown but std::bad_alloc.
// `simulation` is asked once the scenario's profile is known.
report::RunResult run_scenario(const Scenario& scenario, const std::string& file,
                               const std::function<sim::Options(const std::optional<std::string>&)>& simulation, const PipelineOptions& options);

// Does something with a scenario's kernel; a refused lowering and what is unsupported end with a located message on standard
// error and the exit code for it.
int with_located_refusals(const Scenario& scenario, const std::function<int()>& work);

// The result for a file that could not be loaded.
report::RunResult not_loaded(const std::string& file, const InputError& error);

}  // namespace tmemsim::cli
