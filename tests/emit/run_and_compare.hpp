// Emitted programs, run on the host or on the GPU of this machine, against the simulator.
#pragma once

#include <cstddef>
#include <vector>

#include "emit/emit.hpp"
#include "tests/emit/samples.hpp"

namespace tmemsim::tests {

// Whether programs for the backend can be built and run here: a host compiler `c++`; nvcc and a GPU.
bool can_run(emit::Backend backend);

struct Compared {
  std::size_t elements = 0, registers = 0, cells = 0;
};

enum class Check { simulator, simulator_and_round_trip };  // round trip: OUT/B.npy holds what IN/A.npy holds

// Emits all kernels in one program, runs each of them and the simulator on the same inputs, and requires (inside a Catch2
// test) equal bits wherever the simulator says that something was written: global elements, registers, and cells of tensor
// memory (where CTAs do not share an SM).
Compared run_and_compare(const std::vector<Sample>& samples, emit::Backend backend, Check check = Check::simulator);

}  // namespace tmemsim::tests
