#include "report/sarif.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/verdict.hpp"
#include "report/text.hpp"
#include "report/xml_text.hpp"

namespace tmemsim::report {
namespace {

using Json = nlohmann::ordered_json;

Json message(std::string_view text) { return Json{{"text", text}}; }

std::string file_of(const RunResult& run, SourceLoc at) {
  return run.kernel && at.file < run.kernel->files.size() ? run.kernel->files[at.file].name : run.file;
}

// A place in a file; the file alone where the line is unknown.
Json location(const RunResult& run, SourceLoc at) {
  Json physical{{"artifactLocation", {{"uri", file_of(run, at)}}}};
  if (at.line > 0) physical["region"] = Json{{"startLine", at.line}, {"startColumn", std::max(1u, at.col)}};
  return Json{{"physicalLocation", std::move(physical)}};
}

Json result(std::string_view rule, std::string_view level, const std::string& text, Json place) {
  return Json{{"ruleId", rule}, {"level", level}, {"message", message(text)}, {"locations", Json::array({std::move(place)})}};
}

Json finding_result(const RunResult& run, const Finding& finding) {
  const std::string text = fmt::format("{} ({}). {} {}", finding.message, describe(finding.at), finding.rule, finding.fix);
  Json json = result(id(finding.verdict), name(finding.severity), text, location(run, finding.at.at));
  if (finding.other) {
    Json related = location(run, finding.other->at);
    related["id"] = 1;
    related["message"] = message("other: " + describe(*finding.other));
    json["relatedLocations"] = Json::array({std::move(related)});
  }
  if (finding.count > 1) json["occurrenceCount"] = finding.count;
  if (run.as_expected && run.expectations_count && finding.severity != Severity::note)
    json["suppressions"] = Json::array({Json{{"kind", "inSource"}, {"justification", "the scenario expects it"}}});
  return json;
}

void add_results(Json& results, const RunResult& run) {
  if (run.status == Status::error) results.push_back(result("error", "error", run.reason, location(run, {})));
  if (run.status == Status::unsupported) results.push_back(result("unsupported", "error", run.reason, location(run, run.unsupported_at.value_or(SourceLoc{}))));
  for (const Finding& finding : run.findings)
    if (finding.severity != Severity::none) results.push_back(finding_result(run, finding));
  if (const Mismatch* mismatch = run.mismatch())
    results.push_back(result("mismatch", "error",
                             fmt::format("{} differs from {}: {:#x} instead of {:#x}", mismatch->buffer.empty() ? "a cell" : mismatch->buffer, mismatch->against,
                                         mismatch->actual_bits, mismatch->expected_bits),
                             location(run, mismatch->at ? *mismatch->at : mismatch->written_by ? mismatch->written_by->at : SourceLoc{})));
  for (const std::string& sentence : run.unmet) results.push_back(result("expectation", "error", sentence, location(run, {})));
}

Json rule(std::string_view id, std::string_view meaning, std::string_view full, std::string_view help) {
  return Json{{"id", id}, {"shortDescription", message(meaning)}, {"fullDescription", message(full)}, {"help", message(help)}};
}

Json rules() {
  Json all = Json::array();
  for (const VerdictFacts& row : verdict_table())
    all.push_back(rule(row.id, row.meaning, row.section == "tool" ? std::string(row.rule) : fmt::format("{} [PTX ISA {}]", row.rule, row.section), row.fix));
  all.push_back(rule("mismatch", "wrong values", "Memory at the end is not what the reference interpreter or the scenario says.", "Compare the cells with --print."));
  all.push_back(rule("expectation", "not as expected", "What the scenario states under `expect` did not come true.", "Correct the program or the expectation."));
  all.push_back(rule("unsupported", "not decided", "The run could not be decided.", "The message says what is missing."));
  all.push_back(rule("error", "bad input", "The scenario could not be loaded or run.", "The message says what would work."));
  return all;
}

// ---- JUnit ----

bool is_undecided(const RunResult& run) { return run.status == Status::error || run.status == Status::unsupported; }

// What a failed run is reported under: the first error, or what else went wrong.
std::string failure_type(const RunResult& run) {
  if (is_undecided(run)) return std::string(name(run.status));
  for (const Finding& finding : run.findings)
    if (finding.severity == Severity::error) return std::string(id(finding.verdict));
  return run.mismatch() ? "mismatch" : "expectation";
}

std::string failure_message(const RunResult& run) {
  if (is_undecided(run)) return run.reason.substr(0, run.reason.find('\n'));
  if (!run.unmet.empty()) return run.unmet.front();
  for (const Finding& finding : run.findings)
    if (finding.severity == Severity::error) return finding.message;
  return "memory is not what it should be";
}

std::string test_case(const RunResult& run) {
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_text(run.file), xml_text(run.instance.empty() ? run.file : run.instance));
  if (run.exit_code == 0) return text + "/>\n";
  const std::string_view element = is_undecided(run) ? "error" : "failure";
  return text + fmt::format(">\n      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n    </testcase>\n", element, xml_text(failure_type(run)), xml_text(failure_message(run)),
                            xml_text(report::text(run)));
}

}  // namespace

std::string sarif(std::span<const RunResult> runs, std::string_view version) {
  Json results = Json::array();
  for (const RunResult& run : runs) add_results(results, run);
  const Json driver{{"name", "tmemsim"}, {"version", version}, {"rules", rules()}};
  const Json document{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({Json{{"tool", Json{{"driver", driver}}}, {"columnKind", "utf16CodeUnits"}, {"results", std::move(results)}}})}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string junit(std::span<const RunResult> runs) {
  std::size_t failures = 0, errors = 0;
  std::string cases;
  for (const RunResult& run : runs) {
    if (run.exit_code != 0) ++(is_undecided(run) ? errors : failures);
    cases += test_case(run);
  }
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", runs.size(), failures, errors);
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"tmemsim\" {0}>\n{1}  </testsuite>\n</testsuites>\n", counts, cases);
}

}  // namespace tmemsim::report
