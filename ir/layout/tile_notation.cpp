// Text form of a TileLayout.
//
//   layout  = [ "Swizzle" "(" n "," n "," n ["," "inner" | "outer"] ")" [ "o" ] ] [ sum ]
//   sum     = [ sign ] term { sign term }          sign = "+" | "-"
//   term    = "S" iters | "R" iters | product [ "@" axis ]
//   layout  = name "(" [ argument { "," argument } ] ")"       a factory of factories.hpp
//   argument = [ key "=" ] ( expression | word | "word" | "(" list of expressions ")" )
//   iters   = "[" extents [ ":" strides ] "]"      without strides: row-major on m (S only)
//   extents = list of expressions, in parentheses or bare
//   strides = list of: expression [ "@" axis ] | axis | "axis" | ( expression , "axis" )
#include <algorithm>
#include <cctype>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/checked.hpp"
#include "ir/diagnostic.hpp"
#include "ir/layout/factories.hpp"
#include "ir/layout/tile_layout.hpp"

namespace tmemsim {
namespace {

using Names = std::map<std::string, std::int64_t>;

constexpr std::size_t most_text = 65536;
constexpr int deepest = 64;

struct Stride {
  std::int64_t value = 1;
  Axis axis = Axis::m;
};

class Parser {
 public:
  Parser(std::string_view text, const Names& names) : text_(text), names_(names) {}

  TileLayout layout() {
    if (text_.size() > most_text) fail(0, fmt::format("the notation is longer than {} characters", most_text));
    TileLayout result;
    if (is_factory(peek_word())) {
      result = factory();
    } else if (take_word("Swizzle")) {
      result.swizzle = swizzle();
      if (take_word("o") || take('.')) {
        sum(result);
      } else {
        need_end();
        result.shard.push_back(
            {std::int64_t{1} << (result.swizzle->per_element + result.swizzle->swizzle_len + result.swizzle->atom_len), 1,
             Axis::m});
      }
    } else {
      sum(result);
    }
    need_end();
    std::erase_if(result.offset, [](const AxisOffset& offset) { return offset.value == 0; });
    std::sort(result.offset.begin(), result.offset.end(),
              [](const AxisOffset& a, const AxisOffset& b) { return a.axis < b.axis; });
    if (auto reason = problem_with(result)) fail(problem_offset(*reason), reason->text, reason->iter);
    return result;
  }

  struct Failure {
    Reason reason;
  };

