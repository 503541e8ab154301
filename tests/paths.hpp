// Where the tests find things; the values are written by CMake.
#pragma once

namespace tmemsim::tests {

extern const char* const source_dir;  // root of the repository
extern const char* const binary_dir;  // root of the build folder
extern const char* const command;     // the tmemsim command
extern const char* const nvcc;        // nvcc of CUDA 12.8 or later, or ""

}  // namespace tmemsim::tests
