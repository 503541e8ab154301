// How many cases generated tests make: the count for an ordinary run times TMEMSIM_TEST_SCALE (default 1).
#pragma once

#include <algorithm>
#include <cstdlib>

namespace tmemsim::tests {

inline int scaled(int count) {
  const char* text = std::getenv("TMEMSIM_TEST_SCALE");
  const double scale = text ? std::strtod(text, nullptr) : 1.0;
  const double wanted = scale > 0 ? count * scale : count;
  return std::max(1, static_cast<int>(std::min(wanted, 1e9)));
}

}  // namespace tmemsim::tests
