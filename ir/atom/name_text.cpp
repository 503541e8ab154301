#include "ir/atom/name_text.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace tmemsim::atom {
namespace {

constexpr std::size_t longest = 512;

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::array<std::int64_t, 3>> shape_of(std::string_view text) {
  std::array<std::int64_t, 3> shape{};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t end = k < 2 ? text.find('x') : text.size();
    const auto number = end == std::string_view::npos ? std::nullopt : to_integer(text.substr(0, end));
    if (!number || *number < 1 || *number > 4096) return std::nullopt;
    shape[k] = *number;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return shape;
}

// "(A,B)->C".
std::vector<std::string> types_of(const std::string& text) {
  const std::size_t close = text.find(")->");
  if (text.empty() || text[0] != '(' || close == std::string::npos) return {};
  std::vector<std::string> types = split(std::string_view(text).substr(1, close - 1));
  types.push_back(text.substr(close + 3));
  return types.size() == 3 ? types : std::vector<std::string>{};
}

}  // namespace

std::optional<std::int64_t> to_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

bool NameParts::is_true(const std::string& key) const {
  const auto found = options.find(key);
  return found != options.end() && !found->second.empty() && found->second[0] == "true";
}

Result<std::int64_t> NameParts::integer(const std::string& key, std::int64_t missing, std::int64_t low, std::int64_t high,
                                        std::size_t k) const {
  const auto found = options.find(key);
  if (found == options.end() || k >= found->second.size()) return missing;
  const auto number = to_integer(found->second[k]);
  if (!number || *number < low || *number > high)
    return Reason{fmt::format("{} is {}, it must be in [{}, {}]", key, found->second[k], low, high), {}, {}, {}};
  return *number;
}

std::optional<NameParts> name_parts(std::string_view text) {
  if (text.size() > longest) return std::nullopt;
  std::string packed;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\n') packed += c;
  }
  for (const std::string_view prefix : {"!fly_rocdl.", "!fly."}) {
    if (packed.rfind(prefix, 0) == 0) packed.erase(0, prefix.size());
  }
  const std::size_t open = packed.find('<');
  if (open == std::string::npos || packed.back() != '>') return std::nullopt;
  NameParts parts;
  parts.family = packed.substr(0, open);
  std::string last_key;
  for (const std::string& part : split(std::string_view(packed).substr(open + 1, packed.size() - open - 2))) {
    const std::size_t equals = part.find('=');
    if (const auto shape = shape_of(part); shape && !parts.shape)
      parts.shape = shape;
    else if (auto types = types_of(part); !types.empty())
      parts.types = std::move(types);
    else if (equals != std::string::npos)
      parts.options[last_key = part.substr(0, equals)] = {part.substr(equals + 1)};
    else if (!last_key.empty() && is_number(part))
      parts.options[last_key].push_back(part);  // pad = 64, 8
    else if (!part.empty())
      parts.words.push_back(part);
  }
  return parts;
}

}  // namespace tmemsim::atom
