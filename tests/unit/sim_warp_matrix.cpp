// ldmatrix, stmatrix and mma.sync in the simulator, against the tables of PTX ISA 9.7.14.5 written out here; their verdicts;
// the lowering of copy and gemm to them.
#include <bit>

#include "ir/atom/warp_matrix.hpp"
#include "lower/lower.hpp"
#include "report/compare.hpp"
#include "sim/reference/reference.hpp"
#include "tests/catch.hpp"
#include "tests/unit/lowered.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::uint32_t reg(const sim::Outcome& outcome, std::size_t row, std::size_t lane) {
  return outcome.image.ctas.at(0).registers.at(0).at(row).value.at(lane);
}

// Word w of the tile is the bytes 4w .. 4w + 3: half h of it has the number 2w + h. Rows of 16 bytes are 8 halves.
std::string matrix_program(const std::string& operation) {
  return "kernel k\ntarget sm_90\nlaunch warps=1\n"
         "buffer tile: shared u16 [32, 8] offset=0 init=iota(0, 1)\nbuffer back: shared u16 [32, 8] offset=1024\nbuffer R: "
         "local u32 [8]\n"
         "program {\nbar.warp.sync\n" +
         operation + "}\n";
}

// The number of the half that PTX ISA figures 104 ff. give to half h of register j of a lane, when lane i points at row i.
std::uint32_t half_of(bool trans, std::uint32_t lane, std::uint32_t j, std::uint32_t h) {
  const std::uint32_t row = trans ? 2 * (lane % 4) + h : lane / 4, column = trans ? lane / 4 : 2 * (lane % 4) + h;
  return 8 * (8 * j + row) + column;
}

std::string rows(int count, int first = 0) {
  return count == 1 ? fmt::format("R.r[{}]", first) : fmt::format("R.r[{}:{}]", first, first + count);
}

}  // namespace

TEST_CASE("ldmatrix gives every lane its piece of every row") {
  for (const int num : {1, 2, 4}) {
    for (const bool trans : {false, true}) {
      const auto outcome =
          simulate(matrix_program(fmt::format("ldmatrix num={} trans={} dst={} src=tile[lane, 0]\n", num, trans, rows(num))));
      INFO(num << " " << trans);
      CHECK(findings(outcome) == "");
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(num); ++j)
          REQUIRE(reg(outcome, j, lane) == (half_of(trans, lane, j, 0) | half_of(trans, lane, j, 1) << 16));
      }
    }
  }
}

TEST_CASE("stmatrix puts every lane's piece into every row") {
  for (const int num : {1, 2, 4}) {
    for (const bool trans : {false, true}) {
      std::string set;
      for (int j = 0; j < num; ++j)
        set += fmt::format("mov dst=R.r[{}] a=lane * 2 + {} | (lane * 2 + {}) << 16\n", j, 100 * j, 100 * j + 1);
      const auto outcome = simulate(
          matrix_program(set + fmt::format("stmatrix num={} trans={} dst=back[lane, 0] src={}\n", num, trans, rows(num))));
      INFO(num << " " << trans);
      CHECK(findings(outcome) == "");
      const Bytes& shared = outcome.image.ctas.at(0).shared;
      for (std::uint32_t lane = 0; lane < 32; ++lane) {
        for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(num); ++j) {
          for (const std::uint32_t h : {0u, 1u}) {
            const std::size_t byte = 1024 + 2 * std::size_t{half_of(trans, lane, j, h)};
            REQUIRE((shared.data[byte] | shared.data[byte + 1] << 8) == static_cast<int>(lane * 2 + 100 * j + h));
          }
        }
      }
      const auto written = std::count(shared.written.begin() + 1024, shared.written.begin() + 1536, 1);
      CHECK(written == num * 128);
    }
  }
}

