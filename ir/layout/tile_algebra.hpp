// The algebra of TileLayout: regrouping, tiling, recovering factors, packing, scope fusion.
//
// Shapes and coordinates are row-major, outermost first. Every operation that is not closed returns a Reason that names the
// iter and, where one exists, the first logical coordinate that shows it. Nothing depends on ambient state.
// Source of the rules: TIRx layouts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"

namespace tmemsim {

// The same map with its iters cut so that the iters [separators[d], separators[d + 1]) make up dimension d of a shape.
struct GroupedLayout {
  TileLayout layout;
  std::vector<std::size_t> separators;
  bool operator==(const GroupedLayout&) const = default;
};

Result<GroupedLayout> group(const TileLayout& layout, std::span<const std::int64_t> shape);

// The layout cut at the boundaries of all shapes and of its own iters (cumulative products, repeated boundaries kept as unit
// iters), and the separators of each shape.
struct CommonGroups {
  TileLayout layout;
  std::vector<std::vector<std::size_t>> separators;
  bool operator==(const CommonGroups&) const = default;
};
Result<CommonGroups> group_many(const TileLayout& layout, const std::vector<std::vector<std::int64_t>>& shapes);

// Dimension d of the result is dimension order[d] of the grouped layout.
Result<TileLayout> permute_groups(const GroupedLayout& grouped, std::span<const std::size_t> order);
// Iter k of the result is iter order[k].
Result<TileLayout> permute_iters(const TileLayout& layout, std::span<const std::size_t> order);

// Digits of a coordinate of `shape`, one for each iter of the layout.
Result<std::vector<std::int64_t>> iter_digits(const TileLayout& layout, std::span<const std::int64_t> coordinate,
                                              std::span<const std::int64_t> shape);
// evaluate() at one digit an iter, and at a coordinate of a shape. Coordinates may lie beyond the shape: the first iter (of
// the dimension, where the shape groups the iters) extends linearly.
Result<Point> evaluate_digits(const TileLayout& layout, std::span<const std::int64_t> digits);
Result<Point> evaluate_at(const TileLayout& layout, std::span<const std::int64_t> coordinate,
                          std::span<const std::int64_t> shape);

// `outer` arranges copies of `inner`: in each dimension the outer iters stand above the inner ones, and outer strides count
// spans of the inner layout on the same axis. The result is canonical. A bare swizzle stands for any inner shape.
Result<TileLayout> tile(const TileLayout& outer, std::span<const std::int64_t> outer_shape, const TileLayout& inner,
                        std::span<const std::int64_t> inner_shape);
// tile() with a row-major outer layout, from `from_shape` to `to_shape`.
Result<TileLayout> tile_to(const TileLayout& inner, std::span<const std::int64_t> to_shape,
                           std::span<const std::int64_t> from_shape);
// As tile(), without scaling the outer strides.
Result<TileLayout> direct_sum(const TileLayout& left, std::span<const std::int64_t> left_shape, const TileLayout& right,
                              std::span<const std::int64_t> right_shape);

// The outer layout that makes tile(outer, inner) the tiled one, or why there is none; and the inner one. Thread axes of the
// tiled layout are split (tx into warpid and laneid, ...) where the known factor speaks about a narrower or wider scope.
Result<TileLayout> outer_of_tile(const TileLayout& tiled, std::span<const std::int64_t> tiled_shape, const TileLayout& inner,
                                 std::span<const std::int64_t> inner_shape);
Result<TileLayout> inner_of_tile(const TileLayout& tiled, std::span<const std::int64_t> tiled_shape, const TileLayout& outer,
                                 std::span<const std::int64_t> outer_shape);
// The other addend of a direct sum, over the shape (left 0, right 0, left 1, right 1, ...).
Result<TileLayout> left_of_sum(const TileLayout& sum, std::span<const std::int64_t> interleaved_shape, const TileLayout& right,
                               std::span<const std::int64_t> right_shape);
Result<TileLayout> right_of_sum(const TileLayout& sum, std::span<const std::int64_t> interleaved_shape, const TileLayout& left,
                                std::span<const std::int64_t> left_shape);

// Elements of `layout` split into `count` parts each, or merged. The innermost iter decides the storage axis; it must be
// dense for pack. Swizzles need a power of two.
Result<TileLayout> unpack(const TileLayout& layout, std::int64_t count);
Result<TileLayout> pack(const TileLayout& layout, std::int64_t count);
// A new innermost dimension whose `count` elements share one place.
Result<TileLayout> broadcast(const TileLayout& layout, std::int64_t count);
// Thread axes dropped: what one thread (or the memory) holds.
TileLayout storage(const TileLayout& layout);
// swizzle after the layout. Two swizzles compose only when they are equal (they cancel) or one is the identity.
Result<TileLayout> with_swizzle(const TileLayout& layout, const Swizzle& swizzle);
// At most one iter, dense on a memory axis, without replica, offset and swizzle (after canonical()).
bool is_trivial(const TileLayout& layout);
// size and span over all memory axes together.
std::int64_t storage_span(const TileLayout& layout);

// Scope chain of the thread axes of shard, replica and offset: the unit of the finest one and the scope of the widest one.
struct ScopeRange {
  Scope unit = Scope::thread;
  Scope scope = Scope::thread;
  bool operator==(const ScopeRange&) const = default;
};
// Nothing: no thread axis. Reason: two axes contradict each other or leave a gap.
Result<std::optional<ScopeRange>> scope_range(const TileLayout& layout);
// All thread axes expressed on the one axis that counts their finest unit within `scope`, then canonical(). `scope` must be
// the scope that the layout's own thread axes reach.
Result<TileLayout> fuse_scopes(const TileLayout& layout, Scope scope);
// Thread axes that count within more than `scope` split there: tx at warp becomes warpid and laneid.
Result<TileLayout> split_scopes(const TileLayout& layout, Scope scope);

std::string shape_text(std::span<const std::int64_t> shape);  // (64, 32)

}  // namespace tmemsim
