#include "report/trace_text.hpp"

#include <array>

#include <fmt/format.h>

#include "report/text.hpp"

namespace tmemsim::report {
namespace {

std::string range(std::string_view word, std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{} {}", word, first) : fmt::format("{}s {}-{}", word, first, last);
}

std::string extent_text(const Kernel& kernel, const sim::Extent& extent) {
  if (extent.space == "tmem")
    return fmt::format("tmem[SM {}, {}, {}]", extent.place, range("lane", extent.lane_first, extent.lane_last), range("column", extent.first, extent.last));
  if (extent.space == "register")
    return fmt::format("registers[warp {}, {}, {}]", extent.place, range("lane", extent.lane_first, extent.lane_last), range("row", extent.first, extent.last));
  if (extent.space == "global" && extent.place < kernel.buffers.size())
    return fmt::format("{}[{}]", kernel.buffers[extent.place].name, range("byte", extent.first, extent.last));
  return fmt::format("{}[CTA {}, {}]", extent.space, extent.place, range(extent.space == "barrier" ? "id" : "byte", extent.first, extent.last));
}

std::string extents_text(const Kernel& kernel, std::string_view verb, const std::vector<sim::Extent>& extents) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(extents.size(), most); ++i) text += fmt::format("{}{}", i == 0 ? "" : " + ", extent_text(kernel, extents[i]));
  if (extents.size() > most) text += fmt::format(" + {} more", extents.size() - most);
  return text.empty() ? text : fmt::format("  {} {}", verb, text);
}

std::string_view verb(sim::Event::Kind kind) {
  constexpr std::array<std::string_view, 6> verbs{"", "completes", "waits", "goes on", "exits", "finding"};
  return verbs[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string trace_header() { return fmt::format("{:>6}  {:<3} {:<4} {:<9} {}\n", "step", "CTA", "warp", "", "operation"); }

std::string trace_line(const Kernel& kernel, const sim::Event& event) {
  const Ref& ref = event.ref;
  std::string what = ref.op;
  if (!ref.label.empty()) what += fmt::format(" ({})", ref.label);
  if (ref.lanes != 0 && ref.lanes != ~0u) what += fmt::format(" lanes {}", lanes_text(ref.lanes));
  for (const auto& [variable, value] : ref.loop) what += fmt::format(" {}={}", variable, value);
  std::string line = fmt::format("{:>6}  {:<3} {:<4} {:<9} {:<28}", event.step, ref.cta, ref.warp, verb(event.kind), what);
  line += extents_text(kernel, "reads", event.reads);
  line += extents_text(kernel, "writes", event.writes);
  if (event.in_flight_before != event.in_flight_after) line += fmt::format("  in flight {} -> {}", event.in_flight_before, event.in_flight_after);
  if (!event.text.empty()) line += fmt::format("  {}", event.text);
  while (line.back() == ' ') line.pop_back();
  return line + "\n";
}

}  // namespace tmemsim::report
