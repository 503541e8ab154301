#include "report/trace/initial.hpp"

#include "ir/scenario/scenario.hpp"

namespace tmemsim::report {

std::vector<std::uint8_t> initial_bytes(const Kernel& kernel, const Buffer& buffer) {
  const std::vector<std::uint64_t> elements = initial_bits(kernel, buffer);
  if (elements.empty()) return {};
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(byte_size(buffer)));
  const TileLayout layout = layout_of(buffer);
  const std::int64_t width = bits(buffer.dtype);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::int64_t first = at(evaluate(layout, static_cast<std::int64_t>(i)), Axis::m) * width;
    for (std::int64_t b = 0; b < width; ++b)
      if (elements[i] >> b & 1u)
        bytes[static_cast<std::size_t>((first + b) / 8)] |= static_cast<std::uint8_t>(1u << ((first + b) % 8));
  }
  return bytes;
}

}  // namespace tmemsim::report
