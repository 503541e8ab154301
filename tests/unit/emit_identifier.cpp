#include "emit/cuda/identifier.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::emit;

namespace {

std::string name_of(Space space, const std::string& name) {
  Buffer buffer;
  buffer.space = space;
  buffer.name = name;
  return identifier(buffer);
}

}  // namespace

TEST_CASE("names carry a prefix, so that no keyword or macro can come out") {
  CHECK(name_of(Space::global, "int") == "g_int");
  CHECK(name_of(Space::shared, "__syncthreads") == "s___syncthreads");
  CHECK(name_of(Space::local, "3rd") == "r_3rd");
  CHECK(name_of(Space::tmem, "acc") == "t_acc");
  CHECK(loop_identifier("linux") == "loop_linux");
  CHECK(kernel_identifier("copy-f16") == "kernel_copy_f16");
}

TEST_CASE("whatever a name holds, an identifier comes out") {
  CHECK(kernel_identifier("a(); system(\"rm\"); //\n*/") == "kernel_a____system__rm_________");
  CHECK(loop_identifier("i\\\nj") == "loop_i__j");
}

TEST_CASE("comments stay on their line") {
  CHECK(comment_text("plain text, with * and / and */") == "plain text, with * and / and */");
  CHECK(comment_text("first\nsecond\r\nthird") == "first second  third");
  CHECK(comment_text("ends in a backslash \\") == "ends in a backslash \\ .");
  CHECK(comment_text("ends in a backslash \\ \n") == "ends in a backslash \\ .");
  CHECK(comment_text("a \\ inside") == "a \\ inside");
  CHECK(comment_text("what?\?/") == "what? ?/");  // a trigraph for the backslash
  CHECK(comment_text("?\?\?\?") == "? ? ? ?");
}

TEST_CASE("comments keep other scripts, but nothing that hides or reorders text") {
  CHECK(comment_text("\xe5\xbc\xa0\xe9\x87\x8f") == "\xe5\xbc\xa0\xe9\x87\x8f");
  CHECK(comment_text("a\xe2\x80\xaehidden") == "a hidden");    // U+202E, right-to-left override
  CHECK(comment_text("a\xe2\x80\xa8newline") == "a newline");  // U+2028, line separator
  CHECK(comment_text("a\xc2\x85newline") == "a newline");      // U+0085, next line
  CHECK(comment_text("bad \xff\xc3") == "bad ..");
  CHECK(comment_text("too long \xc0\x80") == "too long ..");  // an overlong zero
  CHECK(comment_text(std::string("zero\0byte", 9)) == "zero byte");
}

TEST_CASE("string literals close where they should") {
  CHECK(string_literal("A_1") == "\"A_1\"");
  CHECK(string_literal("\"; exit(0); //") == "\"\\\"; exit(0); //\"");
  CHECK(string_literal("a\\\n7?\?/") == "\"a\\\\\\0127\\?\\?/\"");
}
