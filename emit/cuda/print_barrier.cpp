#include <fmt/format.h>

#include "emit/cuda/ops.hpp"

namespace tmemsim::emit {

// The forms without .aligned: they count threads, and need no converged warp (PTX ISA 9.7.13.1).
void print(const BarrierSync& op, Cuda& cuda) {
  if (op.count) {
    cuda.line(cuda.call_line("barrier_sync_count", cuda.expr(op.id) + ", " + cuda.expr(*op.count)));
  } else {
    cuda.line(cuda.call_line("barrier_sync", cuda.expr(op.id)));
  }
}

void print(const BarrierArrive& op, Cuda& cuda) {
  cuda.line(cuda.call_line("barrier_arrive", cuda.expr(op.id) + ", " + cuda.expr(op.count)));
}

void print(const WarpSync& op, Cuda& cuda) {
  if (op.mask) {
    cuda.line(fmt::format("__syncwarp({});", cuda.expr(*op.mask)));
  } else {
    cuda.need_whole_warp(op.row.name);
    cuda.line("__syncwarp();");
    cuda.lanes_are_together();
  }
}

void print(const ElectSync& op, Cuda& cuda) {
  if (!op.mask) cuda.need_whole_warp(op.row.name);
  const std::string mask = op.mask ? cuda.expr(*op.mask) : "0xffffffffu";
  cuda.line(fmt::format("{} = {};", cuda.reg(op.dst.buffer, op.dst.rows.at(0)), cuda.call("elect_one", mask)));
}

}  // namespace tmemsim::emit
