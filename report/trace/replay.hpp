// Events applied to a state: what every cell, register, byte and barrier is after any number of them.
//
// A copy is a snapshot. Memory that no event has touched costs nothing. Values are known where the stream has them
// (Observer::wants_values), and for what buffers hold at the start.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/program.hpp"
#include "report/trace/places.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::report {

class Replay {
 public:
  explicit Replay(std::shared_ptr<const Program> program);
  void apply(const sim::Event& event);
  std::uint64_t applied() const { return applied_; }

  // A word of tensor memory or of a register, or a byte of memory.
  struct Item {
    bool written = false;  // by an event or, for memory, before the start
    std::optional<std::uint32_t> value;
    std::optional<std::uint64_t> writer;  // seq of the operation that wrote it last (an asynchronous one: of its issue)
    std::uint16_t writes_in_flight = 0, reads_in_flight = 0;
  };
  enum class CellState : std::uint8_t { unallocated, never_written, valid, write_in_flight, read_in_flight };
  struct Cell {
    Item item;
    CellState state = CellState::unallocated;
    std::optional<std::uint32_t> owner;  // CTA that holds the column
  };

  // All ranges are checked: outside of them nothing has been written.
  Cell cell(std::uint32_t sm, std::int64_t lane, std::int64_t column) const;
  Item reg(std::uint32_t cta, std::uint32_t warp, std::int64_t row, std::uint32_t lane) const;
  Item shared_byte(std::uint32_t cta, std::int64_t byte) const;  // of the CTA's window
  Item global_byte(BufferId buffer, std::int64_t byte) const;

  struct Allocation {
    std::uint32_t cta = 0, base = 0, columns = 0;
    std::uint64_t event = 0;
  };
  const std::vector<Allocation>& allocations(std::uint32_t sm) const;
  const std::map<std::pair<int, std::pair<std::uint32_t, std::int64_t>>, sim::BarrierState>& barriers() const {
    return barriers_;
  }  // kind, owner, id

  struct WarpPosition {
    const Stmt* stmt = nullptr;  // of the last event
    sim::Event::Kind kind = sim::Event::Kind::execute;
    std::uint32_t lanes = 0, exited = 0;
    std::uint64_t event = 0;
    std::vector<std::uint64_t> in_flight;
  };
  const WarpPosition* position(std::uint32_t cta, std::uint32_t warp) const;  // null: nothing has happened there

  const TmemPlaces& places() const { return places_; }
  const Program& program() const { return *program_; }

 private:
  static constexpr std::uint64_t nobody = 0;
  struct Slot {
    std::uint64_t writer = nobody;  // seq + 1
    std::uint32_t value = 0;
    std::uint16_t writes = 0, reads = 0;  // in flight
    bool written = false, known = false;
  };
  using Slots = std::vector<Slot>;

  Slots* slots(const sim::Extent& extent);
  template <class Visit>
  void for_each_slot(const sim::Extent& extent, Visit&& visit);
  void write(const sim::Extent& extent, std::uint64_t writer);
  void free_columns(const sim::AllocationChange& change);
  static Item item(const Slots* slots, std::size_t index);

  std::shared_ptr<const Program> program_;
  TmemPlaces places_;
  std::uint64_t applied_ = 0;
  std::map<std::uint32_t, Slots> cells_;                                // by SM: column * 128 + lane
  std::map<std::pair<std::uint32_t, std::uint32_t>, Slots> registers_;  // by CTA and warp: row * 32 + lane
  std::map<std::uint32_t, Slots> shared_, global_;                      // by CTA; by buffer
  std::shared_ptr<const Slots> initial_window_;
  std::map<std::uint32_t, std::vector<Allocation>> allocations_;
  std::map<std::pair<int, std::pair<std::uint32_t, std::int64_t>>, sim::BarrierState> barriers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, WarpPosition> positions_;
};

std::string_view name(Replay::CellState state);

}  // namespace tmemsim::report
