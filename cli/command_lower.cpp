// tmemsim lower, tmemsim emit: the kernel, and the CUDA that it becomes.
#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/pipeline.hpp"
#include "emit/emit.hpp"
#include "ir/npy.hpp"

namespace tmemsim::cli {
namespace {

struct LowerCommand {
  std::string file, dump_after = "lower", output;
  KernelOptions kernels;
  bool explain = false;
};

std::string text(const lower::Explanation& explanation) {
  std::string text = fmt::format("{}: {}\n  lowered by {}\n", explanation.path, explanation.primitive, explanation.variant);
  for (const std::string& line : explanation.proof) text += fmt::format("    {}\n", line);
  for (const lower::Refusal& refusal : explanation.refusals)
    text += fmt::format("  not by {}: {}: {}\n", refusal.variant, refusal.predicate, refusal.reason);
  return text;
}

void lower_scenario(const LowerCommand& command, const Scenario& scenario, bool one_of_several, Output& output) {
  std::vector<lower::Explanation> explanations;
  const Kernel kernel = kernel_after(command.explain ? "lower" : command.dump_after, scenario, &explanations);
  if (one_of_several) output.add(fmt::format("# {}\n", scenario.instance));
  if (!command.explain) output.add(print(kernel));
  for (const lower::Explanation& explanation : explanations)
    if (command.explain) output.add(text(explanation));
}

int lower_file(const LowerCommand& command) {
  Output output(command.output);
  const std::vector<Scenario> scenarios = load_scenarios(command.file, command.kernels.load());
  for (const Scenario& scenario : scenarios) {
    const int code = with_located_refusals(scenario, [&] {
      lower_scenario(command, scenario, scenarios.size() > 1, output);
      return 0;
    });
    if (code != 0) return code;
  }
  output.close();
  return 0;
}

struct EmitCommand {
  std::string file, output, inputs, backend = "native", arch;
  KernelOptions kernels;
  bool dump = false;
};

NpyArray initial_array(const Kernel& kernel, const Buffer& buffer) {
  NpyArray array{npy_storage(buffer.dtype), buffer.shape, {}};
  const auto width = static_cast<std::size_t>(bits(array.dtype)) / 8;
  for (std::uint64_t value : initial_bits(kernel, buffer)) {
    std::byte raw[8];
    std::memcpy(raw, &value, 8);  // little-endian
    array.data.insert(array.data.end(), raw, raw + width);
  }
  return array;
}

void write_inputs(const Kernel& kernel, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw InputError(fmt::format("folder {} cannot be made: {}", folder.string(), failed.message()));
  for (const Buffer& buffer : kernel.buffers)
    if (buffer.space == Space::global && buffer.init) write_npy(folder / (buffer.name + ".npy"), initial_array(kernel, buffer));
}

emit::Options emit_options(const EmitCommand& command) {
  emit::Options options;
  options.dump = command.dump;
  options.backend = command.backend == "emulated" ? emit::Backend::emulated
                    : command.backend == "host"   ? emit::Backend::host
                                                  : emit::Backend::native;
  if (command.arch.empty()) return options;
  options.arch = emit::arch_named(command.arch);
  if (!options.arch) throw InputError(fmt::format("there is no architecture '{}'", command.arch), "sm_75 or later: sm_80, sm_90a, sm_100a, ...");
  if (options.backend == emit::Backend::host) throw InputError("--arch names a GPU, and --backend host runs on none", "leave one of them out");
  return options;
}

int emit_file(const EmitCommand& command) {
  const emit::Options options = emit_options(command);
  const std::vector<Scenario> scenarios = load_scenarios(command.file, command.kernels.load());
  if (scenarios.size() != 1)
    throw InputError(fmt::format("emit writes one kernel, {} has {}", command.file, scenarios.size()), "choose one with --only NAME=VALUE");
  return with_located_refusals(scenarios.front(), [&] {
    const Kernel kernel = kernel_after("lower", scenarios.front());
    Output output(command.output);
    output.add(emit::cuda(kernel, options));
    if (!command.inputs.empty()) write_inputs(kernel, command.inputs);
    output.close();
    return 0;
  });
}

}  // namespace

void add_lower(CLI::App& app, Chosen& chosen) {
  const auto lower = std::make_shared<LowerCommand>();
  CLI::App* command = app.add_subcommand("lower", "Print the kernel, with every tile primitive replaced by machine instructions");
  command->add_option("file", lower->file, "Scenario, printed kernel, or - for standard input")->required()->type_name("FILE");
  const std::vector<std::string_view> passes = pass_names();
  command->add_option("--dump-after", lower->dump_after, "Print the kernel after this pass (lower)")
      ->check(CLI::Validator(CLI::IsMember(std::vector<std::string>(passes.begin(), passes.end()))).description(""))->type_name(fmt::format("{}", fmt::join(passes, "|")));
  command->add_flag("--explain", lower->explain, "Instead of the kernel: which variant took each primitive, and why");
  add_options(*command, lower->kernels);
  add_output(*command, lower->output, "Write to a file");
  add_examples(*command, {"tmemsim lower scenarios/seeds/smem_roundtrip_f32.yaml", "tmemsim lower --dump-after=load scenarios/seeds/smem_roundtrip_f32.yaml",
                          "tmemsim lower --explain scenarios/seeds/tmem_roundtrip_f16.yaml"});
  command->callback([&chosen, lower] { chosen = [lower] { return lower_file(*lower); }; });
}

void add_emit(CLI::App& app, Chosen& chosen) {
  const auto emit = std::make_shared<EmitCommand>();
  CLI::App* command = app.add_subcommand("emit", "Print the kernel as CUDA C++ with a host program; its first lines say how to compile it");
  command->add_option("file", emit->file, "Scenario, printed kernel, or - for standard input")->required()->type_name("FILE");
  add_output(*command, emit->output, "Write the CUDA text to a file");
  command->add_option("--inputs", emit->inputs, "Also write the initial values of the global buffers, DIR/<buffer>.npy")->type_name("DIR");
  command->add_option("--backend", emit->backend, "Tensor memory as it is, emulated on any GPU, or a program for the CPU (native)")
      ->check(CLI::Validator(CLI::IsMember(std::vector<std::string>{"native", "emulated", "host"})).description(""))->type_name("native|emulated|host");
  command->add_option("--arch", emit->arch, "What the program is compiled for, instead of the kernel's target: sm_90a, sm_103a, ...")->type_name("ARCH");
  command->add_flag("--dump", emit->dump, "The program also writes raw tensor memory and registers at its end");
  add_options(*command, emit->kernels);
  add_examples(*command, {"tmemsim emit scenarios/seeds/smem_roundtrip_f32.yaml -o copy.cu",
                          "tmemsim emit scenarios/seeds/tmem_roundtrip_f16.yaml -o round.cu --inputs in",
                          "tmemsim emit --backend emulated --arch sm_90a scenarios/seeds/tmem_roundtrip_f16.yaml -o round.cu"});
  command->callback([&chosen, emit] { chosen = [emit] { return emit_file(*emit); }; });
}

}  // namespace tmemsim::cli
