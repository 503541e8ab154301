// The algebra of nested layouts: coalesce, composition, complement, inverses, divides, products, recast, slices.
#include <algorithm>
#include <numeric>

#include "ir/checked.hpp"
#include "ir/layout/nested_internal.hpp"

namespace tmemsim {

using namespace nested;

namespace {

// Neighbours that continue each other become one mode; modes of size 1 go. The highest one stays as size 2 when the boundary
// is kept: coordinates past the size run along its stride.
std::vector<Mode> coalesced(std::vector<Mode> modes, bool keep_boundary) {
  if (keep_boundary && modes.back().shape.is(1)) modes.back().shape = IntTuple(2);
  std::erase_if(modes, [](const Mode& mode) { return mode.shape.is(1); });
  std::vector<Mode> merged;
  for (std::size_t k = modes.size(); k > 0; --k) {
    const Mode& mode = modes[k - 1];
    const bool is_static = mode.shape.is_integer() && mode.stride.kind == IntTuple::Kind::integer;
    if (!merged.empty() && is_static && merged.back().shape.is_integer() &&
        merged.back().stride.kind == IntTuple::Kind::integer && merged.back().stride.path == mode.stride.path &&
        checked_mul(mode.shape.value, mode.stride.value) == merged.back().stride.value) {
      merged.back().shape = need(multiply(merged.back().shape, mode.shape));
      merged.back().stride = mode.stride;
    } else {
      merged.push_back(mode);
    }
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

NestedLayout coalesced_layout(const NestedLayout& layout, bool keep_boundary = false) {
  const std::vector<Mode> modes = modes_of(layout);
  if (modes.size() == 1) return layout;
  return layout_of(coalesced(modes, keep_boundary));
}

NestedLayout coalesced_by(const NestedLayout& layout, const IntTuple& profile) {
  if (profile.is_leaf()) return coalesced_layout(layout);
  if (layout.shape.is_leaf() || profile.items.size() > rank(layout)) {
    refuse(fmt::format("the profile {} has more modes than {}", to_string(profile), to_string(layout)));
  }
  std::vector<NestedLayout> modes = expanded(layout);
  for (std::size_t k = 0; k < profile.items.size(); ++k) modes[k] = coalesced_by(modes[k], profile.items[k]);
  return tuple_of(modes);
}

// The left side of a composition, and how far the modes of the right side walked so far move in each of its modes. Steps of
// different right modes add up, so a mode that they leave together would carry: then the composition is no layout.
struct Left {
  std::vector<Mode> modes;
  std::vector<std::int64_t> walked;

  void walk(std::size_t k, std::int64_t distance, std::size_t position) {
    const std::int64_t extent = integer(modes[k].shape, "the extent of the left layout", k);
    walked[k] += distance;  // both below the extent
    if (walked[k] >= extent)
      refuse(fmt::format("the right modes up to mode {} carry out of the left mode {} of extent {}", position, k, extent),
             position);
  }
};

// The modes of the left layout that one mode of the right one meets.
NestedLayout compose_mode(Left& left, const IntTuple& shape, const IntTuple& stride, std::size_t position) {
  const std::vector<Mode>& a = left.modes;
  if (!stride.path.empty())
    refuse(fmt::format("mode {} of the right layout has the basis stride {}", position, to_string(stride)), position);
  if (stride.is(0)) return {shape, IntTuple(0)};
  if (a.size() == 1) return {shape, need(multiply(stride, a[0].stride))};
  std::int64_t count = integer(shape, "the extent of the right layout", position);
  std::int64_t step = integer(stride, "the stride of the right layout", position);
  if (step < 0) refuse(fmt::format("mode {} of the right layout has the negative stride {}", position, step), position);
  std::vector<Mode> met;
  for (std::size_t k = 0; k + 1 < a.size() && count > 1; ++k) {
    const std::int64_t extent = integer(a[k].shape, "the extent of the left layout", k);
    const bool passes = step >= extent;
    if (passes && step % extent != 0) {
      refuse(fmt::format("mode {} of the right layout, {}:{}, does not pass the left mode {} of extent {} evenly", position,
                         to_string(shape), to_string(stride), k, extent),
             position);
    }
    const std::int64_t here = passes ? 1 : std::min(ceil_div(extent, step), count);
    if (!passes && here < count && (extent % step != 0 || count % here != 0)) {
      refuse(fmt::format("mode {} of the right layout, {}:{}, crosses the left mode {} of extent {} unevenly", position,
                         to_string(shape), to_string(stride), k, extent),
             position);
    }
    if (here > 1) {
      left.walk(k, step * (here - 1), position);
      met.push_back({IntTuple(here), need(multiply(IntTuple(step), a[k].stride))});
    }
    count /= here;
    step = ceil_div(step, extent);
  }
  if (count > 1 || met.empty()) met.push_back({IntTuple(count), need(multiply(IntTuple(step), a.back().stride))});
  return layout_of(met);
}

NestedLayout compose_all(Left& a, const NestedLayout& b, std::size_t& position) {
  if (b.shape.is_leaf()) return compose_mode(a, b.shape, b.stride, position++);
  std::vector<NestedLayout> modes;
  for (const NestedLayout& own : expanded(b)) modes.push_back(compose_all(a, own, position));
  return tuple_of(modes);
}

NestedLayout composed(const NestedLayout& a, const NestedLayout& b) {
  Left left{modes_of(coalesced_layout(a, true)), {}};
  left.walked.assign(left.modes.size(), 0);
  std::size_t position = 0;
  return canonical(compose_all(left, b, position));
}

// f on each mode that has an entry; kept modes and modes beyond the tile stay as they are.
template <class OnLayout>
NestedLayout by_mode(const NestedLayout& a, const std::vector<Tile::Entry>& entries, OnLayout on_layout) {
  if (entries.size() > rank(a)) refuse(fmt::format("the tile has {} modes, {} has {}", entries.size(), to_string(a), rank(a)));
  std::vector<NestedLayout> modes = expanded(a);
  for (std::size_t k = 0; k < entries.size(); ++k) {
    if (const auto* layout = std::get_if<NestedLayout>(&entries[k].what))
      modes[k] = on_layout(modes[k], *layout);
    else if (const auto* inside = std::get_if<std::vector<Tile::Entry>>(&entries[k].what))
      modes[k] = by_mode(modes[k], *inside, on_layout);
  }
  return a.shape.is_leaf() ? modes.front() : tuple_of(modes);
}

std::vector<Mode> sorted_by_stride(std::vector<Mode> modes, std::string_view operation) {
  for (std::size_t k = 0; k < modes.size(); ++k) {
    integer(modes[k].shape, fmt::format("{}: the extent", operation), k);
    if (integer(modes[k].stride, fmt::format("{}: the stride", operation), k) < 0) {
      refuse(fmt::format("{}: mode {} has the negative stride {}", operation, k, modes[k].stride.value), k);
    }
  }
  std::stable_sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.stride.value < b.stride.value; });
  return modes;
}

NestedLayout complement_within(const NestedLayout& layout, std::int64_t codomain) {
  if (codomain < 1) refuse(fmt::format("the codomain of a complement has at least one element; got {}", codomain));
  std::vector<Mode> modes = modes_of(layout);
  for (Mode& mode : modes) {
    if (mode.stride.is(0)) mode.shape = IntTuple(1);
  }
  modes = sorted_by_stride(coalesced(modes, false), "complement");
  std::vector<Mode> gaps;
  std::int64_t reached = 1;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const std::int64_t stride = modes[k].stride.value;
    if (stride < reached) {
      refuse(fmt::format("complement of {}: not injective, the mode {}:{} lies within the {} places of the smaller strides",
                         to_string(layout), modes[k].shape.value, stride, reached),
             k);
    }
    gaps.push_back({IntTuple(stride / reached), IntTuple(reached)});
    const auto next = checked_mul(stride, modes[k].shape.value);
    if (!next) refuse("the span exceeds 64 bits", k);
    reached = *next;
  }
  gaps.push_back({IntTuple(ceil_div(codomain, reached)), IntTuple(reached)});
  return layout_of(coalesced(gaps, false));
}

// Product of the extents of the modes before each one: what the layout's own coordinates count there.
std::vector<std::pair<Mode, std::int64_t>> with_weights(const std::vector<Mode>& modes) {
  std::vector<std::pair<Mode, std::int64_t>> result;
  std::int64_t weight = 1;
  for (const Mode& mode : modes) {
    result.emplace_back(mode, weight);
    weight = saturating_mul(weight, mode.shape.is_integer() ? mode.shape.value : 1);
  }
  return result;
}

std::vector<std::pair<Mode, std::int64_t>> weighted_by_stride(const NestedLayout& layout, std::string_view operation) {
  std::vector<Mode> modes = coalesced(modes_of(layout), false);
  sorted_by_stride(modes, operation);
  auto weighted = with_weights(modes);
  std::stable_sort(weighted.begin(), weighted.end(),
                   [](const auto& a, const auto& b) { return a.first.stride.value < b.first.stride.value; });
  return weighted;
}

NestedLayout divided(const NestedLayout& a, const NestedLayout& b) {
  const std::int64_t count = integer(need(size(a)), "the size of the divided layout");
  return composed(a, tuple_of({b, complement_within(b, count)}));
}

// Tile and rest of each mode, tile and rest of the modes of a nested tile together.
std::pair<NestedLayout, NestedLayout> unzipped(const NestedLayout& a, const std::vector<Tile::Entry>& entries) {
  if (entries.size() != rank(a))
    refuse(fmt::format("the tile has {} modes, {} has {}; every mode needs a tile", entries.size(), to_string(a), rank(a)));
  std::vector<NestedLayout> tiles, rests;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    if (const auto* layout = std::get_if<NestedLayout>(&entries[k].what)) {
      const NestedLayout pair = divided(mode(a, k), *layout);
      tiles.push_back(mode(pair, 0));
      rests.push_back(mode(pair, 1));
    } else if (const auto* inside = std::get_if<std::vector<Tile::Entry>>(&entries[k].what)) {
      auto [own_tile, own_rest] = unzipped(mode(a, k), *inside);
      tiles.push_back(own_tile);
      rests.push_back(own_rest);
    } else {
      refuse(fmt::format("mode {} is kept (*), so it has no tile to zip; logical_divide keeps modes", k), k);
    }
  }
  return {tuple_of(tiles), tuple_of(rests)};
}

