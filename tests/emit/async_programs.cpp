// Programs with barrier objects, clusters and bulk copies. Each runs clean in the simulator under every schedule.
#include "tests/emit/samples.hpp"

namespace tmemsim::tests {
namespace {

// Two stages, four rounds: warps 0 to 3 produce, 4 to 7 consume.
const std::string ring = R"(kernel mbarrier_ring
target sm_100a
ptx 9.0
launch warps=8 cluster=[1, 1, 1] grid=[2, 1, 1]
buffer full: shared mbarrier [2]
buffer empty: shared mbarrier [2]
buffer S: shared u32 [2, 128]
buffer B: global u32 [2, 4, 128]
buffer R: local u32 [2]
program {
  for stage in [0, 2, 1] {
    @warp 0 lane 0  mbarrier.init bar=full[stage] count=128
    @warp 0 lane 0  mbarrier.init bar=empty[stage] count=256
  }
  barrier.sync
  for i in [0, 4, 1] {
    @warps 0..3  mbarrier.try_wait bar=empty[i % 2] parity=(i / 2 + 1) % 2
    @warps 0..3  mov dst=R.r[0] a=cta * 1000000 + tid * 1000 + i
    @warps 0..3  st dst=S[i % 2, tid] src=R.r[0] bytes=4
    @warps 0..3  mbarrier.arrive bar=full[i % 2]
    @warps 4..7  mbarrier.test_wait bar=full[i % 2] parity=i / 2 % 2
    @warps 4..7  ld dst=R.r[1] src=S[i % 2, tid - 128] bytes=4
    @warps 4..7  mbarrier.arrive bar=empty[i % 2] count=2
    @warps 4..7  st dst=B[cta, i, tid - 128] src=R.r[1] bytes=4
  }
  barrier.sync
  for stage in [0, 2, 1] {
    @warp 0 lane 0  mbarrier.inval bar=full[stage]
    @warp 0 lane 0  mbarrier.inval bar=empty[stage]
  }
}
)";

// Global to shared and back, in two pieces, with an ordinary reversal in between.
const std::string bulk = R"(kernel bulk_copies
target sm_100a
ptx 9.0
launch warps=2 cluster=[1, 1, 1] grid=[2, 1, 1]
buffer A: global u32 [2, 64] init=iota(5, 3)
buffer B: global u32 [2, 64]
buffer full: shared mbarrier [1]
buffer S: shared u32 [64]
buffer T: shared u32 [2, 32]
buffer R: local u32 [2]
program {
  @warp 0 lane 0  mbarrier.init bar=full[0] count=1
  @warp 0 lane 0  fence.proxy.async space=shared::cta
  barrier.sync
  @warp 0 lane 0  mbarrier.expect_tx bar=full[0] bytes=128
  @warp 0 lane 0  mbarrier.arrive.expect_tx bar=full[0] bytes=128
  @warp 0 lane 0  cp.async.bulk dst=S[0:32] src=A[cta, 0:32] bar=full[0]
  @warp 0 lane 0  cp.async.bulk dst=S[32:64] src=A[cta, 32:64] bar=full[0]
  mbarrier.try_wait bar=full[0] parity=0
  ld dst=R.r[0] src=S[tid] bytes=4
  add.s32 dst=R.r[1] a=R.r[0] b=tid * 1000
  st dst=T[1 - tid / 32, 31 - tid % 32] src=R.r[1] bytes=4
  fence.proxy.async
  barrier.sync
  for half in [0, 2, 1] {
    @warp 0 lane 0  cp.async.bulk dst=B[cta, half * 32:half * 32 + 32] src=T[half, 0:32]
    @warp 0 lane 0  cp.async.bulk.commit_group
  }
  @warp 0 lane 0  cp.async.bulk.wait_group n=1 read=true
  @warp 0 lane 0  cp.async.bulk.wait_group n=0
}
)";

