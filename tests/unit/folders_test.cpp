#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
namespace fs = std::filesystem;

namespace {

// What each folder may include besides itself: all of them see ir, none of them another; report compares what two others leave.
const std::map<std::string, std::set<std::string>> may_include{
    {"ir", {}}, {"lower", {"ir"}}, {"sim", {"ir"}}, {"sim/reference", {"ir"}}, {"emit", {"ir"}},
    {"report", {"ir", "sim", "sim/reference"}},
    {"diff", {"ir", "lower", "sim", "emit", "report"}},
};

// The room that a path of the repository belongs to.
std::string folder_of(const std::string& path) {
  if (path.rfind("sim/reference/", 0) == 0) return "sim/reference";
  return path.substr(0, path.find('/'));
}

// The path of `#include "path"`.
std::optional<std::string> included(std::string line) {
  line.erase(std::remove_if(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t'; }), line.end());
  const std::string start = "#include\"";
  if (line.rfind(start, 0) != 0) return std::nullopt;
  return line.substr(start.size(), line.find('"', start.size()) - start.size());
}

// "lower/a.cpp:3 includes sim/b.hpp", for each arrow that does not go down.
std::vector<std::string> wrong_arrows(const fs::path& root) {
  std::vector<std::string> wrong;
  for (const auto& [folder, allowed] : may_include) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      const std::string path = entry.path().lexically_relative(root).generic_string();
      if ((extension != ".hpp" && extension != ".cpp") || folder_of(path) != folder) continue;
      std::ifstream file(entry.path());
      std::string line;
      for (int number = 1; std::getline(file, line); ++number) {
        const auto include = included(line);
        if (!include) continue;
        const std::string target = folder_of(*include);
        if (target == folder || allowed.count(target)) continue;
        wrong.push_back(path + ":" + std::to_string(number) + " includes " + *include);
      }
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("Includes go down only") {
  for (const std::string& arrow : wrong_arrows(tests::source_dir)) FAIL_CHECK(arrow);
}

TEST_CASE("An arrow that goes up or sideways is noticed") {
  const tests::TemporaryFolder root;
  for (const char* folder : {"ir", "lower", "sim/reference"}) fs::create_directories(root / folder);
  root.write("ir/up.hpp", "#pragma once\n#include <vector>\n#include \"lower/lower.hpp\"\n");
  root.write("ir/good.hpp", "#include \"ir/axis.hpp\"\n");
  root.write("lower/good.cpp", "#include \"ir/axis.hpp\"\n#include \"lower/lower.hpp\"\n");
  root.write("sim/reference/sideways.cpp", "  #  include \"sim/sim.hpp\"\n");
  root.write("sim/sideways.cpp", "#include \"sim/reference/reference.hpp\"\n");
  auto found = wrong_arrows(root.path());
  std::sort(found.begin(), found.end());
  CHECK(found == std::vector<std::string>{"ir/up.hpp:3 includes lower/lower.hpp",
                                          "sim/reference/sideways.cpp:1 includes sim/sim.hpp",
                                          "sim/sideways.cpp:1 includes sim/reference/reference.hpp"});
}
