// README.md and the pages of docs/.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

#include "tests/paths.hpp"

namespace tmemsim::tests {

inline std::vector<std::filesystem::path> documents() {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  const fs::path root(source_dir);
  if (fs::exists(root / "README.md")) files.push_back(root / "README.md");
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tmemsim::tests
