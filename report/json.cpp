#include "report/json.hpp"

#include "report/place_json.hpp"
#include <nlohmann/json.hpp>

namespace tmemsim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string file_of(const RunResult& run, SourceLoc at) {
  return run.kernel && at.file < run.kernel->files.size() ? run.kernel->files[at.file].name : run.file;
}

Json ref(const RunResult& run, const Ref& ref) {
  Json loop = Json::object();
  for (const auto& [variable, value] : ref.loop) loop[variable] = value;
  return Json{{"file", file_of(run, ref.at)},
              {"line", ref.at.line},
              {"col", ref.at.col},
              {"statement", ref.path},
              {"label", ref.label.empty() ? Json(nullptr) : Json(ref.label)},
              {"loop", std::move(loop)},
              {"op", ref.op},
              {"cta", ref.cta},
              {"warp", ref.warp},
              {"lanes", ref.lanes}};
}

template <class T> Json or_null(const std::optional<T>& value) { return value ? Json(*value) : Json(nullptr); }

Json finding(const RunResult& run, const Finding& finding) {
  const auto& decided = finding.profile_switch;
  return Json{{"verdict", id(finding.verdict)},
              {"severity", name(finding.severity)},
              {"profile_switch", decided ? Json{{"name", decided->first}, {"value", decided->second}} : Json(nullptr)},
              {"count", finding.count},
              {"at", ref(run, finding.at)},
              {"other", finding.other ? ref(run, *finding.other) : Json(nullptr)},
              {"where", place_json(finding.where)},
              {"rule", finding.rule},
              {"section", finding.section},
              {"message", finding.message},
              {"fix", finding.fix}};
}

Json mismatch(const RunResult& run, const Mismatch& mismatch) {
  return Json{{"buffer", mismatch.buffer.empty() ? Json(nullptr) : Json(mismatch.buffer)},
              {"index", mismatch.index},
              {"expected_bits", mismatch.expected_bits},
              {"actual_bits", mismatch.actual_bits},
              {"thread", or_null(mismatch.thread)},
              {"register", or_null(mismatch.reg)},
              {"lane", or_null(mismatch.lane)},
              {"column", or_null(mismatch.column)},
              {"written_by", mismatch.written_by ? ref(run, *mismatch.written_by) : Json(nullptr)}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

std::string json(const RunResult& run) {
  Json unordered = Json::array(), findings = Json::array();
  for (const auto& [first, second] : run.unordered) unordered.push_back({ref(run, first), ref(run, second)});
  for (const Finding& each : run.findings) findings.push_back(finding(run, each));
  Json choices = Json::array(), explored = nullptr, never = Json::array();
  for (const OpenChoice& choice : run.choices) choices.push_back({{"at", ref(run, choice.at)}, {"what", choice.what}});
  for (const Ref& one : run.never_executed) never.push_back(ref(run, one));
  if (run.explored) {
    Json outcomes = Json::array();
    for (const Explored::Outcome& one : run.explored->outcomes)
      outcomes.push_back({{"what", one.what}, {"count", one.count}, {"as_expected", one.as_expected}, {"replay", text_or_null(one.replay)}});
    explored = {{"schedules", run.explored->schedules}, {"complete", run.explored->complete}, {"outcomes", std::move(outcomes)}};
  }
  const Mismatch* different = run.mismatch();
  Json object{{"tmemsim", 1},
                    {"file", run.file},
                    {"scenario", text_or_null(run.scenario)},
                    {"instance", text_or_null(run.instance)},
                    {"profile", run.profile},
                    {"seed", run.seed},
                    {"policy", run.policy},
                    {"as_expected", run.as_expected},
                    {"compared", run.reference.compared},
                    {"schedules", run.all_schedules ? "all" : "this one"},
                    {"unordered", std::move(unordered)},
                    {"choices", std::move(choices)},
                    {"explored", std::move(explored)},
                    {"replay", text_or_null(run.replay)},
                    {"status", name(run.status)},
                    {"reason", text_or_null(run.reason)},
                    {"findings", std::move(findings)},
                    {"mismatch", different ? mismatch(run, *different) : Json(nullptr)}};
  if (run.rules_only) object["not_checked"] = std::move(never);
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tmemsim::report
