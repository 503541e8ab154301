// tcgen05.mma, cp, shift and commit, bulk copies: values by arithmetic of their own, cells by the closed forms of tcgen05.md 7.3.
#include <bit>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// One product: operands with initial values, all barriers and fences in place.
struct Setup {
  std::string kind = "f16", a_type = "f16", b_type = "f16", d_type = "f32";
  int m = 128, n = 32, k = 16;
  std::string a_layout, b_layout, d_layout;  // notation; empty: K-major without swizzle, the data path of M
  std::string a_init = "iota(-8, 1)", b_init = "iota(3, -1)";
  std::string mma_keys = "accumulate=0";
  std::string more;                           // statements behind the first mma
  std::string a_shape, b_shape;
};

std::string k_major(int rows, int k, int bytes) {  // 8 x 16-byte core matrices: SBO 128, LBO one column of them
  const int t = 16 / bytes;
  return fmt::format("S[({},8,{},{}):({},{},{},1)]", rows / 8, k / t, t, 8 * t, t, rows * t);
}
std::string path_of(int m, int n, int stride) {
  if (m == 64) return fmt::format("S[(4,16,{}):(32@TLane,1@TLane,{}@TCol)]", n, stride);
  return fmt::format("S[({},{}):(1@TLane,{}@TCol)]", m, n, stride);
}

std::string text_of(const Setup& s) {
  const int bytes = s.kind == "f16" ? 2 : s.kind == "tf32" ? 4 : 1;
  const auto or_else = [](const std::string& text, std::string other) { return text.empty() ? other : text; };
  std::string text = fmt::format("kernel k\ntarget sm_100a\nlaunch warps=4\nbuffer slot: shared u32 [1] offset=0\nbuffer bar: shared mbarrier [1] offset=8\n");
  text += fmt::format("buffer A: shared {} [{}] layout=\"{}\" offset=1024 init={}\n", s.a_type, or_else(s.a_shape, fmt::format("{}, {}", s.m, s.k)),
                      or_else(s.a_layout, k_major(s.m, s.k, bytes)), s.a_init);
  text += fmt::format("buffer B: shared {} [{}] layout=\"{}\" offset=32768 init={}\n", s.b_type, or_else(s.b_shape, fmt::format("{}, {}", s.n, s.k)),
                      or_else(s.b_layout, k_major(s.n, s.k, bytes)), s.b_init);
  text += fmt::format("buffer D: tmem {} [{}, {}] layout=\"{}\" slot=slot\n", s.d_type, s.m, s.n, or_else(s.d_layout, path_of(s.m, s.n, s.d_type == "f16" ? 2 : 1)));
  text += "program {\n@warp 0 tcgen05.alloc slot=slot cols=256\n@warp 0 lane 0 mbarrier.init bar=bar[0] count=1\nbarrier.sync\n";
  text += fmt::format("first: @warp 0 lane 0 tcgen05.mma kind={} d=D a=A b=B {}\n{}", s.kind, s.mma_keys, s.more);
  text += "@warp 0 lane 0 tcgen05.commit bar=bar[0]\nmbarrier.try_wait bar=bar[0] parity=0\nbarrier.sync\n";
  return text + "@warp 0 tcgen05.dealloc slot=slot cols=256\n}\n";
}

std::uint32_t cell(const sim::Outcome& outcome, std::int64_t lane, std::int64_t column) {
  return outcome.image.sms.at(0).value.at(static_cast<std::size_t>(column * 128 + lane));
}
float f32(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// The default initial values: A[m, k] = m * K + k - 8, B[n, k] = 3 - (n * K + k).
std::int64_t product(const Setup& s, std::int64_t m, std::int64_t n) {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < s.k; ++k) sum += (m * s.k + k - 8) * (3 - (n * s.k + k));
  return sum;
}

