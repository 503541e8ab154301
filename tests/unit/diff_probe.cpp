// Probes: every program is written, every answer is read as its question means it.
#include "diff/probe/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/diagnostic.hpp"
#include "ir/profile.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::diff;

namespace {

const Probe& probe(const std::string& name) { return *chosen_probes({name}).front(); }

std::string output(const std::vector<std::uint32_t>& words) {
  std::string text;
  for (const std::uint32_t word : words) text += fmt::format("{:08x}\n", word);
  return text;
}

Seen seen(const std::string& name, std::vector<std::uint32_t> words) {
  words.resize(probe(name).words, 0);
  return seen_in_output(probe(name), output(words));
}

std::string answer(const std::string& name, const std::vector<std::uint32_t>& words) { return seen(name, words).answer; }

std::vector<std::uint32_t> words(std::size_t count, const std::function<std::uint32_t(std::size_t)>& word) {
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(word(i));
  return all;
}

bool fits(const std::string& name, const std::string& answer, const std::string& profile) {
  for (const Assumption& assumption : answer_of(probe(name), {answer, ""}).assumptions) {
    if (assumption.profile == profile) return assumption.fits;
  }
  throw std::runtime_error("no profile " + profile);
}

}  // namespace

TEST_CASE("Every probe has a program, and an opinion about every value of its switch") {
  std::set<std::string_view> names;
  for (const Probe& each : probes()) {
    INFO(each.name);
    CHECK(names.insert(each.name).second);
    CHECK(each.words > 0);
    const std::string program = probe_program(each);
    for (const char* part : {"__global__ void", "probe(", "probe<<<", "int main() {", "check(cudaDeviceSynchronize(), \"kernel\");"}) CHECK_THAT(program, tests::contains(part));
    CHECK(program.find("{words}") == std::string::npos);
    CHECK(program.find("{launch}") == std::string::npos);
    CHECK(each.on_switch.empty() != each.assumed.empty());
    bool known = each.on_switch.empty();
    for (const SwitchFacts& facts : switch_table()) {
      if (facts.name != each.on_switch) continue;
      known = true;
      for (const Profile& profile : {Profile::strict(), Profile::lenient()}) {
        const auto value = profile.value(facts.which);
        CHECK(std::any_of(each.fits.begin(), each.fits.end(), [&](const Fit& fit) { return fit.assumption == value; }));
      }
    }
    CHECK(known);
    if (each.on_switch.empty()) CHECK(each.fits.front().assumption == each.assumed);
  }
  CHECK(names.size() >= 20);
}

TEST_CASE("Upper halves") {
  const auto cells = [](std::uint32_t first, std::uint32_t second) { return words(64, [=](std::size_t i) { return i < 32 ? first : second; }); };
  CHECK(answer("unpack-high-half", cells(0xaaaa1111, 0xcccc2222)) == "preserved");
  CHECK(answer("unpack-high-half", cells(0x00001111, 0x00002222)) == "zero");
  CHECK(answer("unpack-high-half", cells(0xaaaa1111, 0x00002222)) == "other");
  CHECK(answer("unpack-high-half", cells(0xaaaa1111, 0xcccc3333)) == "unexpected");
  CHECK(fits("unpack-high-half", "zero", "lenient"));
  CHECK_FALSE(fits("unpack-high-half", "preserved", "lenient"));
  CHECK(fits("unpack-high-half", "preserved", "strict"));
  auto accumulator = words(1025, [](std::size_t) { return 0xaaaa0000u; });
  CHECK(answer("f16-accumulator-high-half", accumulator) == "no completion");
  accumulator.back() = 1;
  CHECK(answer("f16-accumulator-high-half", accumulator) == "preserved");
}

TEST_CASE("Faults and hangs are answers") {
  CHECK(fits("alloc-growth", "faults", "strict"));
  CHECK_FALSE(fits("alloc-growth", "works", "strict"));
  CHECK(fits("alloc-growth", "works", "lenient"));
  CHECK(fits("alloc-after-relinquish", "hangs", "strict"));
  CHECK_FALSE(fits("alloc-after-relinquish", "works", "lenient"));
}

