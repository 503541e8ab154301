// A whole run in process: load, lower, decode, simulate, and follow the run with the reference interpreter.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "ir/program.hpp"
#include "ir/scenario/scenario.hpp"
#include "lower/lower.hpp"
#include "sim/reference/reference.hpp"
#include "sim/sim.hpp"

namespace {

using namespace tmemsim;

void whole_run(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    for (const Scenario& scenario : load_scenarios(path)) {
      const auto kernel = std::make_shared<const Kernel>(lower::lower(scenario.kernel));
      const sim::Outcome outcome = sim::run(decode(kernel), {});
      if (!outcome.findings.empty()) state.SkipWithError("the seed has findings");
      benchmark::DoNotOptimize(reference::run(*kernel, outcome.issued));
    }
  }
}
// Run from the folder of the sources: the scenarios are found below it.
BENCHMARK_CAPTURE(whole_run, tmem_roundtrip_f16, "scenarios/seeds/tmem_roundtrip_f16.yaml")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(whole_run, smem_roundtrip_f32, "scenarios/seeds/smem_roundtrip_f32.yaml")->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
