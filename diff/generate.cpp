#include "diff/generate.hpp"

#include <fmt/format.h>

#include <random>
#include <vector>

namespace tmemsim::diff {
namespace {

class Generator {
 public:
  Generator(std::uint64_t seed, std::uint64_t number) : random_(seeds(seed, number)) {}

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
    // One draw a statement: the order in which arguments are evaluated is the compiler's choice.
    const int fill = below(1000000), allocator = below(4 * warpgroups);
    const std::string layout_a = memory(rows, cols), layout_b = memory(rows, cols);
    const std::string fragment_p = fragment(rows, cols, width, scattered), fragment_q = fragment(rows, cols, width, scattered);
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
                       fmt::arg("cols", cols), fmt::arg("seed", fill), fmt::arg("layout_a", layout_a),
                       fmt::arg("layout_b", layout_b), fmt::arg("column", column), fmt::arg("tmem", tmem),
                       fmt::arg("fragment_p", fragment_p),
                       fmt::arg("fragment_q", fragment_q),
                       fmt::arg("allocator", allocator), fmt::arg("at", at));
  }

 private:
  static std::mt19937 seeds(std::uint64_t seed, std::uint64_t number) {
    std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(number),
                        static_cast<std::uint32_t>(number >> 32)};
    return std::mt19937(words);
  }
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

std::string generated_copy(std::uint64_t seed, std::uint64_t number) { return Generator(seed, number).scenario(); }

}  // namespace tmemsim::diff
