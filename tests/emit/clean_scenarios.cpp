// Every scenario that must run clean is emitted. All of them are assembled for sm_100a, and run on the host with emulated
// tensor memory: a second implementation of ld, st and the allocator, whose results must be the simulator's, bit for bit.
#include "emit/emit.hpp"
#include "tests/catch.hpp"
#include "tests/emit/corpus.hpp"
#include "tests/emit/host_run.hpp"
#include "tests/emit/nvcc.hpp"

using namespace tmemsim;

namespace {

std::vector<Kernel> kernels_of(const std::vector<tests::CorpusKernel>& corpus) {
  std::vector<Kernel> kernels;
  for (const tests::CorpusKernel& each : corpus) kernels.push_back(each.kernel);
  return kernels;
}

}  // namespace

TEST_CASE("all clean scenarios assemble for sm_100a") {
  const std::vector<tests::CorpusKernel> corpus = tests::clean_corpus();
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
  const std::vector<tests::CorpusKernel> corpus = tests::clean_corpus("seeds");
  CHECK(corpus.size() >= 3);
  const std::string text = emit::cuda_batch(kernels_of(corpus));
  if (!tests::have_nvcc()) return;
  const tests::Compiled compiled = tests::compile(text, "100a 103a", true);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
}

TEST_CASE("the clean scenarios give on the host, with emulated tensor memory, what the simulator gives") {
  const std::vector<tests::CorpusKernel> corpus = tests::clean_corpus();
  const tests::Compared compared = tests::run_on_host(corpus);
  CHECK(compared.elements > 1000);
  CHECK(compared.registers > 1000);
  CHECK(compared.cells > 1000);
}

TEST_CASE("the clean scenarios compile with emulated tensor memory for GPUs that have none") {
  const std::string text = emit::cuda_batch(kernels_of(tests::clean_corpus()), {true, emit::Backend::emulated});
  CHECK(text.find(".sync.aligned") == std::string::npos);  // no instruction of tensor memory
  if (!tests::have_nvcc()) return;
  const tests::Compiled compiled = tests::compile(text, "75", true);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
}
