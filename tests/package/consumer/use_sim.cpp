#include <memory>
#include <sim/sim.hpp>

#include "kernels.hpp"

int main() {
  return report([] {
    const auto kernel = std::make_shared<const tmemsim::Kernel>(load(machine_program));
    const tmemsim::sim::Outcome outcome = tmemsim::sim::run(tmemsim::decode(kernel), {});
    return outcome.findings.empty() && outcome.image.global.at(0).data.at(4 * 31) == 31;
  });
}
