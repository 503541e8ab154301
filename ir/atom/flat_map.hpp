// A nested layout mode as a function of one integer, for sweeps over all threads and values.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/layout/nested.hpp"

namespace tmemsim::atom {

class FlatMap {
 public:
  static Result<FlatMap> make(const NestedLayout& mode);  // Reason: not static, not congruent, or too large
  std::int64_t size() const { return size_; }
  std::int64_t operator()(std::int64_t x) const {
    std::int64_t image = 0;
    for (const Digit& digit : digits_) {
      image += x % digit.extent * digit.stride;
      x /= digit.extent;
    }
    return image;
  }

 private:
  struct Digit {
    std::int64_t extent, stride;
  };
  std::vector<Digit> digits_;
  std::int64_t size_ = 1;
};

// Both top modes of an atom layout: image = threads(t) + values(v).
struct ThreadValueMap {
  FlatMap threads, values;
  static Result<ThreadValueMap> make(const NestedLayout& layout);
  std::int64_t operator()(std::int64_t thread, std::int64_t value) const { return threads(thread) + values(value); }
};

}  // namespace tmemsim::atom
