#include "ir/kernel/operand_text.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"

using namespace tmemsim;

namespace {

std::vector<Buffer> some_buffers() {
  std::vector<Buffer> buffers(5);
  buffers[0].name = "A";
  buffers[0].shape = {128, 8};
  buffers[1].name = "slot";
  buffers[1].space = Space::shared;
  buffers[1].dtype = Dtype::u32;
  buffers[1].shape = {1};
  buffers[2].name = "acc";
  buffers[2].space = Space::tmem;
  buffers[2].shape = {128, 8};
  buffers[3].name = "R";
  buffers[3].space = Space::local;
  buffers[3].shape = {8};
  buffers[4].name = "H";
  buffers[4].space = Space::local;
  buffers[4].dtype = Dtype::f16;
  buffers[4].shape = {4};
  return buffers;
}

struct Fixture {
  std::vector<Buffer> buffers = some_buffers();
  std::map<std::string, std::int64_t> params{{"n", 16}, {"huge", std::int64_t{1} << 40}, {"most", 0xffffffff}};
  Names names{&buffers, &params, {"i", "column"}};

  // The message of the error that reading gives, with its place.
  template <class Read> std::string error(Read read, std::string_view text) const {
    try {
      (void)read(text, names);
    } catch (const TextError& problem) {
      return std::to_string(problem.offset) + ": " + problem.message + (problem.hint.empty() ? "" : " | " + problem.hint);
    }
    return "no error";
  }
};

}  // namespace

