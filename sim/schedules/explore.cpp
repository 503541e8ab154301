#include "sim/schedules/explore.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace tmemsim::sim {
namespace {

using Path = std::vector<std::uint16_t>;  // options taken; the last one is a deviation from option 0

// The paths that deviate from the run once more, behind the end of its own path.
void add_deviations(std::deque<Path>& paths, const Path& own, const std::vector<Decision>& decisions, std::size_t most, bool& dropped) {
  Path prefix = own;
  for (std::size_t i = own.size(); i < decisions.size(); ++i) {
    for (std::uint16_t option = 1; option < decisions[i].options; ++option) {
      if (paths.size() >= most) {
        dropped = true;
        return;
      }
      paths.push_back(prefix);
      paths.back().push_back(option);
    }
    prefix.push_back(0);
  }
}

bool can_be_enumerated(const Outcome& outcome) {
  return std::all_of(outcome.choices.begin(), outcome.choices.end(), [](const OpenChoice& choice) { return choice.enumerable; });
}

class Explorer {
 public:
  Explorer(const Program& program, Options options, std::uint64_t most, const std::function<bool(const Schedule&, const Outcome&)>& visit)
      : program_(program), options_(std::move(options)), most_(std::max<std::uint64_t>(1, most)), visit_(visit) {
    options_.scheduler = Scheduler::round_robin;
    const std::uint64_t limit = std::numeric_limits<std::uint64_t>::max() / 10;
    steps_left_ = 10 * std::min(options_.max_steps, limit);
  }

  Exploration run() {
    BranchPoints points;
    bool going = one({}, false, points).has_value();
    while (going && !points.empty()) going = enumerate(points);
    result_.complete = !stopped_ && all_enumerable_;
    return result_;
  }

 private:
  // One run; its decisions, unless it was the last one. `points` grows by what it has found open.
  std::optional<std::vector<Decision>> one(const Schedule& schedule, bool scheduled, BranchPoints& points) {
    if (result_.schedules >= most_ || steps_left_ == 0) {
      result_.out_of_steps = result_.schedules < most_;
      stopped_ = true;
      return std::nullopt;
    }
    options_.schedule = scheduled ? std::optional(schedule) : std::nullopt;
    Outcome outcome = sim::run(program_, options_);
    ++result_.schedules;
    steps_left_ -= std::min(steps_left_, std::max<std::uint64_t>(1, outcome.steps));
    all_enumerable_ = all_enumerable_ && can_be_enumerated(outcome);
    points.add(outcome.branches);
    if (visit_(schedule, outcome)) return std::move(outcome.decisions);
    stopped_ = true;
    return std::nullopt;
  }

  // All schedules of these points. True: points have been added, and there are more to come.
  bool enumerate(BranchPoints& points) {
    const BranchPoints now = points;
    std::deque<Path> paths{Path{}};
    bool dropped = false;
    while (!paths.empty()) {
      const Schedule schedule{now, std::move(paths.front())};
      paths.pop_front();
      const auto decisions = one(schedule, true, points);
      if (!decisions) return false;
      if (!(points == now)) return true;
      add_deviations(paths, schedule.taken, *decisions, static_cast<std::size_t>(most_ - std::min(most_, result_.schedules)) + 1, dropped);
    }
    stopped_ = stopped_ || dropped;
    return false;
  }

  const Program& program_;
  Options options_;
  const std::uint64_t most_;
  const std::function<bool(const Schedule&, const Outcome&)>& visit_;
  std::uint64_t steps_left_ = 0;
  bool stopped_ = false, all_enumerable_ = true;
  Exploration result_;
};

}  // namespace

Exploration explore(const Program& program, Options options, std::uint64_t most_schedules,
                    const std::function<bool(const Schedule& schedule, const Outcome& outcome)>& visit) {
  return Explorer(program, std::move(options), most_schedules, visit).run();
}

}  // namespace tmemsim::sim
