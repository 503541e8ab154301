// Logical elements read back from the memory that the simulator leaves: the definition of each space, element by element, with
// the naive layout evaluation (sim/reference/naive.hpp) and nothing of ir's.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "ir/image.hpp"
#include "ir/program.hpp"

namespace tmemsim::report {

struct ReadBack {
  std::uint64_t bits = 0;
  bool written = false;  // every bit of it was written
};

// Where an element stands.
struct ElementSpot {
  std::optional<std::uint32_t> thread, reg;     // thread in its CTA, register of its buffer (space local)
  std::optional<std::int64_t> lane, column;     // physical (space tmem)
  std::int64_t bit = 0;                         // global, shared: from the start of the space; local: from the buffer's first
                                                // register; tmem: from column 0 of the SM
};

class Memory {
 public:
  Memory(const Program& program, const Image& image) : program_(program), kernel_(*program.kernel), image_(image) {}

  // `thread`: a thread of the unit (thread, warp, warpgroup, CTA) whose instance of a local buffer is meant; others ignore it.
  // Nothing when the place does not exist (a tmem buffer whose address word holds no address).
  std::optional<ElementSpot> spot(BufferId buffer, std::uint32_t cta, std::uint32_t thread, std::int64_t x) const;
  std::optional<ReadBack> read(BufferId buffer, std::uint32_t cta, std::uint32_t thread, std::int64_t x) const;

 private:
  std::optional<std::uint32_t> tmem_base(const Buffer& buffer, std::uint32_t cta) const;

  const Program& program_;
  const Kernel& kernel_;
  const Image& image_;
};

}  // namespace tmemsim::report
