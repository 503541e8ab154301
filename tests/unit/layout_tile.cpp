#include "ir/layout/tile_algebra.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;

namespace {

TileLayout layout_of(std::string_view notation) {
  const auto layout = parse_layout(notation);
  REQUIRE(layout);
  return *layout;
}

std::string canonical_text(std::string_view notation) { return to_string(canonical(layout_of(notation))); }

}  // namespace

TEST_CASE("evaluate: last iter is the lowest digit and the first takes the quotient", "[layout]") {
  const TileLayout layout = layout_of("S[(6,5,4):(100@TLane,7,1@TCol)] + 3@TCol");
  for (std::int64_t x = 0; x < 400; ++x) {
    const Point point = evaluate(layout, x);
    CHECK(at(point, Axis::TCol) == x % 4 + 3);
    CHECK(at(point, Axis::m) == x / 4 % 5 * 7);
    CHECK(at(point, Axis::TLane) == x / 20 * 100);
  }
}

TEST_CASE("evaluate beyond 32 bits", "[layout]") {
  const TileLayout layout = layout_of("S[(1000003,1000003):(1,1000003)]");
  const std::int64_t x = 999999LL * 1000003 + 5;
  CHECK(at(evaluate(layout, x), Axis::m) == 999999 + 5LL * 1000003);
}

TEST_CASE("swizzle moves 16-byte chunks by the row of the atom", "[layout]") {
  const TileLayout layout = layout_of("Swizzle(3,3,3) o S[(8,64):(64,1)]");
  for (std::int64_t row = 0; row < 8; ++row) {
    for (std::int64_t column = 0; column < 64; ++column) {
      CHECK(at(evaluate(layout, row * 64 + column), Axis::m) == row * 64 + (column / 8 ^ row) * 8 + column % 8);
    }
  }
}

TEST_CASE("size and span", "[layout]") {
  const TileLayout layout = layout_of("S[(8,4,6):(4@laneid,1@laneid,8)] + R[2:100] + 7");
  CHECK(size(layout) == 192);
  CHECK(size_on(layout, Axis::laneid) == 32);
  CHECK(size_on(layout, Axis::m) == 6);
  CHECK(size_on(layout, Axis::tx) == 1);
  CHECK(span_on(layout, Axis::laneid) == 32);
  CHECK(span_on(layout, Axis::m) == 40 + 100 + 7 + 1);
  CHECK(span_on(layout, Axis::TCol) == 1);
}

TEST_CASE("canonical form", "[layout]") {
  CHECK(canonical_text("S[(8,8,1,8,4,2):(512,64,160,8,2,1)]") == "S[4096:1]");
  CHECK(canonical_text("S[(3,4,5,2):(20,5,1,60)]") == "S[(60,2):(1,60)]");
  CHECK(canonical_text("S[(8,2,3,6):(6,24,6,1)]") == "S[(8,2,18):(6,24,1)]");
  CHECK(canonical_text("S[(4,2):(2@laneid,1@warpid)]") == "S[(4,2):(2@laneid,1@warpid)]");
  CHECK(canonical_text("S[(1,1):(5@laneid,7)]") == "S[1:1@laneid]");
  CHECK(canonical_text("S[2:1] + R[(2,1,3):(8@laneid,5,2@laneid)]") == "S[2:1] + R[(3,2):(2@laneid,8@laneid)]");
}

TEST_CASE("group cuts iters at the boundaries of the shape", "[layout]") {
  const auto grouped = group(layout_of("S[24:1]"), std::vector<std::int64_t>{2, 1, 12});
  REQUIRE(grouped);
  CHECK(to_string(grouped->layout) == "S[(2,1,12):(12,12,1)]");
  CHECK(grouped->separators == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK_FALSE(group(layout_of("S[(4,3):(3,1)]"), std::vector<std::int64_t>{6, 2}));
  CHECK_FALSE(group(layout_of("S[12:1]"), std::vector<std::int64_t>{6, 3}));
}

namespace {

// A slice is right when element y of the box is where the whole layout puts begin + y.
void slice_is_pointwise(const TileLayout& layout, const std::vector<std::int64_t>& shape,
                        const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& extent) {
  const auto part = slice(layout, shape, begin, extent);
  REQUIRE(part);
  for (std::int64_t i = 0; i < extent[0]; ++i) {
    for (std::int64_t j = 0; j < extent[1]; ++j) {
      CHECK(evaluate(*part, i * extent[1] + j) == evaluate(layout, (begin[0] + i) * shape[1] + begin[1] + j));
    }
  }
}

}  // namespace

TEST_CASE("slice", "[layout]") {
  const TileLayout fragment = layout_of("S[(4,16,2,2,8):(32@TLane,1@TLane,128@TCol,1@TCol,4@TCol)]");
  slice_is_pointwise(fragment, {64, 32}, {0, 0}, {64, 32});
  slice_is_pointwise(fragment, {64, 32}, {16, 8}, {32, 8});
  slice_is_pointwise(fragment, {64, 32}, {17, 3}, {1, 1});
  slice_is_pointwise(fragment, {64, 32}, {8, 4}, {16, 8});  // half before and half after a carry
  slice_is_pointwise(layout_of("Swizzle(2,2,2) o S[(16,16):(16,1)]"), {16, 16}, {4, 8}, {8, 4});

  const auto carries =
      slice(fragment, std::vector<std::int64_t>{64, 32}, std::vector<std::int64_t>{0, 2}, std::vector<std::int64_t>{64, 7});
  REQUIRE_FALSE(carries);
  CHECK(carries.reason().iter);
  CHECK_FALSE(
      slice(fragment, std::vector<std::int64_t>{64, 32}, std::vector<std::int64_t>{0, 16}, std::vector<std::int64_t>{64, 17}));
  CHECK_FALSE(
      slice(fragment, std::vector<std::int64_t>{64, 32}, std::vector<std::int64_t>{-1, 0}, std::vector<std::int64_t>{1, 1}));
  CHECK_FALSE(slice(fragment, std::vector<std::int64_t>{64, 32}, std::vector<std::int64_t>{0}, std::vector<std::int64_t>{64}));
}
