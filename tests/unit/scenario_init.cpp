#include <cmath>
#include <filesystem>

#include "ir/dtype.hpp"
#include "ir/npy.hpp"
#include "ir/scenario/scenario.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

Kernel kernel_with(const std::string& dtype, const std::string& shape, const std::string& init,
                   const std::string& folder = ".") {
  const std::string text = "tmemsim: 1\nscenario: init\nbuffers:\n  X: {space: global, dtype: " + dtype + ", shape: " + shape +
                           ", init: " + init + "}\nprogram: []\n";
  return std::move(load_scenario_text(text, "x.yaml", folder).at(0).kernel);
}

std::vector<std::uint64_t> bits_of(const std::string& dtype, const std::string& shape, const std::string& init,
                                   const std::string& folder = ".") {
  const Kernel kernel = kernel_with(dtype, shape, init, folder);
  return initial_bits(kernel, kernel.buffers[0]);
}

std::string refusal(const std::string& dtype, const std::string& shape, const std::string& init,
                    const std::string& folder = ".") {
  try {
    kernel_with(dtype, shape, init, folder);
  } catch (const InputError& error) { return error.what(); }
  return "(it was loaded)";
}

using Words = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("fill, iota and data") {
  CHECK(bits_of("f16", "[2, 2]", "{fill: 1}") == Words(4, 0x3c00));
  CHECK(bits_of("u8", "[3]", "{fill: 0xff}") == Words(3, 0xff));
  CHECK(bits_of("s8", "[3]", "{iota: {start: -1}}") == Words{0xff, 0, 1});
  CHECK(bits_of("f32", "[3]", "{iota: {start: 1, step: -0.5}}") == Words{0x3f800000, 0x3f000000, 0});
  CHECK(bits_of("u64", "[2]", "{iota: {start: 9223372036854775806}}") == Words{0x7ffffffffffffffe, 0x7fffffffffffffff});
  CHECK(bits_of("f32", "[2, 2]", "{data: [[1, 2], [3, 4]]}") == Words{0x3f800000, 0x40000000, 0x40400000, 0x40800000});
  CHECK(bits_of("f32", "[2, 2]", "{data: [1, 2, 3, 4]}") == bits_of("f32", "[2, 2]", "{data: [[1, 2], [3, 4]]}"));
  CHECK(bits_of("e2m1", "[3]", "{data: [0.5, -6, 3]}") == Words{1, 0xf, 5});
  CHECK(bits_of("f16", "[2]", "{data: [inf, -inf]}") == Words{0x7c00, 0xfc00});
  CHECK(bits_of("f16", "[1]", "{fill: 2049}") == Words{0x6800});  // rounds to even, 2048
}

// splitmix64 with seed 0: the first outputs of the published generator.
TEST_CASE("random is the documented generator") {
  CHECK(bits_of("u64", "[3]", "{random: {seed: 0, bits: true}}") ==
        Words{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f});
  CHECK(bits_of("u8", "[3]", "{random: {seed: 0, bits: true}}") == Words{0xaf, 0xf4, 0x4f});
  // The upper 53 bits as a fraction: 0xe220a8397b1dcdaf / 2^64 = 0.8833...
  const auto unit = bits_of("f64", "[1]", "{random: {seed: 0, low: 0, high: 1}}");
  CHECK(decode(Dtype::f64, unit[0]) == static_cast<double>(0xe220a8397b1dcdafu >> 11) / 9007199254740992.0);
}

TEST_CASE("random stays in its range and reaches its ends") {
  bool lowest = false, highest = false;
  for (std::uint64_t word : bits_of("s8", "[1000]", "{random: {seed: 3, low: -2, high: 2}}")) {
    const std::int64_t value = decode_int(Dtype::s8, word);
    CHECK((value >= -2 && value <= 2));
    lowest |= value == -2;
    highest |= value == 2;
  }
  CHECK(lowest);
  CHECK(highest);
  double sum = 0;
  const auto words = bits_of("f16", "[4000]", "{random: {seed: 4, low: -1, high: 3}}");
  for (std::uint64_t word : words) {
    const double value = decode(Dtype::f16, word);
    CHECK((value >= -1 && value <= 3));
    sum += value;
  }
  CHECK(std::abs(sum / 4000 - 1) < 0.1);  // standard deviation of the mean: 4 / sqrt(12 * 4000) = 0.018
  CHECK(bits_of("f16", "[8]", "{random: {seed: 5}}") != bits_of("f16", "[8]", "{random: {seed: 6}}"));
  CHECK(bits_of("f16", "[8]", "{random: {seed: 5}}") == bits_of("f16", "[8]", "{random: {seed: 5}}"));
}

