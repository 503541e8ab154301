// A scenario as the program that runs.
#pragma once

#include <memory>

#include "ir/program.hpp"
#include "ir/scenario/scenario.hpp"
#include "lower/lower.hpp"

namespace tmemsim::tests {

inline Program lowered(const Scenario& scenario) {
  Kernel kernel = lower::lower(scenario.kernel);
  verify(kernel, Level::machine);
  return decode(std::make_shared<const Kernel>(std::move(kernel)));
}

}  // namespace tmemsim::tests
