// tcgen05.mma, cp, shift and commit, bulk copies: values by arithmetic of their own, cells by the closed forms.
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
  s.n = 8;  // three times the sum still is an exact f32
  s.more = again + again;
  check_product(s, 3);
}

TEST_CASE("mma: every canonical layout of an operand gives the same product") {
  for (const char* layout : {"mma_shared_layout(f16, 0, (128, 16))", "mma_shared_layout(f16, 1, (128, 16))"}) {
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

// ---- the program around the operations, for what is no single product ----

namespace {

const std::string head = R"(kernel k
target sm_100a
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer bar: shared mbarrier [2] offset=8
buffer A: shared f16 [128, 16] layout="S[(16,8,2,8):(64,8,1024,1)]" offset=1024 init=iota(-8, 1)
buffer B: shared f16 [32, 16] layout="S[(4,8,2,8):(64,8,256,1)]" offset=8192 init=iota(3, -1)
buffer raw: shared u8 [4096] offset=16384 init=random_bits(7)
buffer G: global u8 [4096] init=random_bits(9)
buffer H: global u8 [4096]
buffer D: tmem f32 [128, 32] layout="S[(128,32):(1@TLane,1@TCol)]" slot=slot
buffer T: tmem f16 [128, 16] layout="S[(128,16):(1@TLane,1@TCol)]" slot=slot column=32
buffer E: tmem f32 [128, 32] layout="S[(128,32):(1@TLane,1@TCol)]" slot=slot column=64
buffer R: local u32 [32]
program {
  @warp 0 tcgen05.alloc slot=slot cols=128
  @warp 0 lane 0 mbarrier.init bar=bar[0] count=1
  @warp 0 lane 0 mbarrier.init bar=bar[1] count=1
  barrier.sync
)";
const std::string signal = "@warp 0 lane 0 tcgen05.commit bar=bar[0]\n";
const std::string wait = "mbarrier.try_wait bar=bar[0] parity=0\n";
const std::string tail = "barrier.sync\n@warp 0 tcgen05.dealloc slot=slot cols=128\n}\n";
const std::string first = "first: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=0\n";
const std::string second = "second: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=1\n";
const std::string load = "load: tcgen05.ld shape=32x32b num=32 dst=R.r[0:32] src={base: word(slot, 0), lane: warp * 32}\n";
const std::string load_done = "tcgen05.wait::ld\n";

std::string verdicts(const std::string& body) { return findings_everywhere(head + body + tail); }

std::uint8_t raw_byte(const sim::Outcome& outcome, std::int64_t at) { return outcome.image.ctas.at(0).shared.data.at(static_cast<std::size_t>(16384 + at)); }
std::uint8_t byte_of_cell(const sim::Outcome& outcome, std::int64_t lane, std::int64_t column, int byte) {
  return static_cast<std::uint8_t>(cell(outcome, lane, column) >> (8 * byte));
}

}  // namespace

TEST_CASE("mma: A in tensor memory, two halves a cell") {
  // Thread t holds row t: halves k and k + 1 of A, that are t + k and t + k + 1, as f16 bits of small integers 0x3c00 = 1.
  const std::string body = R"(
    mov dst=R.r[0:8] a=0x40003c00
    store: tcgen05.st shape=32x32b num=8 dst={base: word(slot, 0), lane: warp * 32, col: 32} src=R.r[0:8]
    tcgen05.wait::st
    barrier.sync
    first: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=0
  )";
  const sim::Outcome outcome = simulate(head + body + signal + wait + tail);
  CHECK(findings(outcome) == "missing-fence first < store");  // a plain barrier hands nothing over without the fences
  std::string fenced = body;
  fenced.replace(fenced.find("barrier.sync"), 12, "tcgen05.fence::before_thread_sync barrier.sync tcgen05.fence::after_thread_sync");
  CHECK(verdicts(fenced + signal + wait) == "");
  const sim::Outcome good = simulate(head + fenced + signal + wait + tail);
  for (int lane : {0, 63, 127}) {
    for (int n = 0; n < 32; ++n) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += (k % 2 == 0 ? 1 : 2) * (3 - (n * 16 + k));
      REQUIRE(f32(cell(good, lane, n)) == static_cast<float>(sum));
    }
  }
  std::string transposed = fenced;
  transposed.replace(transposed.find("accumulate=0"), 12, "accumulate=0 transpose=[a]");
  CHECK(verdicts(transposed + signal + wait) == "descriptor first");
  std::string unwaited = fenced;
  unwaited.erase(unwaited.find("tcgen05.wait::st"), 16);
  CHECK(verdicts(unwaited + signal + wait) == "raw-st first < store");
}