enum class Grouping { zipped, tiled, flat };

NestedLayout regrouped(const NestedLayout& first, const NestedLayout& rest, Grouping grouping) {
  if (grouping == Grouping::zipped) return tuple_of({first, rest});
  std::vector<NestedLayout> modes = grouping == Grouping::flat ? expanded(first) : std::vector<NestedLayout>{first};
  const std::vector<NestedLayout> more = expanded(rest);
  modes.insert(modes.end(), more.begin(), more.end());
  return tuple_of(modes);
}

Result<NestedLayout> divide_as(const NestedLayout& a, const NestedLayout& b, Grouping grouping) {
  return guarded([&] {
    const NestedLayout pair = divided(a, b);
    return regrouped(mode(pair, 0), mode(pair, 1), grouping);
  });
}

Result<NestedLayout> divide_as(const NestedLayout& a, const Tile& b, Grouping grouping) {
  return guarded([&] {
    const auto [tiles, rests] = unzipped(a, b.modes);
    return regrouped(tiles, rests, grouping);
  });
}

// Where the copies of `a` go.
NestedLayout room_for_copies(const NestedLayout& a, const NestedLayout& b) {
  const std::int64_t own = integer(need(size(a)), "the size of the left layout");
  const std::int64_t copies = integer(need(cosize(b)), "the cosize of the right layout");
  const auto codomain = checked_mul(own, copies);
  if (!codomain) refuse("the size of the product exceeds 64 bits");
  return complement_within(a, *codomain);
}

