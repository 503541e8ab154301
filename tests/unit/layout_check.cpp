#include "ir/layout/check.hpp"
#include "ir/layout/factories.hpp"
#include "tests/catch.hpp"
#include "tests/property/layout_random.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
using Extents = std::vector<std::int64_t>;

namespace {

Result<LayoutFacts> checked(std::string_view notation, Extents shape, Space space, int bits = 32, std::int64_t threads = 128) {
  const auto layout = parse_layout(notation);
  REQUIRE(layout);
  return check_layout(*layout, shape, Place{space, bits, threads});
}

LayoutFacts good(std::string_view notation, Extents shape, Space space, int bits = 32, std::int64_t threads = 128) {
  const auto facts = checked(notation, shape, space, bits, threads);
  INFO((facts ? "" : facts.reason().text));
  REQUIRE(facts);
  return *facts;
}

// Text, iter and coordinate of the refusal.
Reason bad(std::string_view notation, Extents shape, Space space, int bits = 32, std::int64_t threads = 128) {
  const auto facts = checked(notation, shape, space, bits, threads);
  INFO(notation);
  REQUIRE_FALSE(facts);
  return facts.reason();
}

}  // namespace

TEST_CASE("a buffer's layout admits its shape", "[layout]") {
  CHECK(good("S[(128,8):(8,1)]", {128, 8}, Space::shared).elements == 1024);
  CHECK(good("S[1024:1]", {128, 8}, Space::shared).bytes == 4096);
  CHECK_THAT(bad("S[(128,8):(8,1)]", {128, 16}, Space::shared).text, contains("1024 elements"));
  CHECK_THAT(bad("S[1:1]", {0}, Space::shared).text, contains("at least 1"));
}

TEST_CASE("axes fit the space", "[layout]") {
  good("S[(128,8):(1@TLane,1@TCol)]", {128, 8}, Space::tmem);
  good("S[(128,8):(1@tid_in_wg,1)]", {128, 8}, Space::local);
  CHECK(bad("S[(128,8):(1@TLane,1)]", {128, 8}, Space::tmem).iter == 1u);
  CHECK(bad("S[(128,8):(1@tid_in_wg,1@TCol)]", {128, 8}, Space::tmem).iter == 0u);
  CHECK(bad("S[(128,8):(1@TLane,1)]", {128, 8}, Space::local).iter == 0u);
  CHECK(bad("S[(128,8):(8,1@laneid)]", {128, 8}, Space::global).iter == 1u);
  CHECK(bad("S[(2,8):(1@cbx,1)]", {2, 8}, Space::local).iter == 0u);
  CHECK_THAT(bad("S[8:1] + 1@TCol", {8}, Space::shared).text, contains("offset"));
  CHECK_THAT(bad("S[8:1] + R[2:1@TLane]", {8}, Space::shared).text, contains("replica"));
  CHECK_THAT(bad("Swizzle(1,1,1) o S[8:1]", {8}, Space::local).text, contains("swizzle"));
  good("Swizzle(1,1,1) o S[8:1]", {8}, Space::shared);
}

TEST_CASE("lanes and threads exist", "[layout]") {
  good("S[(4,16,8):(32@TLane,1@TLane,1@TCol)] + 16@TLane", {64, 8}, Space::tmem);
  const Reason lane = bad("S[(4,16,8):(32@TLane,1@TLane,1@TCol)] + 20@TLane", {64, 8}, Space::tmem);
  CHECK(lane.iter == 0u);
  CHECK(lane.coordinate == Extents{60, 0});  // lane 96 + 20 + 12 is 128
  CHECK(bad("S[(4,64):(64@TLane,1@TCol)]", {4, 64}, Space::tmem).coordinate == Extents{2, 0});
  CHECK(bad("S[(64,8):(1@laneid,1)]", {64, 8}, Space::local).coordinate == Extents{32, 0});
  CHECK(bad("S[(8,8):(1@warpid,1)]", {8, 8}, Space::local, 32, 128).coordinate == Extents{4, 0});
  good("S[(8,8):(1@warpid,1)]", {8, 8}, Space::local, 32, 256);
  CHECK(bad("S[(256,8):(1@tx,1)]", {256, 8}, Space::local, 32, 128).coordinate == Extents{128, 0});
  CHECK_THAT(bad("S[(32,8):(1@tid_in_wg,1)]", {32, 8}, Space::local, 32, 32).text, contains("warpgroup"));
  CHECK(bad("S[(8,4):(-4,1)]", {8, 4}, Space::shared).coordinate == Extents{1, 0});
  good("S[(8,4):(-4,1)] + 28", {8, 4}, Space::shared);
  good("S[(128,1024):(1@TLane,1@TCol)]", {128, 1024}, Space::tmem);  // columns are counted, not bounded
}

