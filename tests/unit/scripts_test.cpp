#include <sys/wait.h>

#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
namespace fs = std::filesystem;

namespace {

// Commands that stand in for the system's, in front of the path: a machine that lacks libfmt-dev.
class Machine {
 public:
  explicit Machine(bool root) {
    put("id", root ? "echo 0" : "echo 1000");
    put("sudo", "exit 1");
    put("dpkg-query", "case \"$4\" in libfmt-dev) exit 1 ;; esac; printf installed");
    put("apt-get", "echo \"$@\" >> '" + (folder_ / "apt").string() + "'");
  }

  int need_packages() const { return run("need_packages"); }
  int run(const std::string& what) const {
    const std::string script = std::string(tests::source_dir) + "/scripts/lib/packages.sh";
    const std::string command = "PATH='" + folder_.path().string() + "':\"$PATH\" sh -c '. \"" + script +
                                "\"; " + what + "' > '" + (folder_ / "said").string() + "' 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void put(const std::string& name, const std::string& body) const {
    fs::permissions(folder_.write(name, "#!/bin/sh\n" + body + "\n"), fs::perms::owner_all);
  }
  std::string said() const { return tests::read_file(folder_ / "said"); }
  std::string apt() const { return tests::read_file(folder_ / "apt"); }

 private:
  tests::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("Who may not install packages is told the line to run") {
  const Machine machine(false);
  CHECK(machine.need_packages() == 1);
  CHECK_THAT(machine.said(),
             tests::contains("sudo apt-get update && sudo apt-get install -y --no-install-recommends libfmt-dev\n"));
  CHECK(machine.apt().empty());
}

TEST_CASE("Root installs what is missing and nothing else") {
  const Machine machine(true);
  CHECK(machine.need_packages() == 0);
  CHECK(machine.apt() == "update -qq\ninstall -y -qq --no-install-recommends libfmt-dev\n");
}

TEST_CASE("Nothing is installed when nothing is missing") {
  const Machine machine(true);
  machine.put("dpkg-query", "printf installed");
  CHECK(machine.need_packages() == 0);
  CHECK(machine.apt().empty());
  CHECK(machine.said().empty());
}

TEST_CASE("The browser for the viewer's test is installed where that is possible, and stops nothing where it is not") {
  const std::string without_browser = "set -eu; command() { case \"$2\" in *chrom*) return 1 ;; esac; }; want_browser; echo went on";
  const Machine root(true);
  CHECK(root.run(without_browser) == 0);
  CHECK(root.apt() == "update -qq\ninstall -y -qq --no-install-recommends chromium\n");
  const Machine bare(true);
  CHECK(bare.run("command() { case \"$2\" in *chrom* | python3) return 1 ;; esac; }; want_browser") == 0);
  CHECK(bare.apt() == "update -qq\ninstall -y -qq --no-install-recommends python3 chromium\n");
  const Machine nobody(false);
  CHECK(nobody.run(without_browser) == 0);
  CHECK(nobody.apt().empty());
  CHECK(nobody.said() == "went on\n");
  const Machine broken(true);
  broken.put("apt-get", "exit 100");
  CHECK(broken.run(without_browser) == 0);
  CHECK_THAT(broken.said(), tests::contains("the test of the viewer will be skipped\nwent on\n"));
}
