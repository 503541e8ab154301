#include "report/trace/replay.hpp"

#include <algorithm>

#include "ir/tcgen05.hpp"
#include "report/trace/initial.hpp"

namespace tmemsim::report {
namespace {

using Kind = sim::Event::Kind;
using Space = sim::Extent::Space;

constexpr std::size_t cells_of_sm = std::size_t{tcgen05::lanes} * tcgen05::columns;

std::size_t cell_index(std::int64_t lane, std::int64_t column) {
  return static_cast<std::size_t>(column * tcgen05::lanes + lane);
}

}  // namespace

Replay::Replay(std::shared_ptr<const Program> program) : program_(std::move(program)), places_(*program_->kernel) {
  const Kernel& kernel = *program_->kernel;
  Slots window(static_cast<std::size_t>(sim::shared_window(kernel)));
  const auto fill = [](Slots& slots, std::size_t first, const std::vector<std::uint8_t>& bytes) {
    for (std::size_t i = 0; i < bytes.size() && first + i < slots.size(); ++i) {
      slots[first + i].value = bytes[i];
      slots[first + i].written = slots[first + i].known = true;
    }
  };
  for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    if (buffer.space == tmemsim::Space::global) {
      Slots& slots = global_[static_cast<std::uint32_t>(id)];
      slots.resize(static_cast<std::size_t>(byte_size(buffer)));
      fill(slots, 0, initial_bytes(kernel, buffer));
    } else if (buffer.space == tmemsim::Space::shared) {
      fill(window, static_cast<std::size_t>(buffer.offset.value_or(0)), initial_bytes(kernel, buffer));
    }
  }
  initial_window_ = std::make_shared<const Slots>(std::move(window));
}

Replay::Slots* Replay::slots(const sim::Extent& extent) {
  switch (extent.space) {
    case Space::tmem: {
      Slots& slots = cells_[extent.place];
      if (slots.empty()) slots.resize(cells_of_sm);
      return &slots;
    }
    case Space::registers: {
      Slots& slots = registers_[{extent.place, extent.warp}];
      if (slots.empty()) slots.resize(std::size_t{program_->rows_per_warp} * 32);
      return &slots;
    }
    case Space::shared: {
      Slots& slots = shared_[extent.place];
      if (slots.empty()) slots = *initial_window_;
      return &slots;
    }
    case Space::global: {
      const auto found = global_.find(extent.place);
      return found == global_.end() ? nullptr : &found->second;
    }
  }
  return nullptr;
}

// In the order of Extent::values.
template <class Visit>
void Replay::for_each_slot(const sim::Extent& extent, Visit&& visit) {
  Slots* all = slots(extent);
  if (!all) return;
  std::size_t number = 0;
  const auto call = [&](std::int64_t index) {
    if (index >= 0 && static_cast<std::size_t>(index) < all->size()) visit((*all)[static_cast<std::size_t>(index)], number);
    ++number;
  };
  if (extent.space == Space::tmem || extent.space == Space::registers) {
    const std::int64_t width = extent.space == Space::tmem ? tcgen05::lanes : 32;
    for (std::int64_t major = extent.first; major <= extent.last; ++major)
      for (std::int64_t lane = extent.lane_first; lane <= extent.lane_last; ++lane) call(major * width + lane);
    return;
  }
  const std::int64_t threads = extent.by_thread ? extent.lane_last - extent.lane_first + 1 : 1;
  for (std::int64_t k = 0; k < threads; ++k)
    for (std::int64_t byte = extent.first + k * extent.stride; byte <= extent.last + k * extent.stride; ++byte) call(byte);
}

void Replay::write(const sim::Extent& extent, std::uint64_t writer) {
  for_each_slot(extent, [&](Slot& slot, std::size_t number) {
    slot.written = true;
    slot.writer = writer + 1;
    slot.known = number < extent.values.size();
    if (slot.known) slot.value = extent.values[number];
  });
}

void Replay::free_columns(const sim::AllocationChange& change) {
  auto& live = allocations_[change.sm];
  std::erase_if(live, [&](const Allocation& one) { return one.base == change.base && one.cta == change.cta; });
}

