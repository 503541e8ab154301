// tmemsim layout: questions about layouts.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "ir/diagnostic.hpp"
#include "report/layout_answers.hpp"

namespace tmemsim::cli {
namespace {

constexpr int differs = 1, undecided = 4;

// What the commands below ask; each fills the part that it needs.
struct Question {
  std::string first, second;  // layouts
  std::vector<std::int64_t> elements;
  std::string shape, second_shape, at, region, scope, view, svg, rows, columns;

  report::Extents extents() const { return shape.empty() ? report::Extents{} : report::parse_extents(shape); }
};
using Answered = std::function<int(const Question&)>;

int print(const std::string& text) {
  Output output;
  output.add(text);
  return 0;
}

int compare(const Question& question) {
  const report::LayoutComparison found = report::layout_compare(question.first, question.second, question.extents());
  print(found.text);
  return found.same == Answer::yes ? 0 : found.same == Answer::no ? differs : undecided;
}

std::optional<Scope> scope_named(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text == "warp" ? Scope::warp : text == "warpgroup" ? Scope::warpgroup : Scope::cta;
}

// "16:48": which rows or columns are shown.
void restrict_to(const std::string& range, std::size_t& first, std::size_t& count) {
  if (range.empty()) return;
  const auto [begin, end] = report::parse_ranges(range).front();
  if (begin < 0 || end <= begin)
    throw InputError(fmt::format("the range {} shows nothing", range), "ranges are first:end, the end excluded");
  first = static_cast<std::size_t>(begin);
  count = static_cast<std::size_t>(end - begin);
}

int draw(const Question& question) {
  std::optional<report::View> view;
  if (!question.view.empty()) view = question.view == "tile" ? report::View::tile : report::View::place;
  const report::Grid grid = report::layout_picture(question.first, question.extents(), view);
  if (!question.svg.empty()) {
    Output output(question.svg);
    output.add(report::svg(grid));
    output.close();
    return 0;
  }
  report::Window window;
  restrict_to(question.rows, window.first_row, window.rows);
  restrict_to(question.columns, window.first_column, window.columns);
  Output output;
  output.add(report::terminal_text(grid, window, output.is_terminal()));
  return 0;
}

class LayoutCommands {
 public:
  LayoutCommands(CLI::App& layout, Chosen& chosen) : layout_(layout), chosen_(chosen) {}

  // A command about one layout, or two.
  CLI::App& add(const std::string& name, const std::string& what, Answered answer, const std::vector<std::string>& layouts,
                const std::vector<std::string>& examples) {
    question_ = std::make_shared<Question>();
    CLI::App* command = layout_.add_subcommand(name, what);
    const std::string form = "S[(extents):(strides@axis)] + R[...] + offset@axis, a factory by name, or shape:stride";
    command->add_option(layouts[0], question_->first, form)->required()->type_name("LAYOUT");
    if (layouts.size() > 1) command->add_option(layouts[1], question_->second, form)->required()->type_name("LAYOUT");
    add_examples(*command, examples);
    command->callback([&chosen = chosen_, question = question_, answer = std::move(answer)] {
      chosen = [question, answer] { return answer(*question); };
    });
    return *command;
  }
  Question& question() { return *question_; }

