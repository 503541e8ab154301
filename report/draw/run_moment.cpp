#include "report/draw/run_moment.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/tcgen05.hpp"
#include "report/trace/stream.hpp"

namespace tmemsim::report {
namespace {

constexpr std::int64_t threads = 32, most_rows = 300;

// Calls visit(word) for each word of an extent of cells or registers.
template <class Visit> void for_each_word(const sim::Extent& extent, Visit&& visit) {
  const std::int64_t height = extent.space == sim::Extent::Space::tmem ? tcgen05::lanes : threads;
  for (std::int64_t column = extent.first; column <= extent.last; ++column)
    for (std::int64_t lane = extent.lane_first; lane <= extent.lane_last; ++lane) visit(static_cast<std::size_t>(column * height + lane));
}

WordState state_of(bool written, bool reading, bool writing) {
  if (reading && writing) return WordState::both_in_flight;
  if (writing) return WordState::write_in_flight;
  if (reading) return WordState::read_in_flight;
  return written ? WordState::valid : WordState::never_written;
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

RunMoment::RunMoment(const Program& program, std::uint64_t step) : program_(program), step_(step), places_(*program.kernel) {}

void RunMoment::event(const sim::Event& event) {
  last_step_ = std::max(last_step_, event.step);
  if (event.step > step_) return;
  places_.follow(event);
  const bool issue = event.kind == sim::Event::Kind::execute && !event.async.empty();
  if (issue || event.kind == sim::Event::Kind::complete) {
    count(event.reads, false, issue);
    count(event.writes, true, issue);
  }
  if (!issue) write(event.writes);
  for (const sim::AllocationChange& change : event.allocations) allocate(change);
  last_ = event;
}

RunMoment::Words* RunMoment::words_of(const sim::Extent& extent) {
  switch (extent.space) {
    case sim::Extent::Space::tmem:
      return &cells_.try_emplace(extent.place, static_cast<std::size_t>(tcgen05::lanes * tcgen05::columns)).first->second;
    case sim::Extent::Space::registers:
      return &registers_.try_emplace({extent.place, extent.warp}, static_cast<std::size_t>(program_.rows_per_warp * threads)).first->second;
    default:
      return nullptr;
  }
}

void RunMoment::count(const std::vector<sim::Extent>& extents, bool write, bool begins) {
  for (const sim::Extent& extent : extents) {
    Words* words = words_of(extent);
    if (!words) continue;
    std::vector<std::uint16_t>& counts = write ? words->writing : words->reading;
    for_each_word(extent, [&](std::size_t word) {
      if (begins) ++counts.at(word);
      else if (counts.at(word) > 0) --counts[word];
    });
  }
}

void RunMoment::write(const std::vector<sim::Extent>& extents) {
  for (const sim::Extent& extent : extents)
    if (Words* words = words_of(extent)) for_each_word(extent, [&](std::size_t word) { words->written.at(word) = 1; });
}

void RunMoment::allocate(const sim::AllocationChange& change) {
  auto& columns = allocated_[change.sm];
  const std::int64_t first = change.base, last = first + change.columns - 1;
  for (std::int64_t c = first; c <= last; ++c) columns.at(static_cast<std::size_t>(c)) = change.live;
  if (!change.live) return;
  auto& [used_first, used_last] = used_.try_emplace(change.sm, first, last).first->second;
  used_first = std::min(used_first, first);
  used_last = std::max(used_last, last);
  // Fresh columns hold nothing that anybody wrote.
  if (const auto cells = cells_.find(change.sm); cells != cells_.end())
    std::fill_n(cells->second.written.begin() + first * tcgen05::lanes, change.columns * tcgen05::lanes, std::uint8_t{0});
}

Plane RunMoment::tmem_plane(std::uint32_t sm) const {
  const auto used = used_.find(sm);
  const auto [first, last] = used == used_.end() ? std::pair<std::int64_t, std::int64_t>{0, 31} : used->second;
  Plane plane;
  plane.title = places_.ctas().size() > 1 ? fmt::format("Tensor memory, SM {}", sm) : "Tensor memory";
  plane.row_name = "lane";
  plane.rows = tcgen05::lanes;
  plane.first_column = first;
  plane.columns = last - first + 1;
  const auto cells = cells_.find(sm);
  const auto allocated = allocated_.find(sm);
  for (std::int64_t lane = 0; lane < plane.rows; ++lane) {
    for (std::int64_t column = first; column <= last; ++column) {
      const auto word = static_cast<std::size_t>(column * tcgen05::lanes + lane);
      if (allocated == allocated_.end() || !allocated->second[static_cast<std::size_t>(column)]) plane.words.push_back(WordState::unallocated);
      else if (cells == cells_.end()) plane.words.push_back(WordState::never_written);
      else plane.words.push_back(state_of(cells->second.written[word], cells->second.reading[word], cells->second.writing[word]));
    }
  }
  const Kernel& kernel = *program_.kernel;
  for (std::uint32_t cta = 0; cta < places_.ctas().size(); ++cta) {
    if (places_.ctas()[cta].sm != sm) continue;
    for (BufferId id = 0; id < kernel.buffers.size(); ++id) {
      if (kernel.buffers[id].space != Space::tmem) continue;
      if (const auto columns = places_.columns(id, cta)) plane.bands.push_back({columns->first, columns->second, kernel.buffers[id].name});
    }
  }
  add_marks(plane, sim::Extent::Space::tmem, sm, 0);
  return plane;
}

Plane RunMoment::register_plane(std::uint32_t cta, std::uint32_t warp) const {
  const Kernel& kernel = *program_.kernel;
  Plane plane;
  plane.rows = threads;
  plane.row_name = "thread";
  plane.columns = std::min<std::int64_t>(program_.rows_per_warp, most_rows);
  plane.title = fmt::format("Registers of {}warp {}", places_.ctas().size() > 1 ? fmt::format("CTA {}, ", cta) : "", warp);
  if (plane.columns < program_.rows_per_warp) plane.title += fmt::format(" (the first {} of {})", plane.columns, program_.rows_per_warp);
  const auto words = registers_.find({cta, warp});
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    for (std::int64_t row = 0; row < plane.columns; ++row) {
      const auto word = static_cast<std::size_t>(row * threads + thread);
      plane.words.push_back(words == registers_.end()
                                ? WordState::never_written
                                : state_of(words->second.written[word], words->second.reading[word], words->second.writing[word]));
    }
  }
  for (BufferId id = 0; id < kernel.buffers.size(); ++id) {
    if (kernel.buffers[id].space != Space::local) continue;
    const std::int64_t first = program_.first_row[id];
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
  moment.title = fmt::format("{}, step {}", program_.kernel->name, step_);
  moment.subtitle = last_ ? subtitle_of(*program_.kernel, *last_) : "before the first instruction";
  moment.tmem = tmem_plane(places_.ctas()[shown_cta].sm);
  moment.registers = register_plane(shown_cta, shown_warp);
  return moment;
}

}  // namespace tmemsim::report
