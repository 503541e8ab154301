// The scenarios of the repository that must run clean, lowered: what the emitter has to print.
#pragma once

#include <string>
#include <vector>

#include "ir/scenario/scenario.hpp"

namespace tmemsim::tests {

struct CorpusKernel {
  std::string name;  // file and instance
  Kernel kernel;     // verified at Level::machine
};

// In order of their files. `folder`: below scenarios/, or "" for all of them.
std::vector<CorpusKernel> clean_corpus(const std::string& folder = "");

}  // namespace tmemsim::tests
