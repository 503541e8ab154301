// Pictures of documents are what the tool draws: a document names the command for each, in a fence or in a comment.
#include <map>
#include <regex>

#include "ir/atomic_file.hpp"
#include "tests/catch.hpp"
#include "tests/golden/command.hpp"
#include "tests/golden/documents.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;

namespace {

const std::string folder = "docs/pictures";

// Commands by the picture that they write: "tmemsim draw FILE --at 9 -o docs/pictures/store.svg".
std::map<std::string, std::string> commands_in(const std::string& text) {
  static const std::regex command("(tmemsim (?:draw|layout) [^\n]*?(docs/pictures/[a-z0-9_.-]+\\.svg)[^\n]*?)(?: *-->)?(?=\n)");
  std::map<std::string, std::string> commands;
  for (std::sregex_iterator match(text.begin(), text.end(), command), end; match != end; ++match) commands[(*match)[2]] = (*match)[1];
  return commands;
}

std::map<std::string, std::string> all_commands() {
  std::map<std::string, std::string> commands;
  for (const fs::path& path : documents()) commands.merge(commands_in(read_file(path)));
  return commands;
}

}  // namespace

TEST_CASE("Pictures show what the tool draws") {
  const Workplace workplace;
  fs::create_directories(workplace.folder() / folder);
  for (const auto& [picture, command] : all_commands()) {
    INFO(command);
    const Ran ran = workplace.run(command);
    INFO(ran.output);
    REQUIRE(ran.exit_code == 0);
    const std::string now = read_file(workplace.folder() / picture);
    const fs::path kept = fs::path(source_dir) / picture;
    if (rewriting()) {
      fs::create_directories(kept.parent_path());
      if (!fs::exists(kept) || read_file(kept) != now) write_file_atomically(kept, now);
    } else {
      REQUIRE(fs::exists(kept));
      CHECK((now == read_file(kept)));
    }
  }
}

TEST_CASE("Each picture has its command in a document, and stands in one") {
  const auto commands = all_commands();
  std::string text;
  for (const fs::path& path : documents()) text += read_file(path);
  if (!fs::exists(fs::path(source_dir) / folder)) return;
  for (const auto& entry : fs::directory_iterator(fs::path(source_dir) / folder)) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    if (entry.path().extension() == ".svg") CHECK(commands.count(folder + "/" + name) == 1);
    CHECK(text.find("pictures/" + name + ")") != std::string::npos);
  }
}

TEST_CASE("Commands of pictures are found in fences and in comments") {
  const auto commands = commands_in("```\n$ tmemsim draw a.yaml --at 3 -o docs/pictures/a.svg\n```\n<!-- tmemsim draw b.yaml --at 4 -o docs/pictures/b.svg -->\n"
                                    "tmemsim draw c.yaml -o elsewhere.svg\n");
  CHECK(commands == std::map<std::string, std::string>{{"docs/pictures/a.svg", "tmemsim draw a.yaml --at 3 -o docs/pictures/a.svg"},
                                                       {"docs/pictures/b.svg", "tmemsim draw b.yaml --at 4 -o docs/pictures/b.svg"}});
}
