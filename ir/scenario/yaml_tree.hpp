// YAML text -> a tree of nodes that know where they stand. The text is untrusted: its size, its nesting and the number of its
// nodes are bounded, anchors, aliases, tags and a second document are refused, and it must be UTF-8 without NUL bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/diagnostic.hpp"

namespace tmemsim::scenario {

inline constexpr std::size_t largest_file = std::size_t{8} << 20;  // bytes
inline constexpr std::size_t deepest_nesting = 64;
inline constexpr std::size_t most_nodes = std::size_t{1} << 19;  // larger arrays belong into .npy files

struct Node {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  Kind kind = Kind::null;
  bool quoted = false;  // scalars: written in quotes or as a block
  std::uint32_t line = 1, col = 1;
  std::string text;         // scalars
  std::vector<Node> items;  // lists: the elements; maps: key, value, key, value, ... in file order
};

// One YAML file: its text for messages, and its tree.
class Document {
 public:
  Document(std::string text, std::string file_name);  // throws InputError

  const Node& root() const { return root_; }
  const SourceFile& file() const { return files_.front(); }
  SourceLoc at(const Node& node) const { return {0, node.line, node.col}; }

  [[noreturn]] void fail(const Node& node, std::string message, std::string hint = {}) const;
  // The caret stands under byte `offset` of the scalar's text.
  [[noreturn]] void fail_inside(const Node& scalar, std::size_t offset, std::string message, std::string hint = {}) const;

 private:
  std::vector<SourceFile> files_;
  Node root_;
};

// "a list", "a mapping", "'text'", "nothing": for messages about what stands where something else belongs.
std::string describe(const Node& node);
// Text of the file for a message: short, and without bytes that a terminal would obey.
std::string shown(std::string_view text);

}  // namespace tmemsim::scenario
