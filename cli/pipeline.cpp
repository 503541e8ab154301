#include "cli/pipeline.hpp"

#include <array>
#include <new>

#include <fmt/format.h>

#include "report/compare.hpp"
#include "report/status.hpp"
#include "report/text.hpp"
#include "report/worksheet.hpp"
#include "sim/reference/reference.hpp"

namespace tmemsim::cli {
namespace {

constexpr std::array<std::string_view, 2> passes{"load", "lower"};

std::string_view name(sim::Policy policy) {
  constexpr std::array<std::string_view, 4> names{"early", "late", "random", "adversarial"};
  return names[static_cast<std::size_t>(policy)];
}

void take(report::RunResult& result, const sim::Outcome& outcome) {
  result.findings = outcome.findings;
  result.all_schedules = outcome.all_schedules;
  result.unordered = outcome.unordered;
  result.steps = outcome.steps;
}

void compare(report::RunResult& result, const Program& program, const sim::Outcome& outcome, const Scenario& scenario, bool no_expect) {
  const reference::Outcome reference = reference::run(*program.kernel, outcome.issued);
  result.writes_global = report::writes_global(*program.kernel, outcome);
  result.reference = report::compare_with_reference(program, outcome, reference);
  if (!no_expect) result.stated = report::compare_with_stated(program, outcome, scenario.expect);
}

std::string without_line_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void fail(report::RunResult& result, std::string reason, int exit) {
  result.error = without_line_end(std::move(reason));
  result.error_exit = exit;
}

Expect without_values(Expect expect) {
  expect.equal.clear();
  expect.cells.clear();
  expect.registers.clear();
  return expect;
}

}  // namespace

std::vector<std::string_view> pass_names() { return {passes.begin(), passes.end()}; }

Kernel kernel_after(std::string_view pass, const Scenario& scenario, std::vector<lower::Explanation>* explanations) {
  if (pass == passes[0]) return scenario.kernel;  // load_scenarios() has verified it at tile level
  Kernel machine = lower::lower(scenario.kernel, explanations);
  verify(machine, Level::machine);
  return machine;
}

report::RunResult run_scenario(const Scenario& scenario, const std::string& file,
                               const std::function<sim::Options(const std::optional<std::string>&)>& simulation, const PipelineOptions& options) {
  report::RunResult result;
  result.file = file;
  result.scenario = scenario.kernel.name;
  result.instance = scenario.instance;
  try {
    const sim::Options how = simulation(scenario.profile);
    result.profile = how.profile.name();
    result.policy = name(how.policy);
    result.seed = how.seed;
    result.kernel = std::make_shared<const Kernel>(scenario.kernel);

    const auto machine = std::make_shared<const Kernel>(kernel_after("lower", scenario));
    const Program program = decode(machine);
    report::EventLog log;
    const sim::Outcome outcome = sim::run(program, how, options.worksheets ? &log : options.observer);
    take(result, outcome);
    if (options.worksheets)
      for (const Finding& finding : outcome.findings) result.worksheets.push_back(report::worksheet(*machine, log, finding));
    if (options.values) compare(result, program, outcome, scenario, options.no_expect);
    if (options.after_run) options.after_run(program, outcome);
  } catch (const lower::Refused& refused) {
    result.unsupported = without_line_end(refused.text());
    result.unsupported_at = refused.at();
  } catch (const Unsupported& unsupported) {
    result.unsupported = unsupported.reason();
    if (unsupported.at().line > 0) result.unsupported_at = unsupported.at();
  } catch (const InputError& error) {
    fail(result, error.what(), 2);
  } catch (const std::bad_alloc&) {
    fail(result, fmt::format("{}: error: not enough memory for {}", file, scenario.instance), 3);
  } catch (const std::exception& error) {
    fail(result, fmt::format("{}: internal error, please report: {}", file, error.what()), 3);
  }
  judge(result, options.values ? scenario.expect : without_values(scenario.expect), {options.no_expect, options.werror});
  return result;
}

int with_located_refusals(const Scenario& scenario, const std::function<int()>& work) {
  constexpr int unsupported_exit = 4;
  const auto refuse = [&](SourceLoc at, const std::string& reason) {
    fmt::print(stderr, "{}", report::unsupported_text(std::make_shared<const Kernel>(scenario.kernel), at, reason));
    return unsupported_exit;
  };
  try {
    return work();
  } catch (const lower::Refused& refused) {
    return refuse(refused.at(), refused.text());
  } catch (const Unsupported& unsupported) {
    return refuse(unsupported.at(), unsupported.reason());
  }
}

report::RunResult not_loaded(const std::string& file, const InputError& error) {
  report::RunResult result;
  result.file = file;
  fail(result, error.what(), 2);
  judge(result, {});
  return result;
}

}  // namespace tmemsim::cli
