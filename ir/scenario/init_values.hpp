// Initial values of buffers: whether they fit, and their bits.
#pragma once

#include <optional>
#include <string>

#include "ir/buffer.hpp"
#include "ir/result.hpp"

namespace tmemsim::scenario {

inline constexpr std::int64_t most_elements = std::int64_t{1} << 26;  // of one buffer
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 30;     // of one buffer

// Why `dtype` does not hold the number; nothing when it does. A float may round it, an integer may not.
std::optional<std::string> problem_with_number(Dtype dtype, const Number& number);

// Why the buffer cannot start with its `init`; nothing when it can. Reads the .npy file where there is one.
std::optional<std::string> problem_with_init(const Buffer& buffer, const std::string& folder);

// Element bits in row-major order.
Result<std::vector<std::uint64_t>> bits_of_init(const Buffer& buffer, const Init& init, const std::string& folder);

}  // namespace tmemsim::scenario