namespace {

// The fragment tables of the ISA, 9.7.14.5.7 to 9.7.14.5.12: (row, column) of value i of lane t; B is [column, k] here.
struct At {
  int row, column;
};
At place_a(int packed, int k, int t, int i) {
  const int group = t / 4, in_group = t % 4, parts = k / (4 * packed);
  const int reg = i / packed, within = i % packed;  // registers: rows 0..7, rows 8..15, then the same further along k
  return {group + 8 * (reg % 2), (parts == 2 ? reg / 2 : 0) * 4 * packed + in_group * packed + within};
}
At place_b(int packed, int t, int i) { return {t / 4, i / packed * 4 * packed + t % 4 * packed + i % packed}; }
At place_c(int t, int i) { return {t / 4 + 8 * (i / 2), t % 4 * 2 + i % 2}; }

std::uint32_t encoded(Dtype dtype, int value) {
  const auto floating = [&] {
    return dtype == Dtype::tf32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                : static_cast<std::uint32_t>(encode(dtype, value));
  };
  return dtype == Dtype::s8 || dtype == Dtype::u8 || dtype == Dtype::s32
             ? static_cast<std::uint32_t>(value) & (dtype == Dtype::s32 ? ~0u : 0xffu)
             : floating();
}

// Small numbers, different for each element, so that all sums are exact in f16 too.
int a_value(int row, int k) { return (row * 3 + k * 5) % 7 - (row % 2 == 0 ? 3 : 0); }
int b_value(int column, int k) { return (column * 2 + k * 3) % 5; }
int c_value(int row, int column) { return row - column; }

// One global buffer of words a fragment: word r of lane t at [t, r].
std::string fragment_data(int registers, int bits, const std::function<std::uint32_t(int t, int i)>& value) {
  std::string text;
  const int packed = 32 / bits;
  for (int t = 0; t < 32; ++t) {
    for (int r = 0; r < registers; ++r) {
      std::uint32_t word = 0;
      for (int i = 0; i < packed; ++i) word |= value(t, r * packed + i) << (bits * i % 32);
      text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
    }
  }
  return "data(" + text + ")";
}

}  // namespace

TEST_CASE("mma.sync multiplies fragments as the tables of the ISA say, in every form") {
  int forms = 0;
  for (const atom::WarpMma& mma : atom::warp_mmas()) {
    INFO(mma.name);
    ++forms;
    const int packed = 32 / mma.a.bits, k = mma.k(), result_packed = 32 / mma.c.bits;
    const bool is_unsigned = mma.input == MmaInput::u8;
    const auto a_of = [&](int row, int depth) { return is_unsigned ? a_value(row, depth) + 3 : a_value(row, depth); };
    const auto load = [](const char* name, int registers) {
      std::string text;
      for (int r = 0; r < registers; ++r)
        text += fmt::format("ld dst={}.r[{}] src={}_in[lane, {}] bytes=4\n", name, r, name, r);
      return text;
    };
    std::string text = "kernel k\ntarget sm_80\nlaunch warps=1\n";
    const auto buffer_of = [&](const char* name, int registers, const std::string& data) {
      text += fmt::format("buffer {0}_in: global u32 [32, {1}] init={2}\nbuffer {0}: local u32 [{1}]\n", name, registers, data);
    };
    buffer_of("A", mma.a.registers, fragment_data(mma.a.registers, mma.a.bits, [&](int t, int i) {
                const At p = place_a(packed, k, t, i);
                return encoded(mma.input_type, a_of(p.row, p.column));
              }));
    buffer_of("B", mma.b.registers, fragment_data(mma.b.registers, mma.b.bits, [&](int t, int i) {
                const At p = place_b(packed, t, i);
                return encoded(mma.input_type, b_value(p.row, p.column));
              }));
    buffer_of("C", mma.c.registers, fragment_data(mma.c.registers, mma.c.bits, [&](int t, int i) {
                const At p = place_c(t, i);
                return encoded(mma.result_type, c_value(p.row, p.column));
              }));
    text += "program {\n" + load("A", mma.a.registers) + load("B", mma.b.registers) + load("C", mma.c.registers);
    text += fmt::format("mma.sync shape={} type={} acc={} d=C.r[0:{}] a=A.r[0:{}] b={} c=C.r[0:{}]\n}}\n", keyword(mma.shape),
                        keyword(mma.input), keyword(mma.result), mma.c.registers, mma.a.registers,
                        mma.b.registers == 1 ? "B.r[0]" : fmt::format("B.r[0:{}]", mma.b.registers), mma.c.registers);
    const auto program = program_of(text);
    const auto outcome = sim::run(program, sim::Options{});
    CHECK(findings(outcome) == "");
    const std::size_t first = program.first_row.at(*buffer_named(*program.kernel, "C"));
    for (int t = 0; t < 32; ++t) {
      for (int i = 0; i < 4; ++i) {
        const At p = place_c(t, i);
        int sum = c_value(p.row, p.column);
        for (int depth = 0; depth < k; ++depth) sum += a_of(p.row, depth) * b_value(p.column, depth);
        const std::uint32_t word =
            reg(outcome, first + static_cast<std::size_t>(i / result_packed), static_cast<std::size_t>(t));
        const std::uint32_t bits = result_packed == 1 ? word : word >> (16 * (i % 2)) & 0xffff;
        REQUIRE(bits == encoded(mma.result_type == Dtype::f32 ? Dtype::tf32 : mma.result_type, sum));
      }
    }
  }
  CHECK(forms == 12);
}

