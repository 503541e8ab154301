// Tiling, direct sums and the recovery of their factors.
#include <algorithm>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim {
namespace {

using Shape = std::span<const std::int64_t>;

std::span<const Iter> dimension(const GroupedLayout& grouped, std::size_t d) {
  const std::size_t first = grouped.separators[d];
  return std::span<const Iter>(grouped.layout.shard).subspan(first, grouped.separators[d + 1] - first);
}

Result<GroupedLayout> grouped_part(std::string_view what, const TileLayout& layout, Shape shape) {
  auto grouped = group(canonical(layout), shape);
  if (grouped) return grouped;
  Reason reason = grouped.reason();
  reason.text = fmt::format("{} layout: {}", what, reason.text);
  return reason;
}

bool uses(const TileLayout& layout, Axis axis) {
  const auto on_axis = [&](const auto& part) { return part.axis == axis; };
  return std::any_of(layout.shard.begin(), layout.shard.end(), on_axis) ||
         std::any_of(layout.replica.begin(), layout.replica.end(), on_axis) ||
         std::any_of(layout.offset.begin(), layout.offset.end(), on_axis);
}

// What outer strides on an axis count.
std::int64_t scale_on(const TileLayout& inner, Axis axis) { return uses(inner, axis) ? span_on(inner, axis) : 1; }

void add_offsets(TileLayout& layout, const std::vector<AxisOffset>& more, bool subtract) {
  for (const AxisOffset& offset : more) {
    const std::int64_t value = subtract ? wrapping_mul(offset.value, -1) : offset.value;
    const auto found =
        std::find_if(layout.offset.begin(), layout.offset.end(), [&](const AxisOffset& o) { return o.axis == offset.axis; });
    if (found == layout.offset.end()) {
      layout.offset.push_back({offset.axis, value});
    } else {
      found->value = wrapping_add(found->value, value);
    }
  }
}

// A swizzle over one whole period and nothing else: it stands for an identity of whatever shape is asked for.
TileLayout with_shape(const TileLayout& layout, Shape shape) {
  if (!layout.swizzle) return layout;
  const std::int64_t period = std::int64_t{1}
                              << (layout.swizzle->per_element + layout.swizzle->swizzle_len + layout.swizzle->atom_len);
  TileLayout bare = canonical(layout);
  const bool is_bare = bare.shard == std::vector<Iter>{{period, 1, Axis::m}} && bare.replica.empty() && bare.offset.empty();
  std::int64_t total = 1;
  for (const std::int64_t extent : shape) total = saturating_mul(total, std::max<std::int64_t>(extent, 1));
  if (!is_bare || total == period) return layout;
  bare.shard = row_major(shape).shard;
  return bare;
}

Result<TileLayout> interleaved(const GroupedLayout& outer, const GroupedLayout& inner, std::size_t rank) {
  TileLayout result;
  for (std::size_t d = 0; d < rank; ++d) {
    for (const GroupedLayout* part : {&outer, &inner}) {
      const auto iters = dimension(*part, d);
      result.shard.insert(result.shard.end(), iters.begin(), iters.end());
    }
  }
  result.replica = inner.layout.replica;
  result.replica.insert(result.replica.end(), outer.layout.replica.begin(), outer.layout.replica.end());
  result.offset = inner.layout.offset;
  add_offsets(result, outer.layout.offset, false);
  result.swizzle = inner.layout.swizzle;
  if (auto reason = problem_with(result)) return *reason;
  return canonical(result);
}

std::optional<Reason> ranks_differ(std::string_view first, Shape a, std::string_view second, Shape b) {
  if (a.size() == b.size()) return std::nullopt;
  return Reason{fmt::format("the {} shape {} and the {} shape {} differ in rank", first, shape_text(a), second, shape_text(b)),
                {},
                {},
                {}};
}

Result<TileLayout> combine(const TileLayout& outer, Shape outer_shape, const TileLayout& inner, Shape inner_shape, bool scale) {
  if (auto reason = ranks_differ("outer", outer_shape, "inner", inner_shape)) return *reason;
  if (outer.swizzle) return Reason{"the outer layout has a swizzle; only the inner one may", {}, {}, {}};
  auto outer_groups = grouped_part("outer", outer, outer_shape);
  if (!outer_groups) return outer_groups.reason();
  const auto inner_groups = grouped_part("inner", with_shape(inner, inner_shape), inner_shape);
  if (!inner_groups) return inner_groups.reason();
  for (std::size_t k = 0; scale && k < outer_groups->layout.shard.size(); ++k) {
    Iter& iter = outer_groups->layout.shard[k];
    const auto stride = checked_mul(iter.stride, scale_on(inner_groups->layout, iter.axis));
    if (!stride) return Reason{fmt::format("the stride of outer iter {} exceeds 64 bits", k), k, {}, {}};
    iter.stride = *stride;
  }
  return interleaved(*outer_groups, *inner_groups, outer_shape.size());
}

// (tiled / known, known) or (known, tiled / known) for each dimension.
Result<std::vector<std::int64_t>> factored(Shape tiled, Shape known, bool known_is_inner) {
  if (auto reason = ranks_differ("tiled", tiled, "given", known)) return *reason;
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < tiled.size(); ++d) {
    if (known[d] < 1 || tiled[d] % known[d] != 0) {
      return Reason{fmt::format("dimension {} of {} is no multiple of {}", d, shape_text(tiled), known[d]), {}, {}, {}};
    }
    shape.push_back(known_is_inner ? tiled[d] / known[d] : known[d]);
    shape.push_back(known_is_inner ? known[d] : tiled[d] / known[d]);
  }
  return shape;
}

