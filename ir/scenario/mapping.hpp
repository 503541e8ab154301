// A YAML mapping as named fields: what is there, what is missing, what does not belong.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/scenario/yaml_tree.hpp"

namespace tmemsim::scenario {

class Mapping {
 public:
  struct Entry {
    const Node* key;
    const Node* value;
  };

  // `what` names the mapping in messages: "buffer acc". Fails when `node` is no mapping, or a key is repeated or no name.
  Mapping(const Document& document, const Node& node, std::string what);

  const std::string& what() const { return what_; }
  const Node& node() const { return *node_; }
  const std::vector<Entry>& entries() const { return entries_; }

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const Node* find(std::string_view key) const;
  const Node& need(std::string_view key, std::string hint = {}) const;
  const Node& key_node(std::string_view key) const;  // of an entry that is there

  // Fails at the first key that is not among these.
  void only(const std::vector<std::string_view>& known) const;

 private:
  const Document& document_;
  const Node* node_;
  std::string what_;
  std::vector<Entry> entries_;
};

// "a, b and c".
std::string listing(const std::vector<std::string_view>& words);
// "did you mean 'x'?", or what there is to choose from when nothing is close.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& known, std::string_view plural);

// The elements of a list; fails when the node is none.
const std::vector<Node>& list_of(const Document& document, const Node& node, std::string_view what);
// The text of a scalar; fails when the node is none.
const std::string& text_of(const Document& document, const Node& node, std::string_view what);

// Letters, digits, _ and -.
bool is_scenario_name(std::string_view text);

}  // namespace tmemsim::scenario
