#include "ir/atom/flat_map.hpp"

#include <fmt/format.h>

namespace tmemsim::atom {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 24;  // positions of one mode, and bound on strides

Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

}  // namespace

Result<FlatMap> FlatMap::make(const NestedLayout& mode) {
  if (!congruent(mode.shape, mode.stride))
    return reason(fmt::format("the strides of {} are nested otherwise than its shape", to_string(mode)));
  const auto shapes = leaves(mode.shape), strides = leaves(mode.stride);
  FlatMap map;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (!shapes[k].is_integer() || !strides[k].is_integer()) return reason(fmt::format("{} is not static", to_string(mode)));
    const std::int64_t extent = shapes[k].value, stride = strides[k].value;
    if (extent < 0 || stride < -largest || stride > largest) return reason(fmt::format("{} is out of range", to_string(mode)));
    if (extent > largest || (extent > 0 && map.size_ > largest / extent))
      return reason(fmt::format("{} has more than 2^24 positions", to_string(mode)));
    map.size_ *= extent;
    map.digits_.push_back({extent == 0 ? 1 : extent, stride});
  }
  return map;
}

Result<ThreadValueMap> ThreadValueMap::make(const NestedLayout& layout) {
  if (layout.shape.is_leaf() || layout.shape.rank() != 2 || layout.stride.is_leaf() || layout.stride.rank() != 2) {
    return reason(fmt::format("{} does not have the two top modes (thread, value)", to_string(layout)));
  }
  auto threads = FlatMap::make(mode(layout, 0)), values = FlatMap::make(mode(layout, 1));
  if (!threads) return threads.reason();
  if (!values) return values.reason();
  return ThreadValueMap{*std::move(threads), *std::move(values)};
}

}  // namespace tmemsim::atom
