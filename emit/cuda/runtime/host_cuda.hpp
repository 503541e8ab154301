// The part of CUDA that an emitted program uses, on the CPU: every CUDA thread is a thread of the host, barriers make them
// meet, shared memory is an array of each CTA. For tests and for looking at a program where there is no GPU; slow, and no
// model of a GPU's memory order (all accesses are sequentially consistent).
//
// This text is put into programs that are emitted for the host, in place of <cuda_runtime.h>.
#pragma once

#include <array>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

inline thread_local dim3 threadIdx, blockIdx, gridDim;

namespace host {

[[noreturn]] inline void fault(const char* what) {
  std::fflush(stdout);
  std::fprintf(stderr, "CUDA error: kernel: %s\n", what);
  std::_Exit(3);
}

// Threads meet: a phase is complete when as many have arrived as it expects.
class Meeting {
 public:
  void arrive(unsigned expected) {
    const std::lock_guard<std::mutex> lock(mutex_);
    count(expected);
  }
  void arrive_and_wait(unsigned expected) {
    std::unique_lock<std::mutex> lock(mutex_);
    const uint64_t phase = phase_;
    count(expected);
    changed_.wait(lock, [&] { return phase_ != phase; });
  }

 private:
  void count(unsigned expected) {
    if (++arrived_ < expected) return;
    arrived_ = 0;
    ++phase_;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned arrived_ = 0;
  uint64_t phase_ = 0;
};

struct Warp {
  std::mutex mutex;
  std::map<uint32_t, Meeting> meetings;  // by mask
  uint32_t shown[32][16] = {};           // registers that the lanes show each other, between two meetings
  Meeting& meeting(uint32_t mask) {
    const std::lock_guard<std::mutex> lock(mutex);
    return meetings[mask];
  }
};

struct Cluster;

struct Cta {
  Cluster* cluster = nullptr;
  unsigned rank = 0, threads = 0;
  std::vector<uint32_t> shared;  // words, so that it is aligned
  std::array<Meeting, 16> barriers;
  std::vector<Warp> warps;
  Cta(unsigned thread_count, size_t shared_bytes)
      : threads(thread_count), shared((shared_bytes + 3) / 4 + 4, 0xbdbdbdbdu), warps(thread_count / 32) {}
};

// The barrier of a cluster: a phase is complete when every thread that has not exited has arrived.
class ClusterBarrier {
 public:
  void enter(unsigned threads) { live_ += threads; }
  void arrive() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (arrived) fault("a thread arrives at the cluster barrier twice");
    arrived = true;
    awaited = phase_;
    ++arrived_;
    complete_if_due();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!arrived) fault("a thread waits at the cluster barrier before it has arrived");
    changed_.wait(lock, [&] { return phase_ != awaited; });
    arrived = false;
  }
  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --live_;
    if (arrived && awaited == phase_) --arrived_;
    complete_if_due();
  }

 private:
  void complete_if_due() {
    if (arrived_ == 0 || arrived_ < live_) return;
    arrived_ = 0;
    ++phase_;
    changed_.notify_all();
  }
  static inline thread_local bool arrived = false;  // and has not waited
  static inline thread_local uint64_t awaited = 0;  // the phase
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned live_ = 0, arrived_ = 0;
  uint64_t phase_ = 0;
};

struct Cluster {
  std::vector<std::unique_ptr<Cta>> ctas;
  size_t shared_bytes = 0;
  ClusterBarrier barrier;
};

inline thread_local Cta* cta = nullptr;

inline Warp& warp() { return cta->warps[threadIdx.x / 32]; }
inline unsigned lane() { return threadIdx.x % 32; }

inline void warp_sync(uint32_t mask) {
  if ((mask >> lane() & 1) == 0) fault("a thread meets its warp under a mask that leaves it out");
  warp().meeting(mask).arrive_and_wait(unsigned(__builtin_popcount(mask)));
}

inline uint32_t elect(uint32_t mask) {
  warp_sync(mask);
  return lane() == unsigned(__builtin_ctz(mask));
}

inline Meeting& barrier(int id) {
  if (id < 0 || id > 15) fault("there are barriers 0 to 15");
  return cta->barriers[size_t(id)];
}

// A shared address is rank << 24 | offset.
inline uint8_t* shared(uint32_t address, size_t bytes) {
  const uint32_t rank = address >> 24, offset = address & 0xffffffu;
  if (rank >= cta->cluster->ctas.size()) fault("a shared address of a CTA that is not in the cluster");
  if (offset + bytes > cta->cluster->shared_bytes) fault("an access beyond the shared memory of the CTA");
  return reinterpret_cast<uint8_t*>(cta->cluster->ctas[rank]->shared.data()) + offset;
}

