// Nobody can go on: what the threads wait for, who could bring it, and which of them is the first to miss something.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/exec/dispatch.hpp"

namespace tmemsim::sim {
namespace {

// The mbarrier operand of an operation that signals it; null for others.
const Mem* signalled_barrier(const Step& step) {
  if (step.kind != Step::Kind::op) return nullptr;
  const auto& op = std::get<MachineOps::Any>(step.stmt->node);
  if (const auto* arrive = std::get_if<MbarrierArrive>(&op)) return &arrive->bar;
  if (const auto* expect = std::get_if<MbarrierArriveExpectTx>(&op)) return &expect->bar;
  if (const auto* commit = std::get_if<TcgenCommit>(&op)) return &commit->bar;
  if (const auto* copy = std::get_if<BulkCopy>(&op)) return copy->bar ? &*copy->bar : nullptr;
  return nullptr;
}

// Whether a thread that stands at `from` may still come to the step: it lies ahead, or in a loop around both.
bool lies_ahead(const Program& program, std::uint32_t from, std::uint32_t step) {
  if (step > from) return true;
  for (std::uint32_t i = from; i < program.steps.size(); ++i) {
    const Step& back = program.steps[i];
    const bool jumps = back.kind == Step::Kind::jump || back.kind == Step::Kind::loop_next;
    if (jumps && back.target <= step) return true;
  }
  return false;
}

// The buffer of mbarriers that has an object at this byte of every window.
std::optional<BufferId> buffer_of_barrier(const Kernel& kernel, std::int64_t offset) {
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    const Buffer& buffer = kernel.buffers[i];
    const std::int64_t first = buffer.offset.value_or(0);
    if (buffer.space == Space::shared && buffer.dtype == Dtype::mbarrier && offset >= first && offset < first + byte_size(buffer)) return static_cast<BufferId>(i);
  }
  return std::nullopt;
}

class StandstillReport {
 public:
  StandstillReport(Machine& machine, const std::vector<Machine::Blocked>& blocked) : machine_(machine), blocked_(blocked) {
    for (const Machine::Blocked& one : blocked) take(one);
  }

  Candidate finding() const {
    Candidate found = phase_ ? *phase_ : tx_ ? *tx_ : count_ ? *count_ : deadlock_;
    found.verdict = phase_ ? Verdict::mbar_phase : tx_ ? Verdict::mbar_tx : count_ ? Verdict::mbar_count : Verdict::deadlock;
    found.barrier_fault = BarrierFault::standstill;
    found.chain = chain_;
    found.blocked_on = blocked_on_;
    found.blocked_ctas = blocked_ctas_;
    found.message += (found.message.empty() ? "" : "; ") + everybody();
    return found;
  }

 private:
  // Whoever waits for something that none of the others can bring stands still for himself: he is told first. Threads at a barrier
  // of threads may only miss those who wait for a phase.
  enum class Rank : std::uint8_t { nobody_can_help, waits_for_phase, waits_for_threads };

  void take(const Machine::Blocked& one) {
    Cta& cta = machine_.ctas[one.warp->cta];
    note_chain(one);
    Candidate found;
    found.at = machine_.ref(one.group->pc, *one.warp, one.group->lanes);
    found.at_instance = {cta.index, one.warp->warp, one.group->number};
    found.where.space = "barrier";
    found.where.cta = cta.index;
    std::string what;
    Rank rank = Rank::waits_for_threads;
    if (const std::optional<std::int64_t> offset = barrier_of(one)) {
      const Mbarrier* barrier = mbarrier_at(cta, *offset);
      const std::string helpers = barrier ? who_could_arrive(one, *offset) : "";
      what = barrier ? fmt::format("an mbarrier: {}; {}", why_incomplete(*barrier).text, helpers.empty() ? "no thread that is left could arrive" : helpers) : "an mbarrier";
      rank = helpers.empty() ? Rank::nobody_can_help : Rank::waits_for_phase;
      blocked_on_.push_back({cta.index, *offset});
      if (barrier) look_at_phase(one, cta, *barrier, found);
    } else {
      what = what_else(one, cta);
    }
    blocked_ctas_.push_back(cta.index);
    note_waiting(cta.index, one.warp->warp, found.at.path, what);
    tell_first(std::move(found), rank);
  }

