#include <fmt/format.h>

#include "lower/lower.hpp"
#include "tests/catch.hpp"
#include "tests/symbolic_copy.hpp"

using namespace tmemsim;

namespace {

Kernel lowered(const std::string& text) {
  Kernel kernel = parse_kernel(text, "k.kernel");
  return lower::lower(kernel);
}

// The instructions of the first lowered primitive, one a line.
std::string instructions(const Kernel& kernel) {
  Where where;
  const Stmt* stmt = tests::first_lowered(kernel.body, where);
  REQUIRE(stmt != nullptr);
  std::string text;
  for (const Stmt& inner : std::get<Lowered>(stmt->node).body) text += print(kernel, inner) + "\n";
  return text;
}

std::string warp_tile(const std::string& statement) {
  return "kernel k launch warps=1 buffer A: shared f32 [32, 8] buffer R: local f32 [32, 8] layout=\"S[(32,8):(1@laneid,1)]\"\n"
         "program { @warp 0 " + statement + " }";
}

const std::string group_tile = R"(kernel k
buffer slot: shared u32 [1]
buffer acc: tmem f16 [128, 8] layout="S[(128,8):(1@TLane,1@TCol)]" slot=slot
buffer F: local f16 [128, 8] layout="S[(128,8):(1@tid_in_wg,1)]"
program { @warpgroup 0 )";

}  // namespace

TEST_CASE("seed: a warp moves a 32x8 f32 tile, four elements at a time, twice", "[lower]") {
  const Kernel load = lowered(warp_tile("copy dst=R src=A"));
  CHECK(instructions(load) ==
        "@warp 0  ld dst=R.r[0:4] src=A{byte: lane * 32} bytes=16\n"
        "@warp 0  ld dst=R.r[4:8] src=A{byte: lane * 32 + 16} bytes=16\n");
  CHECK(tests::run_symbolically(load).problem == "");
  const Kernel store = lowered(warp_tile("copy dst=A src=R"));
  CHECK(instructions(store) ==
        "@warp 0  st dst=A{byte: lane * 32} src=R.r[0:4] bytes=16\n"
        "@warp 0  st dst=A{byte: lane * 32 + 16} src=R.r[4:8] bytes=16\n");
  CHECK(tests::run_symbolically(store).problem == "");
}

TEST_CASE("seed: a warpgroup moves a 128x8 f16 tile, one instruction each way", "[lower]") {
  const Kernel store = lowered(group_tile + "copy_async dst=acc src=F }");
  CHECK(instructions(store) == "@warpgroup 0  tcgen05.st shape=32x32b num=4 dst={base: word(slot, 0), lane: warp * 32} src=F.r[0:4]\n");
  CHECK(tests::run_symbolically(store).problem == "");
  const Kernel load = lowered(group_tile + "copy_async dst=F src=acc }");
  CHECK(instructions(load) == "@warpgroup 0  tcgen05.ld shape=32x32b num=4 dst=F.r[0:4] src={base: word(slot, 0), lane: warp * 32}\n");
  CHECK(tests::run_symbolically(load).problem == "");
}

TEST_CASE("seed: vector width and number of accesses", "[lower]") {
  struct Line {
    const char* dtype;
    int k, bytes, accesses;
  };
  for (const Line& line : {Line{"f32", 8, 16, 2}, Line{"f32", 16, 16, 4}, Line{"f16", 8, 16, 1}, Line{"f16", 16, 16, 2}, Line{"u8", 16, 16, 1},
                           Line{"f32", 6, 8, 3}, Line{"f32", 7, 4, 7}, Line{"f64", 4, 16, 2}}) {
    const std::string text = fmt::format("kernel k launch warps=1 buffer A: shared {0} [32, {1}] buffer R: local {0} [32, {1}] layout=\"S[(32,{1}):(1@laneid,1)]\"\n"
                                         "program {{ @warp 0 copy dst=R src=A }}", line.dtype, line.k);
    const tests::SymbolicResult result = tests::run_symbolically(lowered(text));
    CAPTURE(line.dtype, line.k);
    CHECK(result.problem == "");
    CHECK(result.narrowest == line.bytes);
    CHECK(result.widest == line.bytes);
    CHECK(result.accesses == line.accesses);
  }
}
