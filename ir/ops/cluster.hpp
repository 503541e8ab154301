// Clusters and proxies: cluster barrier, mapa, fences between the generic and the asynchronous proxy. PTX ISA 9.7.13, 9.7.9.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

enum class ProxySpace : std::uint8_t { all, shared_cta, shared_cluster, global };
template <> struct Keywords<ProxySpace> {
  static constexpr std::array<std::string_view, 4> names{"all", "shared::cta", "shared::cluster", "global"};
};

struct ClusterArrive {
  Sem sem = Sem::release;                 // release or relaxed
  bool operator==(const ClusterArrive&) const = default;
  static constexpr Row row{"barrier.cluster.arrive", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.13.4",
                           "Arrives at the barrier of the cluster without waiting.", false};
  static constexpr auto fields = std::tuple{Field{"sem", &ClusterArrive::sem, Use::modifier, true}};
};

struct ClusterWait {
  bool operator==(const ClusterWait&) const = default;
  static constexpr Row row{"barrier.cluster.wait", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.13.4",
                           "Waits until every live thread of the cluster has arrived.", false};
  static constexpr auto fields = std::tuple{};
};

struct FenceProxyAsync {
  ProxySpace space = ProxySpace::all;
  bool operator==(const FenceProxyAsync&) const = default;
  static constexpr Row row{"fence.proxy.async", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.13.4",
                           "Orders the generic and the asynchronous accesses of the thread, both ways.", false};
  static constexpr auto fields = std::tuple{Field{"space", &FenceProxyAsync::space, Use::modifier, true}};
};

struct FenceMbarrierInit {
  bool operator==(const FenceMbarrierInit&) const = default;
  static constexpr Row row{"fence.mbarrier_init", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.13.4",
                           "Makes earlier mbarrier.init of the thread visible to the cluster at its next cluster barrier.", false};
  static constexpr auto fields = std::tuple{};
};

struct Mapa {
  Rows dst;                               // one register: the shared::cluster address
  Mem src;                                // shared
  Expr rank;
  bool operator==(const Mapa&) const = default;
  static constexpr Row row{"mapa", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.9.22",
                           "Gives the address of the same shared object in another CTA of the cluster."};
  static constexpr auto fields = std::tuple{Field{"dst", &Mapa::dst, Use::write}, Field{"src", &Mapa::src, Use::address}, Field{"rank", &Mapa::rank, Use::value}};
};

}  // namespace tmemsim
