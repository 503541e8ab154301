// Runs a kernel given in the text form and says in one line a finding what came out.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "ir/kernel/kernel.hpp"
#include "ir/program.hpp"
#include "sim/sim.hpp"

namespace tmemsim::tests {

inline Program program_of(std::string_view text) {
  auto kernel = std::make_shared<Kernel>(parse_kernel(text, "k.kernel"));
  number_statements(*kernel);
  return decode(kernel);
}

inline sim::Outcome simulate(std::string_view text, const sim::Options& options = {}) { return sim::run(program_of(text), options); }

inline std::string name_of(const Ref& ref) { return ref.label.empty() ? ref.path : ref.label; }

// "raw-st load < store; ..." : verdict, `at`, `other`; a severity other than error in brackets, a count above 1 behind *.
inline std::string findings(const sim::Outcome& outcome, bool notes = false) {
  std::string text;
  for (const Finding& finding : outcome.findings) {
    if (finding.severity == Severity::note && !notes) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {}", id(finding.verdict), name_of(finding.at));
    if (finding.other) text += " < " + name_of(*finding.other);
    if (finding.severity != Severity::error) text += fmt::format(" [{}]", name(finding.severity));
  }
  return text;
}

// A program whose findings are the same under every policy and many seeds; returns them.
inline std::string findings_everywhere(std::string_view text, sim::Options options = {}) {
  const Program program = program_of(text);
  std::string first;
  bool any = false;
  for (const sim::Policy policy : {sim::Policy::late, sim::Policy::early, sim::Policy::random}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      options.policy = policy;
      options.scheduler = seed == 0 ? sim::Scheduler::round_robin : sim::Scheduler::random;
      options.seed = seed;
      const std::string now = findings(sim::run(program, options));
      if (any && now != first) return fmt::format("policy {} seed {}: '{}', but first '{}'", static_cast<int>(policy), seed, now, first);
      first = now;
      any = true;
    }
  }
  return first;
}

inline std::uint32_t global_word(const sim::Outcome& outcome, BufferId buffer, std::size_t word) {
  const Bytes& bytes = outcome.image.global.at(buffer);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::uint32_t{bytes.data.at(4 * word + i)} << (8 * i);
  return value;
}

}  // namespace tmemsim::tests
