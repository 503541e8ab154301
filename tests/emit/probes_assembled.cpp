// The programs of `tmemsim probe` are right CUDA for GPUs with tensor memory: assembled, here they cannot run.
#include "diff/probe/probe.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"

using namespace tmemsim;

TEST_CASE("All probes assemble for the GPUs that they ask") {
  if (!tests::have_nvcc()) {
    WARN("no nvcc 12.8 or later: not assembled");
    return;
  }
  for (const diff::Probe& probe : diff::probes()) {
    INFO(probe.name);
    const bool only_103 = probe.only_arch.find("sm_103a") != std::string_view::npos;
    const tests::Compiled compiled = tests::compile(diff::probe_program(probe), only_103 ? "103a" : "100a");
    INFO(compiled.log);
    CHECK(compiled.ok);
  }
}