TEST_CASE("uninit-read: an error in lenient, too, where an mma reads the cells") {
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  const auto verdicts_of = [&](const std::string& body) { return findings_everywhere(head + body + signal + wait + tail, lenient); };
  CHECK(verdicts_of("first: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=A b=B accumulate=1\n") == "uninit-read first");
  CHECK(verdicts_of("first: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=0\n") == "uninit-read first");
  CHECK(verdicts_of("move: @warp 0 lane 0 tcgen05.shift addr={base: word(slot, 0), col: 32}\n") == "uninit-read move [warning]");
  // Told at the copy, which brings it in; an mma that uses it makes it an error.
  const std::string source = "buffer src: shared f16 [128, 16] layout=\"S[(16,8,2,8):(64,8,1024,1)]\" offset=20480\n";
  const auto copied = [&](const std::string& more) {
    std::string text = head + "copy: @warp 0 lane 0 tcgen05.cp shape=128x256b dst=T src=src\n" + more + signal + wait + tail;
    text.insert(text.find("buffer G"), source);
    return findings_everywhere(text, lenient);
  };
  CHECK(copied("") == "uninit-read copy [warning]");
  CHECK(copied("first: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=0\n") == "uninit-read copy");
}

TEST_CASE("tensor-issue-order: raw-mma is an error without it, war-mma and waw-async a warning, all three are silent with it") {
  const std::string copy = "copy: @warp 0 lane 0 tcgen05.cp shape=128x256b dst=T src=A\n", again = "again: @warp 0 lane 0 tcgen05.cp shape=128x256b dst=T src=A\n";
  const std::string move = "move: @warp 0 lane 0 tcgen05.shift addr={base: word(slot, 0), col: 32}\n";
  const std::string product = "use: @warp 0 lane 0 tcgen05.mma kind=f16 d=D a=T b=B accumulate=0\n";
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  const auto silent = [&](const std::string& body) { return findings_everywhere(head + body + signal + wait + tail, lenient) == ""; };
  CHECK(verdicts(copy + move + signal + wait) == "raw-mma move < copy");
  CHECK(silent(copy + move));
  CHECK(verdicts(copy + again + signal + wait) == "waw-async again < copy [warning]");
  CHECK(silent(copy + again));
  CHECK(verdicts(copy + product + again + signal + wait).find("war-mma again < use [warning]") != std::string::npos);
  CHECK(silent(copy + product + again));
  const std::string later = "@warp 0 lane 0 mbarrier.try_wait bar=bar[0] parity=0\n", second_signal = "@warp 0 lane 0 tcgen05.commit bar=bar[1]\n", second_wait = "mbarrier.try_wait bar=bar[1] parity=0\n";
  CHECK(verdicts(copy + signal + later + move + second_signal + second_wait) == "");
}

