// Cluster barrier, mapa, proxy fences. PTX ISA 9.7.13 and 9.7.9.
#include "ir/ops/cluster.hpp"

#include <fmt/format.h>

#include <bit>

#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

// All threads of the cluster that have not exited have arrived.
bool is_complete(const Machine& machine, std::uint32_t cluster) {
  const ClusterBarrier& barrier = machine.clusters[cluster];
  bool anybody = false;
  for (const Cta& cta : machine.ctas) {
    if (cta.cluster != cluster) continue;
    for (const WarpState& warp : cta.warps) {
      const std::uint32_t here = warp.cluster_use == barrier.uses ? warp.cluster_arrived : 0;
      anybody = anybody || here != 0;
      if ((warp.live & ~here) != 0) return false;
    }
  }
  return anybody;
}

SyncPoint key_of(std::uint32_t cluster) { return {BarrierState::Kind::cluster, cluster, 0}; }

void complete(Machine& machine, std::uint32_t cluster) {
  ClusterBarrier& barrier = machine.clusters[cluster];
  ++barrier.uses;
  barrier.completed_by = barrier.last_record;
  barrier.completed = std::move(barrier.arriving);
  barrier.completed_relaxed = std::move(barrier.arriving_relaxed);
  barrier.arriving = {};
  barrier.arriving_relaxed = {};
  if (machine.tracer) machine.tracer->complete_phase(key_of(cluster));
  machine.wake_cluster_waits(cluster);
}

}  // namespace

Ran execute(const ClusterArrive& op, Warp& warp) {
  ClusterBarrier& barrier = warp.machine.clusters[warp.cta.cluster];
  const std::uint32_t again = warp.state.cluster_arrived & warp.lanes;
  Access access = warp.describe();
  access.collective = true;
  const std::uint32_t record = warp.machine.accesses.add(access);
  if (again != 0) {
    warp.report(warp.candidate(Verdict::participation, "a thread arrives at the cluster barrier a second time before it has waited", barrier.last_record));
    return Ran::finished();
  }
  // Determinate only if whoever arrives knows that the use before this one is complete.
  const Views arriving = warp.released(warp.lanes);
  if (!arriving.any.covers(barrier.completed.any) || !arriving.any.covers(barrier.completed_relaxed.any)) warp.machine.note_unordered(record, barrier.completed_by);
  barrier.last_record = record;
  if (warp.machine.tracer) warp.machine.tracer->arrive(key_of(warp.cta.cluster));
  warp.state.cluster_arrived |= warp.lanes;
  warp.state.cluster_use = barrier.uses;
  (op.sem == Sem::relaxed ? barrier.arriving_relaxed : barrier.arriving).join_released(arriving);
  if (is_complete(warp.machine, warp.cta.cluster)) complete(warp.machine, warp.cta.cluster);
  return Ran::finished();
}

Ran execute(const ClusterWait&, Warp& warp) {
  const ClusterBarrier& barrier = warp.machine.clusters[warp.cta.cluster];
  const bool arrived = (warp.lanes & ~warp.state.cluster_arrived) == 0;
  if (!arrived || warp.state.cluster_use == barrier.uses) {
    return Ran::blocked(LaneGroup::State::cluster, 0, warp.record(no_buffer));
  }
  warp.state.cluster_arrived &= ~warp.lanes;
  if (warp.machine.tracer) warp.machine.tracer->see(key_of(warp.cta.cluster));
  warp.acquire(warp.lanes, barrier.completed, Edge::barrier);
  warp.acquire(warp.lanes, barrier.completed_relaxed, Edge::relaxed);
  return Ran::finished();
}

void cluster_after_exit(Machine& machine, Cta& cta) {
  if (is_complete(machine, cta.cluster)) complete(machine, cta.cluster);
}

Ran execute(const FenceProxyAsync& op, Warp& warp) {
  const auto place = [&]() -> std::uint32_t {
    switch (op.space) {
      case ProxySpace::all: return ProxyPlace::everywhere;
      case ProxySpace::global: return ProxyPlace::global;
      case ProxySpace::shared_cluster: return ProxyPlace::shared;
      case ProxySpace::shared_cta: return ProxyPlace::of_cta + warp.state.cta;
    }
    return ProxyPlace::everywhere;
  }();
  warp.change_views(warp.lanes, [&](Views& views) { views.async.fence(place, views.generic, warp.number); });
  return Ran::finished();
}

Ran execute(const FenceMbarrierInit&, Warp& warp) {
  for (auto& [offset, barrier] : warp.cta.mbarriers) {
    if (!barrier.valid) continue;
    const Access& init = warp.machine.accesses[barrier.init_record];
    if (init.cta == warp.state.cta && init.warp == warp.state.warp && (init.lanes & warp.lanes) != 0) barrier.init_fenced = true;
  }
  return Ran::finished();
}

Ran execute(const Mapa& op, Warp& warp) {
  const MemPlan& mem = warp.plan(op.src);
  const ByteSpan span = warp.locate(mem, 1);
  const LaneValues ranks = warp.evaluate(op.rank);
  const std::uint32_t row = warp.plan(op.dst).rows.front();
  const std::uint32_t size = cluster_size(warp.machine.kernel.launch);
  std::uint32_t wrong = 0;
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    if ((warp.lanes >> lane & 1u) && static_cast<std::uint32_t>(ranks.value[lane]) >= size) wrong |= 1u << lane;
  warp.write_row(row, warp.lanes, 0, ranks.bad | wrong | (warp.lanes & ~span.lanes));
  for (std::uint32_t lanes = warp.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const auto rank = static_cast<std::uint32_t>(ranks.value[lane]);
    warp.state.registers.row(row)[lane] = rank << 24 | static_cast<std::uint32_t>(span.first[lane]);
  }
  if ((wrong & ~ranks.bad) != 0) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(wrong & ~ranks.bad));
    warp.report(warp.candidate(Verdict::out_of_bounds, fmt::format("rank {} names no CTA of a cluster of {}", ranks.value[lane], size)));
  }
  return Ran::finished();
}

}  // namespace tmemsim::sim
