// Nested layouts against the definition: crd2idx of one coordinate after another, with its own small model here.
#include <algorithm>
#include <set>

#include "ir/layout/nested.hpp"
#include "tests/catch.hpp"
#include "tests/property/layout_random.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

NestedLayout nested(const std::string& text) {
  const auto layout = parse_nested(text);
  INFO(text << ": " << (layout ? "" : layout.reason().text));
  REQUIRE(layout);
  return *layout;
}

IntTuple tuple(const std::string& text) {
  const auto parsed = parse_int_tuple(text);
  REQUIRE(parsed);
  return *parsed;
}

template <class T>
std::string text(const Result<T>& value) {
  return value ? to_string(*value) : "refused";
}

// Flat modes, lowest first.
using Modes = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Image of the column-major index x; the last mode takes the rest.
std::int64_t image(const Modes& modes, std::int64_t x) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const bool last = k + 1 == modes.size();
    sum += (last ? x : x % modes[k].first) * modes[k].second;
    x /= modes[k].first;
  }
  return sum;
}

std::int64_t count(const Modes& modes) {
  std::int64_t product = 1;
  for (const auto& mode : modes) product *= mode.first;
  return product;
}

NestedLayout of_modes(const Modes& modes) {
  std::vector<IntTuple> shape, stride;
  for (const auto& [extent, step] : modes) {
    shape.emplace_back(extent);
    stride.emplace_back(step);
  }
  return {IntTuple::of(shape), IntTuple::of(stride)};
}

Modes modes_of(const NestedLayout& layout) {
  Modes modes;
  const std::vector<IntTuple> shapes = leaves(layout.shape), strides = leaves(layout.stride);
  for (std::size_t k = 0; k < shapes.size(); ++k) modes.emplace_back(shapes[k].value, strides[k].value);
  return modes;
}

Modes random_modes(Random& random, std::int64_t most = 3) {
  Modes modes;
  const std::int64_t rank = pick(random, 1, most);
  for (std::int64_t k = 0; k < rank; ++k) modes.emplace_back(pick(random, 1, 6), pick(random, 0, 12));
  return modes;
}

Modes random_compact(Random& random) {
  Modes modes;
  std::int64_t stride = 1;
  const std::int64_t rank = pick(random, 1, 3);
  for (std::int64_t k = 0; k < rank; ++k) {
    const std::int64_t extent = pick(random, 1, 5);
    modes.emplace_back(extent, stride);
    stride *= extent * pick(random, 1, 2);
  }
  std::shuffle(modes.begin(), modes.end(), random);
  return modes;
}

}  // namespace

TEST_CASE("nested: text forms", "[layout][nested]") {
  for (const char* form :
       {"(4,(2,8)):(1,(4,8))", "8:1", "(8):(1)", "(4,8):(1E0,1E1)", "((2,3),4):((1E0E0,1E0E1),2E1)", "(4,8):(-1,4)"})
    CHECK(text(parse_nested(form)) == form);
  for (const char* form : {"32:2o5o[32:1o7o(4,8):(1,4)]", "S<3,4,3>o0o(8,8):(8,1)", "CS<3,0,[0],0,[1]>o(0,0)o(8,8):(1E0,1E1)"})
    CHECK(text(parse_any_layout(form)) == form);
  CHECK(text(parse_tile("[2:7|*|(3,6):(1,3)|[4:1|*]]")) == "[2:7|*|(3,6):(1,3)|[4:1|*]]");
  CHECK(text(parse_tile("[32|*]")) == "[32:1|*]");
  CHECK(text(parse_int_tuple("(1,(?,*),-3)")) == "(1,(?,*),-3)");
  const auto caret = [](const auto& parsed) { return parsed ? std::size_t{999} : *parsed.reason().text_offset; };
  CHECK(caret(parse_nested("(4,8):(1,(4,8))")) == 6);
  CHECK(caret(parse_nested("(4,8:(1,4)")) == 4);
  CHECK(caret(parse_nested("(4,0):(1,4)")) == 0);
  CHECK(caret(parse_nested("(4,8):(1,4)x")) == 11);
  CHECK(caret(parse_nested("(4,x):(1,4)")) == 3);
  CHECK(caret(parse_nested("(4611686018427387904,4):(1,1)")) == 0);
  CHECK(caret(parse_any_layout("S<3,0,2>")) == 0);
  CHECK(caret(parse_any_layout("8:1 o 0 o S<1,1,1>")) == 10);
  CHECK(caret(parse_int_tuple(std::string(1000, '('))) < 999);
  CHECK(caret(parse_int_tuple("99999999999999999999")) == 0);
}

