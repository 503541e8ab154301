// tcgen05.mma, .cp, .shift, .commit: issued by one thread, complete through a commit. PTX ISA 9.7.16.9, 9.7.16.10, 9.7.16.12.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

enum class MmaKind : std::uint8_t { f16, tf32, i8 };
template <> struct Keywords<MmaKind> {
  static constexpr std::array<std::string_view, 3> names{"f16", "tf32", "i8"};
};
enum class CpShape : std::uint8_t { s128x256b, s128x128b, s4x256b, s64x128b, s32x128b };
template <> struct Keywords<CpShape> {
  static constexpr std::array<std::string_view, 5> names{"128x256b", "128x128b", "4x256b", "64x128b", "32x128b"};
};
enum class CpMulticast : std::uint8_t { none, warpx2_02_13, warpx2_01_23, warpx4 };
template <> struct Keywords<CpMulticast> {
  static constexpr std::array<std::string_view, 4> names{"none", "warpx2::02_13", "warpx2::01_23", "warpx4"};
};
// Which operands are read transposed: written [a], [b] or [a, b].
struct Transpose {
  bool a = false, b = false;
  bool operator==(const Transpose&) const = default;
};

// D = A * B (+ D). A [M, K] in shared memory or TMEM, B [N, K] in shared memory, D [M, N] in TMEM; in a pair each CTA's buffers
// hold its half of M (A, D) and of N (B). Element types and majorness come from the buffers.
struct TcgenMma {
  MmaKind kind = MmaKind::f16;
  Region d, a, b;
  Expr accumulate{1};                     // 0: D = A * B
  Transpose transpose;
  std::vector<Expr> lanes_off;            // none, 4 words, or 8 in a pair: bit set = lane of D not written
  std::uint8_t cta_group = 1;
  bool operator==(const TcgenMma&) const = default;
  static constexpr Row row{"tcgen05.mma", Who::thread, Async::mma, Choice::none, Needs::tcgen05, "9.7.16.10.9",
                           "The tensor core multiplies A and B into D; complete when a later commit of the thread arrives."};
  static constexpr auto fields = std::tuple{Field{"kind", &TcgenMma::kind, Use::modifier}, Field{"d", &TcgenMma::d, Use::update},
                                            Field{"a", &TcgenMma::a, Use::read}, Field{"b", &TcgenMma::b, Use::read},
                                            Field{"accumulate", &TcgenMma::accumulate, Use::value, true},
                                            Field{"transpose", &TcgenMma::transpose, Use::modifier, true},
                                            Field{"lanes_off", &TcgenMma::lanes_off, Use::value, true},
                                            Field{"cta_group", &TcgenMma::cta_group, Use::modifier, true}};
};

struct TcgenCp {
  CpShape shape = CpShape::s128x256b;
  CpMulticast multicast = CpMulticast::none;
  TmemAddr dst;
  Region src;                             // shared, 16-byte units
  std::uint8_t cta_group = 1;
  bool operator==(const TcgenCp&) const = default;
  static constexpr Row row{"tcgen05.cp", Who::thread, Async::cp, Choice::none, Needs::tcgen05, "9.7.16.9.1",
                           "Copies rows of shared memory into lanes of TMEM; complete when a later commit of the thread arrives."};
  static constexpr auto fields = std::tuple{Field{"shape", &TcgenCp::shape, Use::modifier}, Field{"multicast", &TcgenCp::multicast, Use::modifier, true},
                                            Field{"dst", &TcgenCp::dst, Use::write}, Field{"src", &TcgenCp::src, Use::read},
                                            Field{"cta_group", &TcgenCp::cta_group, Use::modifier, true}};
};

struct TcgenShift {
  TmemAddr addr;                          // lane a multiple of 32
  std::uint8_t cta_group = 1;
  bool operator==(const TcgenShift&) const = default;
  static constexpr Row row{"tcgen05.shift", Who::thread, Async::shift, Choice::none, Needs::tcgen05_shift, "9.7.16.9.2",
                           "Moves 8 columns down by one lane inside every quadrant; the last lane of each keeps its value."};
  static constexpr auto fields = std::tuple{Field{"addr", &TcgenShift::addr, Use::update}, Field{"cta_group", &TcgenShift::cta_group, Use::modifier, true}};
};

struct TcgenCommit {
  Mem bar;
  std::optional<Expr> mask;               // multicast: bit r = the CTA of rank r
  std::optional<Expr> rank;               // without a mask: that CTA's barrier
  std::uint8_t cta_group = 1;
  bool operator==(const TcgenCommit&) const = default;
  static constexpr Row row{"tcgen05.commit", Who::thread, Async::none, Choice::none, Needs::tcgen05, "9.7.16.12.1",
                           "Arrives on the barrier once all earlier mma, cp and shift of the thread are complete.", false};
  static constexpr auto fields = std::tuple{Field{"bar", &TcgenCommit::bar, Use::update}, Field{"mask", &TcgenCommit::mask, Use::value},
                                            Field{"rank", &TcgenCommit::rank, Use::value}, Field{"cta_group", &TcgenCommit::cta_group, Use::modifier, true}};
};

}  // namespace tmemsim