// Every element stands where the data path says and has the value of the sum.
void check_product(const Setup& s, std::int64_t factor = 1) {
  const sim::Outcome outcome = simulate(text_of(s));
  REQUIRE(findings(outcome) == "");
  for (std::int64_t m = 0; m < s.m; ++m) {
    for (std::int64_t n = 0; n < s.n; ++n) {
      const std::int64_t lane = s.m == 64 ? 32 * (m / 16) + m % 16 : m;
      REQUIRE(f32(cell(outcome, lane, n)) == static_cast<float>(factor * product(s, m, n)));
    }
  }
}

const std::string again = "@warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=1\n";

}  // namespace

TEST_CASE("mma: f16 operands, sums at the lanes of data paths D and F") {
  check_product({});
  Setup half;
  half.m = 64;
  check_product(half);
  Setup wide;
  wide.n = 256;
  wide.b_init = "iota(3, -1)";
  wide.m = 64;
  wide.a_init = "iota(-8, 1)";
  wide.n = 64;
  check_product(wide);
}

TEST_CASE("mma: accumulation adds to D, in issue order and without a wait between") {
  Setup s;
  s.more = again + again;
  check_product(s, 3);
}

TEST_CASE("mma: every canonical layout of an operand gives the same product") {
  for (const std::string& layout : {"mma_shared_layout(f16, 0, (128, 16))", "mma_shared_layout(f16, 1, (128, 16))"}) {
    INFO(layout);
    Setup s;
    s.a_layout = layout;
    check_product(s);
  }
  // 64- and 128-byte rows: the instruction takes 16 of the 32 or 64 elements.
  for (const auto& [swizzle, elements] : {std::pair{2, 32}, std::pair{3, 64}}) {
    for (int first = 0; first < elements; first += 16) {
      INFO(swizzle << " " << first);
      Setup s;
      s.a_shape = fmt::format("128, {}", elements);
      s.a_layout = fmt::format("mma_shared_layout(f16, {}, (128, {}))", swizzle, elements);
      std::string text = text_of(s);
      const std::string whole = "a=A ";
      text.replace(text.find(whole), whole.size(), fmt::format("a=A[0:128, {}:{}] ", first, first + 16));
      text.replace(text.find("init=iota(-8, 1)"), 16, "init=fill(1)");
      text.replace(text.find("init=iota(3, -1)"), 16, "init=fill(2)");
      const sim::Outcome outcome = simulate(text);
      CHECK(findings(outcome) == "");
      CHECK(f32(cell(outcome, 127, 31)) == 32);
    }
  }
}

TEST_CASE("mma: operands with M or N running fastest, and transposed regions") {
  for (const int swizzle : {0, 1, 2, 3}) {
    INFO(swizzle);
    Setup s;
    s.a_layout = fmt::format("mma_shared_layout(f16, {}, (128, 16), mn)", swizzle);
    check_product(s);
  }
  Setup s;  // B as [K, N], N fastest in 16-byte units
  s.b_shape = "16, 32";
  s.b_layout = "S[(2,8,4,8):(64,8,128,1)]";
  s.mma_keys = "accumulate=0 transpose=[b]";
  const sim::Outcome outcome = simulate(text_of(s));
  CHECK(findings(outcome) == "");
  for (int m = 0; m < 128; ++m) {
    for (int n = 0; n < 32; ++n) {
      std::int64_t sum = 0;
      for (int k = 0; k < 16; ++k) sum += (m * 16 + k - 8) * (3 - (k * 32 + n));
      REQUIRE(f32(cell(outcome, m, n)) == static_cast<float>(sum));
    }
  }
}

TEST_CASE("mma: an accumulator of f16 is rounded once") {
  Setup s;
  s.d_type = "f16";
  s.a_init = "fill(3)";
  s.b_init = "fill(683)";
  const sim::Outcome outcome = simulate(text_of(s));
  CHECK(findings(outcome) == "");
  // 16 * 3 * 683 = 32784 lies half way between 32768 and 32800: to even.
  for (int lane : {0, 1, 127})
    for (int column : {0, 31}) CHECK((cell(outcome, lane, column) & 0xffffu) == 0x7800u);
}

