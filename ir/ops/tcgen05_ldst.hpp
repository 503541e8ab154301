// tcgen05.ld, .st, .wait::ld, .wait::st, .fence: registers <-> TMEM, and its order. PTX ISA 9.7.16.8.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

struct TcgenLd {
  Shape shape = Shape::s32x32b;
  std::uint8_t num = 1;                // power of two; limits by shape in ir/tcgen05.hpp
  bool pack = false;                   // .pack::16b
  std::optional<std::int32_t> half;    // immHalfSplitoff: 16x32bx2 only, required there
  Rows dst;
  TmemAddr src;
  bool operator==(const TcgenLd&) const = default;
  static constexpr Row row{"tcgen05.ld", Who::warp_aligned, Async::ld, Choice::none, Needs::tcgen05, "9.7.16.8.2",
                           "A warp loads TMEM cells of its quadrant; the registers are valid after wait::ld."};
  static constexpr auto fields = std::tuple{Field{"shape", &TcgenLd::shape, Use::modifier}, Field{"num", &TcgenLd::num, Use::modifier},
                                            Field{"pack", &TcgenLd::pack, Use::modifier, true}, Field{"half", &TcgenLd::half, Use::modifier},
                                            Field{"dst", &TcgenLd::dst, Use::write}, Field{"src", &TcgenLd::src, Use::read}};
};

struct TcgenSt {
  Shape shape = Shape::s32x32b;
  std::uint8_t num = 1;
  bool unpack = false;                 // .unpack::16b
  std::optional<std::int32_t> half;
  TmemAddr dst;
  Rows src;
  bool operator==(const TcgenSt&) const = default;
  static constexpr Row row{"tcgen05.st", Who::warp_aligned, Async::st, Choice::none, Needs::tcgen05, "9.7.16.8.3",
                           "A warp stores registers to TMEM cells of its quadrant; they are written after wait::st."};
  static constexpr auto fields = std::tuple{Field{"shape", &TcgenSt::shape, Use::modifier}, Field{"num", &TcgenSt::num, Use::modifier},
                                            Field{"unpack", &TcgenSt::unpack, Use::modifier, true}, Field{"half", &TcgenSt::half, Use::modifier},
                                            Field{"dst", &TcgenSt::dst, Use::write}, Field{"src", &TcgenSt::src, Use::read}};
};

struct TcgenWaitLd {
  bool operator==(const TcgenWaitLd&) const = default;
  static constexpr Row row{"tcgen05.wait::ld", Who::warp_aligned, Async::none, Choice::none, Needs::tcgen05, "9.7.16.8.4",
                           "Waits until all earlier tcgen05.ld of the warp are complete.", false};
  static constexpr auto fields = std::tuple{};
};

struct TcgenWaitSt {
  bool operator==(const TcgenWaitSt&) const = default;
  static constexpr Row row{"tcgen05.wait::st", Who::warp_aligned, Async::none, Choice::none, Needs::tcgen05, "9.7.16.8.4",
                           "Waits until all earlier tcgen05.st of the warp are complete.", false};
  static constexpr auto fields = std::tuple{};
};

struct TcgenFenceBefore {
  bool operator==(const TcgenFenceBefore&) const = default;
  static constexpr Row row{"tcgen05.fence::before_thread_sync", Who::thread, Async::none, Choice::none, Needs::tcgen05, "9.7.16.11",
                           "Orders earlier tcgen05 operations before the synchronisation that follows; waits for nothing.", false};
  static constexpr auto fields = std::tuple{};
};

struct TcgenFenceAfter {
  bool operator==(const TcgenFenceAfter&) const = default;
  static constexpr Row row{"tcgen05.fence::after_thread_sync", Who::thread, Async::none, Choice::none, Needs::tcgen05, "9.7.16.11",
                           "Orders later tcgen05 operations after the synchronisation that stands before; waits for nothing.", false};
  static constexpr auto fields = std::tuple{};
};

}  // namespace tmemsim
