#include "ir/axis.hpp"

#include "tests/catch.hpp"

using namespace tmemsim;

TEST_CASE("The axis table is indexed by the axis") {
  for (std::size_t i = 0; i < axis_count; ++i) CHECK(static_cast<std::size_t>(axis_table[i].axis) == i);
  CHECK(name(Axis::TLane) == "TLane");
  CHECK(is_thread(Axis::laneid));
  CHECK_FALSE(is_thread(Axis::TCol));
}
