// Runs nvcc on emitted text. Tests that need it say so and pass where nvcc 12.8 or later is missing.
#pragma once

#include <string>
#include <string_view>

namespace tmemsim::tests {

bool have_nvcc();

struct Compiled {
  bool ok = false;
  std::string log;      // what nvcc and ptxas said
  std::string ptx;      // of one of the architectures
  int stack_bytes = 0;  // the most local memory that a kernel needs: 0 when all its registers are registers
};

// One run of nvcc over a text, to machine code for each of the architectures ("100a"); warnings are errors.
// `host`: compile and link the host program too.
Compiled compile(const std::string& text, std::string_view architectures = "100a", bool host = false);

// nvcc -gencode arch=compute_100a,code=sm_100a: never the short -arch=sm_100a, which also builds for plain compute_100.
std::string gencode(std::string_view architecture);

}  // namespace tmemsim::tests
