// Runs a program under its schedules, one after the other, branching where a run depends on the schedule and nowhere else.
//
// The first run shows the unordered pairs and the open choices. Runs that follow take every order of the statements in those
// pairs and every outcome of those choices, fewest deviations first; what they find open in addition is taken in and the
// enumeration starts again. Between two such points the run is determinate, so nothing is lost by not branching there.
// Lanes of a warp that stand at one statement together go together. A polling loop that learns nothing new is not repeated.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/schedules/schedule.hpp"
#include "sim/sim.hpp"

namespace tmemsim::sim {

struct Exploration {
  std::uint64_t schedules = 0;  // runs made, the first one included
  bool complete = false;        // every schedule that can make a difference is among them
  bool out_of_steps = false;    // the bound on the steps of all runs was reached, not the one on runs
};

// `visit` sees each run with the schedule that makes it (empty for the first); it returns false to stop. At most
// `most_schedules` runs (at least 1) and ten times options.max_steps steps. options.scheduler and options.schedule are set here.
Exploration explore(const Program& program, Options options, std::uint64_t most_schedules,
                    const std::function<bool(const Schedule& schedule, const Outcome& outcome)>& visit);

}  // namespace tmemsim::sim
