// Where a command's answer goes: standard output, piece by piece, or a file, which appears whole at the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/atomic_file.hpp"

namespace tmemsim::cli {

// Whoever read standard output has closed it: there is nobody left to tell.
struct ReaderGone {};

class Output {
 public:
  explicit Output(std::string path = {});  // "" or "-": standard output
  void add(std::string_view text);         // ReaderGone; InputError when standard output cannot be written
  void close();                            // the file appears now, or InputError
  bool is_terminal() const;                // with colours: neither NO_COLOR is set nor TERM is dumb

 private:
  std::string path_;
  std::optional<AtomicFile> file_;
};

}  // namespace tmemsim::cli
