// Scenarios made at random: round trips global -> registers -> tensor memory -> registers -> global of random bits, in random
// fragments, element types and places. Buffer A goes in, buffer B comes out.
#pragma once

#include <cstdint>
#include <string>

namespace tmemsim::diff {

// Text of a scenario; the same for the same numbers. Lowering refuses some of them.
std::string generated_copy(std::uint64_t seed, std::uint64_t number);

}  // namespace tmemsim::diff
