// Round trips through tensor memory, made at random from scenario text.
#include <fmt/format.h>

#include <random>
#include <stdexcept>

#include "lower/lower.hpp"
#include "tests/emit/samples.hpp"

namespace tmemsim::tests {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string scenario() {
    const std::string dtype = one_of({"f32", "f16", "bf16", "u8", "s32", "u16"});
    const int width = dtype == "u8" ? 8 : dtype.ends_with("16") ? 16 : 32;
    const bool scattered = width > 8 && below(3) == 0;  // 64 rows in the scattered lanes of datapath F
    const int rows = scattered ? 64 : 128, cols = (width == 16 ? 16 : 8) << below(3);
    const int column = below(4) * 3;
    const std::string tmem =
        scattered ? fmt::format("tmem_datapath_layout('F', 64, {})", cols) : fmt::format("S[(128,{}):(1@TLane,1@TCol)]", cols);
    const int warpgroups = 1 + below(2), group = below(warpgroups);
    const std::string at = fmt::format("warpgroup {}", group);
    return fmt::format(R"(tmemsim: 1
scenario: generated
target: sm_100a
launch: {{warps: {warps}}}
buffers:
  A:    {{space: global, dtype: {dtype}, shape: [{rows}, {cols}], init: {{random: {{seed: {seed}, bits: true}}}}, layout: "{layout_a}"}}
  B:    {{space: global, dtype: {dtype}, shape: [{rows}, {cols}], layout: "{layout_b}"}}
  slot: {{space: shared, dtype: u32, shape: [1]}}
  acc:  {{space: tmem, dtype: {dtype}, shape: [{rows}, {cols}], base: slot, col: {column}, layout: "{tmem}"}}
  P:    {{space: local, dtype: {dtype}, shape: [{rows}, {cols}], layout: "{fragment_p}"}}
  Q:    {{space: local, dtype: {dtype}, shape: [{rows}, {cols}], layout: "{fragment_q}"}}
program:
  - {{at: warp {allocator}, do: tcgen05.alloc, slot: slot, cols: 128}}
  - {{at: cta, do: barrier}}
  - {{at: {at}, do: copy, dst: P, src: A}}
  - {{at: {at}, do: copy_async, dst: acc, src: P}}
  - {{at: {at}, do: tcgen05.wait.st}}
  - {{at: {at}, do: copy_async, dst: Q, src: acc}}
  - {{at: {at}, do: tcgen05.wait.ld}}
  - {{at: {at}, do: copy, dst: B, src: Q}}
  - {{at: cta, do: barrier}}
  - {{at: warp {allocator}, do: tcgen05.dealloc, slot: slot, cols: 128}}
expect:
  equal: [{{actual: B, expected: A}}]
  findings: []
)",
                       fmt::arg("warps", 4 * warpgroups), fmt::arg("dtype", dtype), fmt::arg("rows", rows),
                       fmt::arg("cols", cols), fmt::arg("seed", below(1000000)), fmt::arg("layout_a", memory(rows, cols)),
                       fmt::arg("layout_b", memory(rows, cols)), fmt::arg("column", column), fmt::arg("tmem", tmem),
                       fmt::arg("fragment_p", fragment(rows, cols, width, scattered)),
                       fmt::arg("fragment_q", fragment(rows, cols, width, scattered)),
                       fmt::arg("allocator", below(4 * warpgroups)), fmt::arg("at", at));
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::string one_of(std::vector<std::string> choices) {
    return choices[static_cast<std::size_t>(below(static_cast<int>(choices.size())))];
  }

  std::string memory(int rows, int cols) {
    switch (below(3)) {
      case 0:
        return fmt::format("S[({},{}):(1,{})]", rows, cols, rows + 8 * below(2));  // columns run first
      case 1:
        return fmt::format("S[({},{}):({},1)]", rows, cols, cols + 16 * below(2));  // rows, maybe padded
      default:
        return fmt::format("S[({},{},{}):({},{},1)]", rows, cols / 4, 4, 4, 4 * rows);  // blocks of four columns
    }
  }

  std::string fragment(int rows, int cols, int width, bool scattered) {
    const std::string plain = fmt::format("S[({},{}):(1@tid_in_wg,1)]", rows, cols);
    if (width == 8) return plain;
    const int kind = scattered ? 1 + below(3) : below(4);
    const std::string shape =
        std::vector<std::string>{"32x32b", "16x64b", "16x128b", "16x256b"}[static_cast<std::size_t>(kind)];
    return fmt::format("tcgen05_atom_layout('{}', ({}, {}), {})", shape, rows, cols, width == 16 ? "f16" : "f32");
  }

  std::mt19937 random_;
};

}  // namespace

std::vector<Sample> generated_copies(unsigned seed, int count) {
  Generator generator(seed);
  std::vector<Sample> copies;
  for (int tries = 0; static_cast<int>(copies.size()) < count; ++tries) {
    if (tries > 20 * count) throw std::runtime_error("lowering refuses nearly every generated copy");
    const std::string text = generator.scenario();
    const Scenario scenario = load_scenario_text(text, "generated.yaml", ".").front();
    try {
      Kernel kernel = lower::lower(scenario.kernel);
      verify(kernel, Level::machine);
      copies.push_back({text, std::move(kernel)});
    } catch (const lower::Refused&) { continue; }
  }
  return copies;
}

}  // namespace tmemsim::tests
