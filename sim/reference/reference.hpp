// The reference interpreter: runs the tile program on whole logical tensors, without threads, layouts or asynchrony.
// It shares no layout code and no number conversions with the rest: values are bits, fills and initial values are converted
// here by its own rules (Eigen's half and bfloat16). Design section 8.1.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ir/issued.hpp"
#include "ir/kernel/kernel.hpp"

namespace tmemsim::reference {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<std::uint64_t> bits;    // row-major; element bits in the low end
  std::vector<std::uint8_t> known;    // 1: the reference knows the element
};

struct Outcome {
  std::vector<Tensor> global;                         // by BufferId; empty shape for other spaces
  std::vector<std::vector<Tensor>> per_cta;           // [cta][BufferId]: shared, local and tmem buffers
  std::uint64_t elements_copied = 0;
};

// `issued` is the order in which a run issued the primitives (and instructions with `means`); what any other data-moving
// instruction writes becomes unknown. Kernel: the one that ran (Level::machine, primitives kept in Lowered).
Outcome run(const Kernel& kernel, std::span<const Issued> issued);

}  // namespace tmemsim::reference
