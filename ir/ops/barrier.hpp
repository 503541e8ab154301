// Named CTA barriers, warp barrier, elect. PTX ISA 9.7.13 (parallel synchronisation).
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

struct BarrierSync {
  Expr id;                        // 0..15
  std::optional<Expr> count;      // threads, multiple of 32; absent: all threads of the CTA
  bool operator==(const BarrierSync&) const = default;
  static constexpr Row row{"barrier.sync", Who::warp, Async::none, Choice::none, Needs::nothing, "9.7.13.1",
                           "Arrives at a named barrier of the CTA and waits until all its threads have arrived.", false};
  static constexpr auto fields = std::tuple{Field{"id", &BarrierSync::id, Use::value, true}, Field{"count", &BarrierSync::count, Use::value}};
};

struct BarrierArrive {
  Expr id;
  Expr count;                     // threads, multiple of 32, not zero
  bool operator==(const BarrierArrive&) const = default;
  static constexpr Row row{"barrier.arrive", Who::warp, Async::none, Choice::none, Needs::nothing, "9.7.13.1",
                           "Arrives at a named barrier of the CTA without waiting.", false};
  static constexpr auto fields = std::tuple{Field{"id", &BarrierArrive::id, Use::value}, Field{"count", &BarrierArrive::count, Use::value}};
};

struct WarpSync {
  std::optional<Expr> mask;       // absent: all 32 lanes
  bool operator==(const WarpSync&) const = default;
  static constexpr Row row{"bar.warp.sync", Who::warp, Async::none, Choice::none, Needs::nothing, "9.7.13.2",
                           "Waits for the lanes of the mask and orders memory among them.", false};
  static constexpr auto fields = std::tuple{Field{"mask", &WarpSync::mask, Use::value}};
};

struct ElectSync {
  Rows dst;                       // one register: 1 in the leader, 0 in the others
  std::optional<Expr> mask;
  bool operator==(const ElectSync&) const = default;
  static constexpr Row row{"elect.sync", Who::warp, Async::none, Choice::leader, Needs::sm_90, "9.7.14.15",
                           "Elects one leader among the lanes of the mask; the same mask elects the same leader."};
  static constexpr auto fields = std::tuple{Field{"dst", &ElectSync::dst, Use::write}, Field{"mask", &ElectSync::mask, Use::value}};
};

}  // namespace tmemsim