  // Warps of a CTA that wait alike are told together.
  struct Waiting {
    std::uint32_t cta = 0;
    std::string path, what;
    std::vector<std::uint32_t> warps;
  };
  void note_waiting(std::uint32_t cta, std::uint32_t warp, const std::string& path, const std::string& what) {
    for (Waiting& known : waiting_) {
      if (known.cta != cta || known.path != path || known.what != what) continue;
      if (known.warps.back() != warp) known.warps.push_back(warp);
      return;
    }
    waiting_.push_back({cta, path, what, {warp}});
  }
  std::string everybody() const {
    std::string text;
    for (const Waiting& one : waiting_)
      text += fmt::format("{}CTA {} warp{} {} at {} for {}", text.empty() ? "" : "; ", one.cta, one.warps.size() == 1 ? fmt::format(" {}", one.warps.front()) : fmt::format("s {}", fmt::join(one.warps, ", ")),
                          one.warps.size() == 1 ? "waits" : "wait", one.path, one.what);
    return text;
  }

  void tell_first(Candidate found, Rank rank) {
    if (!any_ || rank < first_rank_) {
      if (any_ && deadlock_.at.path != found.at.path) {
        found.other = deadlock_.at;
        found.other_instance = deadlock_.at_instance;
      } else if (any_) {
        found.other = deadlock_.other;
        found.other_instance = deadlock_.other_instance;
      }
      deadlock_ = std::move(found);
      first_rank_ = rank;
      any_ = true;
    } else if (!deadlock_.other && found.at.path != deadlock_.at.path) {
      deadlock_.other = found.at;
      deadlock_.other_instance = found.at_instance;
    }
  }

  void note_chain(const Machine::Blocked& one) {
    for (const ViewGroup& group : one.warp->views) {
      if ((group.lanes & one.group->lanes) == 0) continue;
      chain_.knew.join(group.views.any);
      chain_.passed_new |= group.views.passed_new;
    }
  }

  static std::optional<std::int64_t> barrier_of(const Machine::Blocked& one) {
    if (one.group->state == LaneGroup::State::mbarrier) return one.group->waits_for;
    if (one.group->state == LaneGroup::State::ready && one.warp->polled_barrier >= 0) return one.warp->polled_barrier;
    return std::nullopt;
  }

  std::string what_else(const Machine::Blocked& one, const Cta& cta) const {
    switch (one.group->state) {
      case LaneGroup::State::barrier: return fmt::format("barrier {}, for {}", one.group->waits_for, missing_at_barrier(machine_, cta, one.group->waits_for));
      case LaneGroup::State::warp_sync: return fmt::format("bar.warp.sync, for lanes {:#010x}", one.group->waits_for & ~one.group->lanes);
      case LaneGroup::State::cluster:
        return (one.group->lanes & ~one.warp->cluster_arrived) ? "the cluster barrier, without having arrived" : "the cluster barrier, for threads that have not arrived";
      case LaneGroup::State::pair: return "its peer, for the other half of the operation";
      default: return "the other lanes of its warp";
    }
  }

  // Blocked threads that stand before an operation that signals the barrier; empty: none.
  std::string who_could_arrive(const Machine::Blocked& waiting, std::int64_t offset) const {
    constexpr std::size_t most_named = 4;
    const std::optional<BufferId> buffer = buffer_of_barrier(machine_.kernel, offset);
    std::vector<std::string> named;
    for (std::uint32_t i = 0; i < machine_.program.steps.size() && named.size() < most_named; ++i) {
      const Step& step = machine_.program.steps[i];
      const Mem* bar = signalled_barrier(step);
      if (bar == nullptr || (buffer && bar->buffer != *buffer)) continue;
      for (const Machine::Blocked& other : blocked_) {
        const bool itself = other.warp == waiting.warp && other.group == waiting.group;
        const std::uint32_t lanes = lanes_of(step.where, other.warp->cta, other.warp->warp) & other.group->lanes;
        if (itself || lanes == 0 || !lies_ahead(machine_.program, other.group->pc, i)) continue;
        const Ref ref = machine_.ref(i, *other.warp, lanes);
        named.push_back(fmt::format("CTA {} warp {} by {}{} at line {}", other.warp->cta, other.warp->warp, ref.op, ref.label.empty() ? "" : fmt::format(" ({})", ref.label), ref.at.line));
        break;
      }
    }
    return named.empty() ? "" : fmt::format("those who could arrive: {}", fmt::join(named, ", "));
  }

  void look_at_phase(const Machine::Blocked& one, const Cta& cta, const Mbarrier& barrier, const Candidate& at) {
    const Standstill why = why_incomplete(barrier);
    Candidate found = at;
    if (const std::uint32_t record = barrier.named_arrival != 0 ? barrier.named_arrival : barrier.last_arrival; record != 0) set_other(found, record);
    found.message = fmt::format("the phase is never complete: {}", why.text);
    found.barrier = blocked_on_.back();
    if (why.tx && !has_opposite_residue(machine_, cta.cluster, barrier) && !tx_) {
      tx_ = found;
      if (barrier.named_expect != 0) set_other(*tx_, barrier.named_expect);
      if (barrier.tx < 0 && barrier.named_expect != 0) report_unexpected_bytes(machine_, machine_.accesses[barrier.named_expect].step);
    }
    if (why.count && !count_) count_ = found;
    const auto thread = one.warp->warp * 32 + static_cast<std::uint32_t>(std::countr_zero(one.group->lanes));
    if (one.group->meant != LaneGroup::no_phase && waits_for_an_older_phase(barrier, thread, static_cast<std::uint32_t>(one.group->meant & 1)) && !phase_) {
      phase_ = found;
      phase_->message = fmt::format("the wait names a phase that has passed, and the next of its parity never comes: {}", why.text);
    }
  }

