// The text of operands: expressions, regions, registers, addresses, `at`. Scenarios and the text form of kernels share it.
//
// Expressions have C's precedence and only integers; names are parameters, loop variables, tid lane warp wg cta rank,
// word(buf, i), and registers R.r[0]. Literals are decimal, 0x.. or 0b.., up to 32 bits. A text has at most 4096 characters
// and an expression at most 64 levels, so that nothing that walks it can run out of stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim {

inline constexpr std::size_t longest_operand = 4096;
inline constexpr int deepest_expression = 64;
inline constexpr std::int64_t most_register_rows = 4096;  // of one thread; no register operand names a row beyond

// What names in an operand can mean. Parameters and loops may be missing.
struct Names {
  const std::vector<Buffer>* buffers = nullptr;
  const std::map<std::string, std::int64_t>* params = nullptr;
  std::vector<std::string> loops;
};

// What is wrong with a text, and where: a byte offset into it. Who knows the file turns it into an InputError.
class TextError : public std::exception {
 public:
  TextError(std::size_t at, std::string what_is_wrong, std::string what_works = {})
      : offset(at), message(std::move(what_is_wrong)), hint(std::move(what_works)) {}
  const char* what() const noexcept override { return message.c_str(); }

  std::size_t offset;
  std::string message, hint;
};

// Each reads the whole text and throws TextError.
Expr parse_expr(std::string_view text, const Names& names);
Region parse_region(std::string_view text, const Names& names);        // "acc[0:64, 4]", "A"; any space
Rows parse_rows(std::string_view text, const Names& names);            // "R.r[3]", "R.r[0:8]", "R.r[0,2,4:8]"; "R": all of them
Mem parse_mem(std::string_view text, const Names& names);              // region of a shared or global buffer, "A{byte: 4*lane}"
TmemAddr parse_tmem_addr(std::string_view text, const Names& names);   // region of a tmem buffer, "{base: word(slot, 0), col: 4}"
Value parse_value(std::string_view text, const Names& names);          // registers where the text is nothing else: "R.r[0:4]"
Where parse_where(std::string_view text, const Names& names);          // "cta", "cta 1 warps 0..3 elect", "warpgroup 0 lanes 0..7"
Number parse_number(std::string_view text, const Names& names);        // "3", "-0x10", "1.5e-3", "inf", "nan", a parameter

// Texts that parse back to the same operand.
std::string to_text(const Expr& expr, const std::vector<Buffer>& buffers);
std::string to_text(const Region& region, const std::vector<Buffer>& buffers);
std::string to_text(const Rows& rows, const std::vector<Buffer>& buffers);
std::string to_text(const Mem& mem, const std::vector<Buffer>& buffers);
std::string to_text(const TmemAddr& addr, const std::vector<Buffer>& buffers);
std::string to_text(const Value& value, const std::vector<Buffer>& buffers);
std::string to_text(const Where& where);
std::string to_text(const Number& number);

// Names that mean something else in an expression, so that no buffer, parameter or loop may have them.
bool is_reserved_name(std::string_view name);
// Letters, digits and _, not beginning with a digit, at most 64 characters.
bool is_plain_name(std::string_view name);

}  // namespace tmemsim