// Every CTA of a cluster of four sends its row to all of them, waits for all rows, and tells CTA 0.
const std::string multicast = R"(kernel cluster_multicast
target sm_100a
ptx 9.0
launch warps=2 cluster=[4, 1, 1] grid=[8, 1, 1]
buffer A: global u32 [2, 4, 64] init=random_bits(3)
buffer B: global u32 [8, 4, 64]
buffer P: global u32 [8, 64]
buffer full: shared mbarrier [1]
buffer done: shared mbarrier [1]
buffer S: shared u32 [4, 64]
buffer R: local u32 [8]
program {
  @warp 0 lane 0  mbarrier.init bar=full[0] count=1
  @warp 0 lane 0  mbarrier.init bar=done[0] count=4
  @warp 0 lane 0  fence.mbarrier_init
  @warp 0 lane 0  fence.proxy.async space=shared::cluster
  barrier.sync
  barrier.cluster.arrive
  barrier.cluster.wait
  @warp 0 lane 0  mbarrier.arrive.expect_tx bar=full[0] bytes=1024
  @warp 0 lane 0  cp.async.bulk dst=S[rank, 0:64] src=A[cta / 4, rank, 0:64] bar=full[0] mask=15
  mbarrier.try_wait bar=full[0] parity=0 scope=cluster
  for row in [0, 4, 1] {
    ld dst=R.r[0] src=S[row, tid] bytes=4
    st dst=B[cta, row, tid] src=R.r[0] bytes=4
  }
  barrier.cluster.arrive
  barrier.cluster.wait
  ld dst=R.r[1] src=S[rank, tid] bytes=4 rank=(rank + 1) % 4
  st dst=P[cta, tid] src=R.r[1] bytes=4
  mapa dst=R.r[2] src=S[2, 5] rank=3 - rank
  barrier.sync
  @warp 0 lane 0  mbarrier.arrive bar=done[0] scope=cluster rank=0
  mov dst=R.r[3] a=0
  if rank == 0 {
    while R.r[3] == 0 {
      mbarrier.test_wait bar=done[0] parity=0 poll=R.r[3] scope=cluster
    }
  }
  barrier.cluster.arrive sem=relaxed
  barrier.cluster.wait
}
)";

// The largest cluster: everybody writes into the next CTA's shared memory.
const std::string sixteen = R"(kernel cluster_of_sixteen
target sm_100a
ptx 9.0
launch warps=1 cluster=[16, 1, 1] grid=[16, 1, 1]
buffer B: global u32 [16, 32]
buffer S: shared u32 [32]
buffer R: local u32 [2]
program {
  barrier.cluster.arrive
  barrier.cluster.wait
  mov dst=R.r[0] a=rank * 100 + lane
  st dst=S[lane] src=R.r[0] bytes=4 rank=(rank + 1) % 16
  barrier.cluster.arrive sem=release
  barrier.cluster.wait
  ld dst=R.r[1] src=S[lane] bytes=4
  st dst=B[cta, lane] src=R.r[1] bytes=4
}
)";

// A warpgroup writes tensor memory, another one of the same quadrants reads it after the barrier.
const std::string tensor_memory_ring = R"(kernel tensor_memory_ring
target sm_100a
ptx 9.0
launch warps=8 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer slot: shared u32 [1]
buffer full: shared mbarrier [1]
buffer empty: shared mbarrier [1]
buffer B: global u32 [3, 128, 4]
buffer R: local u32 [4]
buffer Q: local u32 [4]
program {
  @warp 0  tcgen05.alloc slot=slot cols=32
  @warp 1 lane 0  mbarrier.init bar=full[0] count=128
  @warp 1 lane 0  mbarrier.init bar=empty[0] count=128
  barrier.sync
  tcgen05.fence::after_thread_sync
  for i in [0, 3, 1] {
    @warps 0..3  mbarrier.try_wait bar=empty[0] parity=(i + 1) % 2
    @warps 0..3  tcgen05.fence::after_thread_sync
    @warps 0..3  mov dst=R.r[0] a=tid * 65537 + i
    @warps 0..3  mov dst=R.r[1] a=tid * 65539 + i
    @warps 0..3  mov dst=R.r[2] a=tid * 65543 + i
    @warps 0..3  mov dst=R.r[3] a=tid * 65551 + i
    @warps 0..3  tcgen05.st shape=32x32b num=4 dst={base: word(slot, 0), lane: warp * 32, col: 8} src=R.r[0:4]
    @warps 0..3  tcgen05.wait::st
    @warps 0..3  tcgen05.fence::before_thread_sync
    @warps 0..3  mbarrier.arrive bar=full[0]
    @warps 4..7  mbarrier.try_wait bar=full[0] parity=i % 2
    @warps 4..7  tcgen05.fence::after_thread_sync
    @warps 4..7  tcgen05.ld shape=32x32b num=4 dst=Q.r[0:4] src={base: word(slot, 0), lane: warp % 4 * 32, col: 8}
    @warps 4..7  tcgen05.wait::ld
    @warps 4..7  tcgen05.fence::before_thread_sync
    @warps 4..7  mbarrier.arrive bar=empty[0]
    @warps 4..7  st dst=B[i, tid - 128, 0] src=Q.r[0:4] bytes=16
  }
  tcgen05.fence::before_thread_sync
  barrier.sync
  tcgen05.fence::after_thread_sync
  @warp 0  tcgen05.dealloc slot=slot cols=32
}
)";

