#include "cli/output.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "ir/diagnostic.hpp"

namespace tmemsim::cli {

Output::Output(std::string path) : path_(path == "-" ? "" : std::move(path)) {}

void Output::add(std::string_view text) {
  if (!path_.empty()) {
    if (!file_) file_.emplace(path_);
    file_->add(text);
    return;
  }
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw ReaderGone{};
    if (written < 0) throw InputError(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Output::close() {
  if (path_.empty()) return;
  if (!file_) file_.emplace(path_);
  file_->commit();
}

bool Output::is_terminal() const {
  const char* terminal = std::getenv("TERM");
  const char* plain = std::getenv("NO_COLOR");
  return path_.empty() && ::isatty(STDOUT_FILENO) && !(plain && *plain) && !(terminal && std::string_view(terminal) == "dumb");
}

}  // namespace tmemsim::cli
