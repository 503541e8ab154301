// tmemsim trace: what happened, event by event.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <memory>
#include <optional>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/pipeline.hpp"
#include "ir/tcgen05.hpp"
#include "report/html/page.hpp"
#include "report/trace/json_lines.hpp"
#include "report/trace/perfetto.hpp"
#include "report/trace/text.hpp"
#include "report/trace/watch.hpp"

namespace tmemsim::cli {
namespace {

constexpr std::uint64_t all_events = ~std::uint64_t{0}, events_of_page = 100'000;

struct TraceCommand {
  std::string file, format, output;
  KernelOptions kernels;
  SimOptions simulation;
  std::uint64_t max_events = all_events;
  bool values = false;
  std::string cell, buffer, watch;
  std::optional<std::uint32_t> cta, warp, thread;
  std::uint64_t from = 0, to = ~std::uint64_t{0};

  bool html() const { return format == "html"; }
  std::uint64_t limit() const { return html() && max_events == all_events ? events_of_page : max_events; }
};

// "LANE,COLUMN"
std::pair<std::int64_t, std::int64_t> cell_of(const std::string& text) {
  const std::size_t comma = text.find(',');
  const auto number = [&](std::string_view part, std::int64_t below) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0 || value >= below)
      throw InputError(fmt::format("--cell {}: there is no such cell", text),
                       "LANE,COLUMN of the physical cell: --cell 5,0; lanes 0 to 127, columns 0 to 511");
    return value;
  };
  if (comma == std::string::npos) return {number("", 0), 0};
  return {number(std::string_view(text).substr(0, comma), tcgen05::lanes),
          number(std::string_view(text).substr(comma + 1), tcgen05::columns)};
}

void check_below(const char* option, const std::optional<std::uint32_t>& value, std::uint32_t below) {
  if (value && *value >= below) throw InputError(fmt::format("{} {}: the launch has 0 to {}", option, *value, below - 1));
}

report::TraceFilter filter_of(const TraceCommand& command, const Kernel& kernel) {
  report::TraceFilter filter;
  check_below("--cta", command.cta, cta_count(kernel.launch));
  check_below("--warp", command.warp, kernel.launch.warps);
  check_below("--thread", command.thread, kernel.launch.warps * 32);
  filter.cta = command.cta;
  filter.warp = command.warp;
  filter.thread = command.thread;
  if (!command.cell.empty()) filter.cell = cell_of(command.cell);
  if (!command.buffer.empty()) {
    filter.buffer = buffer_named(kernel, command.buffer);
    std::vector<std::string_view> names;
    for (const Buffer& buffer : kernel.buffers) names.push_back(buffer.name);
    if (!filter.buffer)
      throw InputError(fmt::format("--buffer {}: there is no such buffer", command.buffer),
                       fmt::format("buffers: {}", fmt::join(names, ", ")));
  }
  filter.from = command.from;
  filter.to = command.to;
  return filter;
}

// Lines are handed over in large pieces: a trace may be long.
class Pieces {
 public:
  explicit Pieces(Output& output) : output_(output) {}
  void add(std::string_view lines) {
    pending_ += lines;
    if (pending_.size() > 1 << 16) flush();
  }
  void flush() {
    output_.add(pending_);
    pending_.clear();
  }

 private:
  Output& output_;
  std::string pending_;
};

std::unique_ptr<report::TraceSink> sink_for(const TraceCommand& command, const Program& program, const Scenario& scenario,
                                            const sim::Options& how, Pieces& pieces) {
  const auto write = [&pieces](std::string_view lines) { pieces.add(lines); };
  const report::TraceFilter filter = filter_of(command, *program.kernel);
  if ((filter.any() || !command.watch.empty()) && command.format != "text")
    throw InputError(fmt::format("--format {} shows the whole trace", command.format),
                     "filters and --watch go with --format text");
  if (command.values && command.format != "jsonl") throw InputError("--values goes with --format jsonl");
  if (!command.watch.empty()) {
    report::WatchedElement element = report::parse_watched(*program.kernel, command.watch);
    element.cta = command.cta.value_or(0);
    element.thread = command.thread;
    return std::make_unique<report::Watch>(program, element, write);
  }
  if (command.format == "perfetto") return std::make_unique<report::Perfetto>(program, write);
  if (command.format == "jsonl" || command.html()) {
    const report::TraceHeader header{scenario.instance, std::string(how.profile.name()), command.simulation.policy, command.simulation.scheduler,
                                     how.seed, how.max_steps, command.values || command.html()};
    if (!command.html()) return std::make_unique<report::JsonLines>(program, header, write);
    pieces.add(report::page_begin());
    return std::make_unique<report::JsonLines>(program, header, [&pieces](std::string_view lines) { pieces.add(report::page_records(lines)); });
  }
  return std::make_unique<report::TraceText>(program, filter, write);
}

