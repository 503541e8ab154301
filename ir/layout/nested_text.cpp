#include "ir/layout/nested_text.hpp"

#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/checked.hpp"

namespace tmemsim {
namespace {

constexpr std::size_t most_text = 65536;
constexpr int deepest = 64;
constexpr int most_basis = 1000;

template <class T, class Read>
Result<T> parsed(std::string_view text, Read read) {
  try {
    NestedParser parser(text);
    T value = read(parser);
    parser.need_end();
    return value;
  } catch (const NestedParser::Failure& failure) { return failure.reason; }
}

}  // namespace

NestedParser::NestedParser(std::string_view text) : text_(text) {
  if (text.size() > most_text) fail(0, fmt::format("the text is longer than {} characters", most_text));
}

void NestedParser::fail(std::size_t offset, std::string message) { throw Failure{Reason{std::move(message), {}, {}, offset}}; }

void NestedParser::skip_space() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
}
bool NestedParser::next_is(char c) {
  skip_space();
  return at_ < text_.size() && text_[at_] == c;
}
bool NestedParser::take(char c) {
  if (!next_is(c)) return false;
  ++at_;
  return true;
}
bool NestedParser::take(std::string_view word) {
  skip_space();
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}
void NestedParser::need(char c, std::string_view where) {
  if (!take(c)) fail(at_, fmt::format("expected '{}' {}", c, where));
}
void NestedParser::need_end() {
  skip_space();
  if (at_ != text_.size()) fail(at_, fmt::format("unexpected '{}'", text_[at_]));
}
void NestedParser::enter() {
  if (++depth_ > deepest) fail(at_, "nested too deeply");
}

std::int64_t NestedParser::integer() {
  skip_space();
  const std::size_t start = at_;
  const bool negative = take('-');
  std::int64_t value = 0;
  const std::size_t digits = at_;
  while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
    const auto scaled = checked_mul(value, 10);
    const auto next = scaled ? checked_add(*scaled, text_[at_] - '0') : scaled;
    if (!next) fail(start, "the number exceeds 64 bits");
    value = *next;
    ++at_;
  }
  if (at_ == digits)
    fail(start, at_ < text_.size() ? fmt::format("expected an integer, found '{}'", text_[at_]) : "expected an integer");
  return negative ? -value : value;
}

int NestedParser::small(std::string_view what) {
  skip_space();
  const std::size_t start = at_;
  const std::int64_t value = integer();
  if (value < 0 || value > 62) fail(start, fmt::format("{} is {}; it lies between 0 and 62", what, value));
  return static_cast<int>(value);
}

IntTuple NestedParser::int_tuple() {
  skip_space();
  if (take('(')) {
    enter();
    std::vector<IntTuple> items;
    while (!next_is(')')) {
      items.push_back(int_tuple());
      if (!take(',')) break;
    }
    need(')', "to close the tuple");
    if (items.empty()) fail(at_ - 1, "a tuple has at least one mode");
    --depth_;
    return IntTuple::of(std::move(items));
  }
  if (take('*')) return IntTuple::kept();
  IntTuple leaf = next_is('E') ? IntTuple(1) : take('?') ? IntTuple::dynamic() : IntTuple(integer());
  while (at_ < text_.size() && text_[at_] == 'E') {
    ++at_;
    const std::size_t start = at_;
    const std::int64_t mode = integer();
    if (mode < 0 || mode > most_basis || leaf.path.size() > static_cast<std::size_t>(deepest))
      fail(start, "no such basis element");
    leaf.path.push_back(static_cast<int>(mode));
  }
  return leaf;
}

NestedLayout NestedParser::layout() {
  skip_space();
  const std::size_t start = at_;
  NestedLayout result;
  result.shape = int_tuple();
  need(':', "between shape and stride");
  skip_space();
  const std::size_t stride = at_;
  result.stride = int_tuple();
  if (!congruent(result.shape, result.stride)) {
    fail(stride,
         fmt::format("the stride {} is not congruent to the shape {}", to_string(result.stride), to_string(result.shape)));
  }
  const auto good = make_layout(result.shape, result.stride);
  if (!good) fail(start, good.reason().text);
  return result;
}

std::vector<int> NestedParser::path_in_brackets() {
  need('[', "before the mode");
  std::vector<int> path;
  do { path.push_back(small("mode")); } while (take(','));
  need(']', "after the mode");
  return path;
}

