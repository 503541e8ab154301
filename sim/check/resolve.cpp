// Which candidates are findings. One fault, one finding; causes are not followed by a cascade.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "sim/check/candidate.hpp"

namespace tmemsim::sim {
namespace {

bool is_one_of(Verdict verdict, std::initializer_list<Verdict> list) { return std::find(list.begin(), list.end(), verdict) != list.end(); }

bool is_one_of_names(std::string_view name, std::initializer_list<std::string_view> list) { return std::find(list.begin(), list.end(), name) != list.end(); }

// Conflicts that a missing completion or order explains.
bool is_conflict(Verdict verdict) {
  return is_one_of(verdict, {Verdict::war_ld, Verdict::raw_st, Verdict::raw_mma, Verdict::war_mma, Verdict::waw_async, Verdict::alias_race,
                             Verdict::missing_fence, Verdict::addr_publish, Verdict::smem_race, Verdict::global_race, Verdict::proxy_fence});
}

// Order that only a narrow scope gives: told beside whatever else is wrong, and the cause of nothing.
bool is_about_scope(const Candidate& c) { return c.decided_by == Switch::scope_check; }
// A race that is told at the count of a barrier is still one.
bool is_conflict(const Candidate& c) { return (is_conflict(c.verdict) || (c.verdict == Verdict::mbar_count && !c.conflicts.empty())) && !is_about_scope(c); }

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
  explicit Resolver(std::vector<Candidate>& candidates) : candidates_(candidates), kept_(candidates.size(), true) {}

  void apply() {
    first_fault_of_an_instruction();
    uninit_yields_to_conflict();
    unordered_pairs_yield_to_ordered_ones();
    reads_name_the_last_operation();
    statements_yield_to_others();
    pairs_are_told_one_way();
    scopes_yield_to_errors();
    pairs_yield_to_pairs_between();
    one_wait_for_a_thread();
    lanes_with_a_wrong_address();
    registers_yield_to_cells();
    peer_yields_to_own_dealloc();
    dealloc_names_the_last_access();
    dealloc_yields_to_conflict();
    warnings_yield_to_conflicts();
    the_first_reader_and_the_last_writer();
    conflicts_yield_to_partial_barriers();
    the_first_reader_and_the_last_writer();
    layout_yields_to_other_findings();
    later_faults_yield_to_earlier_ones();
    the_strongest_fault_of_a_barrier();
    conflicts_yield_to_barriers();
    one_finding_for_a_barrier();
    one_publication_of_the_inits();
    block_yields_to_leak();
    leak_yields_to_causes();
    blocks_yield_to_causes();
  }
  bool kept(std::size_t i) const { return kept_[i]; }

