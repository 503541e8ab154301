// Faults planted one at a time in correct, busy programs (tests/corpus/planted): each is told where it is, by its one verdict and
// its two instructions, and nothing else is, whatever the policy and the order of the warps. What is expected was worked out by
// the rules of the catalogue before the programs were run.
//
// NAME.yaml is the correct program. NAME.faults lists the changes:
//     = title
//     - lines that are taken away, as they stand in the program
//     + lines that come in their place
//     .                                         (ends one change; there may be several)
//     ? findings that the changed program has, as in `expect`
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/golden/command.hpp"
#include "tests/paths.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;

namespace {

struct Change {
  std::string from, to;
};
struct Planted {
  std::string title, findings;
  std::vector<Change> changes;
};

std::vector<Planted> planted_in(const std::string& text) {
  std::vector<Planted> all;
  std::istringstream lines(text);
  Change change;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const std::string rest = line.size() > 2 ? line.substr(2) + "\n" : "";
    switch (line.front()) {
      case '=': all.push_back({line.substr(2), "", {}}); break;
      case '-': change.from += rest; break;
      case '+': change.to += rest; break;
      case '.': all.back().changes.push_back(std::exchange(change, {})); break;
      case '?': all.back().findings = rest; break;
      default: FAIL("no line of a list of faults: " << line);
    }
  }
  return all;
}

std::string planted_into(const std::string& program, const Planted& planted) {
  const std::size_t end = program.find("\nexpect:") + 1;
  std::string text = program.substr(0, end);
  for (const Change& change : planted.changes) {
    const std::string lines = "\n" + change.from;  // whole ones
    const std::size_t at = text.find(lines);
    INFO(planted.title << ": " << change.from);
    REQUIRE(at != std::string::npos);
    REQUIRE(text.find(lines, at + 1) == std::string::npos);
    text.replace(at + 1, change.from.size(), change.to);
  }
  if (planted.findings == "[]\n") return text + program.substr(end);  // another way to the same values
  if (planted.findings.find("severity: warning") != std::string::npos) {  // the same values, and a warning
    std::string expect = program.substr(end);
    const std::string none = "findings: []\n";
    return text + expect.replace(expect.find(none), none.size(), "findings: " + planted.findings);
  }
  return text + "expect:\n  findings: " + planted.findings;
}

}  // namespace

TEST_CASE("Planted faults are told by their one verdict, and correct variants are silent") {
  const Workplace place;
  std::size_t count = 0, programs = 0;
  const auto every = static_cast<std::size_t>(std::max(1, 1000 / scaled(1000)));
  for (const auto& entry : fs::directory_iterator(fs::path(source_dir) / "tests/corpus/planted")) {
    if (entry.path().extension() != ".yaml") continue;
    ++programs;
    const std::string name = entry.path().stem().string(), program = read_file(entry.path());
    place.folder().write("planted-" + name + ".yaml", program);
    fs::path list = entry.path();
    for (const Planted& planted : planted_in(read_file(list.replace_extension(".faults")))) {
      if (count++ % every != 0) continue;
      place.folder().write(fmt::format("planted-{}-{}.yaml", name, count), "# " + planted.title + "\n" + planted_into(program, planted));
    }
  }
  CHECK(programs > 10);
  CHECK(count > 200);
  for (const char* options : {"", "--policy early --scheduler random --seed 3", "--policy adversarial", "--policy late --scheduler random --seed 9"}) {
    const Ran ran = place.run(fmt::format("ls planted-*.yaml | xargs tmemsim run --max-steps 200000 {}", options));
    INFO(options << "\n" << ran.output);
    CHECK(ran.exit_code == 0);
  }
}
