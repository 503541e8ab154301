// Which bits an operation moves from where to where: for following one element through registers, cells and memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/program.hpp"
#include "report/trace/places.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::report {

// A run of bits in one cell, one register of one thread, or memory.
struct Spot {
  sim::Extent::Space space = sim::Extent::Space::tmem;
  std::uint32_t place = 0;           // SM, CTA or buffer, as in an Extent
  std::uint32_t warp = 0, lane = 0;  // registers: warp and thread; tmem: lane
  std::int64_t row = 0;              // column or register row; memory: 0
  std::int64_t bit = 0;              // first bit in the word; memory: in the window or buffer
  std::int64_t bits = 32;
  bool same_word(const Spot& other) const {
    return std::tie(space, place, warp, lane, row) == std::tie(other.space, other.place, other.warp, other.lane, other.row);
  }
  bool meets(const Spot& other) const { return same_word(other) && bit < other.bit + other.bits && other.bit < bit + bits; }
  bool operator==(const Spot&) const = default;
};

// Whether the extent covers bits of the spot.
bool covers(const sim::Extent& extent, const Spot& spot);
bool any_covers(const std::vector<sim::Extent>& extents, const Spot& spot);

// Calls visit(from, to) for each piece that the event's operation moves unchanged: ld, st, mov, tcgen05.ld and .st (packed
// ones, too), cp.async.bulk. Of an issue it is what will be moved. Other operations compute, or are not taken apart: nothing is
// called.
void for_each_move(const Program& program, const sim::Event& event,
                   const std::function<void(const Spot& from, const Spot& to)>& visit);

// Where the `part` bits of `from` go when `whole` is moved to `to`: the overlap, shifted.
std::optional<Spot> carried(const Spot& part, const Spot& whole, const Spot& to);

// Where a logical element of a buffer stands in a CTA: one spot a copy (registers of a replicated layout have several).
// TMEM: nothing before the buffer's alloc. A local buffer without layout has an element in every thread: `thread` chooses.
std::vector<Spot> spots_of(const Program& program, const TmemPlaces& places, BufferId buffer, std::int64_t element,
                           std::uint32_t cta, std::optional<std::uint32_t> thread = std::nullopt);

// Names of places: which element of which buffer stands there.
class PlaceNames {
 public:
  explicit PlaceNames(const Program& program) : program_(program) {}
  // "A[3, 5]", "A_frag.r[5] of thread 67", "lane 67, column 5 (acc[67, 5])", with the CTA where there are several.
  std::string text(const Spot& spot, const TmemPlaces& places);
  // Logical elements of the buffer that stand in the bits: "[3, 5]"; empty when there is none, or the buffer is very large.
  std::string elements(BufferId buffer, std::int64_t lane, std::int64_t first_slot_bit, std::int64_t bits);

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // lane (0 for memory), slot
  const std::map<Key, std::int64_t>& inverse(BufferId buffer);
  const Program& program_;
  std::map<BufferId, std::map<Key, std::int64_t>> inverse_;
};

// "[3, 5]" for the row-major index of an element.
std::string index_text(const Buffer& buffer, std::int64_t element);

}  // namespace tmemsim::report
