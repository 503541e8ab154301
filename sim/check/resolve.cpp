// Which candidates are findings: tcgen05.md 14.6. One fault, one finding; causes are not followed by a cascade.
#include <algorithm>
#include <set>
#include <tuple>

#include "sim/check/candidate.hpp"

namespace tmemsim::sim {
namespace {

bool is_one_of(Verdict verdict, std::initializer_list<Verdict> list) { return std::find(list.begin(), list.end(), verdict) != list.end(); }

// Conflicts that a missing completion or order explains.
bool is_conflict(Verdict verdict) {
  return is_one_of(verdict, {Verdict::war_ld, Verdict::raw_st, Verdict::raw_mma, Verdict::war_mma, Verdict::waw_async, Verdict::alias_race,
                             Verdict::missing_fence, Verdict::addr_publish, Verdict::smem_race, Verdict::global_race, Verdict::proxy_fence});
}

std::vector<Instance> all_at(const Candidate& c) {
  std::vector<Instance> all{c.at_instance};
  all.insert(all.end(), c.more_at.begin(), c.more_at.end());
  return all;
}
std::vector<Instance> all_other(const Candidate& c) {
  std::vector<Instance> all;
  if (c.other) all.push_back(c.other_instance);
  if (c.other) all.insert(all.end(), c.more_other.begin(), c.more_other.end());
  return all;
}

// Whether every instance in `of` is one of `known`.
bool covered(const std::vector<Instance>& of, const std::set<Instance>& known) {
  return !of.empty() && std::all_of(of.begin(), of.end(), [&](const Instance& one) { return known.count(one) != 0; });
}

class Resolver {
 public:
  explicit Resolver(const std::vector<Candidate>& candidates) : candidates_(candidates), kept_(candidates.size(), true) {}

  void apply() {
    first_fault_of_an_instruction();
    unordered_pairs_yield_to_ordered_ones();
    registers_yield_to_cells();
    peer_yields_to_own_dealloc();
    dealloc_yields_to_conflict();
    uninit_yields_to_conflict();
    leak_yields_to_block();
    blocks_yield_to_participation();
  }
  bool kept(std::size_t i) const { return kept_[i]; }

 private:
  template <class Test, class Instances> std::set<Instance> instances(Test&& test, Instances&& of) const {
    std::set<Instance> all;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!kept_[i] || !test(candidates_[i])) continue;
      for (const Instance& one : of(candidates_[i])) all.insert(one);
    }
    return all;
  }
  static std::vector<Instance> both(const Candidate& c) {
    std::vector<Instance> all = all_at(c);
    for (const Instance& one : all_other(c)) all.push_back(one);
    return all;
  }
  bool any(std::initializer_list<Verdict> list) const {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (kept_[i] && candidates_[i].severity != Severity::note && candidates_[i].severity != Severity::warning && is_one_of(candidates_[i].verdict, list)) return true;
    return false;
  }

  // Rules 2 and 3: of the faults of one executed instruction the first in the list is the one.
  void first_fault_of_an_instruction() {
    keep_first({Verdict::participation, Verdict::taddr_bits, Verdict::out_of_bounds, Verdict::misaligned, Verdict::lane_window,
                Verdict::peer_lifecycle, Verdict::unallocated_access});
    keep_first({Verdict::alloc_permit, Verdict::alloc_size, Verdict::alloc_order});
  }

  void keep_first(std::initializer_list<Verdict> in_order) {
    std::set<Instance> told;
    for (Verdict verdict : in_order) {
      drop_covered(verdict, told, [](const Candidate& c) { return all_at(c); });
      told.merge(instances([&](const Candidate& c) { return c.verdict == verdict && c.severity != Severity::warning; },
                           [](const Candidate& c) { return all_at(c); }));
    }
  }

