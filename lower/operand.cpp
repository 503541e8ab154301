#include "lower/operand.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/layout/tile_algebra.hpp"

namespace tmemsim::lower {
namespace {

Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

struct Bounds {
  Affine begin;
  std::int64_t extent = 1;
};

Result<Bounds> bounds_of(const Kernel& kernel, const Range& range, const Threads& threads) {
  const Expr lo = specialised(range.lo, threads);
  for (const ExprOp op : {ExprOp::tid, ExprOp::lane, ExprOp::reg, ExprOp::warp, ExprOp::wg}) {
    if (lo.uses(op)) {
      return reason(fmt::format("the bound {} differs between the threads of the primitive ({}); a primitive moves one region, so name "
                                "one warp in `at`, or use loop variables", print(kernel, range.lo), spelling(op)));
    }
  }
  Bounds bounds{affine(lo), 1};
  if (!range.hi) return bounds;
  const Affine extent = difference(affine(specialised(*range.hi, threads)), bounds.begin);
  if (!extent.is_constant()) {
    return reason(fmt::format("the extent of [{}, {}) is no constant", print(kernel, range.lo), print(kernel, *range.hi)));
  }
  bounds.extent = extent.constant;
  return bounds;
}

void add_moving(Operand& operand, Axis axis, const Affine& value, std::int64_t stride) {
  at(operand.offset, axis) += value.constant * stride;
  for (const Term& term : value.terms) operand.moving.push_back({axis, term.expr, term.coefficient * stride});
}

// A bound that moves: begin = P * q + r, where P is the size of the innermost iters of the dimension. q moves the outer iters,
// r stays. Gives r.
Result<std::int64_t> split_moving_bound(Operand& operand, std::span<const Iter> iters, const Affine& begin, std::int64_t extent,
                                        std::size_t dimension) {
  std::int64_t divisor = 0;
  for (const Term& term : begin.terms) divisor = std::gcd(divisor, term.coefficient);
  std::size_t outer = iters.size() - 1;  // iters[0, outer] move; those after it stay
  std::int64_t inner_size = 1;
  while (outer > 0 && divisor % (inner_size * iters[outer].extent) == 0) inner_size *= iters[outer--].extent;
  const std::int64_t rest = (begin.constant % inner_size + inner_size) % inner_size;
  Affine quotient{(begin.constant - rest) / inner_size, begin.terms};
  for (Term& term : quotient.terms) term.coefficient /= inner_size;
  if (outer == 0) {
    add_moving(operand, iters[0].axis, quotient, iters[0].stride);
    return rest;
  }
  if (rest + extent > inner_size) {
    return reason(fmt::format("dimension {}: the bound moves in steps of {}, but the layout is regular only within {} elements there; "
                              "a step that is a multiple of the tile would work", dimension, divisor, inner_size));
  }
  const Expr value = to_expr(quotient);
  std::int64_t weight = 1;
  for (std::size_t k = outer + 1; k > 0; --k) {
    Expr digit = Expr::binary(ExprOp::div, value, Expr(weight));
    if (k > 1) digit = Expr::binary(ExprOp::mod, digit, Expr(iters[k - 1].extent));
    operand.moving.push_back({iters[k - 1].axis, digit, iters[k - 1].stride});
    weight *= iters[k - 1].extent;
  }
  return rest;
}

void take_layout(Operand& operand, TileLayout layout) {
  std::erase_if(layout.shard, [](const Iter& iter) { return iter.extent == 1; });
  std::erase_if(layout.replica, [](const Iter& iter) { return iter.extent == 1; });
  operand.shard = std::move(layout.shard);
  operand.replica = std::move(layout.replica);
  for (const AxisOffset& offset : layout.offset) at(operand.offset, offset.axis) += offset.value;
  operand.swizzle = layout.swizzle;
}

}  // namespace

std::int64_t Operand::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  return count;
}

std::vector<std::int64_t> Operand::shape() const {
  std::vector<std::int64_t> result;
  std::copy_if(extents.begin(), extents.end(), std::back_inserter(result), [](std::int64_t extent) { return extent != 1; });
  return result;
}

