// tmemsim trace: what happened, event by event.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/pipeline.hpp"
#include "report/text.hpp"
#include "report/trace_text.hpp"

namespace tmemsim::cli {
namespace {

struct TraceCommand {
  std::string file, format, output;
  KernelOptions kernels;
  SimOptions simulation;
};

// Lines are handed over in large pieces: a trace may be long.
class Lines : public sim::Observer {
 public:
  Lines(const Kernel& kernel, Output& output) : kernel_(kernel), output_(output) {}
  void event(const sim::Event& event) override {
    pending_ += report::trace_line(kernel_, event);
    if (pending_.size() > 1 << 16) flush();
  }
  void flush() {
    output_.add(pending_);
    pending_.clear();
  }

 private:
  const Kernel& kernel_;
  Output& output_;
  std::string pending_;
};

int trace_file(const TraceCommand& command) {
  const std::vector<Scenario> scenarios = load_scenarios(command.file, command.kernels.load());
  if (scenarios.size() != 1)
    throw InputError(fmt::format("trace follows one run, {} has {}", command.file, scenarios.size()), "choose one with --only NAME=VALUE");
  const Scenario& scenario = scenarios.front();
  return with_located_refusals(scenario, [&] {
    Output output(command.output);
    const Program program = decode(std::make_shared<const Kernel>(kernel_after("lower", scenario)));
    output.add(report::trace_header());
    Lines lines(*program.kernel, output);
    sim::run(program, command.simulation.for_profile(scenario.profile), &lines);
    lines.flush();
    output.close();
    return 0;
  });
}

}  // namespace

void add_trace(CLI::App& app, Chosen& chosen) {
  const auto trace = std::make_shared<TraceCommand>();
  CLI::App* command = app.add_subcommand("trace", "Print what every warp did, event by event");
  command->add_option("file", trace->file, "Scenario, printed kernel, or - for standard input")->required()->type_name("FILE");
  add_options(*command, trace->kernels);
  add_options(*command, trace->simulation);
  add_format(*command, trace->format, {"text"});
  add_output(*command, trace->output, "Write the trace to a file");
  add_examples(*command, {"tmemsim trace scenarios/seeds/smem_roundtrip_f32.yaml", "tmemsim trace --policy early scenarios/verdicts/raw-st.yaml -o raw-st.txt"});
  command->callback([&chosen, trace] { chosen = [trace] { return trace_file(*trace); }; });
}

}  // namespace tmemsim::cli
