// Faults that are visible before anything runs.
#pragma once

#include "sim/exec/machine.hpp"

namespace tmemsim::sim {

// target (each statement that the target lacks), alloc-capacity (a plan that does not fit 512 columns). True when the program
// must not run.
bool check_before_running(Machine& machine);

}  // namespace tmemsim::sim
