// Questions about tensor memory that the PTX ISA leaves open, or on which public sources disagree, as small CUDA programs that
// let the hardware answer. Each runs in a process of its own: some of them are meant to fault or to hang.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diff/machine.hpp"
#include "emit/emit.hpp"

namespace tmemsim::diff {

// What the hardware did, in one or two words ("preserved", "faults", "hangs"), and the numbers behind it.
struct Seen {
  std::string answer, detail;
};

// Which answers agree with an assumption.
struct Fit {
  std::string_view assumption;  // a value of the probe's switch, or the probe's `assumed`
  std::string_view answers;     // separated by '|'; "*" fits everything
};

struct Probe {
  std::string_view name;         // letters, digits and '-'
  std::string_view question;
  std::string_view on_switch;    // the profile switch that holds tmemsim's assumption; empty: `assumed` holds under every profile
  std::string_view assumed;
  std::vector<Fit> fits;
  std::string_view kernels;      // CUDA text
  std::string_view launch;       // statements of main(); `out` has `words` words, 0xbdbdbdbd at first
  std::size_t words = 0;
  Seen (*see)(const std::vector<std::uint32_t>& words);  // of a program that ran to its end
  std::string_view only_arch;    // "sm_103a" where others do not have the instruction; empty: every GPU with tensor memory
};

const std::vector<Probe>& probes();
std::string probe_program(const Probe& probe);  // the whole CUDA text

struct Assumption {
  std::string profile, assumption;  // "strict", "unpack-high-half=undefined"
  bool fits = false;
};
struct Answer {
  std::string probe, question, seen, detail;
  std::vector<Assumption> assumptions;  // strict, lenient
};
// What was seen next to what the profiles assume. `output`: what the program printed, one hexadecimal word a line.
Answer answer_of(const Probe& probe, const Seen& seen);
Seen seen_in_output(const Probe& probe, const std::string& output);

std::string text(const Answer& answer);
// The file to commit: device, driver, toolkit, and all answers; JSON, indented.
std::string probe_report(const Machine& machine, emit::Arch arch, const std::vector<Answer>& answers);

struct ProbeOptions {
  std::vector<std::string> only;        // names; empty: all
  std::filesystem::path keep;
  std::size_t jobs = 0;                 // compilers at a time
  std::chrono::seconds limit{20};       // for one program
};
// The chosen ones; InputError for a name that does not exist.
std::vector<const Probe*> chosen_probes(const std::vector<std::string>& names);

// Compiles and runs them, one after the other. Unsupported, one sentence, where there is no GPU with tensor memory, or no nvcc.
std::vector<Answer> run_probes(const ProbeOptions& options, const Machine& machine, const std::function<void(const Answer&)>& done);
void check_probes_run(const Machine& machine);

}  // namespace tmemsim::diff
