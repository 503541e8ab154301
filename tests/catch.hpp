// Catch2 2 (Debian 12) and 3 (Ubuntu 24.04) behind one include. In both, Approx and the matchers stand in namespace Catch.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

namespace tmemsim::tests {

// A matcher for a part of a text: CHECK_THAT(message, contains("column")).
inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

}  // namespace tmemsim::tests