TEST_CASE("Lanes") {
  CHECK(answer("quadrant-bits-zero", words(32, [](std::size_t i) { return 32 + static_cast<std::uint32_t>(i); })) == "own lanes");
  CHECK(answer("quadrant-bits-zero", words(32, [](std::size_t i) { return static_cast<std::uint32_t>(i); })) == "other lanes");
  CHECK(answer("lane-low-bits", words(32, [](std::size_t i) { return static_cast<std::uint32_t>(i + 5) % 32; })) == "wraps in the quadrant");
  CHECK(answer("lane-low-bits", words(32, [](std::size_t i) { return static_cast<std::uint32_t>(i + 5); })) == "moves on");
  CHECK(answer("half-split-lanes", words(32, [](std::size_t i) { return static_cast<std::uint32_t>(i); })) == "adds to the lane");
  CHECK(answer("half-split-lanes", words(32, [](std::size_t i) { return static_cast<std::uint32_t>(i % 16); })) == "ignored");
}

TEST_CASE("The tensor core") {
  const auto bits = [](float value) {
    std::uint32_t word;
    std::memcpy(&word, &value, 4);
    return word;
  };
  auto issuers = words(129, [&](std::size_t) { return bits(512); });
  issuers[128] = 1;
  CHECK(answer("mma-by-32-threads", issuers) == "32 operations");
  const auto rows = [&](const std::function<float(std::size_t)>& source) {
    auto all = words(129, [&](std::size_t lane) { return lane < 128 ? bits(16 * (source(lane) + 1)) : 1u; });
    return answer("m64-a-in-tmem", all);
  };
  CHECK(rows([](std::size_t lane) { return static_cast<float>(lane); }) == "scattered");
  CHECK(rows([](std::size_t lane) { return static_cast<float>(lane / 32 * 16 + lane % 32); }) == "contiguous");
  auto shifted = words(257, [&](std::size_t i) { return i < 128 ? bits(16 * (static_cast<float>(i % 32 == 31 ? i : i + 1) + 1)) : i == 256 ? 1u : 0u; });
  CHECK(answer("ashift-timing", shifted) == "after the shift, A moves");
}

TEST_CASE("Output that is none is not read") {
  CHECK(seen_in_output(probe("dealloc-zero"), "00000000\n").answer == "works");
  for (const char* text : {"", "0000000g\n", "00000000", "00000000\n00000000\n", "\n", "CUDA error\n"}) {
    INFO(text);
    CHECK(seen_in_output(probe("dealloc-zero"), text).answer == "not readable");
  }
}

TEST_CASE("The file to commit") {
  Machine machine;
  machine.gpu = Gpu{"NVIDIA B200", 10, 0, "580.1", 13000};
  machine.nvcc = Compiler{"nvcc", "13.0.88", 13, 0};
  const auto report = nlohmann::json::parse(probe_report(machine, {100, 'a'}, {answer_of(probe("alloc-blocks"), {"blocks", "x"})}));
  CHECK(report["device"] == "NVIDIA B200");
  CHECK(report["arch"] == "sm_100a");
  CHECK(report["answers"][0]["seen"] == "blocks");
  CHECK(report["answers"][0]["assumptions"].size() == 2);
}

TEST_CASE("Probes need tensor memory") {
  Machine machine;
  machine.no_gpu = "no driver";
  CHECK_THROWS_AS(check_probes_run(machine), Unsupported);
  machine.gpu = Gpu{"NVIDIA H200", 9, 0, "580.1", 13000};
  try {
    check_probes_run(machine);
    FAIL("runs");
  } catch (const Unsupported& unsupported) { CHECK_THAT(unsupported.reason(), tests::contains("has no tensor memory")); }
  CHECK_THROWS_AS(chosen_probes({"unpack-high-haf"}), InputError);
}
