// The families' tables, one function a file. To add a family, add its function here and to the list in registry.cpp.
#pragma once

#include <string>
#include <vector>

#include "ir/atom/registry.hpp"

namespace tmemsim::atom {

std::vector<Family> ptx_copy_families();
std::vector<Family> ptx_mma_families();
std::vector<Family> ptx_tcgen05_families();
std::vector<Family> ptx_tcgen05_mma_families();
std::vector<Family> rocdl_mma_families();
std::vector<Family> rocdl_copy_families();

}  // namespace tmemsim::atom
