// Every --help ends with examples, and they work.
#include <algorithm>
#include <vector>

#include "tests/catch.hpp"
#include "tests/golden/command.hpp"

using namespace tmemsim::tests;

namespace {

std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  for (std::size_t begin = help.find("Examples:"); begin != std::string::npos && begin < help.size();) {
    const std::size_t end = std::min(help.find('\n', begin), help.size());
    const std::string line = help.substr(begin, end - begin);
    const std::size_t start = line.find("tmemsim ");
    if (start != std::string::npos) examples.push_back(line.substr(start));
    begin = end + 1;
  }
  return examples;
}

// Commands that a help text lists: the first word of the lines below "Subcommands:".
std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> commands;
  std::size_t begin = help.find("Subcommands:");
  while (begin != std::string::npos && (begin = help.find('\n', begin)) != std::string::npos && help.compare(++begin, 2, "  ") == 0) {
    const std::size_t word = begin + 2;
    if (help[word] != ' ') commands.push_back(help.substr(word, help.find(' ', word) - word));
  }
  return commands;
}

void check_help(const std::string& command_line) {
  const Workplace workplace;
  const Ran help = workplace.run(command_line + " --help");
  INFO(command_line << "\n" << help.output);
  REQUIRE(help.exit_code == 0);
  const auto examples = examples_in(help.output);
  CHECK_FALSE(examples.empty());
  for (const std::string& example : examples) {
    const Ran ran = workplace.run(example);
    INFO(example << "\n" << ran.output);
    CHECK(ran.exit_code == 0);
  }
  for (const std::string& command : commands_in(help.output)) check_help(command_line + " " + command);
}

}  // namespace

TEST_CASE("The examples of every --help run") { check_help("tmemsim"); }

TEST_CASE("Help texts are taken apart") {
  CHECK(examples_in("Usage\nExamples:\n  tmemsim a\n  tmemsim b c\n") == std::vector<std::string>{"tmemsim a", "tmemsim b c"});
  CHECK(commands_in("Subcommands:\n  run    Run\n         more\n  check  Check\n\nExamples:\n") == std::vector<std::string>{"run", "check"});
}
