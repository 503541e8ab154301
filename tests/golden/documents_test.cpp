// What README.md and docs/ show is what the tool prints: every fenced block with lines "$ tmemsim ..." is run again.
#include <algorithm>
#include <vector>

#include "ir/atomic_file.hpp"
#include "tests/catch.hpp"
#include "tests/golden/command.hpp"
#include "tests/golden/documents.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;

namespace {

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The document with the output of every "$ tmemsim ..." line inside a fence replaced by what the command prints now. A line
// "..." in the output stands for lines that the document leaves out.
class Replay {
 public:
  explicit Replay(std::vector<std::string> lines) : lines_(std::move(lines)) {
    for (const char* const folder : {"build/demo", "docs/pictures"}) fs::create_directories(workplace_.folder() / folder);  // where commands write
  }

  std::string replayed() {
    bool fenced = false;
    for (at_ = 0; at_ < lines_.size();) {
      const std::string line = lines_[at_++];
      text_ += line + "\n";
      if (starts_with(line, "```")) fenced = !fenced;
      if (fenced && starts_with(line, "$ tmemsim ")) show(line.substr(2));
    }
    return text_;
  }
  int commands() const { return commands_; }

 private:
  void show(const std::string& command_line) {
    ++commands_;
    std::vector<std::string> shown;
    while (at_ < lines_.size() && !starts_with(lines_[at_], "```") && !starts_with(lines_[at_], "$ ")) shown.push_back(lines_[at_++]);
    const bool gap_before_next = !shown.empty() && shown.back().empty();
    if (gap_before_next) shown.pop_back();
    const std::vector<std::string> printed = lines_of(workplace_.run(command_line).output);
    for (const std::string& line : matches(shown, printed) ? shown : printed) text_ += line + "\n";
    if (gap_before_next) text_ += "\n";
  }

  static bool matches(const std::vector<std::string>& shown, const std::vector<std::string>& printed) {
    const auto left_out = std::find(shown.begin(), shown.end(), "...");
    if (left_out == shown.end()) return shown == printed;
    const auto before = left_out - shown.begin(), after = shown.end() - left_out - 1;
    return before + after <= static_cast<std::ptrdiff_t>(printed.size()) && std::equal(shown.begin(), left_out, printed.begin()) &&
           std::equal(left_out + 1, shown.end(), printed.end() - after);
  }

  std::vector<std::string> lines_;
  Workplace workplace_;
  std::string text_;
  std::size_t at_ = 0;
  int commands_ = 0;
};

}  // namespace

TEST_CASE("Documents show what the tool prints") {
  for (const fs::path& path : documents()) {
    const std::string text = read_file(path);
    if (text.find("\n$ tmemsim ") == std::string::npos) continue;
    INFO(path.string());
    const std::string now = Replay(lines_of(text)).replayed();
    if (rewriting() && now != text) write_file_atomically(path, now);
    else CHECK(now == text);
  }
}

TEST_CASE("A document that shows something else is noticed") {
  const std::vector<std::string> truth{"```", "$ tmemsim --version", "tmemsim 0.1.0", "```", "$ tmemsim outside of a fence"};
  Replay replay(truth);
  const auto joined = [](const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  };
  CHECK(replay.replayed() == joined(truth));
  CHECK(replay.commands() == 1);
  auto lie = truth;
  lie[2] = "tmemsim 9.9.9";
  CHECK(Replay(lie).replayed() == joined(truth));
  auto shortened = truth;
  shortened[1] = "$ tmemsim explain";
  shortened[2] = "...";
  CHECK(Replay(shortened).replayed() == joined(shortened));
}
