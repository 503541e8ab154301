#include <ir/dtype.hpp>
#include <ir/layout/tile_layout.hpp>

// Thread 2 of the warp holds elements 4 and 5 of an 8x8 tile's first row, in its registers 0 and 1.
int main() {
  const auto layout = tmemsim::parse_layout("S[(8,4,2):(4@laneid,1@laneid,1)]");
  if (!layout) return 1;
  const tmemsim::Point point = tmemsim::evaluate(*layout, 5);
  const bool right = tmemsim::at(point, tmemsim::Axis::laneid) == 2 && tmemsim::at(point, tmemsim::Axis::m) == 1;
  return right && tmemsim::encode(tmemsim::Dtype::f16, 1.0) == 0x3c00 ? 0 : 1;
}
