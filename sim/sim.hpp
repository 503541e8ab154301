// The simulator: runs a Program on SMs with tensor memory and reports every broken rule. It is the oracle.
//
// A run is a pure function of (program, options): the same inputs give the same outcome, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/finding.hpp"
#include "ir/image.hpp"
#include "ir/issued.hpp"
#include "ir/profile.hpp"
#include "ir/program.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::sim {

// When the effect of an asynchronous operation is applied: at issue; when it is waited for; at any time between; as late as can
// be and in the order that shows a wrong value, where one of several orders does.
enum class Policy : std::uint8_t { early, late, random, adversarial };
// Which warp goes next. `exhaustive` is a matter of several runs: explore() in schedules/explore.hpp; run() refuses it.
enum class Scheduler : std::uint8_t { round_robin, random, exhaustive };

struct Options {
  Profile profile = Profile::strict();
  Policy policy = Policy::late;
  Scheduler scheduler = Scheduler::round_robin;
  std::uint64_t seed = 0;
  std::uint64_t max_steps = 10'000'000;   // executed warp instructions
  std::optional<Schedule> schedule;       // takes the place of the scheduler
};

// Something beside the order of two statements that the ISA, or a fault reported before, leaves to chance in this run.
struct OpenChoice {
  Ref at;
  std::string what;                       // "which lane is elected"
  bool enumerable = true;                 // explore() tries all its outcomes
};

struct Outcome {
  std::vector<Finding> findings;          // resolved: one fault, one finding; in program order of `at`
  Image image;
  std::vector<Issued> issued;
  bool issued_all = true;                 // false: so many that the log stops; there is nothing to follow for the reference interpreter
  bool all_schedules = false;             // the run stands for every schedule
  std::vector<std::pair<Ref, Ref>> unordered;  // otherwise: the pairs that make it depend on the schedule (the first 64),
  std::vector<OpenChoice> choices;        // and the open choices
  BranchPoints branches;                  // the same as steps, all of them
  std::vector<Decision> decisions;        // under a schedule: what was decided, in order
  std::uint64_t steps = 0;
  std::vector<std::uint8_t> executed;     // by step of the program: some thread has executed it
  // The statement that last wrote this byte of a global buffer, this cell, this register row: for mismatch reports.
  std::function<std::optional<Ref>(BufferId buffer, std::int64_t byte)> writer_of_global;
};

// Initial contents of the global (and initialised shared) buffers come from Buffer::init.
// InputError for what only shows while running (division by zero, an expression that names no CTA).
Outcome run(const Program& program, const Options& options, Observer* observer = nullptr);

}  // namespace tmemsim::sim
