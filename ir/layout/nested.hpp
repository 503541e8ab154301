// Nested layouts shape:stride, as CuTe and FlyDSL have them: the first mode is the lowest digit.
//
// A coordinate may have the nesting of the shape, or be one integer for any part of it (column-major; the last mode takes the
// whole remainder, so coordinates past the size extrapolate). Where FlyDSL has an assertion or a wrong answer there is a Reason
// that names the mode (Reason::iter, counted over the flattened shape): incongruent shape and stride, ranks that differ,
// extents that do not divide, input to complement that is not injective.
// Notation: (4,(2,8)):(1,(4,8)); tile [2:7|*|(3,6):(1,3)]; composed inner o offset o outer: 32:2o5o[32:1o7o(4,8):(1,4)];
// swizzle S<mask bits, base, shift>; coordinate swizzle CS<bits, row bit, [row mode], column bit, [column mode]>.
// Source of the rules: FlyDSL, CuTe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/layout/digit_map.hpp"
#include "ir/layout/int_tuple.hpp"
#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"

namespace tmemsim {

struct NestedLayout {
  IntTuple shape = 1;
  IntTuple stride = 0;
  bool operator==(const NestedLayout&) const = default;
};

// v ^= (v & (2^bits - 1) << (base + shift)) >> shift.
struct IndexSwizzle {
  int bits = 0, base = 0, shift = 0;
  bool operator==(const IndexSwizzle&) const = default;
};
// column ^= (row >> row_bit & 2^bits - 1) << column_bit, on two leaves of a coordinate.
struct CoordSwizzle {
  int bits = 0, row_bit = 0, column_bit = 0;
  std::vector<int> row, column;
  bool operator==(const CoordSwizzle&) const = default;
};

struct ComposedLayout;
using AnyLayout = std::variant<NestedLayout, IndexSwizzle, CoordSwizzle, std::shared_ptr<const ComposedLayout>>;
// c -> inner(offset + outer(c)).
struct ComposedLayout {
  AnyLayout inner;
  IntTuple offset = 0;
  AnyLayout outer;  // a nested or composed layout
};
bool same(const AnyLayout& a, const AnyLayout& b);

// One entry a mode: a layout (an integer n is n:1), a kept mode, or a tile of the modes inside.
struct Tile {
  struct Entry {
    std::variant<NestedLayout, std::monostate, std::vector<Entry>> what;  // monostate: kept
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> modes;
  bool operator==(const Tile&) const = default;
};

Result<NestedLayout> parse_nested(std::string_view text);
Result<AnyLayout> parse_any_layout(std::string_view text);  // nested, swizzle or composed
Result<Tile> parse_tile(std::string_view text);
std::string to_string(const NestedLayout& layout);
std::string to_string(const AnyLayout& layout);
std::string to_string(const Tile& tile);

// Construction. make_layout(shape) is compact, column-major.
Result<NestedLayout> make_layout(const IntTuple& shape, const IntTuple& stride);
Result<NestedLayout> make_layout(const IntTuple& shape);
Result<NestedLayout> make_ordered_layout(const IntTuple& shape, const IntTuple& order);  // strides grow with the order
Result<NestedLayout> make_identity_layout(const IntTuple& shape);                        // basis strides: coordinates as values
Result<NestedLayout> make_layout_like(
    const NestedLayout& layout);  // compact, modes in the order of their strides; stride 0 stays
Result<NestedLayout> make_fragment_layout(
    const NestedLayout& layout);  // first mode compact and lowest, the others as make_layout_like
Result<NestedLayout> select(const NestedLayout& layout, const std::vector<std::size_t>& modes);
NestedLayout mode(const NestedLayout& layout, std::size_t k);
std::size_t rank(const NestedLayout& layout);

Result<IntTuple> size(const NestedLayout& layout);
Result<IntTuple> coshape(const NestedLayout& layout);  // 1 + the largest image, per mode of the codomain
Result<IntTuple> cosize(const NestedLayout& layout);
NestedLayout canonical(const NestedLayout& layout);  // size-1 leaves get stride 0, tuples of one are unwrapped

// Coordinates.
Result<IntTuple> crd2idx(const IntTuple& coordinate, const NestedLayout& layout);
Result<IntTuple> crd2idx(const IntTuple& coordinate, const AnyLayout& layout);
Result<IntTuple> idx2crd(const IntTuple& index, const NestedLayout& layout);  // Reason when the index is no image of that form
Result<IntTuple> crd2crd(const IntTuple& coordinate, const IntTuple& from_shape, const IntTuple& to_shape);
Result<IntTuple> get_flat_coord(const IntTuple& coordinate, const NestedLayout& layout);  // one integer a top mode
Result<IntTuple> get_1d_coord(const IntTuple& coordinate, const NestedLayout& layout);    // one integer
std::int64_t apply(const IndexSwizzle& swizzle, std::int64_t value);
Result<IntTuple> apply(const CoordSwizzle& swizzle, const IntTuple& coordinate);

// Same map, fewest modes. With a profile, mode by mode; modes beyond it are left alone.
Result<NestedLayout> coalesce(const NestedLayout& layout);
Result<NestedLayout> coalesce(const NestedLayout& layout, const IntTuple& profile);
Result<NestedLayout> coalesce_keeping_boundary(const NestedLayout& layout);  // coordinates past the size keep their images too

Result<NestedLayout> composition(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> composition(const NestedLayout& a, const Tile& b);
Result<AnyLayout> composition(const AnyLayout& a, const NestedLayout& b);
Result<NestedLayout> complement(const NestedLayout& layout, std::optional<std::int64_t> codomain = {});
Result<NestedLayout> right_inverse(const NestedLayout& layout);
Result<NestedLayout> left_inverse(const NestedLayout& layout);

// (tile, rest) of each mode, and its regroupings: zipped (tiles),(rests); tiled (tiles), rest, ...; flat tile, ..., rest, ...
Result<NestedLayout> logical_divide(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> logical_divide(const NestedLayout& a, const Tile& b);
Result<NestedLayout> zipped_divide(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> zipped_divide(const NestedLayout& a, const Tile& b);  // every mode needs a tile
Result<NestedLayout> tiled_divide(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> tiled_divide(const NestedLayout& a, const Tile& b);
Result<NestedLayout> flat_divide(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> flat_divide(const NestedLayout& a, const Tile& b);

// a, repeated as b says.
Result<NestedLayout> logical_product(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> zipped_product(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> tiled_product(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> flat_product(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> blocked_product(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> raked_product(const NestedLayout& a, const NestedLayout& b);
Result<NestedLayout> tile_to_shape(const NestedLayout& tile, const IntTuple& shape, const IntTuple& order);

// The same memory seen in elements of other widths.
Result<NestedLayout> upcast(const NestedLayout& layout, std::int64_t factor);
Result<NestedLayout> downcast(const NestedLayout& layout, std::int64_t factor);
Result<NestedLayout> recast(const NestedLayout& layout, std::int64_t old_bits, std::int64_t new_bits);
Result<IndexSwizzle> recast(const IndexSwizzle& swizzle, std::int64_t old_bits, std::int64_t new_bits);

// slice keeps the `*` modes of a coordinate, dice the others. The fixed modes of a composed layout move into the nearest
// offset.
Result<IntTuple> slice(const IntTuple& tuple, const IntTuple& coordinate);
Result<IntTuple> dice(const IntTuple& tuple, const IntTuple& coordinate);
Result<NestedLayout> slice(const NestedLayout& layout, const IntTuple& coordinate);
Result<NestedLayout> dice(const NestedLayout& layout, const IntTuple& coordinate);
Result<AnyLayout> slice(const AnyLayout& layout, const IntTuple& coordinate);

// Conversion to and from the core and the other family, where it exists. Integer strides move on axis m; basis elements on the
// axes 0, 1, ... in the order of the flattened codomain.
Result<DigitMap> digit_map(const NestedLayout& layout);
Result<NestedLayout> nested_layout(const DigitMap& map);
Result<NestedLayout> nested_layout(const TileLayout& layout);
Result<TileLayout> tile_layout(const NestedLayout& layout);

}  // namespace tmemsim
