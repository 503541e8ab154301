// How long lowering takes: one tile copy of growing width, and whole seed programs.
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "ir/kernel/kernel.hpp"
#include "lower/lower.hpp"

namespace {

using namespace tmemsim;

Kernel kernel_of(const std::string& text) {
  Kernel kernel = parse_kernel(text, "bench.kernel");
  verify(kernel, Level::tile);
  return kernel;
}

void lower_again(benchmark::State& state, const std::string& text) {
  const Kernel kernel = kernel_of(text);
  for (auto _ : state) benchmark::DoNotOptimize(lower::lower(kernel));
}

// A row a thread, one 32-bit column a register.
void tensor_rows(benchmark::State& state) {
  lower_again(state, fmt::format("kernel k buffer slot: shared u32 [1] buffer T: tmem f32 [128, {0}] layout=\"S[(128,{0}):(1@TLane,1@TCol)]\" slot=slot\n"
                                 "buffer R: local f32 [128, {0}] layout=\"S[(128,{0}):(1@tid_in_wg,1)]\" program {{ @warpgroup 0 copy_async dst=R src=T }}",
                                 state.range(0)));
}
BENCHMARK(tensor_rows)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMicrosecond);

// The fragment of .16x256b.
void tensor_fragment(benchmark::State& state) {
  const std::int64_t cols = state.range(0);
  lower_again(state, fmt::format("kernel k buffer slot: shared u32 [1] buffer T: tmem f32 [128, {0}] layout=\"S[(128,{0}):(1@TLane,1@TCol)]\" slot=slot\n"
                                 "buffer R: local f32 [128, {0}] layout=\"S[(4,2,2,8,{1},4,2):(1@wid_in_wg,{2},2,4@laneid,4,1@laneid,1)]\"\n"
                                 "program {{ @warpgroup 0 copy_async dst=R src=T }}", cols, cols / 8, cols / 2));
}
BENCHMARK(tensor_fragment)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMicrosecond);

void registers_to_global(benchmark::State& state) {
  lower_again(state, fmt::format("kernel k buffer G: global f32 [128, {0}] buffer R: local f32 [128, {0}] layout=\"S[(128,{0}):(1@tid_in_wg,1)]\"\n"
                                 "program {{ @warpgroup 0 copy dst=G src=R }}", state.range(0)));
}
BENCHMARK(registers_to_global)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMicrosecond);

void global_to_shared(benchmark::State& state) {
  lower_again(state, fmt::format("kernel k buffer G: global f16 [{0}, 64] buffer S: shared f16 [{0}, 64] layout=\"Swizzle(3,3,3) o S[({0},64):(64,1)]\"\n"
                                 "program {{ @warpgroup 0 copy dst=S src=G }}", state.range(0)));
}
BENCHMARK(global_to_shared)->Arg(64)->Arg(1024)->Unit(benchmark::kMicrosecond);

void seed_warp_tile(benchmark::State& state) {
  lower_again(state, R"(kernel smem_roundtrip_f32 launch warps=1
buffer A: global f32 [32, 8] buffer B: global f32 [32, 8] buffer S: shared f32 [32, 8]
buffer R: local f32 [32, 8] layout="S[(32,8):(1@laneid,1)]"
program { @warp 0 copy dst=S src=A @cta barrier.sync @warp 0 copy dst=R src=S @cta barrier.sync @warp 0 copy dst=S src=R @cta barrier.sync @warp 0 copy dst=B src=S })");
}
BENCHMARK(seed_warp_tile)->Unit(benchmark::kMicrosecond);

void seed_tensor_tile(benchmark::State& state) {
  lower_again(state, R"(kernel tmem_roundtrip_f16
buffer A: global f16 [128, 8] buffer B: global f16 [128, 8] buffer slot: shared u32 [1]
buffer acc: tmem f16 [128, 8] layout="S[(128,8):(1@TLane,1@TCol)]" slot=slot
buffer A_frag: local f16 [128, 8] layout="S[(128,8):(1@tid_in_wg,1)]" buffer B_frag: local f16 [128, 8] layout="S[(128,8):(1@tid_in_wg,1)]"
program { @warp 0 tcgen05.alloc slot=slot cols=32 @cta barrier.sync @warpgroup 0 copy dst=A_frag src=A @warpgroup 0 copy_async dst=acc src=A_frag
  @warpgroup 0 tcgen05.wait::st @warpgroup 0 copy_async dst=B_frag src=acc @warpgroup 0 tcgen05.wait::ld @warpgroup 0 copy dst=B src=B_frag @cta barrier.sync
  @warp 0 tcgen05.dealloc slot=slot cols=32 @warp 0 tcgen05.relinquish_alloc_permit })");
}
BENCHMARK(seed_tensor_tile)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
