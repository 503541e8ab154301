// Emitted programs run, and leave what the simulator leaves, bit for bit: on the host, with emulated tensor memory (a second
// implementation of ld, st and the allocator), and on the GPU of this machine if it has one. An emulated run says nothing about
// the hardware's tensor memory.
#include "tests/catch.hpp"
#include "tests/emit/run_and_compare.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;

namespace {

bool runs(emit::Backend backend, const char* what) {
  if (tests::can_run(backend)) return true;
  WARN("not run: no " << what);
  return false;
}

void show(const char* what, std::size_t kernels, const tests::Compared& compared) {
  WARN(what << ": " << kernels << " kernels agree in " << compared.elements << " elements, " << compared.registers
            << " registers, " << compared.cells << " cells");
}

std::vector<tests::Sample> without_tensor_memory() {
  std::vector<tests::Sample> samples;
  for (tests::Sample& sample : tests::sample_programs()) {
    if (sample.name != "tensor_memory") samples.push_back(std::move(sample));
  }
  for (tests::Sample& sample : tests::async_programs()) {
    if (emit::least_arch(sample.kernel, {}).capability <= 90) samples.push_back(std::move(sample));
  }
  for (tests::Sample& sample : tests::clean_scenarios("seeds")) {
    if (sample.kernel.name == "smem_roundtrip_f32") samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

TEST_CASE("on the host: clean scenarios") {
  if (!runs(emit::Backend::host, "host compiler c++")) return;
  const tests::Compared compared = tests::run_and_compare(tests::clean_scenarios(), emit::Backend::host);
  CHECK(compared.elements > 1000);
  CHECK(compared.registers > 1000);
  CHECK(compared.cells > 1000);
}

TEST_CASE("on the host: programs of every kind") {
  if (!runs(emit::Backend::host, "host compiler c++")) return;
  const tests::Compared compared = tests::run_and_compare(tests::sample_programs(), emit::Backend::host);
  CHECK(compared.elements > 4000);
  CHECK(compared.registers > 10000);
  CHECK(compared.cells > 2 * 128 * 16);
}

TEST_CASE("on the host: barrier objects, clusters, bulk copies") {
  if (!runs(emit::Backend::host, "host compiler c++")) return;
  const tests::Compared compared = tests::run_and_compare(tests::async_programs(), emit::Backend::host);
  CHECK(compared.elements == 2 * 4 * 128 + 2 * 64 * 2 + 2 * 4 * 64 + 8 * 4 * 64 + 8 * 64 + 16 * 32 + 3 * 128 * 4 + 2 * 32);
  CHECK(compared.registers > 5000);
  CHECK(compared.cells == 128 * 4);
}

TEST_CASE("on the host: generated copies come back as they went in") {
  if (!runs(emit::Backend::host, "host compiler c++")) return;
  const std::vector<tests::Sample> copies = tests::generated_copies(2024, tests::scaled(40));
  const tests::Compared compared = tests::run_and_compare(copies, emit::Backend::host, tests::Check::simulator_and_round_trip);
  CHECK(compared.elements >= 2 * 64 * 8 * copies.size());
  CHECK(compared.cells >= 64 * 2 * copies.size());
}

TEST_CASE("on this GPU: programs without tensor memory") {
  if (!runs(emit::Backend::native, "nvcc 12.8 and GPU")) return;
  const std::vector<tests::Sample> samples = without_tensor_memory();
  CHECK(samples.size() == 10);
  show("native", samples.size(), tests::run_and_compare(samples, emit::Backend::native));
}

TEST_CASE("on this GPU, tensor memory emulated: clean scenarios, programs of every kind, generated copies") {
  if (!runs(emit::Backend::emulated, "nvcc 12.8 and GPU")) return;
  const auto compare = [](const char* what, const std::vector<tests::Sample>& samples, tests::Check check) {
    show(what, samples.size(), tests::run_and_compare(samples, emit::Backend::emulated, check));
  };
  compare("emulated, clean scenarios", tests::clean_scenarios(), tests::Check::simulator);
  compare("emulated, programs", tests::sample_programs(), tests::Check::simulator);
  compare("emulated, barrier objects, clusters, bulk copies", tests::async_programs(), tests::Check::simulator);
  for (unsigned batch = 0; batch < static_cast<unsigned>(tests::scaled(4)); ++batch) {
    compare("emulated, generated copies", tests::generated_copies(77 + batch, 50), tests::Check::simulator_and_round_trip);
  }
}
