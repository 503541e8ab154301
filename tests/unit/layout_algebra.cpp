#include <random>

#include "ir/layout/tile_algebra.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;

namespace {

TileLayout layout_of(std::string_view notation) {
  const auto layout = parse_layout(notation);
  REQUIRE(layout);
  return *layout;
}

std::string text_of(const Result<TileLayout>& layout) { return layout ? to_string(*layout) : "none"; }

using Shape = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("tile: inner coordinates are low digits of each dimension", "[layout]") {
  // Element (8 p + i, 4 q + j) of the tiling stands at outer(p, q) * span + inner(i, j) on m, inner(i, j) elsewhere.
  const TileLayout outer = layout_of("S[(2,3):(3,1)]");
  const TileLayout inner = layout_of("S[(8,4):(2@laneid,1)] + 5");
  const auto tiled = tile(outer, Shape{2, 3}, inner, Shape{8, 4});
  REQUIRE(tiled);
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t column = 0; column < 12; ++column) {
      const auto point = evaluate_at(*tiled, Shape{row, column}, Shape{16, 12});
      REQUIRE(point);
      CHECK(at(*point, Axis::laneid) == row % 8 * 2);
      CHECK(at(*point, Axis::m) == (row / 8 * 3 + column / 4) * 9 + column % 4 + 5);  // span: 3 + 5 + 1
    }
  }
  CHECK(text_of(outer_of_tile(*tiled, Shape{16, 12}, inner, Shape{8, 4})) == "S[(2,3):(3,1)]");
  const auto recovered = inner_of_tile(*tiled, Shape{16, 12}, outer, Shape{2, 3});
  REQUIRE(recovered);
  CHECK(canonical(*recovered) == canonical(inner));
  CHECK_FALSE(tile(outer, Shape{2, 3}, inner, Shape{32}));
  CHECK_FALSE(outer_of_tile(*tiled, Shape{16, 12}, layout_of("S[(8,4):(1@laneid,1)] + 5"), Shape{8, 4}));
  CHECK_FALSE(outer_of_tile(*tiled, Shape{16, 12}, layout_of("S[(8,4):(2@laneid,1)] + 4"), Shape{8, 4}));
  CHECK_FALSE(inner_of_tile(*tiled, Shape{16, 12}, layout_of("S[(2,3):(1,2)]"), Shape{2, 3}));
}

TEST_CASE("direct sum adds without scaling", "[layout]") {
  const auto sum = direct_sum(layout_of("S[(2,2):(8,2)]"), Shape{2, 2}, layout_of("S[(2,2):(4,1)]"), Shape{2, 2});
  CHECK(text_of(sum) == "S[16:1]");
  CHECK(text_of(left_of_sum(*sum, Shape{2, 2, 2, 2}, layout_of("S[(2,2):(4,1)]"), Shape{2, 2})) == "S[(2,2):(8,2)]");
  CHECK(text_of(right_of_sum(*sum, Shape{2, 2, 2, 2}, layout_of("S[(2,2):(8,2)]"), Shape{2, 2})) == "S[(2,2):(4,1)]");
  CHECK_FALSE(left_of_sum(*sum, Shape{2, 2, 2, 2}, layout_of("S[(2,2):(4,2)]"), Shape{2, 2}));
}

TEST_CASE("group_many keeps repeated boundaries as unit iters", "[layout]") {
  const auto common = group_many(layout_of("S[30:1]"), {{6, 5}, {6, 1, 5}});
  REQUIRE(common);
  CHECK(to_string(common->layout) == "S[(6,1,5):(5,5,1)]");
  CHECK(common->separators == std::vector<std::vector<std::size_t>>{{0, 1, 3}, {0, 1, 2, 3}});
  CHECK_FALSE(group_many(layout_of("S[12:1]"), {{3, 4}, {2, 6}}));
  CHECK_FALSE(group_many(layout_of("S[12:1]"), {{3, 5}}));
}

TEST_CASE("scope chain", "[layout]") {
  const auto range = [](std::string_view notation) -> std::string {
    const auto found = scope_range(layout_of(notation));
    if (!found) return "error";
    return *found ? std::string(name((*found)->unit)) + " to " + std::string(name((*found)->scope)) : "none";
  };
  CHECK(range("S[8:1]") == "none");
  CHECK(range("S[(8,4):(1@laneid,1@warpid)]") == "thread to cta");
  CHECK(range("S[8:1@laneid] + R[2:1@wid_in_wg] + 1@wgid") == "thread to cta");
  CHECK(range("S[(8,4):(1@warpid,1@cbx)]") == "warp to cluster");
  CHECK(range("S[(8,4):(1@laneid,1@wgid)]") == "error");
  CHECK(range("S[(8,4):(1@laneid,1@tid_in_wg)]") == "error");
  CHECK(range("S[(8,4):(1@tx,1@warpid)]") == "error");
}

