// Golden files: a command, the files it reads, what it must print and its exit code, in one file each:
//
//   # remarks
//   $ tmemsim run input.yaml
//   ==> input.yaml
//   ...
//   ==> output, exit 1
//   ...
#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ir/atomic_file.hpp"
#include "tests/catch.hpp"
#include "tests/golden/command.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;

namespace {

constexpr const char* section_mark = "==> ";
constexpr const char* output_mark = "output, exit ";

struct Golden {
  std::string head;  // up to the expected output's mark
  std::string command_line;
  std::vector<std::pair<std::string, std::string>> files;
  int exit_code = 0;
  std::string output;
};

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

Golden parse(const std::string& text) {
  Golden golden;
  std::string* section = nullptr;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    begin = end;
    if (starts_with(line, section_mark)) {
      const std::string name = line.substr(4, line.size() - 5);
      if (starts_with(name, output_mark)) {
        golden.exit_code = std::stoi(name.substr(std::string(output_mark).size()));
        golden.output = text.substr(end);
        return golden;
      }
      golden.files.emplace_back(name, "");
      section = &golden.files.back().second;
    } else if (section) {
      *section += line;
    } else if (starts_with(line, "$ ")) {
      golden.command_line = line.substr(2);
    }
    golden.head += line;
  }
  throw std::runtime_error("no expected output");
}

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(source_dir) / "tests/golden/cases"))
    if (entry.path().extension() == ".golden") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("Golden files") {
  for (const fs::path& path : golden_files()) {
    INFO(path.string());
    const Golden golden = parse(read_file(path));
    const Workplace workplace;
    for (const auto& [name, text] : golden.files) workplace.folder().write(name, text);
    const Ran ran = workplace.run(golden.command_line);
    if (rewriting()) {
      write_file_atomically(path, golden.head + section_mark + output_mark + std::to_string(ran.exit_code) + "\n" + ran.output);
      continue;
    }
    CHECK(ran.output == golden.output);
    CHECK(ran.exit_code == golden.exit_code);
  }
}

TEST_CASE("A golden file is read") {
  const Golden golden = parse("# why\n$ tmemsim run a.yaml\n==> a.yaml\ntmemsim: 1\n==> output, exit 2\na.yaml:1:1: error\n");
  CHECK(golden.command_line == "tmemsim run a.yaml\n");
  REQUIRE(golden.files.size() == 1);
  CHECK(golden.files[0] == std::pair<std::string, std::string>("a.yaml", "tmemsim: 1\n"));
  CHECK(golden.exit_code == 2);
  CHECK(golden.output == "a.yaml:1:1: error\n");
  CHECK_THROWS(parse("$ tmemsim ops\n"));
}