std::vector<Iter> simplest(std::span<const Iter> iters) {
  TileLayout layout;
  layout.shard.assign(iters.begin(), iters.end());
  layout = canonical(layout);
  if (layout.shard.size() == 1 && layout.shard.front().extent == 1) return {};
  return layout.shard;
}

std::string iters_text(std::span<const Iter> iters) {
  TileLayout layout;
  layout.shard.assign(iters.begin(), iters.end());
  return to_string(layout);
}

// Replicas of the whole that the known factor does not account for.
std::vector<Iter> other_replicas(std::vector<Iter> all, const std::vector<Iter>& known) {
  for (const Iter& iter : known) {
    const auto found = std::find(all.begin(), all.end(), iter);
    if (found != all.end()) all.erase(found);
  }
  return all;
}

std::vector<std::int64_t> quotient(Shape tiled, Shape known) {
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < tiled.size(); ++d) shape.push_back(tiled[d] / known[d]);
  return shape;
}

// The same layout on the widest thread axis that its own axes allow, so that tx and (warpid, laneid) compare equal.
TileLayout fused_where_possible(const TileLayout& layout) {
  const auto range = scope_range(layout);
  if (!range || !*range) return canonical(layout);
  auto fused = fuse_scopes(layout, (*range)->scope);
  return fused ? *fused : canonical(layout);
}

// The tiled layout with its thread axes split at the scope where the known factor ends.
TileLayout split_for(const TileLayout& tiled, const TileLayout& known, bool known_is_inner) {
  const auto whole = scope_range(tiled);
  const auto part = scope_range(known);
  if (!whole || !part || !*whole || !*part) return tiled;
  const Scope boundary = known_is_inner ? (*part)->scope : (*part)->unit;
  auto split = split_scopes(tiled, boundary);
  return split ? *split : tiled;
}

// Both factors agree when tiling them again gives the tiled layout.
Result<TileLayout> confirmed(TileLayout factor, const Result<TileLayout>& again, const TileLayout& tiled) {
  if (again && fused_where_possible(*again) == fused_where_possible(tiled)) return factor;
  return Reason{
      again ? fmt::format("tiling gives {}, not {}", to_string(*again), to_string(canonical(tiled))) : again.reason().text,
      {},
      {},
      {}};
}

struct Factors {
  GroupedLayout whole;  // dimensions 2d and 2d + 1: outer and inner part
  GroupedLayout known;
};

Result<Factors> take_apart(const TileLayout& tiled, Shape tiled_shape, const TileLayout& known, Shape known_shape,
                           bool known_is_inner) {
  const auto shape = factored(tiled_shape, known_shape, known_is_inner);
  if (!shape) return shape.reason();
  const TileLayout whole = split_for(with_shape(tiled, tiled_shape), known, known_is_inner);
  auto whole_groups = grouped_part("tiled", whole, *shape);
  if (!whole_groups) return whole_groups.reason();
  auto known_groups = grouped_part("given", with_shape(known, known_shape), known_shape);
  if (!known_groups) return known_groups.reason();
  return Factors{*whole_groups, *known_groups};
}

std::optional<Reason> differs(const GroupedLayout& whole, std::size_t part, const GroupedLayout& known, std::size_t d) {
  const auto found = dimension(whole, part);
  const auto expected = dimension(known, d);
  if (simplest(found) == simplest(expected)) return std::nullopt;
  return Reason{fmt::format("dimension {} holds {} where the given layout has {}", d, iters_text(found), iters_text(expected)),
                whole.separators[part],
                {},
                {}};
}

Result<TileLayout> other_addend(const TileLayout& sum, Shape interleaved_shape, const TileLayout& known, Shape known_shape,
                                bool known_is_right) {
  if (interleaved_shape.size() != 2 * known_shape.size()) {
    return Reason{fmt::format("the interleaved shape {} needs two dimensions for each of {}", shape_text(interleaved_shape),
                              shape_text(known_shape)),
                  {},
                  {},
                  {}};
  }
  if (known_is_right ? sum.swizzle != known.swizzle : known.swizzle.has_value())
    return Reason{"the swizzles differ", {}, {}, {}};
  const auto whole = grouped_part("sum", sum, interleaved_shape);
  if (!whole) return whole.reason();
  const auto part = grouped_part("given", known, known_shape);
  if (!part) return part.reason();
  TileLayout other;
  for (std::size_t d = 0; d < known_shape.size(); ++d) {
    const std::size_t own = 2 * d + (known_is_right ? 1 : 0);
    if (auto reason = differs(*whole, own, *part, d)) return *reason;
    const auto rest = dimension(*whole, 2 * d + (known_is_right ? 0 : 1));
    other.shard.insert(other.shard.end(), rest.begin(), rest.end());
  }
  other.replica = other_replicas(whole->layout.replica, part->layout.replica);
  other.offset = whole->layout.offset;
  add_offsets(other, part->layout.offset, true);
  if (!known_is_right) other.swizzle = sum.swizzle;
  std::erase_if(other.offset, [](const AxisOffset& offset) { return offset.value == 0; });
  return other;
}

}  // namespace

