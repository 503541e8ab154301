// tmemsim draw: a moment of a run as a picture.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/pipeline.hpp"
#include "report/draw/run_moment.hpp"

namespace tmemsim::cli {
namespace {

struct DrawCommand {
  std::string file, output;
  KernelOptions kernels;
  SimOptions simulation;
  std::uint64_t step = 0;
  std::optional<std::uint32_t> cta, warp;
};

void check_place(const DrawCommand& command, const Launch& launch) {
  if (command.cta && *command.cta >= cta_count(launch))
    throw InputError(fmt::format("there is no CTA {}", *command.cta), fmt::format("the launch has CTAs 0 to {}", cta_count(launch) - 1));
  if (command.warp && *command.warp >= launch.warps)
    throw InputError(fmt::format("there is no warp {}", *command.warp), fmt::format("a CTA of this launch has warps 0 to {}", launch.warps - 1));
}

int draw_file(const DrawCommand& command) {
  const Scenario scenario = only_run(command.file, command.kernels, command.simulation, "draw shows");
  return with_located_refusals(scenario, [&] {
    Output output(command.output);
    const auto program = std::make_shared<const Program>(decode(std::make_shared<const Kernel>(kernel_after("lower", scenario))));
    check_place(command, program->kernel->launch);
    report::RunMoment run(program, command.step);
    const sim::Options how = command.simulation.for_run(scenario.profile, *program);
    sim::run(*program, how, &run);
    if (command.step > run.last_step())
      throw InputError(fmt::format("the run ends at step {}, step {} never comes", run.last_step(), command.step), "tmemsim trace FILE lists the steps");
    output.add(report::svg(run.moment(command.cta, command.warp)));
    output.close();
    return 0;
  });
}

}  // namespace

void add_draw(CLI::App& app, Chosen& chosen) {
  const auto draw = std::make_shared<DrawCommand>();
  CLI::App* command = app.add_subcommand("draw", "Draw tensor memory and a warp's registers at a step of the run, as SVG");
  command->add_option("file", draw->file, "Scenario, printed kernel, or - for standard input")->required()->type_name("FILE");
  add_number(*command, "--at", draw->step, "The step (of `tmemsim trace`) behind which the picture is taken; 0: the start");
  command->get_option("--at")->required()->type_name("STEP");
  const auto add_index = [&](const char* name, std::optional<std::uint32_t>& value, const char* what) {
    command->add_option_function<std::uint32_t>(name, [&value](std::uint32_t given) { value = given; }, what)->check(CLI::Range(0, 1 << 20).description(""))->type_name("N");
  };
  add_index("--warp", draw->warp, "Whose registers (those of the last event's warp)");
  add_index("--cta", draw->cta, "Of which CTA, and the tensor memory that it uses (those of the last event's)");
  add_options(*command, draw->kernels);
  add_options(*command, draw->simulation);
  add_output(*command, draw->output, "Write the picture to a file");
  add_examples(*command, {"tmemsim draw scenarios/seeds/tmem_roundtrip_f16.yaml --at 40 -o round-trip.svg",
                          "tmemsim draw scenarios/verdicts/raw-st.yaml --at 4 --policy early > raw-st.svg"});
  command->callback([&chosen, draw] { chosen = [draw] { return draw_file(*draw); }; });
}

}  // namespace tmemsim::cli
