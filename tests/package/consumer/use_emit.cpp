#include <emit/emit.hpp>

#include "kernels.hpp"

int main() {
  return report([] {
    tmemsim::Kernel kernel = load(machine_program);
    tmemsim::verify(kernel, tmemsim::Level::machine);
    return tmemsim::emit::cuda(kernel).find("__global__") != std::string::npos;
  });
}
