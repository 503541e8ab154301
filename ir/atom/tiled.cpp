#include "ir/atom/tiled.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/atom/flat_map.hpp"

namespace tmemsim::atom {
namespace {

constexpr std::int64_t largest_proof = std::int64_t{1} << 22;  // elements

Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

NestedLayout zip(const NestedLayout& a, const NestedLayout& b) {
  return {IntTuple::of({a.shape, b.shape}), IntTuple::of({a.stride, b.stride})};
}

Result<std::int64_t> extent(const NestedLayout& layout) {
  const auto found = size(layout);
  if (!found) return found.reason();
  if (!found->is_integer() || found->value < 1 || found->value > largest_proof)
    return reason(fmt::format("{} has no size between 1 and 2^22", to_string(layout)));
  return found->value;
}

Result<std::int64_t> extent(const IntTuple& shape) {
  const auto found = product(shape);
  if (!found) return found.reason();
  if (!found->is_integer() || found->value < 1 || found->value > largest_proof)
    return reason(fmt::format("{} has no size between 1 and 2^22", to_string(shape)));
  return found->value;
}

// The mode without the digits that change nothing.
NestedLayout without_repetition(const NestedLayout& layout) {
  const auto extents = leaves(layout.shape), strides = leaves(layout.stride);
  std::vector<IntTuple> shape, stride;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (strides[k].is(0)) continue;
    shape.push_back(extents[k]);
    stride.push_back(strides[k]);
  }
  if (shape.empty()) return {IntTuple(1), IntTuple(0)};
  return {IntTuple::of(std::move(shape)), IntTuple::of(std::move(stride))};
}

// A tile of contiguous pieces: one entry a mode of `shape`.
Tile tile_of(const IntTuple& shape) {
  Tile tile;
  for (std::size_t k = 0; k < shape.rank(); ++k) tile.modes.push_back({NestedLayout{shape.mode(k), IntTuple(1)}});
  return tile;
}

// zipped_divide leaves what is over; here the tile must divide every mode.
Result<NestedLayout> divided(const NestedLayout& data, const IntTuple& tile) {
  if (rank(data) != tile.rank())
    return reason(fmt::format("the tile {} and the data {} have different ranks", to_string(tile), to_string(data)));
  for (std::size_t k = 0; k < tile.rank(); ++k) {
    const auto whole = extent(mode(data, k)), part = extent(tile.mode(k));
    if (!whole) return whole.reason();
    if (!part) return part.reason();
    if (*whole % *part != 0)
      return reason(
          fmt::format("dimension {} of the data has {} elements, the tile's {} do not divide them", k, *whole, *part));
  }
  return zipped_divide(data, tile_of(tile));
}

// Mode `thread` is fixed at one coordinate; the others stay.
Result<TiledCopy::Part> part_of(const NestedLayout& thread, const NestedLayout& rest, const IntTuple& coordinate) {
  const auto offset = crd2idx(coordinate, thread);
  if (!offset) return offset.reason();
  return TiledCopy::Part{offset->value, rest};
}

}  // namespace

Result<ThreadValueTile> thread_value_tile(const NestedLayout& threads, const NestedLayout& values) {
  const auto both = raked_product(threads, values);
  if (!both) return both.reason();
  const auto inverse = right_inverse(*both);
  if (!inverse) return inverse.reason();
  const auto thread_count = extent(threads), value_count = extent(values);
  if (!thread_count) return thread_count.reason();
  if (!value_count) return value_count.reason();
  const NestedLayout order{IntTuple::of({IntTuple(*thread_count), IntTuple(*value_count)}),
                           IntTuple::of({IntTuple(1), IntTuple(*thread_count)})};
  auto tv = composition(*inverse, order);
  if (!tv) return tv.reason();
  auto tile = product_each(both->shape);
  if (!tile) return tile.reason();
  return ThreadValueTile{*std::move(tv), *std::move(tile)};
}

