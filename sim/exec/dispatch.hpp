// Calls the executor of a step's operation.
#pragma once

#include <optional>

#include "sim/exec/exec.hpp"

namespace tmemsim::sim {

struct Dispatched {
  Ran ran;
  std::optional<Flight> flight;  // of an asynchronous operation
};

Dispatched dispatch(Warp& warp, const Step& step);
const Row& row_of(const Step& step);

}  // namespace tmemsim::sim