TEST_CASE("nested: int tuples", "[layout][nested]") {
  CHECK(text(add(tuple("(4,(8,1))"), tuple("(2,(2,5))"))) == "(6,(10,6))");
  CHECK(text(add(tuple("2E0"), tuple("3E1"))) == "(2,3)");
  CHECK(text(subtract(tuple("(4,8)"), tuple("(2,9)"))) == "(2,-1)");
  CHECK(text(multiply(tuple("(2,3)"), tuple("(3,8)"))) == "(6,24)");
  CHECK(text(divide(tuple("(7,8)"), tuple("(2,2)"))) == "(3,4)");
  CHECK(text(remainder(tuple("(7,8)"), tuple("(2,3)"))) == "(1,2)");
  CHECK(text(ceil_div(tuple("(7,8)"), tuple("(2,2)"))) == "(4,4)");
  CHECK(text(divide(tuple("7"), tuple("0"))) == "refused");
  CHECK(text(add(tuple("(1,2)"), tuple("(1,2,3)"))).size() > 0);
  CHECK(text(multiply(tuple("(1,2)"), tuple("(1,2,3)"))) == "refused");
  CHECK(text(multiply(tuple("4611686018427387904"), tuple("4"))) == "refused");
  CHECK(text(multiply(tuple("?"), tuple("0"))) == "0");
  CHECK(text(add(tuple("(?,1)"), tuple("(3,1)"))) == "(?,2)");
  CHECK(text(shape_div(tuple("(4,8)"), tuple("8"))) == "(1,4)");
  CHECK(text(shape_div(tuple("6"), tuple("4"))) == "refused");
  CHECK(text(product_each(tuple("((2,3),(4,5))"))) == "(6,20)");
  CHECK(text(product_like(tuple("((2,3),(4,5))"), tuple("(0,(0,0))"))) == "(6,(4,5))");
}

TEST_CASE("nested: coordinates", "[layout][nested]") {
  const NestedLayout layout = nested("((2,2),3):((1,8),2)");
  CHECK(text(crd2idx(tuple("((1,1),2)"), layout)) == "13");
  CHECK(text(crd2idx(tuple("(3,2)"), layout)) == "13");
  CHECK(text(crd2idx(tuple("11"), layout)) == "13");
  CHECK(text(crd2idx(tuple("15"), layout)) == "15");  // past the size: the last mode goes on
  CHECK(text(crd2idx(tuple("(1,2,3)"), layout)) == "refused");
  CHECK(text(crd2idx(tuple("((1,1),(2,0))"), layout)) == "refused");
  CHECK(text(crd2idx(tuple("(0,0)"), nested("(4,8):(1E0,1E1)"))) == "(0,0)");
  CHECK(text(idx2crd(tuple("14"), nested("(4,8):(1,4)"))) == "(2,3)");
  CHECK(text(idx2crd(tuple("5"), nested("(2,2):(1,8)"))) == "refused");
  CHECK(text(idx2crd(tuple("1"), nested("(2,2):(0,1)"))) == "refused");
  CHECK(text(crd2crd(tuple("(1,2)"), tuple("(2,6)"), tuple("(3,(2,2))"))) == "(2,(1,0))");
  CHECK(text(get_flat_coord(tuple("((1,1),2)"), layout)) == "(3,2)");
  CHECK(text(get_flat_coord(tuple("5"), layout)) == "(1,1)");
  CHECK(text(get_1d_coord(tuple("((1,1),2)"), layout)) == "11");
  CHECK(text(crd2idx(tuple("(2,3)"), *parse_any_layout("32:2o0o[32:1o0o(4,8):(1,4)]"))) == "28");
  CHECK(text(crd2idx(tuple("(5,3)"), *parse_any_layout("CS<3,0,[0],0,[1]>o(0,0)o(8,8):(1E0,1E1)"))) == "(5,6)");
}

