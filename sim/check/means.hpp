// Whether an ld, st or cp moves what its author says that it means: every value that it moves has to come from, and go to, the
// places where the declared layouts of the two buffers keep one and the same element.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/exec/exec.hpp"

namespace tmemsim::sim {

// What moves between a register and a cell: a word, or a half of each when packed.
struct MovedPart {
  std::uint32_t thread = 0, row = 0, register_bit = 0;  // row: absolute
  std::uint32_t lane = 0, column = 0;                   // physical; always from bit 0 of the cell
  bool known_bad = false;                               // its value has been reported: says nothing here
};

struct MeansMismatch {
  std::string message;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> meant;  // cells (lane, column) that the moved elements belong to
};

// Nothing: the parts agree with `means`, or it does not speak of one tmem and one local buffer with a layout.
std::optional<MeansMismatch> mismatch_with_means(Warp& warp, const Means& means, const std::vector<MovedPart>& parts, std::uint32_t part_bits);

// What a cp moves: a byte of the CTA's shared memory to a place in tensor memory.
struct CopiedByte {
  std::int64_t from = 0;                       // in the CTA's window
  std::uint32_t lane = 0, column = 0, bit = 0;
};

// The same for a copy from shared to tensor memory. Multicast may put a value elsewhere too, where no element is kept.
std::optional<MeansMismatch> mismatch_with_means(Warp& warp, const Means& means, const std::vector<CopiedByte>& bytes);

}  // namespace tmemsim::sim
