// Tile primitives: what the author writes and lowering replaces.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

struct Copy {
  Region dst, src;
  std::optional<std::string> variant;  // forces a lowering by name
  bool operator==(const Copy&) const = default;
  static constexpr TileRow row{"copy", "dst = src, element by element, complete when the statement is."};
  static constexpr auto fields = std::tuple{Field{"dst", &Copy::dst, Use::write}, Field{"src", &Copy::src, Use::read},
                                            Field{"variant", &Copy::variant, Use::modifier}};
};

struct CopyAsync {
  Region dst, src;
  std::optional<std::string> variant;
  bool operator==(const CopyAsync&) const = default;
  static constexpr TileRow row{"copy_async", "dst = src, element by element, complete after the wait that the author writes."};
  static constexpr auto fields = std::tuple{Field{"dst", &CopyAsync::dst, Use::write}, Field{"src", &CopyAsync::src, Use::read},
                                            Field{"variant", &CopyAsync::variant, Use::modifier}};
};

struct Fill {
  Region dst;
  Number src;
  std::optional<std::string> variant;
  bool operator==(const Fill&) const = default;
  static constexpr TileRow row{"fill", "Every element of dst becomes the value."};
  static constexpr auto fields = std::tuple{Field{"dst", &Fill::dst, Use::write}, Field{"src", &Fill::src, Use::value},
                                            Field{"variant", &Fill::variant, Use::modifier}};
};

// D = A * B' (+ D): A [M, K], B [N, K], D [M, N]. Sums are in f32, or in s32 of integers, in the order of k.
struct Gemm {
  Region dst, a, b;
  Expr accumulate{1};                  // 0: D = A * B'
  std::optional<std::string> variant;
  bool operator==(const Gemm&) const = default;
  static constexpr TileRow row{"gemm", "d = a times the transpose of b, added to d unless accumulate is 0; complete when the statement is."};
  static constexpr auto fields = std::tuple{Field{"d", &Gemm::dst, Use::update}, Field{"a", &Gemm::a, Use::read}, Field{"b", &Gemm::b, Use::read},
                                            Field{"accumulate", &Gemm::accumulate, Use::value, true}, Field{"variant", &Gemm::variant, Use::modifier}};
};

}  // namespace tmemsim
