// Programs of every kind of statement and operand: guards, loops, arithmetic, layouts, clusters, barriers, tensor memory.
#include "tests/emit/samples.hpp"

namespace tmemsim::tests {
namespace {

const std::string guards_and_loops = R"(kernel guards_and_loops
target sm_100a
ptx 9.0
launch warps=8 cluster=[1, 1, 1] grid=[3, 1, 1]
buffer A: global s32 [768, 4] init=iota(-1000, 7)
buffer B: global s32 [768, 4]
buffer R: local u32 [12]
program {
  ld dst=R.r[0:4] src=A[cta * 256 + tid, 0] bytes=16
  mov dst=R.r[4:8] a=R.r[0]
  mov dst=R.r[0:4] a=R.r[3]
  mov dst=R.r[4:6] a=R.r[5]
  @cta 1  mov dst=R.r[8] a=1
  @cta 2 warpgroup 1  mov dst=R.r[8] a=2
  @warps 2..5  add.s32 dst=R.r[4:8] a=R.r[4] b=tid * 5 - 100
  @warp 3 lanes 8..15  add.s32 dst=R.r[5:7] a=R.r[5:7] b=R.r[4]
  @warp 4 elect  mov dst=R.r[7] a=warp * 1000 + lane
  mov dst=R.r[9] a=0
  for i in [0, 10, 3] {
    for j in [i, lane % 7, 1] {
      add.s32 dst=R.r[9] a=R.r[9] b=i * 100 + j
    }
    if R.r[9] % 3 == 1 {
      add.s32 dst=R.r[9] a=R.r[9] b=1 << lane
    } else {
      if warp > 4 {
        add.s32 dst=R.r[9] a=R.r[9] b=-1
      }
    }
  }
  mov dst=R.r[10] a=R.r[0] & 15
  while R.r[10] > 2 {
    add.s32 dst=R.r[10] a=R.r[10] b=-2
    add.s32 dst=R.r[9] a=R.r[9] b=R.r[10] * 16777216
  }
  setp cmp=lt type=s32 dst=R.r[11] a=R.r[0] b=R.r[1]
  st dst=B[cta * 256 + tid, 0] src=R.r[4:8] bytes=16
}
)";

const std::string arithmetic = R"(kernel arithmetic
target sm_100a
ptx 9.0
launch warps=1 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer F: global f32 [32, 2] init=random(3, -100, 100)
buffer N: global u32 [2] init=data(0x7fc00000, 0xff800000)
buffer B: global u32 [32, 24]
buffer R: local u32 [8]
buffer S: local u32 [24]
program {
  ld dst=R.r[0:2] src=F[lane, 0] bytes=8
  ld dst=R.r[2:4] src=N[0] bytes=8
  add.f32 dst=S.r[0] a=R.r[0] b=R.r[1]
  add.f32 dst=S.r[1] a=R.r[0] b=lane - 16
  add.f32 dst=S.r[2] a=R.r[3] b=1
  setp cmp=ne type=f32 dst=S.r[3] a=R.r[0] b=R.r[2]
  setp cmp=ne type=f32 dst=S.r[4] a=R.r[0] b=R.r[1]
  setp cmp=eq type=f32 dst=S.r[5] a=R.r[2] b=R.r[2]
  setp cmp=ge type=f32 dst=S.r[6] a=R.r[0] b=0
  setp cmp=lt type=u32 dst=S.r[7] a=R.r[3] b=R.r[2]
  setp cmp=lt type=s32 dst=S.r[8] a=R.r[3] b=R.r[2]
  setp cmp=gt type=s32 dst=S.r[9] a=R.r[0] b=-5
  setp cmp=le type=u32 dst=S.r[10:12] a=R.r[0:2] b=R.r[1]
  mov dst=S.r[12] a=R.r[0] / (lane + 1) - R.r[1] % -7
  mov dst=S.r[13] a=(R.r[0] << lane) ^ (R.r[1] >> lane)
  mov dst=S.r[14] a=(R.r[0] * 3 + R.r[1] * R.r[0]) | lane
  mov dst=S.r[15] a=(R.r[0] < R.r[1]) + (lane >= 7) * 2 + (R.r[0] & 255) * 16
  mov dst=S.r[16] a=word(F, lane * 2) - word(N, lane % 2)
  mov dst=S.r[17] a=(0 - 2147483647 - 1) / (0 - (lane % 2 + 1))
  ld dst=S.r[18] src=F{byte: lane * 8 + 3} bytes=1
  ld dst=S.r[19] src=F{byte: lane * 8 + 2} bytes=2
  mov dst=S.r[20] a=305419896
  ld dst=S.r[20] src=F{byte: lane * 8} bytes=1 reg_byte=2
  mov dst=S.r[21] a=305419896
  ld dst=S.r[21] src=F{byte: lane * 8} bytes=2 reg_byte=2
  elect.sync dst=S.r[22]
  mov dst=S.r[23] a=-559038737
  st dst=B[lane, 0] src=S.r[0:4] bytes=16
  st dst=B[lane, 4] src=S.r[4:8] bytes=16
  st dst=B[lane, 8] src=S.r[8:10] bytes=8
  st dst=B[lane, 10] src=S.r[12] bytes=4
  st dst=B{byte: lane * 96 + 44} src=S.r[23] bytes=2 reg_byte=2
  st dst=B{byte: lane * 96 + 46} src=S.r[23] bytes=1 reg_byte=1
  st dst=B{byte: lane * 96 + 47} src=S.r[23] bytes=1
}
)";

