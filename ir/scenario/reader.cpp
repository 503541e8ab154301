#include "ir/scenario/reader.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace tmemsim::scenario {

Reader::Reader(const Document& document, const Binding& binding, const std::vector<Buffer>& buffers)
    : document_(document), binding_(binding) {
  for (const auto& [name, value] : binding.values)
    if (const auto* whole = std::get_if<std::int64_t>(&value)) integers_[name] = *whole;
  names_.buffers = &buffers;
  names_.params = &integers_;
}

const ParamValue* Reader::parameter(std::string_view text) const {
  const auto found = binding_.values.find(text);
  return found == binding_.values.end() ? nullptr : &found->second;
}

std::int64_t Reader::integer(const Node& node, std::string_view what, std::int64_t low, std::int64_t high) const {
  const std::string& text = text_of(document_, node, what);
  const auto literal = [&]() -> std::optional<Number> {
    try {
      return parse_number(text, names_);
    } catch (const TextError&) {
      return std::nullopt;  // then it has to be an expression
    }
  }();
  std::int64_t value = 0;
  if (literal && std::holds_alternative<std::int64_t>(*literal)) {
    value = std::get<std::int64_t>(*literal);
  } else {
    if (literal) document_.fail(node, fmt::format("{} must be a whole number, found {}", what, describe(node)));
    const auto constant = expression(node, what).as_constant();
    if (!constant)
      document_.fail(
          node, fmt::format("{} must be a constant, but {} depends on the thread, a loop or memory", what, describe(node)));
    value = *constant;
  }
  if (value < low || value > high) document_.fail(node, fmt::format("{} is {}; it must be in {}..{}", what, value, low, high));
  return value;
}

Number Reader::number(const Node& node, std::string_view what) const {
  if (node.kind == Node::Kind::scalar) {
    if (const ParamValue* value = parameter(node.text))
      if (const auto* fraction = std::get_if<double>(value)) return *fraction;
  }
  return parsed(node, what, [](std::string_view text, const Names& names) { return parse_number(text, names); });
}

double Reader::real(const Node& node, std::string_view what) const {
  const Number value = number(node, what);
  const double real = std::visit([](auto v) { return static_cast<double>(v); }, value);
  if (!std::isfinite(real)) document_.fail(node, fmt::format("{} must be finite, found {}", what, describe(node)));
  return real;
}

bool Reader::boolean(const Node& node, std::string_view what) const {
  const std::string& text = text_of(document_, node, what);
  if (const ParamValue* value = parameter(text))
    if (const auto* truth = std::get_if<bool>(value)) return *truth;
  if (text != "true" && text != "false")
    document_.fail(node, fmt::format("{} must be true or false, found {}", what, describe(node)));
  return text == "true";
}

Expr Reader::expression(const Node& node, std::string_view what) const {
  if (node.kind == Node::Kind::scalar && (node.text == "true" || node.text == "false")) return Expr(node.text == "true" ? 1 : 0);
  return parsed(node, what, [](std::string_view text, const Names& names) { return parse_expr(text, names); });
}

Region Reader::region(const Node& node, std::string_view what) const {
  if (node.kind == Node::Kind::map || node.kind == Node::Kind::list)
    document_.fail(node, fmt::format("{} must be a region, found {}", what, describe(node)), "quote it: \"acc[0:64, 4:8]\"");
  return parsed(node, what, [](std::string_view text, const Names& names) { return parse_region(text, names); });
}

BufferId Reader::buffer(const Node& node, std::string_view what) const {
  const std::string& text = text_of(document_, node, what);
  std::vector<std::string_view> known;
  for (const Buffer& buffer : *names_.buffers) known.push_back(buffer.name);
  const auto found = std::find(known.begin(), known.end(), text);
  if (found == known.end())
    document_.fail(node, fmt::format("{}: there is no buffer {}", what, describe(node)),
                   suggestion(text, known, "the buffers"));
  return static_cast<BufferId>(found - known.begin());
}

std::string Reader::word(const Node& node, std::string_view what) const {
  const std::string& text = text_of(document_, node, what);
  if (const ParamValue* value = parameter(text)) return to_text(*value);
  return text;
}

std::size_t Reader::keyword(const Node& node, std::string_view what, const std::vector<std::string_view>& known) const {
  const std::string text = word(node, what);
  const auto found = std::find(known.begin(), known.end(), text);
  if (found == known.end())
    document_.fail(node, fmt::format("{}: there is no '{}'", what, shown(text)), suggestion(text, known, "known"));
  return static_cast<std::size_t>(found - known.begin());
}

std::array<std::uint32_t, 3> Reader::extents(const Node& node, std::string_view what, std::int64_t high) const {
  std::array<std::uint32_t, 3> found{1, 1, 1};
  const auto one = [&](const Node& item) { return static_cast<std::uint32_t>(integer(item, what, 1, high)); };
  if (node.kind != Node::Kind::list) {
    found[0] = one(node);
    return found;
  }
  if (node.items.empty() || node.items.size() > 3)
    document_.fail(node, fmt::format("{} takes N or [x, y, z], found {} numbers", what, node.items.size()));
  for (std::size_t i = 0; i < node.items.size(); ++i) found[i] = one(node.items[i]);
  return found;
}

}  // namespace tmemsim::scenario
