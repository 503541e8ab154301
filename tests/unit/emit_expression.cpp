// Expressions as C++: what the text says, and what the host compiler makes of it.
#include "emit/cuda/expression.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <set>

#include "emit/cuda/device_functions.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::emit;

namespace {

const Expr tid = Expr::coordinate(ExprOp::tid);
const Expr lane = Expr::coordinate(ExprOp::lane);
const Expr any_int = Expr::reg(0, 0);  // a register: every value

Leaf leaf(const Expr& expr) {
  switch (expr.op()) {
    case ExprOp::tid:
      return {"tid", {0, 127}};
    case ExprOp::lane:
      return {"lane", {0, 31}};
    case ExprOp::loop:
      return {"loop_" + expr.loop_name(), {-8, 7}};
    default:
      return {"any_int", {}};
  }
}

std::string text(const Expr& expr, std::set<std::string>* helpers = nullptr) {
  return expression_text(expr, {leaf, [&](std::string_view helper) {
                                  if (helpers) helpers->insert(std::string(helper));
                                }});
}

Expr operator-(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::sub, a, b); }
Expr operator/(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::div, a, b); }
Expr operator%(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::mod, a, b); }

struct Values {
  std::int32_t tid, lane, loop, any;
};

std::optional<std::int32_t> value(const Expr& expr, const Values& values) {
  switch (expr.op()) {
    case ExprOp::constant:
      return expr.constant();
    case ExprOp::tid:
      return values.tid;
    case ExprOp::lane:
      return values.lane;
    case ExprOp::loop:
      return values.loop;
    case ExprOp::reg:
      return values.any;
    default: {
      const auto a = value(expr.a(), values), b = value(expr.b(), values);
      return a && b ? Expr::apply(expr.op(), *a, *b) : std::nullopt;
    }
  }
}

