// Decoding loses nothing, and its branches lead where the structure says.
#include "ir/program.hpp"

#include "tests/catch.hpp"
#include "tests/property/kernel_random.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using tests::Random;

TEST_CASE("the statement tree can be rebuilt from the steps") {
  for (int seed = 0; seed < tests::scaled(400); ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const auto kernel = std::make_shared<const Kernel>(tests::random_kernel(random, Level::machine));
    const Program program = decode(kernel);
    INFO("seed " << seed);
    REQUIRE(rebuild(program) == kernel->body);
    REQUIRE(program.steps.back().kind == Step::Kind::end);
    for (const Step& step : program.steps) {
      REQUIRE(step.target < program.steps.size());
      REQUIRE(step.after < program.steps.size());
    }
  }
}

namespace {

using Met = std::vector<std::pair<const Stmt*, std::uint32_t>>;  // instructions in order, with the lanes that run them

// Whether a condition holds: any function of the statement will do.
bool holds(const Stmt& stmt, std::uint64_t choices) { return ((choices >> (std::hash<std::string>{}(stmt.path) % 64)) & 1) != 0; }

// What warp 1 of CTA 0 meets, by walking the tree: each loop runs once.
void walk(const Body& body, const Where& outer, std::uint64_t choices, Met& met) {
  for (const Stmt& stmt : body) {
    const Where where = narrowed(outer, stmt.where);
    const std::uint32_t lanes = lanes_of(where, 0, 1);
    if (const auto* lowered = std::get_if<Lowered>(&stmt.node)) {
      walk(lowered->body, where, choices, met);
    } else if (lanes == 0) {
      continue;
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      walk(holds(stmt, choices) ? branch->then : branch->otherwise, where, choices, met);
    } else if (const auto* counted = std::get_if<For>(&stmt.node)) {
      walk(counted->body, where, choices, met);
    } else if (const auto* polling = std::get_if<While>(&stmt.node)) {
      walk(polling->body, where, choices, met);
    } else {
      met.emplace_back(&stmt, lanes);
    }
  }
}

// The same by following the steps.
Met run(const Program& program, std::uint64_t choices) {
  Met met;
  std::vector<bool> passed(program.steps.size(), false);
  std::uint32_t at = 0;
  while (program.steps[at].kind != Step::Kind::end) {
    const Step& step = program.steps[at];
    const std::uint32_t lanes = lanes_of(step.where, 0, 1);
    switch (step.kind) {
      case Step::Kind::op:
      case Step::Kind::delay:
        if (lanes != 0) met.emplace_back(step.stmt, lanes);
        ++at;
        break;
      case Step::Kind::loop_enter: at = lanes == 0 ? step.after : at + 1; break;
      case Step::Kind::branch_unless: {
        const bool into = std::holds_alternative<While>(step.stmt->node) ? !passed[at] : holds(*step.stmt, choices);
        passed[at] = true;
        at = lanes == 0 ? step.after : into ? at + 1 : step.target;
        break;
      }
      case Step::Kind::jump: at = step.target; break;
      default: ++at; break;
    }
  }
  return met;
}

}  // namespace

TEST_CASE("a warp meets the same instructions in the steps as in the tree") {
  std::size_t compared = 0;
  for (int seed = 0; seed < tests::scaled(400); ++seed) {
    Random random(static_cast<std::uint64_t>(seed) + 1000);
    const auto kernel = std::make_shared<const Kernel>(tests::random_kernel(random, Level::machine));
    const Program program = decode(kernel);
    const std::uint64_t choices = random.bits();
    Met met;
    walk(kernel->body, Where{}, choices, met);
    INFO("seed " << seed);
    REQUIRE(run(program, choices) == met);
    compared += met.size();
  }
  CHECK(compared > 0);
}

TEST_CASE("narrowing allows exactly the threads that both allow") {
  Random random(7);
  for (int i = 0; i < tests::scaled(3000); ++i) {
    const Where outer = tests::random_where(random), inner = tests::random_where(random);
    const Where both = narrowed(outer, inner);
    bool same = !(both.warps && both.warpgroup) && both.elect == (outer.elect || inner.elect);
    for (std::uint32_t cta = 0; cta < 5; ++cta) {
      for (std::uint32_t warp = 0; warp < 9; ++warp) {
        same = same && lanes_of(both, cta, warp) == (lanes_of(outer, cta, warp) & lanes_of(inner, cta, warp));
      }
    }
    INFO(i);
    REQUIRE(same);
  }
}