Result<TileLayout> tile(const TileLayout& outer, Shape outer_shape, const TileLayout& inner, Shape inner_shape) {
  return combine(outer, outer_shape, inner, inner_shape, true);
}

Result<TileLayout> direct_sum(const TileLayout& left, Shape left_shape, const TileLayout& right, Shape right_shape) {
  return combine(left, left_shape, right, right_shape, false);
}

Result<TileLayout> tile_to(const TileLayout& inner, Shape to_shape, Shape from_shape) {
  const auto shape = factored(to_shape, from_shape, true);
  if (!shape) return shape.reason();
  const std::vector<std::int64_t> outer_shape = quotient(to_shape, from_shape);
  return tile(row_major(outer_shape), outer_shape, inner, from_shape);
}

Result<TileLayout> outer_of_tile(const TileLayout& tiled, Shape tiled_shape, const TileLayout& inner, Shape inner_shape) {
  if (tiled.swizzle != inner.swizzle) return Reason{"the swizzles of the tiled and the inner layout differ", {}, {}, {}};
  const auto factors = take_apart(tiled, tiled_shape, inner, inner_shape, true);
  if (!factors) return factors.reason();
  const auto unscale = [&](Iter iter, std::size_t position) -> Result<Iter> {
    const std::int64_t scale = scale_on(factors->known.layout, iter.axis);
    if (iter.extent == 1) return iter;
    if (scale == 0 || iter.stride % scale != 0) {
      return Reason{fmt::format("the stride {} of iter {} is no multiple of the inner span {} on {}", iter.stride, position,
                                scale, name(iter.axis)),
                    position,
                    {},
                    {}};
    }
    return Iter{iter.extent, iter.stride / scale, iter.axis};
  };
  TileLayout outer;
  for (std::size_t d = 0; d < inner_shape.size(); ++d) {
    if (auto reason = differs(factors->whole, 2 * d + 1, factors->known, d)) return *reason;
    for (const Iter& iter : dimension(factors->whole, 2 * d)) {
      const auto unscaled = unscale(iter, factors->whole.separators[2 * d]);
      if (!unscaled) return unscaled.reason();
      outer.shard.push_back(*unscaled);
    }
  }
  outer.replica = other_replicas(factors->whole.layout.replica, factors->known.layout.replica);
  outer.offset = factors->whole.layout.offset;
  add_offsets(outer, factors->known.layout.offset, true);
  std::erase_if(outer.offset, [](const AxisOffset& offset) { return offset.value == 0; });
  const std::vector<std::int64_t> outer_shape = quotient(tiled_shape, inner_shape);
  return confirmed(outer, tile(outer, outer_shape, inner, inner_shape), with_shape(tiled, tiled_shape));
}

Result<TileLayout> inner_of_tile(const TileLayout& tiled, Shape tiled_shape, const TileLayout& outer, Shape outer_shape) {
  if (outer.swizzle) return Reason{"the outer layout has a swizzle; only the inner one may", {}, {}, {}};
  const auto factors = take_apart(tiled, tiled_shape, outer, outer_shape, false);
  if (!factors) return factors.reason();
  TileLayout inner;
  for (std::size_t d = 0; d < outer_shape.size(); ++d) {
    const auto rest = dimension(factors->whole, 2 * d + 1);
    inner.shard.insert(inner.shard.end(), rest.begin(), rest.end());
  }
  inner.replica = other_replicas(factors->whole.layout.replica, factors->known.layout.replica);
  inner.offset = factors->whole.layout.offset;
  add_offsets(inner, factors->known.layout.offset, true);
  std::erase_if(inner.offset, [](const AxisOffset& offset) { return offset.value == 0; });
  inner.swizzle = tiled.swizzle;
  return confirmed(inner, tile(outer, outer_shape, inner, quotient(tiled_shape, outer_shape)), with_shape(tiled, tiled_shape));
}

Result<TileLayout> left_of_sum(const TileLayout& sum, Shape interleaved_shape, const TileLayout& right, Shape right_shape) {
  return other_addend(sum, interleaved_shape, right, right_shape, true);
}

Result<TileLayout> right_of_sum(const TileLayout& sum, Shape interleaved_shape, const TileLayout& left, Shape left_shape) {
  return other_addend(sum, interleaved_shape, left, left_shape, false);
}

}  // namespace tmemsim