 private:
  CLI::App& layout_;
  Chosen& chosen_;
  std::shared_ptr<Question> question_;
};

void add_shape(CLI::App& command, std::string& shape, bool required, const std::string& option = "--shape") {
  command.add_option(option, shape, "Extents of the logical tile, outermost first: 64,32")
      ->required(required)
      ->type_name("EXTENTS");
}

void add_looking(LayoutCommands& commands) {
  commands.add("print", "The layout, its simplest form, and its size on each axis",
               [](const Question& q) { return print(report::layout_print(q.first)); }, {"layout"},
               {"tmemsim layout print \"S[(64,2,8):(1@TLane,64@TLane,1@TCol)]\"",
                "tmemsim layout print \"tcgen05_atom_layout(16x64b, (64,32), f16)\""});
  CLI::App& eval = commands.add(
      "eval", "Where elements stand: the coordinate on each axis",
      [](const Question& q) {
        return print(report::layout_eval(q.first, q.elements, q.extents(),
                                         q.at.empty() ? std::nullopt : std::optional(report::parse_extents(q.at))));
      },
      {"layout"},
      {"tmemsim layout eval \"S[(32,8):(1@laneid,1)]\" 9",
       "tmemsim layout eval \"S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)]\" --shape 8,16 --at 3,5",
       "tmemsim layout eval \"((2,2),3):((1,8),2)\" --at 3,2"});
  eval.add_option("elements", commands.question().elements, "Row-major indices (all of them when left out, at most 4096)")
      ->type_name("X");
  add_shape(eval, commands.question().shape, false);
  eval.add_option("--at", commands.question().at, "A coordinate of the shape")->type_name("COORDINATE");
  CLI::App& canon =
      commands.add("canon", "The simplest layout with the same map",
                   [](const Question& q) { return print(report::layout_canon(q.first, scope_named(q.scope))); }, {"layout"},
                   {"tmemsim layout canon \"S[(8,8,1,4):(32,4,7,1)]\"",
                    "tmemsim layout canon \"S[(4,8,4):(1@warpid,4@laneid,1@laneid)]\" --fuse cta"});
  canon.add_option("--fuse", commands.question().scope, "Express all thread axes on the one of this scope")
      ->check(CLI::IsMember({"warp", "warpgroup", "cta"}));
  CLI::App& draw_command =
      commands.add("draw", "A picture: who owns each element, or what lives in each place", draw, {"layout"},
                   {"tmemsim layout draw \"S[(32,8):(1@laneid,1)]\"",
                    "tmemsim layout draw \"tmem_datapath_layout(F, 64, 16)\" --shape 64,16 --columns 0:8",
                    "tmemsim layout draw \"tcgen05_atom_layout(16x256b, (64,32), f32)\" --shape 64,32 --svg fragment.svg"});
  add_shape(draw_command, commands.question().shape, false);
  draw_command
      .add_option("--view", commands.question().view,
                  "tile: the logical tile; place: lanes and columns, threads and registers, or memory")
      ->check(CLI::IsMember({"tile", "place"}));
  draw_command
      .add_option("--svg", commands.question().svg, "Write the whole picture as SVG to this file (- for standard output)")
      ->type_name("FILE");
  draw_command.add_option("--rows", commands.question().rows, "Rows that are shown in the terminal (0:32)")
      ->type_name("FIRST:END");
  draw_command.add_option("--columns", commands.question().columns, "Columns that are shown in the terminal (0:16)")
      ->type_name("FIRST:END");
}

void add_algebra(LayoutCommands& commands) {
  CLI::App& group =
      commands.add("group", "The iters cut at the boundaries of a shape",
                   [](const Question& q) { return print(report::layout_group(q.first, q.extents())); }, {"layout"},
                   {"tmemsim layout group \"S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)]\" --shape 8,16"});
  add_shape(group, commands.question().shape, true);
  CLI::App& tile = commands.add(
      "tile", "Copies of the inner layout, arranged by the outer one",
      [](const Question& q) {
        return print(report::layout_tile(q.first, q.extents(), q.second, report::parse_extents(q.second_shape)));
      },
      {"outer", "inner"},
      {"tmemsim layout tile \"S[(8,4):(4@laneid,1@laneid)]\" \"S[(1,2):(2,1)]\" --outer-shape 8,4 --inner-shape 1,2"});
  add_shape(tile, commands.question().shape, true, "--outer-shape");
  add_shape(tile, commands.question().second_shape, true, "--inner-shape");
  CLI::App& slice =
      commands.add("slice", "The layout of a part of the tile",
                   [](const Question& q) { return print(report::layout_slice(q.first, q.extents(), q.region)); }, {"layout"},
                   {"tmemsim layout slice \"S[(4,16,64):(32@TLane,1@TLane,1@TCol)]\" --shape 64,64 --region 16:32,0:8"});
  add_shape(slice, commands.question().shape, true);
  slice.add_option("--region", commands.question().region, "A range of each dimension, ends excluded")
      ->required()
      ->type_name("RANGES");
  commands.add("compose", "The outer layout at the elements that the inner one names",
               [](const Question& q) { return print(report::layout_compose(q.first, q.second)); }, {"outer", "inner"},
               {"tmemsim layout compose \"S[(4,8):(1@TLane,1@TCol)]\" \"S[(2,8):(16,2)]\"",
                "tmemsim layout compose \"(6,9):(19,69)\" \"(6,3):(3,1)\""});
  commands.add("invert", "From places back to elements",
               [](const Question& q) { return print(report::layout_invert(q.first)); }, {"layout"},
               {"tmemsim layout invert \"S[(64,2,8):(1@TLane,64@TLane,1@TCol)]\"", "tmemsim layout invert \"(4,8):(8,1)\""});
  CLI::App& compare_command = commands.add(
      "compare", "Whether two layouts are the same map, or the first element at which they differ (exit 1)", compare,
      {"first", "second"},
      {"tmemsim layout compare \"S[(32,8):(8,1)]\" \"S[256:1]\"", "tmemsim layout compare \"(4,8):(1,4)\" \"S[32:1]\""});
  add_shape(compare_command, commands.question().shape, false);
}

}  // namespace

void add_layout(CLI::App& app, Chosen& chosen) {
  CLI::App* layout = app.add_subcommand("layout", "Evaluate, transform, compare and draw layouts");
  layout->require_subcommand(1);
  add_examples(*layout, {"tmemsim layout print \"S[(128,8):(1@TLane,1@TCol)]\"",
                         "tmemsim layout eval \"S[(32,8):(1@laneid,1)]\" 9", "tmemsim layout draw \"S[(32,8):(1@laneid,1)]\""});
  LayoutCommands commands(*layout, chosen);
  add_looking(commands);
  add_algebra(commands);
}

}  // namespace tmemsim::cli
