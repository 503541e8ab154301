// The executors, family by family. Whoever adds an operation declares its overload here and defines it in its family's file.
#pragma once

#include "ir/ops/barrier.hpp"
#include "ir/ops/bulk.hpp"
#include "ir/ops/cluster.hpp"
#include "ir/ops/mbarrier.hpp"
#include "ir/ops/tcgen05_alloc.hpp"
#include "ir/ops/tcgen05_ldst.hpp"
#include "ir/ops/tcgen05_mma.hpp"
#include "ir/ops/thread.hpp"
#include "ir/ops/warp_matrix.hpp"
#include "sim/exec/exec.hpp"

namespace tmemsim::sim {

// thread.cpp
Ran execute(const Load& op, Warp& warp);
Ran execute(const Store& op, Warp& warp);
Ran execute(const Move& op, Warp& warp);
Ran execute(const AddS32& op, Warp& warp);
Ran execute(const AddF32& op, Warp& warp);
Ran execute(const SetPredicate& op, Warp& warp);

// barrier.cpp
Ran execute(const BarrierSync& op, Warp& warp);
Ran execute(const BarrierArrive& op, Warp& warp);
Ran execute(const WarpSync& op, Warp& warp);
Ran execute(const ElectSync& op, Warp& warp);

// mbarrier.cpp
Ran execute(const MbarrierInit& op, Warp& warp);
Ran execute(const MbarrierInval& op, Warp& warp);
Ran execute(const MbarrierArrive& op, Warp& warp);
Ran execute(const MbarrierArriveExpectTx& op, Warp& warp);
Ran execute(const MbarrierExpectTx& op, Warp& warp);
Ran execute(const MbarrierTestWait& op, Warp& warp);
Ran execute(const MbarrierTryWait& op, Warp& warp);

// cluster.cpp
Ran execute(const ClusterArrive& op, Warp& warp);
Ran execute(const ClusterWait& op, Warp& warp);
Ran execute(const FenceProxyAsync& op, Warp& warp);
Ran execute(const FenceMbarrierInit& op, Warp& warp);
Ran execute(const Mapa& op, Warp& warp);

// tcgen05_alloc.cpp
Ran execute(const TcgenAlloc& op, Warp& warp);
Ran execute(const TcgenDealloc& op, Warp& warp);
Ran execute(const TcgenRelinquish& op, Warp& warp);

// tcgen05_ldst.cpp
Flight issue(const TcgenLd& op, Warp& warp);
Flight issue(const TcgenSt& op, Warp& warp);
Ran execute(const TcgenWaitLd& op, Warp& warp);
Ran execute(const TcgenWaitSt& op, Warp& warp);
Ran execute(const TcgenFenceBefore& op, Warp& warp);
Ran execute(const TcgenFenceAfter& op, Warp& warp);

// tensor_core.cpp
Flight issue(const TcgenMma& op, Warp& warp);
Flight issue(const TcgenCp& op, Warp& warp);
Flight issue(const TcgenShift& op, Warp& warp);
Ran execute(const TcgenCommit& op, Warp& warp);

// warp_matrix.cpp
Ran execute(const LdMatrix& op, Warp& warp);
Ran execute(const StMatrix& op, Warp& warp);
Ran execute(const MmaSync& op, Warp& warp);

// bulk.cpp
Flight issue(const BulkCopy& op, Warp& warp);
Ran execute(const BulkCommitGroup& op, Warp& warp);
Ran execute(const BulkWaitGroup& op, Warp& warp);

}  // namespace tmemsim::sim
