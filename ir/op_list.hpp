// The two lists of operations: the only places that name them all.
#pragma once

#include "ir/ops/barrier.hpp"
#include "ir/ops/bulk.hpp"
#include "ir/ops/cluster.hpp"
#include "ir/ops/mbarrier.hpp"
#include "ir/ops/tcgen05_alloc.hpp"
#include "ir/ops/tcgen05_ldst.hpp"
#include "ir/ops/tcgen05_mma.hpp"
#include "ir/ops/thread.hpp"
#include "ir/ops/tile.hpp"
#include "ir/ops/warp_matrix.hpp"

namespace tmemsim {

using MachineOps = OpList<TcgenAlloc, TcgenDealloc, TcgenRelinquish, TcgenLd, TcgenSt, TcgenWaitLd, TcgenWaitSt, TcgenFenceBefore,
                          TcgenFenceAfter, BarrierSync, BarrierArrive, WarpSync, ElectSync, Load, Store, Move, AddS32, AddF32,
                          SetPredicate, MbarrierInit, MbarrierInval, MbarrierArrive, MbarrierArriveExpectTx, MbarrierExpectTx,
                          MbarrierTestWait, MbarrierTryWait, ClusterArrive, ClusterWait, FenceProxyAsync, FenceMbarrierInit, Mapa,
                          TcgenMma, TcgenCp, TcgenShift, TcgenCommit, BulkCopy, BulkCommitGroup, BulkWaitGroup, LdMatrix,
                          StMatrix, MmaSync>;
using TileOps = OpList<Copy, CopyAsync, Fill, Gemm>;

static_assert(MachineOps::names_differ() && TileOps::names_differ());

}  // namespace tmemsim
