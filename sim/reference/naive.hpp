// Definitions evaluated as they are written, slowly and without sharing code with the rest: what the reference interpreter and
// the comparison stand on. Nothing here calls ir/layout's evaluation, ir/dtype's conversions or Expr::apply.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::reference {

// D(x) + O, then the swizzle on axis m; x is the row-major index. Replicas are left out.
Point naive_apply(const TileLayout& layout, std::int64_t x);

// Where element x of a buffer stands; without a layout its slot is x.
Point naive_place(const Buffer& buffer, std::int64_t x);
// All places of element x, replicas included; the first is naive_place.
std::vector<Point> naive_places(const Buffer& buffer, std::int64_t x);

// Number -> element bits, rounded once to nearest even: Eigen for f16 and bf16, the host compiler for f32, f64 and integers,
// a search through all values for the narrow floats (which saturate).
std::uint64_t naive_encode(Dtype dtype, const Number& number);

// start + sum over k of a[k] * b[k], all as bits. Into f32: products are exact, each sum is rounded, in the order of k; tf32
// inputs lose their low 13 bits. Into s32: wraps.
std::uint64_t naive_dot(Dtype result, Dtype input, std::uint64_t start, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b);

// One thread: what the coordinates in an expression stand for.
struct Thread {
  std::uint32_t cta = 0;  // in the grid
  std::uint32_t tid = 0;  // in the CTA
};

// The value of an expression for one thread; nothing when it reads memory or registers, or divides by zero.
std::optional<std::int32_t> naive_value(const Kernel& kernel, const Expr& expr, const Thread& thread,
                                        const std::map<std::string, std::int64_t>& loop);

// CTA in its cluster, x fastest.
std::uint32_t rank_of(const Launch& launch, std::uint32_t cta);

// A region with its bounds evaluated: first and one past the last index of each dimension.
struct Box {
  BufferId buffer = 0;
  std::vector<std::int64_t> begin, end;
  bool operator==(const Box&) const = default;
};
// Nothing when a bound has no value or the box leaves the buffer.
std::optional<Box> naive_box(const Kernel& kernel, const Region& region, const Thread& thread,
                             const std::map<std::string, std::int64_t>& loop);

// Row-major indices, in the buffer, of the elements of a box, in the row-major order of the box.
std::vector<std::int64_t> elements_of(const Kernel& kernel, const Box& box);

}  // namespace tmemsim::reference