TEST_CASE("Matrices of a warp: what is wrong whatever the program does is refused") {
  const auto refused = [](const std::string& operation) -> std::string {
    try {
      Kernel kernel = parse_kernel(matrix_program(operation), "k.kernel");
      verify(kernel, Level::machine);
    } catch (const InputError& error) { return error.what(); }
    return "";
  };
  CHECK(refused("ldmatrix num=2 dst=R.r[0:2] src=tile[lane, 0]\n") == "");
  CHECK_THAT(refused("ldmatrix num=3 dst=R.r[0:3] src=tile[lane, 0]\n"), tests::contains("1, 2 or 4"));
  CHECK_THAT(refused("ldmatrix num=2 dst=R.r[0:4] src=tile[lane, 0]\n"), tests::contains("2 registers"));
  CHECK_THAT(refused("ldmatrix num=2 dst=R.r[0,0] src=tile[lane, 0]\n"), tests::contains("twice"));
  CHECK_THAT(refused("mma.sync shape=m16n8k32 type=f16 d=R.r[0:4] a=R.r[0:4] b=R.r[0:2] c=R.r[0:4]\n"),
             tests::contains("there is no mma.sync.m16n8k32.f16"));
  CHECK_THAT(refused("mma.sync shape=m16n8k8 type=s8 d=R.r[0:4] a=R.r[0:4] b=R.r[0:2] c=R.r[0:4]\n"),
             tests::contains("m16n8k16.s8"));
  CHECK_THAT(refused("mma.sync shape=m16n8k16 type=f16 d=R.r[0:4] a=R.r[0:2] b=R.r[0:2] c=R.r[0:4]\n"),
             tests::contains("a of mma.sync.m16n8k16.f16 is 4 registers"));
  CHECK(refused("mma.sync shape=m16n8k16 type=f16 d=R.r[0:4] a=R.r[4:8] b=R.r[0:2] c=R.r[0:4]\n") == "");
}