int trace_file(const TraceCommand& command) {
  const Scenario scenario = only_run(command.file, command.kernels, command.simulation, "trace follows");
  return with_located_refusals(scenario, [&] {
    Output output(command.output);
    Pieces pieces(output);
    const auto finish = [&] {
      if (command.html()) pieces.add(report::page_end());
      pieces.flush();
      output.close();
    };
    const Program program = decode(std::make_shared<const Kernel>(kernel_after("lower", scenario)));
    const sim::Options how = command.simulation.for_run(scenario.profile, program);
    const auto sink = sink_for(command, program, scenario, how, pieces);
    try {
      report::stream_trace(program, how, command.limit(), *sink);
    } catch (const ReaderGone&) {
      throw;
    } catch (...) {  // what there is of the trace is of use
      finish();
      throw;
    }
    finish();
    return 0;
  });
}

}  // namespace

void add_trace(CLI::App& app, Chosen& chosen) {
  const auto trace = std::make_shared<TraceCommand>();
  CLI::App* command = app.add_subcommand("trace", "Show what every warp did, event by event");
  command->add_option("file", trace->file, "Scenario, printed kernel, or - for standard input")->required()->type_name("FILE");
  add_options(*command, trace->kernels);
  add_options(*command, trace->simulation);
  add_format(*command, trace->format, {"text", "jsonl", "html", "perfetto"});
  add_number(*command, "--max-events", trace->max_events, "Show at most so many events, and say how many were left out (html: 100000)");
  const auto add_index = [&](const char* name, std::optional<std::uint32_t>& value, const char* what) {
    command
        ->add_option_function<std::uint32_t>(
            name, [&value](std::uint32_t given) { value = given; }, what)
        ->check(CLI::Range(0, 1 << 20).description(""))
        ->type_name("N");
  };
  add_index("--cta", trace->cta, "Only this CTA of the grid");
  add_index("--warp", trace->warp, "Only this warp of the CTA");
  add_index("--thread", trace->thread, "Only what this thread of the CTA takes part in");
  command->add_option("--cell", trace->cell, "Only what reads or writes this physical cell of tensor memory")
      ->type_name("LANE,COLUMN");
  command->add_option("--buffer", trace->buffer, "Only what reads or writes this buffer")->type_name("NAME");
  add_number(*command, "--from", trace->from, "Only events from this number on");
  add_number(*command, "--to", trace->to, "Only events up to this number");
  command->add_option("--watch", trace->watch, "The history of one logical element in sentences: acc[3,5]")
      ->type_name("ELEMENT");
  command->add_flag("--values", trace->values, "jsonl: also what was written");
  add_output(*command, trace->output, "Write the trace to a file");
  add_examples(*command, {"tmemsim trace scenarios/seeds/smem_roundtrip_f32.yaml",
                          "tmemsim trace --policy early scenarios/verdicts/raw-st.yaml -o raw-st.txt",
                          "tmemsim trace --warp 0 --cell 5,0 scenarios/verdicts/raw-st.yaml",
                          "tmemsim trace --watch 'acc[3,5]' scenarios/seeds/tmem_roundtrip_f16.yaml",
                          "tmemsim trace --format jsonl --values scenarios/seeds/tmem_roundtrip_f16.yaml",
                          "tmemsim trace --format html scenarios/verdicts/raw-st.yaml -o raw-st.html",
                          "tmemsim trace --format perfetto scenarios/seeds/tmem_roundtrip_f16.yaml -o trace.json"});
  command->callback([&chosen, trace] { chosen = [trace] { return trace_file(*trace); }; });
}

}  // namespace tmemsim::cli
