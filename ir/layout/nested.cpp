// Construction, measures and coordinates of nested layouts.
#include "ir/layout/nested.hpp"

#include <algorithm>
#include <numeric>

#include "ir/checked.hpp"
#include "ir/layout/nested_internal.hpp"

namespace tmemsim {

using namespace nested;

namespace {

constexpr std::int64_t farthest = std::int64_t{1} << 62;

// The shape, its size and the reach of each mode stay within 64 bits.
void validate(const NestedLayout& layout) {
  if (!congruent(layout.shape, layout.stride)) {
    refuse(fmt::format("the stride {} is not congruent to the shape {}", to_string(layout.stride), to_string(layout.shape)));
  }
  std::int64_t total = 1, reach = 0;
  const std::vector<Mode> modes = modes_of(layout);
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const Mode& mode = modes[k];
    if (mode.shape.kind == IntTuple::Kind::kept || mode.stride.kind == IntTuple::Kind::kept)
      refuse("a kept mode (*) stands in coordinates and tiles only", k);
    if (!mode.shape.path.empty()) refuse(fmt::format("the extent {} is a basis element", to_string(mode.shape)), k);
    if (!mode.shape.is_integer()) continue;
    if (mode.shape.value < 1) refuse(fmt::format("extent {} of mode {}; extents are at least 1", mode.shape.value, k), k);
    const auto next = checked_mul(total, mode.shape.value);
    if (!next) refuse(fmt::format("the size exceeds 64 bits at mode {}", k), k);
    total = *next;
    if (mode.stride.kind != IntTuple::Kind::integer) continue;
    const std::int64_t stride = mode.stride.value;
    const auto far =
        stride < -farthest || stride > farthest ? std::nullopt : checked_mul(mode.shape.value, stride < 0 ? -stride : stride);
    const auto sum = far ? checked_add(reach, *far) : far;
    if (!sum || *sum > farthest) refuse(fmt::format("mode {}, {}:{}, reaches beyond 2^62", k, mode.shape.value, stride), k);
    reach = *sum;
  }
}

IntTuple with_leaves(const IntTuple& profile, const std::vector<IntTuple>& values, std::size_t& next) {
  if (profile.is_leaf()) return values[next++];
  std::vector<IntTuple> items;
  for (const IntTuple& item : profile.items) items.push_back(with_leaves(item, values, next));
  return IntTuple::of(std::move(items));
}

IntTuple with_leaves(const IntTuple& profile, const std::vector<IntTuple>& values) {
  std::size_t next = 0;
  return with_leaves(profile, values, next);
}

// Compact strides, given the order in which the leaves take them; the size of each leaf counts `sizes[k]`.
std::vector<IntTuple> compact_strides(const std::vector<IntTuple>& sizes, const std::vector<std::size_t>& order) {
  std::vector<IntTuple> strides(sizes.size());
  IntTuple running = 1;
  for (const std::size_t k : order) {
    strides[k] = running;
    running = need(multiply(running, sizes[k]));
  }
  return strides;
}

// Leaves of the shape under each leaf of the order.
void pair_up(const IntTuple& shape, const IntTuple& order, std::vector<IntTuple>& orders) {
  if (order.is_leaf()) {
    for (std::size_t k = 0; k < leaves(shape).size(); ++k) orders.push_back(order);
    return;
  }
  if (shape.is_leaf() || shape.items.size() != order.items.size()) {
    refuse(fmt::format("the order {} does not fit the shape {}", to_string(order), to_string(shape)));
  }
  for (std::size_t k = 0; k < order.items.size(); ++k) pair_up(shape.items[k], order.items[k], orders);
}

// Orders known at run time only sort last; equal ones keep their place.
std::vector<std::size_t> sorted_by(const std::vector<IntTuple>& orders) {
  std::vector<std::size_t> positions(orders.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  std::stable_sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
    const bool known_a = orders[a].is_integer(), known_b = orders[b].is_integer();
    return known_a != known_b ? known_a : known_a && orders[a].value < orders[b].value;
  });
  return positions;
}