 private:
  static auto place(const Ref& ref) { return std::tuple(ref.at.line, ref.at.col, ref.path, ref.cta, ref.warp); }

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
  // Rules 2 and 3: of the faults of one executed instruction the first in the list is the one.
  void first_fault_of_an_instruction() {
    lanes_outside_are_wrong_lanes();
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

  // Lanes that are wrong for every warp leave the memory only where the last warp names them: one fault of the statement, the one
  // that all its warps share.
  void lanes_outside_are_wrong_lanes() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!c.also) continue;
      for (std::size_t k = 0; k < candidates_.size(); ++k) {
        Candidate& shared = candidates_[k];
        if (!kept_[k] || shared.verdict != *c.also || !same_statement(shared, c)) continue;
        shared.count += c.count;
        kept_[i] = false;
        break;
      }
    }
  }

  // Threads that went past a barrier that the others of their warp wait in lack the order that it gives: that has been told.
  void conflicts_yield_to_partial_barriers() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> ahead_since;  // instruction of the warp, by (CTA, warp)
    for (const Candidate& c : candidates_) {
      if (!c.others_ran_ahead) continue;
      for (const Instance& one : all_at(c)) {
        const auto [known, made] = ahead_since.try_emplace({one.cta, one.warp}, one.number);
        if (!made) known->second = std::min(known->second, one.number);
      }
    }
    if (ahead_since.empty()) return;
    const auto is_ahead = [&](const Instance& one) {
      const auto since = ahead_since.find({one.cta, one.warp});
      return since != ahead_since.end() && one.number >= since->second;
    };
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!is_conflict(c.verdict) && !is_one_of(c.verdict, {Verdict::dealloc_live, Verdict::peer_lifecycle, Verdict::unallocated_access})) continue;
      const std::vector<Instance> at = all_at(c), other = all_other(c);
      bool all = true;
      for (std::size_t k = 0; k < at.size(); ++k) all = all && (is_ahead(at[k]) || (k < other.size() && is_ahead(other[k])));
      if (all) kept_[i] = false;
    }
  }

  static bool same_statement(const Candidate& a, const Candidate& b) { return a.at.path == b.at.path && a.at.op == b.at.op; }

  // One pair of instructions, one finding: where some of its instances are ordered and others not, the ordered ones name it.
  void unordered_pairs_yield_to_ordered_ones() {
    const auto pair_of = [](const Candidate& c) { return std::minmax(c.at.path, c.other ? c.other->path : c.at.path); };
    std::set<std::pair<std::string, std::string>> named;
    for (const Candidate& c : candidates_)
      if (is_conflict(c) && !c.unordered && c.other) named.insert(pair_of(c));
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].unordered && named.count(pair_of(candidates_[i])) != 0) kept_[i] = false;
  }

  // A copy that overwrites what it wrote itself a round ago, where somebody else's use of the same data lacks the order: whatever
  // orders that use orders the next round, too.
  void statements_yield_to_others() {
    std::set<std::tuple<bool, std::string, std::string>> used;  // statement and storage
    const auto itself = [](const Candidate& c) { return c.other && c.at.path == c.other->path && c.at.op == c.other->op && c.at.op == "cp.async.bulk"; };
    for (const Candidate& c : candidates_) {
      if (!is_conflict(c.verdict) || !c.other || itself(c)) continue;
      used.insert({is_about_scope(c), c.at.path, c.where.buffer});
      used.insert({is_about_scope(c), c.other->path, c.where.buffer});
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (is_conflict(c.verdict) && itself(c) && used.count({is_about_scope(c), c.at.path, c.where.buffer}) != 0) kept_[i] = false;
    }
  }

  // Two instructions that race in a loop meet in both orders: told with the later one in the program's text first.
  void pairs_are_told_one_way() {
    std::map<std::tuple<Verdict, std::string, std::string>, std::size_t> known;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || !is_conflict(c) || !c.other || c.at.path == c.other->path) continue;
      known.try_emplace({c.verdict, c.at.path, c.other->path}, i);
    }
    for (const auto& [key, i] : known) {
      const auto& [verdict, at, other] = key;
      const auto turned = known.find({verdict, other, at});
      if (turned == known.end() || !(place(candidates_[i].at) < place(candidates_[turned->second].at))) continue;
      candidates_[turned->second].count += candidates_[i].count;
      kept_[i] = false;
    }
  }

  // A commit covers all that its thread has issued: of several operations of one thread that are read too early the last one is
  // named, whichever had been issued when the read came.
  void reads_name_the_last_operation() {
    const auto operation = [&](std::size_t i) -> const Access* {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || c.verdict != Verdict::raw_mma || !is_error(c) || c.conflicts.empty()) return nullptr;
      const bool loads = c.conflicts.front().at.access.kind == AccessKind::ld;
      return loads && is_tensor_core(c.conflicts.front().other.access.kind) ? &c.conflicts.front().other.access : nullptr;
    };
    const auto last = [](const Candidate& c) {
      std::uint32_t number = 0;
      for (const Instance& one : all_other(c)) number = std::max(number, one.number);
      return number;
    };
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Access* x = operation(i);
      for (std::size_t k = 0; x != nullptr && k < candidates_.size(); ++k) {
        const Access* y = k == i ? nullptr : operation(k);
        if (y == nullptr || candidates_[k].at.path != candidates_[i].at.path) continue;
        const std::vector<Instance> reads = all_at(candidates_[k]);
        const bool one_thread = x->cta == y->cta && x->issue_agent == y->issue_agent;
        if (one_thread && last(candidates_[i]) < last(candidates_[k]) && covered(all_at(candidates_[i]), {reads.begin(), reads.end()})) kept_[i] = false;
      }
    }
  }

  // A pair that is also in no order at all, or not complete, is told as that.
  void scopes_yield_to_errors() {
    std::set<std::pair<std::string, std::string>> told;
    const auto pair_of = [](const Candidate& c) { return std::minmax(c.at.path, c.other ? c.other->path : c.at.path); };
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (kept_[i] && candidates_[i].other && is_error(candidates_[i]) && !is_about_scope(candidates_[i])) told.insert(pair_of(candidates_[i]));
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (is_about_scope(candidates_[i]) && told.count(pair_of(candidates_[i])) != 0) kept_[i] = false;
  }

  // What a finding about two accesses says is missing between them. Findings are compared only where it is the same.
  enum class Missing : std::uint8_t { order, completion, fence, proxy_fence, scope, nothing };
  static Missing missing(const Candidate& c) {
    if (!c.other) return Missing::nothing;
    if (is_about_scope(c)) return Missing::scope;
    if (c.verdict == Verdict::missing_fence) return Missing::fence;
    if (c.verdict == Verdict::proxy_fence) return Missing::proxy_fence;
    const bool frees = is_one_of(c.verdict, {Verdict::dealloc_live, Verdict::peer_lifecycle});
    if (c.conflicts.empty() || !(frees || is_conflict(c))) return Missing::nothing;
    return c.unordered ? Missing::order : kind_of_other(c) == AccessKind::order ? Missing::nothing : Missing::completion;
  }
  // The earlier access is asynchronous, and lacks its completion or any order at all.
  static bool is_async(const Candidate& c) { return is_one_of_missing(missing(c)) && kind_of_other(c) != AccessKind::order; }
  static bool is_one_of_missing(Missing what) { return what == Missing::completion || what == Missing::order; }
  static AccessKind kind_of_other(const Candidate& c) { return c.conflicts.empty() ? AccessKind::order : c.conflicts.front().other.access.kind; }

  // Whether both are completed by the same waits: wait::ld or wait::st of one warp, a commit of one thread.
  static bool same_completion(const Candidate& a, const Candidate& b) {
    if (!a.other || !b.other) return false;
    const AccessKind kind = kind_of_other(a), other = kind_of_other(b);
    if (is_tensor_core(kind)) return is_tensor_core(other) && a.other->lanes == b.other->lanes;
    return kind == other && is_one_of_kinds(kind, {AccessKind::ld, AccessKind::st});
  }
  static bool is_one_of_kinds(AccessKind kind, std::initializer_list<AccessKind> list) { return std::find(list.begin(), list.end(), kind) != list.end(); }

  // The pairs of instances of one candidate, by the warps that they belong to.
  class Pairs {
   public:
    explicit Pairs(const Candidate& c) {
      add(c.other_instance, c.at_instance);
      for (std::size_t k = 0; k < c.more_at.size(); ++k) add(c.more_other[k], c.more_at[k]);
    }
    // Whether some pair (x1, y1) stands inside (x, y): x, ..., x1 in one warp and y1, ..., y in another. What orders the inner two
    // orders the outer ones.
    bool some_inside(const Instance& x, const Instance& y) const {
      const auto found = pairs_.find({x.cta, x.warp, y.cta, y.warp});
      return found != pairs_.end() && std::any_of(found->second.begin(), found->second.end(), [&](const auto& pair) {
               return pair.first >= x.number && pair.second <= y.number;
             });
    }

   private:
    void add(const Instance& x, const Instance& y) {
      auto& of_warps = pairs_[{x.cta, x.warp, y.cta, y.warp}];
      const std::pair<std::uint32_t, std::uint32_t> pair{x.number, y.number};
      const bool known = std::any_of(of_warps.begin(), of_warps.end(), [&](const auto& one) { return one.first >= pair.first && one.second <= pair.second; });
      if (known) return;
      std::erase_if(of_warps, [&](const auto& one) { return one.first <= pair.first && one.second >= pair.second; });
      of_warps.push_back(pair);
    }
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>> pairs_;
  };

  // Of two pairs that lack the same between the same two warps, the outer one yields: what is missing inside is missing outside.
  void pairs_yield_to_pairs_between() {
    std::vector<std::size_t> told;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (kept_[i] && missing(candidates_[i]) != Missing::nothing && candidates_[i].count <= candidates_[i].more_at.size() + 1) told.push_back(i);
    constexpr std::size_t most = 256;
    if (told.size() < 2 || told.size() > most) return;
    std::vector<Pairs> pairs;
    pairs.reserve(told.size());
    for (std::size_t i : told) pairs.emplace_back(candidates_[i]);
    const auto is_outside = [&](std::size_t outer, std::size_t inner) {
      const Candidate& c = candidates_[told[outer]];
      if (!pairs[inner].some_inside(c.other_instance, c.at_instance)) return false;
      for (std::size_t k = 0; k < c.more_at.size(); ++k)
        if (!pairs[inner].some_inside(c.more_other[k], c.more_at[k])) return false;
      return true;
    };
    for (std::size_t outer = 0; outer < told.size(); ++outer) {
      for (std::size_t inner = 0; inner < told.size(); ++inner) {
        const Candidate &yields = candidates_[told[outer]], &stays = candidates_[told[inner]];
        if (inner == outer || !kept_[told[inner]] || is_error(yields) > is_error(stays)) continue;
        // Where the inner two are in no order at all, an asynchronous one has to be complete, too.
        const bool alike = missing(yields) == missing(stays) || (missing(yields) == Missing::completion && missing(stays) == Missing::order);
        if (!alike || kind_of_other(yields) == AccessKind::bulk) continue;
        if (missing(yields) == Missing::completion && !same_completion(yields, stays)) continue;
        if (!is_outside(outer, inner)) continue;
        kept_[told[outer]] = false;
        break;
      }
    }
  }

  // One statement that comes too early for several operations of one thread lacks one wait: it is told with the first of them in
  // the program's text.
  void one_wait_for_a_thread() {
    std::map<std::tuple<std::string, Verdict, Missing, std::uint32_t, std::uint32_t>, std::size_t> first_of;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || !is_one_of(c.verdict, {Verdict::raw_mma, Verdict::war_mma}) || !c.other || !is_tensor_core(kind_of_other(c)) || !is_error(c)) continue;
      const auto [known, made] = first_of.try_emplace({c.at.path, c.verdict, missing(c), c.other_instance.cta, c.other_instance.warp}, i);
      if (made) continue;
      const bool first = place(*c.other) < place(*candidates_[known->second].other);
      kept_[first ? known->second : i] = false;
      if (first) known->second = i;
    }
  }

  // A lane whose address leaves the memory in one round uses a wrong address in the others, too: what it meets there is no fault
  // of its own.
  void lanes_with_a_wrong_address() {
    std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t> wrong;  // lanes, by statement, CTA, warp
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (kept_[i] && c.verdict == Verdict::out_of_bounds && is_error(c) && c.count <= 1 + c.more_at.size())
        for (const Instance& one : all_at(c)) wrong[{c.at.path, one.cta, one.warp}] |= c.at.lanes;
    }
    if (wrong.empty()) return;
    const auto all_wrong = [&](const Ref& ref, const std::vector<Instance>& instances) {
      return !instances.empty() && std::all_of(instances.begin(), instances.end(), [&](const Instance& one) {
               const auto lanes = wrong.find({ref.path, one.cta, one.warp});
               return lanes != wrong.end() && (ref.lanes & ~lanes->second) == 0;
             });
    };
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (is_conflict(c.verdict) && (all_wrong(c.at, all_at(c)) || (c.other && all_wrong(*c.other, all_other(c))))) kept_[i] = false;
    }
  }

  // Rule 6: the missing wait::ld that lets cells be overwritten or freed is reported there.
  void registers_yield_to_cells() {
    const auto loads = instances([](const Candidate& c) { return is_one_of(c.verdict, {Verdict::war_ld, Verdict::dealloc_live}); },
                                 [](const Candidate& c) { return all_other(c); });
    std::set<std::string> incomplete;  // statements
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (kept_[i] && missing(candidates_[i]) == Missing::completion && kind_of_other(candidates_[i]) == AccessKind::ld) incomplete.insert(candidates_[i].other->path);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (c.verdict != Verdict::read_before_wait) continue;
      if (c.other && incomplete.count(c.other->path) != 0) kept_[i] = false;  // other rounds of one missing wait
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
    const auto told = instances([](const Candidate& c) { return is_conflict(c); }, [](const Candidate& c) { return both(c); });
    drop_covered(Verdict::dealloc_live, told, [](const Candidate& c) { return c.other ? all_other(c) : all_at(c); });
    // The commit that an early read lacks would cover what its thread had issued before, too.
    const auto of_tensor_core = [](const Candidate& c) { return !c.conflicts.empty() && is_tensor_core(c.conflicts.front().other.access.kind); };
    const auto thread_of = [](const Candidate& c) { return std::pair(c.conflicts.front().other.access.cta, c.conflicts.front().other.access.issue_agent); };
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> uncommitted;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || c.verdict != Verdict::raw_mma || !is_error(c) || !of_tensor_core(c)) continue;
      std::uint32_t& number = uncommitted[thread_of(c)];
      for (const Instance& one : all_other(c)) number = std::max(number, one.number);
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (c.verdict != Verdict::dealloc_live || !c.other || !of_tensor_core(c)) continue;
      const auto until = uncommitted.find(thread_of(c));
      const std::vector<Instance> freed = all_other(c);
      if (until != uncommitted.end() && std::all_of(freed.begin(), freed.end(), [&](const Instance& one) { return one.number <= until->second; })) kept_[i] = false;
    }
    // The same wait of another round.
    std::set<std::pair<std::string, std::string>> incomplete;  // statement, operation
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (kept_[i] && is_conflict(candidates_[i]) && is_error(candidates_[i]) && is_async(candidates_[i])) incomplete.insert({candidates_[i].other->path, candidates_[i].other->op});
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (is_one_of(c.verdict, {Verdict::dealloc_live, Verdict::peer_lifecycle}) && missing(c) == Missing::completion && incomplete.count({c.other->path, c.other->op}) != 0) kept_[i] = false;
    }
  }

  // Whatever orders the last access of a warp before the dealloc orders the earlier ones, too.
  void dealloc_names_the_last_access() {
    std::set<std::pair<std::string, Instance>> earlier;  // accesses that another told one comes after, by dealloc statement
    for (const Candidate& c : candidates_)
      if (c.verdict == Verdict::dealloc_live)
        for (const Instance& one : c.after) earlier.insert({c.at.path, one});
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || !is_one_of(c.verdict, {Verdict::dealloc_live, Verdict::peer_lifecycle}) || !c.other) continue;
      const std::vector<Instance> freed = all_other(c);
      if (std::all_of(freed.begin(), freed.end(), [&](const Instance& one) { return earlier.count({c.at.path, one}) != 0; })) kept_[i] = false;
    }
    std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::uint32_t> last;  // by dealloc statement and warp
    const auto for_each_pair = [](const Candidate& c, auto&& visit) {
      visit(c.at_instance, c.other_instance);
      for (std::size_t k = 0; k < c.more_at.size(); ++k) visit(c.more_at[k], c.more_other[k]);
    };
    const auto frees = [&](std::size_t i) { return kept_[i] && candidates_[i].other && is_one_of(candidates_[i].verdict, {Verdict::dealloc_live, Verdict::peer_lifecycle}); };
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!frees(i)) continue;
      for_each_pair(candidates_[i], [&](const Instance&, const Instance& other) {
        std::uint32_t& number = last[{candidates_[i].at.path, other.cta, other.warp}];
        number = std::max(number, other.number);
      });
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!frees(i)) continue;
      bool is_last = false;
      for_each_pair(candidates_[i], [&](const Instance&, const Instance& other) { is_last = is_last || last.at({candidates_[i].at.path, other.cta, other.warp}) == other.number; });
      if (!is_last) kept_[i] = false;
    }
  }

  // Rule 9: a cell or byte that some unordered write was meant for is not "never written", whoever uses the value in the end. Of
  // the reads of one statement by one warp the last stands for the earlier ones, too.
  void uninit_yields_to_conflict() {
    const auto told = instances([](const Candidate& c) { return is_conflict(c); }, [](const Candidate& c) { return both(c); });
    std::map<std::string, std::set<Instance>> told_of;  // by statement
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || !is_conflict(c)) continue;
      for (const Instance& one : all_at(c)) told_of[c.at.path].insert(one);
      for (const Instance& one : all_other(c)) told_of[c.other->path].insert(one);
    }
    std::set<std::uint32_t> lost;  // CTAs in whose tensor memory something was to be written at an address that was read too early
    for (const Candidate& c : candidates_) {
      if (c.verdict != Verdict::addr_publish) continue;
      const auto lose = [&](const Ref& user, const std::vector<Instance>& uses) {
        if (!is_one_of_names(user.op, {"tcgen05.st", "tcgen05.mma", "tcgen05.cp", "tcgen05.shift"})) return;
        for (const Instance& use : uses) {
          lost.insert(use.cta);
          if (user.op != "tcgen05.st") lost.insert(use.cta ^ 1u);  // a pair's
        }
      };
      lose(c.at, all_at(c));
      if (c.other) lose(*c.other, all_other(c));
    }
    const auto told_later = [&](const std::string& path, const Instance& use) {
      const auto later = told_of[path].lower_bound(use);
      return later != told_of[path].end() && later->cta == use.cta && later->warp == use.warp;
    };
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (c.verdict != Verdict::uninit_read) continue;
      const auto explained = [&](const Instance& use, const std::optional<Instance>& origin) {
        return (c.where.space == "tmem" && lost.count(use.cta) != 0) || told.count(use) != 0 || (origin && told.count(*origin) != 0) || told_later(c.at.path, use);
      };
      bool all = explained(c.at_instance, c.origin);
      for (std::size_t k = 0; all && k < c.more_at.size(); ++k) all = explained(c.more_at[k], c.more_origins[k]);
      if (all) kept_[i] = false;
    }
  }

  // Two warps inside alloc or dealloc at once, where the order that is missing between the two, or what they do to each other, has
  // been told.
  void warnings_yield_to_conflicts() {
    const auto told = instances([](const Candidate& c) { return is_conflict(c) || (c.verdict == Verdict::dealloc_mismatch && c.other); },
                                [](const Candidate& c) { return both(c); });
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].verdict == Verdict::participation && !is_error(candidates_[i]) && covered(both(candidates_[i]), told)) kept_[i] = false;
  }

  // Nothing is phrased in time: where nothing orders reads and writes of one storage, the writes come first as it were. Then the
  // first read of a warp meets the last write of the other; what it reads is known bad, and its later reads are not told.
  void the_first_reader_and_the_last_writer() {
    struct Pair {
      Instance reader, writer;
      auto operator<=>(const Pair&) const = default;
    };
    const auto tells = [&](std::size_t i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || !c.unordered || !is_conflict(c.verdict) || !c.other || c.conflicts.empty()) return false;
      const Conflict& sides = c.conflicts.front();  // may be told the other way round than it stands there
      return sides.at.writes != sides.other.writes;
    };
    const auto pairs_of = [&](const Candidate& c) {
      std::vector<Pair> pairs;
      const bool at_reads = !c.conflicts.front().at.writes;
      const auto take = [&](const Instance& at, const Instance& other) { pairs.push_back(at_reads ? Pair{at, other} : Pair{other, at}); };
      take(c.at_instance, c.other_instance);
      for (std::size_t k = 0; k < c.more_at.size(); ++k) take(c.more_at[k], c.more_other[k]);
      return pairs;
    };
    const auto inside = [](const auto& range, const auto& wider) { return !range || (wider && wider->first <= range->first && range->second <= wider->second); };
    const auto same_warp = [](const Instance& a, const Instance& b) { return a.cta == b.cta && a.warp == b.warp; };
    const auto stands_for = [&](const Pair& known, const Pair& pair) {
      return known != pair && same_warp(known.reader, pair.reader) && same_warp(known.writer, pair.writer) && known.reader <= pair.reader && pair.writer <= known.writer;
    };
    std::vector<std::size_t> told;
    std::vector<std::vector<Pair>> pairs;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!tells(i)) continue;
      told.push_back(i);
      pairs.push_back(pairs_of(candidates_[i]));
    }
    std::vector<std::size_t> later;
    for (std::size_t i = 0; i < told.size(); ++i) {
      const Place& where = candidates_[told[i]].where;
      const auto yields_to = [&](std::size_t k) {
        const Place& other = candidates_[told[k]].where;
        if (k == i || where.space != other.space || where.buffer != other.buffer || !inside(where.columns, other.columns) || !inside(where.bytes, other.bytes)) return false;
        return std::all_of(pairs[i].begin(), pairs[i].end(), [&](const Pair& pair) {
          return std::any_of(pairs[k].begin(), pairs[k].end(), [&](const Pair& known) { return stands_for(known, pair); });
        });
      };
      for (std::size_t k = 0; k < told.size(); ++k) {
        if (!yields_to(k)) continue;
        later.push_back(told[i]);
        break;
      }
    }
    for (std::size_t i : later) kept_[i] = false;
  }

  // Rule 9: a value in the wrong place is told only where nothing else is wrong with the instruction, in whatever instance.
  void layout_yields_to_other_findings() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].verdict != Verdict::layout_mismatch) continue;
      for (std::size_t k = 0; k < candidates_.size(); ++k) {
        const Candidate& c = candidates_[k];
        if (kept_[k] && c.verdict != Verdict::layout_mismatch && is_error(c) && same_statement(c, candidates_[i])) kept_[i] = false;
      }
    }
  }

  static bool is_error(const Candidate& c) { return !c.severity || *c.severity == Severity::error; }
  // A note, too: where a conflict or a standstill follows from it, it is no mere note.
  bool is_barrier_fault(std::size_t i) const {
    const Candidate& c = candidates_[i];
    return kept_[i] && c.barrier && c.barrier_fault != BarrierFault::none && c.barrier_fault != BarrierFault::standstill;
  }

  static bool knows(const View& view, const Instance& event, std::uint32_t lanes) {
    for (; lanes != 0; lanes &= lanes - 1)
      if (view.order(event.cta, event.warp, static_cast<std::uint32_t>(std::countr_zero(lanes))) >= event.number) return true;
    return false;
  }

  // Threads that go on because of a faulty barrier break the rules of others: the first fault in that chain is the one.
  void later_faults_yield_to_earlier_ones() {
    const auto follows = [](const Candidate& later, const Candidate& earlier) {
      if (earlier.chain.in_doubt == BarrierChain::no_phase) return false;
      if (earlier.chain.in_doubt < 0) return (later.chain.passed_new & earlier.chain.bit) != 0;
      if (later.barrier == earlier.barrier) return false;
      // A wait that has let its threads go on too early: they run ahead elsewhere.
      const bool runs_ahead = later.chain.gone_round || later.barrier_fault == BarrierFault::overtaken;
      if (runs_ahead && earlier.chain.stale && knows(later.chain.knew, earlier.at_instance, earlier.at.lanes)) return true;
      return later.chain.knew.count(earlier.barrier->cta, earlier.chain.agent) > earlier.chain.in_doubt;
    };
    const auto leaves_early = [](const Candidate& c) { return !c.other && is_one_of(c.verdict, {Verdict::dealloc_live, Verdict::peer_lifecycle}); };
    const auto waits_for = [](const Candidate& c, const BarrierKey& key) { return std::find(c.blocked_on.begin(), c.blocked_on.end(), key) != c.blocked_on.end(); };
    std::vector<std::size_t> faults;
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (is_barrier_fault(i)) faults.push_back(i);
    std::vector<bool> yields(candidates_.size(), false);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& later = candidates_[i];
      const bool standstill = !later.blocked_ctas.empty();
      if (!kept_[i] || !(is_barrier_fault(i) || standstill || leaves_early(later))) continue;
      for (std::size_t k : faults) {
        const Candidate& earlier = candidates_[k];
        if (k == i || !(follows(later, earlier) || (leaves_early(later) && waits_for(later, *earlier.barrier))) || follows(earlier, later)) continue;
        yields[i] = true;
        if (is_error(later)) is_the_cause(k);
        if (later.barrier) upstream_[*later.barrier].insert(k);
      }
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (yields[i]) kept_[i] = false;
  }

  // More than a note: an error has come of it.
  void is_the_cause(std::size_t i) {
    if (candidates_[i].severity == Severity::note) candidates_[i].severity = Severity::error;
  }

  // Of several faults of one mbarrier the first in the order of BarrierFault is the cause.
  void the_strongest_fault_of_a_barrier() {
    std::map<BarrierKey, BarrierFault> strongest;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!is_barrier_fault(i)) continue;
      const auto [at, made] = strongest.try_emplace(*candidates_[i].barrier, candidates_[i].barrier_fault);
      if (!made) at->second = std::min(at->second, candidates_[i].barrier_fault);
    }
    std::set<std::int64_t> sent_elsewhere;  // signals that were meant for a barrier here, in some CTA of the cluster
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (is_barrier_fault(i) && is_error(candidates_[i]) && candidates_[i].verdict == Verdict::mbar_target) sent_elsewhere.insert(candidates_[i].barrier->offset);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!is_barrier_fault(i)) continue;
      const bool follows = candidates_[i].barrier_fault > BarrierFault::object && sent_elsewhere.count(candidates_[i].barrier->offset) != 0;
      if (follows || candidates_[i].barrier_fault > strongest.at(*candidates_[i].barrier)) kept_[i] = false;
    }
  }

  // Rule 7: a conflict between what was handed over through a faulty barrier and what came behind a wait on it is that fault. But
  // where some instance has no faulty barrier between its two sides the conflict is the fault, and arrivals and waits that only
  // run ahead on these barriers follow from it. So they do where running ahead is no error.
  void conflicts_yield_to_barriers() {
    std::set<BarrierKey> faulty;
    for (const auto& [key, causes] : upstream_) faulty.insert(key);
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if ((is_barrier_fault(i) && (is_error(candidates_[i]) || !candidates_[i].chain.gone_round)) ||
          (kept_[i] && candidates_[i].verdict == Verdict::mbar_tx && candidates_[i].barrier))
        faulty.insert(*candidates_[i].barrier);
    std::set<BarrierKey> only_ahead, at_work;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || c.conflicts.empty()) continue;
      const bool explained = std::all_of(c.conflicts.begin(), c.conflicts.end(), [&](const Conflict& conflict) {
        return std::any_of(conflict.explained_by.begin(), conflict.explained_by.end(), [&](const BarrierKey& key) { return faulty.count(key) != 0; });
      });
      if (explained) {
        kept_[i] = false;
        for (const Conflict& conflict : c.conflicts) at_work.insert(conflict.explained_by.begin(), conflict.explained_by.end());
      } else only_ahead.insert(c.signalled.begin(), c.signalled.end());
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const bool ahead = candidates_[i].barrier_fault == BarrierFault::unobserved || candidates_[i].barrier_fault == BarrierFault::overtaken;
      if (is_barrier_fault(i) && ahead && only_ahead.count(*candidates_[i].barrier) != 0) kept_[i] = false;
      if (is_barrier_fault(i) && at_work.count(*candidates_[i].barrier) != 0) is_the_cause(i);
    }
    for (const auto& [key, causes] : upstream_)
      for (std::size_t cause : causes)
        if (at_work.count(key) != 0) is_the_cause(cause);
  }

  // Which of the instructions that meet at a faulty barrier come first depends on the schedule: the finding names the first in
  // the program's text, and of arrivals the last.
  void one_finding_for_a_barrier() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      Candidate& c = candidates_[i];
      if (is_barrier_fault(i) && c.unordered && c.other && place(c.at) < place(*c.other)) swap_sides(c);
    }
    std::map<std::tuple<Verdict, std::string, BarrierKey>, std::size_t> first_of;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!is_barrier_fault(i)) continue;
      Candidate& c = candidates_[i];
      const bool nothing_there = c.verdict == Verdict::mbar_uninit && !c.other;  // one missing init for all of a buffer
      const auto [known, made] = first_of.try_emplace(nothing_there ? std::tuple(c.verdict, c.where.buffer, BarrierKey{}) : std::tuple(c.verdict, std::string(), *c.barrier), i);
      if (made) continue;
      Candidate& kept = candidates_[known->second];
      const bool later = c.verdict == Verdict::mbar_count ? place(kept.at) < place(c.at) : place(c.at) < place(kept.at);
      if (later) {
        std::swap(kept.at, c.at);
        std::swap(kept.at_instance, c.at_instance);
        kept.message = c.message;
      }
      if (c.other && (!kept.other || place(*c.other) < place(*kept.other))) {
        kept.other = c.other;
        kept.other_instance = c.other_instance;
      }
      kept_[i] = false;
    }
  }

  // What one thread has initialised is published by one fence and one barrier: without them every use of its barriers comes too
  // early. Told for the first that it has initialised.
  void one_publication_of_the_inits() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> first_of;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!is_barrier_fault(i) || c.verdict != Verdict::mbar_uninit || !c.other || c.other->op != "mbarrier.init" || c.at.op == "mbarrier.init") continue;
      const auto [known, made] = first_of.try_emplace({c.other_instance.cta, c.other_instance.warp, c.other->lanes}, i);
      if (made) continue;
      const Candidate& told = candidates_[known->second];
      const bool first = std::tuple(place(*c.other), place(c.at)) < std::tuple(place(*told.other), place(told.at));
      kept_[first ? known->second : i] = false;
      if (first) known->second = i;
    }
  }

  // What a refused alloc has got all the same is no leak; nor is what a dealloc that waits for its peer was to free (rule 4).
  void leak_yields_to_causes() {
    const auto refused = instances([](const Candidate& c) { return is_one_of(c.verdict, {Verdict::alloc_permit, Verdict::alloc_size}); }, [](const Candidate& c) { return all_at(c); });
    drop_covered(Verdict::alloc_leak, refused, [](const Candidate& c) { return all_at(c); });
    std::set<std::uint32_t> blocked;  // CTAs
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& c = candidates_[i];
      if (!kept_[i] || c.blocked_ctas.empty()) continue;
      for (const Ref* ref : {&c.at, c.other ? &*c.other : &c.at})
        if (ref->op == "tcgen05.dealloc") blocked.insert({ref->cta, ref->cta ^ 1u});
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].verdict == Verdict::alloc_leak && blocked.count(candidates_[i].at.cta) != 0) kept_[i] = false;
  }

  // An alloc that waits for columns that somebody has left behind: the leak is the fault.
  void block_yields_to_leak() {
    const auto leaked = instances([](const Candidate& c) { return c.verdict == Verdict::alloc_leak; }, [](const Candidate& c) { return all_at(c); });
    drop_covered(Verdict::alloc_blocked, leaked, [](const Candidate& c) { return all_other(c); });
  }

  // Rule 8: a standstill that follows from a wrong set of threads, or from a fault of the barrier that is waited for, is that fault.
  void blocks_yield_to_causes() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const Candidate& block = candidates_[i];
      if (!kept_[i] || block.blocked_ctas.empty()) continue;
      const bool explained = std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& c) {
        const auto index = static_cast<std::size_t>(&c - candidates_.data());
        if (index == i || !kept_[index] || !is_error(c) || !c.blocked_ctas.empty()) return false;
        const bool same_cta = std::find(block.blocked_ctas.begin(), block.blocked_ctas.end(), c.at.cta) != block.blocked_ctas.end();
        if (c.verdict == Verdict::participation) return same_cta;
        return c.barrier && std::any_of(block.blocked_on.begin(), block.blocked_on.end(), [&](const BarrierKey& key) {
                 return c.verdict == Verdict::mbar_target ? key.offset == c.barrier->offset : key == *c.barrier;
               });
      });
      if (explained) kept_[i] = false;
    }
  }

  template <class Instances> void drop_covered(Verdict verdict, const std::set<Instance>& told, Instances&& of) {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (candidates_[i].verdict == verdict && covered(of(candidates_[i]), told)) kept_[i] = false;
  }

  std::vector<Candidate>& candidates_;
  std::vector<bool> kept_;
  std::map<BarrierKey, std::set<std::size_t>> upstream_;  // of barriers whose own faults follow from others: from which
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

std::vector<Finding> resolve(std::vector<Candidate> candidates, const Profile& profile) {
  Resolver resolver(candidates);
  resolver.apply();
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!resolver.kept(i)) continue;
    Finding finding = finding_of(candidates[i], profile);
    if (finding.severity == Severity::none) continue;
    const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& known) {  // the same pair at several barriers
      return known.verdict == finding.verdict && known.severity == finding.severity && known.at.path == finding.at.path && known.at.op == finding.at.op &&
             known.other.has_value() == finding.other.has_value() && (!known.other || (known.other->path == finding.other->path && known.other->op == finding.other->op));
    });
    if (same == findings.end()) findings.push_back(std::move(finding));
    else same->count += finding.count;
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
