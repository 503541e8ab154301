// Kernels for the emitter's tests, lowered and verified.
#pragma once

#include <string>
#include <vector>

#include "emit/emit.hpp"
#include "ir/scenario/scenario.hpp"

namespace tmemsim::tests {

struct Sample {
  std::string name;
  Kernel kernel;  // verified at Level::machine
};

// The scenarios of the repository that must run clean, in order of their files. `folder`: below scenarios/, or "" for all.
std::vector<Sample> clean_scenarios(const std::string& folder = "");

// Those of the samples that are emitted; adds the reasons for the others to `refused`.
std::vector<Sample> emitted(std::vector<Sample> samples, const emit::Options& options, std::vector<std::string>* refused = nullptr);

// Programs of every kind of statement and operand.
std::vector<Sample> sample_programs();

// Programs with barrier objects, clusters and bulk copies: a GPU runs them from compute capability 9.0 on.
std::vector<Sample> async_programs();

// Round trips global -> registers -> tensor memory -> registers -> global of random bits, in random fragments, element types
// and places: buffer A goes in, buffer B comes out. Skips what lowering refuses.
std::vector<Sample> generated_copies(unsigned seed, int count);

}  // namespace tmemsim::tests
