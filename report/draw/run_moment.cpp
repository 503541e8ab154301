#include "report/draw/run_moment.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/tcgen05.hpp"
#include "report/trace/stream.hpp"

namespace tmemsim::report {
namespace {

constexpr std::int64_t threads = 32, most_rows = 300;

WordState state_of(const Replay::Item& item) {
  if (item.reads_in_flight > 0 && item.writes_in_flight > 0) return WordState::both_in_flight;
  if (item.writes_in_flight > 0) return WordState::write_in_flight;
  if (item.reads_in_flight > 0) return WordState::read_in_flight;
  return item.written ? WordState::valid : WordState::never_written;
}

std::string subtitle_of(const Kernel& kernel, const sim::Event& event) {
  std::string text = event.ref.label.empty() ? "" : event.ref.label + ": ";
  text += event.stmt ? statement_text(kernel, *event.stmt) : "the end of the program";
  constexpr std::array<std::string_view, 6> verbs{"", " completes", " waits", " goes on", "", ""};
  text += verbs[static_cast<std::size_t>(event.kind)];
  for (const auto& [variable, value] : event.ref.loop) text += fmt::format(", {} = {}", variable, value);
  if (cta_count(kernel.launch) > 1) text += fmt::format(", CTA {}", event.ref.cta);
  return text + fmt::format(", warp {}", event.ref.warp);
}

}  // namespace

RunMoment::RunMoment(std::shared_ptr<const Program> program, std::uint64_t step)
    : program_(std::move(program)), step_(step), replay_(program_) {}

void RunMoment::event(const sim::Event& event) {
  last_step_ = std::max(last_step_, event.step);
  if (event.step > step_) return;
  replay_.apply(event);
  for (const sim::AllocationChange& change : event.allocations) {
    const std::int64_t first = change.base, last = first + change.columns - 1;
    auto& [used_first, used_last] = used_.try_emplace(change.sm, first, last).first->second;
    used_first = std::min(used_first, first);
    used_last = std::max(used_last, last);
  }
  last_ = event;
}

Plane RunMoment::tmem_plane(std::uint32_t sm) const {
  const auto used = used_.find(sm);
  const auto [first, last] = used == used_.end() ? std::pair<std::int64_t, std::int64_t>{0, 31} : used->second;
  const auto& ctas = replay_.places().ctas();
  Plane plane;
  plane.title = ctas.size() > 1 ? fmt::format("Tensor memory, SM {}", sm) : "Tensor memory";
  plane.row_name = "lane";
  plane.rows = tcgen05::lanes;
  plane.first_column = first;
  plane.columns = last - first + 1;
  for (std::int64_t lane = 0; lane < plane.rows; ++lane) {
    for (std::int64_t column = first; column <= last; ++column) {
      const Replay::Cell cell = replay_.cell(sm, lane, column);
      plane.words.push_back(cell.state == Replay::CellState::unallocated ? WordState::unallocated : state_of(cell.item));
    }
  }
  const Kernel& kernel = *program_->kernel;
  for (std::uint32_t cta = 0; cta < ctas.size(); ++cta) {
    if (ctas[cta].sm != sm) continue;
    for (BufferId id = 0; id < kernel.buffers.size(); ++id) {
      if (kernel.buffers[id].space != Space::tmem) continue;
      if (const auto columns = replay_.places().columns(id, cta)) plane.bands.push_back({columns->first, columns->second, kernel.buffers[id].name});
    }
  }
  add_marks(plane, sim::Extent::Space::tmem, sm, 0);
  return plane;
}

Plane RunMoment::register_plane(std::uint32_t cta, std::uint32_t warp) const {
  const Kernel& kernel = *program_->kernel;
  Plane plane;
  plane.rows = threads;
  plane.row_name = "thread";
  plane.columns = std::min<std::int64_t>(program_->rows_per_warp, most_rows);
  plane.title = fmt::format("Registers of {}warp {}", cta_count(kernel.launch) > 1 ? fmt::format("CTA {}, ", cta) : "", warp);
  if (plane.columns < program_->rows_per_warp) plane.title += fmt::format(" (the first {} of {})", plane.columns, program_->rows_per_warp);
  for (std::int64_t thread = 0; thread < threads; ++thread)
    for (std::int64_t row = 0; row < plane.columns; ++row)
      plane.words.push_back(state_of(replay_.reg(cta, warp, row, static_cast<std::uint32_t>(thread))));
  for (BufferId id = 0; id < kernel.buffers.size(); ++id) {
    if (kernel.buffers[id].space != Space::local) continue;
    const std::int64_t first = program_->first_row[id];
    plane.bands.push_back({first, first + register_count(kernel.buffers[id]) - 1, kernel.buffers[id].name});
  }
  add_marks(plane, sim::Extent::Space::registers, cta, warp);
  return plane;
}

void RunMoment::add_marks(Plane& plane, sim::Extent::Space space, std::uint32_t place, std::uint32_t warp) const {
  if (!last_) return;
  for (const bool writes : {false, true}) {
    for (const sim::Extent& extent : writes ? last_->writes : last_->reads)
      if (extent.space == space && extent.place == place && (space == sim::Extent::Space::tmem || extent.warp == warp))
        plane.marks.push_back({writes, extent.lane_first, extent.lane_last, extent.first, extent.last});
  }
}

Moment RunMoment::moment(std::optional<std::uint32_t> cta, std::optional<std::uint32_t> warp) const {
  const std::uint32_t shown_cta = cta.value_or(last_ ? last_->ref.cta : 0), shown_warp = warp.value_or(last_ ? last_->ref.warp : 0);
  Moment moment;
  moment.title = fmt::format("{}, step {}", program_->kernel->name, step_);
  moment.subtitle = last_ ? subtitle_of(*program_->kernel, *last_) : "before the first instruction";
  moment.tmem = tmem_plane(replay_.places().ctas()[shown_cta].sm);
  moment.registers = register_plane(shown_cta, shown_warp);
  return moment;
}

}  // namespace tmemsim::report