// One layout of a chain: nested, swizzle, coordinate swizzle, or a chain in brackets.
AnyLayout NestedParser::part() {
  if (take("CS<")) {
    CoordSwizzle swizzle;
    swizzle.bits = small("bits");
    need(',', "after the bits");
    swizzle.row_bit = small("row bit");
    need(',', "after the row bit");
    swizzle.row = path_in_brackets();
    need(',', "after the row mode");
    swizzle.column_bit = small("column bit");
    need(',', "after the column bit");
    swizzle.column = path_in_brackets();
    need('>', "to close CS");
    return swizzle;
  }
  skip_space();
  const std::size_t start = at_;
  if (take("S<")) {
    IndexSwizzle swizzle;
    swizzle.bits = small("mask bits");
    need(',', "after the mask bits");
    swizzle.base = small("base");
    need(',', "after the base");
    swizzle.shift = small("shift");
    need('>', "to close S");
    if (swizzle.bits + swizzle.base + swizzle.shift > 62) fail(start, "the period of the swizzle exceeds 64 bits");
    if (swizzle.shift < swizzle.bits) fail(start, "the shift of a swizzle is at least its mask bits");
    return swizzle;
  }
  if (take('[')) {
    enter();
    AnyLayout inside = any_layout();
    need(']', "to close the composed layout");
    --depth_;
    return inside;
  }
  return layout();
}

AnyLayout NestedParser::any_layout() {
  AnyLayout inner = part();
  if (!take('o')) return inner;
  ComposedLayout composed;
  composed.inner = std::move(inner);
  composed.offset = int_tuple();
  need('o', "after the offset");
  skip_space();
  const std::size_t start = at_;
  composed.outer = part();
  if (std::holds_alternative<IndexSwizzle>(composed.outer) || std::holds_alternative<CoordSwizzle>(composed.outer)) {
    fail(start, "the outer layout of a composition has a shape; a swizzle has none");
  }
  return std::make_shared<const ComposedLayout>(std::move(composed));
}

std::vector<Tile::Entry> NestedParser::entries() {
  need('[', "to open the tile");
  enter();
  std::vector<Tile::Entry> modes;
  do {
    if (take('*')) {
      modes.push_back({std::monostate{}});
    } else if (next_is('[')) {
      modes.push_back({entries()});
    } else {
      skip_space();
      const std::size_t start = at_;
      const IntTuple shape = int_tuple();
      at_ = next_is(':') ? start : at_;
      if (at_ == start) {
        modes.push_back({layout()});
      } else {
        const auto compact = make_layout(shape);
        if (!compact) fail(start, compact.reason().text);
        modes.push_back({*compact});
      }
    }
  } while (take('|'));
  need(']', "to close the tile");
  --depth_;
  return modes;
}

Tile NestedParser::tile() { return Tile{entries()}; }

Result<IntTuple> parse_int_tuple(std::string_view text) {
  return parsed<IntTuple>(text, [](NestedParser& parser) { return parser.int_tuple(); });
}
Result<NestedLayout> parse_nested(std::string_view text) {
  return parsed<NestedLayout>(text, [](NestedParser& parser) { return parser.layout(); });
}
Result<AnyLayout> parse_any_layout(std::string_view text) {
  return parsed<AnyLayout>(text, [](NestedParser& parser) { return parser.any_layout(); });
}
Result<Tile> parse_tile(std::string_view text) {
  return parsed<Tile>(text, [](NestedParser& parser) { return parser.tile(); });
}

std::string to_string(const NestedLayout& layout) { return to_string(layout.shape) + ":" + to_string(layout.stride); }

namespace {

std::string text_of(const std::vector<Tile::Entry>& modes) {
  std::vector<std::string> texts;
  for (const Tile::Entry& entry : modes) {
    if (const auto* layout = std::get_if<NestedLayout>(&entry.what))
      texts.push_back(to_string(*layout));
    else if (const auto* inside = std::get_if<std::vector<Tile::Entry>>(&entry.what))
      texts.push_back(text_of(*inside));
    else
      texts.emplace_back("*");
  }
  return fmt::format("[{}]", fmt::join(texts, "|"));
}

std::string bracketed(const AnyLayout& layout) {
  const std::string text = to_string(layout);
  return std::holds_alternative<std::shared_ptr<const ComposedLayout>>(layout) ? "[" + text + "]" : text;
}

}  // namespace

std::string to_string(const Tile& tile) { return text_of(tile.modes); }

std::string to_string(const AnyLayout& layout) {
  if (const auto* nested = std::get_if<NestedLayout>(&layout)) return to_string(*nested);
  if (const auto* s = std::get_if<IndexSwizzle>(&layout)) return fmt::format("S<{},{},{}>", s->bits, s->base, s->shift);
  if (const auto* s = std::get_if<CoordSwizzle>(&layout)) {
    return fmt::format("CS<{},{},[{}],{},[{}]>", s->bits, s->row_bit, fmt::join(s->row, ","), s->column_bit,
                       fmt::join(s->column, ","));
  }
  const ComposedLayout& composed = *std::get<std::shared_ptr<const ComposedLayout>>(layout);
  return fmt::format("{}o{}o{}", bracketed(composed.inner), to_string(composed.offset), bracketed(composed.outer));
}

bool same(const AnyLayout& a, const AnyLayout& b) { return to_string(a) == to_string(b); }

}  // namespace tmemsim