std::optional<Reason> not_owned_once(const NestedLayout& view, std::int64_t size_of_tile, std::int64_t times) {
  const auto map = FlatMap::make(view);
  if (!map) return map.reason();
  if (size_of_tile < 0 || size_of_tile > largest_proof || map->size() > largest_proof)
    return reason("the tile is too large for the proof (2^22 elements)");
  std::vector<std::int64_t> owners(static_cast<std::size_t>(size_of_tile), 0);
  for (std::int64_t x = 0; x < map->size(); ++x) {
    const std::int64_t at = (*map)(x);
    if (at < 0 || at >= size_of_tile)
      return reason(fmt::format("position {} owns element {}, outside the tile of {}", x, at, size_of_tile));
    ++owners[static_cast<std::size_t>(at)];
  }
  for (std::size_t at = 0; at < owners.size(); ++at) {
    if (owners[at] != times) return reason(fmt::format("element {} is owned {} times, not {}", at, owners[at], times));
  }
  return std::nullopt;
}

Result<TiledCopy> TiledCopy::make(CopyAtom atom, NestedLayout tv, IntTuple tile, std::int64_t owners) {
  if (rank(tv) != 2) return reason(fmt::format("{} does not have the two modes (thread, value)", to_string(tv)));
  const auto threads = extent(mode(tv, 0)), values = extent(mode(tv, 1)), elements = extent(tile);
  for (const auto* count : {&threads, &values, &elements}) {
    if (!*count) return count->reason();
  }
  if (owners < 1 || *threads * *values != *elements * owners)
    return reason(fmt::format("{} threads of {} values do not make a tile of {}, each element {} times", *threads, *values,
                              *elements, owners));
  if (atom.payload().whole_tile) return reason(fmt::format("{} moves a whole tile at once", atom.payload().name));
  const auto atom_threads = extent(mode(atom.thread_values("ref"), 0)),
             atom_values = extent(mode(atom.thread_values("ref"), 1));
  if (!atom_threads) return atom_threads.reason();
  if (!atom_values) return atom_values.reason();
  if (*threads % *atom_threads != 0)
    return reason(fmt::format("{} threads are no multiple of the atom's {}", *threads, *atom_threads));
  if (*values % *atom_values != 0)
    return reason(fmt::format("{} values a thread are no multiple of the atom's {}", *values, *atom_values));
  if (const auto wrong = not_owned_once(tv, *elements, owners)) return *wrong;
  return TiledCopy(std::move(atom), std::move(tv), std::move(tile), *threads);
}

Result<NestedLayout> TiledCopy::view(std::string_view side, const NestedLayout& data) const {
  const NestedLayout& reference = atom_.thread_values("ref");
  const NestedLayout& target = atom_.thread_values(side);
  const auto from_reference = right_inverse(reference);
  if (!from_reference) return from_reference.reason();
  const auto reference_to_target = composition(*from_reference, target);
  if (!reference_to_target) return reference_to_target.reason();
  const auto cut = divided(tv_, IntTuple::of({*extent(mode(reference, 0)), *extent(mode(reference, 1))}));
  if (!cut) return cut.reason();
  const auto piece = composition(mode(*cut, 0), *reference_to_target);
  if (!piece) return piece.reason();
  const NestedLayout rest = mode(*cut, 1);
  const auto whole = coalesce(zip(zip(mode(*piece, 0), mode(rest, 0)), zip(mode(*piece, 1), mode(rest, 1))),
                              IntTuple::of({1, IntTuple::of({1, 1})}));
  if (!whole) return whole.reason();
  const auto tiles = divided(data, tile_);
  if (!tiles) return tiles.reason();
  const auto inside = composition(mode(*tiles, 0), *whole);
  if (!inside) return inside.reason();
  const NestedLayout outside = mode(*tiles, 1);
  return NestedLayout{IntTuple::of({inside->shape.mode(0), inside->shape.mode(1), outside.shape}),
                      IntTuple::of({inside->stride.mode(0), inside->stride.mode(1), outside.stride})};
}

Result<TiledCopy::Part> TiledCopy::partition(std::string_view side, const NestedLayout& data, std::int64_t thread) const {
  if (thread < 0 || thread >= threads_)
    return reason(fmt::format("there are {} threads, {} is none of them", threads_, thread));
  const auto all = view(side, data);
  if (!all) return all.reason();
  return part_of(mode(*all, 0), zip(mode(*all, 1), mode(*all, 2)), IntTuple(thread));
}

