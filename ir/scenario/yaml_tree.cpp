#include "ir/scenario/yaml_tree.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace tmemsim::scenario {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct Position {
  std::uint32_t line = 1, col = 1;
};

Position position_of(std::string_view text, std::size_t offset) {
  Position found;
  for (char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++found.line;
      found.col = 1;
    } else {
      ++found.col;
    }
  }
  return found;
}

std::size_t offset_of(std::string_view text, Position position) {
  std::size_t at = 0;
  for (std::uint32_t line = 1; line < position.line; ++line) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return text.size();
    ++at;
  }
  return std::min(text.size(), at + position.col - 1);
}

// Length of the well-formed UTF-8 sequence at `at`, or 0 (Unicode 15, table 3-7: no overlong forms, no surrogates).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool second = continues(at + 1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
    return second && continues(at + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool second = continues(at + 1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
    return second && continues(at + 2) && continues(at + 3) ? 4 : 0;
  }
  return 0;
}

struct TextProblem {
  std::size_t offset;
  std::string message, hint;
};

std::optional<TextProblem> problem_with_text(std::string_view text) {
  if (text.size() > largest_file)
    return TextProblem{0, fmt::format("the file has {} bytes; at most {} are read", text.size(), largest_file),
                       "put large arrays into .npy files"};
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c == 0) return TextProblem{at, "a NUL byte: this is no text file", "scenarios are YAML in UTF-8"};
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F)
      return TextProblem{at, fmt::format("control character 0x{:02x}", c), "remove it"};
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return TextProblem{at, fmt::format("byte 0x{:02x} is not valid UTF-8 here", c), "save the file as UTF-8"};
    at += length;
  }
  return std::nullopt;
}

std::string without_byte_order_mark(std::string text) {
  if (std::string_view(text).starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  return text;
}

// Builds the tree from the parser's events. Nesting is refused as it comes, before the parser goes down another level.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const std::vector<SourceFile>& files) : files_(files) {}

  Node take() { return std::move(root_); }
  bool empty() const { return documents_ == 0; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) fail(mark, "a second YAML document", "one scenario a file");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    no_anchor(mark, anchor);
    add(node(Node::Kind::null, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "YAML aliases are not read", "write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    no_anchor(mark, anchor);
    plain_tag(mark, tag);
    Node scalar = node(Node::Kind::scalar, mark);
    scalar.quoted = tag == "!";
    scalar.text = value;
    add(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(Node::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] void fail(const YAML::Mark& mark, std::string message, std::string hint) {
    const Node place = node(Node::Kind::null, mark);
    input_error(files_, {0, place.line, place.col}, std::move(message), std::move(hint));
  }

  static Node node(Node::Kind kind, const YAML::Mark& mark) {
    Node made;
    made.kind = kind;
    made.line = static_cast<std::uint32_t>(std::max(0, mark.line)) + 1;
    made.col = static_cast<std::uint32_t>(std::max(0, mark.column)) + 1;
    return made;
  }

  void no_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) fail(mark, "YAML anchors are not read", "write the value out where it is needed");
  }
  void plain_tag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, fmt::format("YAML tag {}", tag), "leave tags away");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    no_anchor(mark, anchor);
    plain_tag(mark, tag);
    if (open_.size() >= deepest_nesting)
      fail(mark, fmt::format("nested deeper than {} levels", deepest_nesting), "is a bracket never closed?");
    count(mark);
    open_.push_back(node(kind, mark));
  }
  void close() {
    Node done = std::move(open_.back());
    open_.pop_back();
    put(std::move(done));
  }
  void add(Node made) {
    if (++nodes_ > most_nodes) too_many(made);
    put(std::move(made));
  }
  void put(Node made) {
    if (open_.empty()) {
      root_ = std::move(made);
      return;
    }
    std::vector<Node>& items = open_.back().items;
    const bool is_value = open_.back().kind == Node::Kind::map && items.size() % 2 == 1;
    if (is_value && made.kind == Node::Kind::null) {  // the parser places an absent value at whatever comes next
      made.line = items.back().line;
      made.col = items.back().col;
    }
    items.push_back(std::move(made));
  }
  void count(const YAML::Mark& mark) {
    if (++nodes_ > most_nodes) too_many(node(Node::Kind::null, mark));
  }
  [[noreturn]] void too_many(const Node& place) {
    input_error(files_, {0, place.line, place.col}, fmt::format("more than {} values in one file", most_nodes),
                "put large arrays into .npy files");
  }

  const std::vector<SourceFile>& files_;
  std::vector<Node> open_;
  Node root_;
  std::size_t nodes_ = 0, documents_ = 0;
};

Node parse(const std::vector<SourceFile>& files) {
  TreeBuilder builder(files);
  try {
    std::istringstream stream(files.front().text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {}
  } catch (const YAML::Exception& error) {
    const bool known = !error.mark.is_null();
    const SourceLoc at =
        known ? SourceLoc{0, static_cast<std::uint32_t>(error.mark.line) + 1, static_cast<std::uint32_t>(error.mark.column) + 1}
              : SourceLoc{0, 1, 1};
    input_error(files, at, fmt::format("no valid YAML: {}", error.msg),
                "quote text that holds [ ] { } , : #; is a bracket or quote missing?");
  }
  if (builder.empty()) input_error(files, {0, 1, 1}, "the file is empty", "`tmemsim new NAME` prints a scenario to start from");
  return builder.take();
}

}  // namespace

Document::Document(std::string text, std::string file_name) {
  files_.push_back({std::move(file_name), without_byte_order_mark(std::move(text))});
  if (const auto problem = problem_with_text(files_.front().text)) {
    const Position place = position_of(files_.front().text, problem->offset);
    input_error(files_, {0, place.line, place.col}, problem->message, problem->hint);
  }
  root_ = parse(files_);
}

void Document::fail(const Node& node, std::string message, std::string hint) const {
  input_error(files_, at(node), std::move(message), std::move(hint));
}

void Document::fail_inside(const Node& scalar, std::size_t offset, std::string message, std::string hint) const {
  const std::string_view text = files_.front().text;
  const std::size_t begin = offset_of(text, {scalar.line, scalar.col}) + (scalar.quoted ? 1 : 0);
  SourceLoc place = at(scalar);
  // Escapes and folded lines make text and source differ: then the scalar's start has to do.
  if (offset <= scalar.text.size() && begin <= text.size() && text.substr(begin, scalar.text.size()) == scalar.text) {
    const Position found = position_of(text, begin + offset);
    place = {0, found.line, found.col};
  }
  input_error(files_, place, std::move(message), std::move(hint));
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a mapping";
    case Node::Kind::scalar:
      break;
  }
  return fmt::format("'{}'", shown(node.text));
}

std::string shown(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string safe;
  for (char c : text.substr(0, longest)) safe += c >= 0x20 && c < 0x7F ? c : '?';
  return text.size() > longest ? safe + "..." : safe;
}

}  // namespace tmemsim::scenario
