#include "diff/workplace.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "ir/diagnostic.hpp"

namespace tmemsim::diff {

Workplace::Workplace(const std::filesystem::path& keep, const std::string& name) : kept_(!keep.empty()) {
  if (kept_) {
    std::error_code error;
    path_ = std::filesystem::absolute(keep / name);
    std::filesystem::remove_all(path_, error);
    std::filesystem::create_directories(path_, error);
    if (error) throw InputError(fmt::format("folder {} cannot be made: {}", path_.string(), error.message()));
    return;
  }
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (error) throw InputError(fmt::format("there is no folder for temporary files: {}", error.message()), "set TMPDIR, or give --keep DIR");
  std::string pattern = (temporary / "tmemsim-diff-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw InputError(fmt::format("no folder can be made in {}", temporary.string()));
  path_ = pattern;
}

Workplace::~Workplace() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

void Workplace::write(const std::string& name, const std::string& text) const {
  std::FILE* file = std::fopen((path_ / name).c_str(), "wb");
  bool whole = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) whole = std::fclose(file) == 0 && whole;
  if (!whole) throw InputError(fmt::format("{} cannot be written", (path_ / name).string()));
}

}  // namespace tmemsim::diff
