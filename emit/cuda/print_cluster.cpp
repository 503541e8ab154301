#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/ops.hpp"

namespace tmemsim::emit {

// The forms without .aligned: every thread arrives by itself (PTX ISA 9.7.13.4).
void print(const ClusterArrive& op, Cuda& cuda) {
  if (op.sem != Sem::release && op.sem != Sem::relaxed) {
    cuda.unsupported(fmt::format("barrier.cluster.arrive.{} does not exist: .release or .relaxed", keyword(op.sem)));
  }
  cuda.use(op.sem == Sem::relaxed ? Needs::cluster_relaxed : Needs::cluster, op.row.name);
  cuda.syncs_cluster();
  cuda.line(cuda.call_line(op.sem == Sem::relaxed ? "cluster_arrive_relaxed" : "cluster_arrive_release"));
}

void print(const ClusterWait&, Cuda& cuda) {
  cuda.syncs_cluster();
  cuda.line(cuda.call_line("cluster_wait"));
  cuda.lanes_may_differ();
}

void print(const FenceProxyAsync& op, Cuda& cuda) {
  std::string function = "fence_proxy_async";
  if (op.space != ProxySpace::all) function += fmt::format("_{}", keyword(op.space));
  const std::size_t colons = function.find("::");
  if (colons != std::string::npos) function.replace(colons, 2, "_");
  cuda.line(cuda.call_line(function));
}

void print(const FenceMbarrierInit&, Cuda& cuda) { cuda.line(cuda.call_line("fence_mbarrier_init")); }

// Shared addresses are counted from the start of the CTA's window, here as in the simulator: on a GPU the window does not begin
// at address 0.
void print(const Mapa& op, Cuda& cuda) {
  const Place peer = cuda.place(op.src, op.rank);
  cuda.functions().need("shared_window");
  cuda.line(fmt::format("{} = {};", cuda.reg(op.dst.buffer, op.dst.rows.at(0)), cuda.call("from_window", peer.text)));
}

}  // namespace tmemsim::emit