Result<NestedLayout> product_as(const NestedLayout& a, const NestedLayout& b, Grouping grouping) {
  return guarded([&] {
    const NestedLayout copies = composed(room_for_copies(a, b), b);
    return regrouped(canonical(a), canonical(copies), grouping);
  });
}

std::vector<NestedLayout> padded(const NestedLayout& layout, std::size_t count) {
  std::vector<NestedLayout> modes = expanded(layout);
  while (modes.size() < count) modes.push_back(NestedLayout{IntTuple(1), IntTuple(0)});
  return modes;
}

Result<NestedLayout> interleaved_product(const NestedLayout& a, const NestedLayout& b, bool raked) {
  return guarded([&] {
    const std::size_t count = std::max(rank(a), rank(b));
    const std::vector<NestedLayout> left = padded(a, count), right = padded(b, count);
    const NestedLayout room = room_for_copies(a, b);
    std::vector<NestedLayout> modes;
    for (std::size_t k = 0; k < count; ++k) {
      const NestedLayout copies = composed(room, right[k]);
      modes.push_back(raked ? tuple_of({copies, left[k]}) : tuple_of({left[k], copies}));
    }
    return canonical(tuple_of(modes));
  });
}

template <class OnLeaf>
NestedLayout leaf_by_leaf(const NestedLayout& layout, std::size_t& position, OnLeaf on_leaf) {
  if (layout.shape.is_leaf()) return on_leaf(layout, position++);
  std::vector<NestedLayout> modes;
  for (const NestedLayout& own : expanded(layout)) modes.push_back(leaf_by_leaf(own, position, on_leaf));
  return tuple_of(modes);
}

