#include "cli/pipeline.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <set>

#include <fmt/format.h>

#include "ir/tcgen05.hpp"
#include "report/compare.hpp"
#include "report/status.hpp"
#include "report/text.hpp"
#include "report/worksheet.hpp"
#include "sim/reference/reference.hpp"
#include "sim/schedules/explore.hpp"

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
  result.choices.clear();
  for (const sim::OpenChoice& choice : outcome.choices) result.choices.push_back({choice.at, choice.what});
  result.steps = outcome.steps;
}

void compare(report::RunResult& result, const Program& program, const sim::Outcome& outcome, const Scenario& scenario, bool no_expect) {
  result.writes_global = report::writes_global(*program.kernel, outcome);
  if (outcome.issued_all) result.reference = report::compare_with_reference(program, outcome, reference::run(*program.kernel, outcome.issued));
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

// What tells outcomes of one program apart: status, and which findings.
std::string outcome_text(const report::RunResult& result) {
  std::vector<std::string> parts;
  for (const Finding& finding : result.findings) {
    if (finding.severity == Severity::note) continue;
    const auto place = [](const Ref& ref) { return ref.label.empty() ? ref.path : ref.label; };
    parts.push_back(fmt::format("{} at {}{}", id(finding.verdict), place(finding.at), finding.other ? fmt::format(" (other: {})", place(*finding.other)) : ""));
  }
  std::sort(parts.begin(), parts.end());
  const bool mismatch = result.mismatch() != nullptr;
  if (mismatch) parts.push_back("mismatch");
  return parts.empty() ? std::string(report::name(result.status)) : fmt::format("{}", fmt::join(parts, ", "));
}

// Whether the buffers of tensor memory lie in its columns. A plan that does not fit is a finding before anything runs, even where
// nothing that is to reach the other columns can be lowered.
bool plan_fits(const Kernel& kernel) {
  return std::all_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& buffer) {
    return buffer.space != Space::tmem || buffer.base.value_or(0) + buffer.column + tmem_columns(buffer) <= tcgen05::columns;
  });
}

void leave_out_tiles(Body& body) {
  std::erase_if(body, [](const Stmt& stmt) { return std::holds_alternative<TileOps::Any>(stmt.node); });
  for (Stmt& stmt : body) {
    if (auto* loop = std::get_if<For>(&stmt.node)) leave_out_tiles(loop->body);
    if (auto* loop = std::get_if<While>(&stmt.node)) leave_out_tiles(loop->body);
    if (auto* branch = std::get_if<If>(&stmt.node)) leave_out_tiles(branch->then), leave_out_tiles(branch->otherwise);
  }
}

// One scenario, ready to run.
class Pipeline {
 public:
  Pipeline(const Scenario& scenario, const Program& program, sim::Options how, const PipelineOptions& options)
      : scenario_(scenario), program_(program), how_(std::move(how)), options_(options),
        expect_(options.values ? scenario.expect : without_values(scenario.expect)) {}

  void run(report::RunResult& result) {
    if (!options_.replay.empty()) how_.schedule = sim::from_token(options_.replay, program_);
    if (options_.schedules > 1) return explore(result);
    report::EventLog log;
    const sim::Outcome outcome = sim::run(program_, how_, options_.worksheets ? &log : options_.observer);
    report(result, outcome);
    add_worksheets(result, log);
    result.replay = options_.replay;
    if (options_.after_run) options_.after_run(program_, outcome);
  }

 private:
  void report(report::RunResult& result, const sim::Outcome& outcome) {
    take(result, outcome);
    if (options_.values) compare(result, program_, outcome, scenario_, options_.no_expect);
    else note_never_executed(result, outcome);
  }

  // The first schedule that is not as expected is the one that is shown; without one, the first.
  void explore(report::RunResult& result) {
    report::Explored explored;
    std::optional<sim::Outcome> shown;
    const report::RunResult blank = result;
    bool failed = false;
    const sim::Exploration done = sim::explore(program_, how_, options_.schedules, [&](const sim::Schedule& schedule, const sim::Outcome& outcome) {
      report::RunResult one = blank;
      report(one, outcome);
      judge(one, expect_, {options_.no_expect, options_.werror});
      if (!schedule.points.empty()) one.replay = sim::to_token(schedule, program_);
      count(explored, one);
      if (shown && (failed || one.exit_code == 0)) return true;
      failed = one.exit_code != 0;
      result = std::move(one);
      shown = outcome;
      return true;
    });
    explored.schedules = done.schedules;
    explored.complete = done.complete;
    explored.out_of_steps = done.out_of_steps;
    result.all_schedules = done.complete && explored.outcomes.size() == 1;
    result.explored = std::move(explored);
    if (options_.worksheets) {  // the schedule that is shown, once more
      if (!result.replay.empty()) how_.schedule = sim::from_token(result.replay, program_);
      report::EventLog log;
      sim::run(program_, how_, &log);
      add_worksheets(result, log);
    }
    if (options_.after_run) options_.after_run(program_, *shown);
  }

  void add_worksheets(report::RunResult& result, const report::EventLog& log) const {
    if (!options_.worksheets) return;
    for (const Finding& finding : result.findings) result.worksheets.push_back(report::worksheet(*program_.kernel, log, finding));
  }

  static void count(report::Explored& explored, const report::RunResult& one) {
    const std::string what = outcome_text(one);
    for (report::Explored::Outcome& known : explored.outcomes)
      if (known.what == what && known.as_expected == one.as_expected) return void(++known.count);
    explored.outcomes.push_back({what, 1, one.as_expected, one.replay});
  }

  void note_never_executed(report::RunResult& result, const sim::Outcome& outcome) const {
    result.rules_only = true;
    if (outcome.steps == 0) return;  // a fault that is there before anything runs
    std::set<std::string> known;
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      if (step.kind != Step::Kind::op || outcome.executed[i] || !known.insert(step.stmt->path).second) continue;
      Ref ref;
      ref.at = step.stmt->at;
      ref.path = step.stmt->path;
      ref.label = step.stmt->label;
      ref.op = std::visit([](const auto& op) { return std::string(std::remove_cvref_t<decltype(op)>::row.name); }, std::get<MachineOps::Any>(step.stmt->node));
      result.never_executed.push_back(std::move(ref));
    }
  }

  const Scenario& scenario_;
  const Program& program_;
  sim::Options how_;
  const PipelineOptions& options_;
  const Expect expect_;
};

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

    const bool fits = plan_fits(scenario.kernel);
    Kernel lowered = fits ? kernel_after("lower", scenario) : scenario.kernel;
    if (!fits) leave_out_tiles(lowered.body);
    const Program program = decode(std::make_shared<const Kernel>(std::move(lowered)));
    Pipeline(scenario, program, how, options).run(result);
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
