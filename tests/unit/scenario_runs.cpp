// The scenario that `tmemsim new` prints, and the seeds, run clean and leave what they say.
#include <memory>

#include "ir/program.hpp"
#include "ir/scenario/scenario.hpp"
#include "lower/lower.hpp"
#include "report/compare.hpp"
#include "sim/sim.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// Runs each instance; the number of elements that agreed with what the scenario states.
std::uint64_t run_clean(const std::vector<Scenario>& scenarios) {
  std::uint64_t compared = 0;
  for (const Scenario& scenario : scenarios) {
    INFO(scenario.instance);
    const auto kernel = std::make_shared<Kernel>(lower::lower(scenario.kernel));
    const Program program = decode(kernel);
    const sim::Outcome outcome = sim::run(program, sim::Options{});
    for (const Finding& finding : outcome.findings) CHECK(finding.severity == Severity::note);
    const report::Comparison stated = report::compare_with_stated(program, outcome, scenario.expect);
    CHECK(stated.differing == 0);
    compared += stated.compared;
  }
  return compared;
}

std::vector<Scenario> seed(const std::string& name) {
  return load_scenarios(std::string(source_dir) + "/scenarios/seeds/" + name);
}

}  // namespace

TEST_CASE("A new scenario runs clean") {
  CHECK(run_clean(load_scenario_text(new_scenario("fresh"), "fresh.yaml", ".")) == 128 * 8 + 128 * 16);
}

TEST_CASE("The seeds run clean") {
  CHECK(run_clean(seed("tmem_roundtrip_f16.yaml")) == 128 * 8);
  CHECK(run_clean(seed("smem_roundtrip_f32.yaml")) == 32 * 8);
  CHECK(run_clean(seed("alloc_life_cycle.yaml")) == 0);
}

TEST_CASE("A store without its wait does not run clean") {
  std::string text = new_scenario("unwaited");
  const std::string wait = "  - {at: warpgroup 0, do: tcgen05.wait.st}";
  text.erase(text.find(wait), wait.size());
  bool found = false;
  for (const Scenario& scenario : load_scenario_text(text, "unwaited.yaml", ".")) {
    const auto kernel = std::make_shared<Kernel>(lower::lower(scenario.kernel));
    for (const Finding& finding : sim::run(decode(kernel), sim::Options{}).findings)
      found |= finding.verdict == Verdict::raw_st;
  }
  CHECK(found);
}
