#include <lower/lower.hpp>

#include "kernels.hpp"

int main() {
  return report([] {
    tmemsim::Kernel lowered = tmemsim::lower::lower(load(tile_program));
    tmemsim::verify(lowered, tmemsim::Level::machine);
    return lowered.body.size() == 2;
  });
}