TEST_CASE("nested: where FlyDSL asserts or answers wrongly there is a reason", "[layout][nested]") {
  CHECK(text(make_layout(tuple("(4,8)"), tuple("(1,(2,4))"))) == "refused");
  CHECK(text(make_layout(tuple("(4,8)"), tuple("4"))) == "refused");
  CHECK(text(complement(nested("(3,2):(1,2)"), 12)) == "refused");
  CHECK(text(complement(nested("(3):(0)"), 12)) == "12:1");
  CHECK(complement(nested("(3,2):(1,2)"), 12).reason().iter);
  CHECK(text(upcast(nested("(1,96):(1,1)"), 64)) == "refused");
  CHECK(text(upcast(nested("(1,128):(1,1)"), 64)) == "(1,2):(1,1)");
  CHECK(text(upcast(nested("8:1"), 16)) == "refused");
  CHECK(text(upcast(nested("6:4"), 3)) == "refused");
  CHECK(text(recast(nested("(16,(16,4)):(16,(1,256))"), 1, 32)) == "(8,(1,4)):(1,(1,8))");
  CHECK(text(composition(nested("(4,2):(1,100)"), nested("3:3"))) == "refused");
  CHECK(text(composition(nested("(4,2):(1,100)"), nested("4:2"))) == "(2,2):(2,100)");
  CHECK(text(composition(nested("8:1"), nested("4:1E0"))) == "refused");
  CHECK(text(left_inverse(nested("(2,2):(2,3)"))) == "refused");
  CHECK(text(zipped_divide(nested("(64,50,80):(16000,160,1)"), *parse_tile("[32|*|*]"))) == "refused");
  CHECK(text(zipped_divide(nested("(64,50,80):(16000,160,1)"), *parse_tile("[32]"))) == "refused");
  CHECK(text(logical_divide(nested("(64,50,80):(16000,160,1)"), *parse_tile("[32|*|*]"))) ==
        "((32,2),50,80):((16000,512000),160,1)");
  CHECK(text(slice(nested("(4,8):(1,4)"), tuple("(1,2)"))) == "refused");
  CHECK(text(slice(nested("(4,8):(1,4)"), tuple("(1,*)"))) == "8:4");
  CHECK(text(dice(nested("(4,8):(1,4)"), tuple("(1,*)"))) == "4:1");
  CHECK(text(select(nested("(4,8):(1,4)"), {2})) == "refused");
}

TEST_CASE("nested: coalesce keeps the map, also past the size when asked", "[layout][nested][property]") {
  Random random(21);
  for (int run = 0; run < scaled(3000); ++run) {
    const Modes modes = random_modes(random, 4);
    const NestedLayout layout = of_modes(modes);
    const auto simple = coalesce(layout), kept = coalesce_keeping_boundary(layout);
    REQUIRE(simple);
    REQUIRE(kept);
    bool good = true;
    const Modes short_form = modes_of(*simple), long_form = modes_of(*kept);
    for (std::int64_t x = 0; x < 3 * count(modes); ++x) {
      good = good && (x >= count(modes) || image(short_form, x) == image(modes, x));
      good = good && image(long_form, x) == image(modes, x);
    }
    INFO(to_string(layout) << " " << to_string(*kept));
    REQUIRE(good);
  }
}

TEST_CASE("nested: composition is one map after the other, for coordinates past the size too", "[layout][nested][property]") {
  Random random(22);
  int found = 0;
  for (int run = 0; run < scaled(6000); ++run) {
    const Modes a = random_modes(random), b = random_modes(random, 2);
    const auto composed = composition(of_modes(a), of_modes(b));
    if (!composed) continue;
    ++found;
    bool good = true;
    const Modes result = modes_of(*composed);
    for (std::int64_t x = 0; x < count(b); ++x) good = good && image(result, x) == image(a, image(b, x));
    INFO(to_string(of_modes(a)) << " o " << to_string(of_modes(b)) << " = " << to_string(*composed));
    REQUIRE(good);
  }
  CHECK(found > 0);
}

