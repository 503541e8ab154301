#include "ir/scenario/read_program.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "ir/op_list.hpp"
#include "ir/scenario/read_op.hpp"
#include "ir/scenario/words.hpp"

namespace tmemsim::scenario {
namespace {

using StmtNode = decltype(Stmt::node);

constexpr std::string_view kinds[] = {"do", "for", "while", "if", "delay"};
constexpr std::int64_t longest_delay = 1'000'000;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The part of `text` behind the operation's name: empty, or ".lt.f32"; nothing when it is another operation.
std::optional<std::string_view> behind_name(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  const std::string_view rest = text.substr(name.size());
  if (!rest.empty() && rest[0] != '.') return std::nullopt;
  return rest;
}

void check_keys(const Document& document, const Mapping& statement, std::string_view op,
                const std::vector<std::string_view>& known) {
  for (const Mapping::Entry& entry : statement.entries())
    if (std::find(known.begin(), known.end(), entry.key->text) == known.end())
      document.fail(*entry.key, fmt::format("{} has no key {}", op, describe(*entry.key)),
                    suggestion(entry.key->text, known, "the keys"));
}

template <class List, class Op>
StmtNode read_as(const Reader& reader, const Mapping& statement, const Suffix& suffix) {
  std::vector<std::string_view> known = keys_of<Op>();
  known.insert(known.end(), {"do", "at", "label"});
  if (std::is_same_v<List, MachineOps>) known.push_back("means");
  check_keys(reader.document(), statement, Op::row.name, known);
  return typename List::Any(read_op<Op>(reader, statement, suffix));
}

std::string operation_hint(std::string_view text) {
  const std::string meant = closest(text, operation_names());
  return meant.empty() ? "`tmemsim ops` lists them all" : fmt::format("did you mean '{}'?", meant);
}

struct Operation {
  std::string written, name;  // both dotted; they differ for an alias
  StmtNode (*read)(const Reader&, const Mapping&, const Suffix&);
};

std::vector<Operation> make_operations() {
  std::vector<Operation> all;
  MachineOps::for_each([&]<class Op>() {
    all.push_back({dotted(Op::row.name), dotted(Op::row.name), read_as<MachineOps, Op>});
  });
  TileOps::for_each([&]<class Op>() { all.push_back({dotted(Op::row.name), dotted(Op::row.name), read_as<TileOps, Op>}); });
  for (const Alias& alias : operation_aliases) {
    const auto meant = std::find_if(all.begin(), all.end(), [&](const Operation& op) { return op.name == alias.means; });
    if (meant != all.end()) all.push_back({std::string(alias.name), meant->name, meant->read});
  }
  return all;
}

// The operation with the longest name that `text` begins with; an alias takes no suffix.
struct Found {
  const Operation* operation = nullptr;
  std::vector<std::string> suffix;
};
Found find_operation(std::string_view text) {
  static const std::vector<Operation> all = make_operations();
  Found best;
  for (const Operation& operation : all) {
    const auto rest = behind_name(text, operation.written);
    const bool is_alias = operation.written != operation.name;
    if (!rest || (is_alias && !rest->empty())) continue;
    if (best.operation && operation.written.size() <= best.operation->written.size()) continue;
    best = {&operation, rest->empty() ? std::vector<std::string>{} : words_of(rest->substr(1))};
  }
  return best;
}

class ProgramReader {
 public:
  explicit ProgramReader(Reader& reader) : reader_(reader), document_(reader.document()) {}

  Body body(const Node& node, std::string_view what) {
    Body statements;
    for (const Node& item : list_of(document_, node, what)) statements.push_back(statement(item));
    return statements;
  }

 private:
  Stmt statement(const Node& node) {
    const Mapping mapping(document_, node, "a statement");
    const std::string_view kind = kind_of(mapping);
    Stmt stmt;
    stmt.at = document_.at(node);
    if (const Node* label = mapping.find("label")) stmt.label = label_text(*label);
    if (const Node* at = mapping.find("at"))
      stmt.where =
          reader_.parsed(*at, "'at'", [](std::string_view text, const Names& names) { return parse_where(text, names); });
    if (kind == "do")
      stmt.node = operation(mapping, stmt.means);
    else if (kind == "for")
      stmt.node = loop(mapping);
    else if (kind == "while")
      stmt.node = polling(mapping);
    else if (kind == "if")
      stmt.node = guard(mapping);
    else
      stmt.node = delay(mapping);
    return stmt;
  }

  std::string_view kind_of(const Mapping& mapping) {
    std::string_view found;
    for (const Mapping::Entry& entry : mapping.entries()) {
      const auto kind = std::find(std::begin(kinds), std::end(kinds), entry.key->text);
      if (kind == std::end(kinds)) continue;
      if (!found.empty())
        document_.fail(
            *entry.key,
            fmt::format("a statement has one of 'do', 'for', 'while', 'if' and 'delay', here '{}' and '{}'", found, *kind));
      found = *kind;
    }
    if (!found.empty()) return found;
    const std::vector<std::string_view> known(std::begin(kinds), std::end(kinds));
    for (const Mapping::Entry& entry : mapping.entries())
      if (entry.key->text != "at" && entry.key->text != "label")
        document_.fail(
            *entry.key,
            fmt::format("a statement needs 'do', 'for', 'while', 'if' or 'delay'; it has no key {}", describe(*entry.key)),
            suggestion(entry.key->text, known, "one of"));
    document_.fail(mapping.node(), "a statement needs 'do', 'for', 'while', 'if' or 'delay'");
  }

