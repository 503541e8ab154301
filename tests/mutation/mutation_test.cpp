// Correct programs, changed by one synchronising statement at a time. A judge that works by brute force says beforehand which of
// the changed programs are wrong; the simulator must report those and stay silent on the others.
//
// TMEMSIM_MUTANTS=FOLDER writes every disagreement there, as a kernel that `tmemsim run` takes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ir/atomic_file.hpp"
#include "ir/program.hpp"
#include "ir/scenario/scenario.hpp"
#include "lower/lower.hpp"
#include "sim/sim.hpp"
#include "tests/catch.hpp"
#include "tests/mutation/happens_before.hpp"
#include "tests/mutation/mutants.hpp"
#include "tests/paths.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t most_steps = 20'000;

struct Listener : sim::Observer {
  std::vector<sim::Event> events;
  void event(const sim::Event& event) override { events.push_back(event); }
};

struct Run {
  Program program;
  std::vector<sim::Event> events;
  std::vector<Finding> findings;

  bool has_report() const {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.severity >= Severity::warning; });
  }
};

// Nothing where the program cannot be built or run.
std::optional<Run> run(const Kernel& tile) {
  try {
    Kernel checked = tile;
    verify(checked, Level::tile);
    Run run;
    run.program = decode(std::make_shared<const Kernel>(lower::lower(checked)));
    Listener listener;
    sim::Options options;
    options.policy = sim::Policy::early;
    options.max_steps = most_steps;
    run.findings = sim::run(run.program, options, &listener).findings;
    run.events = std::move(listener.events);
    return run;
  } catch (const InputError&) {
  } catch (const Unsupported&) {
  } catch (const lower::Refused&) {
  }
  return std::nullopt;
}

std::string verdicts(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings)
    if (finding.severity >= Severity::warning) text += fmt::format(" {} ({})", id(finding.verdict), finding.at.label.empty() ? finding.at.path : finding.at.label);
  return text;
}

struct Tally {
  int wrong = 0, right = 0, undecided = 0, missed = 0, falsely_reported = 0;
  std::string disagreements;

  void count(const std::string& name, const Mutant& mutant, const Run& run, const Judgement& judgement) {
    if (!judgement.decided) {
      ++undecided;
      return;
    }
    const bool is_wrong = !judgement.wrong.empty(), reported = run.has_report();
    ++(is_wrong ? wrong : right);
    if (is_wrong == reported) return;
    ++(is_wrong ? missed : falsely_reported);
    note(name, mutant, is_wrong ? "missed: " + judgement.wrong.front() : "falsely reported:" + verdicts(run.findings), *run.program.kernel);
  }

 private:
  void note(const std::string& name, const Mutant& mutant, const std::string& what, const Kernel& kernel) {
    const std::string text = fmt::format("{} {}\n    {}\n", name, mutant.what, what);
    disagreements += text;
    const char* folder = std::getenv("TMEMSIM_MUTANTS");
    if (!folder) return;
    const int number = missed + falsely_reported;
    write_file_atomically(fs::path(folder) / fmt::format("{}-{}.kernel", name, number), print(kernel));
    write_file_atomically(fs::path(folder) / fmt::format("{}-{}.txt", name, number), text);
  }
};

// The scenarios of a folder that must run clean.
std::vector<Scenario> correct_programs(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(source_dir) / "scenarios" / folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<Scenario> programs;
  for (const std::string& file : files)
    for (Scenario& scenario : load_scenarios(file))
      if (scenario.expect.findings.empty() && !scenario.expect.status) programs.push_back(std::move(scenario));
  return programs;
}

// Every `stride`-th mutant of each program.
Tally mutate_all(const std::vector<Scenario>& programs, std::size_t stride) {
  Tally tally;
  std::size_t number = 0;
  for (const Scenario& scenario : programs) {
    INFO(scenario.instance);
    const auto original = run(scenario.kernel);
    REQUIRE(original);
    const Baseline known = baseline(original->program, original->events);
    const Judgement right = judge(original->program, original->events, known);
    if (!right.decided) continue;
    INFO((right.wrong.empty() ? std::string() : right.wrong.front()));
    CHECK(right.wrong.empty());
    CHECK_FALSE(original->has_report());
    for (const Mutant& mutant : mutants(scenario.kernel)) {
      if (number++ % stride != 0) continue;
      if (const auto changed = run(mutant.kernel)) tally.count(scenario.instance, mutant, *changed, judge(changed->program, changed->events, known));
    }
  }
  return tally;
}

void check(const Tally& tally) {
  WARN(fmt::format("{} wrong programs, {} of them missed; {} right ones, {} of them falsely reported; {} undecided", tally.wrong, tally.missed, tally.right,
                   tally.falsely_reported, tally.undecided));
  INFO(tally.disagreements);
  CHECK(tally.falsely_reported == 0);
  CHECK(tally.missed * 20 <= tally.wrong);
}

// All of them with a scale of 2 or more.
std::size_t stride() { return static_cast<std::size_t>(std::max(1, 20 / scaled(10))); }

}  // namespace

TEST_CASE("Busy programs, changed by one statement") {
  const std::vector<Scenario> programs = correct_programs("programs");
  CHECK(programs.size() >= 12);
  check(mutate_all(programs, stride()));
}

TEST_CASE("Small correct programs, changed by one statement") {
  std::vector<Scenario> programs = correct_programs("verdicts");
  for (Scenario& scenario : correct_programs("bugs")) programs.push_back(std::move(scenario));
  for (Scenario& scenario : correct_programs("lessons")) programs.push_back(std::move(scenario));
  check(mutate_all(programs, stride()));
}
