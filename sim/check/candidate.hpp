// Candidates: what looks like a fault while running. A pure function decides at the end which of them are findings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ir/finding.hpp"

namespace tmemsim::sim {

// One executed instance: (CTA, warp, instruction of the warp).
struct Instance {
  std::uint32_t cta = 0, warp = 0, number = 0;
  auto operator<=>(const Instance&) const = default;
};

struct Candidate {
  Verdict verdict = Verdict::deadlock;
  std::optional<Severity> severity;        // where the catalogue's is not the one
  std::optional<Switch> decided_by;        // the switch whose value decided
  Ref at;
  std::optional<Ref> other;
  Place where;
  std::string message, rule, section, fix;  // empty: from the catalogue
  Instance at_instance, other_instance;
  std::optional<Instance> origin;             // of uninit-read: the earlier access that brought the undefined value in
  bool unordered = false;                   // nothing orders the two accesses: named by the write
  std::uint64_t count = 1;
  std::vector<Instance> more_at, more_other;  // of the repeats (bounded)
  std::vector<std::optional<Instance>> more_origins;
};

class Candidates {
 public:
  // Repeats (same verdict, same two statements) are counted, not kept.
  void add(Candidate candidate);
  const std::vector<Candidate>& all() const { return all_; }

 private:
  using Key = std::tuple<Verdict, std::string, std::string, std::string, std::string>;
  std::vector<Candidate> all_;
  std::map<Key, std::vector<std::size_t>> known_;
};

// Precedence (tcgen05.md 14.6): one fault, one finding. In program order of `at`.
std::vector<Finding> resolve(const std::vector<Candidate>& candidates, const Profile& profile);

}  // namespace tmemsim::sim
