#include <sys/wait.h>

#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;

namespace {

struct Said {
  int status;
  std::string text;
};

Said conformance(const tests::TemporaryFolder& folder, const std::string& arguments) {
  const std::string output = (folder / "output").string();
  const std::string command = "cd '" + folder.path().string() + "' && '" + tests::binary_dir + "/tests/conformance' " +
                              arguments + " > '" + output + "' 2>&1";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, tests::read_file(output)};
}

}  // namespace

TEST_CASE("The conformance program counts cases and names what it skips") {
  const tests::TemporaryFolder folder;
  folder.write("a.yaml", "schema: 1\ncases:\n- {op: no_such_operation}\n- {op: no_such_operation}\nmore:\n- {kind: other}\n");
  const Said said = conformance(folder, "a.yaml");
  CHECK(said.status == 0);
  CHECK(said.text ==
        "a.yaml: skipped, not built yet: no_such_operation (2 cases)\n"
        "a.yaml: skipped, not built yet: other (1 case)\n"
        "0 passed, 0 failed, 3 skipped\n");
}

TEST_CASE("The conformance program fails a case with a wrong expectation, and passes its twin") {
  const tests::TemporaryFolder folder;
  const std::string start = "cases:\n- {id: L1, op: size, in: {shard: [[8, 1, m], [4, 8, m]]}, axis: null, expect: ";
  folder.write("tirx_layout_cases.yaml", start + "32}\n");
  CHECK(conformance(folder, "tirx_layout_cases.yaml").text == "1 passed, 0 failed, 0 skipped\n");
  folder.write("tirx_layout_cases.yaml", start + "33}\n");
  const Said said = conformance(folder, "tirx_layout_cases.yaml");
  CHECK(said.status == 1);
  CHECK_THAT(said.text, tests::contains("tirx_layout_cases.yaml:2: L1 failed: "));
  CHECK_THAT(said.text, tests::contains("\n0 passed, 1 failed, 0 skipped\n"));
}

TEST_CASE("A bad case file is one located message and exit code 2") {
  const tests::TemporaryFolder folder;
  folder.write("broken.yaml", "cases:\n- {a: 1}\n- {b: ]}\n");
  folder.write("empty.yaml", "");
  folder.write("list.yaml", "- 1\n");
  folder.write("other.yaml", "schema: 1\n");
  folder.write("deep.yaml", "cases: " + std::string(100000, '['));
  CHECK_THAT(conformance(folder, "broken.yaml").text, tests::contains("broken.yaml:3:"));
  for (const char* file : {"broken.yaml", "empty.yaml", "list.yaml", "other.yaml", "deep.yaml", "none.yaml", "."}) {
    INFO(file);
    const Said said = conformance(folder, file);
    CHECK(said.status == 2);
    CHECK_THAT(said.text, tests::contains("error: "));
    CHECK_THAT(said.text, tests::contains("0 passed, 0 failed, 0 skipped\n"));
  }
  CHECK(conformance(folder, "").status == 2);
}
