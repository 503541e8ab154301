#include <nlohmann/json.hpp>

#include "report/compare.hpp"
#include "report/json.hpp"
#include "report/status.hpp"
#include "report/text.hpp"
#include "tests/unit/hand_made.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
using report::RunResult;
using report::Status;

namespace {

Finding finding(Verdict verdict, std::string at, std::string other = "", Severity severity = Severity::error) {
  Finding made;
  made.verdict = verdict;
  made.severity = severity;
  made.at.path = std::move(at);
  made.at.op = "tcgen05.ld";
  if (!other.empty()) {
    made.other.emplace();
    made.other->label = std::move(other);
    made.other->path = "program[0]";
    made.other->op = "tcgen05.st";
  }
  made.message = "message";
  made.rule = "rule";
  made.section = "9.7.16";
  made.fix = "fix";
  return made;
}

ExpectedFinding expected(Verdict verdict, std::optional<std::string> at = {}, std::optional<std::string> other = {}) {
  ExpectedFinding made;
  made.verdict = verdict;
  made.at = std::move(at);
  made.other = std::move(other);
  return made;
}

RunResult run_with(std::vector<Finding> findings) {
  RunResult run;
  run.file = "file.yaml";
  run.scenario = run.instance = "name";
  run.profile = "strict";
  run.policy = "late";
  run.findings = std::move(findings);
  run.reference.compared = 4;
  run.writes_global = true;
  return run;
}

struct Outcome {
  Status status;
  bool as_expected;
  int exit_code;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << name(outcome.status) << " as_expected=" << outcome.as_expected << " exit=" << outcome.exit_code;
}

Outcome judged(RunResult run, const Expect& expect = {}, const report::JudgeOptions& options = {}) {
  judge(run, expect, options);
  return {run.status, run.as_expected, run.exit_code};
}

report::Comparison different() {
  report::Comparison comparison;
  comparison.compared = 4;
  comparison.differing = 1;
  comparison.first.emplace();
  comparison.first->against = "expect.equal[0]";
  return comparison;
}

constexpr Severity W = Severity::warning, N = Severity::note;

}  // namespace

TEST_CASE("A run without anything to say is clean") {
  CHECK(judged(run_with({})) == Outcome{Status::clean, true, 0});
  CHECK(judged(run_with({finding(Verdict::alloc_blocked, "p", "", N)})) == Outcome{Status::clean, true, 0});
}

TEST_CASE("The first status that applies counts") {
  RunResult run = run_with({finding(Verdict::raw_st, "p")});
  run.reference = different();
  CHECK(judged(run) == Outcome{Status::findings, false, 1});
  run.unsupported = "no emission";
  CHECK(judged(run) == Outcome{Status::unsupported, false, 4});
  run.error = "bad";
  CHECK(judged(run) == Outcome{Status::error, false, 2});
  run.error_exit = 3;
  CHECK(judged(run) == Outcome{Status::error, false, 3});
  run = run_with({});
  run.reference = different();
  CHECK(judged(run) == Outcome{Status::mismatch, false, 1});
  run.findings = {finding(Verdict::uninit_read, "p", "", W)};  // a warning does not hide it
  CHECK(judged(run) == Outcome{Status::mismatch, false, 1});
}

TEST_CASE("Global memory written and nothing compared is unsupported, unless values are stated") {
  RunResult run = run_with({});
  run.reference.compared = 0;
  CHECK(judged(run) == Outcome{Status::unsupported, false, 4});
  Expect expect;
  expect.cells.emplace_back();
  CHECK(judged(run, expect) == Outcome{Status::clean, true, 0});
  CHECK(judged(run, expect, {.no_expect = true}) == Outcome{Status::unsupported, false, 4});
  run.writes_global = false;
  CHECK(judged(run) == Outcome{Status::clean, true, 0});
}