NestedLayout upcast_leaf(const NestedLayout& leaf, std::size_t position, std::int64_t factor) {
  if (leaf.stride.is(0) || factor == 1) return leaf;
  const std::int64_t extent = integer(leaf.shape, "the extent", position);
  const std::int64_t stride = integer(leaf.stride, "the stride", position);
  const std::int64_t step = stride < 0 ? -stride : stride;
  if (step % factor != 0 && factor % step != 0) {
    refuse(fmt::format("mode {}, {}:{}: neither of the stride and the factor {} divides the other", position, extent, stride,
                       factor),
           position);
  }
  const std::int64_t together = ceil_div(factor, step);  // neighbours that become one element
  if (extent % together != 0 && together % extent != 0) {
    refuse(
        fmt::format("mode {}, {}:{}: {} elements do not make whole elements of {}", position, extent, stride, extent, together),
        position);
  }
  return {IntTuple(ceil_div(extent, together)), IntTuple((stride < 0 ? -1 : 1) * ceil_div(step, factor))};
}

// Modes that lie within one wider element are filled up by others, or the last elements would be there in part only.
void covers_whole_elements(const NestedLayout& before, const NestedLayout& after, std::int64_t factor) {
  const std::vector<Mode> narrow = modes_of(before), wide = modes_of(after);
  std::int64_t had = 1, has = factor;
  std::optional<std::size_t> short_mode;
  for (std::size_t k = 0; k < narrow.size(); ++k) {
    if (narrow[k].stride.is(0)) continue;
    had = saturating_mul(had, narrow[k].shape.value);
    has = saturating_mul(has, wide[k].shape.value);
    if (!short_mode && narrow[k].stride.value < factor && wide[k].shape.is(1)) short_mode = k;
  }
  if (has <= had || factor == 1) return;
  refuse(fmt::format("{} elements do not make whole elements of {}: {} would be needed", had, factor, has), short_mode);
}

