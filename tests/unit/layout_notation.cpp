#include "ir/layout/tile_layout.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;

TEST_CASE("notation of a layout with shard, replica and offset", "[layout]") {
  const auto layout = parse_layout("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid");
  REQUIRE(layout);
  CHECK(layout->shard == std::vector<Iter>{{8, 4, Axis::laneid}, {2, 1, Axis::warpid}, {4, 1, Axis::laneid}, {2, 1, Axis::m}});
  CHECK(layout->replica == std::vector<Iter>{{2, 4, Axis::warpid}});
  CHECK(layout->offset == std::vector<AxisOffset>{{Axis::warpid, 5}});
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 16; ++j) {
      const std::vector<Point> images = evaluate_all(*layout, i * 16 + j);
      REQUIRE(images.size() == 2);
      for (int r = 0; r < 2; ++r) {
        const Point& image = images[static_cast<std::size_t>(r)];
        CHECK(at(image, Axis::laneid) == 4 * i + j / 2 % 4);
        CHECK(at(image, Axis::warpid) == 5 + j / 8 + 4 * r);
        CHECK(at(image, Axis::m) == j % 2);
      }
    }
  }
}

TEST_CASE("notation: short forms mean the long ones", "[layout]") {
  const auto same = [](std::string_view a, std::string_view b) {
    INFO(a << " and " << b);
    const auto left = parse_layout(a);
    const auto right = parse_layout(b);
    REQUIRE(left);
    REQUIRE(right);
    CHECK(*left == *right);
  };
  same("S[8,4,2]", "S[(8,4,2):(8,2,1)]");
  same("S[(32,8)]", "S[(32,8):(8,1)]");
  same("S[128:1@tid_in_wg]", "S[(128):(1@tid_in_wg)]");
  same("S[(8,4):(\"laneid\",1)]", "S[(8,4):(1@laneid,1@m)]");
  same("S[(8,4):(laneid,1)]", "S[(8,4):(1@laneid,1@m)]");
  same("S[(8,4):((4,\"laneid\"),1)]", "S[(8,4):(4@laneid,1@m)]");
  same("64+S[8:4@laneid]+1@laneid", "S[8:4@laneid] + 1@laneid + 64");
  same("S[8:1] + 3 - 1 + 2@laneid", "S[8:1] + 2 + 2@laneid");
  same("S[(2+2*3):(8/4)]", "S[8:2]");
  same("S[8:1] + (1@laneid + 2@warpid + 64)", "S[8:1] + 1@laneid + 2@warpid + 64");
  same("S[8:1] - (1@laneid - 2@warpid - (3 + 1))", "S[8:1] - 1@laneid + 2@warpid + 4");
  same("S[(8,):((4,\"laneid\"),)]", "S[8:4@laneid]");
  same("Swizzle(3,3,3)", "Swizzle(3,3,3) o S[512:1]");
}

TEST_CASE("notation: names stand for integers", "[layout]") {
  const auto layout = parse_layout("S[(64,2,n/2):(1@TLane,64@TLane,1@TCol)] + n*2@TCol", {{"n", 32}});
  REQUIRE(layout);
  CHECK(to_string(*layout) == "S[(64,2,16):(1@TLane,64@TLane,1@TCol)] + 64@TCol");
}

TEST_CASE("notation: printed text parses back", "[layout]") {
  for (const char* text : {"S[(8,2):(4@laneid,1)]", "S[128:1@tx] + R[(2,2):(4@warpid,8)] - 3@laneid + 7@TCol", "S[]",
                           "Swizzle(3,3,3) o S[(8,64):(64,1)]", "Swizzle(0,3,3,outer) o S[64:1]", "S[(4,4):(-4,0)] + 12"}) {
    const auto layout = parse_layout(text);
    INFO(text);
    REQUIRE(layout);
    const auto again = parse_layout(to_string(*layout));
    REQUIRE(again);
    CHECK(*again == *layout);
  }
}

TEST_CASE("notation: errors carry a caret", "[layout]") {
  const auto caret = [](std::string_view text) -> std::string {
    const auto layout = parse_layout(text);
    if (layout) return "accepted";
    REQUIRE(layout.reason().text_offset);
    return std::to_string(*layout.reason().text_offset);
  };
  CHECK(caret("S[(8,4):(1@lanid,1)]") == "11");
  CHECK(caret("S[(8,0):(4,1)]") == "5");
  CHECK(caret("S[(8,4):(4,1,1)]") == "13");
  CHECK(caret("S[(8,4):(4)]") == "8");
  CHECK(caret("S[(8,4:(4,1)]") == "2");
  CHECK(caret("S[8:1] + + 3") == "9");
  CHECK(caret("S[8:1] extra") == "7");
  CHECK(caret("S[(8,n):(1,1)]") == "5");
  CHECK(caret("S[99999999999999999999:1]") == "2");
  CHECK(caret("S[(4294967296,4294967296):(1,1)]") == "14");
  CHECK(caret("S[(8,8):(1,4611686018427387904)]") == "5");
  CHECK(caret("S[(8,n/0):(1,1)]") == "5");
  CHECK(caret("") == "0");
  CHECK(caret("R[2:1]") == "6");
  CHECK(caret("Swizzle(3,3,2) o S[8:1]") == "7");
  CHECK(caret(std::string(1000, '(')) != "accepted");
  CHECK(caret("S[(" + std::string(1000, '-') + "8):(1)]") != "accepted");
  CHECK(caret("S[(8):(1)] + R[2097152:1]") != "accepted");
  CHECK(caret("S[1099511627776:1]") == "accepted");
}
