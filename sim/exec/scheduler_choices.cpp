// Runs under a schedule: whatever has one outcome goes at once; where the order is open the schedule says who goes next.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/diagnostic.hpp"
#include "sim/exec/dispatch.hpp"

namespace tmemsim::sim {

bool Machine::is_point(std::uint32_t step) const {
  const std::vector<std::uint32_t>& points = options.schedule->points.order;
  return std::binary_search(points.begin(), points.end(), step);
}

bool Machine::is_held(const WarpState& warp, const LaneGroup& group) {
  if (!options.schedule || group.retrying || !is_point(group.pc)) return false;  // an operation that blocked has had its turn
  const Step& step = program.steps[group.pc];
  const bool acts = step.kind == Step::Kind::op || step.kind == Step::Kind::branch_unless || step.kind == Step::Kind::loop_enter || step.kind == Step::Kind::loop_next;
  return acts && (group.lanes & lanes_of(step.where, warp.cta, warp.warp)) != 0;
}

// A loop that asks again before anything has happened is where it was.
bool Machine::learns_nothing(const LaneGroup& group) const {
  return group.asked == happened && open_facts.loops[group.pc] && !open_facts.affects[group.pc];
}

std::uint32_t Machine::decide(std::size_t count) {
  if (count <= 1) return 0;
  const std::size_t index = decisions.size();
  const std::vector<std::uint16_t>& taken = options.schedule->taken;
  const std::uint16_t option = index < taken.size() ? taken[index] : std::uint16_t{0};
  if (option >= count) {
    throw InputError(fmt::format("the schedule takes option {} of {} at decision {}", option, count, index),
                     "replay with the profile, policy and switches of the run that printed the token");
  }
  decisions.push_back({static_cast<std::uint16_t>(count), option});
  return option;
}

std::uint32_t Machine::elected(std::uint32_t lanes) {
  const std::uint32_t lowest = lanes & (~lanes + 1u);
  if (!options.schedule || options.schedule->points.leader.empty()) return lowest;
  for (const auto& [of, leader] : leaders)
    if (of == lanes) return leader;
  std::uint32_t rest = lanes;
  for (std::uint32_t skip = decide(static_cast<std::size_t>(std::popcount(lanes))); skip > 0; --skip) rest &= rest - 1;
  const std::uint32_t leader = rest & (~rest + 1u);
  leaders.emplace_back(lanes, leader);
  return leader;
}

// One step of a group that was held.
void Machine::go_on(WarpState& warp, std::size_t index) {
  LaneGroup& group = warp.groups[index];
  if (steps >= options.max_steps) return stop_at_limit(warp, group);
  group.asked = happened;
  step_group(warp, index);
}

bool Machine::run_scheduled() {
  constexpr std::uint64_t patience = 4096;  // rounds after which who merely spins does not keep the others back
  bool went = false;
  for (Cta& cta : ctas) {
    for (WarpState& warp : cta.warps) {
      const std::uint64_t before = steps;
      run_warp(warp);
      went = went || steps != before;
      if (stopped) return true;
    }
  }
  ++now;
  if (went && now % patience != 0) return true;
  if (went && !background.empty() && everybody_polls()) complete_background();

  struct Option {
    WarpState* warp = nullptr;  // null: a completion
    std::size_t index = 0;      // group, or operation in the background
  };
  std::vector<Option> options_now;
  WarpState* spinning = nullptr;
  std::size_t spinning_group = 0;
  for (Cta& cta : ctas) {
    for (WarpState& warp : cta.warps) {
      for (std::size_t i = 0; i < warp.groups.size(); ++i) {
        const LaneGroup& group = warp.groups[i];
        if (group.state != LaneGroup::State::ready || !is_held(warp, group) || waits_for_election(warp, group)) continue;
        if (!learns_nothing(group)) {
          options_now.push_back({&warp, i});
          continue;
        }
        if (group.counts) note_choice(Open::repeats, group.pc, ref(group.pc, warp, group.lanes));
        if (!spinning || group.counts) spinning = &warp, spinning_group = i;
      }
    }
  }
  std::vector<std::uint32_t> queues;  // a representative of each queue that is among the options
  for (std::size_t i = 0; i < background.size(); ++i) {
    const Access& access = accesses[background[i].record];
    if (!is_point(access.step)) continue;
    const auto same = [&](std::uint32_t record) {
      const Access& other = accesses[record];
      return access.kind != AccessKind::bulk && other.kind != AccessKind::bulk && other.cta == access.cta && other.warp == access.warp && other.lanes == access.lanes;
    };
    if (std::any_of(queues.begin(), queues.end(), same)) continue;
    queues.push_back(background[i].record);
    options_now.push_back({nullptr, i});
  }
  if (options_now.empty()) {
    if (!spinning) return went;
    if (!background.empty()) complete_background();
    else if (let_lanes_wait_alone()) return true;
    else if (spinning->groups[spinning_group].counts) go_on(*spinning, spinning_group);
    else stop_at_limit(*spinning, spinning->groups[spinning_group]);
    return true;
  }
  const Option next = options_now[decide(options_now.size())];
  if (next.warp) go_on(*next.warp, next.index);
  else complete_background(next.index);
  return true;
}

}  // namespace tmemsim::sim