 private:
  [[noreturn]] void fail(std::size_t offset, std::string message, std::optional<std::size_t> iter = {}) {
    throw Failure{Reason{std::move(message), iter, {}, offset}};
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool next_is(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  void need(char c, std::string_view where) {
    if (!take(c)) fail(at_, fmt::format("expected '{}' {}", c, where));
  }
  void need_end() {
    skip_space();
    if (at_ != text_.size()) fail(at_, fmt::format("unexpected '{}' after the layout", text_[at_]));
  }

  static bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

  std::string_view peek_word() {
    skip_space();
    std::size_t end = at_;
    if (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) return {};
    while (end < text_.size() && word_char(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view word) {
    if (peek_word() != word) return false;
    at_ += word.size();
    return true;
  }
  bool next_is_iters(char letter) {
    const std::size_t start = at_;
    const bool found = take_word(std::string_view(&letter, 1)) && next_is('[');
    at_ = start;
    return found;
  }

  Axis axis_at(std::size_t start, std::string_view word) {
    if (const auto axis = axis_named(word)) return *axis;
    std::vector<std::string_view> known;
    for (const AxisFacts& row : axis_table) known.push_back(row.name);
    const std::string near = closest(word, known);
    if (word.empty()) fail(start, "expected the name of an axis");
    fail(start, near.empty() ? fmt::format("'{}' is no axis; the axes are {}", word, fmt::join(known, ", "))
                             : fmt::format("'{}' is no axis; did you mean {}?", word, near));
  }
  Axis axis() {
    const std::string_view word = peek_word();
    const std::size_t start = at_;
    at_ += word.size();
    return axis_at(start, word);
  }
  std::optional<std::string_view> quoted() {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return std::nullopt;
    const char quote = text_[at_];
    const std::size_t start = at_ + 1;
    const std::size_t end = text_.find(quote, start);
    if (end == std::string_view::npos) fail(at_, "the quoted word does not end");
    at_ = end + 1;
    return text_.substr(start, end - start);
  }
  std::optional<Axis> quoted_axis() {
    skip_space();
    const std::size_t start = at_ + 1;
    const auto word = quoted();
    if (!word) return std::nullopt;
    return axis_at(start, *word);
  }

  // Integer expressions.
  std::int64_t number() {
    const std::size_t start = at_;
    std::int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      const auto scaled = checked_mul(value, 10);
      const auto next = scaled ? checked_add(*scaled, text_[at_] - '0') : scaled;
      if (!next) fail(start, "the number exceeds 64 bits");
      value = *next;
      ++at_;
    }
    if (at_ < text_.size() && word_char(text_[at_])) fail(at_, fmt::format("unexpected '{}' in a number", text_[at_]));
    return value;
  }
  std::int64_t factor() {
    if (++depth_ > deepest) fail(at_, "the expression is nested too deeply");
    skip_space();
    const std::size_t start = at_;
    std::int64_t value = 0;
    if (take('-')) {
      const auto negated = checked_sub(0, factor());
      if (!negated) fail(start, "the number exceeds 64 bits");
      value = *negated;
    } else if (take('(')) {
      value = expression();
      need(')', "to close the parenthesis");
    } else if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      value = number();
    } else {
      value = named(start);
    }
    --depth_;
    return value;
  }
  std::int64_t named(std::size_t start) {
    const std::string_view word = peek_word();
    if (word.empty())
      fail(start, at_ < text_.size() ? fmt::format("expected an integer, found '{}'", text_[at_]) : "expected an integer");
    const auto found = names_.find(std::string(word));
    if (found == names_.end()) {
      std::vector<std::string_view> known;
      for (const auto& [key, unused] : names_) known.push_back(key);
      const std::string near = closest(word, known);
      fail(start, near.empty() ? fmt::format("'{}' is not a known name", word)
                               : fmt::format("'{}' is not a known name; did you mean {}?", word, near));
    }
    at_ += word.size();
    return found->second;
  }
  std::int64_t product() {
    std::int64_t value = factor();
    for (;;) {
      skip_space();
      const std::size_t start = at_;
      std::optional<std::int64_t> next;
      if (take('*')) {
        next = checked_mul(value, factor());
      } else if (take('/')) {
        next = divided(value, factor(), start, false);
      } else if (take('%')) {
        next = divided(value, factor(), start, true);
      } else {
        return value;
      }
      if (!next) fail(start, "the result exceeds 64 bits");
      value = *next;
    }
  }
  std::optional<std::int64_t> divided(std::int64_t a, std::int64_t b, std::size_t start, bool rest) {
    if (b == 0) fail(start, "division by zero");
    if (b == -1) return rest ? std::int64_t{0} : checked_sub(0, a);
    return rest ? a % b : a / b;
  }
  std::int64_t expression() {
    std::int64_t value = product();
    for (;;) {
      skip_space();
      const std::size_t start = at_;
      std::optional<std::int64_t> next;
      if (take('+')) {
        next = checked_add(value, product());
      } else if (take('-')) {
        next = checked_sub(value, product());
      } else {
        return value;
      }
      if (!next) fail(start, "the sum exceeds 64 bits");
      value = *next;
    }
  }

  // "(" is either a list or the start of an expression such as (n+1)*2: a list is followed by ":" or "]".
  bool parenthesised_list() {
    if (!next_is('(')) return false;
    int depth = 0;
    for (std::size_t k = at_; k < text_.size(); ++k) {
      if (text_[k] == '(') ++depth;
      if (text_[k] == ')' && --depth == 0) {
        do { ++k; } while (k < text_.size() && std::isspace(static_cast<unsigned char>(text_[k])));
        return k >= text_.size() || text_[k] == ':' || text_[k] == ']';
      }
    }
    fail(at_, "this parenthesis is never closed");
  }
  template <class Item>
  void list(Item item) {
    const bool closed = parenthesised_list();
    if (closed) {
      need('(', "to open the list");
      if (take(')')) return;
    }
    do {
      if (closed && next_is(')')) break;  // (8,) is a list of one
      item();
    } while (take(','));
    if (closed) need(')', "to close the list");
  }

  Stride stride() {
    if (const auto axis = quoted_axis()) return {1, *axis};
    const std::string_view word = peek_word();
    if (!word.empty() && !names_.count(std::string(word)) && axis_named(word)) {
      at_ += word.size();
      return {1, *axis_named(word)};
    }
    if (next_is('(')) {
      const std::size_t start = at_;
      ++at_;
      const std::int64_t value = expression();
      if (take(',')) {
        const auto quoted = quoted_axis();
        const Axis on = quoted ? *quoted : axis();
        need(')', "after the axis");
        return {value, on};
      }
      at_ = start;
    } else if (!word.empty() && !names_.count(std::string(word))) {
      axis_at(at_, word);
    }
    const std::int64_t value = expression();
    return {value, take('@') ? axis_after_at() : Axis::m};
  }
  Axis axis_after_at() {
    const auto quoted = quoted_axis();
    return quoted ? *quoted : axis();
  }

  std::vector<Iter> iters(bool strides_needed) {
    need('[', "after the letter");
    const std::size_t start = at_;
    std::vector<Iter> result;
    if (take(']')) return result;
    list([&] {
      skip_space();
      const std::size_t where = at_;
      const std::int64_t extent = expression();
      if (extent < 1) fail(where, fmt::format("extent {}; extents are at least 1", extent), result.size());
      places_.push_back(where);
      result.push_back({extent, 0, Axis::m});
    });
    if (take(':')) {
      skip_space();
      const std::size_t where = at_;
      std::size_t count = 0;
      list([&] {
        skip_space();
        const std::size_t here = at_;
        const Stride next = stride();
        if (count == result.size()) fail(here, fmt::format("more strides than the {} extents", result.size()));
        result[count].stride = next.value;
        result[count].axis = next.axis;
        ++count;
      });
      if (count != result.size()) fail(where, fmt::format("{} strides for {} extents", count, result.size()));
    } else {
      if (strides_needed) fail(at_, "expected ':' and the strides");
      compact(result, start);
    }
    need(']', "to close the iters");
    return result;
  }
  void compact(std::vector<Iter>& iters, std::size_t start) {
    std::int64_t stride = 1;
    for (std::size_t k = iters.size(); k > 0; --k) {
      iters[k - 1].stride = stride;
      const auto next = checked_mul(stride, iters[k - 1].extent);
      if (!next) fail(start, "the product of the extents exceeds 64 bits", k - 1);
      stride = *next;
    }
  }

  void add_offset(TileLayout& layout, Axis axis, std::int64_t value, std::size_t start) {
    for (AxisOffset& offset : layout.offset) {
      if (offset.axis != axis) continue;
      const auto sum = checked_add(offset.value, value);
      if (!sum) fail(start, fmt::format("the offsets on axis {} exceed 64 bits", name(axis)));
      offset.value = *sum;
      return;
    }
    layout.offset.push_back({axis, value});
  }
  void sum(TileLayout& layout) {
    bool shard_seen = false;
    bool negative = take('-');
    do {
      skip_space();
      const std::size_t start = at_;
      if (next_is_iters('S')) {
        if (negative) fail(start, "a shard cannot be subtracted");
        if (shard_seen) fail(start, "a layout has one shard");
        shard_seen = true;
        take_word("S");
        layout.shard = iters(false);
      } else if (next_is_iters('R')) {
        if (negative) fail(start, "a replica cannot be subtracted; give it negative strides");
        take_word("R");
        const std::vector<Iter> more = iters(true);
        layout.replica.insert(layout.replica.end(), more.begin(), more.end());
      } else {
        offset_term(layout, negative, start, shard_seen);
      }
      if (take('+')) {
        negative = false;
      } else if (take('-')) {
        negative = true;
      } else {
        break;
      }
    } while (true);
    if (!shard_seen) fail(at_, "expected a shard S[...]");
  }
  // A parenthesis with an axis in it: (1@laneid + 2@warpid + 64).
  bool next_is_offset_sum() {
    if (!next_is('(')) return false;
    int depth = 0;
    for (std::size_t k = at_; k < text_.size(); ++k) {
      if (text_[k] == '(') ++depth;
      if (text_[k] == ')' && --depth == 0) return false;
      if (text_[k] == '@') return true;
    }
    return false;
  }
  void offset_sum(TileLayout& layout, bool negative, bool shard_seen) {
    if (++depth_ > deepest) fail(at_, "the offset is nested too deeply");
    need('(', "to open the offsets");
    bool subtracted = take('-');
    do {
      skip_space();
      offset_term(layout, negative != subtracted, at_, shard_seen);
      subtracted = next_is('-');
    } while (take('+') || take('-'));
    need(')', "to close the offsets");
    --depth_;
  }
  void offset_term(TileLayout& layout, bool negative, std::size_t start, bool shard_seen) {
    if (next_is_offset_sum()) return offset_sum(layout, negative, shard_seen);
    const std::string_view word = peek_word();
    if (!word.empty() && !names_.count(std::string(word))) {
      fail(start, shard_seen ? fmt::format("expected R[...] or an offset such as 5@warpid, found '{}'", word)
                             : fmt::format("expected a shard such as S[(128,8):(1@TLane,1@TCol)], found '{}'", word));
    }
    const std::int64_t magnitude = product();
    const auto value = negative ? checked_sub(0, magnitude) : std::optional(magnitude);
    if (!value) fail(start, "the offset exceeds 64 bits");
    add_offset(layout, take('@') ? axis_after_at() : Axis::m, *value, start);
  }

  int small(std::string_view what) {
    skip_space();
    const std::size_t start = at_;
    const std::int64_t value = expression();
    if (value < 0 || value > 62) fail(start, fmt::format("{} is {}; it lies between 0 and 62", what, value));
    return static_cast<int>(value);
  }
  Swizzle swizzle() {
    Swizzle result;
    skip_space();
    const std::size_t start = at_;
    need('(', "after Swizzle");
    result.per_element = small("per_element");
    need(',', "after per_element");
    result.swizzle_len = small("swizzle_len");
    need(',', "after swizzle_len");
    result.atom_len = small("atom_len");
    if (take(',')) {
      if (take_word("outer")) {
        result.inner = false;
      } else if (!take_word("inner")) {
        fail(at_, "expected inner or outer");
      }
    }
    need(')', "to close Swizzle");
    TileLayout alone;
    alone.swizzle = result;
    if (const auto reason = problem_with(alone)) fail(start, reason->text);
    return result;
  }

  TileLayout factory() {
    const std::size_t start = at_;
    FactoryCall call;
    call.name = peek_word();
    at_ += call.name.size();
    need('(', "after the name");
    while (!next_is(')')) {
      const std::size_t before = at_;
      const std::string key(peek_word());
      at_ += key.size();
      if (!key.empty() && take('=')) {
        if (!call.named.emplace(key, value()).second) fail(before, fmt::format("'{}' is given twice", key));
      } else {
        at_ = before;
        call.values.push_back(value());
      }
      if (!take(',')) break;
    }
    need(')', "to close the arguments");
    const auto made = call_factory(call);
    if (!made) fail(start, made.reason().text);
    return *made;
  }
  FactoryValue value() {
    skip_space();
    if (const auto text = quoted()) return std::string(*text);
    // A word that is no name and no number: f16, 16x64b, D.
    std::size_t end = at_;
    bool letters = false;
    for (; end < text_.size() && word_char(text_[end]); ++end)
      letters = letters || std::isalpha(static_cast<unsigned char>(text_[end]));
    const std::string word(text_.substr(at_, end - at_));
    if (letters && !names_.count(word)) {
      at_ = end;
      return word;
    }
    if (!next_is_tuple()) return expression();
    std::vector<std::int64_t> tuple;
    take('(');
    while (!next_is(')')) {
      tuple.push_back(expression());
      if (!take(',')) break;
    }
    need(')', "to close the tuple");
    return tuple;
  }
  // A parenthesis with a comma in it.
  bool next_is_tuple() {
    if (!next_is('(')) return false;
    int depth = 0;
    for (std::size_t k = at_; k < text_.size(); ++k) {
      if (text_[k] == '(') ++depth;
      if (text_[k] == ')' && --depth == 0) return false;
      if (text_[k] == ',' && depth == 1) return true;
    }
    return false;
  }

  std::size_t problem_offset(const Reason& reason) const {
    return reason.iter && *reason.iter < places_.size() ? places_[*reason.iter] : 0;
  }

  std::string_view text_;
  const Names& names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::size_t> places_;  // where the extent of each iter stands, in the order of the text
};

std::string list_text(const std::vector<std::string>& items) {
  return items.size() == 1 ? items.front() : fmt::format("({})", fmt::join(items, ","));
}

std::string iters_text(char letter, const std::vector<Iter>& iters) {
  if (iters.empty()) return fmt::format("{}[]", letter);
  std::vector<std::string> extents;
  std::vector<std::string> strides;
  for (const Iter& iter : iters) {
    extents.push_back(std::to_string(iter.extent));
    strides.push_back(iter.axis == Axis::m ? std::to_string(iter.stride) : fmt::format("{}@{}", iter.stride, name(iter.axis)));
  }
  return fmt::format("{}[{}:{}]", letter, list_text(extents), list_text(strides));
}

std::string offset_text(const AxisOffset& offset) {
  const std::uint64_t magnitude =
      offset.value < 0 ? 0 - static_cast<std::uint64_t>(offset.value) : static_cast<std::uint64_t>(offset.value);
  return fmt::format(" {} {}{}", offset.value < 0 ? '-' : '+', magnitude,
                     offset.axis == Axis::m ? "" : fmt::format("@{}", name(offset.axis)));
}

}  // namespace

Result<TileLayout> parse_layout(std::string_view notation, const Names& names) {
  try {
    return Parser(notation, names).layout();
  } catch (const Parser::Failure& failure) { return failure.reason; }
}

Result<TileLayout> parse_layout(std::string_view notation) { return parse_layout(notation, {}); }

std::string to_string(const TileLayout& layout) {
  std::string text;
  if (layout.swizzle) {
    const Swizzle& swizzle = *layout.swizzle;
    text = fmt::format("Swizzle({},{},{}{}) o ", swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len,
                       swizzle.inner ? "" : ",outer");
  }
  text += iters_text('S', layout.shard);
  if (!layout.replica.empty()) text += " + " + iters_text('R', layout.replica);
  for (const AxisOffset& offset : layout.offset) text += offset_text(offset);
  return text;
}

}  // namespace tmemsim
