// Where the CTAs of a launch run: their cluster, their rank in it, and their SM.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::sim {

struct CtaPlace {
  std::uint32_t cluster = 0, rank = 0, sm = 0;
};

std::uint32_t sm_count(const Launch& launch);
std::vector<CtaPlace> place_ctas(const Launch& launch);  // by index in the grid, x fastest
std::int64_t shared_window(const Kernel& kernel);        // bytes of a CTA's shared window, a multiple of 4

}  // namespace tmemsim::sim
