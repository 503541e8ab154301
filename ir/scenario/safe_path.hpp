// Paths in scenarios: relative to the scenario's folder and never out of it.
#pragma once

#include <filesystem>
#include <string>

#include "ir/result.hpp"

namespace tmemsim::scenario {

// The file that `relative` names inside `folder`. A Reason for an absolute path, "..", a name that does not end in .npy, and
// a link that leads out of the folder. The file itself need not exist.
Result<std::filesystem::path> npy_inside(const std::string& folder, const std::string& relative);

}  // namespace tmemsim::scenario