Result<Operand> operand_of(const Kernel& kernel, const Region& region, const Threads& threads) {
  Operand operand;
  operand.id = region.buffer;
  operand.buffer = &kernel.buffers[region.buffer];
  operand.bits = bits(operand.buffer->dtype);
  const Buffer& buffer = *operand.buffer;
  operand.begin.assign(buffer.shape.size(), 0);
  operand.extents = buffer.shape;
  TileLayout layout = layout_of(buffer);
  for (const Iter& iter : layout.shard) operand.named.set(static_cast<std::size_t>(iter.axis));
  for (const Iter& iter : layout.replica) operand.named.set(static_cast<std::size_t>(iter.axis));
  for (const AxisOffset& offset : layout.offset) operand.named.set(static_cast<std::size_t>(offset.axis));
  if (region.box.empty()) {
    take_layout(operand, std::move(layout));
    return operand;
  }
  if (region.box.size() != buffer.shape.size()) {
    return reason(fmt::format("the region of {} has {} dimensions, the buffer {}", buffer.name, region.box.size(), buffer.shape.size()));
  }
  bool is_whole = true;
  std::vector<Affine> begins;
  std::vector<std::size_t> moving;
  for (std::size_t d = 0; d < region.box.size(); ++d) {
    auto bounds = bounds_of(kernel, region.box[d], threads);
    if (!bounds) return bounds.reason();
    operand.begin[d] = bounds->begin.constant;
    operand.extents[d] = bounds->extent;
    is_whole = is_whole && bounds->begin.is_constant() && bounds->begin.constant == 0 && bounds->extent == buffer.shape[d];
    if (!bounds->begin.is_constant()) moving.push_back(d);
    begins.push_back(std::move(bounds->begin));
  }
  if (is_whole) {
    take_layout(operand, std::move(layout));
    return operand;
  }
  std::vector<std::int64_t> constant_begin = operand.begin;
  if (!moving.empty()) {
    const auto grouped = group(canonical(layout), buffer.shape);
    if (!grouped) return grouped.reason();
    for (const std::size_t d : moving) {
      const std::size_t first = grouped->separators[d], last = grouped->separators[d + 1];
      const std::span<const Iter> iters(grouped->layout.shard.data() + first, last - first);
      const auto rest = split_moving_bound(operand, iters, begins[d], operand.extents[d], d);
      if (!rest) return rest.reason();
      constant_begin[d] = *rest;
    }
  }
  auto part = slice(layout, buffer.shape, constant_begin, operand.extents);
  if (!part) return reason(fmt::format("{}: {}", buffer.name, part.reason().text));
  take_layout(operand, std::move(*part));
  return operand;
}

Result<std::vector<Digit>> digits_in_step(const Operand& a, const Operand& b) {
  std::vector<Digit> digits;
  std::size_t ka = a.shard.size(), kb = b.shard.size();
  Iter x{1, 0, Axis::m}, y{1, 0, Axis::m};
  for (;;) {
    if (x.extent == 1 && ka > 0) x = a.shard[--ka];
    if (y.extent == 1 && kb > 0) y = b.shard[--kb];
    if (x.extent == 1 && y.extent == 1) return digits;
    const std::int64_t step = std::min(x.extent, y.extent);
    if (step == 1) return reason("the regions have different numbers of elements");
    if (x.extent % step != 0 || y.extent % step != 0) {
      return reason(fmt::format("the layouts of {} and {} cut the elements at {} and at {}, which have no common refinement", a.buffer->name,
                                b.buffer->name, x.extent, y.extent));
    }
    digits.push_back({step, {x.axis, x.stride}, {y.axis, y.stride}});
    for (Iter* iter : {&x, &y}) {
      iter->extent /= step;
      iter->stride *= step;
    }
  }
}

std::string element_name(const Operand& operand, std::int64_t index) {
  std::vector<std::int64_t> coordinate(operand.extents.size());
  for (std::size_t d = operand.extents.size(); d > 0; --d) {
    coordinate[d - 1] = operand.begin[d - 1] + index % operand.extents[d - 1];
    index /= operand.extents[d - 1];
  }
  return fmt::format("{}[{}]", operand.buffer->name, fmt::join(coordinate, ", "));
}

}  // namespace tmemsim::lower