TEST_CASE("different elements do not share a place", "[layout]") {
  const Reason twice = bad("S[(4,8):(4,1)]", {4, 8}, Space::shared);
  CHECK(twice.coordinate == Extents{1, 0});  // (0, 4) and (1, 0)
  CHECK(twice.iter == 0u);
  CHECK(bad("S[(128,2,8):(1@TLane,0@TCol,1@TCol)]", {128, 16}, Space::tmem).coordinate == Extents{0, 8});
  good("S[(2,2):(2,3)]", {2, 2}, Space::shared);
  CHECK(good("S[(32,4):(1@TLane,1@TCol)] + R[4:32@TLane]", {32, 4}, Space::tmem, 8).copies == 4);
  bad("S[(64,4):(1@TLane,1@TCol)] + R[2:32@TLane]", {64, 4}, Space::tmem);  // the copy of row 0 is row 32
  CHECK_THAT(bad("S[(1500,1500,1500):(100007,1000003,10000019)]", {1500, 1500, 1500}, Space::global).text,
             contains("cannot decide"));
  good("S[(1048576,1048576):(1048576,1)]", {1 << 20, 1 << 20}, Space::global);
}

TEST_CASE("facts: registers, columns, bytes", "[layout]") {
  CHECK(good("S[(128,8):(1@tid_in_wg,1)]", {128, 8}, Space::local, 16).registers == 4);
  CHECK(good("S[(128,7):(1@tid_in_wg,1)]", {128, 7}, Space::local, 16).registers == 4);
  CHECK(good("S[(128,4):(1@tid_in_wg,2)]", {128, 4}, Space::local, 32).registers == 7);
  CHECK(good("S[(128,10):(1@TLane,1@TCol)]", {128, 10}, Space::tmem, 8).columns == 3);
  CHECK(good("S[(8,8):(10,1)] + 2", {8, 8}, Space::shared, 16).bytes == 160);
  CHECK(good("S[16:1]", {16}, Space::global, 4).bytes == 8);
}

TEST_CASE("facts: every thread of the scope owns elements, or the gap is known", "[layout]") {
  const LayoutFacts full = good("S[(8,4,2):(4@laneid,1@laneid,1)]", {8, 8}, Space::local);
  CHECK(full.scope == Scope::warp);
  CHECK(full.threads == 32);
  CHECK_FALSE(full.first_idle);
  const LayoutFacts half = good("S[(16,2):(2@laneid,1)]", {16, 2}, Space::local);
  CHECK(half.threads == 16);
  CHECK(half.first_idle == 1);
  const LayoutFacts copied = good("S[(8,2):(4@laneid,1)] + R[4:1@laneid]", {8, 2}, Space::local);
  CHECK(copied.threads == 32);
  CHECK(copied.copies == 4);
  const LayoutFacts warps = good("S[(2,32,2):(1@warpid,1@laneid,1)]", {64, 2}, Space::local, 32, 128);
  CHECK(warps.scope == Scope::cta);
  CHECK(warps.threads == 64);
  CHECK(warps.first_idle == 64);
  CHECK_THAT(bad("S[(8,4):(1@laneid,1@wgid)]", {8, 4}, Space::local, 32, 512).text, contains("gap"));
}

TEST_CASE("first element at or beyond a coordinate, against all elements", "[layout][property]") {
  Random random(11);
  for (int run = 0; run < scaled(2000); ++run) {
    const TileLayout layout = random_linear_layout(random);
    const std::int64_t limit = pick(random, -10, 60);
    std::optional<std::int64_t> reaching, below;
    for (std::int64_t x = naive_size(layout) - 1; x >= 0; --x) {
      for (const Point& image : naive_set(layout, x)) {
        if (at(image, Axis::m) >= limit) reaching = x;
        if (at(image, Axis::m) < limit) below = x;
      }
    }
    INFO(to_string(layout) << " limit " << limit);
    REQUIRE(first_reaching(layout, Axis::m, limit) == reaching);
    REQUIRE(first_below(layout, Axis::m, limit) == below);
  }
}