IntTuple identity_stride(const IntTuple& shape, std::vector<int> path) {
  if (shape.is_leaf()) return IntTuple::basis(1, std::move(path));
  std::vector<IntTuple> items;
  for (std::size_t k = 0; k < shape.items.size(); ++k) {
    std::vector<int> own = path;
    own.push_back(static_cast<int>(k));
    items.push_back(identity_stride(shape.items[k], std::move(own)));
  }
  return IntTuple::of(std::move(items));
}

NestedLayout compact_like(const NestedLayout& layout) {
  std::vector<IntTuple> sizes, strides;
  for (const Mode& mode : modes_of(layout)) {
    sizes.push_back(mode.stride.is(0) ? IntTuple(1) : mode.shape);
    strides.push_back(mode.stride);
  }
  std::vector<IntTuple> compact = compact_strides(sizes, sorted_by(strides));
  for (std::size_t k = 0; k < compact.size(); ++k) {
    if (strides[k].is(0)) compact[k] = IntTuple(0);
  }
  return {layout.shape, with_leaves(layout.shape, compact)};
}

// 0, or a tuple of zeros where strides are basis elements: the profile of all images.
IntTuple zero_image(const NestedLayout& layout) {
  IntTuple zero = 0;
  for (const Mode& mode : modes_of(layout)) {
    if (!mode.stride.path.empty()) zero = need(add(zero, IntTuple::basis(0, mode.stride.path)));
  }
  if (zero.is_leaf() && !zero.path.empty()) zero = need(add(IntTuple::basis(0, zero.path), IntTuple::of({IntTuple(0)})));
  return zero;
}

IntTuple index_of(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride) {
  if (coordinate.kind == IntTuple::Kind::kept) refuse("a kept mode (*) has no index; slice() keeps modes");
  if (shape.is_leaf()) {
    if (!coordinate.is_leaf()) refuse(fmt::format("coordinate {} for the mode {}", to_string(coordinate), to_string(shape)));
    return need(multiply(coordinate, stride));
  }
  IntTuple sum = 0;
  if (!coordinate.is_leaf()) {
    if (coordinate.items.size() != shape.items.size()) {
      refuse(fmt::format("coordinate {} does not have the rank of shape {}", to_string(coordinate), to_string(shape)));
    }
    for (std::size_t k = 0; k < shape.items.size(); ++k)
      sum = need(add(sum, index_of(coordinate.items[k], shape.items[k], stride.items[k])));
    return sum;
  }
  IntTuple rest = coordinate;
  for (std::size_t k = 0; k < shape.items.size(); ++k) {
    const bool last = k + 1 == shape.items.size();
    const IntTuple extent = need(product(shape.items[k]));
    sum = need(add(sum, index_of(last ? rest : need(remainder(rest, extent)), shape.items[k], stride.items[k])));
    if (!last) rest = need(divide(rest, extent));
  }
  return sum;
}

IntTuple coordinate_of(const IntTuple& index, const IntTuple& shape, const IntTuple& stride) {
  if (!shape.is_leaf()) {
    std::vector<IntTuple> items;
    for (std::size_t k = 0; k < shape.items.size(); ++k) items.push_back(coordinate_of(index, shape.items[k], stride.items[k]));
    return IntTuple::of(std::move(items));
  }
  if (shape.is(1)) return IntTuple(0);
  if (stride.is(0)) refuse(fmt::format("the mode {}:0 has no coordinate that an index tells", to_string(shape)));
  return need(remainder(need(divide(index, stride)), shape));
}

// Column-major index of a coordinate in a shape, and back.
IntTuple linear_index(const IntTuple& coordinate, const IntTuple& shape) {
  const NestedLayout compact = need(make_layout(shape));
  return index_of(coordinate, compact.shape, compact.stride);
}