const std::string layouts = R"(kernel layouts
target sm_100a
ptx 9.0
launch warps=2 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer A: global f16 [64, 8] init=iota(1, 1) layout="S[(64,8):(1,70)]"
buffer P: global e2m1 [64, 8] init=random(5, -6, 6)
buffer Q: global e2m1 [64, 8]
buffer X: global f32 [8, 32] init=iota(0, 1) layout="Swizzle(2,3,3) o S[(8,32):(32,1)]"
buffer Y: global f32 [8, 32] layout="S[(8,4,8):(8,64,1)]"
buffer D: global u64 [64] init=random_bits(9)
buffer E: global u64 [64]
buffer I: shared u16 [64] init=iota(1, 1) layout="S[(8,8):(1,9)]"
buffer J: shared u64 [64] init=iota(5000000000, 3)
buffer K: shared u8 [64] init=fill(7)
buffer O: shared e2m1 [128] init=random(6, -6, 6)
buffer T: shared u32 [64, 4] layout="Swizzle(2,2,3) o S[(64,4):(4,1)]"
buffer R: local u32 [8]
program {
  ld dst=R.r[0] src=A[tid, 5] bytes=2
  ld dst=R.r[1] src=P[tid, 0] bytes=4
  st dst=Q[tid, 0] src=R.r[1] bytes=4
  ld dst=R.r[2] src=X[tid / 8, tid % 8 * 4 + 1] bytes=4
  st dst=Y[tid / 8, tid % 8] src=R.r[2] bytes=4
  ld dst=R.r[2:4] src=D[tid] bytes=8
  st dst=E[63 - tid] src=R.r[2:4] bytes=8
  ld dst=R.r[4] src=I[63 - tid] bytes=2
  ld dst=R.r[4] src=K[tid] bytes=1 reg_byte=3
  ld dst=R.r[5:7] src=J[tid] bytes=8
  ld dst=R.r[7] src=O{byte: tid} bytes=1
  st dst=T[tid, 0] src=R.r[4:8] bytes=16
  barrier.sync
  ld dst=R.r[0] src=T[63 - tid, 3] bytes=4
}
)";

const std::string cluster = R"(kernel cluster
target sm_90
ptx 9.0
launch warps=2 cluster=[2, 1, 1] grid=[4, 2, 1]
buffer B: global u32 [8, 64]
buffer S: shared u32 [64] init=iota(100, 1)
buffer R: local u32 [4]
program {
  ld dst=R.r[0] src=S[tid] bytes=4 rank=1 - rank
  mov dst=R.r[1] a=cta * 1000 + rank * 100 + wg
  add.s32 dst=R.r[2] a=R.r[0] b=R.r[1]
  st dst=B[cta, tid] src=R.r[2] bytes=4
}
)";