Result<NestedLayout> TiledCopy::retile(const NestedLayout& fragment) const {
  if (rank(fragment) != tile_.rank() + 1)
    return reason(
        fmt::format("{} does not have the modes (value, rest) of a tile of rank {}", to_string(fragment), tile_.rank()));
  const auto values = extent(mode(fragment, 0)), atom_values = extent(mode(atom_.thread_values("ref"), 1));
  if (!values) return values.reason();
  if (!atom_values) return atom_values.reason();
  // Coordinate of the tile -> which group of `values` values of its thread it is in. Of threads that share elements one counts.
  const NestedLayout different = without_repetition(mode(tv_, 0));
  const auto inverse = right_inverse(zip(different, mode(tv_, 1)));
  if (!inverse) return inverse.reason();
  const auto by_coordinate = composition(*inverse, *make_layout(tile_));
  if (!by_coordinate) return by_coordinate.reason();
  const auto threads = extent(different);
  if (!threads) return threads.reason();
  const auto groups = upcast(*by_coordinate, *threads * *values);
  if (!groups) return groups.reason();
  const auto order = right_inverse(*groups);
  if (!order) return order.reason();
  const auto all = logical_product(NestedLayout{IntTuple(*values), IntTuple(1)}, *order);
  if (!all) return all.reason();
  const auto by_atom = zipped_divide(*all, NestedLayout{IntTuple(*atom_values), IntTuple(1)});
  if (!by_atom) return by_atom.reason();
  std::vector<IntTuple> piece{IntTuple(*values)};
  for (std::size_t k = 0; k < tile_.rank(); ++k) {
    const auto part = extent(mode(*groups, k));
    if (!part) return part.reason();
    piece.emplace_back(*part);
  }
  const auto tiles = divided(fragment, IntTuple::of(piece));
  if (!tiles) return tiles.reason();
  const auto walked = composition(mode(*tiles, 0), *by_atom);
  if (!walked) return walked.reason();
  std::vector<IntTuple> shape{walked->shape}, stride{walked->stride};
  for (std::size_t k = 1; k < piece.size(); ++k) {  // the value mode is used up
    shape.push_back(mode(mode(*tiles, 1), k).shape);
    stride.push_back(mode(mode(*tiles, 1), k).stride);
  }
  return NestedLayout{IntTuple::of(std::move(shape)), IntTuple::of(std::move(stride))};
}

Result<TiledCopy> TiledCopy::for_operand(CopyAtom atom, const TiledMma& mma, char operand) {
  auto tv = mma.thread_values(operand);
  if (!tv) return tv.reason();
  const auto [rows, columns] = mma.tile(operand);
  return make(std::move(atom), *std::move(tv), IntTuple::of({rows, columns}), mma.owners(operand));
}

Result<TiledMma> TiledMma::make(MmaAtom atom, NestedLayout atoms) {
  if (atom.payload().blocks != 1)
    return reason(fmt::format("{} multiplies {} independent tiles at once, not parts of one", atom.payload().name,
                              atom.payload().blocks));
  if (rank(atoms) != 3) return reason(fmt::format("{} does not say how many atoms stand along M, N and K", to_string(atoms)));
  auto vmnk = tiled_product(atom.threads(), atoms);
  if (!vmnk) return vmnk.reason();
  const auto threads = extent(*vmnk);
  if (!threads) return threads.reason();
  if (const auto wrong = not_owned_once(*vmnk, *threads))
    return reason(fmt::format("the threads of the atoms overlap: {}", wrong->text));
  for (std::size_t k = 0; k < 3; ++k) {
    if (const auto count = extent(mode(atoms, k)); !count) return count.reason();
  }
  TiledMma made(std::move(atom), std::move(atoms), *std::move(vmnk), *threads);
  for (const char operand : {'A', 'B', 'C'}) {
    const auto tv = made.thread_values(operand);
    if (!tv) return tv.reason();
    const auto [rows, columns] = made.tile(operand);
    if (const auto wrong = not_owned_once(*tv, rows * columns, made.owners(operand)))
      return reason(fmt::format("operand {}: {}", operand, wrong->text));
  }
  return made;
}

namespace {

// The two dimensions of an operand among M, N, K.
std::pair<std::size_t, std::size_t> dimensions(char operand) {
  if (operand == 'A') return {0, 2};
  if (operand == 'B') return {1, 2};
  return {0, 1};
}

}  // namespace

