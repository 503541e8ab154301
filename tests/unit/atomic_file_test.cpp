#include "ir/atomic_file.hpp"

#include <sys/stat.h>

#include "ir/diagnostic.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
namespace fs = std::filesystem;

namespace {

std::ptrdiff_t entries(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); }

}  // namespace

TEST_CASE("A file is written whole and replaces an older one") {
  const tests::TemporaryFolder folder;
  write_file_atomically(folder / "out", "one");
  CHECK(tests::read_file(folder / "out") == "one");
  write_file_atomically(folder / "out", "two");
  CHECK(tests::read_file(folder / "out") == "two");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("A new file has the mode that the umask leaves") {
  const tests::TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write_file_atomically(folder / "out", "x");
  ::umask(before);
  CHECK(fs::status(folder / "out").permissions() == static_cast<fs::perms>(0640));
}

TEST_CASE("A symbolic link stays one") {
  const tests::TemporaryFolder folder;
  folder.write("real", "old");
  fs::create_symlink("real", folder / "link");
  write_file_atomically(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(tests::read_file(folder / "real") == "new");
}

TEST_CASE("A device is written, not replaced") {
  write_file_atomically("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("What cannot be written says why and leaves nothing behind") {
  const tests::TemporaryFolder folder;
  CHECK_THROWS_WITH(write_file_atomically(folder / "no/out", "x"), tests::contains("No such file or directory"));
  fs::create_directory(folder / "taken");
  CHECK_THROWS_AS(write_file_atomically(folder / "taken", "x"), InputError);
  CHECK(entries(folder.path()) == 1);
  CHECK(entries(folder / "taken") == 0);
}
