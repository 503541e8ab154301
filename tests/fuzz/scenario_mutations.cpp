// Damaged scenarios: whatever is cut, doubled, flipped or moved in a good one, loading ends in a scenario or in an InputError.
#include <algorithm>
#include <filesystem>
#include <random>

#include "ir/scenario/scenario.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/scale.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

class Damage {
 public:
  explicit Damage(std::uint32_t seed) : random_(seed) {}

  std::string apply(std::string text, const std::string& other) {
    const int times = 1 + below(3);
    for (int i = 0; i < times; ++i) text = once(std::move(text), other);
    return text;
  }

 private:
  int below(std::size_t bound) { return bound == 0 ? 0 : static_cast<int>(random_() % bound); }

  std::string once(std::string text, const std::string& other) {
    const auto at = static_cast<std::size_t>(below(text.size() + 1));
    const auto length = std::min(text.size() - at, static_cast<std::size_t>(1 + below(24)));
    switch (below(9)) {
      case 0:
        return text.erase(at, length);
      case 1:
        return text.insert(at, text.substr(at, length));
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return text;
      case 3:
        return text.substr(0, at);
      case 4:
        return text.insert(at, 1, signs[static_cast<std::size_t>(below(signs.size()))]);
      case 5:
        return text.insert(at, words[static_cast<std::size_t>(below(std::size(words)))]);
      case 6:
        return line(std::move(text), at, false);
      case 7:
        return line(std::move(text), at, true);
      default:
        return text.insert(at, other.substr(static_cast<std::size_t>(below(other.size())), length));
    }
  }

  // Removes or repeats the line around `at`.
  static std::string line(std::string text, std::size_t at, bool repeat) {
    const std::size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string whole = text.substr(begin, end - begin) + "\n";
    return repeat ? text.insert(begin, whole) : text.erase(begin, std::min(text.size() - begin, whole.size()));
  }

  static constexpr std::string_view signs = "[]{}:,-#&*!|>'\"%@`?\n\t \\0123456789.x~^()<";
  static constexpr const char* words[] = {"[[[[[[[[",
                                          "{a: {a: ",
                                          "99999999999999999999",
                                          "-1",
                                          "0x",
                                          "1e999",
                                          "nan",
                                          "&a ",
                                          "*a",
                                          "<<: ",
                                          "null",
                                          "true",
                                          "word(slot, 0)",
                                          "lane",
                                          "[0:0]",
                                          "[-1]",
                                          "[1, 2, 3]",
                                          "2147483647",
                                          "n",
                                          "R.r[",
                                          "S[(",
                                          "!!binary ",
                                          "? ",
                                          "---\n",
                                          "|\n  "};
  std::mt19937 random_;
};

std::vector<std::string> good_scenarios() {
  std::vector<std::string> texts{new_scenario("fuzzed")};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(source_dir) + "/scenarios"))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) texts.push_back(read_file(file));
  texts.push_back(
      "tmemsim: 1\nscenario: everything\nparams: {n: [4, 8], t: [f32, u32]}\nlaunch: {warps: 4, cluster: [2, 1, 1], grid: [4], "
      "held_columns: 32}\nbuffers:\n"
      "  A: {space: global, dtype: t, shape: [2, 2], init: {data: [[1, 2], [3, 4]]}}\n"
      "  W: {space: shared, dtype: u32, shape: [n], init: {random: {seed: 1, low: 0, high: 9}}}\n"
      "  acc: {space: tmem, dtype: f32, shape: [128, n], base: W, col: 4, layout: \"S[(128,n):(1@TLane,1@TCol)]\"}\n"
      "  R: {space: local, dtype: u32, shape: [n]}\n"
      "program:\n"
      "  - {for: i, in: [0, n, 2], body: [{if: \"lane + i < 8\", then: [{do: mov, dst: \"R.r[0,2]\", a: \"i * 3 << 1\"}], "
      "else: [{delay: 2}]}]}\n"
      "  - {while: \"word(W, 0) == 0\", body: [{do: ld, dst: \"R.r[0]\", src: {buffer: W, byte: 4*(tid%n)}, bytes: 4, sem: "
      "acquire}]}\n"
      "  - {at: cta 1 warp 0, do: tcgen05.ld, shape: 16x64b, num: 2, dst: \"R.r[0:2]\", src: {base: \"word(W, 0)\", lane: 16, "
      "col: 1}, label: x}\n"
      "  - {at: warps 0..1 lanes 3..5, do: setp.lt.u32, dst: \"R.r[0]\", a: 1, b: \"R.r[1]\"}\n"
      "expect:\n  findings: [{verdict: lane-window, at: x, count: 2}]\n  lenient: {findings: []}\n"
      "  equal: [{actual: \"A[0, 0:2]\", expected: {data: [1, 2]}, ulp: 1}]\n  cells: [{tmem: [3, 4], bits: 0x10}]\n  regs: "
      "[{buffer: R, thread: 3, reg: 1, bits: 7}]\n");
  return texts;
}

}  // namespace

TEST_CASE("Damaged scenarios are loaded or refused, and nothing else") {
  const auto good = good_scenarios();
  int loaded = 0, refused = 0;
  const int count = scaled(4000);
  for (int i = 0; i < count; ++i) {
    Damage damage(static_cast<std::uint32_t>(i));
    const std::string& base = good[static_cast<std::size_t>(i) % good.size()];
    const std::string text = damage.apply(base, good[static_cast<std::size_t>(i / 7) % good.size()]);
    try {
      load_scenario_text(text, "x.yaml", ".");
      ++loaded;
    } catch (const InputError& error) {
      ++refused;
      if (error.diagnostic().file != "x.yaml" || error.diagnostic().line == 0)
        FAIL("seed " << i << ": no place: " << error.what());
    } catch (const std::exception& error) { FAIL("seed " << i << ": " << error.what() << "\n" << text); }
  }
  CHECK(loaded + refused == count);
  CHECK(refused > count / 4);
  CHECK(loaded > 0);
}

TEST_CASE("Every prefix of a scenario is loaded or refused") {
  const std::string text = new_scenario("cut");
  for (std::size_t length = 0; length <= text.size(); ++length) {
    try {
      load_scenario_text(std::string_view(text).substr(0, length), "x.yaml", ".");
    } catch (const InputError& error) {
      if (error.diagnostic().line == 0) FAIL("length " << length << ": no place: " << error.what());
    }
  }
}