std::array<std::int64_t, 2> TiledMma::tile(char operand) const {
  const auto [first, second] = dimensions(operand);
  const auto mnk = atom_.shape_mnk();
  return {mnk[first] * *extent(mode(atoms_, first)), mnk[second] * *extent(mode(atoms_, second))};
}

std::int64_t TiledMma::owners(char operand) const {
  const auto [first, second] = dimensions(operand);
  return *extent(mode(atoms_, 3 - first - second)) * atom_.payload().operand(std::string_view(&operand, 1))->replication;
}

Result<NestedLayout> TiledMma::thread_values(char operand) const {
  const auto [rows, columns] = tile(operand);
  const auto all = view(operand, *make_layout(IntTuple::of({rows, columns})));
  if (!all) return all.reason();
  const auto [first, second] = dimensions(operand);
  const NestedLayout threads = mode(*all, 0), values = mode(*all, 1);  // (thread of the atom, (atoms)), (value, rest)
  // Threads of the atom, then the atoms along M, N and K, by rising thread number; along the third dimension all hold the same.
  struct Mode {
    std::int64_t thread_stride;
    NestedLayout layout;
  };
  std::vector<Mode> modes{{0, mode(threads, 0)}};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int64_t count = *extent(mode(atoms_, k));
    const auto next = crd2idx(IntTuple(count > 1 ? 1 : 0), mode(vmnk_, k + 1));
    if (!next) return next.reason();
    if (count == 1) continue;
    if (!mode(atoms_, k).shape.is_leaf())
      return reason(fmt::format("{}: the atoms along one dimension are one mode", to_string(atoms_)));
    const NestedLayout held = k == first    ? mode(mode(threads, 1), 0)
                              : k == second ? mode(mode(threads, 1), 1)
                                            : NestedLayout{IntTuple(count), IntTuple(0)};
    modes.push_back({next->value, held});
  }
  std::sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.thread_stride < b.thread_stride; });
  std::vector<IntTuple> shape, stride;
  for (const Mode& one : modes) {
    shape.push_back(one.layout.shape);
    stride.push_back(one.layout.stride);
  }
  return coalesce(zip({IntTuple::of(std::move(shape)), IntTuple::of(std::move(stride))}, values), IntTuple::of({1, 1}));
}

Result<NestedLayout> TiledMma::view(char operand, const NestedLayout& data) const {
  const auto [first, second] = dimensions(operand);
  const auto mnk = atom_.shape_mnk();
  std::vector<IntTuple> piece, tile, count;
  for (const std::size_t k : {first, second}) {
    const auto atoms = extent(mode(atoms_, k));
    if (!atoms) return atoms.reason();
    piece.emplace_back(mnk[k]);
    count.emplace_back(*atoms);
    tile.emplace_back(mnk[k] * *atoms);
  }
  const auto whole = divided(data, IntTuple::of(tile));  // only to check that the tile divides the data
  if (!whole) return whole.reason();
  const auto tiled = logical_divide(data, tile_of(IntTuple::of(tile)));
  if (!tiled) return tiled.reason();
  const auto cut = zipped_divide(*tiled, tile_of(IntTuple::of(piece)));
  if (!cut) return cut.reason();
  const auto held = composition(mode(*cut, 0), atom_.thread_values(operand));
  if (!held) return held.reason();
  const auto rest = zipped_divide(mode(*cut, 1), tile_of(IntTuple::of(count)));
  if (!rest) return rest.reason();
  return zip(zip(mode(*held, 0), mode(*rest, 0)), zip(mode(*held, 1), mode(*rest, 1)));
}

Result<TiledCopy::Part> TiledMma::partition(char operand, const NestedLayout& data, std::int64_t thread) const {
  if (thread < 0 || thread >= threads_)
    return reason(fmt::format("there are {} threads, {} is none of them", threads_, thread));
  const auto all = view(operand, data);
  if (!all) return all.reason();
  const auto position = idx2crd(IntTuple(thread), vmnk_);  // (V, M, N, K)
  if (!position) return position.reason();
  const auto [first, second] = dimensions(operand);
  return part_of(mode(*all, 0), mode(*all, 1),
                 IntTuple::of({position->mode(0), IntTuple::of({position->mode(1 + first), position->mode(1 + second)})}));
}

}  // namespace tmemsim::atom
