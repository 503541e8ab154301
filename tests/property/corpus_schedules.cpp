// No verdict depends on seed, scheduler or policy: every scenario of the repository under many of them, the same findings.
#include <algorithm>
#include <filesystem>

#include "ir/scenario/scenario.hpp"
#include "lower/lower.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/scale.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const char* folder : {"verdicts", "bugs", "lessons", "seeds", "programs"}) {
    const auto path = std::filesystem::path(source_dir) / "scenarios" / folder;
    if (!std::filesystem::is_directory(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Verdicts with the statements they name; everything but the messages.
std::string verdict_text(const Program& program, const sim::Options& options) {
  try {
    return findings(sim::run(program, options));
  } catch (const Unsupported& unsupported) {
    return "unsupported: " + unsupported.reason();
  } catch (const InputError& error) {
    return std::string("input error: ") + error.what();
  }
}

// Seeds that one scenario is run with: a long one, which spins to its step limit, gets few.
int seeds_for(std::uint64_t steps) { return steps > 20'000 ? 1 : scaled(4); }

void compare(const Scenario& scenario) {
  CAPTURE(scenario.instance);
  std::shared_ptr<const Kernel> kernel;
  try {
    kernel = std::make_shared<Kernel>(lower::lower(scenario.kernel));
  } catch (const lower::Refused&) {
    return;
  }
  const Program program = decode(kernel);
  sim::Options options;
  options.max_steps = 200'000;
  if (scenario.profile) options.profile = Profile::named(*scenario.profile).value_or(Profile::strict());
  sim::Outcome first;
  try {
    first = sim::run(program, options);
  } catch (const Unsupported&) {
    return;
  }
  const std::string wanted = findings(first);
  const int seeds = seeds_for(first.steps);
  for (const sim::Policy policy : {sim::Policy::late, sim::Policy::early, sim::Policy::random, sim::Policy::adversarial}) {
    for (int seed = 0; seed <= seeds; ++seed) {
      options.policy = policy;
      options.scheduler = seed == 0 ? sim::Scheduler::round_robin : sim::Scheduler::random;
      options.seed = static_cast<std::uint64_t>(seed);
      CAPTURE(static_cast<int>(policy), seed);
      CHECK(verdict_text(program, options) == wanted);
    }
  }
}

}  // namespace

TEST_CASE("Findings do not depend on seed, scheduler or policy") {
  const std::vector<std::string> files = scenario_files();
  REQUIRE(files.size() > 40);
  for (const std::string& file : files) {
    CAPTURE(file);
    for (const Scenario& scenario : load_scenarios(file)) compare(scenario);
  }
}
