#include "ir/atom/rows.hpp"

namespace tmemsim::atom {

NestedLayout mode_of(const Digits& digits) {
  if (digits.size() == 1) return {IntTuple(digits[0].extent), IntTuple(digits[0].stride)};
  std::vector<IntTuple> extents, strides;
  for (const Digit& digit : digits) {
    extents.emplace_back(digit.extent);
    strides.emplace_back(digit.stride);
  }
  return {IntTuple::of(std::move(extents)), IntTuple::of(std::move(strides))};
}

NestedLayout thread_value(const Digits& threads, const Digits& values) {
  const NestedLayout t = mode_of(threads), v = mode_of(values);
  return {IntTuple::of({t.shape, v.shape}), IntTuple::of({t.stride, v.stride})};
}

Executor identity_copy(std::string source) {
  return {[](const Held& held) { return held; }, {}, std::move(source)};
}

Payload per_thread_copy(std::string name, std::string target, std::string instruction, std::int64_t bits, Place from,
                        Place to) {
  Payload payload;
  payload.name = std::move(name);
  payload.target = std::move(target);
  payload.instruction = std::move(instruction);
  payload.threads = mode_of({{1, 1}});
  const NestedLayout layout = thread_value({{1, 1}}, {{bits, 1}});
  for (const auto& [side, place] :
       {std::pair<const char*, Place>{"src", from}, {"dst", to}, {"ref", to == Place::registers ? to : from}}) {
    Operand operand;
    operand.name = side;
    operand.type = "bit";
    operand.place = place;
    operand.layout = layout;
    operand.tile = operand.rows = bits;
    operand.register_bits = place == Place::registers ? bits : 0;
    payload.operands.push_back(std::move(operand));
  }
  return payload;
}

Executor multiply_by(FragmentPlaces places, std::array<std::int64_t, 3> mnk, std::string source) {
  auto multiply = [places = std::move(places), mnk](const Held& a, const Held& b, const Held& c) {
    const auto [m, n, k] = mnk;
    std::vector<std::uint64_t> left(static_cast<std::size_t>(m * k)), right(static_cast<std::size_t>(n * k));
    const auto gather = [](std::vector<std::uint64_t>& matrix, std::int64_t columns, const Held& held,
                           const FragmentPlaces::Place& place) {
      for (std::size_t lane = 0; lane < held.size(); ++lane) {
        for (std::size_t value = 0; value < held[lane].size(); ++value) {
          const auto [row, column] = place(static_cast<int>(lane), static_cast<int>(value));
          matrix.at(static_cast<std::size_t>(row * columns + column)) = held[lane][value];
        }
      }
    };
    gather(left, k, a, places.a);
    gather(right, k, b, places.b);
    Held d = c;
    for (std::size_t lane = 0; lane < c.size(); ++lane) {
      for (std::size_t value = 0; value < c[lane].size(); ++value) {
        const auto [row, column] = places.c(static_cast<int>(lane), static_cast<int>(value));
        for (std::int64_t depth = 0; depth < k; ++depth) {
          d[lane][value] +=
              left.at(static_cast<std::size_t>(row * k + depth)) * right.at(static_cast<std::size_t>(column * k + depth));
        }
      }
    }
    return d;
  };
  return {{}, std::move(multiply), std::move(source)};
}

}  // namespace tmemsim::atom
