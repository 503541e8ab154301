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

// mkstemp makes files that only the owner reads; the result shall have the mode of any other new file.
int give_ordinary_mode(int file) {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return ::fchmod(file, 0666 & ~mask) == 0 ? 0 : errno;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path_, ignored);
  if (std::filesystem::is_directory(status)) cannot_write(path_, EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) cannot_write(path_, errno);
    return;
  }
  const bool link = std::filesystem::is_symlink(std::filesystem::symlink_status(path_, ignored));
  target_ = link ? std::filesystem::weakly_canonical(path_, ignored) : path_;
  if (target_.empty()) target_ = path_;
  temporary_ = target_.string() + ".XXXXXX";
  file_ = ::mkstemp(temporary_.data());
  if (file_ < 0) cannot_write(target_, errno);
}

AtomicFile::~AtomicFile() { give_up(); }

void AtomicFile::give_up() {
  if (file_ < 0) return;
  ::close(file_);
  file_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::add(std::string_view bytes) {
  const int failed = write_all(file_, bytes);
  if (!failed) return;
  give_up();
  cannot_write(path_, failed);
}

void AtomicFile::commit() {
  int failed = temporary_.empty() ? 0 : give_ordinary_mode(file_);
  if (::close(file_) != 0 && !failed) failed = errno;
  file_ = -1;
  if (temporary_.empty()) {
    if (failed) cannot_write(path_, failed);
    return;
  }
  if (!failed && ::rename(temporary_.c_str(), target_.c_str()) != 0) failed = errno;
  if (!failed) return;
  ::unlink(temporary_.c_str());
  cannot_write(target_, failed);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.add(bytes);
  file.commit();
}

}  // namespace tmemsim
