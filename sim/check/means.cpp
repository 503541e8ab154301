#include "sim/check/means.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "sim/exec/operand.hpp"

namespace tmemsim::sim {
namespace {

// A piece of an element: the part of it that moves as one.
using Piece = std::int64_t;

std::uint64_t place_key(std::uint64_t row, std::uint64_t column, std::uint64_t bit) { return row << 40 | column << 8 | bit; }

// The places of the pieces of a region's elements, as far as this warp's threads (or this CTA's tensor memory) hold them.
class Places {
 public:
  Places(Warp& warp, const Region& region, const RegionPlan& plan, std::int64_t start, std::uint32_t part_bits)
      : warp_(warp), buffer_(warp.machine.kernel.buffers[region.buffer]), width_(bits(buffer_.dtype)),
        piece_bits_(std::min<std::int64_t>(width_, part_bits)), pieces_(width_ / piece_bits_) {
    const TileLayout layout = layout_of(buffer_);
    if (buffer_.space == Space::tmem) base_ = warp.base_of(region).value;
    for (const Iter& iter : layout.shard) note_axis(iter.axis);
    for (const Iter& iter : layout.replica) note_axis(iter.axis);
    for (const AxisOffset& offset : layout.offset) note_axis(offset.axis);
    for (std::int64_t i = 0; i < plan.elements; ++i) {
      std::int64_t element = start, rest = i;
      for (std::size_t d = plan.extent.size(); d-- > 0; rest /= plan.extent[d]) element += rest % plan.extent[d] * plan.weight[d];
      for (const Point& point : evaluate_all(layout, element)) {
        if (!is_here(point)) continue;
        for (std::int64_t j = 0; j < pieces_; ++j) add(region, point, i * pieces_ + j, j * piece_bits_);
      }
    }
  }

  std::int64_t piece_bits() const { return piece_bits_; }
  std::int64_t pieces_of_an_element() const { return pieces_; }
  bool empty() const { return piece_at_.empty(); }
  // -1: no element is there.
  Piece piece_at(std::uint64_t key) const {
    const auto found = piece_at_.find(key);
    return found == piece_at_.end() ? -1 : found->second;
  }
  const std::vector<std::uint64_t>& keys_of(Piece piece) const {
    static const std::vector<std::uint64_t> none;
    const auto found = keys_of_.find(piece);
    return found == keys_of_.end() ? none : found->second;
  }

 private:
  void note_axis(Axis axis) { uses_[static_cast<std::size_t>(axis)] = true; }
  bool uses(Axis axis) const { return uses_[static_cast<std::size_t>(axis)]; }

  // The coordinates of the warp and its CTA on the axes other than those that count single threads.
  bool is_here(const Point& point) const {
    const std::uint32_t w = warp_.state.warp;
    const Launch& launch = warp_.machine.kernel.launch;
    const std::uint32_t index = warp_.cta.index;
    const std::array<std::uint32_t, 3> in_grid{index % launch.grid[0], index / launch.grid[0] % launch.grid[1], index / launch.grid[0] / launch.grid[1]};
    const auto agrees = [&](Axis axis, std::uint32_t value) { return !uses(axis) || at(point, axis) == value; };
    if (!agrees(Axis::wid_in_wg, w % 4) || !agrees(Axis::warpid, w) || !agrees(Axis::wgid, w / 4)) return false;
    if (uses(Axis::tid_in_wg) && at(point, Axis::tid_in_wg) / 32 != w % 4) return false;
    if (uses(Axis::tx) && at(point, Axis::tx) / 32 != w) return false;
    if (uses(Axis::laneid) && (at(point, Axis::laneid) < 0 || at(point, Axis::laneid) >= 32)) return false;
    const std::array<Axis, 3> grid_axes{Axis::bx, Axis::by, Axis::bz}, cluster_axes{Axis::cbx, Axis::cby, Axis::cbz};
    for (std::size_t d = 0; d < 3; ++d)
      if (!agrees(grid_axes[d], in_grid[d]) || !agrees(cluster_axes[d], in_grid[d] % launch.cluster[d])) return false;
    return true;
  }

