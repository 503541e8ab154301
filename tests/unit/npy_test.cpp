#include "ir/npy.hpp"

#include <cstring>

#include "ir/diagnostic.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;

namespace {

// A file as numpy.lib.format describes it, put together by hand.
std::string file(int version, const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::string header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::string refusal(const std::string& bytes) {
  const auto array = parse_npy(bytes);
  REQUIRE_FALSE(array);
  return array.reason().text;
}

}  // namespace

TEST_CASE("The three format versions are read") {
  for (int version : {1, 2, 3}) {
    const auto array = parse_npy(file(version, header("<u2", "False", "(3,)"), std::string("\1\0\2\0\3\0", 6)));
    REQUIRE(array);
    CHECK(array->dtype == Dtype::u16);
    CHECK(array->shape == std::vector<std::int64_t>{3});
    CHECK(array->data == bytes_of({1, 0, 2, 0, 3, 0}));
  }
}

TEST_CASE("Big-endian arrays are turned round") {
  const auto array = parse_npy(file(1, header(">i4", "False", "(2,)"), std::string("\0\0\0\1\0\0\1\0", 8)));
  REQUIRE(array);
  CHECK(array->dtype == Dtype::s32);
  CHECK(array->data == bytes_of({1, 0, 0, 0, 0, 1, 0, 0}));
}

TEST_CASE("Fortran order becomes C order") {
  // Element (i, j, k) of shape (2, 3, 2) is 100 i + 10 j + k; the first index runs fastest in the file.
  std::string data;
  for (int k = 0; k < 2; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) data += static_cast<char>(100 * i + 10 * j + k);
    }
  }
  const auto array = parse_npy(file(1, header("|u1", "True", "(2, 3, 2)"), data));
  REQUIRE(array);
  CHECK(array->data == bytes_of({0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
}

TEST_CASE("A scalar, an empty array and the shape of Python 2 are read") {
  CHECK(parse_npy(file(1, header("<f4", "False", "()"), std::string(4, '\0')))->shape.empty());
  CHECK(parse_npy(file(1, header("<f4", "False", "(4, 0)"), ""))->data.empty());
  CHECK(parse_npy(file(1, header("<f4", "True", "(0, 9223372036854775807)"), ""))->data.empty());
  CHECK(parse_npy(file(1, header("|i1", "False", "(2L, 1L)"), "ab"))->shape == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("What is written is what numpy.save writes, and reads back") {
  const auto data = bytes_of({0, 0, 128, 63, 0, 0, 0, 64});  // 1.0f 2.0f
  const std::string bytes = npy_bytes(Dtype::f32, std::vector<std::int64_t>{2}, data);
  const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  CHECK(bytes.size() == 128 + 8);
  CHECK(bytes.substr(0, 10) == std::string("\x93NUMPY\1\0\x76\0", 10));
  CHECK(bytes.substr(10, text.size()) == text);
  CHECK(bytes[127] == '\n');
  for (const DtypeFacts& type : dtype_table) {
    const Dtype dtype = npy_storage(type.dtype);
    CHECK(bits(dtype) >= bits(type.dtype));
    const auto array = NpyArray{dtype, {2, 1}, std::vector<std::byte>(static_cast<std::size_t>(bits(dtype)) / 4, std::byte{7})};
    CHECK(*parse_npy(npy_bytes(array.dtype, array.shape, array.data)) == array);
  }
  CHECK_THROWS_AS(npy_bytes(Dtype::bf16, std::vector<std::int64_t>{1}, bytes_of({0, 0})), std::logic_error);
}

TEST_CASE("Files are written and read") {
  const tests::TemporaryFolder folder;
  const NpyArray array{Dtype::s16, {2, 2}, bytes_of({1, 2, 3, 4, 5, 6, 7, 8})};
  write_npy(folder / "a.npy", array);
  CHECK(*read_npy(folder / "a.npy") == array);
  const NpyArray large{Dtype::u8, {300, 400}, std::vector<std::byte>(120000, std::byte{9})};
  write_npy(folder / "large.npy", large);
  CHECK(*read_npy(folder / "large.npy") == large);
}

TEST_CASE("A truncated file says what is missing") {
  const std::string whole = file(1, header("<f4", "False", "(2, 2)"), std::string(16, 'x'));
  REQUIRE(parse_npy(whole));
  CHECK_THAT(refusal(whole.substr(0, whole.size() - 1)), tests::contains("truncated: f32 of shape (2, 2) takes 16 bytes, 15"));
  CHECK_THAT(refusal(whole + "x"), tests::contains("longer than its shape says"));
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK_FALSE(parse_npy(whole.substr(0, length)));
}

TEST_CASE("A large array is refused before it is allocated") {
  CHECK_THAT(refusal(file(1, header("|u1", "False", "(2147483648,)"), "")), tests::contains("more than 1 GiB"));
  CHECK_THAT(refusal(file(1, header("<f8", "False", "(134217729,)"), "")), tests::contains("more than 1 GiB"));
  CHECK_THAT(refusal(file(1, header("<f8", "False", "(134217728,)"), "")), tests::contains("truncated"));
  CHECK_THAT(refusal(file(1, header("<f8", "False", "(4294967296, 4294967296, 4294967296)"), "")),
             tests::contains("more than 1 GiB"));
  const tests::TemporaryFolder folder;
  const auto path = folder.write("huge.npy", file(1, header("<f4", "False", "(536870912,)"), ""));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + (std::uint64_t{1} << 31));
  CHECK_THAT(read_npy(path).reason().text, tests::contains("too large"));
}

TEST_CASE("Other files and types are refused with a reason") {
  CHECK_THAT(refusal("PK\3\4 this is a zip file"), tests::contains("no .npy file"));
  CHECK_THAT(refusal(""), tests::contains("no .npy file"));
  CHECK_THAT(refusal(file(4, header("<f4", "False", "()"), "")), tests::contains("version 4"));
  CHECK_THAT(refusal(file(2, std::string(70000, ' '), "")), tests::contains("70000 bytes"));
  CHECK_THAT(refusal(file(1, header("<i8", "False", "()"), "")), tests::contains("'<i8' is not supported"));
  CHECK_THAT(refusal(file(1, header("\x1b[c", "False", "()"), "")), tests::contains("'?[c'"));
  CHECK_THAT(refusal(file(1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
             tests::contains("named fields"));
  std::string deep = "(";
  for (int i = 0; i < 40; ++i) deep += "1,";
  CHECK_THAT(refusal(file(1, header("|u1", "False", deep + ")"), "x")), tests::contains("32 dimensions"));
}

TEST_CASE("A malformed header is refused") {
  for (const char* text :
       {"   ", "{   ", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '', 'fortran_order': False, 'shape': ()}", "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "{'descr: '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}"}) {
    INFO(text);
    CHECK_THAT(refusal(file(1, text, "")), tests::contains("malformed"));
  }
}

TEST_CASE("What is no file is refused without opening it") {
  const tests::TemporaryFolder folder;
  CHECK_THAT(read_npy(folder / "none.npy").reason().text, tests::contains("does not exist"));
  CHECK_THAT(read_npy(folder.path()).reason().text, tests::contains("is no file"));
  CHECK_THAT(read_npy("/dev/zero").reason().text, tests::contains("is no file"));
}
