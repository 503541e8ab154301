#include "ir/scenario/read_op.hpp"

#include <algorithm>

namespace tmemsim::scenario {

void read_field(const Reader& reader, const Node& node, const std::string& what, bool& to) { to = reader.boolean(node, what); }

void read_field(const Reader& reader, const Node& node, const std::string& what, std::string& to) {
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' ||
           c == '-' || c == '/';
  };
  constexpr std::size_t longest = 64;
  to = reader.word(node, what);
  if (to.empty() || to.size() > longest || !std::all_of(to.begin(), to.end(), in_name))
    reader.document().fail(node, fmt::format("{} must be a name, found {}", what, describe(node)));
}

void read_field(const Reader& reader, const Node& node, const std::string& what, Number& to) { to = reader.number(node, what); }
void read_field(const Reader& reader, const Node& node, const std::string& what, Expr& to) {
  to = reader.expression(node, what);
}
void read_field(const Reader& reader, const Node& node, const std::string& what, Region& to) { to = reader.region(node, what); }

void read_field(const Reader& reader, const Node& node, const std::string& what, Value& to) {
  to = reader.parsed(node, what, [](std::string_view text, const Names& names) { return parse_value(text, names); });
}

void read_field(const Reader& reader, const Node& node, const std::string& what, Rows& to) {
  to = reader.parsed(node, what, [](std::string_view text, const Names& names) { return parse_rows(text, names); });
}

void read_field(const Reader& reader, const Node& node, const std::string& what, Mem& to) {
  if (node.kind != Node::Kind::map) {
    to = reader.parsed(node, what, [](std::string_view text, const Names& names) { return parse_mem(text, names); });
    return;
  }
  const Mapping mapping(reader.document(), node, what);
  mapping.only({"buffer", "byte"});
  const Node& name = mapping.need("buffer");
  to.buffer = reader.buffer(name, what);
  const Space space = (*reader.names().buffers)[to.buffer].space;
  if (space != Space::shared && space != Space::global)
    reader.document().fail(name, fmt::format("{} must be in shared or global memory, but {} is a {} buffer", what,
                                             describe(name), keyword(space)));
  to.byte = reader.expression(mapping.need("byte"), what);
}

void read_field(const Reader& reader, const Node& node, const std::string& what, TmemAddr& to) {
  if (node.kind != Node::Kind::map) {
    to = reader.parsed(node, what, [](std::string_view text, const Names& names) { return parse_tmem_addr(text, names); });
    return;
  }
  const Mapping mapping(reader.document(), node, what);
  mapping.only({"base", "lane", "col"});
  to.base = reader.expression(mapping.need("base", "base: word(slot, 0)"), what);
  if (const Node* lane = mapping.find("lane")) to.lane = reader.expression(*lane, what);
  if (const Node* col = mapping.find("col")) to.col = reader.expression(*col, what);
}

void read_field(const Reader& reader, const Node& node, const std::string& what, Transpose& to) {
  for (const Node& item : list_of(reader.document(), node, what)) {
    const auto operand = reader.keyword(item, what, {"a", "b"});
    (operand == 0 ? to.a : to.b) = true;
  }
}

}  // namespace tmemsim::scenario
