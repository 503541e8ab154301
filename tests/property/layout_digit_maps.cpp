// Digit maps decided by their digits against the same questions answered by looking at every element.
#include <algorithm>
#include <map>
#include <set>

#include "ir/layout/digit_map.hpp"
#include "ir/layout/tile_algebra.hpp"
#include "tests/catch.hpp"
#include "tests/property/layout_random.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

TEST_CASE("evaluation is the definition", "[layout][property]") {
  Random random(1);
  for (int run = 0; run < scaled(3000); ++run) {
    const TileLayout layout = random_layout(random);
    const DigitMap as_digits = digit_map(layout);
    bool good = true;
    for (std::int64_t x = 0; x < 2 * size(layout); ++x) {
      const std::vector<Point> images = evaluate_all(layout, x);
      good = good && std::set<Point>(images.begin(), images.end()) == naive_set(layout, x) &&
             evaluate(as_digits, x) == naive(layout, x);
    }
    const TileLayout simple = canonical(layout);
    for (std::int64_t x = 0; x < size(layout); ++x) good = good && naive_set(simple, x) == naive_set(layout, x);
    INFO(to_string(layout));
    REQUIRE(good);
  }
}

TEST_CASE("equality and the first difference", "[layout][property]") {
  Random random(2);
  int same = 0, different = 0;
  for (int run = 0; run < scaled(6000); ++run) {
    const TileLayout layout = random_layout(random);
    const TileLayout other = run % 3 == 0   ? random_layout(random)
                             : run % 3 == 1 ? mutated(layout, random)
                                            : rewritten(layout, random);
    const Comparison found = same_map(layout, other);
    const auto expected = naive_difference(layout, other);
    INFO(to_string(layout) << " and " << to_string(other));
    REQUIRE(found.same == (expected ? Answer::no : Answer::yes));
    if (expected) REQUIRE(found.first == expected);
    (expected ? different : same) += 1;
  }
  CHECK(same > 0);
  CHECK(different > 0);
}

TEST_CASE("layouts written differently are one map, at any size", "[layout][property]") {
  Random random(3);
  for (int run = 0; run < scaled(1000); ++run) {
    TileLayout layout = random_linear_layout(random);
    layout.shard.insert(layout.shard.begin(), Iter{std::int64_t{1} << 40, 3, Axis::m});
    REQUIRE(same_map(layout, rewritten(layout, random)).same == Answer::yes);
    TileLayout off = layout;
    off.shard.front().stride += 1;
    REQUIRE(same_map(layout, off).same == Answer::no);
  }
}

TEST_CASE("recover finds the digits of every map and refuses what has none", "[layout][property]") {
  Random random(4);
  for (int run = 0; run < scaled(2000); ++run) {
    const TileLayout layout = random_linear_layout(random);
    const auto found = recover(size(layout), [&](std::int64_t x) { return naive(layout, x); });
    REQUIRE(found);
    REQUIRE(found->digits == canonical(digit_map(layout)).digits);
    if (size(layout) < 2) continue;
    // One element moved elsewhere: usually no digit map any more, and whatever is found must explain every element.
    const std::int64_t moved = pick(random, 1, size(layout) - 1);
    const auto broken = recover(size(layout), [&](std::int64_t x) {
      Point point = naive(layout, x);
      if (x == moved) at(point, Axis::tx) = 1000;
      return point;
    });
    for (std::int64_t x = 0; broken && x < size(layout); ++x)
      REQUIRE(at(evaluate(*broken, x), Axis::tx) == (x == moved ? 1000 : 0));
  }
}

TEST_CASE("injectivity against the set of images", "[layout][property]") {
  Random random(5);
  int yes = 0, no = 0;
  for (int run = 0; run < scaled(4000); ++run) {
    const TileLayout layout = random_linear_layout(random);
    std::map<Point, std::int64_t> owner;
    std::optional<std::int64_t> expected;
    for (std::int64_t x = 0; x < size(layout) && !expected; ++x) {
      for (const Point& image : naive_set(layout, x)) {
        const auto [entry, fresh] = owner.emplace(image, x);
        if (!fresh && entry->second != x) expected = x;
      }
    }
    const Injectivity found = injective(digit_map(layout), layout.replica);
    INFO(to_string(layout));
    REQUIRE(found.answer == (expected ? Answer::no : Answer::yes));
    if (expected) REQUIRE(found.witness.second == *expected);
    (expected ? no : yes) += 1;
  }
  CHECK(yes > 0);
  CHECK(no > 0);
}

