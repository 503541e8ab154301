// Shared by the files that implement nested layouts; no part of the public interface.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/layout/nested.hpp"

namespace tmemsim::nested {

// A reason on its way to the Result of the public function; never leaves these files.
struct Refused {
  Reason reason;
};

[[noreturn]] inline void refuse(std::string text, std::optional<std::size_t> mode = {}) {
  throw Refused{Reason{std::move(text), mode, {}, {}}};
}

template <class T>
T need(Result<T> result) {
  if (!result) throw Refused{result.reason()};
  return std::move(result).value();
}

template <class F>
auto guarded(F f) -> Result<decltype(f())> {
  try {
    return f();
  } catch (const Refused& refused) { return refused.reason; }
}

struct Mode {
  IntTuple shape, stride;  // leaves
};

inline std::vector<Mode> modes_of(const NestedLayout& layout) {
  const std::vector<IntTuple> shapes = leaves(layout.shape), strides = leaves(layout.stride);
  std::vector<Mode> modes;
  for (std::size_t k = 0; k < shapes.size(); ++k) modes.push_back({shapes[k], strides[k]});
  return modes;
}

// Leaf for one mode, 1:0 for none.
inline NestedLayout layout_of(const std::vector<Mode>& modes) {
  if (modes.empty()) return {};
  if (modes.size() == 1) return {modes[0].shape, modes[0].stride};
  std::vector<IntTuple> shapes, strides;
  for (const Mode& mode : modes) {
    shapes.push_back(mode.shape);
    strides.push_back(mode.stride);
  }
  return {IntTuple::of(std::move(shapes)), IntTuple::of(std::move(strides))};
}

inline NestedLayout tuple_of(const std::vector<NestedLayout>& layouts) {
  std::vector<IntTuple> shapes, strides;
  for (const NestedLayout& layout : layouts) {
    shapes.push_back(layout.shape);
    strides.push_back(layout.stride);
  }
  return {IntTuple::of(std::move(shapes)), IntTuple::of(std::move(strides))};
}

inline std::vector<NestedLayout> expanded(const NestedLayout& layout) {
  std::vector<NestedLayout> modes;
  for (std::size_t k = 0; k < rank(layout); ++k) modes.push_back(mode(layout, k));
  return modes;
}

inline std::int64_t integer(const IntTuple& leaf, std::string_view what, std::optional<std::size_t> mode = {}) {
  if (!leaf.is_integer()) refuse(fmt::format("{} is {}; an integer is needed", what, to_string(leaf)), mode);
  return leaf.value;
}

}  // namespace tmemsim::nested
