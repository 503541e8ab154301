// When asynchronous operations that no wait of a warp completes take effect: mma, cp, shift, commits, bulk copies.
//
// Those of one issuing thread on the tensor core are a queue: a commit has its effect after all that it covers. Of different
// threads only the pipelined pairs run in the order of their issue. Nothing orders bulk copies.
#include <bit>
#include <optional>

#include "sim/exec/machine.hpp"

namespace tmemsim::sim {
namespace {

// A commit is recorded as an ordinary instruction.
bool is_queued(const Access& access) { return is_tensor_core(access.kind) || access.kind == AccessKind::order; }

bool same_queue(const Access& x, const Access& y) {
  return is_queued(x) && is_queued(y) && x.cta == y.cta && x.warp == y.warp && std::countr_zero(x.lanes) == std::countr_zero(y.lanes);
}

bool is_signal(const Access& access) { return !is_tensor_core(access.kind); }

}  // namespace

void Machine::start(Background operation) {
  background.push_back(std::move(operation));
  if (options.policy == Policy::early && !(options.schedule && is_point(accesses[background.back().record].step))) apply_background(background.size() - 1);
  if (options.policy == Policy::adversarial) show_progress();
}

bool Machine::runs_first(const Access& x, const Access& y) const {
  const bool adverse = options.policy == Policy::adversarial && !options.profile.on(Switch::tensor_issue_order);
  return is_pipelined_pair(x, y) || (same_queue(x, y) && (!adverse || is_signal(y)));
}

bool Machine::is_under_way(std::size_t index) const {
  for (std::size_t i = 0; i < index; ++i)
    if (runs_first(accesses[background[i].record], accesses[background[index].record])) return false;
  return true;
}

// What is under way has come half the way: who looks now sees the old, the new, and neither.
void Machine::show_progress() {
  for (std::size_t i = 0; i < background.size(); ++i) {
    Background& operation = background[i];
    if (!operation.progress || operation.shown || !is_under_way(i)) continue;
    operation.shown = true;
    operation.progress(*this, {});
  }
}

void Machine::show_random_progress() {
  const std::size_t index = random() % background.size();
  const Background& operation = background[index];
  if (!operation.progress || !is_under_way(index)) return;
  const auto fraction = [&] { return static_cast<double>(random() % 17) / 16; };
  Progress progress;
  progress.columns = fraction();
  progress.steps = fraction();
  operation.progress(*this, progress);
}

void Machine::complete_background() {
  if (options.policy == Policy::adversarial) return complete_background(most_adverse());
  if (options.policy == Policy::random) return complete_background(random() % background.size());
  complete_background(0);
}

// The last one that signals somebody, so that what else is under way stays so; without one, the last of all.
std::size_t Machine::most_adverse() const {
  for (std::size_t i = background.size(); i-- > 0;) {
    const Access& access = accesses[background[i].record];
    if (!is_signal(access)) continue;
    for (std::size_t k = 0; k < i; ++k)  // commits of one thread come in their order
      if (same_queue(accesses[background[k].record], access) && is_signal(accesses[background[k].record])) return k;
    return i;
  }
  return background.size() - 1;
}

void Machine::complete_background(std::size_t index) {
  const std::uint32_t record = background[index].record;
  const bool adverse = options.policy == Policy::adversarial && !options.profile.on(Switch::tensor_issue_order);
  for (;;) {
    std::size_t at = 0;
    while (background[at].record != record) ++at;
    std::optional<std::size_t> first;  // of those that run first: the oldest one, or the one that spoils most
    for (std::size_t i = 0; i < at; ++i)
      if ((!first || adverse) && runs_first(accesses[background[i].record], accesses[record])) first = i;
    if (!first) return apply_background(at);
    complete_background(*first);
  }
}

void Machine::complete_bulk(const WarpState& warp, std::uint32_t lanes, std::uint32_t count) {
  for (std::size_t i = background.size(); i-- > 0;) {
    const Access& access = accesses[background[i].record];
    if (access.kind != AccessKind::bulk || access.cta != warp.cta || access.warp != warp.warp) continue;
    if ((access.lanes & lanes) != 0 && access.async_number > count) continue;
    apply_background(i);
  }
}

void Machine::apply_background(std::size_t index) {
  const Background operation = std::move(background[index]);
  background.erase(background.begin() + static_cast<std::ptrdiff_t>(index));
  ++happened;
  if (operation.mark) tracer->begin_completion(operation.mark);
  operation.complete(*this);
  if (operation.mark) tracer->end();
  if (options.policy == Policy::adversarial) show_progress();
}

}  // namespace tmemsim::sim
