// Every scenario that must run clean is emitted, and assembled for sm_100a.
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

TEST_CASE("all clean scenarios assemble for sm_100a") {
  const std::vector<tests::Sample> corpus = tests::clean_scenarios();
  CHECK(corpus.size() >= 30);
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
  const std::string text = emit::cuda_batch(kernels_of(tests::clean_scenarios()), {true, emit::Backend::emulated});
  CHECK(text.find(".sync.aligned") == std::string::npos);  // no instruction of tensor memory
  if (!tests::have_nvcc()) return;
  const tests::Compiled compiled = tests::compile(text, "75", true);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
}
