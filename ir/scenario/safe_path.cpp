#include "ir/scenario/safe_path.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "ir/scenario/yaml_tree.hpp"

namespace tmemsim::scenario {
namespace {

namespace fs = std::filesystem;

Reason reason(std::string text) {
  Reason made;
  made.text = std::move(text);
  return made;
}

bool stays_inside(const fs::path& folder, const fs::path& file) {
  const auto [folder_end, file_at] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return folder_end == folder.end() && file_at != file.end();
}

}  // namespace

Result<fs::path> npy_inside(const std::string& folder, const std::string& relative) {
  constexpr std::size_t longest = 1024;
  const fs::path path(relative);
  if (relative.empty() || relative.size() > longest || relative.find('\0') != std::string::npos)
    return reason("this is no path of a file");
  if (path.is_absolute()) return reason("an absolute path; paths are relative to the scenario's folder");
  if (std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; }))
    return reason("'..' leads out of the scenario's folder; put the file into it");
  if (path.extension() != ".npy") return reason(fmt::format("'{}' does not end in .npy", shown(relative)));

  std::error_code error;
  const fs::path root = fs::weakly_canonical(folder.empty() ? fs::path(".") : fs::path(folder), error);
  if (error) return reason(fmt::format("the scenario's folder cannot be read: {}", error.message()));
  const fs::path absolute_root = fs::absolute(root, error);
  const fs::path file = fs::weakly_canonical(absolute_root / path, error);
  if (error) return reason(fmt::format("'{}' cannot be followed: {}", shown(relative), error.message()));
  if (!stays_inside(absolute_root, file))
    return reason(fmt::format("'{}' is a link that leads out of the scenario's folder", shown(relative)));
  return file;
}

}  // namespace tmemsim::scenario