const std::string barriers = R"(kernel barriers
target sm_100a
ptx 9.0
launch warps=8 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer S: shared u32 [256]
buffer B: global u32 [256]
buffer R: local u32 [2]
program {
  @warps 0..3  mov dst=R.r[0] a=tid * 3
  @warps 0..3  st dst=S[tid] src=R.r[0] bytes=4
  @warps 0..3  barrier.arrive id=2 count=256
  @warps 4..7  barrier.sync id=2 count=256
  @warps 4..7  ld dst=R.r[1] src=S[tid - 128] bytes=4
  @warps 4..7  st dst=B[tid] src=R.r[1] bytes=4
  @warp 1 lane 7  mov dst=R.r[1] a=5
  bar.warp.sync
  barrier.sync id=3
}
)";

// Every shape, packed and not, both halves of a quadrant, registers in any order, a second allocation.
const std::string tensor_memory = R"(kernel tensor_memory
target sm_100a
ptx 9.0
launch warps=4 cluster=[1, 1, 1] grid=[2, 1, 1]
buffer slot: shared u32 [2]
buffer R: local u32 [16]
buffer S: local u32 [16]
buffer U: local u32 [16]
program {
  @warp 1  tcgen05.alloc slot=slot[0] cols=128
  @warp 1  tcgen05.alloc slot=slot[1] cols=32
  barrier.sync
  for i in [0, 4, 1] {
    mov dst=R.r[0] a=tid * 65537 + i
    mov dst=R.r[1] a=tid * 65539 + i
    mov dst=R.r[2] a=tid * 65543 + i
    mov dst=R.r[3] a=tid * 65551 + i
    tcgen05.st shape=32x32b num=4 dst={base: word(slot, 0), lane: warp * 32, col: i * 4} src=R.r[3, 2, 1, 0]
  }
  tcgen05.wait::st
  tcgen05.ld shape=16x64b num=2 dst=S.r[0:2] src={base: word(slot, 0), lane: warp * 32, col: 1}
  tcgen05.ld shape=16x128b num=2 dst=S.r[4, 2, 3, 5] src={base: word(slot, 0), lane: warp * 32 + 16, col: 2}
  tcgen05.ld shape=16x256b num=1 dst=S.r[6:10] src={base: word(slot, 0), lane: warp * 32, col: 3}
  tcgen05.ld shape=16x32bx2 num=2 half=5 dst=S.r[10:12] src={base: word(slot, 0), lane: warp * 32 + 16, col: 0}
  tcgen05.ld shape=16x64b num=1 pack=true dst=S.r[12] src={base: word(slot, 0), lane: warp * 32, col: 4}
  tcgen05.ld shape=16x32bx2 num=1 pack=true half=4 dst=S.r[13] src={base: word(slot, 0), lane: warp * 32, col: 0}
  tcgen05.ld shape=32x32b num=2 pack=true dst=S.r[14:16] src={base: word(slot, 0), lane: warp * 32, col: 7}
  tcgen05.wait::ld
  tcgen05.st shape=16x128b num=1 unpack=true dst={base: word(slot, 0), lane: warp * 32, col: 64} src=S.r[0:2]
  tcgen05.st shape=16x256b num=2 dst={base: word(slot, 0), lane: warp * 32 + 16, col: 64} src=S.r[2:10]
  tcgen05.st shape=16x64b num=4 dst={base: word(slot, 1), lane: warp * 32, col: 0} src=S.r[8:12]
  tcgen05.st shape=16x32bx2 num=2 half=16 dst={base: word(slot, 1), lane: warp * 32 + 16, col: 0} src=S.r[12:14]
  tcgen05.st shape=32x32b num=1 unpack=true dst={base: word(slot, 1), lane: warp * 32, col: 30} src=S.r[14]
  tcgen05.wait::st
  tcgen05.ld shape=16x128b num=1 pack=true dst=U.r[0:2] src={base: word(slot, 0), lane: warp * 32, col: 64}
  tcgen05.wait::ld
  barrier.sync
  @warp 2  tcgen05.dealloc slot=slot[1] cols=32
  @warp 2  tcgen05.dealloc slot=slot[0] cols=128
}
)";

}  // namespace

std::vector<Sample> sample_programs() {
  std::vector<Sample> samples;
  for (const std::string& text : {guards_and_loops, arithmetic, layouts, cluster, barriers, tensor_memory}) {
    Kernel kernel = parse_kernel(text, "k.kernel");
    verify(kernel, Level::machine);
    samples.push_back({kernel.name, std::move(kernel)});
  }
  return samples;
}

}  // namespace tmemsim::tests
