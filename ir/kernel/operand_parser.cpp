#include "ir/kernel/operand_parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

namespace tmemsim {
namespace {

struct Operator {
  std::string_view sign;
  ExprOp op;
  int strength;  // C's precedence, stronger binds tighter
};
// Longer signs first, so that << is not read as <.
constexpr std::array<Operator, 16> operators{{
    {"<<", ExprOp::shl, 6}, {">>", ExprOp::shr, 6}, {"<=", ExprOp::le, 5}, {">=", ExprOp::ge, 5},
    {"==", ExprOp::eq, 4}, {"!=", ExprOp::ne, 4}, {"<", ExprOp::lt, 5}, {">", ExprOp::gt, 5},
    {"*", ExprOp::mul, 8}, {"/", ExprOp::div, 8}, {"%", ExprOp::mod, 8}, {"+", ExprOp::add, 7},
    {"-", ExprOp::sub, 7}, {"&", ExprOp::bit_and, 3}, {"^", ExprOp::bit_xor, 2}, {"|", ExprOp::bit_or, 1},
}};

constexpr std::array coordinates{ExprOp::tid, ExprOp::lane, ExprOp::warp, ExprOp::wg, ExprOp::cta, ExprOp::rank};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return starts_name(c) || is_digit(c); }

const Operator* operator_at(std::string_view text) {
  for (const Operator& candidate : operators) {
    if (text.substr(0, candidate.sign.size()) == candidate.sign) return &candidate;
  }
  return nullptr;
}

std::string_view space_article(Space space) {
  constexpr std::array<std::string_view, 4> names{"a global", "a shared", "a local", "a tmem"};
  return names[static_cast<std::size_t>(space)];
}

// Counts one level of nesting for as long as it lives.
class Nested {
 public:
  explicit Nested(int& level) : level_(level) { ++level_; }
  ~Nested() { --level_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& level_;
};

}  // namespace

bool is_reserved_name(std::string_view name) {
  return name == "word" || std::any_of(coordinates.begin(), coordinates.end(), [&](ExprOp op) { return spelling(op) == name; });
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && starts_name(name[0]) && std::all_of(name.begin(), name.end(), in_name);
}

// ---- Signs and words ----

void OperandParser::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else {
      return;
    }
  }
}

void OperandParser::fail(std::size_t at, std::string message, std::string hint) const {
  throw TextError(std::min(at, text_.size()), std::move(message), std::move(hint));
}

bool OperandParser::next_is(std::string_view sign) {
  skip_blanks();
  return text_.substr(at_, sign.size()) == sign;
}

bool OperandParser::accept(std::string_view sign) {
  if (!next_is(sign)) return false;
  at_ += sign.size();
  return true;
}

void OperandParser::expect(std::string_view sign, std::string_view after_what) {
  if (!accept(sign)) fail(at_, fmt::format("'{}' is missing {}", sign, after_what));
}