TEST_CASE("Matrices of a warp: verdicts, each with a twin that is right") {
  const std::string set = "mov dst=R.r[0:8] a=0\n";
  CHECK(findings_everywhere(matrix_program("x: ldmatrix num=4 dst=R.r[0:4] src=tile{byte: lane * 8}\n")) == "misaligned x");
  CHECK(findings_everywhere(matrix_program("x: ldmatrix num=4 dst=R.r[0:4] src=tile{byte: lane * 16}\n")) == "");
  CHECK(findings_everywhere(matrix_program("x: ldmatrix num=4 dst=R.r[0:4] src=tile{byte: lane * 32}\n")) == "out-of-bounds x");
  CHECK(findings_everywhere(matrix_program("x: ldmatrix num=2 dst=R.r[0:2] src=tile{byte: lane * 32}\n")) ==
        "");  // lanes 16 .. 31 give no address
  CHECK(findings_everywhere(matrix_program("x: ldmatrix num=1 dst=R.r[0] src=back[lane, 0]\nmma: mma.sync shape=m16n8k4 "
                                           "type=tf32 d=R.r[4:8] a=R.r[0,0] b=R.r[0] c=R.r[0,0,0,0]\n")) == "uninit-read mma");
  CHECK(findings_everywhere(matrix_program("x: @lanes 0..15 ldmatrix num=1 dst=R.r[0] src=tile[lane, 0]\n")) ==
        "participation x");
  CHECK(findings_everywhere(matrix_program(set + "x: @lanes 1..31 stmatrix num=1 dst=back[lane, 0] src=R.r[0]\n")) ==
        "participation x");
  CHECK(findings_everywhere(matrix_program(set + "x: stmatrix num=1 dst=back[lane, 0] src=R.r[0]\n")) == "");
  CHECK(
      findings_everywhere(matrix_program(
          set + "w: stmatrix num=4 dst=back[lane, 0] src=R.r[0:4]\nx: ldmatrix num=4 dst=R.r[0:4] src=back[31 - lane, 0]\n")) ==
      "smem-race x < w");
  CHECK(findings_everywhere(matrix_program(set + "w: stmatrix num=4 dst=back[lane, 0] src=R.r[0:4]\nbar.warp.sync\nx: ldmatrix "
                                                 "num=4 dst=R.r[0:4] src=back[31 - lane, 0]\n")) == "");
  std::string old = matrix_program("x: stmatrix num=1 dst=back[lane, 0] src=R.r[0]\n");
  old.replace(old.find("sm_90"), 5, "sm_80");
  CHECK(findings(simulate(old)) == "target x");
}

namespace {

std::string gemm_text(const std::string& buffers, const std::string& body, int warps = 1) {
  return fmt::format("kernel k\ntarget sm_90\nlaunch warps={}\n{}program {{\n{}}}\n", warps, buffers, body);
}

// Lowers, runs, and compares with the reference; "" when all agrees and something was compared.
std::string run_lowered(const std::string& text) {
  const auto kernel = std::make_shared<Kernel>(lowered_kernel(text));
  const sim::Outcome outcome = sim::run(decode(kernel), sim::Options{});
  if (const std::string found = findings(outcome); !found.empty()) return found;
  const auto reference = reference::run(*kernel, outcome.issued);
  const report::Comparison comparison = report::compare_with_reference(decode(kernel), outcome, reference);
  return comparison.differing != 0 ? "differs" : comparison.compared == 0 ? "nothing compared" : "";
}

const std::string fragment_a = "S[(2,8,2,4,2):(2,4@laneid,4,1@laneid,1)]";

}  // namespace

