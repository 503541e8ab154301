#include "report/trace/moves.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/tcgen05.hpp"

namespace tmemsim::report {
namespace {

using Space = sim::Extent::Space;
using Visit = std::function<void(const Spot&, const Spot&)>;

constexpr std::int64_t most_named_elements = std::int64_t{1} << 20;  // of a buffer whose elements are named one by one

Spot register_spot(const sim::Event& event, std::int64_t row, std::uint32_t lane, std::int64_t bit = 0,
                   std::int64_t bits = 32) {
  return {Space::registers, event.ref.cta, event.ref.warp, lane, row, bit, bits};
}

Spot memory_spot(const sim::Extent& extent, std::int64_t byte, std::int64_t bytes) {
  return {extent.space, extent.place, 0, 0, 0, byte * 8, bytes * 8};
}

template <class Do>
void for_each_lane(std::uint32_t lanes, Do&& act) {
  for (; lanes != 0; lanes &= lanes - 1) act(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// The access of a thread: address words stand before it in the list.
const sim::Extent* access_of(const std::vector<sim::Extent>& extents, std::uint32_t lane, std::int64_t bytes) {
  for (std::size_t i = extents.size(); i-- > 0;) {
    const sim::Extent& extent = extents[i];
    const bool memory = extent.space == Space::shared || extent.space == Space::global;
    if (memory && extent.by_thread && extent.lane_first <= lane && lane <= extent.lane_last &&
        extent.last - extent.first + 1 == bytes)
      return &extent;
  }
  return nullptr;
}

class Moves {
 public:
  Moves(const Program& program, const sim::Event& event, const Visit& visit)
      : program_(program), event_(event), visit_(visit) {}

  void operator()(const Load& op) const { memory(op.dst, op.bytes, op.reg_byte, event_.reads, true); }
  void operator()(const Store& op) const { memory(op.src, op.bytes, op.reg_byte, event_.writes, false); }

  void operator()(const Move& op) const {
    const auto* from = std::get_if<Rows>(&op.a);
    if (!from || from->rows.empty()) return;
    for (std::size_t i = 0; i < op.dst.rows.size(); ++i) {
      const std::size_t source = from->rows.size() == 1 ? 0 : std::min(i, from->rows.size() - 1);
      for_each_lane(event_.ref.lanes, [&](std::uint32_t lane) {
        visit_(register_spot(event_, row(*from, source), lane), register_spot(event_, row(op.dst, i), lane));
      });
    }
  }

  void operator()(const TcgenLd& op) const { cells(op.shape, op.pack, op.half.value_or(0), op.dst, event_.reads, true); }
  void operator()(const TcgenSt& op) const { cells(op.shape, op.unpack, op.half.value_or(0), op.src, event_.writes, false); }

  void operator()(const BulkCopy&) const {  // sources and destinations are noted in pairs
    for (std::size_t i = 0; i < std::min(event_.reads.size(), event_.writes.size()); ++i) {
      const sim::Extent &from = event_.reads[i], &to = event_.writes[i];
      if (from.by_thread || to.by_thread) continue;
      visit_(memory_spot(from, from.first, from.last - from.first + 1), memory_spot(to, to.first, to.last - to.first + 1));
    }
  }

  template <class Op>
  void operator()(const Op&) const {}

 private:
  std::int64_t row(const Rows& rows, std::size_t i) const {
    return std::int64_t{program_.first_row[rows.buffer]} + rows.rows[i];
  }

  void memory(const Rows& rows, int bytes, const std::optional<std::uint8_t>& reg_byte, const std::vector<sim::Extent>& extents,
              bool load) const {
    const std::int64_t each = std::min(4, bytes);
    for_each_lane(event_.ref.lanes, [&](std::uint32_t lane) {
      const sim::Extent* access = access_of(extents, lane, bytes);
      if (!access) return;
      const std::int64_t first = access->first + (lane - access->lane_first) * access->stride;
      for (std::size_t i = 0; i < rows.rows.size() && static_cast<std::int64_t>(i) * 4 < bytes; ++i) {
        const Spot in_register = register_spot(event_, row(rows, i), lane, 8 * reg_byte.value_or(0), 8 * each);
        const Spot in_memory = memory_spot(*access, first + static_cast<std::int64_t>(i) * 4, each);
        if (load)
          visit_(in_memory, in_register);
        else
          visit_(in_register, in_memory);
      }
    });
  }

  void cells(Shape shape, bool packed, std::int32_t half, const Rows& rows, const std::vector<sim::Extent>& extents,
             bool load) const {
    const auto first =
        std::find_if(extents.begin(), extents.end(), [](const sim::Extent& extent) { return extent.space == Space::tmem; });
    if (first == extents.end()) return;
    const std::int64_t quadrant = first->lane_first / tcgen05::quadrant_lanes * tcgen05::quadrant_lanes,
                       lane = first->lane_first - quadrant;
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      for (std::uint32_t thread = 0; thread < 32; ++thread) {
        for (int part = 0; part < (packed ? 2 : 1); ++part) {
          const tcgen05::Cell cell = tcgen05::cell(shape, packed, half, static_cast<int>(thread), static_cast<int>(i), part);
          const Spot in_register = register_spot(event_, row(rows, i), thread, 16 * part, packed ? 16 : 32);
          const Spot in_tmem{Space::tmem,
                             first->place,
                             0,
                             static_cast<std::uint32_t>(quadrant + (lane + cell.lane + 32) % 32),
                             first->first + cell.column,
                             0,
                             packed ? 16 : 32};
          if (load)
            visit_(in_tmem, in_register);
          else
            visit_(in_register, in_tmem);
        }
      }
    }
  }

  const Program& program_;
  const sim::Event& event_;
  const Visit& visit_;
};

}  // namespace

bool covers(const sim::Extent& extent, const Spot& spot) {
  if (extent.space != spot.space || extent.place != spot.place) return false;
  if (extent.space == Space::tmem || extent.space == Space::registers) {
    if (extent.space == Space::registers && extent.warp != spot.warp) return false;
    if (extent.low_half && spot.bit >= 16) return false;
    return extent.lane_first <= spot.lane && spot.lane <= extent.lane_last && extent.first <= spot.row &&
           spot.row <= extent.last;
  }
  const std::int64_t threads = extent.by_thread ? extent.lane_last - extent.lane_first + 1 : 1;
  for (std::int64_t k = 0; k < threads; ++k)
    if ((extent.first + k * extent.stride) * 8 < spot.bit + spot.bits && spot.bit < (extent.last + k * extent.stride + 1) * 8)
      return true;
  return false;
}

bool any_covers(const std::vector<sim::Extent>& extents, const Spot& spot) {
  return std::any_of(extents.begin(), extents.end(), [&](const sim::Extent& extent) { return covers(extent, spot); });
}

void for_each_move(const Program& program, const sim::Event& event, const Visit& visit) {
  const auto* op = event.stmt ? std::get_if<MachineOps::Any>(&event.stmt->node) : nullptr;
  if (op) std::visit(Moves(program, event, visit), *op);
}

std::optional<Spot> carried(const Spot& part, const Spot& whole, const Spot& to) {
  if (!part.meets(whole)) return std::nullopt;
  const std::int64_t first = std::max(part.bit, whole.bit), end = std::min(part.bit + part.bits, whole.bit + whole.bits);
  Spot spot = to;
  spot.bit = to.bit + first - whole.bit;
  spot.bits = end - first;
  return spot;
}

std::vector<Spot> spots_of(const Program& program, const TmemPlaces& places, BufferId id, std::int64_t element,
                           std::uint32_t cta, std::optional<std::uint32_t> thread) {
  const Buffer& buffer = program.kernel->buffers[id];
  const std::int64_t width = bits(buffer.dtype);
  std::vector<Spot> spots;
  const std::uint32_t threads = program.kernel->launch.warps * 32;
  const auto add_register = [&](std::uint32_t tid, std::int64_t slot) {
    if (tid >= threads) return;
    for (std::int64_t done = 0; done < width; done += 32)
      spots.push_back({Space::registers, cta, tid / 32, tid % 32, program.first_row[id] + (slot * width + done) / 32,
                       slot * width % 32, std::min<std::int64_t>(32, width)});
  };
  if (buffer.space == tmemsim::Space::local && !buffer.layout) {
    add_register(thread.value_or(0), element);
    return spots;
  }
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const Point& point : evaluate_all(layout_of(buffer), element)) {
    switch (buffer.space) {
      case tmemsim::Space::global:
        if (seen.emplace(0, at(point, Axis::m)).second)
          spots.push_back({Space::global, id, 0, 0, 0, at(point, Axis::m) * width, width});
        break;
      case tmemsim::Space::shared:
        if (seen.emplace(0, at(point, Axis::m)).second)
          spots.push_back({Space::shared, cta, 0, 0, 0, buffer.offset.value_or(0) * 8 + at(point, Axis::m) * width, width});
        break;
      case tmemsim::Space::tmem: {
        const auto base = places.base(id, cta);
        if (!base || !seen.emplace(at(point, Axis::TLane), at(point, Axis::TCol)).second) break;
        const std::int64_t bit = at(point, Axis::TCol) * width;
        spots.push_back({Space::tmem, places.ctas()[cta].sm, 0, static_cast<std::uint32_t>(at(point, Axis::TLane)),
                         *base + buffer.column + bit / 32, bit % 32, std::min<std::int64_t>(32, width)});
        break;
      }
      case tmemsim::Space::local: {
        const std::int64_t tid = at(point, Axis::tx) + at(point, Axis::laneid) +
                                 32 * (at(point, Axis::warpid) + at(point, Axis::wid_in_wg)) + 128 * at(point, Axis::wgid) +
                                 at(point, Axis::tid_in_wg);
        if (tid >= 0 && seen.emplace(tid, at(point, Axis::m)).second)
          add_register(static_cast<std::uint32_t>(tid), at(point, Axis::m));
        break;
      }
    }
  }
  return spots;
}

std::string index_text(const Buffer& buffer, std::int64_t element) {
  std::vector<std::int64_t> index(buffer.shape.size());
  for (std::size_t d = buffer.shape.size(); d-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(1, buffer.shape[d]);
    index[d] = element % extent;
    element /= extent;
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

const std::map<PlaceNames::Key, std::int64_t>& PlaceNames::inverse(BufferId id) {
  const auto [known, fresh] = inverse_.try_emplace(id);
  if (!fresh) return known->second;
  const Buffer& buffer = program_.kernel->buffers[id];
  if (element_count(buffer) > most_named_elements) return known->second;
  const TileLayout layout = layout_of(buffer);
  const bool cells = buffer.space == tmemsim::Space::tmem;
  for (std::int64_t x = 0; x < element_count(buffer); ++x) {
    for (const Point& point : evaluate_all(layout, x))
      known->second.emplace(cells ? Key{at(point, Axis::TLane), at(point, Axis::TCol)} : Key{0, at(point, Axis::m)}, x);
  }
  return known->second;
}

std::string PlaceNames::elements(BufferId id, std::int64_t lane, std::int64_t first_bit, std::int64_t count) {
  constexpr std::size_t most = 4;
  const Buffer& buffer = program_.kernel->buffers[id];
  const std::int64_t width = bits(buffer.dtype);
  const auto& known = inverse(id);
  std::string text;
  std::size_t named = 0;
  for (std::int64_t slot = first_bit / width; slot * width < first_bit + count; ++slot) {
    const auto found = known.find({lane, slot});
    if (found == known.end()) continue;
    if (named++ < most) text += (text.empty() ? "" : " ") + index_text(buffer, found->second);
  }
  return named > most ? text + " ..." : text;
}

std::string PlaceNames::text(const Spot& spot, const TmemPlaces& places) {
  const Kernel& kernel = *program_.kernel;
  const bool several = places.ctas().size() > 1;
  const std::string in_cta = several ? fmt::format(" in CTA {}", spot.place) : "";
  switch (spot.space) {
    case Space::global: {
      const Buffer& buffer = kernel.buffers[spot.place];
      const std::string index = elements(static_cast<BufferId>(spot.place), 0, spot.bit, spot.bits);
      return index.empty() ? fmt::format("{} byte {}", buffer.name, spot.bit / 8) : buffer.name + index;
    }
    case Space::shared:
      for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
        const Buffer& buffer = kernel.buffers[id];
        const std::int64_t first = spot.bit - buffer.offset.value_or(0) * 8;
        if (buffer.space != tmemsim::Space::shared || buffer.dtype == Dtype::mbarrier || first < 0 ||
            first >= byte_size(buffer) * 8)
          continue;
        const std::string index = elements(static_cast<BufferId>(id), 0, first, spot.bits);
        return (index.empty() ? fmt::format("{} byte {}", buffer.name, first / 8) : buffer.name + index) + in_cta;
      }
      return fmt::format("shared byte {}{}", spot.bit / 8, in_cta);
    case Space::registers:
      for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
        const Buffer& buffer = kernel.buffers[id];
        const std::int64_t row = spot.row - program_.first_row[id];
        if (buffer.space != tmemsim::Space::local || row < 0 || row >= register_count(buffer)) continue;
        const std::string_view half = spot.bits > 16 ? "" : spot.bit >= 16 ? " (high half)" : " (low half)";
        return fmt::format("{}.r[{}]{} of thread {}{}", buffer.name, row, half, spot.warp * 32 + spot.lane, in_cta);
      }
      return fmt::format("register row {} of thread {}{}", spot.row, spot.warp * 32 + spot.lane, in_cta);
    case Space::tmem: {
      std::string text = fmt::format("lane {}, column {}", spot.lane, spot.row);
      if (several) text += fmt::format(" of SM {}", spot.place);
      for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
        if (kernel.buffers[id].space != tmemsim::Space::tmem) continue;
        for (std::uint32_t cta = 0; cta < places.ctas().size(); ++cta) {
          const auto columns = places.columns(static_cast<BufferId>(id), cta);
          if (places.ctas()[cta].sm != spot.place || !columns || spot.row < columns->first || spot.row > columns->second)
            continue;
          const std::string index =
              elements(static_cast<BufferId>(id), spot.lane, (spot.row - columns->first) * 32 + spot.bit, spot.bits);
          if (!index.empty()) return fmt::format("{} ({}{})", text, kernel.buffers[id].name, index);
        }
      }
      return text;
    }
  }
  return {};
}

}  // namespace tmemsim::report
