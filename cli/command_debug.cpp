// tmemsim debug: steps through a run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <fstream>
#include <iostream>

#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/pipeline.hpp"
#include "report/trace/debugger.hpp"

namespace tmemsim::cli {
namespace {

constexpr std::size_t longest_command = 4096;

struct DebugCommand {
  std::string file, commands;
  KernelOptions kernels;
  SimOptions simulation;
  std::uint64_t max_events = 100'000;
};

// Commands of a file are shown before their answers; whoever types sees them anyway.
int talk(report::Debugger& debugger, std::istream& in, bool typed, bool echo) {
  Output output;
  output.add(debugger.greeting());
  std::string line;
  while (!debugger.finished()) {
    if (typed) output.add("> ");
    if (!std::getline(in, line)) break;
    if (line.size() > longest_command) line.resize(longest_command);
    if (echo) output.add(fmt::format("> {}\n", line));
    output.add(debugger.command(line));
  }
  constexpr int bad_input = 2;
  return echo && debugger.mistakes() > 0 ? bad_input : 0;
}

int debug_file(const DebugCommand& command) {
  if (command.file == "-" && command.commands.empty())
    throw InputError("the scenario and the commands cannot both come from standard input", "give --commands FILE");
  std::ifstream script;
  if (!command.commands.empty()) {
    script.open(command.commands);
    if (!script) throw InputError(fmt::format("cannot read {}", command.commands));
  }
  const Scenario scenario = only_run(command.file, command.kernels, command.simulation, "debug steps through");
  return with_located_refusals(scenario, [&] {
    const auto program =
        std::make_shared<const Program>(decode(std::make_shared<const Kernel>(kernel_after("lower", scenario))));
    report::Recording recording;
    const sim::Options how = command.simulation.for_run(scenario.profile, *program);
    report::stream_trace(*program, how, command.max_events, recording);
    report::Debugger debugger(program, recording);
    if (!command.commands.empty()) return talk(debugger, script, false, true);
    const bool typed = ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
    return talk(debugger, std::cin, typed, !typed);
  });
}

}  // namespace

void add_debug(CLI::App& app, Chosen& chosen) {
  const auto debug = std::make_shared<DebugCommand>();
  CLI::App* command = app.add_subcommand("debug", "Step through a run, forwards and backwards, and ask who wrote what");
  command->add_option("file", debug->file, "Scenario, printed kernel, or - for standard input")->required()->type_name("FILE");
  add_options(*command, debug->kernels);
  add_options(*command, debug->simulation);
  command->add_option("--commands", debug->commands, "Take the commands from a file, one a line; exit 2 when one means nothing")
      ->type_name("FILE");
  add_number(*command, "--max-events", debug->max_events, "Keep at most so many events of the run (100,000)");
  add_examples(*command, {"tmemsim debug scenarios/verdicts/raw-st.yaml",
                          "printf 'continue\\nwho cell 5,0\\n' | tmemsim debug scenarios/verdicts/raw-st.yaml"});
  command->callback([&chosen, debug] { chosen = [debug] { return debug_file(*debug); }; });
}

}  // namespace tmemsim::cli
