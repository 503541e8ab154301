// TileLayout: where each element of a tile lives.  L(x) = { D(x) + r + O : r in R }, then the swizzle on axis m.
//
// shard D: iters from outermost to innermost; the LAST iter is the lowest digit of the row-major index x, the first takes
// the whole remaining quotient. replica R: a set of displacements. offset O: a constant per axis.
// Strides on memory axes (m, TCol) count elements of the buffer, TLane counts lanes, thread axes count threads (or warps,
// warpgroups: the unit of the axis). Extents are >= 1; strides and offsets are 64-bit and may be negative or zero.
// Notation: S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid ; "Swizzle(3,3,3) o S[...]".
// Source of the rules: TIRx layouts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/axis.hpp"
#include "ir/result.hpp"

namespace tmemsim {

struct Iter {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
  Axis axis = Axis::m;
  bool operator==(const Iter&) const = default;
};

struct AxisOffset {
  Axis axis = Axis::m;
  std::int64_t value = 0;
  bool operator==(const AxisOffset&) const = default;
};

// x = m >> per_element; inner: x ^= (x >> atom_len) & (2^swizzle_len - 1); outer: x ^= (x & (2^swizzle_len - 1)) << atom_len.
// The low per_element bits of m stay. Units: elements of the buffer. atom_len >= swizzle_len >= 0.
struct Swizzle {
  int per_element = 0;
  int swizzle_len = 0;
  int atom_len = 0;
  bool inner = true;
  bool operator==(const Swizzle&) const = default;
};

std::int64_t apply(const Swizzle& swizzle, std::int64_t m);

struct TileLayout {
  std::vector<Iter> shard;
  std::vector<Iter> replica;
  std::vector<AxisOffset> offset;  // at most one entry an axis, none of them zero after canonical()
  std::optional<Swizzle> swizzle;
  bool operator==(const TileLayout&) const = default;  // as text; equal as maps: same_map()
};

// Coordinates on every axis; unused axes stay 0.
using Point = std::array<std::int64_t, axis_count>;
inline std::int64_t& at(Point& point, Axis axis) { return point[static_cast<std::size_t>(axis)]; }
inline std::int64_t at(const Point& point, Axis axis) { return point[static_cast<std::size_t>(axis)]; }

// Notation -> layout. The Reason of a failure carries text_offset (caret into the notation).
// With `names`, a name may stand wherever an integer stands, and integer expressions (+ - * / % and parentheses) too:
// S[(64,2,n/2):(1@TLane,64@TLane,1@TCol)].
Result<TileLayout> parse_layout(std::string_view notation);
Result<TileLayout> parse_layout(std::string_view notation, const std::map<std::string, std::int64_t>& names);
std::string to_string(const TileLayout& layout);

// Why a layout that was put together by hand is no layout (extent below 1, size or coordinates beyond 64 bits, swizzle
// parameters out of range); nothing when it is one. Every layout that parse_layout and the operations return has none.
std::optional<Reason> problem_with(const TileLayout& layout);

// Row-major layout of `shape` on axis m: S[(shape):(row-major strides)].
TileLayout row_major(std::span<const std::int64_t> shape);

// D(x) + O with the swizzle applied; x is the row-major index into any shape with the layout's size. Replicas are left out.
Point evaluate(const TileLayout& layout, std::int64_t x);
// All images of x, replicas included, in replica order (first is D(x) + O).
std::vector<Point> evaluate_all(const TileLayout& layout, std::int64_t x);

std::int64_t size(const TileLayout& layout);                // product of shard extents
std::int64_t size_on(const TileLayout& layout, Axis axis);  // product of the extents on one axis
std::int64_t span_on(const TileLayout& layout, Axis axis);  // 1 + largest coordinate on the axis (strides >= 0)

// Same map, simplest shard: unit iters and zero offsets dropped, neighbours that continue each other fused.
TileLayout canonical(const TileLayout& layout);

// The layout of the sub-box [begin, begin + extent) of `shape`. Bounds are checked. Reason when the result is no layout.
Result<TileLayout> slice(const TileLayout& layout, std::span<const std::int64_t> shape, std::span<const std::int64_t> begin,
                         std::span<const std::int64_t> extent);

}  // namespace tmemsim