TEST_CASE("injectivity of large maps: decided, or undecided, never guessed", "[layout]") {
  const auto answer = [](std::string_view notation) {
    const auto layout = parse_layout(notation);
    REQUIRE(layout);
    return injective(digit_map(*layout));
  };
  CHECK(answer("S[(1048576,1048576):(1048576,1)]").answer == Answer::yes);
  const Injectivity pair = answer("S[(1048576,1048576):(1048575,1)]");
  CHECK(pair.answer == Answer::no);
  const auto layout = parse_layout("S[(1048576,1048576):(1048575,1)]");
  CHECK(pair.witness.first < pair.witness.second);
  CHECK(evaluate(*layout, pair.witness.first) == evaluate(*layout, pair.witness.second));
  CHECK(answer("S[(4,4194304):(0,1)]").answer == Answer::no);
  CHECK(answer("S[(2,2):(2,3)]").answer == Answer::yes);  // not nested, injective all the same
  CHECK(answer("S[(1500,1500,1500):(100007,1000003,10000019)]").answer == Answer::undecided);
}

TEST_CASE("composition is evaluation after evaluation", "[layout][property]") {
  Random random(6);
  int found = 0, refused = 0;
  for (int run = 0; run < scaled(4000); ++run) {
    TileLayout outer = random_linear_layout(random);
    outer.replica.clear();
    DigitMap inner;
    const std::int64_t digits = pick(random, 0, 3);
    for (std::int64_t k = 0; k < digits; ++k) {
      Digit digit{pick(random, 1, 5), {}};
      at(digit.step, Axis::m) = pick(random, 0, 7);
      inner.digits.push_back(digit);
    }
    at(inner.offset, Axis::m) = pick(random, 0, 3);
    const auto composed = compose(digit_map(outer), inner);
    const auto truth = recover(size(inner), [&](std::int64_t x) { return naive(outer, at(evaluate(inner, x), Axis::m)); });
    INFO(to_string(outer));
    REQUIRE(composed.has_value() == truth.has_value());
    if (composed) REQUIRE(composed->digits == truth->digits);
    if (composed) REQUIRE(composed->offset == truth->offset);
    (composed ? found : refused) += 1;
  }
  CHECK(found > 0);
  CHECK(refused > 0);
}

TEST_CASE("composition of maps too large to enumerate", "[layout]") {
  const auto outer = parse_layout("S[(1048576,1048576):(1@TLane,4@TCol)]");
  const auto inner = parse_layout("S[(1048576,512):(1048576,2)]");
  const auto composed = compose(*outer, *inner);
  REQUIRE(composed);
  CHECK(to_string(*composed) == "S[(1048576,512):(1@TLane,8@TCol)]");
  CHECK_FALSE(compose(*outer, *parse_layout("S[(1048576,3000000):(1048577,1)]")));
  CHECK_FALSE(compose(*outer, *parse_layout("S[8:1@laneid]")));
}

TEST_CASE("inverse brings every element back", "[layout][property]") {
  Random random(7);
  int inverted = 0;
  for (int run = 0; run < scaled(3000); ++run) {
    TileLayout layout = random_linear_layout(random);
    layout.replica.clear();
    layout.offset.clear();
    const auto found = inverse(layout);
    if (!found) continue;
    ++inverted;
    INFO(to_string(layout) << " inverted " << to_string(found->layout));
    bool good = true;
    for (std::int64_t x = 0; x < size(layout); ++x) {
      const Point point = naive(layout, x);
      std::int64_t index = 0;
      for (std::size_t a = 0; a < found->axes.size(); ++a) {
        good = good && at(point, found->axes[a]) < found->shape[a];
        index = index * found->shape[a] + at(point, found->axes[a]);
      }
      good = good && at(naive(found->layout, index), Axis::m) == x;
    }
    REQUIRE(good);
  }
  CHECK(inverted > 0);
  CHECK_FALSE(inverse(*parse_layout("S[(2,2):(2,3)]")));
  CHECK_FALSE(inverse(*parse_layout("S[(2,2):(0,1)]")));
  CHECK_FALSE(inverse(*parse_layout("S[2:1] + 1")));
}

TEST_CASE("coverage of an axis", "[layout][property]") {
  Random random(8);
  for (int run = 0; run < scaled(3000); ++run) {
    const TileLayout layout = random_linear_layout(random);
    std::vector<bool> expected(16, false);
    std::int64_t lowest = 1000, highest = -1000;
    for (std::int64_t x = 0; x < size(layout); ++x) {
      for (const Point& image : naive_set(layout, x)) {
        const std::int64_t coordinate = at(image, Axis::m);
        lowest = std::min(lowest, coordinate);
        highest = std::max(highest, coordinate);
        if (coordinate >= 0 && coordinate < 16) expected[static_cast<std::size_t>(coordinate)] = true;
      }
    }
    const Coverage found = coverage(layout, Axis::m, 16);
    INFO(to_string(layout));
    REQUIRE(found.reached == expected);
    REQUIRE(found.lowest == lowest);
    REQUIRE(found.highest == highest);
  }
}

