// Copies whose regions no layout describes as a whole: cut into boxes that layouts do describe.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "lower/dispatch.hpp"
#include "lower/operand.hpp"

namespace tmemsim::lower {

struct RegionPair {
  Region dst, src;
};

// The copy of dst = src as a row of smaller copies, each of which has digits in step. One pair when it already has. Nothing when
// that takes too many boxes, or when a layout does not separate the dimensions of its buffer.
std::optional<std::vector<RegionPair>> pieces_of(const Request& request, const Region& dst, const Region& src);

// Plans the whole, or, when its regions are no layouts, one piece after the other.
Outcome plan_by_pieces(const Request& request, const Region& dst, const Region& src,
                       const std::function<Outcome(const Region& dst, const Region& src)>& plan);

}  // namespace tmemsim::lower
