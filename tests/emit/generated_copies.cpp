// Round trips through tensor memory, made at random from scenario text.
#include <stdexcept>

#include "diff/generate.hpp"
#include "lower/lower.hpp"
#include "tests/emit/samples.hpp"

namespace tmemsim::tests {

std::vector<Sample> generated_copies(unsigned seed, int count) {
  std::vector<Sample> copies;
  for (int tries = 0; static_cast<int>(copies.size()) < count; ++tries) {
    if (tries > 20 * count) throw std::runtime_error("lowering refuses nearly every generated copy");
    const std::string text = diff::generated_copy(seed, static_cast<std::uint64_t>(tries));
    const Scenario scenario = load_scenario_text(text, "generated.yaml", ".").front();
    try {
      Kernel kernel = lower::lower(scenario.kernel);
      verify(kernel, Level::machine);
      copies.push_back({text, std::move(kernel)});
    } catch (const lower::Refused&) { continue; }
  }
  return copies;
}

}  // namespace tmemsim::tests
