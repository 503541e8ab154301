#include "ir/atom/tiled.hpp"

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

Result<TiledCopy> TiledCopy::make(CopyAtom atom, NestedLayout tv, IntTuple tile) {
  if (rank(tv) != 2) return reason(fmt::format("{} does not have the two modes (thread, value)", to_string(tv)));
  const auto threads = extent(mode(tv, 0)), values = extent(mode(tv, 1)), elements = extent(tile);
  for (const auto* count : {&threads, &values, &elements}) {
    if (!*count) return count->reason();
  }
  if (*threads * *values != *elements)
    return reason(fmt::format("{} threads of {} values do not make a tile of {}", *threads, *values, *elements));
  if (atom.payload().whole_tile) return reason(fmt::format("{} moves a whole tile at once", atom.payload().name));
  const auto atom_threads = extent(mode(atom.thread_values("ref"), 0)),
             atom_values = extent(mode(atom.thread_values("ref"), 1));
  if (!atom_threads) return atom_threads.reason();
  if (!atom_values) return atom_values.reason();
  if (*threads % *atom_threads != 0)
    return reason(fmt::format("{} threads are no multiple of the atom's {}", *threads, *atom_threads));
  if (*values % *atom_values != 0)
    return reason(fmt::format("{} values a thread are no multiple of the atom's {}", *values, *atom_values));
  if (const auto wrong = not_owned_once(tv, *elements)) return *wrong;
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

Result<TiledMma> TiledMma::make(MmaAtom atom, NestedLayout atoms) {
  if (atom.payload().blocks != 1)
    return reason(fmt::format("{} multiplies {} independent tiles at once, not parts of one", atom.payload().name, atom.payload().blocks));
  if (rank(atoms) != 3) return reason(fmt::format("{} does not say how many atoms stand along M, N and K", to_string(atoms)));
  auto vmnk = tiled_product(atom.threads(), atoms);
  if (!vmnk) return vmnk.reason();
  const auto threads = extent(*vmnk);
  if (!threads) return threads.reason();
  if (const auto wrong = not_owned_once(*vmnk, *threads))
    return reason(fmt::format("the threads of the atoms overlap: {}", wrong->text));
  return TiledMma(std::move(atom), std::move(atoms), *std::move(vmnk), *threads);
}

namespace {

// The two dimensions of an operand among M, N, K.
std::pair<std::size_t, std::size_t> dimensions(char operand) {
  if (operand == 'A') return {0, 2};
  if (operand == 'B') return {1, 2};
  return {0, 1};
}

}  // namespace

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
