// Writes whole files, or nothing: what reads them never sees half of one.
#pragma once

#include <filesystem>
#include <string_view>

namespace tmemsim {

// Writes `bytes` under a temporary name in the same folder and renames it to `path`, so that an older file stays whole
// until the new one is complete. A symbolic link is followed; what is no regular file (a pipe, /dev/stdout) is written
// directly. Throws InputError that names the path and the system's reason; nothing is left behind then.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace tmemsim
