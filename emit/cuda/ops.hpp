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

// Simulated, without a CUDA form so far.
inline std::string_view why_not(const MbarrierInit&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const MbarrierInval&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const MbarrierArrive&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const MbarrierArriveExpectTx&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const MbarrierExpectTx&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const MbarrierTestWait&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const MbarrierTryWait&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const ClusterArrive&) { return "clusters are not emitted yet"; }
inline std::string_view why_not(const ClusterWait&) { return "clusters are not emitted yet"; }
inline std::string_view why_not(const FenceProxyAsync&) { return "proxy fences are not emitted yet"; }
inline std::string_view why_not(const FenceMbarrierInit&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const Mapa&) { return "clusters are not emitted yet"; }
inline std::string_view why_not(const TcgenMma&) { return "its descriptors are not emitted yet"; }
inline std::string_view why_not(const TcgenCp&) { return "its descriptor is not emitted yet"; }
inline std::string_view why_not(const TcgenShift&) { return "operations of the tensor core are not emitted yet"; }
inline std::string_view why_not(const TcgenCommit&) { return "mbarrier objects are not emitted yet"; }
inline std::string_view why_not(const BulkCopy&) { return "bulk copies are not emitted yet"; }
inline std::string_view why_not(const BulkCommitGroup&) { return "bulk copies are not emitted yet"; }
inline std::string_view why_not(const BulkWaitGroup&) { return "bulk copies are not emitted yet"; }

// dispatch.cpp: the overload of the operation that `op` holds.
void print_operation(const MachineOps::Any& op, Cuda& cuda);

}  // namespace tmemsim::emit
