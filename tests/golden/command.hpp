// Runs a command line as a user would, in a folder of its own that has the repository's scenarios.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace tmemsim::tests {

struct Ran {
  int exit_code = -1;
  std::string output;  // standard output and standard error, as a terminal shows them
};

class Workplace {
 public:
  Workplace() {
    namespace fs = std::filesystem;
    fs::copy(fs::path(source_dir) / "scenarios", folder_ / "scenarios", fs::copy_options::recursive);
  }
  const TemporaryFolder& folder() const { return folder_; }

  Ran run(const std::string& command_line) const {
    const std::filesystem::path tool(command);
    const std::string output = folder_.path().string() + ".out";
    folder_.write(".command", command_line + "\n");
    const std::string shell = "cd '" + folder_.path().string() + "' && NO_COLOR=1 PATH='" + tool.parent_path().string() +
                              "':\"$PATH\" sh .command > '" + output + "' 2>&1 < /dev/null";
    const int status = std::system(shell.c_str());
    Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(output)};
    std::filesystem::remove(output);
    return ran;
  }

 private:
  TemporaryFolder folder_;
};

// TMEMSIM_REWRITE_GOLDEN=1 makes the tests write what came out into their files (scripts/rewrite-golden).
inline bool rewriting() {
  const char* wanted = std::getenv("TMEMSIM_REWRITE_GOLDEN");
  return wanted && std::string(wanted) == "1";
}

}  // namespace tmemsim::tests
