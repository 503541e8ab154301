#include "tests/emit/nvcc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace tmemsim::tests {

bool have_nvcc() { return nvcc[0] != '\0'; }

std::string gencode(std::string_view architecture) {
  return fmt::format(" -gencode arch=compute_{0},code=sm_{0}", architecture);
}

Compiled compile(const std::string& text, std::string_view architectures, bool host) {
  const TemporaryFolder folder;
  folder.write("k.cu", text);
  std::string call = fmt::format("cd {} && {} -std=c++17 -Werror all-warnings -Xptxas -v --keep", folder.path().string(), nvcc);
  for (std::string_view rest = architectures; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    call += gencode(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  call += host ? " -Xcompiler -Wall,-Wextra,-Werror k.cu -o k" : " --fatbin k.cu -o k.fatbin";
  const int status = std::system((call + " > log 2>&1").c_str());
  Compiled result{status == 0, read_file(folder / "log"), {}, 0};
  static const std::regex frame("([0-9]+) bytes stack frame");
  for (std::sregex_iterator match(result.log.begin(), result.log.end(), frame), none; match != none; ++match) {
    result.stack_bytes = std::max(result.stack_bytes, std::stoi((*match)[1]));
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".ptx") result.ptx = read_file(entry.path());
  }
  return result;
}

}  // namespace tmemsim::tests