IntTuple split_index(const IntTuple& index, const IntTuple& shape) {
  if (shape.is_leaf()) return index;
  std::vector<IntTuple> items;
  IntTuple rest = index;
  for (std::size_t k = 0; k < shape.items.size(); ++k) {
    const bool last = k + 1 == shape.items.size();
    const IntTuple extent = need(product(shape.items[k]));
    items.push_back(split_index(last ? rest : need(remainder(rest, extent)), shape.items[k]));
    if (!last) rest = need(divide(rest, extent));
  }
  return IntTuple::of(std::move(items));
}

NestedLayout canonical_unchecked(const IntTuple& shape, const IntTuple& stride) {
  if (shape.is_leaf()) return {shape, shape.is(1) ? IntTuple(0) : stride};
  if (shape.items.size() == 1) return canonical_unchecked(shape.items[0], stride.items[0]);
  std::vector<NestedLayout> modes;
  for (std::size_t k = 0; k < shape.items.size(); ++k) modes.push_back(canonical_unchecked(shape.items[k], stride.items[k]));
  return tuple_of(modes);
}

IntTuple* leaf_at(IntTuple& tuple, const std::vector<int>& path) {
  IntTuple* at = &tuple;
  for (const int mode : path) {
    if (at->is_leaf() ? mode != 0 : static_cast<std::size_t>(mode) >= at->items.size())
      refuse(fmt::format("coordinate {} has no mode {}", to_string(tuple), mode));
    if (!at->is_leaf()) at = &at->items[static_cast<std::size_t>(mode)];
  }
  if (!at->is_integer()) refuse(fmt::format("a coordinate swizzle needs integers; got {}", to_string(*at)));
  return at;
}

}  // namespace

NestedLayout mode(const NestedLayout& layout, std::size_t k) { return {layout.shape.mode(k), layout.stride.mode(k)}; }

std::size_t rank(const NestedLayout& layout) { return layout.shape.rank(); }

Result<NestedLayout> make_layout(const IntTuple& shape, const IntTuple& stride) {
  return guarded([&] {
    NestedLayout layout{shape, stride};
    validate(layout);
    return layout;
  });
}

Result<NestedLayout> make_layout(const IntTuple& shape) { return make_ordered_layout(shape, IntTuple(0)); }

Result<NestedLayout> make_ordered_layout(const IntTuple& shape, const IntTuple& order) {
  return guarded([&] {
    std::vector<IntTuple> orders;
    pair_up(shape, order, orders);
    const std::vector<IntTuple> strides = compact_strides(leaves(shape), sorted_by(orders));
    NestedLayout layout{shape, with_leaves(shape, strides)};
    validate(layout);
    return layout;
  });
}

Result<NestedLayout> make_identity_layout(const IntTuple& shape) { return make_layout(shape, identity_stride(shape, {})); }

Result<NestedLayout> make_layout_like(const NestedLayout& layout) {
  return guarded([&] { return compact_like(layout); });
}

Result<NestedLayout> make_fragment_layout(const NestedLayout& layout) {
  return guarded([&] {
    if (layout.shape.is_leaf() || rank(layout) == 1) return compact_like(layout);
    // The first mode in its own column-major order; modes of stride 0 stay single places.
    const NestedLayout first = mode(layout, 0);
    std::vector<IntTuple> sizes;
    for (const Mode& m : modes_of(first)) sizes.push_back(m.stride.is(0) ? IntTuple(1) : m.shape);
    std::vector<std::size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<IntTuple> strides = compact_strides(sizes, order);
    const std::vector<Mode> own = modes_of(first);
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (own[k].stride.is(0)) strides[k] = IntTuple(0);
    }
    const NestedLayout lowest{first.shape, with_leaves(first.shape, strides)};
    std::vector<NestedLayout> rest = expanded(layout);
    rest.erase(rest.begin());
    return need(tiled_product(lowest, compact_like(tuple_of(rest))));
  });
}