TEST_CASE("cp: every shape puts the rows where the table says") {
  struct Shape {
    const char* name;
    const char* multicast;
    int rows, bytes;
  };
  for (const Shape& shape : {Shape{"128x256b", "", 128, 32}, Shape{"128x128b", "", 128, 16}, Shape{"4x256b", "", 4, 32},
                             Shape{"64x128b", "multicast=warpx2::02_13", 64, 16}, Shape{"64x128b", "multicast=warpx2::01_23", 64, 16},
                             Shape{"32x128b", "multicast=warpx4", 32, 16}}) {
    INFO(shape.name << " " << shape.multicast);
    std::string text = head + fmt::format("copy: @warp 0 lane 0 tcgen05.cp shape={} {} dst=E src=src\n", shape.name, shape.multicast) + signal + wait + tail;
    // Row r, 16-byte unit u at 128 * (r / 8) + 16 * (r % 8) + 2048 * u: K-major, not swizzled.
    const std::string buffer = fmt::format("buffer src: shared u8 [{}, {}] layout=\"S[({},{},{},16):(128,16,2048,1)]\" offset=16384\n", shape.rows, shape.bytes,
                                           (shape.rows + 7) / 8, std::min(shape.rows, 8), shape.bytes / 16);
    text.insert(text.find("buffer G"), buffer);
    const sim::Outcome outcome = simulate(text);
    REQUIRE(findings(outcome) == "");
    for (int row = 0; row < shape.rows; ++row) {
      std::vector<int> lanes{row};
      const std::string name = shape.name, multicast = shape.multicast;
      if (name == "4x256b") lanes = {32 * row};
      if (name == "32x128b") lanes = {row, row + 32, row + 64, row + 96};
      if (multicast == "multicast=warpx2::02_13") lanes = {row, row + 64};
      if (multicast == "multicast=warpx2::01_23") lanes = row < 32 ? std::vector{row, row + 32} : std::vector{64 + row - 32, 96 + row - 32};
      for (int lane : lanes)
        for (int byte = 0; byte < shape.bytes; ++byte)
          REQUIRE(byte_of_cell(outcome, lane, 64 + byte / 4, byte % 4) == raw_byte(outcome, 128 * (row / 8) + 16 * (row % 8) + 2048 * (byte / 16) + byte % 16));
    }
  }
}

TEST_CASE("shift: 31 rows of every quadrant move down by one") {
  const std::string shift = "shift: @warp 0 lane 0 tcgen05.shift addr={base: word(slot, 0), col: 8}\n";
  const sim::Outcome outcome = simulate(head + first + shift + signal + wait + tail);
  REQUIRE(findings(outcome) == "");  // mma before shift is a pipelined pair
  Setup s;
  for (int lane = 0; lane < 128; ++lane) {
    REQUIRE(f32(cell(outcome, lane, 7)) == static_cast<float>(product(s, lane, 7)));
    REQUIRE(f32(cell(outcome, lane, 8)) == static_cast<float>(product(s, lane % 32 == 31 ? lane : lane + 1, 8)));
    REQUIRE(f32(cell(outcome, lane, 15)) == static_cast<float>(product(s, lane % 32 == 31 ? lane : lane + 1, 15)));
    REQUIRE(f32(cell(outcome, lane, 16)) == static_cast<float>(product(s, lane, 16)));
  }
  CHECK(verdicts(first + "shift: @warp 0 lane 0 tcgen05.shift addr={base: word(slot, 0), lane: 16}\n" + signal + wait) == "misaligned shift");
}

TEST_CASE("results of the tensor core are read after a commit of their thread") {
  CHECK(verdicts(first + signal + wait + load + load_done) == "");
  CHECK(verdicts(first + second + signal + wait + load + load_done) == "");
  CHECK(verdicts(first + signal + load + load_done + wait) == "raw-mma load < first");
  CHECK(verdicts(signal + first + wait + load + load_done) == "raw-mma load < first");
  CHECK(verdicts(first + "@warp 0 lane 1 tcgen05.commit bar=bar[0]\n" + wait + load + load_done) == "raw-mma load < first");
  CHECK(verdicts(first + "@warp 0 lane 0 tcgen05.commit bar=bar[1]\n@warp 1 lane 0 mbarrier.arrive bar=bar[0]\n" + wait + load + load_done) == "raw-mma load < first");
  CHECK(verdicts(first + "barrier.sync\n" + load + load_done + signal + wait) == "raw-mma load < first");
  const std::string relaxed = "mbarrier.try_wait bar=bar[0] parity=0 sem=relaxed\n";
  CHECK(verdicts(first + signal + relaxed + load + load_done) == "missing-fence load < first");
  CHECK(verdicts(first + signal + relaxed + "tcgen05.fence::after_thread_sync\n" + load + load_done) == "");
}

