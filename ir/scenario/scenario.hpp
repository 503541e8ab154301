// Scenarios: a YAML file (or the printed text form of a kernel) -> kernels to run, with what must come out.
// Format: docs/scenario-format.md. The input is untrusted: sizes, depth, aliases and paths are bounded; every error is an
// InputError with file:line:col.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/kernel/kernel.hpp"
#include "ir/profile.hpp"
#include "ir/verdict.hpp"

namespace tmemsim {

struct ExpectedFinding {
  Verdict verdict = Verdict::deadlock;
  std::optional<std::string> at, other;          // label or statement path; either order matches
  std::optional<Severity> severity;
  std::optional<std::uint64_t> count;
  SourceLoc where;
};

struct ExpectedEqual {
  Region actual;
  std::variant<Region, InitFill, InitNpy, InitData> expected;
  std::optional<double> abs;                     // tolerance; absent: equal bits
  std::optional<std::uint64_t> ulp;
  SourceLoc where;
};

struct ExpectedCell {
  std::uint32_t cta = 0;                         // the cell is of its SM
  std::uint32_t lane = 0, column = 0;            // physical
  std::uint32_t bits = 0;                        // all 32
  SourceLoc where;
};

struct ExpectedRegister {
  std::uint32_t cta = 0;
  BufferId buffer = 0;
  std::uint32_t thread = 0;                      // in its CTA
  std::uint16_t reg = 0;
  std::uint32_t bits = 0;
  SourceLoc where;
};

struct Expect {
  std::optional<std::string> status;             // "unsupported", ... ; absent: clean or findings as listed
  std::vector<ExpectedFinding> findings;
  std::optional<std::vector<ExpectedFinding>> lenient;  // replaces findings under that profile
  std::vector<ExpectedEqual> equal;
  std::vector<ExpectedCell> cells;
  std::vector<ExpectedRegister> registers;
};

struct Scenario {
  Kernel kernel;                                 // verified at Level::tile
  std::string instance;                          // "name[n=16,dtype=f32]", or the name when there is no sweep
  std::optional<std::string> profile;            // of the file: strict or lenient
  Expect expect;
};

struct LoadOptions {
  std::vector<std::string> define;               // "num=2"
  std::vector<std::string> only;                 // "n=16"
};

// `path` "-" reads standard input; *.kernel holds the text form, everything else YAML. One Scenario a sweep instance.
std::vector<Scenario> load_scenarios(const std::string& path, const LoadOptions& options = {});
std::vector<Scenario> load_scenario_text(std::string_view text, const std::string& file_name, const std::string& folder,
                                         const LoadOptions& options = {});

std::string scenario_schema();                   // JSON Schema, generated from the operation lists
std::string new_scenario(std::string_view name); // a commented scenario that runs clean

// Initial value of a buffer as element bits in logical row-major order; empty when it has no init.
std::vector<std::uint64_t> initial_bits(const Kernel& kernel, const Buffer& buffer);

}  // namespace tmemsim
