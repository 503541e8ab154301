// 64 generated copies, lowered and emitted, assembled in four modules.
#include "emit/emit.hpp"
#include "lower/lower.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"
#include "tests/property/lower_random.hpp"

using namespace tmemsim;

namespace {

// The next generated copy that is valid and not refused, at Level::machine.
Kernel next_lowered(tests::Random& random, bool tensor) {
  for (int tries = 0; tries < 1000; ++tries) {
    const tests::CopyCase one = tensor ? tests::random_tensor_copy(random) : tests::random_memory_copy(random);
    Kernel kernel = tests::kernel_of(one, tries % 2 == 0);
    try {
      verify(kernel, Level::tile);
      Kernel lowered = lower::lower(kernel);
      verify(lowered, Level::machine);
      return lowered;
    } catch (const InputError&) { continue; } catch (const lower::Refused&) {
      continue;
    }
  }
  throw std::logic_error("the generator makes nothing that can be lowered");
}

}  // namespace

TEST_CASE("generated copies are assembled", "[lower]") {
  if (!tests::have_nvcc()) {
    WARN("nvcc 12.8 or later is missing: nothing is assembled");
    return;
  }
  tests::Random random(11);
  for (int module = 0; module < 4; ++module) {
    std::vector<Kernel> kernels;
    for (int k = 0; k < 16; ++k) kernels.push_back(next_lowered(random, k % 4 != 0));
    const tests::Compiled compiled = tests::compile(emit::device_code(kernels));
    INFO(compiled.log);
    CHECK(compiled.ok);
  }
}