TEST_CASE("copy by ldmatrix: rows of the shared side, four matrices an instruction") {
  const std::string buffers = "buffer S: shared f16 [16, 16] offset=0 init=iota(0, 1)\nbuffer F: local f16 [16, 16] layout=\"" +
                              fragment_a + "\"\nbuffer out: global f16 [16, 16] init=fill(0)\n";
  const std::string text = gemm_text(buffers, "copy dst=F src=S variant=ldmatrix\ncopy dst=out src=F\n");
  CHECK(instructions(lowered_kernel(text)) == "ldmatrix num=4 dst=F.r[0:4] src=S{byte: lane % 16 * 32 + lane / 16 * 16}\n");
  CHECK(run_lowered(text) == "");
  // Columns side by side: transposed.
  const std::string columns =
      "buffer S: shared f16 [16, 16] layout=\"S[(16,16):(1,16)]\" offset=0 init=iota(0, 1)\nbuffer F: local f16 [16, 16] "
      "layout=\"" +
      fragment_a + "\"\nbuffer out: global f16 [16, 16] init=fill(0)\n";
  const std::string transposed = gemm_text(columns, "copy dst=F src=S variant=ldmatrix\ncopy dst=out src=F\n");
  CHECK_THAT(instructions(lowered_kernel(transposed)), tests::contains("ldmatrix num=4 trans=true"));
  CHECK(run_lowered(transposed) == "");
  // Back by stmatrix.
  const std::string back =
      gemm_text(columns + "buffer T: shared f16 [16, 16] offset=1024\n",
                "copy dst=F src=S variant=ldmatrix\ncopy dst=T src=F variant=stmatrix\nbar.warp.sync\ncopy dst=out src=T\n");
  CHECK(run_lowered(back) == "");
}

TEST_CASE("copy by ldmatrix: what no matrix can hold is refused with the reason") {
  const auto refusal = [](const std::string& shared, const std::string& local) {
    const std::string buffers =
        "buffer S: shared f16 [16, 16]" + shared + " init=iota(0, 1)\nbuffer F: local f16 [16, 16] layout=\"" + local + "\"\n";
    return run_text(gemm_text(buffers, "copy dst=F src=S variant=ldmatrix\n")).problem;
  };
  CHECK_THAT(refusal(" layout=\"S[(16,16):(20,1)]\" offset=0", fragment_a), tests::contains("no multiple of 128"));
  CHECK_THAT(refusal(" offset=8", fragment_a), tests::contains("multiple"));
  CHECK_THAT(refusal(" offset=0", "S[(16,2,8):(1@laneid,16@laneid,1)]"), tests::contains("no piece of a row"));
  CHECK_THAT(refusal(" offset=0", "S[(2,8,2,2,4):(2,4@laneid,4,1,1@laneid)]"), tests::contains("no piece of a row"));
  CHECK_THAT(refusal(" layout=\"Swizzle(2,2,3) o S[(16,16):(16,1)]\" offset=0", fragment_a),
             tests::contains("swizzle moves less"));
}

