// An atom repeated over threads and over a tile: what each thread copies or multiplies.
//
// A thread-value layout TV maps (thread, value) to the column-major index of a tile. It is cut in pieces of one atom; each
// piece is seen through the atom's source or destination layout. Ownership is proved when the object is made: every element of
// the tile has exactly one (thread, value), for the operands of a matrix instruction as many as the atoms that share them.
// The formulas are those of CuTe.
#pragma once

#include <string>

#include "ir/atom/atom.hpp"

namespace tmemsim::atom {

struct ThreadValueTile {
  NestedLayout tv;
  IntTuple tile;  // extents, one a dimension
};
// Threads laid out as `threads`, each with values laid out as `values`: ((8,32):(32,1), (1,4):(4,1)) is an 8 x 128 tile.
Result<ThreadValueTile> thread_value_tile(const NestedLayout& threads, const NestedLayout& values);

// Every image in [0, size) exactly `times` times; a Reason that names the first element that is not.
std::optional<Reason> not_owned_once(const NestedLayout& view, std::int64_t size, std::int64_t times = 1);

class TiledMma;

class TiledCopy {
 public:
  // Reason: the tile and TV differ in size, the atom does not divide TV, or an element is owned twice or not at all (by other
  // than `owners` threads, where they share elements as those of a tiled matrix instruction do).
  static Result<TiledCopy> make(CopyAtom atom, NestedLayout tv, IntTuple tile, std::int64_t owners = 1);
  // For an operand of a matrix instruction: each thread copies what it multiplies.
  static Result<TiledCopy> for_operand(CopyAtom atom, const TiledMma& mma, char operand);

  const NestedLayout& tv() const { return tv_; }
  const IntTuple& tile() const { return tile_; }
  std::int64_t threads() const { return threads_; }
  // (thread, value, rest of the data) -> offset, for side "src" or "dst". Reason: the tile does not divide the data.
  Result<NestedLayout> view(std::string_view side, const NestedLayout& data) const;
  // One thread's part: (value, rest...) and where it starts.
  struct Part {
    std::int64_t offset = 0;
    NestedLayout layout;
  };
  Result<Part> partition(std::string_view side, const NestedLayout& data, std::int64_t thread) const;
  // A thread's fragment (value, rest...) of another instruction over the same tile, one rest mode a dimension, as the copy
  // walks it: ((values of the atom, rest of the values), rest...) -> where the fragment keeps it. Reason: the tiles do not fit.
  Result<NestedLayout> retile(const NestedLayout& fragment) const;

 private:
  TiledCopy(CopyAtom atom, NestedLayout tv, IntTuple tile, std::int64_t threads)
      : atom_(std::move(atom)), tv_(std::move(tv)), tile_(std::move(tile)), threads_(threads) {}
  CopyAtom atom_;
  NestedLayout tv_;
  IntTuple tile_;
  std::int64_t threads_;
};

class TiledMma {
 public:
  // `atoms`: how many atoms stand along M, N and K, and which threads have each: (2,2,1):(1,2,0). Reason: threads overlap, or
  // an element of an operand has not as many owners as atoms share it.
  static Result<TiledMma> make(MmaAtom atom, NestedLayout atoms);

  std::int64_t threads() const { return threads_; }
  const NestedLayout& thread_vmnk() const { return vmnk_; }  // (thread of the atom, M, N, K) -> thread
  // ((thread of the atom, atoms), (value, rest)) -> offset of operand A (M,K), B (N,K), C or D (M,N).
  Result<NestedLayout> view(char operand, const NestedLayout& data) const;
  // (thread, value) -> column-major index in the operand's part of the tile that all atoms together cover once; how many
  // threads hold each element: owners().
  Result<NestedLayout> thread_values(char operand) const;
  std::array<std::int64_t, 2> tile(char operand) const;
  std::int64_t owners(char operand) const;
  // What thread `thread` holds of it: ((value), rest) and where it starts.
  Result<TiledCopy::Part> partition(char operand, const NestedLayout& data, std::int64_t thread) const;

 private:
  TiledMma(MmaAtom atom, NestedLayout atoms, NestedLayout vmnk, std::int64_t threads)
      : atom_(std::move(atom)), atoms_(std::move(atoms)), vmnk_(std::move(vmnk)), threads_(threads) {}
  MmaAtom atom_;
  NestedLayout atoms_, vmnk_;
  std::int64_t threads_;
};

}  // namespace tmemsim::atom