class RandomExpr {
 public:
  explicit RandomExpr(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  std::int32_t constant() {
    static constexpr std::int32_t special[] = {0, 1, -1, 2, 31, 32, 33, 127, INT32_MAX, INT32_MIN, INT32_MIN + 1, 65536};
    return below(3) == 0 ? special[below(12)] : below(64) - 16;
  }
  Expr make(int depth) {
    if (depth == 0 || below(5) == 0) {
      switch (below(6)) {
        case 0:
          return Expr(constant());
        case 1:
          return lane;
        case 2:
          return Expr::loop("i");
        case 3:
          return any_int;
        default:
          return tid;
      }
    }
    const auto op = static_cast<ExprOp>(static_cast<int>(ExprOp::add) + below(16));
    return Expr::binary(op, make(depth - 1), make(depth - 1));
  }
  Values values() {
    return {below(128), below(32), below(16) - 8, below(2) ? constant() : static_cast<std::int32_t>(random_())};
  }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("index arithmetic reads as C++") {
  CHECK(text(tid * 16) == "tid * 16");
  CHECK(text((tid + 1) * 16) == "(tid + 1) * 16");
  CHECK(text(tid / 4 % 8 * 32 + lane) == "tid / 4 % 8 * 32 + lane");
  CHECK(text(tid - (lane - 1)) == "tid - (lane - 1)");
  CHECK(text(tid - lane - 1) == "tid - lane - 1");
  CHECK(text(tid / (lane + 1)) == "tid / (lane + 1)");
  CHECK(text(Expr::binary(ExprOp::shl, tid + 1, 4)) == "(tid + 1) << 4");
  CHECK(text(Expr::binary(ExprOp::bit_xor, Expr::binary(ExprOp::bit_and, tid, 7), lane)) == "(tid & 7) ^ lane");
  CHECK(text(Expr::binary(ExprOp::lt, tid + 1, lane * 2)) == "tid + 1 < lane * 2");
  CHECK(text(tid + Expr(-5)) == "tid + (-5)");
  CHECK(text(Expr(INT32_MIN)) == "(-2147483647 - 1)");
}

TEST_CASE("a helper stands only where int arithmetic would not do") {
  CHECK(text(any_int + 1) == "wrapping_add(any_int, 1)");
  CHECK(text(Expr::binary(ExprOp::bit_and, any_int, 255) + 1) == "(any_int & 255) + 1");
  CHECK(text(tid * 16909321) == "wrapping_mul(tid, 16909321)");  // 127 times that is above 2^31 - 1
  CHECK(text(tid * 16909320) == "tid * 16909320");
  CHECK(text(any_int / 3) == "any_int / 3");
  CHECK(text(any_int / Expr(-1)) == "int_quotient(any_int, (-1))");
  CHECK(text(tid / Expr(-1)) == "tid / (-1)");
  CHECK(text(tid / lane) == "int_quotient(tid, lane)");
  CHECK(text(tid % (lane + 1)) == "tid % (lane + 1)");
  CHECK(text(Expr::binary(ExprOp::shr, any_int, 4)) == "any_int >> 4");
  CHECK(text(Expr::binary(ExprOp::shr, tid, lane + 1)) == "shift_right(tid, lane + 1)");
  CHECK(text(Expr::binary(ExprOp::shl, tid, 24)) == "tid << 24");
  CHECK(text(Expr::binary(ExprOp::shl, tid, 25)) == "shift_left(tid, 25)");
}

TEST_CASE("every value lies in the range that the analysis gives") {
  RandomExpr random(11);
  for (int i = 0; i < 3000; ++i) {
    const Expr expr = random.make(4);
    const Interval range = range_of(expr, [](const Expr& node) { return leaf(node).range; });
    for (int j = 0; j < 20; ++j) {
      if (const auto result = value(expr, random.values())) {
        CAPTURE(text(expr), *result);
        REQUIRE(*result >= range.lo);
        REQUIRE(*result <= range.hi);
      }
    }
  }
}

TEST_CASE("the host compiler gives the text the values of ir/expr.hpp, without undefined behaviour") {
  if (std::system("c++ --version > /dev/null 2>&1") != 0) {
    WARN("no host compiler c++: not run");
    return;
  }
  RandomExpr random(7);
  std::set<std::string> helpers;
  std::string calls;
  std::string expected;
  for (int i = 0; i < 400; ++i) {
    const Expr expr = random.make(4);
    const std::string function =
        fmt::format("static int f{}(int tid, int lane, int loop_i, int any_int) {{ return {}; }}\n", i, text(expr, &helpers));
    calls += function;
    calls += fmt::format("static void run{}() {{\n", i);
    for (int j = 0; j < 8; ++j) {
      const Values v = random.values();
      if (const auto result = value(expr, v)) {
        calls += fmt::format("  print(f{}({}, {}, {}, {}));\n", i, v.tid, v.lane, v.loop,
                             v.any == INT32_MIN ? "(-2147483647 - 1)" : std::to_string(v.any));
        expected += fmt::format("{}\n", *result);
      }
    }
    calls += "}\n";
  }
  DeviceFunctions functions;
  for (const std::string& helper : helpers) functions.need(helper);
  CHECK(helpers == std::set<std::string>{"int_quotient", "int_remainder", "shift_left", "shift_right", "wrapping_add",
                                         "wrapping_mul", "wrapping_sub"});
  std::string program =
      "#include <cstdio>\n#include <cstdlib>\n#define __device__\n#define __forceinline__ static inline\n"
      "static void __trap() { std::abort(); }\nstatic void print(int value) { std::printf(\"%d\\n\", value); }\n";
  program += functions.text() + calls + "int main() {\n";
  for (int i = 0; i < 400; ++i) program += fmt::format("  run{}();\n", i);
  program += "}\n";

  const tests::TemporaryFolder folder;
  const std::string source = folder.write("expressions.cpp", program), out = folder / "out", log = folder / "log";
  const std::string command =
      fmt::format("c++ -w -std=c++17 -fsanitize=undefined -fno-sanitize-recover=all {} -o {}/k > {} 2>&1 && {}/k > {} 2>> {}",
                  source, folder.path().string(), log, folder.path().string(), out, log);
  const int status = std::system(command.c_str());
  INFO(tests::read_file(log));
  REQUIRE(status == 0);
  CHECK(tests::read_file(out) == expected);
}
