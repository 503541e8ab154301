// Writes whole files, or nothing: what reads them never sees half of one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tmemsim {

// A file that appears with commit(), whole. It is written under a temporary name in the same folder and renamed then, so that
// an older file stays whole until the new one is complete. A symbolic link is followed; what is no regular file (a pipe,
// /dev/stdout) is written directly. Throws InputError that names the path and the system's reason; nothing is left behind
// then, nor when the object is destroyed before commit().
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void add(std::string_view bytes);
  void commit();

 private:
  void give_up();

  std::filesystem::path path_, target_;  // as asked for; links followed
  std::string temporary_;                // empty: written directly
  int file_ = -1;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace tmemsim
