// What a run left in memory against what should be there: the reference interpreter's tensors, and expect.equal, cells, regs.
#pragma once

#include "ir/scenario/scenario.hpp"
#include "report/run_result.hpp"
#include "sim/reference/reference.hpp"
#include "sim/sim.hpp"

namespace tmemsim::report {

// Bit by bit, every global element that the reference knows. Counted are those that the program gave a value.
Comparison compare_with_reference(const Program& program, const sim::Outcome& run, const reference::Outcome& reference);

// The values that the scenario states. Regions mean CTA 0 and the first unit of threads, where a buffer has several instances.
// InputError when an expected .npy or data list does not fit its region, or a region's bounds have no value.
Comparison compare_with_stated(const Program& program, const sim::Outcome& run, const Expect& expect);

// Where element x of a global buffer came from: the statement that wrote it, and, as far as tile copies brought it there, the
// register and the tensor memory cell before.
void trace_back(const Program& program, const sim::Outcome& run, BufferId buffer, std::int64_t x, Mismatch& mismatch);

// Whether a statement that ran writes global memory.
bool writes_global(const Kernel& kernel, const sim::Outcome& run);

}  // namespace tmemsim::report
