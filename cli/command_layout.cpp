// tmemsim layout: what a layout says.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "ir/diagnostic.hpp"
#include "ir/layout/tile_layout.hpp"

namespace tmemsim::cli {
namespace {

TileLayout parsed(const std::string& notation) {
  const auto layout = parse_layout(notation);
  if (layout) return *layout;
  const auto offset = static_cast<std::uint32_t>(layout.reason().text_offset.value_or(0));
  throw InputError(Diagnostic{"LAYOUT", 1, offset + 1, notation, layout.reason().text, {}});
}

std::vector<Axis> axes_of(const TileLayout& layout) {
  std::vector<Axis> axes;
  for (const AxisFacts& facts : axis_table) {
    const auto on = [&](const auto& part) { return part.axis == facts.axis; };
    if (std::any_of(layout.shard.begin(), layout.shard.end(), on) || std::any_of(layout.replica.begin(), layout.replica.end(), on) ||
        std::any_of(layout.offset.begin(), layout.offset.end(), on))
      axes.push_back(facts.axis);
  }
  return axes;
}

std::string place_text(const Point& point, const std::vector<Axis>& axes) {
  std::vector<std::string> parts;
  for (Axis axis : axes) parts.push_back(fmt::format("{}={}", name(axis), at(point, axis)));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string evaluated(const TileLayout& layout, std::int64_t x) {
  if (x < 0 || x >= size(layout)) throw InputError(fmt::format("element {} is outside the layout, which has {}", x, size(layout)));
  const std::vector<Axis> axes = axes_of(layout);
  std::vector<std::string> places;
  for (const Point& point : evaluate_all(layout, x)) places.push_back(place_text(point, axes));
  return fmt::format("{} -> {}\n", x, fmt::join(places, ", "));
}

std::string printed(const TileLayout& layout) {
  const TileLayout simplest = canonical(layout);
  std::string text = fmt::format("layout     {}\ncanonical  {}\nelements   {}\n", to_string(layout), to_string(simplest), size(layout));
  for (Axis axis : axes_of(simplest)) text += fmt::format("{:<10} {} coordinates\n", name(axis), size_on(simplest, axis));
  return text;
}

struct LayoutCommand {
  std::string notation;
  std::vector<std::int64_t> elements;
};

}  // namespace

void add_layout(CLI::App& app, Chosen& chosen) {
  CLI::App* layout = app.add_subcommand("layout", "Evaluate and print layouts");
  layout->require_subcommand(1);
  add_examples(*layout, {"tmemsim layout print \"S[(128,8):(1@TLane,1@TCol)]\"", "tmemsim layout eval \"S[(32,8):(1@laneid,1)]\" 9"});

  const auto evaluate = std::make_shared<LayoutCommand>();
  CLI::App* eval = layout->add_subcommand("eval", "Where elements stand: axis coordinates of row-major indices");
  eval->add_option("layout", evaluate->notation, "S[(extents):(strides@axis)] + R[...] + offset@axis")->required()->type_name("LAYOUT");
  eval->add_option("elements", evaluate->elements, "Row-major indices (all of them when left out, at most 4096)")->type_name("X");
  add_examples(*eval, {"tmemsim layout eval \"S[(32,8):(1@laneid,1)]\" 9", "tmemsim layout eval \"S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)]\" 0 1 127"});
  eval->callback([&chosen, evaluate] {
    chosen = [evaluate] {
      const TileLayout asked = parsed(evaluate->notation);
      std::vector<std::int64_t> elements = evaluate->elements;
      if (elements.empty() && size(asked) > 4096) throw InputError(fmt::format("the layout has {} elements", size(asked)), "name those that are wanted");
      for (std::int64_t x = 0; evaluate->elements.empty() && x < size(asked); ++x) elements.push_back(x);
      Output output;
      for (std::int64_t x : elements) output.add(evaluated(asked, x));
      return 0;
    };
  });

  const auto show = std::make_shared<LayoutCommand>();
  CLI::App* print = layout->add_subcommand("print", "The layout, its simplest form, and its size on each axis");
  print->add_option("layout", show->notation, "S[(extents):(strides@axis)] + R[...] + offset@axis")->required()->type_name("LAYOUT");
  add_examples(*print, {"tmemsim layout print \"S[(64,2,8):(1@TLane,64@TLane,1@TCol)]\""});
  print->callback([&chosen, show] {
    chosen = [show] {
      Output output;
      output.add(printed(parsed(show->notation)));
      return 0;
    };
  });
}

}  // namespace tmemsim::cli
