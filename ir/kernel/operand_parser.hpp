// Reads operands one after another from a text, leaving off where an operand can go no further.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel/operand_text.hpp"

namespace tmemsim {

class OperandParser {
 public:
  OperandParser(std::string_view text, const Names& names) : text_(text), names_(names) {}

  // Signs and words. Blanks, line ends and comments (# to the end of the line) separate them.
  std::size_t at() { skip_blanks(); return at_; }
  void go_back(std::size_t at) { at_ = at; }
  bool at_end() { skip_blanks(); return at_ == text_.size(); }
  bool next_is(std::string_view sign);
  bool accept(std::string_view sign);
  void expect(std::string_view sign, std::string_view after_what);
  std::string_view peek_word();                 // name at this place, or empty
  bool accept_word(std::string_view word);
  std::string_view name(std::string_view what);  // TextError: "a name of ... is missing"
  void expect_end();
  std::string_view run_of(bool (*belongs)(char));  // the characters here that belong, at least none
  std::string quoted(std::string_view what);       // "..." with the escapes \" \\ \n \t \r \xNN
  std::int64_t integer(std::string_view what, std::int64_t low, std::int64_t high);  // a literal of up to 64 bits
  std::uint64_t seed();
  [[noreturn]] void fail(std::size_t at, std::string message, std::string hint = {}) const;
  std::string_view text() const { return text_; }
  char next_char() { skip_blanks(); return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip(std::size_t count) { at_ += count; }

  Expr expr();
  std::int64_t constant(std::string_view what, std::int64_t low, std::int64_t high);  // an expression with a known value
  Region region();
  Region region_in(std::initializer_list<Space> spaces, std::string_view wanted);
  Rows rows();
  Mem mem();
  TmemAddr tmem_addr();
  Value value();
  Where where();
  Number number();
  BufferId buffer();

 private:
  struct Deep {  // an expression and the levels of its tree
    Expr expr;
    int depth = 1;
  };
  void skip_blanks();
  std::int64_t literal();
  [[noreturn]] void unknown(std::size_t at, std::string_view word, std::string_view kind) const;
  Deep checked(Deep deep, std::size_t at) const;
  Deep binary(int weakest);
  Deep unary();
  Deep primary();
  Deep named(std::size_t at, std::string_view word);
  Deep word_of_buffer();
  Deep one_register(BufferId id);
  std::vector<Range> box();
  std::uint16_t row(const Buffer& buffer);
  Where::Span span(std::string_view what, std::uint32_t high);
  bool starts_number();
  const Buffer& buffer_at(BufferId id) const { return (*names_.buffers)[id]; }
  std::optional<BufferId> find_buffer(std::string_view word) const;

  std::string_view text_;
  const Names& names_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace tmemsim