template <class T>
T load(const uint8_t* address, size_t access_bytes) {
  if (reinterpret_cast<uintptr_t>(address) % access_bytes != 0) fault("misaligned address");
  return __atomic_load_n(reinterpret_cast<const T*>(address), __ATOMIC_SEQ_CST);
}

template <class T>
void store(uint8_t* address, size_t access_bytes, T value) {
  if (reinterpret_cast<uintptr_t>(address) % access_bytes != 0) fault("misaligned address");
  __atomic_store_n(reinterpret_cast<T*>(address), value, __ATOMIC_SEQ_CST);
}

}  // namespace host

inline void __syncthreads() { host::barrier(0).arrive_and_wait(host::cta->threads); }
inline void __syncwarp(uint32_t mask = 0xffffffffu) { host::warp_sync(mask); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) { std::this_thread::yield(); }
[[noreturn]] inline void __trap() { host::fault("trap"); }
inline uint32_t __activemask() { host::fault("which lanes are active is known on a GPU only"); }
inline int __ffs(uint32_t mask) { return __builtin_ffs(int(mask)); }
inline uint32_t __float_as_uint(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float __uint_as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __int2float_rn(int value) { return float(value); }
inline uint32_t atomicCAS(uint32_t* word, uint32_t expected, uint32_t desired) {
  __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
inline uint32_t atomicExch(uint32_t* word, uint32_t value) { return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST); }

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributeNonPortableClusterSizeAllowed };
enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id = cudaLaunchAttributeClusterDimension;
  struct {
    struct {
      unsigned x, y, z;
    } clusterDim;
  } val = {{1, 1, 1}};
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes = 0;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

inline const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "out of memory"; }
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  *pointer = static_cast<T*>(std::aligned_alloc(1024, (bytes + 1023) / 1024 * 1024));
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
inline cudaError_t cudaFree(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int byte, size_t bytes) {
  std::memset(to, byte, bytes);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const T* value, size_t bytes) {
  std::memcpy(&symbol, value, bytes);
  return cudaSuccess;
}
template <class Function>
cudaError_t cudaFuncSetAttribute(Function*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

namespace host {

inline dim3 index_in(dim3 extent, unsigned number) {
  return {number % extent.x, number / extent.x % extent.y, number / (extent.x * extent.y)};
}

}  // namespace host

// Runs the whole grid at once: CTAs may wait for each other.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Arguments... arguments) {
  const dim3 grid = config->gridDim;
  dim3 cluster_extent;
  if (config->numAttrs > 0) {
    const auto& extent = config->attrs[0].val.clusterDim;
    cluster_extent = {extent.x, extent.y, extent.z};
  }
  const unsigned cluster_size = cluster_extent.x * cluster_extent.y * cluster_extent.z;
  const unsigned threads = config->blockDim.x;
  const dim3 clusters{grid.x / cluster_extent.x, grid.y / cluster_extent.y, grid.z / cluster_extent.z};
  std::vector<std::unique_ptr<host::Cluster>> all;
  std::vector<std::thread> running;
  for (unsigned c = 0; c < clusters.x * clusters.y * clusters.z; ++c) {
    all.push_back(std::make_unique<host::Cluster>());
    host::Cluster& cluster = *all.back();
    cluster.shared_bytes = config->dynamicSmemBytes;
    cluster.barrier.enter(cluster_size * threads);
    for (unsigned rank = 0; rank < cluster_size; ++rank) {
      cluster.ctas.push_back(std::make_unique<host::Cta>(threads, cluster.shared_bytes));
      cluster.ctas.back()->cluster = &cluster;
      cluster.ctas.back()->rank = rank;
    }
  }
  for (unsigned c = 0; c < all.size(); ++c) {
    const dim3 first = host::index_in(clusters, c);
    for (unsigned rank = 0; rank < cluster_size; ++rank) {
      const dim3 inside = host::index_in(cluster_extent, rank);
      const dim3 block{first.x * cluster_extent.x + inside.x, first.y * cluster_extent.y + inside.y,
                       first.z * cluster_extent.z + inside.z};
      host::Cta* cta = all[c]->ctas[rank].get();
      for (unsigned thread = 0; thread < threads; ++thread) {
        running.emplace_back([=] {
          threadIdx = {thread, 0, 0};
          blockIdx = block;
          gridDim = grid;
          host::cta = cta;
          kernel(arguments...);
          cta->cluster->barrier.leave();
        });
      }
    }
  }
  for (std::thread& thread : running) thread.join();
  return cudaSuccess;
}