TEST_CASE("scope fusion names the thread that the parts name", "[layout]") {
  const TileLayout layout =
      layout_of("S[(2,2,8,2,4):(1@wgid,2@wid_in_wg,4@laneid,1@wid_in_wg,1@laneid)] + 3@laneid + 1@wid_in_wg");
  const auto fused = fuse_scopes(layout, Scope::cta);
  REQUIRE(fused);
  for (std::int64_t x = 0; x < size(layout); ++x) {
    const Point parts = evaluate(layout, x);
    CHECK(at(evaluate(*fused, x), Axis::tx) ==
          128 * at(parts, Axis::wgid) + 32 * at(parts, Axis::wid_in_wg) + at(parts, Axis::laneid));
  }
  CHECK(text_of(fuse_scopes(layout_of("S[(2,2):(1@wgid,1@wid_in_wg)]"), Scope::cta)) == "S[(2,2):(4@warpid,1@warpid)]");
  CHECK_FALSE(fuse_scopes(layout, Scope::warpgroup));
  CHECK_FALSE(fuse_scopes(layout_of("S[8:1@laneid]"), Scope::cta));
  CHECK(text_of(split_scopes(layout_of("S[128:1@tx]"), Scope::warp)) == "S[(4,32):(1@warpid,1@laneid)]");
  CHECK(text_of(split_scopes(layout_of("S[(2,128):(128@tx,1@tx)] + 160@tx"), Scope::warpgroup)) ==
        "S[(2,128):(1@wgid,1@tid_in_wg)] + 32@tid_in_wg + 1@wgid");
  CHECK_FALSE(split_scopes(layout_of("S[3:20@tx]"), Scope::warp));
}

TEST_CASE("unpack splits elements and pack merges them", "[layout]") {
  const TileLayout layout = layout_of("S[(4,8):(1@laneid,2)] + 6");
  const auto parts = unpack(layout, 4);
  REQUIRE(parts);
  for (std::int64_t x = 0; x < 128; ++x) {
    CHECK(at(evaluate(*parts, x), Axis::laneid) == at(evaluate(layout, x / 4), Axis::laneid));
    CHECK(at(evaluate(*parts, x), Axis::m) == 4 * at(evaluate(layout, x / 4), Axis::m) + x % 4);
  }
  const auto again = pack(*parts, 4);
  REQUIRE(again);
  CHECK(canonical(*again) == canonical(layout));
  CHECK_FALSE(pack(layout, 2));
  CHECK_FALSE(unpack(layout_of("Swizzle(3,3,3) o S[512:1]"), 3));
  CHECK(text_of(pack(layout_of("Swizzle(4,3,3) o S[1024:1]"), 2)) == "Swizzle(3,3,3) o S[512:1]");
  CHECK(text_of(unpack(layout_of("Swizzle(3,3,3) o S[512:1]"), 2)) == "Swizzle(4,3,3) o S[(512,2):(2,1)]");
  CHECK_FALSE(pack(layout_of("Swizzle(0,3,3) o S[64:1]"), 2));
  CHECK(text_of(unpack(layout_of("S[(128,8):(1@TLane,1@TCol)]"), 2)) == "S[(128,8,2):(1@TLane,2@TCol,1@TCol)]");
}

TEST_CASE("storage, broadcast, permutations and triviality", "[layout]") {
  CHECK(to_string(storage(layout_of("S[(8,4,2):(4@laneid,1@laneid,1)] + R[2:1@warpid] + 3@laneid + 2"))) == "S[2:1] + 2");
  CHECK(text_of(broadcast(layout_of("S[8:1]"), 4)) == "S[(8,4):(1,0)]");
  CHECK(text_of(permute_iters(layout_of("S[(8,4):(1@laneid,1)]"), std::vector<std::size_t>{1, 0})) == "S[(4,8):(1,1@laneid)]");
  CHECK_FALSE(permute_iters(layout_of("S[(8,4):(1@laneid,1)]"), std::vector<std::size_t>{1, 1}));
  CHECK_FALSE(permute_iters(layout_of("S[(8,4):(1@laneid,1)]"), std::vector<std::size_t>{0}));
  CHECK(is_trivial(layout_of("S[(8,4):(4,1)]")));
  CHECK_FALSE(is_trivial(layout_of("S[(8,4):(4,1)] + 1")));
  CHECK_FALSE(is_trivial(layout_of("S[8:1@laneid]")));
}

TEST_CASE("a swizzle twice is no swizzle", "[layout]") {
  const Swizzle swizzle{3, 3, 3, true};
  const auto once = with_swizzle(layout_of("S[512:1]"), swizzle);
  REQUIRE(once);
  const auto twice = with_swizzle(*once, swizzle);
  CHECK(text_of(twice) == "S[512:1]");
  for (std::int64_t x = 0; x < 512; ++x) CHECK(apply(swizzle, apply(swizzle, x)) == x);
  CHECK_FALSE(with_swizzle(*once, Swizzle{3, 2, 3, true}));
}

TEST_CASE("digits of a coordinate and coordinates beyond the shape", "[layout]") {
  const TileLayout layout = layout_of("S[(4,4,4,4):(64,16,4,1)]");
  CHECK(*iter_digits(layout, Shape{13, 9}, Shape{16, 16}) == Shape{3, 1, 2, 1});
  CHECK_FALSE(iter_digits(layout, Shape{13}, Shape{16, 16}));
  CHECK_FALSE(iter_digits(layout, Shape{1, 1}, Shape{16, 8}));
  CHECK(at(*evaluate_at(layout, Shape{20, 3}, Shape{16, 16}), Axis::m) == 5 * 64 + 3);
  CHECK_FALSE(evaluate_digits(layout, Shape{1, 1, 1}));
  CHECK(at(*evaluate_at(layout_of("S[(4,3):(3,1)]"), Shape{5, 1}, Shape{6, 2}), Axis::m) == 11);  // no grouping: linear index
}