// A commit with nothing before it: it arrives.
const std::string commit = R"(kernel commit
target sm_100a
ptx 9.0
launch warps=1 cluster=[2, 1, 1] grid=[2, 1, 1]
buffer done: shared mbarrier [1]
buffer B: global u32 [2, 32]
buffer R: local u32 [1]
program {
  @lane 0  mbarrier.init bar=done[0] count=2
  @lane 0  fence.mbarrier_init
  barrier.cluster.arrive
  barrier.cluster.wait
  @lane 0  tcgen05.commit bar=done[0] mask=3
  mbarrier.try_wait bar=done[0] parity=0 scope=cluster
  mov dst=R.r[0] a=cta * 32 + lane
  st dst=B[cta, lane] src=R.r[0] bytes=4
  barrier.cluster.arrive
  barrier.cluster.wait
}
)";

// Pairs of CTAs allocate together, twice; each CTA uses its own half.
const std::string pair = R"(kernel tensor_memory_pair
target sm_100a
ptx 9.0
launch warps=4 cluster=[2, 1, 1] grid=[4, 1, 1]
buffer slot: shared u32 [2]
buffer B: global u32 [4, 128, 2]
buffer R: local u32 [2]
buffer Q: local u32 [2]
program {
  barrier.cluster.arrive
  barrier.cluster.wait
  @warp 1  tcgen05.alloc slot=slot[0] cols=64 cta_group=2
  @warp 1  tcgen05.alloc slot=slot[1] cols=32 cta_group=2
  @warp 1  tcgen05.relinquish_alloc_permit cta_group=2
  tcgen05.fence::before_thread_sync
  barrier.sync
  tcgen05.fence::after_thread_sync
  mov dst=R.r[0] a=cta * 1000000 + tid * 65537
  mov dst=R.r[1] a=cta * 1000000 + tid * 65539
  tcgen05.st shape=32x32b num=2 dst={base: word(slot, 1), lane: warp * 32, col: 4} src=R.r[0:2]
  tcgen05.wait::st
  tcgen05.ld shape=32x32b num=2 dst=Q.r[0:2] src={base: word(slot, 1), lane: warp * 32, col: 4}
  tcgen05.wait::ld
  st dst=B[cta, tid, 0] src=Q.r[0:2] bytes=8
  tcgen05.fence::before_thread_sync
  barrier.sync
  tcgen05.fence::after_thread_sync
  barrier.cluster.arrive
  barrier.cluster.wait
  @warp 2  tcgen05.dealloc slot=slot[1] cols=32 cta_group=2
  @warp 2  tcgen05.dealloc slot=slot[0] cols=64 cta_group=2
  barrier.cluster.arrive
  barrier.cluster.wait
}
)";

}  // namespace

std::vector<Sample> async_programs() {
  std::vector<Sample> samples;
  for (const std::string& text : {ring, bulk, multicast, sixteen, tensor_memory_ring, commit, pair}) {
    Kernel kernel = parse_kernel(text, "k.kernel");
    verify(kernel, Level::machine);
    samples.push_back({kernel.name, std::move(kernel)});
  }
  return samples;
}

}  // namespace tmemsim::tests
