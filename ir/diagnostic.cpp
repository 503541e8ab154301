#include "ir/diagnostic.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace tmemsim {
namespace {

std::string line_of(std::string_view text, std::uint32_t line) {
  std::size_t begin = 0;
  for (std::uint32_t at = 1; at < line; ++at) {
    begin = text.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  std::string found(text.substr(begin, text.find('\n', begin) - begin));
  if (!found.empty() && found.back() == '\r') found.pop_back();
  return found;
}

// Control bytes and invalid UTF-8 of an untrusted file must not reach a terminal.
std::string printable(std::string_view text) {
  constexpr std::size_t longest = 240;
  std::string shown;
  for (char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    shown += (byte < 0x20 || byte >= 0x7f) ? (c == '\t' ? ' ' : '?') : c;
  }
  return shown;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

InputError::InputError(Diagnostic diagnostic) : diagnostic_(std::move(diagnostic)), text_(format(diagnostic_)) {}

InputError::InputError(std::string message, std::string hint)
    : InputError(Diagnostic{{}, 0, 0, {}, std::move(message), std::move(hint)}) {}

void input_error(const std::vector<SourceFile>& files, SourceLoc at, std::string message, std::string hint) {
  Diagnostic diagnostic{{}, at.line, at.col, {}, std::move(message), std::move(hint)};
  if (at.file < files.size()) {
    diagnostic.file = files[at.file].name;
    diagnostic.line_text = line_of(files[at.file].text, at.line);
  }
  throw InputError(std::move(diagnostic));
}

std::string format(const Diagnostic& diagnostic) {
  std::string text;
  if (!diagnostic.file.empty()) {
    text += diagnostic.file;
    if (diagnostic.line > 0) text += fmt::format(":{}:{}", diagnostic.line, std::max(1u, diagnostic.col));
    text += ": ";
  }
  text += fmt::format("error: {}\n", diagnostic.message);
  if (!diagnostic.line_text.empty()) {
    const std::string line = printable(diagnostic.line_text);
    const std::size_t caret = std::min<std::size_t>(diagnostic.col > 0 ? diagnostic.col - 1 : 0, line.size());
    text += fmt::format("  {}\n  {}^\n", line, std::string(caret, ' '));
  }
  if (!diagnostic.hint.empty()) text += fmt::format("  hint: {}\n", diagnostic.hint);
  return text;
}

std::string closest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t least = std::min<std::size_t>(3, word.size() / 2 + 1);
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < least) { least = distance; best = candidate; }
  }
  return std::string(best);
}

}  // namespace tmemsim
