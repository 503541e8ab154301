// A folder for one program: its source, inputs and outputs.
#pragma once

#include <filesystem>
#include <string>

namespace tmemsim::diff {

class Workplace {
 public:
  // KEEP/name, made anew, which stays; or, when `keep` is empty, a temporary folder that goes with this object. InputError when
  // it cannot be made.
  Workplace(const std::filesystem::path& keep, const std::string& name);
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;  // InputError when the disk is full

 private:
  bool kept_;
  std::filesystem::path path_;
};

}  // namespace tmemsim::diff
