// tmemsim probe: questions for hardware with tensor memory.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "diff/diff.hpp"
#include "diff/probe/probe.hpp"
#include "ir/atomic_file.hpp"

namespace tmemsim::cli {
namespace {

struct ProbeCommand {
  std::vector<std::string> only;
  std::string write, keep, output;
  std::uint32_t jobs = 0, limit = 20;
  bool list = false;
};

int list(const std::vector<const diff::Probe*>& probes) {
  Output output;
  for (const diff::Probe* probe : probes) {
    output.add(fmt::format("{}: {}\n", probe->name, probe->question));
    for (const diff::Assumption& assumption : diff::answer_of(*probe, {}).assumptions) {
      output.add(fmt::format("  {:<8} {}\n", assumption.profile + ":", assumption.assumption));
    }
  }
  output.close();
  return 0;
}

int write(const std::vector<const diff::Probe*>& probes, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(fmt::format("folder {} cannot be made: {}", folder, error.message()));
  for (const diff::Probe* probe : probes) {
    write_file_atomically(std::filesystem::path(folder) / (std::string(probe->name) + ".cu"), diff::probe_program(*probe));
  }
  return 0;
}

int ask(const ProbeCommand& command) {
  const diff::Machine machine = diff::this_machine();
  diff::ProbeOptions options;
  options.only = command.only;
  options.keep = command.keep;
  options.jobs = command.jobs;
  options.limit = std::chrono::seconds(command.limit);
  Output output;
  const auto answers = diff::run_probes(options, machine, [&](const diff::Answer& answer) { output.add(diff::text(answer)); });
  output.close();
  if (command.output.empty()) return 0;
  Output report(command.output);
  report.add(diff::probe_report(machine, diff::arch_of(*machine.gpu), answers));
  report.close();
  return 0;
}

int run(const ProbeCommand& command) {
  const auto probes = diff::chosen_probes(command.only);
  if (command.list) return list(probes);
  if (!command.write.empty()) return write(probes, command.write);
  return ask(command);
}

}  // namespace

void add_probe(CLI::App& app, Chosen& chosen) {
  const auto probe = std::make_shared<ProbeCommand>();
  CLI::App* command = app.add_subcommand("probe", "Ask the GPU what the ISA leaves open, next to what each profile assumes");
  command->add_flag("--list", probe->list, "Show the questions and what the profiles assume; needs no GPU");
  command->add_option("--only", probe->only, "Only this probe; may be repeated")->allow_extra_args(false)->type_name("NAME");
  command->add_option("--write", probe->write, "Write the programs as CUDA text instead of running them; needs no GPU")->type_name("DIR");
  command->add_option("--keep", probe->keep, "Keep sources and programs")->type_name("DIR");
  command->add_option("--jobs", probe->jobs, "Compilers at a time (one a core)")->check(CLI::Range(1u, 1024u))->type_name("N");
  command->add_option("--timeout", probe->limit, "Seconds for one probe to run (20)")->check(CLI::Range(1u, 86400u))->type_name("S");
  add_output(*command, probe->output, "Also write all answers to a file, as JSON");
  add_examples(*command, {"tmemsim probe --list", "tmemsim probe --only unpack-high-half --write probes"});
  command->callback([&chosen, probe] { chosen = [probe] { return run(*probe); }; });
}

}  // namespace tmemsim::cli
