#include "report/trace/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/text.hpp"

namespace tmemsim::report {
namespace {

using Space = sim::Extent::Space;

std::string range(std::string_view word, std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{} {}", word, first) : fmt::format("{}s {}-{}", word, first, last);
}

// "rows 3-5" of the buffer that they belong to: "A_frag.r[0-2]".
std::string rows_text(const Program& program, std::int64_t first, std::int64_t last) {
  const Kernel& kernel = *program.kernel;
  for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    const std::int64_t begin = program.first_row[id];
    if (buffer.space != tmemsim::Space::local || first < begin || last >= begin + register_count(buffer)) continue;
    return fmt::format("{}.r[{}{}]", buffer.name, first - begin, last > first ? fmt::format("-{}", last - begin) : "");
  }
  return range("row", first, last);
}

std::string bytes_text(const Program& program, const sim::Extent& extent) {
  const Kernel& kernel = *program.kernel;
  const auto [first, last] = sim::hull(extent);
  std::string_view name = "shared memory";
  std::int64_t base = 0;
  if (extent.space == Space::global) {
    name = kernel.buffers[extent.place].name;
  } else {
    for (const Buffer& buffer : kernel.buffers) {
      if (buffer.space != tmemsim::Space::shared || first < buffer.offset.value_or(0) ||
          last >= buffer.offset.value_or(0) + byte_size(buffer))
        continue;
      name = buffer.name;
      base = buffer.offset.value_or(0);
      break;
    }
  }
  std::string text = fmt::format("{}[{}", name, range("byte", first - base, last - base));
  if (extent.by_thread && extent.lane_last > extent.lane_first && extent.stride != 0 &&
      extent.last - extent.first + 1 != std::abs(extent.stride))
    text += fmt::format(", {} every {}", extent.last - extent.first + 1, std::abs(extent.stride));
  return text + "]";
}

// Several extents of one kind that go on where the last one ends are shown as one.
std::string extents_text(const Program& program, std::string_view verb, const std::vector<sim::Extent>& extents) {
  constexpr std::size_t most = 3;
  std::vector<std::string> shown;
  for (const sim::Extent& extent : extents) {
    std::string text = extent_text(program, extent);
    if (std::find(shown.begin(), shown.end(), text) == shown.end()) shown.push_back(std::move(text));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(shown.size(), most); ++i) text += fmt::format("{}{}", i == 0 ? "" : " + ", shown[i]);
  if (shown.size() > most) text += fmt::format(" + {} more", shown.size() - most);
  return text.empty() ? text : fmt::format("  {} {}", verb, text);
}

std::string_view verb(sim::Event::Kind kind) {
  constexpr std::array<std::string_view, 6> verbs{"", "completes", "waits", "goes on", "decides", "exits"};
  return verbs[static_cast<std::size_t>(kind)];
}

std::string numbers(const std::vector<std::uint64_t>& list) {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i) text += fmt::format("{}#{}", i == 0 ? "" : " ", list[i]);
  if (list.size() > most) text += fmt::format(" and {} more", list.size() - most);
  return text;
}

std::string seen_text(const std::vector<sim::Seen>& seen) {
  std::vector<std::uint64_t> list;
  for (const sim::Seen& one : seen) list.push_back(one.event);
  return list.empty() ? "" : fmt::format("  sees {}", numbers(list));
}

bool touches_cell(const std::vector<sim::Extent>& extents, std::int64_t lane, std::int64_t column) {
  return std::any_of(extents.begin(), extents.end(), [&](const sim::Extent& extent) {
    return extent.space == Space::tmem && extent.lane_first <= lane && lane <= extent.lane_last && extent.first <= column &&
           column <= extent.last;
  });
}

bool touches_buffer(const std::vector<sim::Extent>& extents, const Program& program, const TmemPlaces& places, BufferId id) {
  const Buffer& buffer = program.kernel->buffers[id];
  const auto meets = [](std::int64_t a, std::int64_t b, std::int64_t first, std::int64_t size) {
    return a < first + size && first <= b;
  };
  return std::any_of(extents.begin(), extents.end(), [&](const sim::Extent& extent) {
    const auto [first, last] = sim::hull(extent);
    switch (extent.space) {
      case Space::tmem:
        return buffer.space == tmemsim::Space::tmem && places.meets(id, extent.place, extent.first, extent.last);
      case Space::registers:
        return buffer.space == tmemsim::Space::local &&
               meets(extent.first, extent.last, program.first_row[id], register_count(buffer));
      case Space::shared:
        return buffer.space == tmemsim::Space::shared && meets(first, last, buffer.offset.value_or(0), byte_size(buffer));
      case Space::global:
        return buffer.space == tmemsim::Space::global && extent.place == id;
    }
    return false;
  });
}

}  // namespace

