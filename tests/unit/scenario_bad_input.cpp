// Every file of tests/golden/bad is refused as its first lines say: "# expect: TEXT", each a part of the message. A position
// stands in front of "error:", so that the place is checked as well.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "ir/scenario/scenario.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::vector<std::string> expectations(const std::string& text) {
  const std::string mark = "# expect: ";
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with(mark);) found.push_back(line.substr(mark.size()));
  return found;
}

std::string message_of(const std::filesystem::path& file) {
  try {
    load_scenarios(file.string());
  } catch (const InputError& error) { return error.what(); }
  return "(it was loaded)";
}

std::vector<std::filesystem::path> bad_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_dir) / "tests/golden/bad"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string refusal(const std::string& text) {
  try {
    load_scenario_text(text, "x.yaml", ".");
  } catch (const InputError& error) { return error.what(); }
  return "(it was loaded)";
}

}  // namespace

TEST_CASE("Wrong scenarios are refused at the right place") {
  const auto files = bad_files();
  REQUIRE(files.size() > 100);
  for (const auto& file : files) {
    const std::string message = message_of(file);
    const auto wanted = expectations(read_file(file));
    INFO(file.filename().string() << "\n" << message);
    REQUIRE_FALSE(wanted.empty());
    CHECK_THAT(message, contains(file.string() + ":"));
    for (const std::string& part : wanted) CHECK_THAT(message, contains(part));
    CHECK_THAT(message, contains("^"));
  }
}

TEST_CASE("Bytes that are no text are refused where they stand") {
  CHECK_THAT(refusal(""), contains("x.yaml:1:1: error: the file is empty"));
  CHECK_THAT(refusal("# only a comment\n"), contains("the file is empty"));
  CHECK_THAT(refusal(std::string("tmemsim: 1\nscen\0rio: a\n", 24)), contains("x.yaml:2:5: error: a NUL byte"));
  CHECK_THAT(refusal("tmemsim: 1\nscenario: \xff\n"), contains("x.yaml:2:11: error: byte 0xff is not valid UTF-8 here"));
  CHECK_THAT(refusal("tmemsim: 1\nscenario: \xc0\xaf\n"), contains("x.yaml:2:11: error: byte 0xc0"));      // overlong
  CHECK_THAT(refusal("tmemsim: 1\nscenario: \xed\xa0\x80\n"), contains("x.yaml:2:11: error: byte 0xed"));  // surrogate
  CHECK_THAT(refusal("tmemsim: 1\nscenario: \xe2\x82"), contains("x.yaml:2:11: error: byte 0xe2"));        // cut off
  CHECK_THAT(refusal("tmemsim: 1\nscenario: \x1b[31m\n"), contains("control character 0x1b"));
  CHECK_THAT(refusal("\xfe\xff\0t\0m"), contains("x.yaml:1:1: error: byte 0xfe"));  // UTF-16
}

TEST_CASE("Sizes and depths are bounded") {
  CHECK_THAT(refusal(std::string(100000, '[')), contains("nested deeper than 64 levels"));
  CHECK_THAT(refusal(std::string(100000, '{')), contains("nested deeper than 64 levels"));
  CHECK_THAT(refusal("a: " + std::string(100000, '[')), contains("nested deeper than 64 levels"));
  std::string blocks;
  for (int i = 0; i < 100000; ++i) blocks += "- ";
  CHECK_THAT(refusal(blocks), contains("nested deeper than 64 levels"));
  CHECK_THAT(refusal("a: [" + std::string(std::size_t{3} << 20, ',')), contains("x.yaml:1:"));
  std::string many = "a: [";
  for (int i = 0; i < 550000; ++i) many += "0,";
  CHECK_THAT(refusal(many + "]"), contains("more than 524288 values in one file"));
  CHECK_THAT(refusal(std::string(std::size_t{9} << 20, '#')), contains("at most 8388608 are read"));
}

TEST_CASE("What cannot be opened is refused") {
  const auto message = [](const std::string& path) {
    try {
      load_scenarios(path);
    } catch (const InputError& error) { return std::string(error.what()); }
    return std::string();
  };
  TemporaryFolder folder;
  CHECK_THAT(message((folder / "none.yaml").string()), contains("there is no such file"));
  CHECK_THAT(message(folder.path().string()), contains("this is a folder"));
  const std::string pipe = (folder / "pipe.yaml").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(message(pipe), contains("this is a named pipe"));
}
