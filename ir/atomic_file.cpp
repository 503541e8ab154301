#include "ir/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "ir/diagnostic.hpp"

namespace tmemsim {
namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& path, int reason) {
  throw InputError(fmt::format("cannot write {}: {}", path.string(), std::strerror(reason)));
}

// 0, or the errno of what failed.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int close_after(int file, int failed) {
  const int closed = ::close(file) == 0 ? 0 : errno;
  return failed ? failed : closed;
}

// mkstemp makes files that only the owner reads; the result shall have the mode of any other new file.
int give_ordinary_mode(int file) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return ::fchmod(file, 0666 & ~mask) == 0 ? 0 : errno;
}

void write_directly(const std::filesystem::path& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) cannot_write(path, errno);
  if (const int failed = close_after(file, write_all(file, bytes))) cannot_write(path, failed);
}

void write_and_rename(const std::filesystem::path& path, std::string_view bytes) {
  std::string temporary = path.string() + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) cannot_write(path, errno);
  int failed = write_all(file, bytes);
  if (!failed) failed = give_ordinary_mode(file);
  failed = close_after(file, failed);
  if (!failed && ::rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (!failed) return;
  ::unlink(temporary.c_str());
  cannot_write(path, failed);
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) cannot_write(path, EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return write_directly(path, bytes);
  const auto target = std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored))
                          ? std::filesystem::weakly_canonical(path, ignored)
                          : path;
  write_and_rename(target.empty() ? path : target, bytes);
}

}  // namespace tmemsim
