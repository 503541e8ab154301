#include "ir/diagnostic.hpp"

#include "tests/catch.hpp"

using namespace tmemsim;

TEST_CASE("A located message shows file, line, column, the line and a caret") {
  const std::vector<SourceFile> files{{"a.yaml", "one: 1\ntwo: x\r\n"}};
  std::string text;
  try {
    input_error(files, {0, 2, 6}, "not a number", "write a number");
  } catch (const InputError& error) { text = error.what(); }
  CHECK(text == "a.yaml:2:6: error: not a number\n  two: x\n       ^\n  hint: write a number\n");
}

TEST_CASE("A message without a place has no caret") {
  CHECK(std::string(InputError("no such option").what()) == "error: no such option\n");
}

TEST_CASE("Bytes of an untrusted line that a terminal would obey are not shown") {
  const std::vector<SourceFile> files{{"a.yaml", "x: \x1b[31m"}};
  CHECK_THROWS_WITH(input_error(files, {0, 1, 1}, "bad"), tests::contains("x: ?[31m"));
}

TEST_CASE("The closest name is at most two edits away") {
  const std::vector<std::string_view> names{"launch", "buffers", "program"};
  CHECK(closest("progam", names) == "program");
  CHECK(closest("bufers", names) == "buffers");
  CHECK(closest("expect", names).empty());
}