TEST_CASE("what the tensor core still uses is not overwritten and not freed") {
  const std::string fence = "fence.proxy.async\n";
  const std::string overwrite = "overwrite: @warp 0 st dst=A{byte: lane * 4} src=R.r[0] bytes=4\n";
  const std::string zero = "mov dst=R.r[0:32] a=0\n";
  CHECK(verdicts(zero + first + overwrite + signal + wait) == "war-mma overwrite < first");
  CHECK(verdicts(zero + first + signal + wait + overwrite) == "");
  const std::string sync = "barrier.sync\n";
  CHECK(verdicts(zero + overwrite + sync + first + signal + wait) == "proxy-fence first < overwrite");
  CHECK(verdicts(zero + overwrite + fence + sync + first + signal + wait) == "");
  CHECK(verdicts(zero + overwrite + sync + fence + sync + first + signal + wait) == "");
  CHECK(verdicts(zero + "overwrite: @warp 1 st dst=A{byte: lane * 4} src=R.r[0] bytes=4\n" + fence + first + signal + wait) == "smem-race first < overwrite");
  const std::string store = "store: tcgen05.st shape=32x32b num=32 dst={base: word(slot, 0), lane: warp * 32} src=R.r[0:32]\n";
  CHECK(verdicts(zero + first + store + "tcgen05.wait::st\n" + signal + wait) == "waw-async store < first");
  CHECK(verdicts(zero + first + signal + wait + store + "tcgen05.wait::st\n") == "");
  CHECK(verdicts(first + signal) == "dealloc-live program[7] < first");
  CHECK(verdicts(first + signal + wait) == "");
}

TEST_CASE("pipelined pairs, and the order of issue that a profile grants") {
  const std::string other = "other: @warp 0 lane 0 tcgen05.mma kind=f16 d=E a=A b=B accumulate=0\n";
  const std::string narrow = "narrow: @warp 0 lane 0 tcgen05.mma kind=f16 d=D[0:128, 0:16] a=A b=B[0:16, 0:16] accumulate=1\n";
  const std::string overlap = first + narrow + signal + wait;
  CHECK(verdicts(first + other + signal + wait) == "");
  CHECK(verdicts(overlap) == "raw-mma narrow < first");
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  CHECK(findings(simulate(head + overlap + tail, lenient)) == "");
}

TEST_CASE("a warning about the order of issue hides no error about the same cells") {
  const std::string narrow = "narrow: @warp 0 lane 0 tcgen05.mma kind=f16 d=D[0:128, 0:16] a=A b=B[0:16, 0:16] accumulate=0\n";
  const std::string part = "part: tcgen05.ld shape=32x32b num=16 dst=R.r[0:16] src={base: word(slot, 0), lane: warp * 32}\n";
  CHECK(verdicts(first + narrow + signal + wait + part + load_done) == "waw-async narrow < first [warning]");
  CHECK(verdicts(first + narrow + signal + "barrier.sync\n" + part + load_done + wait) == "waw-async narrow < first [warning]; raw-mma part < narrow");
}

TEST_CASE("bulk copies: bytes, barriers and groups") {
  const std::string expect = "@warp 0 lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=256\n";
  const std::string in = "in: @warp 0 lane 0 cp.async.bulk dst=raw[512:768] src=G[256:512] bar=bar[0]\n";
  const std::string out = "out: @warp 0 lane 0 cp.async.bulk dst=H[0:256] src=raw[512:768]\n";
  const std::string group = "@warp 0 lane 0 cp.async.bulk.commit_group\n@warp 0 lane 0 cp.async.bulk.wait_group n=0\n";
  const std::string get = "get: @warp 1 ld dst=R.r[0] src=raw{byte: 512 + lane * 4} bytes=4\n";
  const sim::Outcome outcome = simulate(head + expect + in + wait + out + group + tail);
  CHECK(findings(outcome) == "");
  const auto& g = outcome.image.global.at(5).data;
  const auto& h = outcome.image.global.at(6).data;
  for (std::size_t i = 0; i < 256; ++i) REQUIRE(h[i] == g[256 + i]);
  CHECK(verdicts(expect + in + wait + get) == "");
  CHECK(verdicts(expect + in + get + wait) == "smem-race get < in");
  CHECK(verdicts(expect + "in: @warp 0 lane 0 cp.async.bulk dst=raw[520:776] src=G[256:512] bar=bar[0]\n") == "misaligned in");
  const std::string put = "put: @warp 0 st dst=raw{byte: 512 + lane * 4} src=R.r[0] bytes=4\nbar.warp.sync\n";
  const std::string zero = "mov dst=R.r[0:32] a=0\n";
  CHECK(verdicts(zero + put + out + group) == "proxy-fence out < put");
  CHECK(verdicts(zero + put + "fence.proxy.async\nbar.warp.sync\n" + out + group) == "");
  CHECK(verdicts(zero + out + put + group) == "smem-race put < out");
  CHECK(verdicts(zero + out + "@warp 0 lane 0 cp.async.bulk.commit_group\n@warp 0 lane 0 cp.async.bulk.wait_group n=0 read=true\nbar.warp.sync\n" + put) == "");
}

