#include "report/status.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tmemsim::report {
namespace {

bool is_at(const Ref& ref, const std::string& place) { return ref.path == place || (!ref.label.empty() && ref.label == place); }

bool places_match(const Ref* later, const Ref* earlier, const ExpectedFinding& expected) {
  return (!expected.at || (later && is_at(*later, *expected.at))) && (!expected.other || (earlier && is_at(*earlier, *expected.other)));
}

bool matches(const Finding& finding, const ExpectedFinding& expected) {
  if (finding.verdict != expected.verdict) return false;
  if (expected.severity && *expected.severity != finding.severity) return false;
  if (expected.count && *expected.count != finding.count) return false;
  const Ref* other = finding.other ? &*finding.other : nullptr;
  return places_match(&finding.at, other, expected) || places_match(other, &finding.at, expected);
}

bool counts(const Finding& finding) { return finding.severity == Severity::error || finding.severity == Severity::warning; }

// Largest matching of entries and findings, one path at a time: entries may be vague, so the first fit need not be the right one.
class Matching {
 public:
  Matching(std::span<const Finding> findings, std::span<const ExpectedFinding> expected)
      : findings_(findings), expected_(expected), entry_of_(findings.size(), nobody) {
    for (std::size_t entry = 0; entry < expected.size(); ++entry) {
      std::vector<bool> tried(findings.size(), false);
      if (!place(entry, tried)) left_over_.push_back(entry);
    }
  }
  const std::vector<std::size_t>& left_over() const { return left_over_; }
  bool is_expected(std::size_t finding) const { return entry_of_[finding] != nobody; }

 private:
  static constexpr std::size_t nobody = ~std::size_t{0};

  bool place(std::size_t entry, std::vector<bool>& tried) {
    for (std::size_t i = 0; i < findings_.size(); ++i) {
      if (tried[i] || !counts(findings_[i]) || !matches(findings_[i], expected_[entry])) continue;
      tried[i] = true;
      if (entry_of_[i] == nobody || place(entry_of_[i], tried)) {
        entry_of_[i] = entry;
        return true;
      }
    }
    return false;
  }

  std::span<const Finding> findings_;
  std::span<const ExpectedFinding> expected_;
  std::vector<std::size_t> entry_of_;
  std::vector<std::size_t> left_over_;
};

std::string place_text(const Ref& ref) { return ref.label.empty() ? ref.path : ref.label; }

std::string text(const ExpectedFinding& expected) {
  std::string text(id(expected.verdict));
  if (expected.at) text += fmt::format(" at {}", *expected.at);
  if (expected.other) text += fmt::format(" with {}", *expected.other);
  if (expected.severity) text += fmt::format(", severity {}", name(*expected.severity));
  if (expected.count) text += fmt::format(", count {}", *expected.count);
  return text;
}

std::string text(const Finding& finding) {
  std::string text = fmt::format("{} at {}", id(finding.verdict), place_text(finding.at));
  if (finding.other) text += fmt::format(" with {}", place_text(*finding.other));
  return text + fmt::format(", severity {}, count {}", name(finding.severity), finding.count);
}

bool has(const std::vector<Finding>& findings, Severity severity) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.severity == severity; });
}

void decide_status(RunResult& run, bool has_stated_values) {
  run.reason.clear();
  if (run.error) {
    run.status = Status::error;
    run.reason = *run.error;
  } else if (run.unsupported) {
    run.status = Status::unsupported;
    run.reason = *run.unsupported;
  } else if (has(run.findings, Severity::error)) {
    run.status = Status::findings;
  } else if (run.reference.first || run.stated.first) {
    run.status = Status::mismatch;
  } else if (run.writes_global && run.reference.compared == 0 && !has_stated_values) {
    run.status = Status::unsupported;
    run.reason = "nothing to compare: the run writes global memory, but no element of it is known to the reference interpreter "
                 "(state what must come out in expect.equal, cells or regs, or give the instructions a `means`)";
  } else {
    run.status = Status::clean;
  }
}

int exit_of(const RunResult& run, bool failed_expectation) {
  switch (run.status) {
    case Status::error: return run.error_exit;
    case Status::unsupported: return 4;
    case Status::findings: case Status::mismatch: case Status::clean: break;
  }
  const bool stopped = std::any_of(run.findings.begin(), run.findings.end(), [](const Finding& finding) {
    return finding.verdict == Verdict::step_limit && finding.severity == Severity::error;
  });
  if (stopped) return 124;
  return run.status != Status::clean || failed_expectation ? 1 : 0;
}

// Whether everything expected came and nothing else; sentences for what the status alone does not tell.
bool comes_true(RunResult& run, const Expect& expect) {
  const auto& findings = expect.lenient && run.profile == "lenient" ? *expect.lenient : expect.findings;
  run.unmet = unmatched(run.findings, findings);
  if (run.stated.first) run.unmet.push_back(fmt::format("{} does not hold", run.stated.first->against));
  if (expect.status && *expect.status != name(run.status))
    run.unmet.push_back(fmt::format("status {} was expected, the run ended with {}", *expect.status, name(run.status)));
  const bool good_status = expect.status || run.status == Status::clean || run.status == Status::findings;
  return run.status != Status::error && good_status && run.unmet.empty();
}

}  // namespace

std::string_view name(Status status) {
  constexpr std::array<std::string_view, 5> names{"error", "unsupported", "findings", "mismatch", "clean"};
  return names[static_cast<std::size_t>(status)];
}

const Mismatch* RunResult::mismatch() const {
  if (stated.first) return &*stated.first;
  return reference.first && status == Status::mismatch ? &*reference.first : nullptr;
}

std::vector<std::string> unmatched(std::span<const Finding> findings, std::span<const ExpectedFinding> expected) {
  const Matching matching(findings, expected);
  std::vector<std::string> sentences;
  for (std::size_t entry : matching.left_over()) sentences.push_back(fmt::format("not found: {}", text(expected[entry])));
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (counts(findings[i]) && !matching.is_expected(i)) sentences.push_back(fmt::format("not expected: {}", text(findings[i])));
  return sentences;
}

void judge(RunResult& run, const Expect& expect, const JudgeOptions& options) {
  run.unmet.clear();
  run.expectations_count = !options.no_expect;
  decide_status(run, !options.no_expect && (!expect.equal.empty() || !expect.cells.empty() || !expect.registers.empty()));
  if (options.no_expect) {
    const bool warned = options.werror && has(run.findings, Severity::warning);
    run.as_expected = run.status == Status::clean && !warned;
    run.exit_code = exit_of(run, warned);
    return;
  }
  run.as_expected = comes_true(run, expect);
  run.exit_code = run.as_expected ? 0 : exit_of(run, true);
}

int exit_code(std::span<const int> codes) {
  for (int code : {3, 2, 124, 1, 4})
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) return code;
  return 0;
}

}  // namespace tmemsim::report
