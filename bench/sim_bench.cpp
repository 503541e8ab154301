// How fast the simulator moves cells with all checks on, beside memcpy, and how long a program of 10,000 instructions takes.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ir/kernel/kernel.hpp"
#include "ir/program.hpp"
#include "sim/sim.hpp"

using namespace tmemsim;

namespace {

Program program_of(const std::string& text) { return decode(std::make_shared<Kernel>(parse_kernel(text, "bench.kernel"))); }

// `sweeps` times: four warps store and load all 512 columns of their quadrants with one instruction a 128 columns.
std::string sweep(std::string_view operation, int sweeps) {
  const bool load = operation == "ld";
  const std::string move = load ? "tcgen05.ld shape=32x32b num=128 dst=R.r[0:128] src={base: word(slot, 0), lane: warp * 32, col: c * 128} tcgen05.wait::ld"
                                : "tcgen05.st shape=32x32b num=128 dst={base: word(slot, 0), lane: warp * 32, col: c * 128} src=R.r[0:128] tcgen05.wait::st";
  return fmt::format(R"(kernel sweep
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer R: local u32 [128]
program {{
  @warp 0 tcgen05.alloc slot=slot cols=512
  barrier.sync
  mov dst=R.r[0:128] a=tid
  for c in [0, 4] {{ tcgen05.st shape=32x32b num=128 dst={{base: word(slot, 0), lane: warp * 32, col: c * 128}} src=R.r[0:128] }}
  tcgen05.wait::st
  for i in [0, {}] {{ for c in [0, 4] {{ {} }} }}
  barrier.sync
  @warp 0 tcgen05.dealloc slot=slot cols=512
}}
)", sweeps, move);
}

void run_sweeps(benchmark::State& state, std::string_view operation) {
  constexpr int sweeps = 200;
  const Program program = program_of(sweep(operation, sweeps));
  for (auto _ : state) {
    benchmark::DoNotOptimize(sim::run(program, {}));
  }
  state.SetBytesProcessed(state.iterations() * std::int64_t{sweeps} * 128 * 512 * 4);
}

void copy_64_mib(benchmark::State& state) {
  constexpr std::size_t size = std::size_t{64} << 20;
  std::vector<char> from(size, 1), to(size, 2);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

// Four warps, 10,000 instructions in all steps of a warp: address arithmetic, shared memory, small loads and stores of TMEM.
void ten_thousand_instructions(benchmark::State& state) {
  const Program program = program_of(R"(kernel busy
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer S: shared u32 [128] offset=1024
buffer R: local u32 [8]
program {
  @warp 0 tcgen05.alloc slot=slot cols=32
  barrier.sync
  mov dst=R.r[0:8] a=tid
  for i in [0, 1000] {
    add.s32 dst=R.r[0] a=R.r[0] b=i
    st dst=S[tid] src=R.r[0] bytes=4
    ld dst=R.r[1] src=S[tid] bytes=4
    tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0), lane: warp * 32, col: i % 32} src=R.r[1]
    tcgen05.wait::st
    tcgen05.ld shape=32x32b num=1 dst=R.r[2] src={base: word(slot, 0), lane: warp * 32, col: i % 32}
    tcgen05.wait::ld
    add.s32 dst=R.r[3] a=R.r[2] b=1
    mov dst=R.r[4] a=R.r[3]
    barrier.sync
  }
  @warp 0 tcgen05.dealloc slot=slot cols=32
}
)");
  for (auto _ : state) benchmark::DoNotOptimize(sim::run(program, {}));
}

void ld_sweep(benchmark::State& state) { run_sweeps(state, "ld"); }
void st_sweep(benchmark::State& state) { run_sweeps(state, "st"); }

BENCHMARK(copy_64_mib)->Unit(benchmark::kMillisecond);
BENCHMARK(ld_sweep)->Unit(benchmark::kMillisecond);
BENCHMARK(st_sweep)->Unit(benchmark::kMillisecond);
BENCHMARK(ten_thousand_instructions)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
