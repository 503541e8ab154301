// The human form of a run.
#pragma once

#include <string>

#include "report/run_result.hpp"

namespace tmemsim::report {

struct TextOptions {
  bool colour = false;  // ANSI colours: only for a terminal
  bool notes = false;   // show findings that are notes
};

// Findings with both source lines, the mismatch, unmet expectations, and a last line that sums up. Ends with a line end.
std::string text(const RunResult& run, const TextOptions& options = {});

// "file:3:7: unsupported: reason" with the source line, for commands without a run.
std::string unsupported_text(std::shared_ptr<const Kernel> kernel, SourceLoc at, std::string reason);

// "tcgen05.ld (load), CTA 0, warp 1, i=3"
std::string describe(const Ref& ref);
// "0-31", "4", "0-3 and 8": the lanes of a mask.
std::string lanes_text(std::uint32_t mask);

}  // namespace tmemsim::report