TEST_CASE("different swizzles are compared by enumeration and by bits", "[layout]") {
  const auto compare = [](std::string_view a, std::string_view b) { return same_map(*parse_layout(a), *parse_layout(b)); };
  CHECK(compare("Swizzle(3,3,3) o S[64:1]", "S[64:1]").same == Answer::yes);  // nothing above the chunk moves
  const Comparison small = compare("Swizzle(3,3,3) o S[(8,64):(64,1)]", "S[(8,64):(64,1)]");
  CHECK(small.same == Answer::no);
  CHECK(small.first == 64);
  const Comparison large = compare("Swizzle(3,3,3) o S[(1048576,64):(64,1)]", "Swizzle(3,2,3) o S[(1048576,64):(64,1)]");
  CHECK(large.same == Answer::no);
  CHECK(large.first == 4 * 64);
  CHECK(compare("Swizzle(3,3,3) o S[(1048576,8):(512,1)]", "S[(1048576,8):(512,1)]").same == Answer::yes);
  CHECK(compare("Swizzle(3,3,3) o S[(1048576,9):(9,1)]", "S[(1048576,9):(9,1)]").same == Answer::undecided);
}

TEST_CASE("replicas are sets", "[layout]") {
  const auto compare = [](std::string_view a, std::string_view b) { return same_map(*parse_layout(a), *parse_layout(b)).same; };
  CHECK(compare("S[2:100] + R[(6,2):(2,3)]", "S[2:100] + R[(3,4):(2,3)]") == Answer::yes);
  CHECK(compare("S[2:100] + R[(6,2):(2,3)]", "S[2:100] + R[(3,4):(2,4)]") == Answer::no);
  CHECK(compare("S[2:100] + R[(6,2):(2,3)]", "S[2:100] + R[(2,6):(3,2)]") == Answer::yes);
  CHECK(compare("S[2:100] + R[(2,2):(1,1)]", "S[2:100] + R[3:1]") == Answer::yes);
  CHECK(compare("S[2:100] + R[2:-4] + 4", "S[2:100] + R[2:4]") == Answer::yes);
  CHECK(compare("S[2:100] + R[2:-4]", "S[2:100] + R[2:4]") == Answer::no);
}

TEST_CASE("slice: every part that is a layout, and no other", "[layout][property]") {
  Random random(9);
  int found = 0, refused = 0;
  for (int run = 0; run < scaled(4000); ++run) {
    const TileLayout layout = random_layout(random);
    // A shape with the layout's size: its extents, some of them taken together, or one dimension.
    std::vector<std::int64_t> shape;
    for (const Iter& iter : layout.shard) {
      if (!shape.empty() && pick(random, 0, 1) == 0)
        shape.back() *= iter.extent;
      else
        shape.push_back(iter.extent);
    }
    if (pick(random, 0, 3) == 0) std::reverse(shape.begin(), shape.end());
    std::vector<std::int64_t> begin, extent;
    std::int64_t elements = 1;
    for (const std::int64_t length : shape) {
      begin.push_back(pick(random, 0, length - 1));
      extent.push_back(pick(random, 1, length - begin.back()));
      elements *= extent.back();
    }
    const auto whole_index = [&](std::int64_t y) {
      std::int64_t x = 0, weight = 1;
      for (std::size_t d = shape.size(); d > 0; --d, weight *= shape[d]) {
        x += (begin[d - 1] + y % extent[d - 1]) * weight;
        y /= extent[d - 1];
      }
      return x;
    };
    const auto part = slice(layout, shape, begin, extent);
    const auto truth = recover(elements, [&](std::int64_t y) { return naive(layout, whole_index(y)); });
    INFO(to_string(layout) << " as " << shape_text(shape) << " from " << shape_text(begin) << " extent " << shape_text(extent));
    REQUIRE(part.has_value() == (truth && tile_layout(*truth)));  // a digit may move on one axis only
    (part ? found : refused) += 1;
    if (!part) continue;
    bool good = size(*part) == elements;
    for (std::int64_t y = 0; y < elements; ++y) good = good && naive_set(*part, y) == naive_set(layout, whole_index(y));
    REQUIRE(good);
  }
  CHECK(found > 0);
  CHECK(refused > 0);
}
