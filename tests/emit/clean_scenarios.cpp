// Every scenario that must run clean is emitted, and assembled for sm_100a.
#include <algorithm>

#include "emit/emit.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"
#include "tests/emit/samples.hpp"

using namespace tmemsim;

namespace {

std::vector<Kernel> kernels_of(const std::vector<tests::Sample>& corpus) {
  std::vector<Kernel> kernels;
  for (const tests::Sample& each : corpus) kernels.push_back(each.kernel);
  return kernels;
}

}  // namespace

TEST_CASE("all clean scenarios assemble for sm_100a, apart from those that use the tensor core") {
  std::vector<std::string> refused;
  const std::vector<tests::Sample> corpus = tests::emitted(tests::clean_scenarios(), {}, &refused);
  CHECK(corpus.size() >= 30);
  for (const std::string& reason : refused) {
    CAPTURE(reason);
    const bool tensor_core = reason.find("tcgen05.mma") != std::string::npos || reason.find("tcgen05.cp") != std::string::npos ||
                             reason.find("tcgen05.shift") != std::string::npos;
    CHECK(tensor_core);
  }
  const std::string text = emit::device_code(kernels_of(corpus));
  if (!tests::have_nvcc()) {
    WARN("no nvcc 12.8 or later: not assembled");
    return;
  }
  const tests::Compiled compiled = tests::compile(text);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
  CHECK(compiled.stack_bytes == 0);
}

TEST_CASE("the seed scenarios assemble with their host programs, for sm_100a and sm_103a") {
  const std::vector<tests::Sample> corpus = tests::clean_scenarios("seeds");
  CHECK(corpus.size() >= 3);
  const std::string text = emit::cuda_batch(kernels_of(corpus));
  if (!tests::have_nvcc()) return;
  const tests::Compiled compiled = tests::compile(text, "100a 103a", true);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
}

TEST_CASE("the clean scenarios compile with emulated tensor memory for GPUs that have none") {
  const emit::Options anywhere{true, emit::Backend::emulated, emit::Arch{75, 0}}, hopper{true, emit::Backend::emulated, emit::Arch{90, 'a'}};
  const std::vector<tests::Sample> corpus = tests::clean_scenarios();
  const std::vector<tests::Sample> old = tests::emitted(corpus, anywhere);
  std::vector<tests::Sample> newer = tests::emitted(corpus, hopper);
  CHECK(old.size() >= 30);
  CHECK(newer.size() >= old.size());
  std::erase_if(newer, [&](const tests::Sample& sample) {
    return std::any_of(old.begin(), old.end(), [&](const tests::Sample& other) { return other.name == sample.name; });
  });
  const auto compiles = [](const std::vector<tests::Sample>& samples, const emit::Options& options, std::string_view architecture) {
    if (samples.empty()) return;
    const std::string text = emit::cuda_batch(kernels_of(samples), options);
    CHECK(text.find("tcgen05.ld.sync.aligned") == std::string::npos);  // no instruction of tensor memory
    if (!tests::have_nvcc()) return;
    const tests::Compiled compiled = tests::compile(text, architecture, true);
    INFO(compiled.log);
    REQUIRE(compiled.ok);
  };
  compiles(old, anywhere, "75");
  compiles(newer, hopper, "90a");
}
