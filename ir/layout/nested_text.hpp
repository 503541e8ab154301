// Parser of int tuples, nested layouts, tiles and composed layouts. Used by int_tuple.cpp and nested_text.cpp only.
#pragma once

#include <string_view>

#include "ir/layout/nested.hpp"

namespace tmemsim {

class NestedParser {
 public:
  explicit NestedParser(std::string_view text);

  IntTuple int_tuple();
  NestedLayout layout();
  AnyLayout any_layout();
  Tile tile();
  void need_end();

  struct Failure {
    Reason reason;
  };

 private:
  [[noreturn]] void fail(std::size_t offset, std::string message);
  void skip_space();
  bool next_is(char c);
  bool take(char c);
  bool take(std::string_view word);
  void need(char c, std::string_view where);
  void enter();
  std::int64_t integer();
  int small(std::string_view what);
  std::vector<int> path_in_brackets();
  AnyLayout part();
  std::vector<Tile::Entry> entries();

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace tmemsim