  // One pair of instructions, one finding: where some of its instances are ordered and others not, the ordered ones name it.
  void unordered_pairs_yield_to_ordered_ones() {
    const auto pair_of = [](const Candidate& c) { return std::minmax(c.at.path, c.other ? c.other->path : c.at.path); };
    std::set<std::pair<std::string, std::string>> named;
    for (const Candidate& c : candidates_)
      if (is_conflict(c.verdict) && !c.unordered && c.other) named.insert(pair_of(c));
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].unordered && named.count(pair_of(candidates_[i])) != 0) kept_[i] = false;
  }

  // Rule 6: the missing wait::ld that lets cells be overwritten or freed is reported there.
  void registers_yield_to_cells() {
    const auto loads = instances([](const Candidate& c) { return is_one_of(c.verdict, {Verdict::war_ld, Verdict::dealloc_live}); },
                                 [](const Candidate& c) { return all_other(c); });
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (c.verdict != Verdict::read_before_wait) continue;
      const auto mine = all_other(c);
      if (std::any_of(mine.begin(), mine.end(), [&](const Instance& one) { return loads.count(one) != 0; })) kept_[i] = false;
    }
  }

  // Rule 4: both halves of a pair's dealloc that come too early for one access are one fault.
  void peer_yields_to_own_dealloc() {
    std::set<std::pair<std::string, std::string>> told;
    for (const Candidate& c : candidates_)
      if (c.verdict == Verdict::dealloc_live && c.other) told.insert({c.at.path, c.other->path});
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (c.verdict == Verdict::peer_lifecycle && c.other && told.count({c.at.path, c.other->path}) != 0) kept_[i] = false;
    }
  }

  // An access whose missing completion has been reported is not reported again when its columns are freed.
  void dealloc_yields_to_conflict() {
    const auto told = instances([](const Candidate& c) { return is_conflict(c.verdict); }, [](const Candidate& c) { return both(c); });
    drop_covered(Verdict::dealloc_live, told, [](const Candidate& c) { return all_other(c); });
  }

  // Rule 9: a cell or byte that some unordered write was meant for is not "never written", whoever uses the value in the end.
  void uninit_yields_to_conflict() {
    const auto told = instances([](const Candidate& c) { return is_conflict(c.verdict); }, [](const Candidate& c) { return both(c); });
    const auto explained = [&](const Instance& use, const std::optional<Instance>& origin) {
      return told.count(use) != 0 || (origin && told.count(*origin) != 0);
    };
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (c.verdict != Verdict::uninit_read) continue;
      bool all = explained(c.at_instance, c.origin);
      for (std::size_t k = 0; all && k < c.more_at.size(); ++k) all = explained(c.more_at[k], c.more_origins[k]);
      if (all) kept_[i] = false;
    }
  }

  // Rule 4: who never came to the dealloc because something blocked does not leak.
  void leak_yields_to_block() {
    if (!any({Verdict::alloc_capacity, Verdict::alloc_blocked, Verdict::deadlock, Verdict::step_limit})) return;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].verdict == Verdict::alloc_leak) kept_[i] = false;
  }

  // Rule 8: a standstill that follows from a wrong set of threads is that fault.
  void blocks_yield_to_participation() {
    if (!any({Verdict::participation})) return;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].verdict == Verdict::deadlock) kept_[i] = false;
  }

  template <class Instances> void drop_covered(Verdict verdict, const std::set<Instance>& told, Instances&& of) {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].verdict == verdict && covered(of(candidates_[i]), told)) kept_[i] = false;
  }

  const std::vector<Candidate>& candidates_;
  std::vector<bool> kept_;
};

Finding finding_of(const Candidate& candidate, const Profile& profile) {
  const VerdictFacts& catalogue = facts(candidate.verdict);
  Finding finding;
  finding.verdict = candidate.verdict;
  finding.severity = candidate.severity.value_or(severity_of(candidate.verdict, profile));
  const std::optional<Switch> decided = candidate.decided_by ? candidate.decided_by : candidate.severity ? std::nullopt : catalogue.decided_by;
  if (decided) {
    const SwitchFacts& row = switch_table()[static_cast<std::size_t>(*decided)];
    finding.profile_switch = {std::string(row.name), std::string(profile.value(*decided))};
  }
  finding.count = candidate.count;
  finding.at = candidate.at;
  finding.other = candidate.other;
  finding.where = candidate.where;
  finding.message = candidate.message;
  finding.rule = candidate.rule.empty() ? std::string(catalogue.rule) : candidate.rule;
  finding.section = candidate.section.empty() ? std::string(catalogue.section) : candidate.section;
  finding.fix = candidate.fix.empty() ? std::string(catalogue.fix) : candidate.fix;
  return finding;
}

}  // namespace

std::vector<Finding> resolve(const std::vector<Candidate>& candidates, const Profile& profile) {
  Resolver resolver(candidates);
  resolver.apply();
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!resolver.kept(i)) continue;
    Finding finding = finding_of(candidates[i], profile);
    if (finding.severity != Severity::none) findings.push_back(std::move(finding));
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    const auto place = [](const Finding& f) {
      const Ref& other = f.other ? *f.other : f.at;
      return std::tuple(f.at.at.line, f.at.at.col, f.at.path, f.verdict, f.at.cta, f.at.warp, other.at.line, other.at.col, other.path);
    };
    return place(a) < place(b);
  });
  return findings;
}

}  // namespace tmemsim::sim
