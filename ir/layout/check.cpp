#include "ir/layout/check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/layout/coordinate.hpp"
#include "ir/layout/digit_map.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim {
namespace {

constexpr std::int64_t tmem_lanes = 128;

bool allowed(Axis axis, Space space) {
  switch (space) {
    case Space::tmem:
      return axis == Axis::TLane || axis == Axis::TCol;
    case Space::local:
      return axis == Axis::m || (is_thread(axis) && facts(axis).scope <= Scope::cta);
    default:
      return axis == Axis::m;
  }
}

std::string_view allowed_axes(Space space) {
  switch (space) {
    case Space::tmem:
      return "TLane and TCol";
    case Space::local:
      return "thread axes of one CTA and m";
    default:
      return "m";
  }
}

std::string_view space_name(Space space) { return Keywords<Space>::names[static_cast<std::size_t>(space)]; }

std::string iter_text(const TileLayout& layout, std::size_t k) {
  const Iter& iter = layout.shard[k];
  return fmt::format("iter {} ({}:{}@{})", k, iter.extent, iter.stride, name(iter.axis));
}

// The outermost iter that moves x away from element 0 on `axis` (any axis when absent).
std::optional<std::size_t> moving_iter(const TileLayout& layout, std::int64_t x, std::optional<Axis> axis) {
  std::optional<std::size_t> found;
  for (std::size_t k = layout.shard.size(); k > 0; --k) {
    const std::int64_t extent = layout.shard[k - 1].extent;
    if (x % extent != 0 && (!axis || layout.shard[k - 1].axis == *axis)) found = k - 1;
    x /= extent;
  }
  return found;
}

Reason at_element(const TileLayout& layout, std::span<const std::int64_t> shape, std::int64_t x, std::optional<Axis> axis,
                  std::string text) {
  Reason reason{std::move(text), moving_iter(layout, x, axis), coordinate_of(x, shape), {}};
  reason.text += fmt::format(", first at element {}", shape_text(reason.coordinate));
  if (reason.iter) reason.text += fmt::format(", through {}", iter_text(layout, *reason.iter));
  return reason;
}

std::optional<Reason> shape_problem(const TileLayout& layout, std::span<const std::int64_t> shape) {
  std::int64_t total = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1) return Reason{fmt::format("shape {}: dimensions are at least 1", shape_text(shape)), {}, {}, {}};
    const auto next = checked_mul(total, extent);
    if (!next) return Reason{fmt::format("the size of shape {} exceeds 64 bits", shape_text(shape)), {}, {}, {}};
    total = *next;
  }
  if (total == size(layout)) return std::nullopt;
  return Reason{fmt::format("the layout has {} elements, shape {} has {}", size(layout), shape_text(shape), total), {}, {}, {}};
}

std::optional<Reason> axes_problem(const TileLayout& layout, Space space) {
  const auto text = [&](Axis axis) {
    return fmt::format("axis {} does not exist in {} memory, which has {}", name(axis), space_name(space), allowed_axes(space));
  };
  for (std::size_t k = 0; k < layout.shard.size(); ++k) {
    if (!allowed(layout.shard[k].axis, space) && layout.shard[k].extent > 1) {
      return Reason{fmt::format("{}: {}", iter_text(layout, k), text(layout.shard[k].axis)), k, {}, {}};
    }
  }
  for (const Iter& iter : layout.replica) {
    if (!allowed(iter.axis, space)) return Reason{"replica: " + text(iter.axis), {}, {}, {}};
  }
  for (const AxisOffset& offset : layout.offset) {
    if (!allowed(offset.axis, space) && offset.value != 0) return Reason{"offset: " + text(offset.axis), {}, {}, {}};
  }
  if (layout.swizzle && layout.swizzle->swizzle_len > 0 && (space == Space::tmem || space == Space::local)) {
    return Reason{fmt::format("{} memory has no swizzle; only shared and global memory do", space_name(space)), {}, {}, {}};
  }
  return std::nullopt;
}

