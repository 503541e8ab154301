// The text form loses nothing: parse(print(kernel)) == kernel, and spoilt text is refused, never worse.
#include "ir/kernel/kernel.hpp"
#include "ir/kernel/operand_text.hpp"
#include "tests/catch.hpp"
#include "tests/property/kernel_random.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using tests::Random;

namespace {

// Every kind of statement and operation that a kernel holds.
void count(const Body& body, std::vector<int>& machine, std::vector<int>& tile) {
  for (const Stmt& stmt : body) {
    if (const auto* op = std::get_if<MachineOps::Any>(&stmt.node)) ++machine[op->index()];
    if (const auto* op = std::get_if<TileOps::Any>(&stmt.node)) ++tile[op->index()];
    for_each_body(stmt, [&](const Body& inner) { count(inner, machine, tile); });
  }
}

}  // namespace

TEST_CASE("a printed kernel parses back to an equal kernel") {
  std::vector<int> machine(std::variant_size_v<MachineOps::Any>), tile(std::variant_size_v<TileOps::Any>);
  for (const Level level : {Level::tile, Level::machine}) {
    for (int seed = 0; seed < tests::scaled(300); ++seed) {
      Random random(static_cast<std::uint64_t>(seed));
      const Kernel kernel = tests::random_kernel(random, level);
      const std::string text = print(kernel);
      INFO(text);
      const Kernel back = parse_kernel(text, "generated.kernel");
      REQUIRE(back == kernel);
      REQUIRE(print(back) == text);
      count(kernel.body, machine, tile);
    }
  }
  if (tests::scaled(300) >= 300) {
    CHECK(std::count(machine.begin(), machine.end(), 0) == 0);
    CHECK(std::count(tile.begin(), tile.end(), 0) == 0);
  }
}

TEST_CASE("a printed expression parses back, in no more parentheses than needed") {
  Random random(3);
  const Kernel kernel = tests::random_kernel(random, Level::tile);
  const Names names{&kernel.buffers, nullptr, {}};
  for (int i = 0; i < tests::scaled(3000); ++i) {
    const Expr expr = tests::random_expr(random, kernel);
    const std::string text = print(kernel, expr);
    INFO(text);
    REQUIRE(parse_expr(text, names) == expr);
    // Leaving out any pair of parentheses of an operand changes the expression.
    for (std::size_t open = text.find('('); open != std::string::npos; open = text.find('(', open + 1)) {
      if (open > 0 && text[open - 1] == 'd') continue;  // of word(..)
      std::size_t close = open;
      for (int depth = 0; close < text.size(); ++close) {
        depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
        if (depth == 0) break;
      }
      std::string bare = text;
      bare.erase(close, 1).erase(open, 1);
      INFO(bare);
      REQUIRE_FALSE(parse_expr(bare, names) == expr);
    }
  }
}

TEST_CASE("spoilt text gives a kernel or one located message") {
  Random random(11);
  int refused = 0;
  for (int i = 0; i < tests::scaled(600); ++i) {
    std::string text = print(tests::random_kernel(random, Level::machine));
    switch (random.below(4)) {
      case 0: text.resize(random.below(text.size())); break;
      case 1: text[random.below(text.size())] = static_cast<char>(random.bits()); break;
      case 2: text.insert(random.below(text.size()), 1 + random.below(4), "{}[]()=:,.@\"#\\-0x"[random.below(17)]); break;
      default: text.erase(random.below(text.size()), 1 + random.below(20)); break;
    }
    try {
      Kernel kernel = parse_kernel(text, "spoilt.kernel");
      verify(kernel, random.chance(2) ? Level::tile : Level::machine);
    } catch (const InputError& error) {
      ++refused;
      REQUIRE(error.diagnostic().file == "spoilt.kernel");
      REQUIRE(error.diagnostic().line > 0);
      REQUIRE(error.diagnostic().col > 0);
    }
  }
  CHECK(refused > 0);
}
