// The reference interpreter: runs the tile program on whole logical tensors, without threads' timing, layouts or asynchrony.
// It shares no layout code and no number conversions with the rest: values are bits, fills and initial values are converted
// here by its own rules (naive.hpp). Design section 8.1.
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
  std::vector<std::uint8_t> written;  // 1: a primitive (or an instruction with `means`) gave it its value
};

struct Outcome {
  std::vector<Tensor> global;                // by BufferId; empty shape for other spaces
  // [cta][BufferId]: shared, tmem, and local buffers of which the CTA has one (its layout spans the CTA, or the launch has one
  // such warp or warpgroup); a tensor stays empty when nothing touched the buffer.
  std::vector<std::vector<Tensor>> per_cta;
  std::uint64_t elements_copied = 0;
};

// `issued` lists what a run issued, warp by warp. The entries of one instance (same statement, CTA and loop values) say together
// which threads have issued it; what is missing leaves the destination unknown. Instances run in an order that keeps every
// warp's own order. What any other data-moving instruction writes becomes unknown. Kernel: the one that ran (Level::machine,
// primitives kept in Lowered).
Outcome run(const Kernel& kernel, std::span<const Issued> issued);

}  // namespace tmemsim::reference