TEST_CASE("Arrays come from the scenario's folder and nowhere else") {
  TemporaryFolder folder, elsewhere;
  const std::int64_t shape[] = {2, 2};
  const std::uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400};
  const std::string bytes = npy_bytes(Dtype::f16, shape, std::as_bytes(std::span(halves)));
  folder.write("x.npy", bytes);
  elsewhere.write("x.npy", bytes);
  const std::string here = folder.path().string();
  CHECK(bits_of("f16", "[2, 2]", "{npy: x.npy}", here) == Words{0x3c00, 0x4000, 0x4200, 0x4400});
  CHECK(bits_of("f16", "[2, 2]", "{npy: ./x.npy}", here) == Words{0x3c00, 0x4000, 0x4200, 0x4400});
  CHECK_THAT(refusal("f16", "[4]", "{npy: x.npy}", here), contains("x.npy has the shape [2, 2], but buffer X has [4]"));
  CHECK_THAT(refusal("f32", "[2, 2]", "{npy: x.npy}", here), contains("x.npy holds f16, but buffer X needs f32"));
  CHECK_THAT(refusal("bf16", "[2, 2]", "{npy: x.npy}", here), contains("needs u16 (a .npy file holds bf16 as u16)"));
  CHECK_THAT(refusal("f16", "[2, 2]", "{npy: y.npy}", here), contains("y.npy"));
  CHECK_THAT(refusal("f16", "[2, 2]", "{npy: " + (elsewhere / "x.npy").string() + "}", here), contains("an absolute path"));

  std::filesystem::create_symlink(elsewhere / "x.npy", folder / "out.npy");
  CHECK_THAT(refusal("f16", "[2, 2]", "{npy: out.npy}", here), contains("a link that leads out of the scenario's folder"));
  std::filesystem::create_symlink(elsewhere.path(), folder / "sub");
  CHECK_THAT(refusal("f16", "[2, 2]", "{npy: sub/x.npy}", here), contains("a link that leads out of the scenario's folder"));
  std::filesystem::create_symlink(folder / "x.npy", folder / "same.npy");
  CHECK_NOTHROW(bits_of("f16", "[2, 2]", "{npy: same.npy}", here));

  const std::uint8_t raw[] = {0x01, 0xff, 0x0f, 0x02};
  folder.write("e2m1.npy", npy_bytes(Dtype::u8, shape, std::as_bytes(std::span(raw))));
  CHECK(bits_of("e2m1", "[2, 2]", "{npy: e2m1.npy}", here) == Words{1, 0xf, 0xf, 2});
}

TEST_CASE("A buffer without init has no initial bits") {
  const auto scenarios = load_scenario_text(
      "tmemsim: 1\nscenario: a\nbuffers: {X: {space: global, dtype: f32, shape: [4]}}\nprogram: []\n", "x.yaml", ".");
  CHECK(initial_bits(scenarios[0].kernel, scenarios[0].kernel.buffers[0]).empty());
}

TEST_CASE("An array that changed since it was checked is refused at its buffer") {
  TemporaryFolder folder;
  const std::int64_t shape[] = {1};
  const std::uint32_t one[] = {1};
  folder.write("x.npy", npy_bytes(Dtype::u32, shape, std::as_bytes(std::span(one))));
  const Kernel kernel = kernel_with("u32", "[1]", "{npy: x.npy}", folder.path().string());
  std::filesystem::remove(folder / "x.npy");
  try {
    initial_bits(kernel, kernel.buffers[0]);
    FAIL("read a file that is gone");
  } catch (const InputError& error) {
    CHECK(error.diagnostic().line == 4);
    CHECK(error.diagnostic().file == "x.yaml");
  }
}
