#include <random>

#include "ir/npy.hpp"
#include "tests/catch.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;

namespace {

// The size that a shape and a type ask for, counted without the reader's arithmetic.
bool sizes_agree(const NpyArray& array) {
  unsigned long long count = 1;
  for (std::int64_t extent : array.shape) count *= static_cast<unsigned long long>(extent);
  return array.data.size() == count * static_cast<unsigned long long>(bits(array.dtype)) / 8;
}

NpyArray any_array(std::mt19937& random) {
  static const Dtype types[] = {Dtype::f16, Dtype::f32, Dtype::f64, Dtype::u8,  Dtype::s8,
                                Dtype::u16, Dtype::s16, Dtype::u32, Dtype::s32, Dtype::u64};
  NpyArray array{types[random() % std::size(types)], {}, {}};
  std::size_t count = 1;
  for (std::size_t d = random() % 4; d > 0; --d) {
    array.shape.push_back(random() % 6);
    count *= static_cast<std::size_t>(array.shape.back());
  }
  array.data.resize(count * static_cast<std::size_t>(bits(array.dtype)) / 8);
  for (std::byte& byte : array.data) byte = static_cast<std::byte>(random());
  return array;
}

}  // namespace

TEST_CASE("Any array is read back as it was written") {
  std::mt19937 random(1);
  for (int i = 0; i < tests::scaled(2000); ++i) {
    const NpyArray array = any_array(random);
    const auto back = parse_npy(npy_bytes(array.dtype, array.shape, array.data));
    REQUIRE(back);
    REQUIRE(*back == array);
  }
}

TEST_CASE("A damaged file is refused or read consistently") {
  std::mt19937 random(2);
  int refused = 0;
  const int count = tests::scaled(20000);
  for (int i = 0; i < count; ++i) {
    const NpyArray array = any_array(random);
    std::string bytes = npy_bytes(array.dtype, array.shape, array.data);
    const std::size_t header = bytes.size() - array.data.size();
    for (unsigned changes = random() % 4 + 1; changes > 0; --changes) {
      const std::size_t at = random() % header;
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = "0123456789(),'{}:<>|LTF"[random() % 23];
          break;
        case 2:
          bytes.resize(at + random() % (bytes.size() - at));
          break;
        case 3:
          bytes.insert(at, 1, "0123456789(),'"[random() % 14]);
          break;
      }
      if (bytes.size() < header) break;
    }
    const auto read = parse_npy(bytes);
    if (read) {
      REQUIRE(sizes_agree(*read));
    } else {
      ++refused;
      REQUIRE_FALSE(read.reason().text.empty());
    }
  }
  CHECK(refused > count / 2);
}