TEST_CASE("nested: complement completes the codomain", "[layout][nested][property]") {
  Random random(23);
  for (int run = 0; run < scaled(3000); ++run) {
    const Modes modes = random_compact(random);
    const NestedLayout layout = of_modes(modes);
    std::int64_t span = 1;
    for (const auto& [extent, stride] : modes) span += (extent - 1) * stride;
    const std::int64_t codomain = span * pick(random, 1, 3);
    const auto rest = complement(layout, codomain);
    REQUIRE(rest);
    // Every place is reached once: layout + complement is injective and covers the codomain.
    std::set<std::int64_t> reached;
    std::int64_t total = 0;
    const Modes gaps = modes_of(*rest);
    for (std::int64_t x = 0; x < count(modes); ++x) {
      for (std::int64_t y = 0; y < count(gaps); ++y, ++total) reached.insert(image(modes, x) + image(gaps, y));
    }
    INFO(to_string(layout) << " in " << codomain << ": " << to_string(*rest));
    REQUIRE(static_cast<std::int64_t>(reached.size()) == total);
    bool covered = true;
    for (std::int64_t place = 0; place < codomain; ++place) covered = covered && reached.count(place) == 1;
    REQUIRE(covered);
  }
}

TEST_CASE("nested: inverses", "[layout][nested][property]") {
  Random random(24);
  for (int run = 0; run < scaled(3000); ++run) {
    const Modes modes = random_compact(random);
    const NestedLayout layout = of_modes(modes);
    const auto left = left_inverse(layout), right = right_inverse(layout);
    INFO(to_string(layout));
    REQUIRE(left);
    REQUIRE(right);
    bool good = true;
    const Modes back = modes_of(*left), ahead = modes_of(*right);
    for (std::int64_t x = 0; x < count(modes); ++x) good = good && image(back, image(modes, x)) == x;
    for (std::int64_t y = 0; y < count(ahead); ++y) good = good && image(modes, image(ahead, y)) == y;
    REQUIRE(good);
  }
}

TEST_CASE("nested: a divide is a rearrangement, a product holds copies", "[layout][nested][property]") {
  Random random(25);
  int divided = 0;
  for (int run = 0; run < scaled(1500); ++run) {
    const Modes a = random_compact(random), b = random_compact(random);
    if (count(a) * count(b) > 300) continue;
    const NestedLayout whole = of_modes(a), tile = of_modes(b);
    const auto pair = logical_divide(whole, tile);
    if (pair && count(a) % count(b) == 0 && count(modes_of(*pair)) == count(a)) {
      ++divided;
      std::multiset<std::int64_t> before, after;
      const Modes rearranged = modes_of(*pair);
      for (std::int64_t x = 0; x < count(a); ++x) {
        before.insert(image(a, x));
        after.insert(image(rearranged, x));
      }
      const Modes first = modes_of(mode(*pair, 0));
      INFO(to_string(whole) << " / " << to_string(tile) << " = " << to_string(*pair));
      REQUIRE(before == after);
      for (std::int64_t x = 0; x < count(b); ++x) REQUIRE(image(first, x) == image(a, image(b, x)));
    }
    const auto copies = logical_product(whole, tile);
    if (!copies) continue;
    std::set<std::int64_t> places;
    const Modes all = modes_of(*copies);
    for (std::int64_t x = 0; x < count(all); ++x) places.insert(image(all, x));
    INFO(to_string(whole) << " x " << to_string(tile) << " = " << to_string(*copies));
    REQUIRE(static_cast<std::int64_t>(places.size()) == count(a) * count(b));
    for (const auto regroup : {zipped_product, tiled_product, flat_product, blocked_product, raked_product}) {
      const auto other = regroup(whole, tile);
      REQUIRE(other);
      std::set<std::int64_t> again;
      const Modes regrouped = modes_of(*other);
      for (std::int64_t x = 0; x < count(regrouped); ++x) again.insert(image(regrouped, x));
      REQUIRE(again == places);
    }
  }
  CHECK(divided > 0);
}

