#include "sim/placement.hpp"

#include <algorithm>

namespace tmemsim::sim {
namespace {

std::array<std::uint32_t, 3> coordinates(std::uint32_t index, const std::array<std::uint32_t, 3>& extent) {
  return {index % extent[0], index / extent[0] % extent[1], index / extent[0] / extent[1]};
}

}  // namespace

std::uint32_t sm_count(const Launch& launch) {
  const std::uint32_t size = cluster_size(launch), clusters = cta_count(launch) / size;
  return (clusters + launch.ctas_per_sm - 1) / launch.ctas_per_sm * size;
}

std::vector<CtaPlace> place_ctas(const Launch& launch) {
  std::vector<CtaPlace> places(cta_count(launch));
  const std::array<std::uint32_t, 3> cluster_grid{launch.grid[0] / launch.cluster[0], launch.grid[1] / launch.cluster[1],
                                                  launch.grid[2] / launch.cluster[2]};
  for (std::uint32_t index = 0; index < places.size(); ++index) {
    const auto at = coordinates(index, launch.grid);
    std::array<std::uint32_t, 3> in{}, of{};
    for (std::size_t d = 0; d < 3; ++d) {
      in[d] = at[d] % launch.cluster[d];
      of[d] = at[d] / launch.cluster[d];
    }
    CtaPlace& place = places[index];
    place.rank = in[0] + launch.cluster[0] * (in[1] + launch.cluster[1] * in[2]);
    place.cluster = of[0] + cluster_grid[0] * (of[1] + cluster_grid[1] * of[2]);
    place.sm = place.cluster / launch.ctas_per_sm * cluster_size(launch) + place.rank;
  }
  return places;
}

std::int64_t shared_window(const Kernel& kernel) {
  std::int64_t size = 0;
  for (const Buffer& buffer : kernel.buffers)
    if (buffer.space == Space::shared) size = std::max(size, buffer.offset.value_or(0) + byte_size(buffer));
  return (size + 3) / 4 * 4;
}

}  // namespace tmemsim::sim