Result<NestedLayout> select(const NestedLayout& layout, const std::vector<std::size_t>& modes) {
  const auto shape = select(layout.shape, modes);
  if (!shape) return shape.reason();
  return NestedLayout{*shape, *select(layout.stride, modes)};
}

Result<IntTuple> size(const NestedLayout& layout) { return product(layout.shape); }

Result<IntTuple> coshape(const NestedLayout& layout) {
  return guarded([&] {
    IntTuple last = zero_image(layout);
    for (const Mode& mode : modes_of(layout))
      last = need(add(last, need(multiply(need(subtract(mode.shape, IntTuple(1))), mode.stride))));
    std::vector<IntTuple> values;
    for (const IntTuple& leaf : leaves(last)) values.push_back(need(add(leaf, IntTuple(1))));
    return with_leaves(last, values);
  });
}

Result<IntTuple> cosize(const NestedLayout& layout) {
  const auto shape = coshape(layout);
  return shape ? product(*shape) : shape;
}

NestedLayout canonical(const NestedLayout& layout) { return canonical_unchecked(layout.shape, layout.stride); }

Result<IntTuple> crd2idx(const IntTuple& coordinate, const NestedLayout& layout) {
  return guarded([&] {
    validate(layout);
    return need(add(zero_image(layout), index_of(coordinate, layout.shape, layout.stride)));
  });
}

std::int64_t apply(const IndexSwizzle& swizzle, std::int64_t value) {
  const std::int64_t mask = (std::int64_t{1} << swizzle.bits) - 1;
  return value ^ ((value & (mask << (swizzle.base + swizzle.shift))) >> swizzle.shift);
}

Result<IntTuple> apply(const CoordSwizzle& swizzle, const IntTuple& coordinate) {
  return guarded([&] {
    IntTuple result = coordinate;
    const std::int64_t mask = (std::int64_t{1} << swizzle.bits) - 1;
    const std::int64_t row = leaf_at(result, swizzle.row)->value;
    const auto moved = static_cast<std::uint64_t>((row >> swizzle.row_bit) & mask) << swizzle.column_bit;
    leaf_at(result, swizzle.column)->value ^= static_cast<std::int64_t>(moved);
    return result;
  });
}

Result<IntTuple> crd2idx(const IntTuple& coordinate, const AnyLayout& layout) {
  if (const auto* nested = std::get_if<NestedLayout>(&layout)) return crd2idx(coordinate, *nested);
  if (const auto* swizzle = std::get_if<CoordSwizzle>(&layout)) return apply(*swizzle, coordinate);
  if (const auto* swizzle = std::get_if<IndexSwizzle>(&layout)) {
    if (coordinate.kind == IntTuple::Kind::dynamic) return coordinate;
    if (!coordinate.is_integer())
      return Reason{fmt::format("a swizzle takes an integer; got {}", to_string(coordinate)), {}, {}, {}};
    return IntTuple(apply(*swizzle, coordinate.value));
  }
  const ComposedLayout& composed = *std::get<std::shared_ptr<const ComposedLayout>>(layout);
  const auto inside = crd2idx(coordinate, composed.outer);
  if (!inside) return inside;
  const auto moved = add(composed.offset, *inside);
  return moved ? crd2idx(*moved, composed.inner) : moved;
}

Result<IntTuple> idx2crd(const IntTuple& index, const NestedLayout& layout) {
  return guarded([&] {
    if (!index.is_leaf() || !index.path.empty()) refuse(fmt::format("an index is an integer; got {}", to_string(index)));
    const IntTuple coordinate = coordinate_of(index, layout.shape, layout.stride);
    if (!index.is_integer()) return coordinate;
    const IntTuple again = need(crd2idx(coordinate, layout));
    if (again.is_integer() && again.value != index.value) {
      refuse(fmt::format("no coordinate of {} has the index {}; {} has {}", to_string(layout), index.value,
                         to_string(coordinate), again.value));
    }
    return coordinate;
  });
}

