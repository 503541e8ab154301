// What an operation is made of: its row (facts) and its fields (typed operands).
//
// One operation is one struct in ir/ops/: `static constexpr Row row` and `static constexpr auto fields` (a tuple of Field).
// Parser, printer, verifier, JSON Schema, `tmemsim ops`, the simulator's and the emitter's dispatch are folds over the two
// lists in ir/op_list.hpp. Nothing else lists operations.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ir/expr.hpp"
#include "ir/target.hpp"

namespace tmemsim {

enum class Who : std::uint8_t { thread, warp_aligned, warp, cta, cluster };  // who takes part in one instance
enum class Async : std::uint8_t { none, ld, st, mma, cp, shift, bulk };      // agent whose completion counts
enum class Choice : std::uint8_t { none, leader, poll, placement, winner };  // outcome that the ISA leaves open

struct Row {
  std::string_view name;     // PTX name without type and alignment suffixes
  Who who = Who::thread;
  Async async = Async::none;
  Choice choice = Choice::none;
  Needs needs = Needs::nothing;
  std::string_view section;  // PTX ISA 9.1 section
  std::string_view rule;     // one sentence
  bool moves_data = true;    // false: changes no buffer element (the reference interpreter passes over it)
};

struct TileRow {
  std::string_view name;
  std::string_view rule;
};

enum class Use : std::uint8_t { read, write, update, address, value, modifier };

// A key of the operation in scenarios and in the text form. Fields of type std::optional may be left out; others may be left
// out only when `may_default` is set (the member's initialiser counts then).
template <class Op, class T>
struct Field {
  std::string_view key;
  T Op::*at;
  Use use;
  bool may_default = false;
};
template <class Op, class T> Field(std::string_view, T Op::*, Use) -> Field<Op, T>;
template <class Op, class T> Field(std::string_view, T Op::*, Use, bool) -> Field<Op, T>;

template <class T> struct is_optional : std::false_type {};
template <class T> struct is_optional<std::optional<T>> : std::true_type {};

// ---- Operands: one type a kind, so that a lane cannot be passed for a column. ----

// One dimension of a region: [lo, hi), or a single index (no hi), which drops the dimension.
struct Range {
  Expr lo;
  std::optional<Expr> hi;
  bool operator==(const Range&) const = default;
};

// A box of logical elements. An empty box means the whole buffer.
struct Region {
  BufferId buffer = 0;
  std::vector<Range> box;
  bool operator==(const Region&) const = default;
};

// 32-bit registers of a thread: rows of a local buffer, in any order. "R.r[0:8]", "R.r[3]", "R.r[0,2,4,6]".
struct Rows {
  BufferId buffer = 0;
  std::vector<std::uint16_t> rows;
  bool operator==(const Rows&) const = default;
};

// A place in shared or global memory: the first element of a region, or a byte offset into the buffer.
struct Mem {
  BufferId buffer = 0;
  std::vector<Range> box;      // used when `byte` is absent
  std::optional<Expr> byte;
  bool operator==(const Mem&) const = default;
};

// A TMEM address (lane << 16 | column): that of a region's first cell, or base + (lane << 16) + col.
struct TmemAddr {
  std::optional<Region> cell;
  Expr base, lane, col;        // used when `cell` is absent
  bool operator==(const TmemAddr&) const = default;
};

using Value = std::variant<Expr, Rows>;             // an expression, or registers
using Number = std::variant<std::int64_t, double>;  // a literal element value

// ---- Modifiers: enums with keywords. ----

enum class Shape : std::uint8_t { s32x32b, s16x64b, s16x128b, s16x256b, s16x32bx2 };
enum class Compare : std::uint8_t { eq, ne, lt, le, gt, ge };
enum class AluType : std::uint8_t { s32, u32, f32 };
enum class Sem : std::uint8_t { weak, relaxed, acquire, release };
enum class MemScope : std::uint8_t { cta, cluster, gpu, sys };

template <class Enum> struct Keywords;  // `static constexpr std::array<std::string_view, N> names`, by enum value

template <> struct Keywords<Shape> {
  static constexpr std::array<std::string_view, 5> names{"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
};
template <> struct Keywords<Compare> {
  static constexpr std::array<std::string_view, 6> names{"eq", "ne", "lt", "le", "gt", "ge"};
};
template <> struct Keywords<AluType> {
  static constexpr std::array<std::string_view, 3> names{"s32", "u32", "f32"};
};
template <> struct Keywords<Sem> {
  static constexpr std::array<std::string_view, 4> names{"weak", "relaxed", "acquire", "release"};
};
template <> struct Keywords<MemScope> {
  static constexpr std::array<std::string_view, 4> names{"cta", "cluster", "gpu", "sys"};
};

template <class Enum> constexpr std::string_view keyword(Enum value) {
  return Keywords<Enum>::names[static_cast<std::size_t>(value)];
}

// Calls f(field, member) for each field of an operation.
template <class Op, class F> constexpr void for_each_field(Op& op, F&& f) {
  std::apply([&](const auto&... field) { (f(field, op.*(field.at)), ...); }, std::remove_const_t<Op>::fields);
}

template <class... Op> struct OpList {
  using Any = std::variant<Op...>;
  static constexpr std::array rows{Op::row...};
  static consteval bool names_differ() {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (rows[i].name == rows[j].name) return false;
    return true;
  }
  // Calls f.template operator()<Op>() for each operation.
  template <class F> static constexpr void for_each(F&& f) { (f.template operator()<Op>(), ...); }
};

}  // namespace tmemsim