void Replay::apply(const sim::Event& event) {
  applied_ = event.seq + 1;
  places_.follow(event);
  for (const sim::AllocationChange& change : event.allocations) {
    free_columns(change);
    if (!change.live) continue;
    allocations_[change.sm].push_back({change.cta, change.base, change.columns, event.seq});
    Slots& cells = cells_[change.sm];
    if (cells.empty()) cells.resize(cells_of_sm);
    std::fill_n(cells.begin() + static_cast<std::ptrdiff_t>(cell_index(0, change.base)),
                std::size_t{change.columns} * tcgen05::lanes, Slot{});
  }
  const bool issue = event.kind == Kind::execute && !event.async.empty();
  const bool done = event.kind == Kind::complete;
  const std::int16_t step = done ? -1 : 1;
  const auto count = [&](std::uint16_t& counter) { counter = static_cast<std::uint16_t>(std::max(0, counter + step)); };
  if (issue || done) {
    for (const sim::Extent& extent : event.reads) {
      const bool at_once =
          extent.space == Space::registers || (extent.space != Space::tmem && extent.by_thread);  // operands, address words
      if (!at_once) for_each_slot(extent, [&](Slot& slot, std::size_t) { count(slot.reads); });
    }
    for (const sim::Extent& extent : event.writes) for_each_slot(extent, [&](Slot& slot, std::size_t) { count(slot.writes); });
  }
  if (!issue)
    for (const sim::Extent& extent : event.writes) write(extent, done ? event.of.value_or(event.seq) : event.seq);
  for (const sim::BarrierState& barrier : event.barriers)
    barriers_[{static_cast<int>(barrier.kind), {barrier.owner, barrier.id}}] = barrier;
  WarpPosition& position = positions_[{event.ref.cta, event.ref.warp}];
  position.in_flight = event.in_flight_after;
  if (done) return;
  position.stmt = event.stmt;
  position.kind = event.kind;
  position.lanes = event.ref.lanes;
  position.event = event.seq;
  if (event.kind == Kind::exit) position.exited |= event.ref.lanes;
}

Replay::Item Replay::item(const Slots* slots, std::size_t index) {
  Item item;
  if (!slots || index >= slots->size()) return item;
  const Slot& slot = (*slots)[index];
  item.written = slot.written;
  if (slot.known) item.value = slot.value;
  if (slot.writer != nobody) item.writer = slot.writer - 1;
  item.writes_in_flight = slot.writes;
  item.reads_in_flight = slot.reads;
  return item;
}

Replay::Cell Replay::cell(std::uint32_t sm, std::int64_t lane, std::int64_t column) const {
  Cell cell;
  if (lane < 0 || lane >= tcgen05::lanes || column < 0 || column >= tcgen05::columns) return cell;
  const auto found = cells_.find(sm);
  cell.item = item(found == cells_.end() ? nullptr : &found->second, cell_index(lane, column));
  for (const Allocation& one : allocations(sm))
    if (column >= one.base && column < one.base + one.columns) cell.owner = one.cta;
  if (!cell.owner) return cell;
  cell.state = cell.item.writes_in_flight > 0  ? CellState::write_in_flight
               : cell.item.reads_in_flight > 0 ? CellState::read_in_flight
               : cell.item.written             ? CellState::valid
                                               : CellState::never_written;
  return cell;
}

Replay::Item Replay::reg(std::uint32_t cta, std::uint32_t warp, std::int64_t row, std::uint32_t lane) const {
  const auto found = registers_.find({cta, warp});
  if (found == registers_.end() || row < 0 || lane > 31) return {};
  return item(&found->second, static_cast<std::size_t>(row * 32 + lane));
}

Replay::Item Replay::shared_byte(std::uint32_t cta, std::int64_t byte) const {
  const auto found = shared_.find(cta);
  if (byte < 0) return {};
  return item(found == shared_.end() ? initial_window_.get() : &found->second, static_cast<std::size_t>(byte));
}

Replay::Item Replay::global_byte(BufferId buffer, std::int64_t byte) const {
  const auto found = global_.find(buffer);
  if (found == global_.end() || byte < 0) return {};
  return item(&found->second, static_cast<std::size_t>(byte));
}

const std::vector<Replay::Allocation>& Replay::allocations(std::uint32_t sm) const {
  static const std::vector<Allocation> none;
  const auto found = allocations_.find(sm);
  return found == allocations_.end() ? none : found->second;
}

const Replay::WarpPosition* Replay::position(std::uint32_t cta, std::uint32_t warp) const {
  const auto found = positions_.find({cta, warp});
  return found == positions_.end() ? nullptr : &found->second;
}

std::string_view name(Replay::CellState state) {
  constexpr std::array<std::string_view, 5> names{"not allocated", "allocated, never written", "valid", "write in flight",
                                                  "read in flight"};
  return names[static_cast<std::size_t>(state)];
}

}  // namespace tmemsim::report