std::string_view OperandParser::peek_word() {
  skip_blanks();
  if (at_ == text_.size() || !starts_name(text_[at_])) return {};
  std::size_t end = at_ + 1;
  while (end < text_.size() && in_name(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

bool OperandParser::accept_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

std::string_view OperandParser::name(std::string_view what) {
  const std::string_view word = peek_word();
  if (word.empty()) fail(at_, fmt::format("{} is missing here", what));
  at_ += word.size();
  return word;
}

void OperandParser::expect_end() {
  if (!at_end()) fail(at_, fmt::format("nothing may follow here, but '{}' does", text_.substr(at_, 16)));
}

std::string_view OperandParser::run_of(bool (*belongs)(char)) {
  skip_blanks();
  const std::size_t begin = at_;
  while (at_ < text_.size() && belongs(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string OperandParser::quoted(std::string_view what) {
  const std::size_t begin = at();
  if (!accept("\"")) fail(begin, fmt::format("{} is missing here", what), "it stands in double quotes");
  std::string text;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c == '\\') {
      const char kind = at_ < text_.size() ? text_[at_++] : '\0';
      std::uint8_t code = 0;
      switch (kind) {
        case '"': case '\\': c = kind; break;
        case 'n': c = '\n'; break;
        case 't': c = '\t'; break;
        case 'r': c = '\r'; break;
        case 'x': {
          const std::string_view digits = text_.substr(at_, 2);
          const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
          if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) fail(at_, "two hexadecimal digits are missing after \\x");
          at_ += 2;
          c = static_cast<char>(code);
          break;
        }
        default: fail(at_ - 1, "there is no such escape in a text", "there are \\\" \\\\ \\n \\t \\r \\xNN");
      }
    }
    text += c;
  }
  if (at_ == text_.size()) fail(begin, "this text has no end", "a double quote is missing");
  ++at_;
  return text;
}

std::int64_t OperandParser::integer(std::string_view what, std::int64_t low, std::int64_t high) {
  const std::size_t begin = at();
  const Number value = number();
  const std::int64_t* whole = std::get_if<std::int64_t>(&value);
  if (whole == nullptr) fail(begin, fmt::format("{} must be an integer", what));
  if (*whole < low || *whole > high) fail(begin, fmt::format("{} must be {} to {}, not {}", what, low, high, *whole));
  return *whole;
}

std::uint64_t OperandParser::seed() {
  const std::size_t begin = at();
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error != std::errc()) fail(begin, "a seed must be 0 to 18446744073709551615");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

void OperandParser::unknown(std::size_t at, std::string_view word, std::string_view kind) const {
  std::vector<std::string_view> known;
  if (names_.buffers != nullptr) {
    for (const Buffer& buffer : *names_.buffers) known.push_back(buffer.name);
  }
  if (kind != "buffer") {
    if (names_.params != nullptr) {
      for (const auto& [param, value] : *names_.params) known.push_back(param);
    }
    for (const std::string& loop : names_.loops) known.push_back(loop);
    for (ExprOp op : coordinates) known.push_back(spelling(op));
    known.push_back("word");
  }
  const std::string near = closest(word, known);
  fail(at, fmt::format("there is no {} '{}'", kind, word), near.empty() ? "" : fmt::format("did you mean {}?", near));
}

// ---- Expressions ----

OperandParser::Deep OperandParser::checked(Deep deep, std::size_t at) const {
  if (deep.depth > deepest_expression) {
    fail(at, fmt::format("this expression has more than {} levels", deepest_expression), "split it");
  }
  return deep;
}

Expr OperandParser::expr() { return binary(1).expr; }

OperandParser::Deep OperandParser::binary(int weakest) {
  Deep left = unary();
  while (true) {
    skip_blanks();
    const Operator* op = operator_at(text_.substr(at_));
    if (op == nullptr || op->strength < weakest) return left;
    const std::size_t sign_at = at_;
    at_ += op->sign.size();
    const Deep right = binary(op->strength + 1);
    const Expr joined = Expr::binary(op->op, left.expr, right.expr);
    const int depth = joined.as_constant() ? 1 : 1 + std::max(left.depth, right.depth);
    left = checked({joined, depth}, sign_at);
  }
}

OperandParser::Deep OperandParser::unary() {
  const Nested level(nesting_);
  if (nesting_ > deepest_expression) fail(at_, fmt::format("this expression has more than {} levels", deepest_expression), "split it");
  const std::size_t sign_at = at();
  if (!accept("-")) return primary();
  const Deep of = unary();
  const Expr negative = Expr::binary(ExprOp::sub, Expr(0), of.expr);
  return checked({negative, negative.as_constant() ? 1 : of.depth + 1}, sign_at);
}

OperandParser::Deep OperandParser::primary() {
  const std::size_t begin = at();
  if (accept("(")) {
    const Deep inner = binary(1);
    expect(")", "after the expression");
    return inner;
  }
  if (begin < text_.size() && is_digit(text_[begin])) {
    const std::int64_t value = literal();
    if (value > std::numeric_limits<std::uint32_t>::max()) fail(begin, "this number does not fit in 32 bits");
    return {Expr(value)};
  }
  const std::string_view word = peek_word();
  if (word.empty()) fail(begin, "an integer expression is missing here");
  at_ += word.size();
  return named(begin, word);
}

OperandParser::Deep OperandParser::named(std::size_t begin, std::string_view word) {
  if (word == "word" && next_is("(")) return word_of_buffer();
  if (std::find(names_.loops.begin(), names_.loops.end(), word) != names_.loops.end()) return {Expr::loop(std::string(word))};
  if (names_.params != nullptr) {
    if (const auto found = names_.params->find(std::string(word)); found != names_.params->end()) {
      const std::int64_t value = found->second;
      if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::uint32_t>::max()) {
        fail(begin, fmt::format("{} = {} does not fit in 32 bits", word, value));
      }
      return {Expr(value)};
    }
  }
  for (ExprOp op : coordinates) {
    if (spelling(op) == word) return {Expr::coordinate(op)};
  }
  if (const auto id = find_buffer(word)) {
    if (buffer_at(*id).space == Space::local && next_is(".r[")) return one_register(*id);
    const bool in_memory = buffer_at(*id).space == Space::global || buffer_at(*id).space == Space::shared;
    fail(begin, fmt::format("'{}' is {} buffer, not a number", word, space_article(buffer_at(*id).space)),
         buffer_at(*id).space == Space::local ? fmt::format("a register of it is {}.r[0]", word)
         : in_memory                          ? fmt::format("a word of it is word({}, 0)", word)
                                              : std::string());
  }
  unknown(begin, word, "name");
}

OperandParser::Deep OperandParser::word_of_buffer() {
  expect("(", "after word");
  const std::size_t begin = at();
  const BufferId id = buffer();
  const Space space = buffer_at(id).space;
  if (space != Space::shared && space != Space::global) {
    fail(begin, fmt::format("word(..) reads shared or global memory, and '{}' is {} buffer", buffer_at(id).name, space_article(space)));
  }
  expect(",", "after the buffer of word(..)");
  const Deep index = binary(1);
  expect(")", "after word(..)");
  return checked({Expr::word(id, index.expr), index.depth + 1}, begin);
}

OperandParser::Deep OperandParser::one_register(BufferId id) {
  expect(".r[", "after the buffer");
  const std::uint16_t wanted = row(buffer_at(id));
  if (!next_is("]")) fail(at_, "an expression can hold one register only", fmt::format("{}.r[{}]", buffer_at(id).name, wanted));
  accept("]");
  return {Expr::reg(id, wanted)};
}

std::int64_t OperandParser::literal() {
  const std::size_t begin = at();
  int base = 10;
  const std::string_view prefix = text_.substr(at_, 2);
  if (prefix == "0x" || prefix == "0X") base = 16;
  if (prefix == "0b" || prefix == "0B") base = 2;
  if (base != 10) at_ += 2;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, base);
  const bool has_digits = end != text_.data() + at_ && text_.substr(at_, 1) != "-";
  if (!has_digits) fail(begin, fmt::format("digits are missing after '{}'", prefix));
  if (error != std::errc()) fail(begin, "this number does not fit in 64 bits");
  at_ = static_cast<std::size_t>(end - text_.data());
  if (at_ < text_.size() && in_name(text_[at_])) fail(at_, fmt::format("'{}' does not belong into this number", text_[at_]));
  return value;
}

std::int64_t OperandParser::constant(std::string_view what, std::int64_t low, std::int64_t high) {
  const std::size_t begin = at();
  const auto value = expr().as_constant();
  if (!value) fail(begin, fmt::format("{} must be a constant", what), "it may use numbers and parameters");
  if (*value < low || *value > high) fail(begin, fmt::format("{} must be {} to {}, not {}", what, low, high, *value));
  return *value;
}

// ---- Buffers and what they hold ----

std::optional<BufferId> OperandParser::find_buffer(std::string_view word) const {
  if (names_.buffers == nullptr) return std::nullopt;
  const auto found = std::find_if(names_.buffers->begin(), names_.buffers->end(), [&](const Buffer& b) { return b.name == word; });
  if (found == names_.buffers->end()) return std::nullopt;
  return static_cast<BufferId>(found - names_.buffers->begin());
}

BufferId OperandParser::buffer() {
  const std::size_t begin = at();
  const std::string_view word = name("the name of a buffer");
  const auto id = find_buffer(word);
  if (!id) unknown(begin, word, "buffer");
  return *id;
}

std::vector<Range> OperandParser::box() {
  std::vector<Range> box;
  if (!accept("[")) return box;
  do {
    Range range{expr(), std::nullopt};
    if (accept(":")) range.hi = expr();
    box.push_back(std::move(range));
  } while (accept(","));
  expect("]", "after the indices");
  return box;
}

Region OperandParser::region() {
  Region region;
  region.buffer = buffer();
  if (next_is(".r[")) fail(at_, "a region is wanted here, not registers", fmt::format("{0} or {0}[0:1]", buffer_at(region.buffer).name));
  region.box = box();
  return region;
}

Region OperandParser::region_in(std::initializer_list<Space> spaces, std::string_view wanted) {
  const std::size_t begin = at();
  const BufferId id = buffer();
  const Buffer& found = buffer_at(id);
  if (std::find(spaces.begin(), spaces.end(), found.space) == spaces.end()) {
    fail(begin, fmt::format("'{}' is {} buffer; {} is wanted here", found.name, space_article(found.space), wanted));
  }
  return {id, box()};
}

std::uint16_t OperandParser::row(const Buffer& buffer) {
  const std::size_t begin = at();
  const std::int64_t row = constant("a register", 0, most_register_rows - 1);
  if (row >= register_count(buffer)) {
    fail(begin, fmt::format("{0} has {1} registers a thread, so there is no {0}.r[{2}]", buffer.name, register_count(buffer), row));
  }
  return static_cast<std::uint16_t>(row);
}

Rows OperandParser::rows() {
  const std::size_t begin = at();
  Rows rows;
  rows.buffer = buffer();
  const Buffer& of = buffer_at(rows.buffer);
  if (of.space != Space::local) {
    fail(begin, fmt::format("'{}' is {} buffer; registers of a local buffer are wanted here", of.name, space_article(of.space)), "R.r[0:8]");
  }
  const auto add = [&](std::int64_t first, std::int64_t end) {
    if (static_cast<std::int64_t>(rows.rows.size()) + end - first > most_register_rows) {
      fail(begin, fmt::format("an operand holds at most {} registers", most_register_rows));
    }
    for (std::int64_t row = first; row < end; ++row) rows.rows.push_back(static_cast<std::uint16_t>(row));
  };
  if (!accept(".r[")) {
    if (next_is("[")) fail(at_, "registers are wanted here, not elements", fmt::format("{}.r[..]", of.name));
    add(0, register_count(of));
    return rows;
  }
  do {
    const std::size_t first_at = at();
    const std::int64_t first = row(of);
    if (!accept(":")) {
      add(first, first + 1);
      continue;
    }
    const std::int64_t end = constant("the end of the registers", 0, most_register_rows);
    if (end <= first) fail(first_at, fmt::format("{}:{} holds no register", first, end), "the end is not included");
    if (end > register_count(of)) {
      fail(first_at, fmt::format("{0} has {1} registers a thread, so there is no {0}.r[{2}]", of.name, register_count(of), end - 1));
    }
    add(first, end);
  } while (accept(","));
  expect("]", "after the registers");
  return rows;
}

Mem OperandParser::mem() {
  Region region = region_in({Space::shared, Space::global}, "a region of a shared or global buffer");
  Mem mem{region.buffer, std::move(region.box), std::nullopt};
  if (!mem.box.empty() || !accept("{")) return mem;
  const std::size_t begin = at();
  if (!accept_word("byte")) fail(begin, "'byte' is missing after '{'", fmt::format("{}{{byte: 16}}", buffer_at(mem.buffer).name));
  expect(":", "after byte");
  mem.byte = expr();
  expect("}", "after the byte offset");
  return mem;
}

TmemAddr OperandParser::tmem_addr() {
  TmemAddr addr;
  if (!accept("{")) {
    addr.cell = region_in({Space::tmem}, "a region of a tmem buffer");
    return addr;
  }
  const std::array<std::pair<std::string_view, Expr*>, 3> parts{{{"base", &addr.base}, {"lane", &addr.lane}, {"col", &addr.col}}};
  std::array<bool, 3> seen{};
  do {
    const std::size_t begin = at();
    const std::string_view key = name("base, lane or col");
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == key; });
    if (part == parts.end()) fail(begin, fmt::format("an address has no '{}'", key), "it has base, lane and col");
    bool& had = seen[static_cast<std::size_t>(part - parts.begin())];
    if (had) fail(begin, fmt::format("'{}' stands here twice", key));
    had = true;
    expect(":", "after the key");
    *part->second = expr();
  } while (accept(","));
  expect("}", "after the address");
  return addr;
}

