// Emitted programs run, and leave what the simulator leaves, bit for bit: on the host, with emulated tensor memory (a second
// implementation of ld, st and the allocator), and on the GPU of this machine if it has one. An emulated run says nothing about
// the hardware's tensor memory.
#include <memory>

#include "sim/sim.hpp"
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

std::vector<tests::Sample> clean_scenarios(emit::Backend backend) {
  std::vector<tests::Sample> samples = tests::emitted(tests::clean_scenarios(), {false, backend});
  // What the schedule decides, such as how often a thread has asked a barrier, may differ.
  std::erase_if(samples, [](const tests::Sample& sample) {
    return !sim::run(decode(std::make_shared<const Kernel>(sample.kernel)), {}).all_schedules;
  });
  return samples;
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
  const tests::Compared compared = tests::run_and_compare(clean_scenarios(emit::Backend::host), emit::Backend::host);
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

TEST_CASE("the programs with barrier objects run clean in the simulator") {
  for (const tests::Sample& sample : tests::async_programs()) {
    const Program program = decode(std::make_shared<const Kernel>(sample.kernel));
    for (const sim::Policy policy : {sim::Policy::early, sim::Policy::late}) {
      sim::Options options;
      options.policy = policy;
      CAPTURE(sample.name);
      CHECK(sim::run(program, options).findings.empty());
    }
  }
}

TEST_CASE("on the host: barrier objects, clusters, bulk copies") {
  if (!runs(emit::Backend::host, "host compiler c++")) return;
  const tests::Compared compared = tests::run_and_compare(tests::async_programs(), emit::Backend::host);
  CHECK(compared.elements == 2 * 4 * 128 + 2 * 64 * 2 + 2 * 4 * 64 + 8 * 4 * 64 + 8 * 64 + 16 * 32 + 3 * 128 * 4 + 2 * 32 +
                                 4 * 128 * 2);
  CHECK(compared.registers == 2 * 256 + 2 * 64 * 2 + 8 * 64 * 4 + 16 * 32 * 2 + 2 * 128 * 4 + 2 * 32 + 4 * 128 * 4);
  CHECK(compared.cells == 128 * 4 + 4 * 128 * 2);
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

TEST_CASE("on this GPU, tensor memory emulated: clean scenarios") {
  if (!runs(emit::Backend::emulated, "nvcc 12.8 and GPU")) return;
  const std::vector<tests::Sample> samples = clean_scenarios(emit::Backend::emulated);
  show("emulated, clean scenarios", samples.size(), tests::run_and_compare(samples, emit::Backend::emulated));
}

TEST_CASE("on this GPU, tensor memory emulated: programs of every kind") {
  if (!runs(emit::Backend::emulated, "nvcc 12.8 and GPU")) return;
  for (const auto& [what, samples] : {std::pair("emulated, programs", tests::sample_programs()),
                                      std::pair("emulated, barrier objects, clusters, bulk copies", tests::async_programs())}) {
    show(what, samples.size(), tests::run_and_compare(samples, emit::Backend::emulated));
  }
}

TEST_CASE("on this GPU, tensor memory emulated: generated copies") {
  if (!runs(emit::Backend::emulated, "nvcc 12.8 and GPU")) return;
  for (unsigned batch = 0; batch < static_cast<unsigned>(tests::scaled(4)); ++batch) {
    const std::vector<tests::Sample> samples = tests::generated_copies(77 + batch, 50);
    show("emulated, generated copies", samples.size(),
         tests::run_and_compare(samples, emit::Backend::emulated, tests::Check::simulator_and_round_trip));
  }
}
