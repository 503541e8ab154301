// How large a region is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim {

// a - b where it does not depend on threads, loops or memory: (i * 8 + 8) - i * 8 is 8. Sums of multiples are compared term
// by term; what is not a sum counts as one term.
std::optional<std::int32_t> constant_difference(const Expr& a, const Expr& b);

// Extents of the dimensions that a region keeps (a single index drops its dimension); nothing where one is no constant.
std::optional<std::vector<std::int64_t>> extents_of(const Buffer& buffer, const Region& region);

}  // namespace tmemsim
