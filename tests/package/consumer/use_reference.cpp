#include <sim/reference/reference.hpp>

#include "kernels.hpp"

// Before anything is issued, the reference knows what B was filled with.
int main() {
  return report([] {
    const tmemsim::reference::Outcome outcome = tmemsim::reference::run(load(machine_program), {});
    return outcome.global.at(0).bits.at(31) == 7 && outcome.global.at(0).known.at(31) == 1;
  });
}