#define SAME_AS_IN_C(expression) \
  CHECK(parse_expr(#expression, names).as_constant() == static_cast<std::int32_t>(expression))

TEST_CASE_METHOD(Fixture, "constant expressions have the value that the host compiler gives them") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wparentheses"
  SAME_AS_IN_C(1 + 2 * 3);
  SAME_AS_IN_C((1 + 2) * 3);
  SAME_AS_IN_C(20 - 5 - 3);
  SAME_AS_IN_C(100 / 10 / 5 % 3);
  SAME_AS_IN_C(1 + 2 << 3 + 1);
  SAME_AS_IN_C(1 << 2 < 5);
  SAME_AS_IN_C(7 & 3 == 3);
  SAME_AS_IN_C(6 ^ 3 & 5 | 8);
  SAME_AS_IN_C(8 | 6 ^ 3 & 5);
  SAME_AS_IN_C(5 > 3 == 1);
  SAME_AS_IN_C(5 >= 5 != 1 <= 0);
  SAME_AS_IN_C(-7 / 2);
  SAME_AS_IN_C(-7 % 4);
  SAME_AS_IN_C(- -5 * -(3 - 4));
  SAME_AS_IN_C(0x7f01ff & 0b1111 | 0X10);
  SAME_AS_IN_C(-16 >> 2);
  SAME_AS_IN_C(1 - -1);
#pragma GCC diagnostic pop
}

TEST_CASE_METHOD(Fixture, "numbers wrap to 32 bits") {
  CHECK(parse_expr("0xffffffff", names).as_constant() == -1);
  CHECK(parse_expr("most", names).as_constant() == -1);
  CHECK(parse_expr("-2147483648", names).as_constant() == std::numeric_limits<std::int32_t>::min());
  CHECK(error(parse_expr, "4294967296") == "0: this number does not fit in 32 bits");
  CHECK(error(parse_expr, "1 + huge") == "4: huge = 1099511627776 does not fit in 32 bits");
  CHECK(error(parse_expr, "99999999999999999999") == "0: this number does not fit in 64 bits");
}

TEST_CASE_METHOD(Fixture, "names in expressions") {
  CHECK(parse_expr("n * 2", names) == Expr(32));
  CHECK(parse_expr("i", names) == Expr::loop("i"));
  CHECK(parse_expr("tid % 4", names) == Expr::binary(ExprOp::mod, Expr::coordinate(ExprOp::tid), 4));
  CHECK(parse_expr("word(slot, i + 1)", names) == Expr::word(1, Expr::loop("i") + Expr(1)));
  CHECK(parse_expr("R.r[n / 4]", names) == Expr::reg(3, 4));
  CHECK(parse_expr("lane - 1 - warp", names) ==
        Expr::binary(ExprOp::sub, Expr::binary(ExprOp::sub, Expr::coordinate(ExprOp::lane), 1), Expr::coordinate(ExprOp::warp)));
}

TEST_CASE_METHOD(Fixture, "errors in expressions stand at their place and say what would work") {
  CHECK(error(parse_expr, "1 + colunm") == "4: there is no name 'colunm' | did you mean column?");
  CHECK(error(parse_expr, "lan") == "0: there is no name 'lan' | did you mean lane?");
  CHECK(error(parse_expr, "slto") == "0: there is no name 'slto' | did you mean slot?");
  CHECK(error(parse_expr, "R + 1") == "0: 'R' is a local buffer, not a number | a register of it is R.r[0]");
  CHECK(error(parse_expr, "A") == "0: 'A' is a global buffer, not a number | a word of it is word(A, 0)");
  CHECK(error(parse_expr, "word(acc, 0)") == "5: word(..) reads shared or global memory, and 'acc' is a tmem buffer");
  CHECK(error(parse_expr, "R.r[8]") == "4: R has 8 registers a thread, so there is no R.r[8]");
  CHECK(error(parse_expr, "R.r[0:2]") == "5: an expression can hold one register only | R.r[0]");
  CHECK(error(parse_expr, "") == "0: an integer expression is missing here");
  CHECK(error(parse_expr, "1 +") == "3: an integer expression is missing here");
  CHECK(error(parse_expr, "(1 + 2") == "6: ')' is missing after the expression");
  CHECK(error(parse_expr, "1 2") == "2: nothing may follow here, but '2' does");
  CHECK(error(parse_expr, "12ab") == "2: 'a' does not belong into this number");
  CHECK(error(parse_expr, "0x") == "0: digits are missing after '0x'");
  CHECK(error(parse_expr, "0b2") == "0: digits are missing after '0b'");
}

TEST_CASE_METHOD(Fixture, "depth and length are bounded") {
  const auto nested = [](int levels) { return std::string(levels, '(') + "tid" + std::string(levels, ')'); };
  CHECK(parse_expr(nested(50), names) == Expr::coordinate(ExprOp::tid));
  CHECK_THAT(error(parse_expr, nested(2000)), tests::contains("more than 64 levels"));
  CHECK_THAT(error(parse_expr, std::string(2000, '-') + "tid"), tests::contains("more than 64 levels"));
  const auto chain = [](int terms) {
    std::string text = "tid";
    for (int i = 1; i < terms; ++i) text += "+tid";
    return text;
  };
  CHECK_NOTHROW(parse_expr(chain(64), names));
  CHECK_THAT(error(parse_expr, chain(65)), tests::contains("more than 64 levels"));
  CHECK_THAT(error(parse_expr, std::string(5000, ' ')), tests::contains("more than 4096 characters"));
  CHECK_THAT(error(parse_region, "A[" + nested(2000) + "]"), tests::contains("more than 64 levels"));
}

TEST_CASE_METHOD(Fixture, "regions") {
  CHECK(parse_region("A", names) == Region{0, {}});
  CHECK(parse_region("acc[0:64, 4]", names) == Region{2, {{Expr(0), Expr(64)}, {Expr(4), std::nullopt}}});
  CHECK(parse_region(" A [ i*8 : i*8+n , 3 ] ", names) ==
        Region{0, {{Expr::loop("i") * Expr(8), Expr::loop("i") * Expr(8) + Expr(16)}, {Expr(3), std::nullopt}}});
  CHECK(error(parse_region, "B[0]") == "0: there is no buffer 'B'");
  CHECK(error(parse_region, "acd[0]") == "0: there is no buffer 'acd' | did you mean acc?");
  CHECK(error(parse_region, "A[]") == "2: an integer expression is missing here");
  CHECK(error(parse_region, "A[0:4") == "5: ']' is missing after the indices");
  CHECK(error(parse_region, "R.r[0]") == "1: a region is wanted here, not registers | R or R[0:1]");
}

TEST_CASE_METHOD(Fixture, "registers") {
  CHECK(parse_rows("R.r[3]", names) == Rows{3, {3}});
  CHECK(parse_rows("R.r[0:8]", names) == Rows{3, {0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(parse_rows("R.r[6,4,2,0]", names) == Rows{3, {6, 4, 2, 0}});
  CHECK(parse_rows("R.r[n/8:4, 7]", names) == Rows{3, {2, 3, 7}});
  CHECK(parse_rows("H", names) == Rows{4, {0, 1}});  // 4 f16 are two registers
  CHECK(error(parse_rows, "R.r[4:9]") == "4: R has 8 registers a thread, so there is no R.r[8]");
  CHECK(error(parse_rows, "R.r[4:4]") == "4: 4:4 holds no register | the end is not included");
  CHECK(error(parse_rows, "R.r[i]") == "4: a register must be a constant | it may use numbers and parameters");
  CHECK(error(parse_rows, "R.r[-1]") == "4: a register must be 0 to 4095, not -1");
  CHECK(error(parse_rows, "R[0:4]") == "1: registers are wanted here, not elements | R.r[..]");
  CHECK(error(parse_rows, "acc") == "0: 'acc' is a tmem buffer; registers of a local buffer are wanted here | R.r[0:8]");
  std::string many = "R.r[0:8";
  for (int i = 0; i < 600; ++i) many += ",0:8";
  CHECK_THAT(error(parse_rows, many + "]"), tests::contains("at most 4096 registers"));
}

TEST_CASE_METHOD(Fixture, "places in memory") {
  CHECK(parse_mem("slot", names) == Mem{1, {}, std::nullopt});
  CHECK(parse_mem("A[tid, 0]", names) == Mem{0, {{Expr::coordinate(ExprOp::tid), {}}, {Expr(0), {}}}, std::nullopt});
  CHECK(parse_mem("A{byte: 4 * tid}", names).byte == Expr(4) * Expr::coordinate(ExprOp::tid));
  CHECK(error(parse_mem, "acc[0, 0]") == "0: 'acc' is a tmem buffer; a region of a shared or global buffer is wanted here");
  CHECK(error(parse_mem, "A{bytes: 4}") == "2: 'byte' is missing after '{' | A{byte: 16}");
  CHECK(error(parse_mem, "A{byte: 4") == "9: '}' is missing after the byte offset");
}

TEST_CASE_METHOD(Fixture, "addresses in tensor memory") {
  CHECK(parse_tmem_addr("acc[32:64, 4]", names).cell == Region{2, {{Expr(32), Expr(64)}, {Expr(4), {}}}});
  const TmemAddr addr = parse_tmem_addr("{base: word(slot, 0), lane: 32 * warp, col: n}", names);
  CHECK(addr == TmemAddr{std::nullopt, Expr::word(1, 0), Expr(32) * Expr::coordinate(ExprOp::warp), Expr(16)});
  CHECK(parse_tmem_addr("{col: 3}", names) == TmemAddr{std::nullopt, Expr(0), Expr(0), Expr(3)});
  CHECK(error(parse_tmem_addr, "A") == "0: 'A' is a global buffer; a region of a tmem buffer is wanted here");
  CHECK(error(parse_tmem_addr, "{column: 3}") == "1: an address has no 'column' | it has base, lane and col");
  CHECK(error(parse_tmem_addr, "{col: 3, col: 4}") == "9: 'col' stands here twice");
}

TEST_CASE_METHOD(Fixture, "values are registers when the text is nothing else") {
  CHECK(parse_value("R.r[0]", names) == Value(Rows{3, {0}}));
  CHECK(parse_value("H", names) == Value(Rows{4, {0, 1}}));
  CHECK(parse_value("R.r[0] + 1", names) == Value(Expr::reg(3, 0) + Expr(1)));
  CHECK(parse_value("(R.r[0])", names) == Value(Expr::reg(3, 0)));
  CHECK(parse_value("tid", names) == Value(Expr::coordinate(ExprOp::tid)));
  CHECK(to_text(Value(Expr::reg(3, 0)), buffers) == "(R.r[0])");
}

TEST_CASE_METHOD(Fixture, "threads") {
  using Span = Where::Span;
  const auto where = [&](std::string_view text) { return parse_where(text, names); };
  CHECK(where("cta") == Where{});
  CHECK(where("cta 1 warp 0") == Where{1, Span{0, 0}, {}, {}, false});
  CHECK(where("cta warp 2 lane 5") == Where{{}, Span{2, 2}, {}, Span{5, 5}, false});
  CHECK(where("warps 0..3") == Where{{}, Span{0, 3}, {}, {}, false});
  CHECK(where("warps n/16..n/4 - 1") == Where{{}, Span{1, 3}, {}, {}, false});
  CHECK(where("cta n warpgroup 0 lanes 0..15") == Where{16, {}, 0, Span{0, 15}, false});
  CHECK(where("warp 0 elect") == Where{{}, Span{0, 0}, {}, {}, true});
  CHECK(where("elect").elect);
  CHECK(error(parse_where, "warpz 0") == "0: threads are missing here | did you mean warp?");
  CHECK_THAT(error(parse_where, ""), tests::contains("threads are missing here"));
  CHECK_THAT(error(parse_where, "lane 0 warp 0"), tests::contains("7: 'warp' cannot stand here"));
  CHECK_THAT(error(parse_where, "warp 0 warpgroup 0"), tests::contains("7: 'warpgroup' cannot stand here"));
  CHECK_THAT(error(parse_where, "lanes 0..3 elect"), tests::contains("11: 'elect' cannot stand here"));
  CHECK(error(parse_where, "warp 0..3") == "6: warp names one warp | warps 0..N names several");
  CHECK(error(parse_where, "warps 3..0") == "6: 3..0 holds nothing | both ends are included, the smaller one first");
  CHECK(error(parse_where, "lane 32") == "5: lane must be 0 to 31, not 32");
  CHECK(error(parse_where, "warp tid") == "5: warp must be a constant | it may use numbers and parameters");
  CHECK(error(parse_where, "warp 0 foo") == "7: nothing may follow here, but 'foo' does");
}

TEST_CASE_METHOD(Fixture, "element values") {
  const auto number = [&](std::string_view text) { return parse_number(text, names); };
  CHECK(number("3") == Number(std::int64_t{3}));
  CHECK(number("-0x10") == Number(std::int64_t{-16}));
  CHECK(number("0b101") == Number(std::int64_t{5}));
  CHECK(number("-9223372036854775808") == Number(std::numeric_limits<std::int64_t>::min()));
  CHECK(number("n") == Number(std::int64_t{16}));
  CHECK(number("-n") == Number(std::int64_t{-16}));
  CHECK(number("1.5") == Number(1.5));
  CHECK(number("-2e-3") == Number(-2e-3));
  CHECK(number("1e3") == Number(1000.0));
  CHECK(number(".5") == Number(0.5));
  CHECK(number("inf") == Number(std::numeric_limits<double>::infinity()));
  CHECK(number("-inf") == Number(-std::numeric_limits<double>::infinity()));
  CHECK(std::isnan(std::get<double>(number("nan"))));
  CHECK(error(parse_number, "9223372036854775808") == "0: this number does not fit in 64 bits");
  CHECK_THAT(error(parse_number, "1e999"), tests::contains("beyond 64-bit"));
  CHECK(error(parse_number, "") == "0: a number is missing here");
  CHECK(error(parse_number, ".") == "0: a number is missing here");
  CHECK(error(parse_number, "mm") == "0: there is no parameter 'mm'");
  CHECK(error(parse_number, "1.5x") == "3: 'x' does not belong into this number");
}

TEST_CASE_METHOD(Fixture, "operands print in the form in which people write them") {
  const auto same = [&](auto read, std::string text) { CHECK(to_text(read(text, names), buffers) == text); };
  same(parse_region, "acc[0:64, 4]");
  same(parse_region, "A[i * 8:i * 8 + 8, 3]");
  same(parse_rows, "R.r[3]");
  same(parse_rows, "R.r[0:8]");
  same(parse_rows, "R.r[0:2]");
  same(parse_rows, "R.r[0, 2, 4, 6]");
  same(parse_rows, "R.r[0:3, 7, 6]");
  same(parse_mem, "A{byte: 4 * lane}");
  same(parse_tmem_addr, "{base: word(slot, 0), lane: 32, col: i}");
  same(parse_tmem_addr, "{base: 0}");
  same(parse_expr, "(tid + 1) * 4 - (lane - 2)");
  same(parse_expr, "(tid & 3) == 1");
  same(parse_expr, "1 << i + 2");
  for (const std::string text : {"cta", "cta 1", "cta 0 warp 2 lane 5", "warps 0..3 elect", "warpgroup 1 lanes 0..15"}) {
    CHECK(to_text(parse_where(text, names)) == text);
  }
  CHECK(to_text(Number(1.0)) == "1.0");
  CHECK(to_text(Number(-0.0)) == "-0.0");
  CHECK(to_text(Number(std::int64_t{1})) == "1");
}
