#include "ir/scenario/mapping.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace tmemsim::scenario {

Mapping::Mapping(const Document& document, const Node& node, std::string what)
    : document_(document), node_(&node), what_(std::move(what)) {
  if (node.kind != Node::Kind::map)
    document.fail(node, fmt::format("{} must be a mapping (key: value), found {}", what_, describe(node)));
  std::map<std::string_view, std::uint32_t> line_of_key;
  for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
    const Node& key = node.items[i];
    if (key.kind != Node::Kind::scalar)
      document.fail(key, fmt::format("a key of {} must be a name, found {}", what_, describe(key)));
    const auto [first, is_new] = line_of_key.emplace(key.text, key.line);
    if (!is_new)
      document.fail(key, fmt::format("key {} of {} stands twice", describe(key), what_),
                    fmt::format("the first one is in line {}", first->second));
    entries_.push_back({&key, &node.items[i + 1]});
  }
}

const Node* Mapping::find(std::string_view key) const {
  for (const Entry& entry : entries_)
    if (entry.key->text == key) return entry.value;
  return nullptr;
}

const Node& Mapping::need(std::string_view key, std::string hint) const {
  const Node* value = find(key);
  if (!value) document_.fail(*node_, fmt::format("{} needs the key '{}'", what_, key), std::move(hint));
  return *value;
}

const Node& Mapping::key_node(std::string_view key) const {
  for (const Entry& entry : entries_)
    if (entry.key->text == key) return *entry.key;
  return *node_;
}

void Mapping::only(const std::vector<std::string_view>& known) const {
  for (const Entry& entry : entries_)
    if (std::find(known.begin(), known.end(), entry.key->text) == known.end())
      document_.fail(*entry.key, fmt::format("{} has no key {}", what_, describe(*entry.key)),
                     suggestion(entry.key->text, known, "the keys"));
}

std::string listing(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& known, std::string_view plural) {
  if (const std::string meant = closest(word, known); !meant.empty()) return fmt::format("did you mean '{}'?", meant);
  constexpr std::size_t most_listed = 48;
  if (known.empty()) return fmt::format("{}: none", plural);
  if (known.size() > most_listed) return {};
  return fmt::format("{}: {}", plural, listing(known));
}

const std::vector<Node>& list_of(const Document& document, const Node& node, std::string_view what) {
  if (node.kind != Node::Kind::list)
    document.fail(node, fmt::format("{} must be a list, found {}", what, describe(node)), "write [a, b] or one '- ' a line");
  return node.items;
}

const std::string& text_of(const Document& document, const Node& node, std::string_view what) {
  if (node.kind != Node::Kind::scalar) document.fail(node, fmt::format("{} must be text, found {}", what, describe(node)));
  return node.text;
}

bool is_scenario_name(std::string_view text) {
  constexpr std::size_t longest = 128;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace tmemsim::scenario