Result<IntTuple> crd2crd(const IntTuple& coordinate, const IntTuple& from_shape, const IntTuple& to_shape) {
  return guarded([&] { return split_index(linear_index(coordinate, from_shape), to_shape); });
}

Result<IntTuple> get_flat_coord(const IntTuple& coordinate, const NestedLayout& layout) {
  return guarded([&] { return split_index(linear_index(coordinate, layout.shape), need(product_each(layout.shape))); });
}

Result<IntTuple> get_1d_coord(const IntTuple& coordinate, const NestedLayout& layout) {
  return guarded([&] { return linear_index(coordinate, layout.shape); });
}

// Conversion.

Result<DigitMap> digit_map(const NestedLayout& layout) {
  return guarded([&] {
    validate(layout);
    const IntTuple zero = zero_image(layout);
    std::vector<std::vector<int>> axes;  // paths of the codomain in order
    for (const Mode& mode : modes_of(layout)) {
      if (!mode.stride.path.empty()) axes.push_back(mode.stride.path);
    }
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    if (axes.size() > axis_count) refuse(fmt::format("{} basis elements; digit maps have {} axes", axes.size(), axis_count));
    DigitMap map;
    const std::vector<Mode> modes = modes_of(layout);
    for (std::size_t k = 0; k < modes.size(); ++k) {
      Digit digit{integer(modes[k].shape, "the extent", k), {}};
      if (modes[k].stride.kind != IntTuple::Kind::integer) refuse("a stride known at run time only has no digit map", k);
      if (modes[k].stride.path.empty() && !axes.empty() && modes[k].stride.value != 0)
        refuse("integer and basis strides in one layout", k);
      const auto axis = modes[k].stride.path.empty() ? axes.begin() : std::find(axes.begin(), axes.end(), modes[k].stride.path);
      digit.step[static_cast<std::size_t>(axis - axes.begin())] = modes[k].stride.value;
      map.digits.push_back(digit);
    }
    for (std::size_t a = 0; a < axis_count; ++a)
      map.beyond[a] = wrapping_mul(map.digits.back().step[a], map.digits.back().extent);
    return map;
  });
}

Result<NestedLayout> nested_layout(const DigitMap& map) {
  return guarded([&] {
    if (map.offset != Point{}) refuse("a nested layout has no offset");
    std::vector<std::size_t> used;
    for (std::size_t a = 0; a < axis_count; ++a) {
      if (std::any_of(map.digits.begin(), map.digits.end(), [&](const Digit& digit) { return digit.step[a] != 0; }))
        used.push_back(a);
    }
    std::vector<Mode> modes;
    for (std::size_t k = 0; k < map.digits.size(); ++k) {
      IntTuple stride = 0;
      for (std::size_t u = 0; u < used.size(); ++u) {
        const std::int64_t step = map.digits[k].step[used[u]];
        if (step == 0) continue;
        if (!stride.is(0)) refuse(fmt::format("digit {} moves on several axes at once", k), k);
        stride = used.size() == 1 ? IntTuple(step) : IntTuple::basis(step, {static_cast<int>(u)});
      }
      modes.push_back({IntTuple(map.digits[k].extent), stride});
    }
    return layout_of(modes);
  });
}

Result<NestedLayout> nested_layout(const TileLayout& layout) {
  if (!layout.replica.empty()) return Reason{"a nested layout has no replicas", {}, {}, {}};
  if (layout.swizzle && layout.swizzle->swizzle_len > 0)
    return Reason{"the swizzle stays outside: convert the layout without it and compose", {}, {}, {}};
  return nested_layout(digit_map(layout));
}

Result<TileLayout> tile_layout(const NestedLayout& layout) {
  for (const Mode& mode : modes_of(layout)) {
    if (!mode.stride.path.empty()) return Reason{"basis strides have no named axes", {}, {}, {}};
  }
  const auto map = digit_map(layout);
  if (!map) return map.reason();
  return tile_layout(*map);
}

}  // namespace tmemsim
