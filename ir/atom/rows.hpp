// Building blocks of the families' rows.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/atom/atom.hpp"

namespace tmemsim::atom {

// One digit of a mode: extent and stride. Digits of extent 1 are left out of nested modes.
struct Digit {
  std::int64_t extent, stride;
};
using Digits = std::vector<Digit>;

NestedLayout mode_of(const Digits& digits);
NestedLayout thread_value(const Digits& threads, const Digits& values);

inline Reason refused(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

// (1, bits):(1, 1) on all sides: what one thread copies. `from` and `to` say where the bits are.
Payload per_thread_copy(std::string name, std::string target, std::string instruction, std::int64_t bits, Place from, Place to);

// Copies whose bits are in the order in which one thread sees them.
Executor identity_copy(std::string source);

// D = A * B + C, where `place` gives the (row, column) of a lane's value: A (m,k), B (n,k), C (m,n).
struct FragmentPlaces {
  using Place = std::function<std::pair<int, int>(int lane, int value)>;
  Place a, b, c;
};
Executor multiply_by(FragmentPlaces places, std::array<std::int64_t, 3> mnk, std::string source);

}  // namespace tmemsim::atom