std::string extent_text(const Program& program, const sim::Extent& extent) {
  switch (extent.space) {
    case Space::tmem:
      return fmt::format("tmem[{}{}, {}]{}",
                         program.kernel->launch.ctas_per_sm > 1 || cta_count(program.kernel->launch) > 1
                             ? fmt::format("SM {}, ", extent.place)
                             : "",
                         range("lane", extent.lane_first, extent.lane_last), range("column", extent.first, extent.last),
                         extent.low_half ? " (low halves)" : "");
    case Space::registers:
      return rows_text(program, extent.first, extent.last);
    case Space::shared:
    case Space::global:
      return bytes_text(program, extent);
  }
  return {};
}

std::string event_line(const Program& program, const sim::Event& event) {
  const Ref& ref = event.ref;
  std::string what = event.stmt ? std::string(op_name(*event.stmt)) : "";
  if (!ref.label.empty()) what += fmt::format(" ({})", ref.label);
  if (ref.lanes != 0 && ref.lanes != ~0u) what += fmt::format(" lanes {}", lanes_text(ref.lanes));
  for (const auto& [variable, value] : ref.loop) what += fmt::format(" {}={}", variable, value);
  if (event.of) what += fmt::format(" of #{}", *event.of);
  std::string line = fmt::format("{:>6} {:>6}  {:<3} {:<4} {:<9} {:>4}  {:<26}", event.seq, event.step, ref.cta, ref.warp,
                                 verb(event.kind), ref.at.line > 0 ? std::to_string(ref.at.line) : "", what);
  line += extents_text(program, "reads", event.reads);
  line += extents_text(program, event.kind == sim::Event::Kind::execute && !event.async.empty() ? "will write" : "writes",
                       event.writes);
  if (event.in_flight_before != event.in_flight_after)
    line += fmt::format("  in flight {}", event.in_flight_after.empty() ? "nothing" : numbers(event.in_flight_after));
  line += seen_text(event.sees);
  for (const sim::BarrierState& barrier : event.barriers) {
    const std::string name = barrier_name(*program.kernel, barrier.kind, barrier.id);
    if (barrier.kind != sim::BarrierState::Kind::mbarrier) continue;
    line += barrier.valid ? fmt::format("  {}: phase {}, {} of {} arrivals pending", name, barrier.phase, barrier.pending,
                                        barrier.expected)
                          : fmt::format("  {}: no object", name);
    if (barrier.tx != 0) line += fmt::format(", {} bytes expected", barrier.tx);
  }
  if (!event.text.empty()) line += fmt::format("  {}", event.text);
  while (line.back() == ' ') line.pop_back();
  return line;
}

bool passes(const TraceFilter& filter, const Program& program, const TmemPlaces& places, const sim::Event& event) {
  const Ref& ref = event.ref;
  if (event.seq < filter.from || event.seq > filter.to) return false;
  if (filter.cta && ref.cta != *filter.cta) return false;
  if (filter.warp && ref.warp != *filter.warp) return false;
  if (filter.thread && (ref.warp != *filter.thread / 32 || !(ref.lanes >> (*filter.thread % 32) & 1u))) return false;
  if (filter.cell && !touches_cell(event.reads, filter.cell->first, filter.cell->second) &&
      !touches_cell(event.writes, filter.cell->first, filter.cell->second))
    return false;
  if (filter.buffer && !touches_buffer(event.reads, program, places, *filter.buffer) &&
      !touches_buffer(event.writes, program, places, *filter.buffer))
    return false;
  return true;
}

TraceText::TraceText(const Program& program, TraceFilter filter, Write write)
    : program_(program), filter_(std::move(filter)), places_(*program.kernel), write_(std::move(write)) {
  write_(fmt::format("{:>6} {:>6}  {:<3} {:<4} {:<9} {:>4}  {}\n", "event", "step", "CTA", "warp", "", "line", "operation"));
}

void TraceText::event(const sim::Event& event) {
  places_.follow(event);
  if (passes(filter_, program_, places_, event))
    write_(event_line(program_, event) + "\n");
  else
    ++hidden_;
}

void TraceText::finding(const PlacedFinding& placed) {
  const Finding& finding = *placed.finding;
  std::string other;
  if (finding.other)
    other = fmt::format("; the other one: {}{}", describe(*finding.other),
                        placed.other.event ? fmt::format(", #{}", *placed.other.event) : "");
  write_(fmt::format("{:>13}  {} {}: {}: {}{}\n", "!!", name(finding.severity), id(finding.verdict), describe(finding.at),
                     finding.message, other));
}

void TraceText::end(const TraceEnd& end) {
  std::string line = fmt::format("{} events", end.events);
  if (hidden_ > 0) line += fmt::format(", {} of them hidden by the filters", hidden_);
  if (end.left_out > 0) line += fmt::format("; {} more are left out (--max-events)", end.left_out);
  switch (end.how) {
    case TraceEnd::How::complete:
      break;
    case TraceEnd::How::stopped:
      line += "; the run stopped: threads are left that never came to their end";
      break;
    case TraceEnd::How::step_limit:
      line += "; the run stopped at the step limit";
      break;
    case TraceEnd::How::error:
      line += "; the run broke off with an error";
      break;
  }
  if (end.findings > 0) line += fmt::format("; {} finding{}", end.findings, end.findings == 1 ? "" : "s");
  write_(line + "\n");
}

}  // namespace tmemsim::report
