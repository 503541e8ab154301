// Copies between generated layouts are exact, in both directions, or refused with a reason; what was lowered can be emitted.
// Exact is judged twice: on symbols, by the machine of tests/symbolic_copy.hpp, and by the simulator on coded inputs.
#include "emit/emit.hpp"
#include "lower/lower.hpp"
#include "tests/catch.hpp"
#include "tests/property/lower_random.hpp"
#include "tests/property/provenance.hpp"
#include "tests/scale.hpp"
#include "tests/symbolic_copy.hpp"

using namespace tmemsim;

namespace {

#ifdef NDEBUG
constexpr int lowered_copies = 20000;
#else
constexpr int lowered_copies = 1000;
#endif

struct Tally {
  int lowered = 0, refused = 0, invalid = 0;
};

void judge(const tests::CopyCase& one, bool into_registers, Tally& tally) {
  Kernel kernel = tests::kernel_of(one, into_registers);
  try {
    verify(kernel, Level::tile);
  } catch (const InputError&) {
    ++tally.invalid;   // damaged beyond what a buffer may be
    return;
  }
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.space == Space::tmem && buffer.column + tmem_columns(buffer) > tcgen05::columns) {
      ++tally.invalid;  // a plan past column 511 is alloc-capacity, decided before anything is lowered
      return;
    }
  }
  CAPTURE(print(kernel));
  try {
    Kernel lowered = lower::lower(kernel);
    CAPTURE(print(lowered));
    const tests::SymbolicResult result = tests::run_symbolically(lowered, {{}, 0});
    REQUIRE(result.problem == "");
    verify(lowered, Level::machine);
    REQUIRE_FALSE(emit::cuda(lowered).empty());
    tests::Provenance provenance(one, into_registers);
    REQUIRE(provenance.problem(static_cast<std::uint64_t>(tally.lowered)) == "");
    ++tally.lowered;
  } catch (const lower::Refused& refused) {
    REQUIRE_FALSE(refused.refusals().empty());
    ++tally.refused;
  }
}

template <class Make> Tally run(std::uint64_t seed, Make make) {
  Tally tally;
  tests::Random random(seed);
  for (int k = 0; tally.lowered < tests::scaled(lowered_copies / 2); ++k) {
    const tests::CopyCase one = make(random);
    INFO("case " << k);
    judge(one, k % 2 == 0, tally);
    REQUIRE(k < 10 * lowered_copies);
  }
  return tally;
}

}  // namespace

TEST_CASE("generated copies between registers and tensor memory", "[lower]") {
  const Tally tally = run(1, tests::random_tensor_copy);
  CHECK(tally.refused < tally.lowered);
}

TEST_CASE("generated copies between registers and shared or global memory", "[lower]") {
  const Tally tally = run(2, tests::random_memory_copy);
  CHECK(tally.refused < tally.lowered / 2);
}