TEST_CASE("nested: recast keeps the bits", "[layout][nested][property]") {
  Random random(26);
  int wide = 0;
  for (int run = 0; run < scaled(3000); ++run) {
    const Modes modes = random_compact(random);
    const std::int64_t factor = pick(random, 1, 4);
    const auto bits = downcast(of_modes(modes), factor);
    REQUIRE(bits);
    if (std::none_of(modes.begin(), modes.end(), [](const auto& mode) { return mode.second == 1 && mode.first > 1; })) continue;
    const auto again = upcast(*bits, factor);
    INFO(to_string(of_modes(modes)) << " by " << factor << ": " << to_string(*bits));
    REQUIRE(again);
    ++wide;
    bool good = true;
    const Modes round = modes_of(*again);
    for (std::int64_t x = 0; x < count(modes); ++x) good = good && image(round, x) == image(modes, x);
    REQUIRE(good);
  }
  CHECK(wide > 0);
  CHECK(to_string(AnyLayout(*recast(IndexSwizzle{3, 4, 3}, 8, 16))) == "S<3,3,3>");
  CHECK(to_string(AnyLayout(*recast(IndexSwizzle{3, 3, 3}, 16, 4))) == "S<3,5,3>");
  CHECK_FALSE(recast(IndexSwizzle{3, 1, 3}, 8, 64));
}

TEST_CASE("nested: copies stand outside in a blocked product and inside in a raked one", "[layout][nested]") {
  // 4 elements, 2 copies: blocked 0 1 2 3 | 4 5 6 7, raked 0 4 1 5 2 6 3 7.
  const auto blocked = blocked_product(nested("4:1"), nested("2:1")), raked = raked_product(nested("4:1"), nested("2:1"));
  REQUIRE(blocked);
  REQUIRE(raked);
  for (std::int64_t x = 0; x < 8; ++x) {
    CHECK(text(crd2idx(IntTuple(x), *blocked)) == std::to_string(x));
    CHECK(text(crd2idx(IntTuple(x), *raked)) == std::to_string(x / 2 + 4 * (x % 2)));
  }
}

TEST_CASE("nested: construction", "[layout][nested]") {
  CHECK(text(make_layout(tuple("(4,(2,8))"))) == "(4,(2,8)):(1,(4,8))");
  CHECK(text(make_ordered_layout(tuple("(4,8,2)"), tuple("(2,0,1)"))) == "(4,8,2):(16,1,8)");
  CHECK(text(make_identity_layout(tuple("((2,3),4)"))) == "((2,3),4):((1E0E0,1E0E1),1E1)");
  CHECK(text(make_layout_like(nested("(4,8,2):(16,1,0)"))) == "(4,8,2):(8,1,0)");
  CHECK(text(make_fragment_layout(nested("((4,2),8,2):((8,1),100,16)"))) == "((4,2),8,2):((1,4),16,8)");
  CHECK(text(tile_to_shape(nested("(8,8):(8,1)"), tuple("(16,32)"), tuple("(0,1)"))) == "((8,2),(8,4)):((8,64),(1,128))");
  CHECK(text(coshape(nested("(4,8):(1E0,2E1)"))) == "(4,15)");
  CHECK(text(cosize(nested("(8,128):(1,16)"))) == "2040");
  CHECK(text(coalesce(nested("((2,4),(2,8)):((1,2),(8,32))"), tuple("(0,0)"))) == "(8,(2,8)):(1,(8,32))");
}

TEST_CASE("nested and named layouts convert through digit maps", "[layout][nested]") {
  Random random(27);
  for (int run = 0; run < scaled(2000); ++run) {
    const Modes modes = random_modes(random, 4);
    const auto tile = tile_layout(of_modes(modes));
    REQUIRE(tile);
    const auto back = nested_layout(*tile);
    REQUIRE(back);
    bool good = true;
    const Modes round = modes_of(*back);
    for (std::int64_t x = 0; x < count(modes); ++x)
      good = good && at(naive(*tile, x), Axis::m) == image(modes, x) && image(round, x) == image(modes, x);
    REQUIRE(good);
  }
  CHECK(text(nested_layout(*parse_layout("S[(4,16,8):(32@TLane,1@TLane,1@TCol)]"))) == "(8,16,4):(1E1,1E0,32E0)");
  CHECK_FALSE(nested_layout(*parse_layout("S[8:1] + 1")));
  CHECK_FALSE(tile_layout(nested("(4,8):(1E0,1E1)")));
}
