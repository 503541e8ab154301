#include "sim/reference/order.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace tmemsim::reference {
namespace {

using Key = std::tuple<const Stmt*, std::uint32_t, std::map<std::string, std::int64_t>>;

bool is_shared_by_warps(const Stmt& stmt) { return std::holds_alternative<Lowered>(stmt.node) || stmt.means.has_value(); }

bool covers(const Kernel& kernel, const Where& where, const Instance& instance) {
  for (std::uint32_t warp = 0; warp < kernel.launch.warps; ++warp) {
    const std::uint32_t wanted = lanes_of(where, instance.cta, warp);
    const auto found = instance.lanes.find(warp);
    const std::uint32_t issued = found == instance.lanes.end() ? 0 : found->second;
    if (where.elect ? (wanted != 0 && (issued & wanted) == 0) : (wanted & ~issued) != 0) return false;
  }
  return true;
}

void collect(const Body& body, const Where& outer, WhereOf& found) {
  for (const Stmt& stmt : body) {
    const Where where = narrowed(outer, stmt.where);
    found.emplace(&stmt, where);
    if (const auto* loop = std::get_if<For>(&stmt.node)) collect(loop->body, where, found);
    if (const auto* loop = std::get_if<While>(&stmt.node)) collect(loop->body, where, found);
    if (const auto* branch = std::get_if<If>(&stmt.node)) {
      collect(branch->then, where, found);
      collect(branch->otherwise, where, found);
    }
  }
}

// Kahn's algorithm; the instance that was completed first is taken first.
std::vector<std::size_t> sorted(const std::vector<std::size_t>& last_issue, const std::vector<std::vector<std::size_t>>& after) {
  std::vector<std::size_t> waiting_for(last_issue.size(), 0);
  for (const auto& later : after)
    for (std::size_t instance : later) ++waiting_for[instance];
  using Ready = std::pair<std::size_t, std::size_t>;  // last issue, instance
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < last_issue.size(); ++i)
    if (waiting_for[i] == 0) ready.emplace(last_issue[i], i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top().second;
    ready.pop();
    order.push_back(next);
    for (std::size_t later : after[next])
      if (--waiting_for[later] == 0) ready.emplace(last_issue[later], later);
  }
  if (order.size() == last_issue.size()) return order;
  order.resize(last_issue.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return last_issue[a] < last_issue[b]; });
  return order;
}

}  // namespace

WhereOf narrowed_everywhere(const Kernel& kernel) {
  WhereOf found;
  collect(kernel.body, Where{}, found);
  return found;
}

std::vector<Instance> instances_in_order(const Kernel& kernel, const WhereOf& where, std::span<const Issued> issued) {
  std::vector<Instance> instances;
  std::vector<std::size_t> last_issue;
  std::map<Key, std::vector<std::size_t>> open;                                 // incomplete instances of a key, oldest first
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> last_of_warp;  // (cta, warp) -> instance
  std::vector<std::vector<std::size_t>> after;

  for (std::size_t i = 0; i < issued.size(); ++i) {
    const Issued& entry = issued[i];
    std::size_t instance = instances.size();
    std::vector<std::size_t>* same = nullptr;
    if (is_shared_by_warps(*entry.stmt)) {
      same = &open[Key{entry.stmt, entry.cta, entry.loop}];
      // The first instance that these lanes have not issued yet; a loop without a variable gives several with one key.
      for (std::size_t candidate : *same) {
        Instance& other = instances[candidate];
        const auto lanes = other.lanes.find(entry.warp);
        if (lanes == other.lanes.end() || (lanes->second & entry.lanes) == 0) { instance = candidate; break; }
      }
    }
    if (instance == instances.size()) {
      instances.push_back(Instance{entry.stmt, entry.loop, entry.cta, false, {}});
      last_issue.push_back(i);
      after.emplace_back();
      if (same) same->push_back(instance);
    }
    Instance& target = instances[instance];
    target.lanes[entry.warp] |= entry.lanes;
    last_issue[instance] = i;
    const auto narrow = where.find(entry.stmt);
    target.complete = narrow != where.end() && covers(kernel, narrow->second, target);
    if (same && target.complete) same->erase(std::find(same->begin(), same->end(), instance));
    const auto previous = last_of_warp.find({entry.cta, entry.warp});
    if (previous != last_of_warp.end() && previous->second != instance) after[previous->second].push_back(instance);
    last_of_warp[{entry.cta, entry.warp}] = instance;
  }

  std::vector<Instance> ordered;
  ordered.reserve(instances.size());
  for (std::size_t i : sorted(last_issue, after)) ordered.push_back(std::move(instances[i]));
  return ordered;
}

}  // namespace tmemsim::reference