NestedLayout downcast_leaf(const NestedLayout& leaf, std::size_t position, std::int64_t factor) {
  if (leaf.stride.kind != IntTuple::Kind::integer || !leaf.stride.path.empty())
    refuse(fmt::format("mode {} has the stride {}", position, to_string(leaf.stride)), position);
  if (leaf.stride.is(1) || leaf.stride.is(-1)) return {need(multiply(leaf.shape, IntTuple(factor))), leaf.stride};
  return {leaf.shape, need(multiply(leaf.stride, IntTuple(factor)))};
}

void positive(std::int64_t factor) {
  if (factor < 1) refuse(fmt::format("the factor is {}; it is at least 1", factor));
}

bool any_kept(const IntTuple& coordinate) {
  const std::vector<IntTuple> all = leaves(coordinate);
  return std::any_of(all.begin(), all.end(), [](const IntTuple& leaf) { return leaf.kind == IntTuple::Kind::kept; });
}

void collect(const IntTuple& tuple, const IntTuple& coordinate, bool keep, std::vector<IntTuple>& out) {
  if (coordinate.is_leaf()) {
    if ((coordinate.kind == IntTuple::Kind::kept) == keep) out.push_back(tuple);
    return;
  }
  if (tuple.is_leaf() || tuple.items.size() != coordinate.items.size()) {
    refuse(fmt::format("coordinate {} does not have the rank of {}", to_string(coordinate), to_string(tuple)));
  }
  for (std::size_t k = 0; k < tuple.items.size(); ++k) collect(tuple.items[k], coordinate.items[k], keep, out);
}

IntTuple chosen(const IntTuple& tuple, const IntTuple& coordinate, bool keep) {
  std::vector<IntTuple> items;
  collect(tuple, coordinate, keep, items);
  if (items.empty()) refuse(fmt::format("coordinate {} leaves no mode of {}", to_string(coordinate), to_string(tuple)));
  return items.size() == 1 ? items.front() : IntTuple::of(std::move(items));
}

IntTuple kept_as_zero(const IntTuple& coordinate) {
  if (coordinate.kind == IntTuple::Kind::kept) return IntTuple(0);
  if (coordinate.is_leaf()) return coordinate;
  std::vector<IntTuple> items;
  for (const IntTuple& item : coordinate.items) items.push_back(kept_as_zero(item));
  return IntTuple::of(std::move(items));
}

AnyLayout sliced(const AnyLayout& layout, const IntTuple& coordinate) {
  if (const auto* nested = std::get_if<NestedLayout>(&layout)) return need(slice(*nested, coordinate));
  const auto* shared = std::get_if<std::shared_ptr<const ComposedLayout>>(&layout);
  if (shared == nullptr) refuse("a swizzle has no modes to slice");
  ComposedLayout composed = **shared;
  if (const auto* outer = std::get_if<NestedLayout>(&composed.outer)) {
    composed.offset = need(add(composed.offset, need(crd2idx(kept_as_zero(coordinate), *outer))));
  }
  composed.outer = sliced(composed.outer, coordinate);
  return std::make_shared<const ComposedLayout>(std::move(composed));
}

}  // namespace

Result<NestedLayout> coalesce(const NestedLayout& layout) {
  return guarded([&] { return coalesced_layout(layout); });
}
Result<NestedLayout> coalesce(const NestedLayout& layout, const IntTuple& profile) {
  return guarded([&] { return coalesced_by(layout, profile); });
}
Result<NestedLayout> coalesce_keeping_boundary(const NestedLayout& layout) {
  return guarded([&] { return coalesced_layout(layout, true); });
}

Result<NestedLayout> composition(const NestedLayout& a, const NestedLayout& b) {
  return guarded([&] { return composed(a, b); });
}
Result<NestedLayout> composition(const NestedLayout& a, const Tile& b) {
  return guarded([&] { return by_mode(a, b.modes, composed); });
}
Result<AnyLayout> composition(const AnyLayout& a, const NestedLayout& b) {
  return guarded([&]() -> AnyLayout {
    if (const auto* nested = std::get_if<NestedLayout>(&a)) return composed(*nested, b);
    if (const auto* shared = std::get_if<std::shared_ptr<const ComposedLayout>>(&a)) {
      ComposedLayout result = **shared;
      result.outer = need(composition(result.outer, b));
      return std::make_shared<const ComposedLayout>(std::move(result));
    }
    return std::make_shared<const ComposedLayout>(ComposedLayout{a, IntTuple(0), b});
  });
}

