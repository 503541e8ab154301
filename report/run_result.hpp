// One run (a file, or one instance of a sweep) and all that is reported about it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/finding.hpp"
#include "ir/kernel/kernel.hpp"

namespace tmemsim::report {

enum class Status : std::uint8_t { error, unsupported, findings, mismatch, clean };  // in order of precedence (design 9.1)
std::string_view name(Status status);

// The first place where a run's memory is not what it should be.
struct Mismatch {
  std::string against;                  // "the reference", "expect.equal[0]", "expect.cells[2]", "expect.regs[0]"
  std::string buffer;                   // empty for a bare tensor memory cell
  std::vector<std::int64_t> index;      // logical element; empty for cells and registers
  Dtype dtype = Dtype::u32;             // of both values
  std::uint64_t expected_bits = 0, actual_bits = 0;
  bool unwritten = false;               // nothing wrote the place
  std::optional<std::uint32_t> cta, thread, reg;  // thread in its CTA; register of the buffer
  std::optional<std::int64_t> lane, column;       // physical cell
  std::optional<Ref> written_by;
  std::optional<SourceLoc> at;          // of the expectation
};

struct Comparison {
  std::uint64_t compared = 0, differing = 0;  // elements, cells or registers
  std::optional<Mismatch> first;
};

// Runs of one program under many schedules: what came out, and how often.
struct Explored {
  struct Outcome {
    std::string what;           // "clean", "mbar-phase at program[4]"
    std::uint64_t count = 0;    // schedules with this outcome
    bool as_expected = true;
    std::string replay;         // token of the first of them; empty: the run without a schedule
  };
  std::uint64_t schedules = 0;  // runs made
  bool complete = false;        // every schedule that can make a difference is among them
  bool out_of_steps = false;    // not complete because of --max-steps
  std::vector<Outcome> outcomes;  // in the order in which they were found
};

// Something that chance decides in a run, beside the order of two statements.
struct OpenChoice {
  Ref at;
  std::string what;
};

struct RunResult {
  std::string file, scenario, instance, profile, policy;
  std::uint64_t seed = 0;
  std::shared_ptr<const Kernel> kernel;       // for source lines; may be absent

  std::optional<std::string> error;           // bad input or an internal error, as a message
  int error_exit = 2;
  std::optional<std::string> unsupported;     // an operation, or a refused lowering with its table: nothing ran
  std::optional<SourceLoc> unsupported_at;

  std::vector<Finding> findings;
  std::vector<std::string> worksheets;        // of each finding, where they were asked for (report/worksheet.hpp)
  bool all_schedules = false;
  std::vector<std::pair<Ref, Ref>> unordered;
  std::vector<OpenChoice> choices;
  std::optional<Explored> explored;           // of many schedules; the rest of the result is the first one that failed, or the first
  std::string replay;                         // token of the schedule that the result shows
  std::vector<Ref> never_executed;            // check: statements that no thread reached
  bool rules_only = false;                    // check: no values were compared
  std::uint64_t steps = 0;
  bool writes_global = false;                 // some statement that ran writes global memory
  Comparison reference;                       // against the reference interpreter
  Comparison stated;                          // against expect.equal, cells, regs

  // What judge() (status.hpp) decides.
  Status status = Status::clean;
  std::string reason;                         // of unsupported or error
  bool as_expected = true;
  bool expectations_count = true;             // false: `expect` is left aside
  std::vector<std::string> unmet;             // expectations that did not come true, one sentence each
  int exit_code = 0;

  // The mismatch that counts: a status of findings hides one against the reference.
  const Mismatch* mismatch() const;
};

}  // namespace tmemsim::report