TEST_CASE("Expected findings match one to one") {
  const RunResult run = run_with({finding(Verdict::raw_st, "program[4]", "store")});
  Expect expect;
  CHECK(judged(run, expect) == Outcome{Status::findings, false, 1});
  expect.findings = {expected(Verdict::raw_st)};
  CHECK(judged(run, expect) == Outcome{Status::findings, true, 0});
  expect.findings = {expected(Verdict::raw_st, "program[4]", "store")};
  CHECK(judged(run, expect).as_expected);
  expect.findings = {expected(Verdict::raw_st, "store", "program[4]")};  // either order
  CHECK(judged(run, expect).as_expected);
  expect.findings = {expected(Verdict::raw_st, "program[3]")};
  CHECK(judged(run, expect) == Outcome{Status::findings, false, 1});
  expect.findings = {expected(Verdict::war_ld)};
  CHECK_FALSE(judged(run, expect).as_expected);
  expect.findings = {expected(Verdict::raw_st), expected(Verdict::raw_st)};  // one left over
  CHECK_FALSE(judged(run, expect).as_expected);
  expect.findings = {expected(Verdict::raw_st)};
  expect.findings[0].severity = W;
  CHECK_FALSE(judged(run, expect).as_expected);
  expect.findings[0].severity = Severity::error;
  expect.findings[0].count = 2;
  CHECK_FALSE(judged(run, expect).as_expected);
  expect.findings[0].count = 1;
  CHECK(judged(run, expect).as_expected);
}

TEST_CASE("A vague entry leaves the precise one its finding") {
  const std::vector<Finding> findings{finding(Verdict::raw_st, "program[1]"), finding(Verdict::raw_st, "program[2]")};
  const std::vector<ExpectedFinding> entries{expected(Verdict::raw_st), expected(Verdict::raw_st, "program[1]")};
  CHECK(report::unmatched(findings, entries).empty());
  const std::vector<ExpectedFinding> wrong{expected(Verdict::raw_st), expected(Verdict::raw_st, "program[3]")};
  CHECK(report::unmatched(findings, wrong).size() == 2);
}

TEST_CASE("Warnings must be expected, notes never count") {
  RunResult run = run_with({finding(Verdict::uninit_read, "p", "", W), finding(Verdict::alloc_blocked, "q", "", N)});
  CHECK(judged(run) == Outcome{Status::clean, false, 1});
  Expect expect;
  expect.findings = {expected(Verdict::uninit_read)};
  CHECK(judged(run, expect) == Outcome{Status::clean, true, 0});
  expect.findings.push_back(expected(Verdict::alloc_blocked));
  CHECK_FALSE(judged(run, expect).as_expected);
  CHECK(judged(run, {}, {.no_expect = true}) == Outcome{Status::clean, true, 0});
  CHECK(judged(run, {}, {.no_expect = true, .werror = true}) == Outcome{Status::clean, false, 1});
}

TEST_CASE("The lenient profile has a list of its own") {
  RunResult run = run_with({finding(Verdict::alloc_order, "p", "", W)});
  run.profile = "lenient";
  Expect expect;
  expect.lenient.emplace();
  CHECK_FALSE(judged(run, expect).as_expected);
  expect.lenient->push_back(expected(Verdict::alloc_order));
  CHECK(judged(run, expect).as_expected);
  run.profile = "strict";
  CHECK_FALSE(judged(run, expect).as_expected);
}

TEST_CASE("Expected findings hide a mismatch with the reference, not one with stated values") {
  RunResult run = run_with({finding(Verdict::raw_st, "p")});
  run.reference = different();
  Expect expect;
  expect.findings = {expected(Verdict::raw_st)};
  CHECK(judged(run, expect) == Outcome{Status::findings, true, 0});
  run.stated = different();
  CHECK(judged(run, expect) == Outcome{Status::findings, false, 1});
}

TEST_CASE("A status may be expected") {
  RunResult run = run_with({});
  run.unsupported = "refused";
  Expect expect;
  expect.status = "unsupported";
  CHECK(judged(run, expect) == Outcome{Status::unsupported, true, 0});
  run.unsupported.reset();
  CHECK(judged(run, expect) == Outcome{Status::clean, false, 1});
}

TEST_CASE("Exit code of a stopped run, and of several runs") {
  CHECK(judged(run_with({finding(Verdict::step_limit, "p")})) == Outcome{Status::findings, false, 124});
  Expect expect;
  expect.findings = {expected(Verdict::step_limit)};
  CHECK(judged(run_with({finding(Verdict::step_limit, "p")}), expect) == Outcome{Status::findings, true, 0});

  const std::vector<int> order{3, 2, 124, 1, 4, 0};
  for (std::size_t first = 0; first < order.size(); ++first) {
    const std::vector<int> codes(order.rbegin(), order.rend() - static_cast<std::ptrdiff_t>(first));
    CHECK(report::exit_code(codes) == order[first]);
  }
  CHECK(report::exit_code({}) == 0);
}