Result<NestedLayout> complement(const NestedLayout& layout, std::optional<std::int64_t> codomain) {
  return guarded([&] { return complement_within(layout, codomain ? *codomain : integer(need(cosize(layout)), "the cosize")); });
}

Result<NestedLayout> right_inverse(const NestedLayout& layout) {
  return guarded([&] {
    std::vector<Mode> chain;
    std::int64_t reached = 1;
    for (const auto& [mode, weight] : weighted_by_stride(layout, "right_inverse")) {
      if (mode.stride.value != reached) continue;
      chain.push_back({mode.shape, IntTuple(weight)});
      reached = saturating_mul(reached, mode.shape.value);
    }
    return layout_of(coalesced(chain, false));
  });
}

Result<NestedLayout> left_inverse(const NestedLayout& layout) {
  return guarded([&] {
    std::vector<Mode> result;
    IntTuple last_shape = 1, last_stride = 0;
    std::int64_t reached = 1;
    for (const auto& [mode, weight] : weighted_by_stride(layout, "left_inverse")) {
      if (mode.stride.is(0)) continue;
      if (mode.stride.value % reached != 0) {
        refuse(fmt::format("left_inverse of {}: the stride {} is no multiple of {}, the span of the smaller strides",
                           to_string(layout), mode.stride.value, reached));
      }
      result.push_back({IntTuple(mode.stride.value / reached), last_stride});
      reached = mode.stride.value;
      last_shape = mode.shape;
      last_stride = IntTuple(weight);
    }
    result.push_back({last_shape, last_stride});
    return layout_of(coalesced(result, false));
  });
}

Result<NestedLayout> logical_divide(const NestedLayout& a, const NestedLayout& b) {
  return guarded([&] { return divided(a, b); });
}
Result<NestedLayout> logical_divide(const NestedLayout& a, const Tile& b) {
  return guarded([&] { return by_mode(a, b.modes, divided); });
}
Result<NestedLayout> zipped_divide(const NestedLayout& a, const NestedLayout& b) { return divide_as(a, b, Grouping::zipped); }
Result<NestedLayout> zipped_divide(const NestedLayout& a, const Tile& b) { return divide_as(a, b, Grouping::zipped); }
Result<NestedLayout> tiled_divide(const NestedLayout& a, const NestedLayout& b) { return divide_as(a, b, Grouping::tiled); }
Result<NestedLayout> tiled_divide(const NestedLayout& a, const Tile& b) { return divide_as(a, b, Grouping::tiled); }
Result<NestedLayout> flat_divide(const NestedLayout& a, const NestedLayout& b) { return divide_as(a, b, Grouping::flat); }
Result<NestedLayout> flat_divide(const NestedLayout& a, const Tile& b) { return divide_as(a, b, Grouping::flat); }

Result<NestedLayout> logical_product(const NestedLayout& a, const NestedLayout& b) {
  return product_as(a, b, Grouping::zipped);
}
Result<NestedLayout> zipped_product(const NestedLayout& a, const NestedLayout& b) { return product_as(a, b, Grouping::zipped); }
Result<NestedLayout> tiled_product(const NestedLayout& a, const NestedLayout& b) { return product_as(a, b, Grouping::tiled); }
Result<NestedLayout> flat_product(const NestedLayout& a, const NestedLayout& b) { return product_as(a, b, Grouping::flat); }
Result<NestedLayout> blocked_product(const NestedLayout& a, const NestedLayout& b) { return interleaved_product(a, b, false); }
Result<NestedLayout> raked_product(const NestedLayout& a, const NestedLayout& b) { return interleaved_product(a, b, true); }