// Steps of an axis that exist, given the threads of the CTA; nothing for axes that are not bounded here.
std::optional<std::int64_t> bound_of(Axis axis, std::int64_t threads) {
  constexpr std::int64_t warp = 32, warpgroup = 128;
  switch (axis) {
    case Axis::TLane:
      return tmem_lanes;
    case Axis::laneid:
      return warp;
    case Axis::tid_in_wg:
      return warpgroup;
    case Axis::wid_in_wg:
      return warpgroup / warp;
    case Axis::tx:
      return threads;
    case Axis::warpid:
      return threads / warp;
    case Axis::wgid:
      return threads / warpgroup;
    default:
      return std::nullopt;
  }
}

bool uses(const TileLayout& layout, Axis axis) {
  const auto on_axis = [&](const auto& part) { return part.axis == axis; };
  return std::any_of(layout.shard.begin(), layout.shard.end(), on_axis) ||
         std::any_of(layout.replica.begin(), layout.replica.end(), on_axis) ||
         std::any_of(layout.offset.begin(), layout.offset.end(), on_axis);
}

std::optional<Reason> bounds_problem(const TileLayout& layout, std::span<const std::int64_t> shape, std::int64_t threads) {
  for (const AxisFacts& row : axis_table) {
    if (!uses(layout, row.axis)) continue;
    if (const auto x = first_below(layout, row.axis, 0)) {
      return at_element(layout, shape, *x, row.axis, fmt::format("negative coordinate on {}", row.name));
    }
    const auto bound = bound_of(row.axis, threads);
    if (!bound) continue;
    if (const auto x = first_reaching(layout, row.axis, *bound)) {
      return at_element(layout, shape, *x, row.axis,
                        fmt::format("coordinate on {} past the last one, {}", row.name, *bound - 1));
    }
  }
  return std::nullopt;
}

std::optional<Reason> sharing_problem(const TileLayout& layout, std::span<const std::int64_t> shape) {
  const Injectivity found = injective(digit_map(layout), layout.replica);
  if (found.answer == Answer::yes) return std::nullopt;
  if (found.answer == Answer::undecided) {
    return Reason{fmt::format("cannot decide whether different elements share a place: the strides do not nest, and {} "
                              "elements are too many to enumerate",
                              size(layout)),
                  {},
                  {},
                  {}};
  }
  const auto [first, second] = found.witness;
  Reason reason = at_element(layout, shape, second, {},
                             fmt::format("elements {} and {} share one place", shape_text(coordinate_of(first, shape)),
                                         shape_text(coordinate_of(second, shape))));
  reason.text += "; copies are declared as a replica R[...]";
  return reason;
}

// One past the largest coordinate on m. A swizzle permutes aligned blocks, so the last element in use may be the last one of
// its block.
std::int64_t memory_span(const TileLayout& layout) {
  const std::int64_t linear = span_on(layout, Axis::m);
  if (!layout.swizzle || layout.swizzle->swizzle_len == 0) return linear;
  const Swizzle& swizzle = *layout.swizzle;
  const std::int64_t block = std::int64_t{1}
                             << (swizzle.per_element + swizzle.swizzle_len + (swizzle.inner ? 0 : swizzle.atom_len));
  return saturating_mul(ceil_div(linear, block), block);
}

std::optional<std::int64_t> units(std::int64_t elements, std::int64_t bits, std::int64_t unit_bits) {
  const auto total = checked_mul(elements, bits);
  if (!total) return std::nullopt;
  return ceil_div(*total, unit_bits);
}

std::int64_t threads_in(Scope scope, std::int64_t threads) {
  switch (scope) {
    case Scope::warp:
      return 32;
    case Scope::warpgroup:
      return 128;
    default:
      return threads;
  }
}

