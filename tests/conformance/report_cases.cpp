#include "tests/conformance/report_cases.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/program.hpp"
#include "ir/scenario/scenario.hpp"
#include "lower/lower.hpp"
#include "report/public_reports.hpp"
#include "sim/sim.hpp"
#include "tests/paths.hpp"

namespace tmemsim::conformance {
namespace {

constexpr std::string_view none = "ok";  // the reported program is right

const report::PublicReport* report_named(const std::string& id) {
  for (const report::PublicReport& one : report::public_reports())
    if (one.id == id) return &one;
  return nullptr;
}

// The verdicts of all errors and warnings, under the scenario's own profile.
std::vector<std::string> verdicts_of(const std::filesystem::path& file) {
  std::vector<std::string> verdicts;
  for (Scenario& scenario : load_scenarios(file.string())) {
    Kernel kernel = lower::lower(scenario.kernel);
    verify(kernel, Level::machine);
    const Program program = decode(std::make_shared<const Kernel>(std::move(kernel)));
    for (const Finding& finding : sim::run(program, {}).findings)
      if (finding.severity == Severity::error || finding.severity == Severity::warning) verdicts.emplace_back(tmemsim::id(finding.verdict));
  }
  return verdicts;
}

// A report may be of several faults, all with the one verdict that is wanted; none wanted: the program is right.
std::optional<std::string> wrong_findings(const std::filesystem::path& file, const std::optional<std::string>& wanted) {
  if (!std::filesystem::exists(file)) return fmt::format("there is no {}", file.filename().string());
  const std::vector<std::string> found = verdicts_of(file);
  const bool all = std::all_of(found.begin(), found.end(), [&](const std::string& verdict) { return verdict == wanted; });
  if (all && found.empty() == !wanted) return std::nullopt;
  return fmt::format("{} shows [{}], expected {}", file.filename().string(), fmt::join(found, ", "), wanted.value_or("nothing"));
}

}  // namespace

bool is_report_case(const Case& one) { return one.node["id"] && one.node["expected_verdict"]; }

Outcome run_report_case(const Case& one) {
  const std::string id = text(one.node["id"]), verdict = text(one.node["expected_verdict"]);
  const report::PublicReport* known = report_named(id);
  if (!known) return skipped("a report without a program: " + id);
  if (!known->needs.empty()) return skipped(fmt::format("{}, which needs {}", id, known->needs));
  const std::filesystem::path folder = std::filesystem::path(tests::source_dir) / "scenarios/bugs";
  const auto wanted = verdict == none ? std::nullopt : std::optional(verdict);
  if (const auto wrong = wrong_findings(folder / (id + ".yaml"), wanted)) return failed(*wrong);
  if (!wanted) return passed();
  if (const auto wrong = wrong_findings(folder / (id + ".fixed.yaml"), std::nullopt)) return failed(*wrong);
  return passed();
}

}  // namespace tmemsim::conformance