Value OperandParser::value() {
  const std::size_t begin = at();
  const auto id = find_buffer(peek_word());
  if (id && buffer_at(*id).space == Space::local) {
    Rows registers = rows();
    skip_blanks();
    if (operator_at(text_.substr(at_)) == nullptr) return registers;
    go_back(begin);
  }
  return expr();
}

// ---- at ----

bool OperandParser::starts_number() {
  const char next = next_char();
  if (is_digit(next) || next == '(' || next == '-') return true;
  return names_.params != nullptr && names_.params->contains(std::string(peek_word()));
}

Where::Span OperandParser::span(std::string_view what, std::uint32_t high) {
  const std::size_t begin = at();
  Where::Span span;
  span.first = static_cast<std::uint32_t>(constant(what, 0, high));
  expect("..", "between the first and the last");
  span.last = static_cast<std::uint32_t>(constant(what, 0, high));
  if (span.last < span.first) {
    fail(begin, fmt::format("{}..{} holds nothing", span.first, span.last), "both ends are included, the smaller one first");
  }
  return span;
}

Where OperandParser::where() {
  constexpr std::uint32_t most_ctas = 1u << 20;
  constexpr std::string_view wanted = "[cta C] [warp W | warps A..B | warpgroup G] [lane L | lanes A..B | elect]";
  Where where;
  const auto one = [&](std::string_view what, std::uint32_t high) {
    const auto value = static_cast<std::uint32_t>(constant(what, 0, high));
    if (next_is("..")) fail(at_, fmt::format("{0} names one {0}", what), fmt::format("{0}s {1}..N names several", what, value));
    return value;
  };
  int level = 0;  // 1: cta, 2: warps, 3: lanes; they come in this order
  bool any = false;
  while (true) {
    const std::size_t begin = at();
    const std::string_view word = peek_word();
    // In the text form an operation may follow, and elect.sync is not `elect`.
    if (text_.substr(at_ + word.size(), 1) == ".") break;
    const int kind = word == "cta"                                              ? 1
                     : word == "warp" || word == "warps" || word == "warpgroup" ? 2
                     : word == "lane" || word == "lanes" || word == "elect"     ? 3
                                                                                : 0;
    if (kind == 0) break;
    if (kind <= level) fail(begin, fmt::format("'{}' cannot stand here", word), std::string(wanted));
    level = kind;
    any = true;
    at_ += word.size();
    if (word == "cta") {
      if (starts_number()) where.cta = one("cta", most_ctas);
    } else if (word == "warp") {
      const std::uint32_t warp = one("warp", 31);
      where.warps = Where::Span{warp, warp};
    } else if (word == "warps") {
      where.warps = span("warps", 31);
    } else if (word == "warpgroup") {
      where.warpgroup = one("warpgroup", 7);
    } else if (word == "lane") {
      const std::uint32_t lane = one("lane", 31);
      where.lanes = Where::Span{lane, lane};
    } else if (word == "lanes") {
      where.lanes = span("lanes", 31);
    } else {
      where.elect = true;
    }
  }
  if (!any) {
    const std::string near = closest(peek_word(), {"cta", "warp", "warps", "warpgroup", "lane", "lanes", "elect"});
    fail(at_, "threads are missing here", near.empty() ? std::string(wanted) : fmt::format("did you mean {}?", near));
  }
  return where;
}