TEST_CASE("mma: bf16, tf32 and 8-bit integers") {
  Setup bf;
  bf.a_type = bf.b_type = "bf16";
  bf.a_init = "fill(-3)";
  bf.b_init = "fill(0.5)";
  CHECK(f32(cell(simulate(text_of(bf)), 5, 7)) == -24.0f);

  Setup tf;
  tf.kind = "tf32";
  tf.a_type = "f32";
  tf.b_type = "tf32";
  tf.k = 8;
  tf.a_init = "fill(1.0001220703125)";  // 1 + 2^-13: the low 13 bits do not count
  tf.b_init = "fill(3)";
  const sim::Outcome outcome = simulate(text_of(tf));
  CHECK(findings(outcome) == "");
  CHECK(f32(cell(outcome, 100, 3)) == 24.0f);

  Setup integers;
  integers.kind = "i8";
  integers.a_type = "s8";
  integers.b_type = "u8";
  integers.d_type = "s32";
  integers.k = 32;
  integers.a_init = "fill(-128)";
  integers.b_init = "fill(255)";
  const sim::Outcome sums = simulate(text_of(integers));
  CHECK(findings(sums) == "");
  CHECK(static_cast<std::int32_t>(cell(sums, 127, 31)) == -128 * 255 * 32);
}

TEST_CASE("mma: masked lanes keep what they had") {
  Setup s;
  s.more = "@warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=1 lanes_off=[0, 0xffffffff, 1, 0x80000000]\n";
  const sim::Outcome outcome = simulate(text_of(s));
  CHECK(findings(outcome) == "");
  for (int lane = 0; lane < 128; ++lane) {
    const bool off = (lane >= 32 && lane < 64) || lane == 64 || lane == 127;
    REQUIRE(f32(cell(outcome, lane, 9)) == static_cast<float>((off ? 1 : 2) * product(s, lane, 9)));
  }
}

TEST_CASE("mma: what no instruction has is refused before it does harm") {
  const auto verdict_of = [](const Setup& s) { return findings_everywhere(text_of(s)); };
  Setup s;
  s.mma_keys = "accumulate=0 lanes_off=[0, 0]";
  CHECK(verdict_of(s) == "layout-mismatch first");
  s = {};
  s.d_layout = "S[(128,32):(1@TLane,2@TCol)]";
  CHECK(verdict_of(s) == "layout-mismatch first");
  s = {};
  s.m = 64;
  s.d_layout = "S[(64,32):(1@TLane,1@TCol)]";
  CHECK(verdict_of(s) == "layout-mismatch first");
  s = {};
  s.a_layout = "S[(128,16):(16,1)]";  // rows of 32 bytes, not swizzled
  CHECK(verdict_of(s) == "descriptor first");
  s = {};
  s.n = 24;
  CHECK(verdict_of(s) == "");
  s.n = 4;
  s.b_layout = "S[(4,2,8):(8,32,1)]";
  CHECK(verdict_of(s) == "descriptor first");
  s = {};
  s.b_type = "bf16";
  CHECK(verdict_of(s) == "descriptor first");
  s = {};
  s.k = 32;
  CHECK(verdict_of(s) == "descriptor first");
  s = {};
  s.a_type = s.b_type = "bf16";
  s.d_type = "f16";
  s.a_init = s.b_init = "fill(1)";
  CHECK(verdict_of(s) == "descriptor first");
  s = {};
  s.mma_keys = "accumulate=1";
  CHECK(verdict_of(s) == "uninit-read first");
  std::string all_threads = text_of({});
  all_threads.replace(all_threads.find("first: @warp 0 lane 0"), 21, "first: @warp 0");
  CHECK(findings_everywhere(all_threads) == "participation first");
}
