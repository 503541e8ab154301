// How each machine operation is printed: one overload an operation. dispatch.cpp asks for one for every operation of
// MachineOps: a missing overload is a compile error that names the operation.
//
// An operation that has no CUDA form has `std::string_view why_not(const Op&)` instead: the reason that `emit` prints.
#pragma once

#include "emit/cuda/cuda.hpp"
#include "ir/ops/barrier.hpp"
#include "ir/ops/bulk.hpp"
#include "ir/ops/cluster.hpp"
#include "ir/ops/mbarrier.hpp"
#include "ir/ops/tcgen05_alloc.hpp"
#include "ir/ops/tcgen05_ldst.hpp"
#include "ir/ops/tcgen05_mma.hpp"
#include "ir/ops/thread.hpp"
#include "ir/ops/warp_matrix.hpp"

namespace tmemsim::emit {

// print_tcgen05.cpp
void print(const TcgenAlloc& op, Cuda& cuda);
void print(const TcgenDealloc& op, Cuda& cuda);
void print(const TcgenRelinquish& op, Cuda& cuda);
void print(const TcgenLd& op, Cuda& cuda);
void print(const TcgenSt& op, Cuda& cuda);
void print(const TcgenWaitLd& op, Cuda& cuda);
void print(const TcgenWaitSt& op, Cuda& cuda);
void print(const TcgenFenceBefore& op, Cuda& cuda);
void print(const TcgenFenceAfter& op, Cuda& cuda);

// print_barrier.cpp
void print(const BarrierSync& op, Cuda& cuda);
void print(const BarrierArrive& op, Cuda& cuda);
void print(const WarpSync& op, Cuda& cuda);
void print(const ElectSync& op, Cuda& cuda);

// print_thread.cpp
void print(const Load& op, Cuda& cuda);
void print(const Store& op, Cuda& cuda);
void print(const Move& op, Cuda& cuda);
void print(const AddS32& op, Cuda& cuda);
void print(const AddF32& op, Cuda& cuda);
void print(const SetPredicate& op, Cuda& cuda);

// print_warp_matrix.cpp
void print(const LdMatrix& op, Cuda& cuda);
void print(const StMatrix& op, Cuda& cuda);
void print(const MmaSync& op, Cuda& cuda);

// print_mbarrier.cpp
void print(const MbarrierInit& op, Cuda& cuda);
void print(const MbarrierInval& op, Cuda& cuda);
void print(const MbarrierArrive& op, Cuda& cuda);
void print(const MbarrierArriveExpectTx& op, Cuda& cuda);
void print(const MbarrierExpectTx& op, Cuda& cuda);
void print(const MbarrierTestWait& op, Cuda& cuda);
void print(const MbarrierTryWait& op, Cuda& cuda);
void print(const TcgenCommit& op, Cuda& cuda);

// print_cluster.cpp
void print(const ClusterArrive& op, Cuda& cuda);
void print(const ClusterWait& op, Cuda& cuda);
void print(const FenceProxyAsync& op, Cuda& cuda);
void print(const FenceMbarrierInit& op, Cuda& cuda);
void print(const Mapa& op, Cuda& cuda);

// print_bulk.cpp
void print(const BulkCopy& op, Cuda& cuda);
void print(const BulkCommitGroup& op, Cuda& cuda);
void print(const BulkWaitGroup& op, Cuda& cuda);

// Simulated, without a CUDA form.
inline std::string_view why_not(const TcgenMma&) { return "the emitter writes no matrix and instruction descriptors"; }
inline std::string_view why_not(const TcgenCp&) { return "the emitter writes no matrix descriptors"; }
inline std::string_view why_not(const TcgenShift&) { return "the emitter writes no operations of the tensor core"; }

// "tcgen05_alloc_cg1": the function for one CTA or a pair.
std::string cta_group_function(std::string_view name, int cta_group, Cuda& cuda);

// dispatch.cpp: the overload of the operation that `op` holds.
void print_operation(const MachineOps::Any& op, Cuda& cuda);

}  // namespace tmemsim::emit
