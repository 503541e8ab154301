// ldmatrix, stmatrix and every form of mma.sync, emitted: assembled, run on the host (where the lanes' exchange is a second
// implementation of who holds what) and on this machine's GPU, with the bits that the simulator leaves.
#include <fmt/format.h>

#include "emit/emit.hpp"
#include "ir/atom/warp_matrix.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"
#include "tests/emit/run_and_compare.hpp"

using namespace tmemsim;

namespace {

// Small whole numbers, so that every sum is exact in f16 too.
std::string numbers(int count, int step, int range, int low) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", i * step % range + low);
  return "data(" + text + ")";
}

std::string registers(const char* name, int count) {
  return count == 1 ? fmt::format("{}.r[0]", name) : fmt::format("{}.r[0:{}]", name, count);
}

Kernel parsed(const std::string& text) {
  Kernel kernel = parse_kernel(text, "k.kernel");
  verify(kernel, Level::machine);
  return kernel;
}

Kernel product(const atom::WarpMma& mma) {
  std::string text = "kernel product\ntarget sm_90\nlaunch warps=1\n", body;
  const int low = mma.input == MmaInput::u8 ? 0 : -3;
  const auto fragment = [&](const char* name, const atom::Fragment& of, Dtype dtype, int step, int from) {
    text += fmt::format("buffer {0}_in: global {1} [32, {2}] init={3}\nbuffer {0}: local u32 [{4}]\n", name,
                        tmemsim::name(dtype), of.values, numbers(32 * of.values, step, 7, from), of.registers);
    for (int r = 0; r < of.registers; ++r)
      body += fmt::format("ld dst={0}.r[{1}] src={0}_in[lane, {2}] bytes=4\n", name, r, r * 32 / of.bits);
  };
  fragment("A", mma.a, mma.input_type, 5, low);
  fragment("B", mma.b, mma.input_type, 3, low);
  fragment("C", mma.c, mma.result_type, 2, -3);
  text +=
      fmt::format("buffer D: local u32 [{}]\nbuffer out: global u32 [32, {}] init=fill(0)\n", mma.c.registers, mma.c.registers);
  body += fmt::format("mma.sync shape={} type={} acc={} d={} a={} b={} c={}\n", keyword(mma.shape), keyword(mma.input),
                      keyword(mma.result), registers("D", mma.c.registers), registers("A", mma.a.registers),
                      registers("B", mma.b.registers), registers("C", mma.c.registers));
  for (int r = 0; r < mma.c.registers; ++r) body += fmt::format("st dst=out[lane, {}] src=D.r[{}] bytes=4\n", r, r);
  return parsed(text + "program {\n" + body + "}\n");
}

// Rows in another order than the lanes, loaded and stored again, transposed or not on either way.
Kernel rows(int num, bool load_trans, bool store_trans) {
  std::string text =
      "kernel rows\ntarget sm_90\nlaunch warps=1\nbuffer in: global u16 [32, 8] init=iota(100, 3)\nbuffer out: global u16 [32, "
      "8] init=fill(0)\n";
  text +=
      "buffer tile: shared u16 [32, 8] offset=0\nbuffer back: shared u16 [32, 8] offset=1024\nbuffer R: local u32 [4]\nbuffer "
      "T: local u32 [4]\nprogram {\n";
  text +=
      "ld dst=R.r[0:4] src=in[lane, 0] bytes=16\nst dst=tile[lane, 0] src=R.r[0:4] bytes=16\nst dst=back[lane, 0] src=R.r[0:4] "
      "bytes=16\nbar.warp.sync\n";
  text +=
      fmt::format("ldmatrix num={} trans={} dst={} src=tile[(lane * 5 + 3) % 32, 0]\n", num, load_trans, registers("T", num));
  text += fmt::format("stmatrix num={} trans={} dst=back[lane ^ 9, 0] src={}\nbar.warp.sync\n", num, store_trans,
                      registers("T", num));
  text += "ld dst=R.r[0:4] src=back[lane, 0] bytes=16\nst dst=out[lane, 0] src=R.r[0:4] bytes=16\n}\n";
  return parsed(text);
}

std::vector<tests::Sample> samples() {
  std::vector<tests::Sample> made;
  for (const atom::WarpMma& mma : atom::warp_mmas()) made.push_back({mma.name, product(mma)});
  for (const int num : {1, 2, 4}) {
    for (const bool load_trans : {false, true}) {
      for (const bool store_trans : {false, true})
        made.push_back({fmt::format("rows {} {} {}", num, load_trans, store_trans), rows(num, load_trans, store_trans)});
    }
  }
  for (tests::Sample& sample : tests::clean_scenarios("lessons"))
    if (sample.name.starts_with("warp_gemm")) made.push_back(std::move(sample));
  return made;
}

}  // namespace

TEST_CASE("warp matrices assemble, and run on the host as in the simulator") {
  const std::vector<tests::Sample> all = samples();
  CHECK(all.size() == 12 + 12 + 2);
  std::vector<Kernel> kernels;
  for (const tests::Sample& each : all) kernels.push_back(each.kernel);
  const std::string text = emit::device_code(kernels);
  CHECK(text.find("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];") != std::string::npos);
  CHECK(text.find("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") != std::string::npos);
  CHECK(text.find("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32") != std::string::npos);
  if (tests::have_nvcc()) {
    const tests::Compiled compiled = tests::compile(text, "90a");
    INFO(compiled.log);
    REQUIRE(compiled.ok);
  }
  if (!tests::can_run(emit::Backend::host)) return;
  CHECK(tests::run_and_compare(all, emit::Backend::host).elements > 12 * 64 + 12 * 256);
}

TEST_CASE("on this GPU: warp matrices") {
  if (!tests::can_run(emit::Backend::native)) {
    WARN("not run: no nvcc 12.8 and GPU");
    return;
  }
  const tests::Compared compared = tests::run_and_compare(samples(), emit::Backend::native);
  WARN("warp matrices: " << compared.elements << " elements and " << compared.registers << " registers agree with the GPU");
}