  std::string label_text(const Node& node) {
    const std::string& text = text_of(document_, node, "'label'");
    if (!is_plain_name(text))
      document_.fail(node, fmt::format("{} is no label", describe(node)), "letters, digits and _, not starting with a digit");
    return text;
  }

  StmtNode operation(const Mapping& mapping, std::optional<Means>& means) {
    const Node& name_node = mapping.need("do");
    const std::string text = dotted(reader_.word(name_node, "'do'"));
    const Found found = find_operation(text);
    if (!found.operation)
      document_.fail(name_node, fmt::format("there is no operation '{}'", shown(text)), operation_hint(text));
    StmtNode made = found.operation->read(reader_, mapping, Suffix(found.suffix));
    if (const Node* intended = mapping.find("means")) means = read_means(*intended);
    return made;
  }

  Means read_means(const Node& node) {
    const Mapping mapping(document_, node, "'means'");
    mapping.only({"dst", "src"});
    return {reader_.region(mapping.need("dst"), "'dst' of 'means'"), reader_.region(mapping.need("src"), "'src' of 'means'")};
  }

  For loop(const Mapping& mapping) {
    mapping.only({"for", "in", "body", "at", "label"});
    For made;
    made.variable = loop_variable(mapping.need("for"));
    const Node& range = mapping.need("in", "in: N, in: [lo, hi] or in: [lo, hi, step]");
    if (range.kind == Node::Kind::list) {
      if (range.items.size() < 2 || range.items.size() > 3)
        document_.fail(range, fmt::format("'in' takes N, [lo, hi] or [lo, hi, step], found {} numbers", range.items.size()));
      made.begin = reader_.expression(range.items[0], "'in'");
      made.end = reader_.expression(range.items[1], "'in'");
      if (range.items.size() == 3) made.step = reader_.expression(range.items[2], "'in'");
    } else {
      made.end = reader_.expression(range, "'in'");
    }
    if (const auto step = made.step.as_constant(); step && *step <= 0)
      document_.fail(range.items[2], fmt::format("the step of a loop must be positive, found {}", *step));
    reader_.enter_loop(made.variable);
    made.body = body(mapping.need("body"), "'body'");
    reader_.leave_loop();
    return made;
  }

  std::string loop_variable(const Node& node) {
    const std::string& text = text_of(document_, node, "'for'");
    if (!is_plain_name(text))
      document_.fail(node, fmt::format("{} is no name of a loop variable", describe(node)),
                     "letters, digits and _, not starting with a digit");
    const auto& loops = reader_.names().loops;
    const auto& buffers = *reader_.names().buffers;
    std::string_view taken;
    if (is_reserved_name(text)) taken = "something else in expressions";
    if (reader_.is_parameter(text)) taken = "a parameter";
    if (std::find(loops.begin(), loops.end(), text) != loops.end()) taken = "a loop around this one";
    if (std::any_of(buffers.begin(), buffers.end(), [&](const Buffer& b) { return b.name == text; })) taken = "a buffer";
    if (!taken.empty()) document_.fail(node, fmt::format("'{}' already names {}", text, taken), "choose another name");
    return text;
  }

  While polling(const Mapping& mapping) {
    mapping.only({"while", "body", "at", "label"});
    return {reader_.expression(mapping.need("while"), "'while'"), body(mapping.need("body"), "'body'")};
  }

  If guard(const Mapping& mapping) {
    mapping.only({"if", "then", "else", "at", "label"});
    If made{reader_.expression(mapping.need("if"), "'if'"), body(mapping.need("then"), "'then'"), {}};
    if (const Node* otherwise = mapping.find("else")) made.otherwise = body(*otherwise, "'else'");
    return made;
  }

  Delay delay(const Mapping& mapping) {
    mapping.only({"delay", "at", "label"});
    return {static_cast<std::uint32_t>(reader_.integer(mapping.need("delay"), "'delay'", 0, longest_delay))};
  }

  Reader& reader_;
  const Document& document_;
};

void note_labels(const Document& document, const Node& node, std::map<std::string_view, std::uint32_t>& line_of_label) {
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Node& item = node.items[i];
    const bool is_label = node.kind == Node::Kind::map && i % 2 == 1 && node.items[i - 1].text == "label";
    if (!is_label) {
      note_labels(document, item, line_of_label);
      continue;
    }
    const auto [first, is_new] = line_of_label.emplace(item.text, item.line);
    if (!is_new)
      document.fail(item, fmt::format("label {} stands twice", describe(item)),
                    fmt::format("the first one is in line {}", first->second));
  }
}

}  // namespace

Body read_body(Reader& reader, const Node& node, std::string_view what) { return ProgramReader(reader).body(node, what); }

void check_labels(const Document& document, const Node& program) {
  std::map<std::string_view, std::uint32_t> line_of_label;
  note_labels(document, program, line_of_label);
}

}  // namespace tmemsim::scenario