TEST_CASE("The JSON object has exactly the keys that are promised") {
  RunResult run = run_with({finding(Verdict::raw_st, "program[4].body[1]", "store")});
  run.findings[0].at.loop = {{"i", 3}};
  run.findings[0].where.lanes = {0, 31};
  run.findings[0].where.space = "tmem";
  run.findings[0].profile_switch = {"fence-at-barrier", "E"};
  run.unordered.emplace_back(run.findings[0].at, *run.findings[0].other);
  run.stated = different();
  run.stated.first->expected_bits = 0xffffffffffffffff;
  judge(run, {});
  const auto json = nlohmann::json::parse(report::json(run));
  const auto keys = [](const nlohmann::json& object) {
    std::vector<std::string> found;
    for (const auto& [key, value] : object.items()) found.push_back(key);
    return found;
  };
  using Keys = std::vector<std::string>;  // in alphabetical order
  CHECK(keys(json) == Keys{"as_expected", "choices", "compared", "explored", "file", "findings", "instance", "mismatch", "policy", "profile", "reason", "replay",
                           "scenario", "schedules", "seed", "status", "tmemsim", "unordered"});
  CHECK(keys(json["findings"][0]) ==
        Keys{"at", "count", "fix", "message", "other", "profile_switch", "rule", "section", "severity", "verdict", "where"});
  CHECK(keys(json["findings"][0]["at"]) == Keys{"col", "cta", "file", "label", "lanes", "line", "loop", "op", "statement", "warp"});
  CHECK(keys(json["mismatch"]) ==
        Keys{"actual_bits", "buffer", "column", "expected_bits", "index", "lane", "register", "thread", "written_by"});
  CHECK(json["tmemsim"] == 1);
  CHECK(json["status"] == "findings");
  CHECK(json["reason"].is_null());
  CHECK(json["schedules"] == "this one");
  CHECK(json["findings"][0]["verdict"] == "raw-st");
  CHECK(json["findings"][0]["severity"] == "error");
  CHECK(json["findings"][0]["at"]["loop"] == nlohmann::json{{"i", 3}});
  CHECK(json["findings"][0]["at"]["label"].is_null());
  CHECK(json["findings"][0]["other"]["label"] == "store");
  CHECK(json["findings"][0]["where"] == nlohmann::json{{"space", "tmem"}, {"lanes", {0, 31}}});
  CHECK(json["findings"][0]["profile_switch"] == nlohmann::json{{"name", "fence-at-barrier"}, {"value", "E"}});
  CHECK(json["mismatch"]["expected_bits"] == 0xffffffffffffffff);
  CHECK(json["unordered"][0][1]["label"] == "store");
  CHECK(report::json(run).find('\n') == std::string::npos);
}

TEST_CASE("The text names both instructions with their source lines") {
  auto kernel = std::make_shared<Kernel>();
  kernel->files = {{"bugs/raw.yaml", "program:\n  - {do: st}\n  - {do: ld}\n"}};
  RunResult run = run_with({finding(Verdict::raw_st, "program[1]", "store")});
  run.kernel = kernel;
  run.findings[0].at.at = {0, 3, 5};
  run.findings[0].other->at = {0, 2, 5};
  run.steps = 7;
  judge(run, {});
  CHECK(report::text(run) ==
        "bugs/raw.yaml:3:5: error: raw-st: message\n"
        "    3 |   - {do: ld}\n"
        "      |     ^ tcgen05.ld, CTA 0, warp 0\n"
        "    2 |   - {do: st}\n"
        "      |     ^ other: tcgen05.st (store), CTA 0, warp 0\n"
        "    rule: rule [PTX ISA 9.7.16]\n"
        "     fix: fix\n"
        "\n"
        "expect: not expected: raw-st at program[1] with store, severity error, count 1\n"
        "name: 1 error; 7 steps, 4 elements compared, holds for this schedule\n");
  CHECK(report::text(run, {.colour = true}).find("\x1b[1;31m") != std::string::npos);
  run.findings[0].severity = N;
  judge(run, {});
  CHECK(report::text(run) == "name: clean, 1 note; 7 steps, 4 elements compared, holds for this schedule\n");
  CHECK_THAT(report::text(run, {.notes = true}), contains("note: raw-st"));
}

TEST_CASE("Lanes are shown as ranges") {
  CHECK(report::lanes_text(0xffffffff) == "0-31");
  CHECK(report::lanes_text(0x8000010f) == "0-3,8,31");
  CHECK(report::lanes_text(0).empty());
}