TEST_CASE("gemm by mma.sync: tiles, steps along K, replicated operands, every input type") {
  const auto product = [](const char* type, const char* result, int k, const std::string& a, const std::string& b) {
    return fmt::format(
        "buffer A: global {0} [16, {2}] init=iota(-7, 1)\nbuffer B: global {0} [8, {2}] init=iota(5, 1)\nbuffer D: global {1} "
        "[16, 8] init=fill(3)\n"
        "buffer FA: local {0} [16, {2}] layout=\"{3}\"\nbuffer FB: local {0} [8, {2}] layout=\"{4}\"\n"
        "buffer FD: local {1} [16, 8] layout=\"S[(2,8,4,2):(2,4@laneid,1@laneid,1)]\"\n",
        type, result, k, a, b);
  };
  const std::string body =
      "copy dst=FA src=A\ncopy dst=FB src=B\ncopy dst=FD src=D\ngemm d=FD a=FA b=FB{}\ncopy dst=D src=FD\n";
  struct Case {
    const char *type, *result;
    int k;
    const char *a, *b;
  };
  const Case cases[] = {{"f16", "f32", 16, "S[(2,8,2,4,2):(2,4@laneid,4,1@laneid,1)]", "S[(8,2,4,2):(4@laneid,2,1@laneid,1)]"},
                        {"bf16", "f32", 8, "S[(2,8,4,2):(2,4@laneid,1@laneid,1)]", "S[(8,4,2):(4@laneid,1@laneid,1)]"},
                        {"tf32", "f32", 8, "S[(2,8,2,4):(1,4@laneid,2,1@laneid)]", "S[(8,2,4):(4@laneid,1,1@laneid)]"},
                        {"tf32", "f32", 4, "S[(2,8,4):(1,4@laneid,1@laneid)]", "S[(8,4):(4@laneid,1@laneid)]"},
                        {"s8", "s32", 32, "S[(2,8,2,4,4):(4,4@laneid,8,1@laneid,1)]", "S[(8,2,4,4):(4@laneid,4,1@laneid,1)]"},
                        {"u8", "s32", 16, "S[(2,8,4,4):(4,4@laneid,1@laneid,1)]", "S[(8,4,4):(4@laneid,1@laneid,1)]"}};
  for (const Case& one : cases) {
    std::string buffers = product(one.type, one.result, one.k, one.a, one.b);
    if (std::string(one.type)[0] == 'u' || std::string(one.type)[0] == 's') {
      buffers.replace(buffers.find("iota(-7, 1)"), 11, "random(1, 0, 100)");
      buffers.replace(buffers.find("iota(5, 1)"), 10, "random(2, 0, 100)");
    }
    INFO(one.type << " " << one.k);
    CHECK(run_lowered(gemm_text(buffers, fmt::format(fmt::runtime(body), ""))) == "");
    CHECK(run_lowered(gemm_text(buffers, fmt::format(fmt::runtime(body), " accumulate=0"))) == "");
  }
  const std::string wrong = product("f16", "f32", 16, "S[(2,8,2,4,2):(2,1@laneid,4,8@laneid,1)]", cases[0].b);
  const std::string problem = run_text(gemm_text(wrong, fmt::format(fmt::runtime(body), ""))).problem;
  CHECK_THAT(problem, tests::contains("fragments"));
  CHECK_THAT(problem, tests::contains("S[(2,8,2,4,2):(2,4@laneid,4,1@laneid,1)]"));  // what would work
}

TEST_CASE("The reference multiplies whole matrices: an independent sum") {
  // D[m, n] = 3 + sum over k of (m * K + k - 7) * (n * K + k + 5), exact in f32.
  const std::string text = gemm_text(
      "buffer A: global f16 [16, 16] init=iota(-7, 1)\nbuffer B: global f16 [8, 16] init=iota(5, 1)\nbuffer D: global f32 [16, "
      "8] init=fill(3)\n"
      "buffer FA: local f16 [16, 16] layout=\"S[(2,8,2,4,2):(2,4@laneid,4,1@laneid,1)]\"\nbuffer FB: local f16 [8, 16] "
      "layout=\"S[(8,2,4,2):(4@laneid,2,1@laneid,1)]\"\n"
      "buffer FD: local f32 [16, 8] layout=\"S[(2,8,4,2):(2,4@laneid,1@laneid,1)]\"\n",
      "copy dst=FA src=A\ncopy dst=FB src=B\ncopy dst=FD src=D\ngemm d=FD a=FA b=FB\ncopy dst=D src=FD\n");
  const auto kernel = std::make_shared<Kernel>(lowered_kernel(text));
  const sim::Outcome outcome = sim::run(decode(kernel), sim::Options{});
  const auto reference = reference::run(*kernel, outcome.issued);
  const reference::Tensor& d = reference.global.at(*buffer_named(*kernel, "D"));
  for (std::int64_t m = 0; m < 16; ++m) {
    for (std::int64_t n = 0; n < 8; ++n) {
      std::int64_t sum = 3;
      for (std::int64_t k = 0; k < 16; ++k) sum += (m * 16 + k - 7) * (n * 16 + k + 5);
      const auto i = static_cast<std::size_t>(m * 8 + n);
      REQUIRE(d.known[i] == 1);
      REQUIRE(d.bits[i] == std::bit_cast<std::uint32_t>(static_cast<float>(sum)));
      REQUIRE(global_word(outcome, *buffer_named(*kernel, "D"), i) == d.bits[i]);
    }
  }
}