  std::optional<std::uint32_t> thread_of(const Point& point) const {
    if (uses(Axis::laneid)) return static_cast<std::uint32_t>(at(point, Axis::laneid));
    if (uses(Axis::tid_in_wg)) return static_cast<std::uint32_t>(at(point, Axis::tid_in_wg) % 32);
    if (uses(Axis::tx)) return static_cast<std::uint32_t>(at(point, Axis::tx) % 32);
    return std::nullopt;
  }

  void add(const Region& region, const Point& point, Piece piece, std::int64_t bit) {
    std::uint64_t key = 0;
    if (buffer_.space == Space::local) {
      const auto thread = thread_of(point);
      if (!thread) return;
      const std::int64_t first = at(point, Axis::m) * width_ + bit;
      key = place_key(*thread, static_cast<std::uint64_t>(warp_.machine.program.first_row[region.buffer] + first / 32), static_cast<std::uint64_t>(first % 32));
    } else {
      const std::int64_t first = at(point, Axis::TCol) * width_ + bit;
      key = place_key(static_cast<std::uint64_t>(at(point, Axis::TLane)), static_cast<std::uint64_t>(base_ + buffer_.column + first / 32),
                      static_cast<std::uint64_t>(first % 32));
    }
    piece_at_[key] = piece;
    keys_of_[piece].push_back(key);
  }