TEST_CASE("mma over a pair: each CTA gives its rows of A and its columns of B and keeps its rows of D") {
  const std::string sync = "barrier.cluster.arrive barrier.cluster.wait\n";
  for (const int m : {256, 128}) {
    INFO(m);
    const int rows = m / 2, n = 32;
    std::string text = "kernel k\ntarget sm_100a\nlaunch warps=4 cluster=[2, 1, 1] grid=[2, 1, 1]\nbuffer slot: shared u32 [1] offset=0\n"
                       "buffer bar: shared mbarrier [1] offset=8\nbuffer R: local u32 [2]\n";
    text += fmt::format("buffer A: shared f16 [{}, 16] layout=\"{}\" offset=1024 init=iota(-8, 1)\n", rows, k_major(rows, 16, 2));
    text += fmt::format("buffer B: shared f16 [16, 16] layout=\"{}\" offset=32768 init=iota(3, -1)\n", k_major(16, 16, 2));
    text += m == 256 ? "buffer D: tmem f32 [128, 32] layout=\"S[(128,32):(1@TLane,1@TCol)]\" slot=slot\n"
                     : "buffer D: tmem f32 [64, 32] layout=\"S[(64,2,16):(1@TLane,64@TLane,1@TCol)]\" slot=slot\n";
    text += "program {\n" + sync + "@warp 0 tcgen05.alloc slot=slot cols=32 cta_group=2\n@cta 0 warp 0 lane 0 mbarrier.init bar=bar[0] count=1\n";
    // The odd CTA has 64 and 32 where the even one has -8 and 3.
    text += "@cta 1 warp 0 lane 0 mov dst=R.r[0] a=0x5400 @cta 1 warp 0 lane 0 st dst=A[0, 0] src=R.r[0] bytes=2\n"
            "@cta 1 warp 0 lane 0 mov dst=R.r[1] a=0x5000 @cta 1 warp 0 lane 0 st dst=B[0, 0] src=R.r[1] bytes=2\nfence.proxy.async\n";
    text += sync + "@cta 0 warp 0 lane 0 tcgen05.mma kind=f16 cta_group=2 d=D a=A b=B accumulate=0\n@cta 0 warp 0 lane 0 tcgen05.commit cta_group=2 bar=bar[0]\n"
                   "@cta 0 mbarrier.try_wait bar=bar[0] parity=0\n" + sync + "@warp 0 tcgen05.dealloc slot=slot cols=32 cta_group=2\n" + sync + "}\n";
    REQUIRE(findings_everywhere(text) == "");
    const sim::Outcome outcome = simulate(text);
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        const int cta = row / rows, r = row % rows, from = column / 16, c = column % 16;
        std::int64_t sum = 0;
        for (int k = 0; k < 16; ++k) {
          const int a = cta == 1 && r == 0 && k == 0 ? 64 : r * 16 + k - 8, b = from == 1 && c == 0 && k == 0 ? 32 : 3 - (c * 16 + k);
          sum += a * b;
        }
        const int lane = m == 256 ? r : r + 64 * (column / 16), at = m == 256 ? column : column % 16;
        REQUIRE(f32(outcome.image.sms.at(static_cast<std::size_t>(cta)).value.at(static_cast<std::size_t>(at * 128 + lane))) == static_cast<float>(sum));
      }
    }
  }
}
