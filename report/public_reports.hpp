// Public defect reports about tensor memory and what of them the repository shows as a program: docs/bugs.md and
// `tmemsim explain` are made from this table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/verdict.hpp"

namespace tmemsim::report {

struct PublicReport {
  enum class Status : std::uint8_t {
    confirmed,   // mended upstream, or measured
    open,        // reproduced by the reporter
    suspected,   // the reporter says so
    question,    // somebody asks what the rule is
    hypothesis,  // read from the source; nobody has reported it
  };
  std::string_view id;               // "cutlass-3435": scenarios/bugs/ID.yaml and, where there is a verdict, ID.fixed.yaml
  std::string_view url;
  Status status;
  std::optional<Verdict> verdict;    // none: the reported program is right
  std::string_view shows;            // one sentence: the `doc` of the scenario; empty when there is none
  std::string_view needs;            // what the format lacks for a scenario; empty when there is one
};

std::span<const PublicReport> public_reports();
std::string_view name(PublicReport::Status status);

// The table of docs/bugs.md.
std::string public_reports_markdown();

}  // namespace tmemsim::report
