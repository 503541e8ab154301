#include "lower/copy_async/refusal.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/layout/factories.hpp"
#include "ir/tcgen05.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::int64_t most_elements_searched = std::int64_t{1} << 16;

Point place_of(const Operand& operand, std::int64_t index) {
  Point point = operand.offset;
  for (std::size_t k = operand.shard.size(); k > 0; --k) {
    const Iter& iter = operand.shard[k - 1];
    at(point, iter.axis) += index % iter.extent * iter.stride;
    index /= iter.extent;
  }
  return point;
}

// Where one element of the copy is on both sides.
struct Element {
  std::int64_t index = 0, thread = 0, reg = 0, lane = 0, column = 0;
  std::int64_t warp() const { return thread / warp_threads; }
  bool reachable() const { return warp() % 4 == lane / tcgen05::quadrant_lanes; }
};

Element element(const Operand& local, const Operand& tmem, const Threads& threads, std::int64_t index) {
  const Point owner = place_of(local, index), cell = place_of(tmem, index);
  const auto named = [&](Axis axis) { return local.named.test(static_cast<std::size_t>(axis)); };
  Element result;
  result.index = index;
  std::int64_t lane = threads.first_lane, warp = threads.first_warp;  // what the layout does not say
  if (named(Axis::wgid)) warp = at(owner, Axis::wgid) * 4 + warp % 4;
  if (named(Axis::wid_in_wg)) warp = warp / 4 * 4 + at(owner, Axis::wid_in_wg);
  if (named(Axis::warpid)) warp = at(owner, Axis::warpid);
  if (named(Axis::laneid)) lane = at(owner, Axis::laneid);
  result.thread = warp * warp_threads + lane;
  if (named(Axis::tid_in_wg)) result.thread = warp / 4 * group_threads + at(owner, Axis::tid_in_wg);
  if (named(Axis::tx)) result.thread = at(owner, Axis::tx);
  result.reg = at(owner, Axis::m) * local.bits / 32;
  result.lane = at(cell, Axis::TLane);
  result.column = tmem.buffer->column + at(cell, Axis::TCol) * tmem.bits / 32;
  return result;
}

// The first element, in row-major order, that keeps the copy from being possible.
Element first_offender(const Operand& local, const Operand& tmem, const Threads& threads, const Unrelated& problem) {
  const std::int64_t count = std::min(local.elements(), most_elements_searched);
  for (std::int64_t index = 0; index < count; ++index) {
    const Element here = element(local, tmem, threads, index);
    const bool offends = problem.reg ? here.reg == *problem.reg : !here.reachable();
    if (offends) return here;
  }
  return element(local, tmem, threads, 0);
}

std::string describe(const Operand& tmem, const Element& element) {
  return fmt::format("{}: thread {} (lane {} of warp {}) keeps it in register {}; it lies in lane {}, column {}, which {}",
                     element_name(tmem, element.index), element.thread, element.thread % warp_threads, element.warp(), element.reg, element.lane,
                     element.column,
                     element.reachable() ? "that warp reaches" : fmt::format("warps with warp % 4 == {} reach", element.lane / tcgen05::quadrant_lanes));
}

// Register layouts for the region that may work: row by row of the cells, then the fragments of the 16-lane shapes.
std::vector<TileLayout> candidates(const Operand& local, const Operand& tmem, const Threads& threads) {
  std::vector<TileLayout> result;
  TileLayout direct;
  direct.shard = tmem.shard;
  std::vector<Iter*> columns;
  for (Iter& iter : direct.shard) {
    if (iter.axis == Axis::TLane) {
      iter.axis = threads.warps() == 1 ? Axis::laneid : Axis::tid_in_wg;
    } else {
      columns.push_back(&iter);
    }
  }
  std::sort(columns.begin(), columns.end(), [](const Iter* a, const Iter* b) { return a->stride < b->stride; });
  std::int64_t slot = 1;
  for (Iter* iter : columns) {
    *iter = {iter->extent, slot, Axis::m};
    slot *= iter->extent;
  }
  const std::int64_t first_lane = at(tmem.offset, Axis::TLane) - (threads.warps() == 1 ? threads.first_warp % 4 * tcgen05::quadrant_lanes : 0);
  if (first_lane > 0) direct.offset.push_back({threads.warps() == 1 ? Axis::laneid : Axis::tid_in_wg, first_lane});
  result.push_back(std::move(direct));
  const std::vector<std::int64_t> shape = local.shape();
  if (shape.size() != 2) return result;
  for (const std::string_view atom : {"16x256b", "16x128b", "16x64b"}) {
    auto fragment = tcgen05_atom_layout(atom, shape[0], shape[1], static_cast<int>(local.bits));
    if (fragment) result.push_back(std::move(*fragment));
  }
  return result;
}

bool works(const Operand& local, const Operand& tmem, const Threads& threads, const TileLayout& layout, bool is_load) {
  Operand tried = local;
  tried.shard = layout.shard;
  std::erase_if(tried.shard, [](const Iter& iter) { return iter.extent == 1; });
  tried.named.reset();
  for (const Iter& iter : layout.shard) tried.named.set(static_cast<std::size_t>(iter.axis));
  tried.replica.clear();
  tried.offset = {};
  for (const AxisOffset& offset : layout.offset) at(tried.offset, offset.axis) = offset.value;
  tried.moving.clear();
  tried.swizzle.reset();
  const auto related = relate(tried, tmem, threads, is_load);
  const auto* relation = std::get_if<Relation>(&related);
  if (relation == nullptr) return false;
  return std::all_of(relation->base_lanes.begin(), relation->base_lanes.end(), [&](std::int32_t lane) {
    std::vector<Row> rows = relation->rows;
    for (Row& row : rows) row.lane += lane;
    return std::holds_alternative<std::vector<Issue>>(cover(relation->type, std::move(rows)));
  });
}

}  // namespace

Declined explain_refusal(const Request& request, const Operand& local, const Operand& tmem, const Unrelated& problem, bool is_load) {
  Declined declined{problem.predicate, problem.reason, {}};
  if (problem.predicate == "regions") return declined;
  declined.reason += "; " + describe(tmem, first_offender(local, tmem, request.threads, problem));
  for (const TileLayout& layout : candidates(local, tmem, request.threads)) {
    if (!works(local, tmem, request.threads, layout, is_load)) continue;
    declined.nearest = fmt::format("registers of layout {}", to_string(canonical(layout)));
    return declined;
  }
  declined.nearest = "a region whose lanes are whole quadrants, or the lower or upper 16 lanes of them, on the warps that reach them";
  return declined;
}

}  // namespace tmemsim::lower
