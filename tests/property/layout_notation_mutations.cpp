// Damaged notation: never a crash, an error with a caret inside the text, or a layout that prints and parses back.
#include <string>
#include <vector>

#include "ir/layout/nested.hpp"
#include "ir/layout/tile_layout.hpp"
#include "tests/catch.hpp"
#include "tests/property/layout_random.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::string damaged(std::string text, Random& random) {
  static const std::string letters = "()[]:,@+-*/%oSREn0123456789\"' <>|?_mlaneidwarpTColswizzle";
  for (std::int64_t edits = pick(random, 1, 4); edits > 0; --edits) {
    const auto at = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(text.size())));
    const char letter = letters[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(letters.size()) - 1))];
    switch (pick(random, 0, 3)) {
      case 0:
        text.insert(at, 1, letter);
        break;
      case 1:
        if (at < text.size()) text[at] = letter;
        break;
      case 2:
        if (at < text.size()) text.erase(at, 1);
        break;
      default:
        text.insert(at, text.substr(0, static_cast<std::size_t>(pick(random, 0, 12))));
        break;
    }
  }
  return text;
}

const std::vector<std::string> tile_notations{"S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid",
                                              "Swizzle(3,3,3) o S[(8,64):(64,1)]",
                                              "S[8,4,2]",
                                              "S[128:1@tid_in_wg] - 3",
                                              "S[(64,2,n/2):(1@TLane,64@TLane,1@TCol)]",
                                              "tcgen05_atom_layout(\"16x64b\", (64, 32), f16)",
                                              "mma_shared_layout(f16, 3, (64, 128))",
                                              "64 + S[8:4@laneid] + (1@laneid + 2)",
                                              "S[(8,4):((4,\"laneid\"),laneid)]",
                                              "wg_local_layout(8, rows=64)"};
const std::vector<std::string> nested_notations{"(4,(2,8)):(1,(4,8))", "32:2o5o[32:1o7o(4,8):(1,4)]", "S<3,4,3>o0o(8,8):(8,1)",
                                                "CS<3,0,[0],0,[1]>o(0,0)o(8,8):(1E0,1E1)", "((2,3),4):((1E0E0,1E0E1),2E1)"};

template <class T>
bool caret_inside(const Result<T>& failed, const std::string& text) {
  return failed.reason().text_offset && *failed.reason().text_offset <= text.size() && !failed.reason().text.empty();
}

}  // namespace

TEST_CASE("damaged layout notation", "[layout][property]") {
  Random random(31);
  int accepted = 0;
  for (int run = 0; run < scaled(30000); ++run) {
    const std::string text = damaged(tile_notations[static_cast<std::size_t>(run) % tile_notations.size()], random);
    const auto layout = parse_layout(text, {{"n", 32}});
    INFO(text);
    if (!layout) {
      REQUIRE(caret_inside(layout, text));
      continue;
    }
    ++accepted;
    const auto again = parse_layout(to_string(*layout));
    REQUIRE(again);
    REQUIRE(*again == *layout);
  }
  CHECK(accepted > 0);
}

TEST_CASE("damaged nested notation", "[layout][nested][property]") {
  Random random(32);
  int accepted = 0;
  for (int run = 0; run < scaled(30000); ++run) {
    const std::string text = damaged(nested_notations[static_cast<std::size_t>(run) % nested_notations.size()], random);
    const auto layout = parse_any_layout(text);
    INFO(text);
    if (!layout) {
      REQUIRE(caret_inside(layout, text));
      continue;
    }
    ++accepted;
    const auto again = parse_any_layout(to_string(*layout));
    REQUIRE(again);
    REQUIRE(same(*again, *layout));
    // Operations on whatever was accepted answer or refuse.
    if (const auto* nested = std::get_if<NestedLayout>(&*layout)) {
      (void)coalesce(*nested).has_value();
      (void)complement(*nested).has_value();
      (void)left_inverse(*nested).has_value();
      (void)right_inverse(*nested).has_value();
      (void)logical_divide(*nested, *nested).has_value();
      (void)blocked_product(*nested, *nested).has_value();
      (void)recast(*nested, 8, 16).has_value();
      (void)cosize(*nested).has_value();
      (void)crd2idx(IntTuple(7), *nested).has_value();
      (void)idx2crd(IntTuple(7), *nested).has_value();
    }
  }
  CHECK(accepted > 0);
}