// ---- Element values ----

Number OperandParser::number() {
  const std::size_t begin = at();
  const bool negative = accept("-");
  const std::size_t digits_at = at();
  const std::string_view word = peek_word();
  if (word == "inf" || word == "nan") {
    at_ += word.size();
    const double value = word == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    return negative ? -value : value;
  }
  if (!word.empty()) {
    const auto found = names_.params == nullptr ? decltype(names_.params->end()){} : names_.params->find(std::string(word));
    if (names_.params == nullptr || found == names_.params->end()) unknown(digits_at, word, "parameter");
    if (found->second == std::numeric_limits<std::int64_t>::min() && negative) fail(begin, "this number does not fit in 64 bits");
    at_ += word.size();
    return negative ? -found->second : found->second;
  }
  std::size_t end = at_;
  const bool prefixed = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X" || text_.substr(at_, 2) == "0b" || text_.substr(at_, 2) == "0B";
  while (end < text_.size() && is_digit(text_[end])) ++end;
  const bool fraction = !prefixed && end < text_.size() && (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E');
  if (end == at_ && !fraction) fail(begin, "a number is missing here");
  if (!fraction) {
    // The most negative number has no positive twin: read it with its sign.
    constexpr std::string_view least = "9223372036854775808";
    if (negative && text_.substr(at_, end - at_) == least) {
      at_ = end;
      return std::numeric_limits<std::int64_t>::min();
    }
    const std::int64_t value = literal();
    return negative ? -value : value;
  }
  double value = 0;
  const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (error == std::errc::invalid_argument) fail(begin, "a number is missing here");
  if (error == std::errc::result_out_of_range) fail(begin, "this number is beyond 64-bit floating point", "inf stands for infinity");
  at_ = static_cast<std::size_t>(stop - text_.data());
  if (at_ < text_.size() && in_name(text_[at_])) fail(at_, fmt::format("'{}' does not belong into this number", text_[at_]));
  return negative ? -value : value;
}

}  // namespace tmemsim
