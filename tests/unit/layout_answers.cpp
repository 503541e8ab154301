#include "report/layout_answers.hpp"

#include "ir/diagnostic.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::report;
using tmemsim::tests::contains;

namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

template <class F>
std::string complaint(F f) {
  try {
    f();
  } catch (const InputError& error) { return error.what(); }
  return "accepted";
}

}  // namespace

TEST_CASE("layout answers: extents and ranges", "[layout]") {
  CHECK(parse_extents("128,64") == Extents{128, 64});
  CHECK(parse_extents(" (128, 64) ") == Extents{128, 64});
  CHECK(parse_ranges("0:64,16:32,5") == std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 64}, {16, 32}, {5, 6}});
  for (const char* wrong : {"", "a", "1,,2", "1;2", "99999999999999999999"}) {
    CHECK_THAT(complaint([&] { parse_extents(wrong); }), contains("expected"));
  }
  CHECK_THAT(complaint([] { parse_ranges("0:64;3"); }), contains("^"));
}

TEST_CASE("layout answers: evaluation, algebra and comparison", "[layout]") {
  CHECK(layout_eval("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid]", {}, {8, 16}, Extents{3, 13}) ==
        "(3, 13) -> m=1 laneid=14 warpid=1, m=1 laneid=14 warpid=5\n");
  CHECK(layout_eval("S[(2,2):(1,2)]", {}, {}, {}) == "0 -> m=0\n1 -> m=2\n2 -> m=1\n3 -> m=3\n");
  CHECK(layout_eval("((2,2),3):((1,8),2)", {7}, {}, Extents{3, 2}) == "(3,2) -> 13\n7 -> 11\n");
  CHECK(layout_canon("S[(4,8,4):(1@warpid,4@laneid,1@laneid)]", Scope::cta) == "S[128:1@tx]\n");
  CHECK(layout_canon("(3,1,9):(1,9,3)", {}) == "27:1\n");
  CHECK_THAT(layout_group("S[24:1]", {2, 12}), contains("dimension 1 (12): iters 1 to 1, S[12:1]"));
  CHECK(layout_tile("S[(8,4):(4@laneid,1@laneid)]", {8, 4}, "S[(1,2):(2,1)]", {1, 2}) == "S[(32,2):(1@laneid,1)]\n");
  CHECK(layout_slice("S[(4,16,64):(32@TLane,1@TLane,1@TCol)]", {64, 64}, "16:32,0:8") ==
        "S[(16,8):(1@TLane,1@TCol)] + 32@TLane\n");
  CHECK(layout_compose("(6,9):(19,69)", "(6,3):(3,1)") == "((2,3),3):((57,69),19)\n");
  CHECK_THAT(layout_invert("S[(64,2,8):(1@TLane,64@TLane,1@TCol)]"), contains("TLane 0..127, TCol 0..7"));
  CHECK(layout_compare("S[(32,8):(8,1)]", "S[256:1]", {}).same == Answer::yes);
  const LayoutComparison other = layout_compare("S[(8,8):(8,1)]", "S[(8,8):(1,8)]", {8, 8});
  CHECK(other.same == Answer::no);
  CHECK_THAT(other.text, contains("element (0, 1) first"));
  CHECK_THAT(layout_compare("S[8:1]", "S[16:1]", {}).text, contains("agree on the first 8"));
  CHECK_THAT(layout_print("tmem_datapath_layout(F, 64, 8)"), contains("S[(4,16,8):(32@TLane,1@TLane,1@TCol)]"));
}

TEST_CASE("layout answers: wrong input is named, with a caret where there is text", "[layout]") {
  CHECK_THAT(complaint([] { layout_print("S[(8,4):(1@lanid,1)]"); }), contains("did you mean laneid?"));
  CHECK_THAT(complaint([] { layout_print("S[(8,4):(1@lanid,1)]"); }), contains("^"));
  CHECK_THAT(complaint([] { layout_print("(4,8):(1,(4,2))"); }), contains("congruent"));
  CHECK_THAT(complaint([] { layout_eval("S[8:1]", {9}, {}, {}); }), contains("outside"));
  CHECK_THAT(complaint([] { layout_eval("S[8:1]", {}, {4}, {}); }), contains("8 elements"));
  CHECK_THAT(complaint([] { layout_eval("S[1099511627776:1]", {}, {}, {}); }), contains("name those"));
  CHECK(layout_eval("S[1099511627776:1]", {1099511627775}, {}, {}) == "1099511627775 -> m=1099511627775\n");
  CHECK_THAT(complaint([] { layout_picture("S[1099511627776:1]", {}, {}); }), contains("cannot be drawn"));
  CHECK_THAT(complaint([] { layout_picture("S[(4,4,4):(16,4,1)]", {}, {}); }), contains("--shape"));
  CHECK_THAT(complaint([] { layout_slice("S[8:1]", {8}, "4:12"); }), contains("outside dimension 0"));
  CHECK_THAT(complaint([] { layout_compose("(4,2):(1,100)", "3:3"); }), contains("mode 0"));
}

TEST_CASE("pictures: the tile says who owns each element", "[layout]") {
  const Grid grid = layout_picture("tcgen05_atom_layout(16x64b, (64,4), f32)", {64, 4}, {});
  REQUIRE(grid.rows() == 64);
  REQUIRE(grid.columns() == 4);
  for (std::size_t r = 0; r < 64; ++r) {
    for (std::size_t c = 0; c < 4; ++c) {
      // Row r = lane / 4 + 8 (lane % 2) + 16 warp, column c = lane / 2 % 2 + 2 register.
      const std::size_t thread = r / 16 * 32 + r % 8 * 4 + c % 2 * 2 + r / 8 % 2;
      CHECK(grid.at(r, c).label == std::to_string(thread) + ":" + std::to_string(c / 2));
    }
  }
}

TEST_CASE("pictures: tensor memory by lane and column", "[layout]") {
  const Grid grid = layout_picture("tmem_datapath_layout(F, 64, 8)", {64, 8}, {});
  REQUIRE(grid.rows() == 128);
  REQUIRE(grid.columns() == 8);
  for (std::size_t lane = 0; lane < 128; ++lane) {
    for (std::size_t column = 0; column < 8; ++column) {
      const bool used = lane % 32 < 16;
      CHECK(grid.at(lane, column).label ==
            (used ? std::to_string(lane / 32 * 16 + lane % 32) + "," + std::to_string(column) : ""));
    }
  }
  const Grid copied = layout_picture("S[(32,4):(1@TLane,1@TCol)] + R[4:32@TLane]", {}, {});
  CHECK(copied.at(96, 0).label == "0,0");
}

TEST_CASE("pictures: one rectangle a cell, text escaped, windows named", "[layout]") {
  const Grid grid = layout_picture("S[(128,64):(1@tid_in_wg,1)]", {}, {});
  const std::string document = svg(grid);
  CHECK(count_of(document, "<rect") == 128 * 64 + 1);
  CHECK(count_of(document, "<text") == 128 * 64 + 128 + 64 + 4);
  CHECK(document.rfind("</svg>\n") == document.size() - 7);
  const std::string text = terminal_text(grid, Window{120, 32, 60, 16}, false);
  CHECK_THAT(text, contains("127:63"));
  CHECK_THAT(text, contains("shown: row 120 to 127 of 128, column 60 to 63 of 64"));
  CHECK(count_of(terminal_text(grid, Window{0, 2, 0, 2}, true), "\x1b[0m") == 4);
  Grid odd;
  odd.title = "a < b & \"c\"";
  CHECK_THAT(svg(odd), contains("a &lt; b &amp; &quot;c&quot;"));
}
