// Located messages about wrong input: file:line:col, the line, a caret, and what would work.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace tmemsim {

// Where something stands in a source file. Line and column count from 1; 0 means unknown.
// Two kernels are equal whatever files they came from, so locations always compare equal.
struct SourceLoc {
  std::uint32_t file = 0;  // index into Kernel::files
  std::uint32_t line = 0;
  std::uint32_t col = 0;
  friend constexpr bool operator==(SourceLoc, SourceLoc) { return true; }
};

struct SourceFile {
  std::string name;
  std::string text;
  friend bool operator==(const SourceFile&, const SourceFile&) { return true; }  // as SourceLoc
};

struct Diagnostic {
  std::string file;     // empty: no file involved (a command-line argument)
  std::uint32_t line = 0, col = 0;
  std::string line_text;  // the source line, without its end
  std::string message;    // one sentence
  std::string hint;       // what would work; may be empty
};

// Bad usage or bad input: the command line prints the diagnostic and exits with 2.
class InputError : public std::exception {
 public:
  explicit InputError(Diagnostic diagnostic);
  InputError(std::string message, std::string hint = {});
  const Diagnostic& diagnostic() const { return diagnostic_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Diagnostic diagnostic_;
  std::string text_;
};

// Throws InputError at `at` in `files`, taking the line for the caret from the file's text.
[[noreturn]] void input_error(const std::vector<SourceFile>& files, SourceLoc at, std::string message, std::string hint = {});

// The tool cannot do this and says so (exit 4): never a guess.
class Unsupported : public std::exception {
 public:
  explicit Unsupported(std::string reason, SourceLoc at = {}) : reason_(std::move(reason)), at_(at) {}
  const std::string& reason() const { return reason_; }
  SourceLoc at() const { return at_; }
  const char* what() const noexcept override { return reason_.c_str(); }

 private:
  std::string reason_;
  SourceLoc at_;
};

// "file:3:7: error: message", the line, the caret, "hint: ..."; ends with a newline.
std::string format(const Diagnostic& diagnostic);

// The candidate that `word` most likely meant (edit distance at most 2 and less than half its length), or "".
std::string closest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace tmemsim
