// What a global or shared buffer holds before a run, as bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::report {

// From slot 0 to the last element; bits that no element covers are 0. Empty when the buffer has no initial value.
std::vector<std::uint8_t> initial_bytes(const Kernel& kernel, const Buffer& buffer);

}  // namespace tmemsim::report
