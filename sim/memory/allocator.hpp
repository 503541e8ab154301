// The column allocator of one SM: which CTA holds which of the 16 granules of 32 columns. PTX ISA 9.7.16.7.1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/tcgen05.hpp"

namespace tmemsim::sim {

struct Allocation {
  std::uint32_t base = 0, columns = 0;  // first column; a power of two, 32..512
  std::uint32_t cta = 0;                // holder, in the grid
  std::uint32_t record = 0;             // the access record of its alloc
  bool faulty = false;                  // came from a request that was reported: no finding follows from it
};

class Allocator {
 public:
  static constexpr int granules = tcgen05::columns / tcgen05::granule_columns;

  // The lowest `held` columns (a multiple of 32) belong to another kernel for good.
  explicit Allocator(std::uint32_t held = 0);

  // Takes the lowest free run that is aligned to its own size; nothing when there is none. `columns` is a legal size.
  std::optional<Allocation> take(std::uint32_t columns, std::uint32_t cta, std::uint32_t record);
  // The same at one place; nothing where it is not free.
  std::optional<Allocation> take_at(std::uint32_t base, std::uint32_t columns, std::uint32_t cta, std::uint32_t record);
  // First columns of the free runs that are aligned to their own size, lowest first.
  std::vector<std::uint32_t> places(std::uint32_t columns) const;
  void mark_faulty(std::uint32_t base);
  // Gives a live allocation back.
  void give(std::uint32_t base);

  const Allocation* starting_at(std::uint32_t base) const;  // live allocation with this base, or null
  const Allocation* holding(std::uint32_t column) const;    // live allocation that contains the column, or null
  const std::vector<Allocation>& live() const { return live_; }
  std::uint32_t held_by(std::uint32_t cta) const;           // columns
  std::uint32_t free_columns() const;

 private:
  bool is_free(std::uint32_t first_granule, std::uint32_t count) const;

  std::uint32_t taken_ = 0;           // bit per granule
  std::vector<Allocation> live_;      // in order of their alloc
};

}  // namespace tmemsim::sim
