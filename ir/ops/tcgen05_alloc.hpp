// tcgen05.alloc, .dealloc, .relinquish_alloc_permit: the life cycle of TMEM columns. PTX ISA 9.7.16.7.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

struct TcgenAlloc {
  Mem slot;                       // 32-bit word in shared memory that receives the base address
  Expr cols;                      // 32, 64, 128, 256 or 512
  std::uint8_t cta_group = 1;
  bool operator==(const TcgenAlloc&) const = default;
  static constexpr Row row{"tcgen05.alloc", Who::warp_aligned, Async::none, Choice::placement, Needs::tcgen05, "9.7.16.7.1",
                           "One warp asks for columns, waits until they are free, and stores their address to shared memory.", false};
  static constexpr auto fields = std::tuple{Field{"slot", &TcgenAlloc::slot, Use::write}, Field{"cols", &TcgenAlloc::cols, Use::value},
                                            Field{"cta_group", &TcgenAlloc::cta_group, Use::modifier, true}};
};

struct TcgenDealloc {
  std::optional<Mem> slot;        // word that holds the base address; exactly one of slot and addr
  std::optional<Expr> addr;
  Expr cols;
  std::uint8_t cta_group = 1;
  bool operator==(const TcgenDealloc&) const = default;
  static constexpr Row row{"tcgen05.dealloc", Who::warp_aligned, Async::none, Choice::none, Needs::tcgen05, "9.7.16.7.1",
                           "One warp returns an allocation: its base address and exactly its number of columns.", false};
  static constexpr auto fields = std::tuple{Field{"slot", &TcgenDealloc::slot, Use::read}, Field{"addr", &TcgenDealloc::addr, Use::value},
                                            Field{"cols", &TcgenDealloc::cols, Use::value},
                                            Field{"cta_group", &TcgenDealloc::cta_group, Use::modifier, true}};
};

struct TcgenRelinquish {
  std::uint8_t cta_group = 1;
  bool operator==(const TcgenRelinquish&) const = default;
  static constexpr Row row{"tcgen05.relinquish_alloc_permit", Who::warp_aligned, Async::none, Choice::none, Needs::tcgen05, "9.7.16.7.1",
                           "The CTA gives up the right to allocate for the rest of the kernel.", false};
  static constexpr auto fields = std::tuple{Field{"cta_group", &TcgenRelinquish::cta_group, Use::modifier, true}};
};

}  // namespace tmemsim
