// Emitted programs on the host, with emulated tensor memory, against the simulator.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/emit/corpus.hpp"

namespace tmemsim::tests {

struct Compared {
  std::size_t elements = 0, registers = 0, cells = 0;
};

// Emits all kernels for the host in one program, runs each of them and the simulator on the same inputs, and requires (inside
// a Catch2 test) equal bits wherever the simulator says that something was written: global elements, registers, and cells of
// tensor memory (where CTAs do not share an SM). Says so and compares nothing where there is no host compiler `c++`.
enum class Check { simulator, simulator_and_round_trip };  // round trip: OUT/B.npy is the file IN/A.npy
Compared run_on_host(const std::vector<CorpusKernel>& corpus, Check check = Check::simulator);

}  // namespace tmemsim::tests
