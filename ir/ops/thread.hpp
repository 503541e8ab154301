// What one thread does by itself: loads and stores of shared and global memory, moves and arithmetic on registers.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

// Loads `bytes` bytes. 8 and 16 fill 2 and 4 registers. 1 and 2 zero-extend into one register, or, with `reg_byte`, replace
// only the bytes [reg_byte, reg_byte + bytes) of it and keep the others.
struct Load {
  Rows dst;
  Mem src;
  std::uint8_t bytes = 4;                 // 1, 2, 4, 8 or 16; the address is a multiple of it
  std::optional<std::uint8_t> reg_byte;   // 0..3, a multiple of `bytes`
  Sem sem = Sem::weak;
  MemScope scope = MemScope::cta;
  std::optional<Expr> rank;               // shared memory of that CTA of the cluster
  bool operator==(const Load&) const = default;
  static constexpr Row row{"ld", Who::thread, Async::none, Choice::none, Needs::nothing, "9.7.9.8", "Loads registers from shared or global memory."};
  static constexpr auto fields = std::tuple{Field{"dst", &Load::dst, Use::write}, Field{"src", &Load::src, Use::read},
                                            Field{"bytes", &Load::bytes, Use::modifier}, Field{"reg_byte", &Load::reg_byte, Use::modifier},
                                            Field{"sem", &Load::sem, Use::modifier, true}, Field{"scope", &Load::scope, Use::modifier, true},
                                            Field{"rank", &Load::rank, Use::value}};
};

// Stores `bytes` bytes: the low ones of the register, or those from `reg_byte` on.
struct Store {
  Mem dst;
  Rows src;
  std::uint8_t bytes = 4;
  std::optional<std::uint8_t> reg_byte;
  Sem sem = Sem::weak;
  MemScope scope = MemScope::cta;
  std::optional<Expr> rank;
  bool operator==(const Store&) const = default;
  static constexpr Row row{"st", Who::thread, Async::none, Choice::none, Needs::nothing, "9.7.9.11", "Stores registers to shared or global memory."};
  static constexpr auto fields = std::tuple{Field{"dst", &Store::dst, Use::write}, Field{"src", &Store::src, Use::read},
                                            Field{"bytes", &Store::bytes, Use::modifier}, Field{"reg_byte", &Store::reg_byte, Use::modifier},
                                            Field{"sem", &Store::sem, Use::modifier, true}, Field{"scope", &Store::scope, Use::modifier, true},
                                            Field{"rank", &Store::rank, Use::value}};
};

// Register arithmetic works row by row: dst[i] = a[i] op b[i]; an expression or a single row stands for every i.
struct Move {
  Rows dst;
  Value a;
  bool operator==(const Move&) const = default;
  static constexpr Row row{"mov", Who::thread, Async::none, Choice::none, Needs::nothing, "9.7.9.3", "Sets registers."};
  static constexpr auto fields = std::tuple{Field{"dst", &Move::dst, Use::write}, Field{"a", &Move::a, Use::read}};
};

struct AddS32 {
  Rows dst;
  Value a, b;
  bool operator==(const AddS32&) const = default;
  static constexpr Row row{"add.s32", Who::thread, Async::none, Choice::none, Needs::nothing, "9.7.1.1", "Adds 32-bit integers; wraps."};
  static constexpr auto fields = std::tuple{Field{"dst", &AddS32::dst, Use::write}, Field{"a", &AddS32::a, Use::read}, Field{"b", &AddS32::b, Use::read}};
};

struct AddF32 {
  Rows dst;
  Value a, b;                             // an expression is an integer converted to f32
  bool operator==(const AddF32&) const = default;
  static constexpr Row row{"add.f32", Who::thread, Async::none, Choice::none, Needs::nothing, "9.7.3.5", "Adds f32 values, rounding to nearest even."};
  static constexpr auto fields = std::tuple{Field{"dst", &AddF32::dst, Use::write}, Field{"a", &AddF32::a, Use::read}, Field{"b", &AddF32::b, Use::read}};
};

// Written setp.lt in scenarios: the comparison is part of the name. dst becomes 1 or 0.
struct SetPredicate {
  Compare cmp = Compare::eq;
  AluType type = AluType::s32;
  Rows dst;
  Value a, b;
  bool operator==(const SetPredicate&) const = default;
  static constexpr Row row{"setp", Who::thread, Async::none, Choice::none, Needs::nothing, "9.7.6.2", "Compares registers; the result is 1 or 0."};
  static constexpr auto fields = std::tuple{Field{"cmp", &SetPredicate::cmp, Use::modifier}, Field{"type", &SetPredicate::type, Use::modifier, true},
                                            Field{"dst", &SetPredicate::dst, Use::write}, Field{"a", &SetPredicate::a, Use::read},
                                            Field{"b", &SetPredicate::b, Use::read}};
};

}  // namespace tmemsim