// Which threads of their scope own elements.
std::optional<Reason> count_threads(const TileLayout& layout, std::int64_t threads, LayoutFacts& facts) {
  const auto range = scope_range(layout);
  if (!range || !*range) return std::nullopt;
  const Scope unit = (*range)->unit;
  facts.scope = (*range)->scope;
  const std::int64_t in_scope = threads_in(facts.scope, threads);
  const auto fused = fuse_scopes(layout, facts.scope);
  if (!fused) return fused.reason();
  const std::int64_t threads_of_unit = unit == Scope::thread ? 1 : threads_in(unit, threads);
  std::optional<Axis> axis;
  for (const AxisFacts& row : axis_table) {
    if (row.thread && row.unit == unit && row.scope == facts.scope) axis = row.axis;
  }
  if (!axis) return std::nullopt;
  const Coverage covered = coverage(*fused, *axis, in_scope / threads_of_unit);
  facts.threads = threads_of_unit * std::count(covered.reached.begin(), covered.reached.end(), true);
  const auto idle = std::find(covered.reached.begin(), covered.reached.end(), false);
  if (idle != covered.reached.end()) facts.first_idle = threads_of_unit * (idle - covered.reached.begin());
  return std::nullopt;
}

// Smallest x whose coordinate can be `limit` or more: from the outermost digit on, the smallest count that leaves enough to
// the digits below.
std::optional<std::int64_t> first_at_least(const TileLayout& layout, Axis axis, std::int64_t limit, std::int64_t sign) {
  const auto reach = [&](const Iter& iter) {
    const std::int64_t stride = iter.axis == axis ? sign * iter.stride : 0;
    return stride > 0 ? stride * (iter.extent - 1) : 0;
  };
  std::int64_t rest = 0;  // what all digits that are still free can add
  for (const Iter& iter : layout.shard) rest += reach(iter);
  std::int64_t fixed = 0;
  for (const Iter& iter : layout.replica) fixed += reach(iter);
  for (const AxisOffset& offset : layout.offset) fixed += offset.axis == axis ? sign * offset.value : 0;
  if (fixed + rest < limit) return std::nullopt;
  std::int64_t x = 0;
  for (const Iter& iter : layout.shard) {
    rest -= reach(iter);
    const std::int64_t stride = iter.axis == axis ? sign * iter.stride : 0;
    const std::int64_t missing = limit - fixed - rest;
    const std::int64_t count = missing > 0 && stride > 0 ? ceil_div(missing, stride) : 0;
    fixed += count * stride;
    x = x * iter.extent + count;
  }
  return x;
}

}  // namespace

std::optional<std::int64_t> first_reaching(const TileLayout& layout, Axis axis, std::int64_t limit) {
  return first_at_least(layout, axis, limit, 1);
}

std::optional<std::int64_t> first_below(const TileLayout& layout, Axis axis, std::int64_t limit) {
  return first_at_least(layout, axis, 1 - limit, -1);
}

Result<LayoutFacts> check_layout(const TileLayout& layout, std::span<const std::int64_t> shape, Place place) {
  if (auto reason = problem_with(layout)) return *reason;
  if (auto reason = shape_problem(layout, shape)) return *reason;
  if (auto reason = axes_problem(layout, place.space)) return *reason;
  const auto range = scope_range(layout);
  if (!range) return range.reason();
  if (place.space == Space::local && *range && threads_in((*range)->scope, place.threads) > place.threads) {
    return Reason{
        fmt::format("the thread axes count within a {}, but the CTA has {} threads", name((*range)->scope), place.threads),
        {},
        {},
        {}};
  }
  if (auto reason = bounds_problem(layout, shape, place.threads)) return *reason;
  if (auto reason = sharing_problem(layout, shape)) return *reason;

  LayoutFacts facts;
  facts.elements = size(layout);
  for (const Iter& iter : layout.replica) facts.copies *= iter.extent;
  std::optional<std::int64_t> measured = 0;
  switch (place.space) {
    case Space::global:
    case Space::shared:
      measured = units(memory_span(layout), place.bits, 8);
      facts.bytes = measured.value_or(0);
      break;
    case Space::local:
      measured = units(span_on(layout, Axis::m), place.bits, 32);
      facts.registers = measured.value_or(0);
      break;
    case Space::tmem:
      measured = units(span_on(layout, Axis::TCol), place.bits, 32);
      facts.columns = measured.value_or(0);
      break;
  }
  if (!measured) return Reason{"the size in bits exceeds 64 bits", {}, {}, {}};
  if (place.space == Space::local) {
    if (auto reason = count_threads(layout, place.threads, facts)) return *reason;
  }
  return facts;
}

}  // namespace tmemsim
