// The lessons: every exercise fails as it stands and its solution is clean, each lesson names both, and the Chinese lessons
// run the same commands as the English ones.
#include <algorithm>
#include <vector>

#include "ir/atomic_file.hpp"
#include "tests/catch.hpp"
#include "tests/golden/command.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> lesson_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(std::string(source_dir) + "/docs/lessons")) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".md" && name != "README" && name != "00-round-trip") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string lesson(const std::string& name, const std::string& language = "") {
  return read_file(std::string(source_dir) + "/docs/lessons/" + language + name + ".md");
}

std::vector<std::string> commands_in(const std::string& text) {
  std::vector<std::string> commands;
  for (std::size_t at = text.find("\n$ "); at != std::string::npos; at = text.find("\n$ ", at + 1))
    commands.push_back(text.substr(at + 1, text.find('\n', at + 1) - at - 1));
  return commands;
}

}  // namespace

TEST_CASE("An exercise fails as it stands, and its solution is clean") {
  Workplace workplace;
  CHECK(lesson_names().size() == 10);
  for (const std::string& name : lesson_names()) {
    INFO(name);
    const std::string exercise = "scenarios/exercises/" + name;
    CHECK(workplace.run("tmemsim run " + exercise + ".yaml").exit_code == 1);
    CHECK(workplace.run("tmemsim run " + exercise + ".solution.yaml").exit_code == 0);
  }
}

TEST_CASE("A lesson names its exercise and its solution, in both languages, and shows the same commands") {
  for (const std::string& name : lesson_names()) {
    INFO(name);
    for (const std::string language : {"", "zh/"}) {
      CHECK_THAT(lesson(name, language), contains("scenarios/exercises/" + name + ".yaml"));
      CHECK_THAT(lesson(name, language), contains("scenarios/exercises/" + name + ".solution.yaml"));
      CHECK_THAT(lesson("README", language), contains("(" + name + ".md)"));
    }
    CHECK_FALSE(commands_in(lesson(name)).empty());
    CHECK(commands_in(lesson(name)) == commands_in(lesson(name, "zh/")));
  }
}