Result<NestedLayout> tile_to_shape(const NestedLayout& tile, const IntTuple& shape, const IntTuple& order) {
  return guarded([&] {
    const std::size_t count = std::max(rank(tile), shape.rank());
    const std::vector<NestedLayout> own = padded(tile, count);
    std::vector<IntTuple> repeats;
    for (std::size_t k = 0; k < count; ++k) {
      const IntTuple wanted = k < shape.rank() ? need(product(shape.mode(k))) : IntTuple(1);
      repeats.push_back(need(ceil_div(wanted, need(size(own[k])))));
    }
    const NestedLayout copies = need(make_ordered_layout(IntTuple::of(repeats), order));
    return need(blocked_product(tuple_of(own), copies));
  });
}

Result<NestedLayout> upcast(const NestedLayout& layout, std::int64_t factor) {
  return guarded([&] {
    positive(factor);
    std::size_t position = 0;
    const NestedLayout wide =
        leaf_by_leaf(layout, position, [&](const NestedLayout& leaf, std::size_t k) { return upcast_leaf(leaf, k, factor); });
    covers_whole_elements(layout, wide, factor);
    return wide;
  });
}

Result<NestedLayout> downcast(const NestedLayout& layout, std::int64_t factor) {
  return guarded([&] {
    positive(factor);
    std::size_t position = 0;
    return leaf_by_leaf(layout, position,
                        [&](const NestedLayout& leaf, std::size_t k) { return downcast_leaf(leaf, k, factor); });
  });
}

Result<NestedLayout> recast(const NestedLayout& layout, std::int64_t old_bits, std::int64_t new_bits) {
  if (old_bits < 1 || new_bits < 1) return layout;
  const std::int64_t common = std::gcd(old_bits, new_bits);
  const auto coarse = upcast(layout, new_bits / common);
  return coarse ? downcast(*coarse, old_bits / common) : coarse;
}

Result<IndexSwizzle> recast(const IndexSwizzle& swizzle, std::int64_t old_bits, std::int64_t new_bits) {
  const auto is_power = [](std::int64_t bits) { return bits > 0 && (bits & (bits - 1)) == 0; };
  if (!is_power(old_bits) || !is_power(new_bits))
    return Reason{fmt::format("a swizzle is recast between powers of two; got {} and {} bits", old_bits, new_bits), {}, {}, {}};
  IndexSwizzle result = swizzle;
  for (std::int64_t bits = new_bits; bits < old_bits; bits *= 2) ++result.base;
  for (std::int64_t bits = old_bits; bits < new_bits; bits *= 2) --result.base;
  if (result.base < 0) return Reason{fmt::format("the swizzle moves units smaller than {} bits", new_bits), {}, {}, {}};
  return result;
}

Result<IntTuple> slice(const IntTuple& tuple, const IntTuple& coordinate) {
  return guarded([&] { return chosen(tuple, coordinate, true); });
}
Result<IntTuple> dice(const IntTuple& tuple, const IntTuple& coordinate) {
  return guarded([&] { return chosen(tuple, coordinate, false); });
}
Result<NestedLayout> slice(const NestedLayout& layout, const IntTuple& coordinate) {
  return guarded([&] { return NestedLayout{chosen(layout.shape, coordinate, true), chosen(layout.stride, coordinate, true)}; });
}
Result<NestedLayout> dice(const NestedLayout& layout, const IntTuple& coordinate) {
  return guarded([&] {
    return NestedLayout{chosen(layout.shape, coordinate, false), chosen(layout.stride, coordinate, false)};
  });
}
Result<AnyLayout> slice(const AnyLayout& layout, const IntTuple& coordinate) {
  return guarded([&]() -> AnyLayout {
    if (!any_kept(coordinate)) refuse(fmt::format("coordinate {} keeps no mode", to_string(coordinate)));
    return sliced(layout, coordinate);
  });
}

}  // namespace tmemsim
