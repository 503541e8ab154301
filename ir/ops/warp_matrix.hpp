// Matrices of one warp: ldmatrix, stmatrix, mma.sync. PTX ISA 9.7.14.5.
//
// Who holds what is said by the rows of the atom tables (ir/atom): ldmatrix.m8n8.x4.b16, mma.sync.m16n8k16.f16, ...
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

enum class MmaShape : std::uint8_t { m16n8k4, m16n8k8, m16n8k16, m16n8k32 };
template <> struct Keywords<MmaShape> {
  static constexpr std::array<std::string_view, 4> names{"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"};
};
enum class MmaInput : std::uint8_t { f16, bf16, tf32, s8, u8 };
template <> struct Keywords<MmaInput> {
  static constexpr std::array<std::string_view, 5> names{"f16", "bf16", "tf32", "s8", "u8"};
};
enum class MmaResult : std::uint8_t { f32, f16, s32 };
template <> struct Keywords<MmaResult> {
  static constexpr std::array<std::string_view, 3> names{"f32", "f16", "s32"};
};

// Loads `num` matrices of 8 rows of 16 bytes. Lane 8 * j + i gives the address of row i of matrix j; the lanes from 8 * num on
// give none. Register j of every lane receives its part of matrix j.
struct LdMatrix {
  std::uint8_t num = 1;                   // 1, 2 or 4
  bool trans = false;
  Rows dst;
  Mem src;
  bool operator==(const LdMatrix&) const = default;
  static constexpr Row row{"ldmatrix", Who::warp_aligned, Async::none, Choice::none, Needs::nothing, "9.7.14.5.15",
                           "A warp loads 8x8 matrices of 16-bit elements from rows of shared memory into fragments."};
  static constexpr auto fields = std::tuple{Field{"num", &LdMatrix::num, Use::modifier}, Field{"trans", &LdMatrix::trans, Use::modifier, true},
                                            Field{"dst", &LdMatrix::dst, Use::write}, Field{"src", &LdMatrix::src, Use::read}};
};

struct StMatrix {
  std::uint8_t num = 1;
  bool trans = false;
  Mem dst;
  Rows src;
  bool operator==(const StMatrix&) const = default;
  static constexpr Row row{"stmatrix", Who::warp_aligned, Async::none, Choice::none, Needs::sm_90, "9.7.14.5.16",
                           "A warp stores fragments as 8x8 matrices of 16-bit elements into rows of shared memory."};
  static constexpr auto fields = std::tuple{Field{"num", &StMatrix::num, Use::modifier}, Field{"trans", &StMatrix::trans, Use::modifier, true},
                                            Field{"dst", &StMatrix::dst, Use::write}, Field{"src", &StMatrix::src, Use::read}};
};

// D = A * B + C on fragments: A row-major [16, K], B column-major [K, 8], that is [8, K] here, C and D [16, 8].
struct MmaSync {
  MmaShape shape = MmaShape::m16n8k16;
  MmaInput type = MmaInput::f16;
  std::optional<MmaResult> acc;           // of C and D; absent: f32, or s32 of integers
  Rows d, a, b, c;
  bool operator==(const MmaSync&) const = default;
  static constexpr Row row{"mma.sync", Who::warp_aligned, Async::none, Choice::none, Needs::sm_80, "9.7.14.5.14",
                           "A warp multiplies fragments: D = A * B + C, all in registers."};
  static constexpr auto fields = std::tuple{Field{"shape", &MmaSync::shape, Use::modifier}, Field{"type", &MmaSync::type, Use::modifier},
                                            Field{"acc", &MmaSync::acc, Use::modifier}, Field{"d", &MmaSync::d, Use::write},
                                            Field{"a", &MmaSync::a, Use::read}, Field{"b", &MmaSync::b, Use::read},
                                            Field{"c", &MmaSync::c, Use::read}};
};

}  // namespace tmemsim
