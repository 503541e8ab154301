// tmemsim run, tmemsim check.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/arrays.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/pipeline.hpp"
#include "report/json.hpp"
#include "report/sarif.hpp"
#include "report/status.hpp"
#include "report/text.hpp"

namespace tmemsim::cli {
namespace {

struct RunCommand {
  std::vector<std::string> files;
  KernelOptions kernels;
  SimOptions simulation;
  bool no_expect = false, werror = false, explain = false;
  std::vector<std::string> save, print;
  std::string format, output;
  bool values = true;
};

class Runner {
 public:
  explicit Runner(const RunCommand& command) : command_(command), output_(command.output) {
    for (const std::string& assignment : command.save) saves_.push_back(parse_save(assignment));
  }

  int run() {
    for (const std::string& file : command_.files) run_file(file);
    if (results_ > 1 && command_.format == "text")
      output_.add(fmt::format("{} runs, {} as expected\n", results_, expected_));
    if (command_.format == "sarif") output_.add(report::sarif(kept_, version));
    if (command_.format == "junit") output_.add(report::junit(kept_));
    output_.close();
    return report::exit_code(codes_);
  }

 private:
  void run_file(const std::string& file) {
    std::vector<Scenario> scenarios;
    try {
      scenarios = load_scenarios(file, command_.kernels.load());
    } catch (const InputError& error) {
      return finish(not_loaded(file, error));
    }
    if (scenarios.size() > 1 && !command_.simulation.replay.empty())
      throw InputError(fmt::format("--replay needs one run, {} has {}", file, scenarios.size()), "choose one with --only NAME=VALUE");
    if (scenarios.size() > 1 && (!saves_.empty() || !command_.print.empty()))
      throw InputError(fmt::format("--save and --print need one run, {} has {}", file, scenarios.size()), "choose one with --only NAME=VALUE");
    for (const Scenario& scenario : scenarios) run_one(scenario, file);
  }

  void run_one(const Scenario& scenario, const std::string& file) {
    std::string printed;
    PipelineOptions options;
    options.values = command_.values;
    options.no_expect = command_.no_expect;
    options.werror = command_.werror;
    options.worksheets = command_.explain;
    options.schedules = command_.simulation.schedules();
    options.replay = command_.simulation.replay;
    options.after_run = [&](const Program& program, const sim::Outcome& outcome) {
      if (!command_.values) return;
      write_out_files(program, outcome.image);
      for (const Save& what : saves_) save(program, outcome.image, what);
      for (const std::string& region : command_.print) printed += region_text(program, outcome.image, region);
    };
    const auto simulation = [&](const std::optional<std::string>& profile) { return command_.simulation.for_profile(profile); };
    finish(run_scenario(scenario, file, simulation, options));
    if (printed.empty()) return;
    if (command_.format == "text") output_.add(printed);
    else fmt::print(stderr, "{}", printed);
  }

  void finish(const report::RunResult& result) {
    codes_.push_back(result.exit_code);
    ++results_;
    expected_ += result.as_expected;
    if (command_.format == "sarif" || command_.format == "junit") {
      kept_.push_back(result);  // one document for all
    } else if (command_.format == "json") {
      output_.add(report::json(result) + "\n");
    } else if (result.status == report::Status::error) {
      fmt::print(stderr, "{}\n", result.reason);
    } else {
      output_.add(report::text(result, {output_.is_terminal(), command_.explain}));
    }
  }

  const RunCommand& command_;
  Output output_;
  std::vector<Save> saves_;
  std::vector<report::RunResult> kept_;
  std::vector<int> codes_;
  std::size_t results_ = 0, expected_ = 0;
};

void add_common(CLI::App& app, RunCommand& command) {
  app.add_option("files", command.files, "Scenarios (.yaml), printed kernels (.kernel), or - for standard input")->required()->type_name("FILE");
  add_options(app, command.kernels);
  add_options(app, command.simulation);
  add_schedules(app, command.simulation);
  app.add_flag("--no-expect", command.no_expect, "Leave the scenario's `expect` aside");
  app.add_flag("--werror", command.werror, "With --no-expect: a warning fails, too");
  app.add_flag("--explain", command.explain, "Show notes, too, and of each finding the worksheet of the storage: who uses it, how it is handed over");
  add_format(app, command.format, {"text", "json", "sarif", "junit"});
  add_output(app, command.output, "Write the answer to a file");
}

}  // namespace

void add_run(CLI::App& app, Chosen& chosen) {
  const auto run = std::make_shared<RunCommand>();
  CLI::App* run_app = app.add_subcommand("run", "Load, lower, simulate, and compare with the reference and with `expect`");
  add_common(*run_app, *run);
  run_app->add_option("--save", run->save, "Write what a buffer holds at the end; may be repeated")->allow_extra_args(false)->type_name("BUFFER=FILE.npy");
  run_app->add_option("--print", run->print, "Show a region of a buffer at the end; may be repeated")->allow_extra_args(false)->type_name("REGION");
  add_examples(*run_app, {"tmemsim run scenarios/seeds/smem_roundtrip_f32.yaml", "tmemsim run scenarios/lessons/*.yaml",
                          "tmemsim run scenarios/verdicts/raw-st.yaml --format json",
                          "tmemsim run --explain scenarios/verdicts/raw-st.yaml", "tmemsim run scenarios/seeds/*.yaml --format junit -o report.xml",
                          "tmemsim run scenarios/seeds/tmem_roundtrip_f16.yaml --policy random --seed 7 --save B=B.npy --print \"B[0:2, 0:8]\""});
  run_app->callback([&chosen, run] { chosen = [run] { return Runner(*run).run(); }; });

  const auto check = std::make_shared<RunCommand>();
  check->values = false;
  CLI::App* check_app = app.add_subcommand("check", "Look for broken rules only: values are not compared, files not written");
  add_common(*check_app, *check);
  add_examples(*check_app, {"tmemsim check scenarios/verdicts/raw-st.yaml", "tmemsim check scenarios/verdicts/raw-st.yaml --format sarif", "tmemsim check --profile lenient scenarios/lessons/life_cycle.yaml"});
  check_app->callback([&chosen, check] { chosen = [check] { return Runner(*check).run(); }; });
}

}  // namespace tmemsim::cli