  void set_other(Candidate& found, std::uint32_t record) const {
    found.other = machine_.ref(record);
    found.other_instance = machine_.instance_of(record);
  }

  Machine& machine_;
  const std::vector<Machine::Blocked>& blocked_;
  std::optional<Candidate> phase_, tx_, count_;
  Candidate deadlock_;
  Rank first_rank_ = Rank::waits_for_threads;
  bool any_ = false;
  std::vector<Waiting> waiting_;
  BarrierChain chain_;
  std::vector<BarrierKey> blocked_on_;
  std::vector<std::uint32_t> blocked_ctas_;
};

}  // namespace

void Machine::report_blocked() {
  std::vector<Blocked> allocs, others;
  std::vector<std::uint32_t> explained;  // CTAs whose standstill an alloc explains
  for (const Cta& cta : ctas) {
    for (const WarpState& warp : cta.warps) {
      for (const LaneGroup& group : warp.groups) {
        if (group.state == LaneGroup::State::alloc) allocs.push_back({&warp, &group});
        else others.push_back({&warp, &group});
      }
    }
  }
  if (allocs.empty() && others.empty()) return;
  stopped = true;
  const auto asks_too_much = [&](const Blocked& blocked) {
    return sms[ctas[blocked.warp->cta].sm].allocator.held_by(blocked.warp->cta) + blocked.group->waits_for > tcgen05::columns;
  };
  for (const Blocked& blocked : allocs) {
    const Cta& cta = ctas[blocked.warp->cta];
    const Sm& sm = sms[cta.sm];
    const std::uint32_t columns = blocked.group->waits_for, own = sm.allocator.held_by(cta.index);
    // Who waits for the columns of a CTA that can never go on: that one's request is the fault.
    if (!asks_too_much(blocked) && std::any_of(allocs.begin(), allocs.end(), [&](const Blocked& other) { return ctas[other.warp->cta].sm == cta.sm && asks_too_much(other); }))
      continue;
    Candidate found;
    found.at = ref(blocked.group->record);
    found.at_instance = {cta.index, blocked.warp->warp, blocked.group->number};
    found.where.space = "tmem";
    found.where.sm = cta.sm;
    found.where.cta = cta.index;
    if (asks_too_much(blocked)) {
      found.verdict = Verdict::alloc_capacity;
      found.message = fmt::format("the CTA holds {} columns and asks for {} more; there are 512", own, columns);
    } else {
      found.verdict = Verdict::alloc_blocked;
      found.message = fmt::format("{} columns are asked for, {} are free, and no holder can still free any", columns, sm.allocator.free_columns());
      if (sm.held_columns != 0) found.message += fmt::format(" ({} belong to another kernel)", sm.held_columns);
    }
    for (const Allocation& allocation : sm.allocator.live()) {
      if (found.verdict == Verdict::alloc_capacity && allocation.cta != cta.index) continue;
      if (found.verdict == Verdict::alloc_blocked && allocation.cta == cta.index && found.other) continue;
      found.other = ref(allocation.record);
      found.other_instance = {allocation.cta, accesses[allocation.record].warp, accesses[allocation.record].number};
    }
    candidates.add(std::move(found));
    explained.push_back(cta.cluster);
    for (const Allocation& allocation : sm.allocator.live()) explained.push_back(ctas[allocation.cta].cluster);
  }
  std::sort(explained.begin(), explained.end());
  for (std::size_t first = 0; first < others.size();) {
    const std::uint32_t cluster = ctas[others[first].warp->cta].cluster;
    std::size_t last = first;
    while (last < others.size() && ctas[others[last].warp->cta].cluster == cluster) ++last;
    if (!std::binary_search(explained.begin(), explained.end(), cluster)) report_standstill({others.begin() + static_cast<std::ptrdiff_t>(first), others.begin() + static_cast<std::ptrdiff_t>(last)});
    first = last;
  }
}

// One finding for the threads of a cluster that wait for each other.
void Machine::report_standstill(const std::vector<Blocked>& blocked) {
  const StandstillReport report(*this, blocked);
  candidates.add(report.finding());
}

}  // namespace tmemsim::sim
