#include "sim/memory/allocator.hpp"

#include <algorithm>
#include <bit>

namespace tmemsim::sim {
namespace {

std::uint32_t granule_mask(std::uint32_t first, std::uint32_t count) { return ((1u << count) - 1u) << first; }

}  // namespace

Allocator::Allocator(std::uint32_t held) : taken_(granule_mask(0, held / tcgen05::granule_columns)) {}

bool Allocator::is_free(std::uint32_t first_granule, std::uint32_t count) const {
  return (taken_ & granule_mask(first_granule, count)) == 0;
}

std::vector<std::uint32_t> Allocator::places(std::uint32_t columns) const {
  std::vector<std::uint32_t> bases;
  const std::uint32_t count = columns / tcgen05::granule_columns;
  for (std::uint32_t first = 0; first + count <= granules; first += count)
    if (is_free(first, count)) bases.push_back(first * tcgen05::granule_columns);
  return bases;
}

std::optional<Allocation> Allocator::take(std::uint32_t columns, std::uint32_t cta, std::uint32_t record) {
  const std::vector<std::uint32_t> bases = places(columns);
  return bases.empty() ? std::nullopt : take_at(bases.front(), columns, cta, record);
}

std::optional<Allocation> Allocator::take_at(std::uint32_t base, std::uint32_t columns, std::uint32_t cta, std::uint32_t record) {
  const std::uint32_t first = base / tcgen05::granule_columns, count = columns / tcgen05::granule_columns;
  if (first + count > granules || !is_free(first, count)) return std::nullopt;
  taken_ |= granule_mask(first, count);
  live_.push_back({base, columns, cta, record});
  return live_.back();
}

void Allocator::mark_faulty(std::uint32_t base) {
  for (Allocation& allocation : live_)
    if (allocation.base == base) allocation.faulty = true;
}

void Allocator::give(std::uint32_t base) {
  const auto found = std::find_if(live_.begin(), live_.end(), [&](const Allocation& a) { return a.base == base; });
  if (found == live_.end()) return;
  taken_ &= ~granule_mask(found->base / tcgen05::granule_columns, found->columns / tcgen05::granule_columns);
  live_.erase(found);
}

const Allocation* Allocator::starting_at(std::uint32_t base) const {
  for (const Allocation& allocation : live_)
    if (allocation.base == base) return &allocation;
  return nullptr;
}

const Allocation* Allocator::holding(std::uint32_t column) const {
  for (const Allocation& allocation : live_)
    if (column >= allocation.base && column < allocation.base + allocation.columns) return &allocation;
  return nullptr;
}

std::uint32_t Allocator::held_by(std::uint32_t cta) const {
  std::uint32_t sum = 0;
  for (const Allocation& allocation : live_)
    if (allocation.cta == cta) sum += allocation.columns;
  return sum;
}

std::uint32_t Allocator::free_columns() const {
  return tcgen05::granule_columns * static_cast<std::uint32_t>(granules - std::popcount(taken_));
}

}  // namespace tmemsim::sim
