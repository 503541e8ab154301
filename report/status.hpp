// The outcome of a run: its status, whether it is what the scenario expects, and the exit code. Design 9.1.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/scenario/scenario.hpp"
#include "report/run_result.hpp"

namespace tmemsim::report {

struct JudgeOptions {
  bool no_expect = false;  // leave `expect` aside
  bool werror = false;     // with no_expect: a warning alone fails, too
};

// Sets status, reason, as_expected, unmet and exit_code of a run whose other members are set.
void judge(RunResult& run, const Expect& expect, const JudgeOptions& options = {});

// Of several runs: the first present of 3, 2, 124, 1, 4, 0.
int exit_code(std::span<const int> codes);

// What the expected findings leave over on either side; empty when they match one to one. Notes never count.
std::vector<std::string> unmatched(std::span<const Finding> findings, std::span<const ExpectedFinding> expected);

}  // namespace tmemsim::report
