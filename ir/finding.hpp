// What a run reports: findings with both instructions, places, the rule; and references to executed statements.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/diagnostic.hpp"
#include "ir/verdict.hpp"

namespace tmemsim {

// One executed instance of a statement.
struct Ref {
  SourceLoc at;
  std::string path;                                  // "program[4].body[1]"
  std::string label;                                 // may be empty
  std::map<std::string, std::int64_t> loop;          // loop values
  std::string op;                                    // PTX name
  std::uint32_t cta = 0, warp = 0, lanes = 0;        // CTA in the grid, warp in the CTA, mask of lanes
  bool operator==(const Ref&) const = default;
};

// Where it happened; only what applies is set. Pairs are [first, last], both included.
struct Place {
  std::string space;                                 // tmem, shared, global, register, barrier
  std::optional<std::uint32_t> sm, cta;
  std::optional<std::pair<std::int64_t, std::int64_t>> lanes, columns, bytes;
  std::optional<std::int64_t> reg;
  std::string buffer;
  std::vector<std::int64_t> index;                   // logical element
};

struct Finding {
  Verdict verdict = Verdict::deadlock;
  Severity severity = Severity::error;
  std::optional<std::pair<std::string, std::string>> profile_switch;  // name and value that decided
  std::uint64_t count = 1;                           // instances with the same verdict and statement pair
  Ref at;                                            // the later one of a pair; the dealloc where one is involved
  std::optional<Ref> other;
  Place where;
  std::string message;                               // this case, in one sentence
  std::string rule, section, fix;                    // from the catalogue, or more specific
};

}  // namespace tmemsim
