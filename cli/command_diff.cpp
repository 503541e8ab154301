// tmemsim diff: the simulator against emitted programs.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <set>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "diff/diff.hpp"
#include "diff/results.hpp"
#include "ir/atomic_file.hpp"

namespace tmemsim::cli {
namespace {

struct DiffCommand {
  std::vector<std::string> files;
  KernelOptions kernels;
  std::string profile;
  std::vector<std::string> set;
  std::string backend = "auto", arch, keep, shard, format, output;
  std::uint32_t jobs = 0, limit = 20, a_module = 0;
  std::uint64_t generate = 0, seed = 0;
  bool dump = false, resume = false, merge = false;
};

diff::Format format_named(const std::string& name) {
  return name == "jsonl" ? diff::Format::jsonl : name == "junit" ? diff::Format::junit : diff::Format::text;
}

diff::Options options_of(const DiffCommand& command) {
  diff::Options options;
  options.backend = diff::backend_named(command.backend).value();
  if (!command.arch.empty()) {
    options.arch = emit::arch_named(command.arch);
    if (!options.arch) throw InputError(fmt::format("there is no architecture '{}'", command.arch), "sm_75, sm_90a, sm_100a, ...");
  }
  options.dump = command.dump;
  options.keep = command.keep;
  options.jobs = command.jobs;
  options.limit = std::chrono::seconds(command.limit);
  options.cases_a_module = command.a_module;
  options.simulation = [&command](const std::optional<std::string>& of_file) {
    SimOptions simulation;
    simulation.profile = command.profile;
    simulation.set = command.set;
    return simulation.for_profile(of_file);
  };
  options.simulation(std::nullopt);  // wrong switches show at once
  return options;
}

std::vector<diff::Case> all_cases(const DiffCommand& command) {
  std::vector<diff::Case> cases;
  const auto take = [&](std::vector<diff::Case> more) {
    for (diff::Case& one : more) cases.push_back(std::move(one));
  };
  for (const std::string& file : command.files) take(diff::cases_of(file, command.kernels.load()));
  take(diff::generated_cases(command.seed, command.generate));
  if (command.shard.empty()) return cases;
  const diff::Shard shard = diff::parse_shard(command.shard);
  std::vector<diff::Case> own;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (shard.has(i)) own.push_back(std::move(cases[i]));
  }
  return own;
}

int answer(const DiffCommand& command, const std::vector<diff::Record>& records) {
  Output output;
  output.add(diff::report(records, format_named(command.format)));
  output.close();
  return diff::exit_code(records);
}

int merge(const DiffCommand& command) {
  if (command.files.empty()) throw InputError("there is nothing to merge", "name files of results: tmemsim diff --merge part1.jsonl part2.jsonl");
  std::vector<std::vector<diff::Record>> lists;
  for (const std::string& file : command.files) lists.push_back(diff::read_records(file));
  const std::vector<diff::Record> records = diff::merged(lists);
  if (command.output.empty()) return answer(command, records);
  write_file_atomically(command.output, diff::report(records, format_named(command.format)));
  return diff::exit_code(records);
}

int compare(const DiffCommand& command) {
  if (command.files.empty() && command.generate == 0) throw InputError("there is nothing to compare", "name scenarios, or --generate N");
  if (command.resume && command.output.empty()) throw InputError("--resume goes on with the results in a file", "name it with -o FILE");
  diff::Options options = options_of(command);
  const diff::Differ differ(options, options.backend == diff::Backend::host ? diff::this_machine_without_gpu() : diff::this_machine());
  const std::vector<diff::Case> cases = all_cases(command);
  if (command.output.empty()) return answer(command, differ.run(cases, {}, {}));

  diff::Journal journal(command.output, command.resume);
  std::size_t finished = 0;
  const bool shows_progress = ::isatty(STDERR_FILENO) != 0;
  const auto done = [&](const diff::Record& record) {
    journal.add(record);
    if (shows_progress) fmt::print(stderr, "\r{} cases", ++finished);
  };
  const std::vector<diff::Record> records = differ.run(cases, journal.before(), done);
  if (shows_progress) fmt::print(stderr, "\r");
  journal.finish(diff::report(records, format_named(command.format)));
  fmt::print(stderr, "{}", diff::summary(records));
  return diff::exit_code(records);
}

}  // namespace

void add_diff(CLI::App& app, Chosen& chosen) {
  const auto diff = std::make_shared<DiffCommand>();
  CLI::App* command = app.add_subcommand("diff", "Run kernels as emitted programs and in the simulator, and compare bit for bit");
  command->add_option("files", diff->files, "Scenarios (.yaml), printed kernels (.kernel); with --merge: results (.jsonl)")->type_name("FILE");
  command->add_option("--backend", diff->backend, "What runs: native code, tensor memory emulated on any GPU, or all of it on the CPU (auto: native where the GPU can)")
      ->check(CLI::IsMember({"auto", "native", "emulated", "host"}))->type_name("auto|native|emulated|host");
  command->add_option("--arch", diff->arch, "Compile for it (default: this GPU's, with its own features)")->type_name("sm_NN");
  command->add_flag("--dump", diff->dump, "Compare the registers of every thread and tensor memory, too");
  add_options(*command, diff->kernels);
  command->add_option("--generate", diff->generate, "Also N copies through tensor memory, made at random")->check(CLI::Range(0u, 1000000u))->type_name("N");
  add_number(*command, "--seed", diff->seed, "Of the generated copies (0)");
  command->add_option("--profile", diff->profile, "Severities (default: the scenario's, else strict): what has errors is not compared")
      ->check(CLI::IsMember({"strict", "lenient"}))->type_name("strict|lenient");
  command->add_option("--set", diff->set, "Set one switch of the profile; may be repeated")->allow_extra_args(false)->type_name("SWITCH=VALUE");
  command->add_option("--keep", diff->keep, "Keep sources, programs, inputs and outputs")->type_name("DIR");
  command->add_option("--jobs", diff->jobs, "Compilers and programs at a time (one a core)")->check(CLI::Range(1u, 1024u))->type_name("N");
  command->add_option("--timeout", diff->limit, "Seconds for one case to run (20)")->check(CLI::Range(1u, 86400u))->type_name("S");
  command->add_option("--together", diff->a_module, "Cases compiled into one program (chosen)")->check(CLI::Range(1u, 1000u))->type_name("N");
  command->add_option("--shard", diff->shard, "Only every n-th case, from the i-th")->type_name("i/n");
  add_format(*command, diff->format, {"text", "jsonl", "junit"});
  add_output(*command, diff->output, "Write the answer to a file; FILE.partial holds the results so far");
  command->add_flag("--resume", diff->resume, "Go on with FILE.partial: cases that it holds are not run again");
  command->add_flag("--merge", diff->merge, "One answer from the results of several runs");
  add_examples(*command, {"tmemsim diff --backend host --dump scenarios/seeds/tmem_roundtrip_f16.yaml",
                          "tmemsim diff --backend host --generate 2 --shard 1/2 --format jsonl -o part1.jsonl --resume",
                          "tmemsim diff --merge part1.jsonl --format junit -o report.xml"});
  command->callback([&chosen, diff] {
    if (diff->output == "-") diff->output.clear();  // standard output, as for every command
    chosen = [diff] { return diff->merge ? merge(*diff) : compare(*diff); };
  });
}

}  // namespace tmemsim::cli