  Warp& warp_;
  const Buffer& buffer_;
  const std::int64_t width_, piece_bits_, pieces_;
  std::int64_t base_ = 0;
  std::array<bool, axis_count> uses_{};
  std::unordered_map<std::uint64_t, Piece> piece_at_;
  std::unordered_map<Piece, std::vector<std::uint64_t>> keys_of_;
};

std::string element_text(const RegionPlan& plan, const Buffer& buffer, Piece piece, std::int64_t pieces) {
  if (piece < 0) return fmt::format("no element of {}", buffer.name);
  std::string text;
  std::int64_t rest = piece / pieces;
  for (std::size_t d = plan.extent.size(); d-- > 0; rest /= plan.extent[d]) text = fmt::format("{}{}{}", rest % plan.extent[d], text.empty() ? "" : ", ", text);
  return fmt::format("element [{}]", text);
}

}  // namespace

std::optional<MeansMismatch> mismatch_with_means(Warp& warp, const Means& means, const std::vector<MovedPart>& parts, std::uint32_t part_bits) {
  const auto& buffers = warp.machine.kernel.buffers;
  const bool from_tmem = buffers[means.src.buffer].space == Space::tmem;
  const Region &cells = from_tmem ? means.src : means.dst, &registers = from_tmem ? means.dst : means.src;
  const Buffer &tmem = buffers[cells.buffer], &local = buffers[registers.buffer];
  if (tmem.space != Space::tmem || local.space != Space::local || !local.layout || bits(tmem.dtype) != bits(local.dtype)) return std::nullopt;
  const RegionPlan *cell_plan = warp.plan.find_region(cells), *register_plan = warp.plan.find_region(registers);
  if (!cell_plan || !register_plan) return std::nullopt;
  const Warp::Start first_cell = warp.start_of(cells), first_register = warp.start_of(registers);
  if (!first_cell.fine || !first_register.fine || warp.base_of(cells).bad) return std::nullopt;
  const Places of_cells(warp, cells, *cell_plan, first_cell.element, part_bits);
  const Places of_registers(warp, registers, *register_plan, first_register.element, part_bits);
  if (of_registers.empty()) return std::nullopt;

  std::optional<MeansMismatch> found;
  for (const MovedPart& part : parts) {
    if (part.known_bad) continue;
    for (std::int64_t bit = 0; bit < part_bits; bit += of_cells.piece_bits()) {
      const auto offset = static_cast<std::uint32_t>(bit);
      const Piece in_register = of_registers.piece_at(place_key(part.thread, part.row, part.register_bit + offset));
      const Piece in_cell = of_cells.piece_at(place_key(part.lane, part.column, offset));
      if (in_register == in_cell) continue;
      if (!found) {
        const std::int64_t pieces = of_cells.pieces_of_an_element();
        found = MeansMismatch{fmt::format("lane {}, column {} and register {} of thread {} are moved into each other, but {} keeps {} there and {} keeps {}", part.lane,
                                          part.column, part.row - warp.machine.program.first_row[registers.buffer], warp.state.warp * 32 + part.thread, tmem.name,
                                          element_text(*cell_plan, tmem, in_cell, pieces), local.name, element_text(*register_plan, local, in_register, pieces)), {}};
      }
      if (in_register < 0) continue;
      for (std::uint64_t key : of_cells.keys_of(in_register))
        found->meant.emplace_back(static_cast<std::uint32_t>(key >> 40), static_cast<std::uint32_t>(key >> 8 & 0xffffffffu));
    }
  }
  return found;
}

std::optional<MeansMismatch> mismatch_with_means(Warp& warp, const Means& means, const std::vector<CopiedByte>& bytes) {
  const auto& buffers = warp.machine.kernel.buffers;
  const Buffer &tmem = buffers[means.dst.buffer], &shared = buffers[means.src.buffer];
  if (tmem.space != Space::tmem || shared.space != Space::shared || bits(tmem.dtype) != bits(shared.dtype) || bits(shared.dtype) % 8 != 0) return std::nullopt;
  const RegionPlan *cell_plan = warp.plan.find_region(means.dst), *byte_plan = warp.plan.find_region(means.src);
  if (!cell_plan || !byte_plan) return std::nullopt;
  const Warp::Start first_cell = warp.start_of(means.dst), first_byte = warp.start_of(means.src);
  if (!first_cell.fine || !first_byte.fine || warp.base_of(means.dst).bad) return std::nullopt;
  const Places of_cells(warp, means.dst, *cell_plan, first_cell.element, 8);
  const std::int64_t pieces = of_cells.pieces_of_an_element();
  std::unordered_map<std::int64_t, Piece> piece_of_byte;
  const std::vector<std::int64_t> first_of = region_bytes(shared, *byte_plan, first_byte.element);
  for (std::size_t i = 0; i < first_of.size(); ++i)
    for (std::int64_t j = 0; j < pieces; ++j) piece_of_byte[first_of[i] + j] = static_cast<Piece>(i) * pieces + j;

  std::optional<MeansMismatch> found;
  std::unordered_map<std::uint64_t, Piece> comes_to;  // what is copied there
  const auto miss = [&](Piece piece, const CopiedByte& byte, Piece kept) {
    if (!found) {
      found = MeansMismatch{fmt::format("lane {}, column {} gets {} of {}; {} keeps {} there", byte.lane, byte.column,
                                        piece < 0 ? "no element" : element_text(*byte_plan, shared, piece, pieces), shared.name, tmem.name,
                                        kept < 0 ? "none" : element_text(*cell_plan, tmem, kept, pieces)), {}};
    }
    for (std::uint64_t key : of_cells.keys_of(piece))
      found->meant.emplace_back(static_cast<std::uint32_t>(key >> 40), static_cast<std::uint32_t>(key >> 8 & 0xffffffffu));
  };
  for (const CopiedByte& byte : bytes) {
    const auto known = piece_of_byte.find(byte.from);
    const Piece piece = known == piece_of_byte.end() ? -1 : known->second;
    const std::uint64_t key = place_key(byte.lane, byte.column, byte.bit);
    comes_to[key] = piece;
    if (const Piece kept = of_cells.piece_at(key); kept >= 0 && kept != piece) miss(piece, byte, kept);
  }
  for (const CopiedByte& byte : bytes) {
    const auto known = piece_of_byte.find(byte.from);
    if (known == piece_of_byte.end()) continue;
    for (std::uint64_t key : of_cells.keys_of(known->second)) {
      const auto come = comes_to.find(key);
      if (come == comes_to.end() || come->second != known->second) miss(known->second, byte, of_cells.piece_at(place_key(byte.lane, byte.column, byte.bit)));
    }
  }
  return found;
}

}  // namespace tmemsim::sim
