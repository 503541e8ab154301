#include "report/memory.hpp"

#include <algorithm>

#include "sim/reference/naive.hpp"
#include "sim/reference/storage.hpp"

namespace tmemsim::report {
namespace {

// `width` bits from bit `start` of a string of 32-bit words; word(k) gives word k and the mask of its written bits.
template <class Word> ReadBack gather(std::int64_t start, int width, Word&& word) {
  ReadBack result{0, true};
  for (int done = 0; done < width;) {
    const auto shift = static_cast<int>((start + done) % 32);
    const int taken = std::min(width - done, 32 - shift);
    const auto [value, written] = word((start + done) / 32);
    const std::uint64_t mask = (std::uint64_t{1} << taken) - 1;
    result.bits |= (std::uint64_t{value} >> shift & mask) << done;
    result.written = result.written && (std::uint64_t{written} >> shift & mask) == mask;
    done += taken;
  }
  return result;
}

using Word = std::pair<std::uint32_t, std::uint32_t>;  // value, written bits

Word word_of(const Bytes& bytes, std::int64_t k) {
  Word word{0, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t at = static_cast<std::size_t>(4 * k) + i;
    if (at < bytes.data.size()) word.first |= std::uint32_t{bytes.data[at]} << (8 * i);
    if (at < bytes.written.size() && bytes.written[at]) word.second |= 0xffu << (8 * i);
  }
  return word;
}

// Thread that owns a place: its coordinates within the unit, and the unit that `thread` belongs to for the rest.
std::uint32_t owner(const Buffer& buffer, const Point& place, std::uint32_t thread) {
  if (!buffer.layout) return thread;
  const Scope unit = reference::unit_of(buffer);
  const std::uint32_t first = unit == Scope::thread ? thread : unit == Scope::warp ? thread / 32 * 32 : unit == Scope::warpgroup ? thread / 128 * 128 : 0;
  const std::int64_t within = at(place, Axis::laneid) + at(place, Axis::tid_in_wg) + at(place, Axis::tx) +
                              32 * (at(place, Axis::wid_in_wg) + at(place, Axis::warpid)) + 128 * at(place, Axis::wgid);
  return first + static_cast<std::uint32_t>(within);
}

}  // namespace

std::optional<std::uint32_t> Memory::tmem_base(const Buffer& buffer, std::uint32_t cta) const {
  if (!buffer.slot) return static_cast<std::uint32_t>(buffer.base.value_or(0));
  const std::int64_t first = kernel_.buffers[*buffer.slot].offset.value_or(0);
  const ReadBack word = gather(8 * first, 32, [&](std::int64_t k) { return word_of(image_.ctas[cta].shared, k); });
  if (!word.written) return std::nullopt;
  return static_cast<std::uint32_t>(word.bits);
}

std::optional<ElementSpot> Memory::spot(BufferId id, std::uint32_t cta, std::uint32_t thread, std::int64_t x) const {
  const Buffer& buffer = kernel_.buffers[id];
  const Point place = reference::naive_place(buffer, x);
  const int width = bits(buffer.dtype);
  ElementSpot spot;
  switch (buffer.space) {
    case Space::global: spot.bit = at(place, Axis::m) * width; break;
    case Space::shared: spot.bit = 8 * buffer.offset.value_or(0) + at(place, Axis::m) * width; break;
    case Space::local:
      spot.bit = at(place, Axis::m) * width;
      spot.thread = owner(buffer, place, thread);
      spot.reg = static_cast<std::uint32_t>(spot.bit / 32);
      break;
    case Space::tmem: {
      const auto base = tmem_base(buffer, cta);
      if (!base) return std::nullopt;
      spot.lane = std::int64_t{*base >> 16} + at(place, Axis::TLane);
      spot.bit = 32 * (std::int64_t{*base & 0xffff} + buffer.column) + at(place, Axis::TCol) * width;
      spot.column = spot.bit / 32;
      break;
    }
  }
  return spot;
}

std::optional<ReadBack> Memory::read(BufferId id, std::uint32_t cta, std::uint32_t thread, std::int64_t x) const {
  const Buffer& buffer = kernel_.buffers[id];
  const auto spot = this->spot(id, cta, thread, x);
  if (!spot || spot->bit < 0) return std::nullopt;
  const int width = bits(buffer.dtype);
  switch (buffer.space) {
    case Space::global: return gather(spot->bit, width, [&](std::int64_t k) { return word_of(image_.global[id], k); });
    case Space::shared: return gather(spot->bit, width, [&](std::int64_t k) { return word_of(image_.ctas[cta].shared, k); });
    case Space::local:
      return gather(spot->bit, width, [&](std::int64_t k) {
        const auto& warps = image_.ctas[cta].registers;
        const std::size_t warp = *spot->thread / 32, row = static_cast<std::size_t>(program_.first_row[id] + k);
        if (warp >= warps.size() || row >= warps[warp].size()) return Word{0, 0};
        const std::uint32_t lane = *spot->thread % 32;
        return Word{warps[warp][row].value[lane], warps[warp][row].written >> lane & 1 ? ~0u : 0u};
      });
    case Space::tmem:
      return gather(spot->bit, width, [&](std::int64_t k) {
        const Cells& cells = image_.sms[image_.ctas[cta].sm];
        const std::size_t at = static_cast<std::size_t>(k * 128 + *spot->lane);
        if (*spot->lane < 0 || *spot->lane >= 128 || k >= 512 || at >= cells.value.size()) return Word{0, 0};
        return Word{cells.value[at], (cells.written[at] & 1 ? 0xffffu : 0u) | (cells.written[at] & 2 ? 0xffff0000u : 0u)};
      });
  }
  return std::nullopt;
}

}  // namespace tmemsim::report
