// Typed values out of YAML scalars, with the parameters of one sweep instance: what every part of the loader reads with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/kernel/operand_text.hpp"
#include "ir/scenario/mapping.hpp"
#include "ir/scenario/params.hpp"

namespace tmemsim::scenario {

class Reader {
 public:
  Reader(const Document& document, const Binding& binding, const std::vector<Buffer>& buffers);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const Document& document() const { return document_; }
  const Names& names() const { return names_; }
  const std::map<std::string, std::int64_t>& integers() const { return integers_; }
  bool is_parameter(std::string_view name) const { return binding_.values.contains(name); }

  void enter_loop(std::string variable) { names_.loops.push_back(std::move(variable)); }
  void leave_loop() { names_.loops.pop_back(); }

  // Applies one of the parsers of operand_text.hpp to a scalar; TextError becomes a message at that character.
  template <class Parse>
  auto parsed(const Node& node, std::string_view what, Parse parse) const {
    const std::string& text = text_of(document_, node, what);
    try {
      return parse(text, names_);
    } catch (const TextError& error) { document_.fail_inside(node, error.offset, error.message, error.hint); }
  }

  // A literal, an integer parameter or a constant expression, within [low, high].
  std::int64_t integer(const Node& node, std::string_view what, std::int64_t low, std::int64_t high) const;
  Number number(const Node& node, std::string_view what) const;
  double real(const Node& node, std::string_view what) const;  // finite
  bool boolean(const Node& node, std::string_view what) const;
  Expr expression(const Node& node, std::string_view what) const;
  Region region(const Node& node, std::string_view what) const;
  BufferId buffer(const Node& node, std::string_view what) const;

  // The text, or the keyword that a parameter of that name stands for.
  std::string word(const Node& node, std::string_view what) const;
  // Position of the word in `known`.
  std::size_t keyword(const Node& node, std::string_view what, const std::vector<std::string_view>& known) const;

  // Three numbers: N or [x, y, z].
  std::array<std::uint32_t, 3> extents(const Node& node, std::string_view what, std::int64_t high) const;

 private:
  const ParamValue* parameter(std::string_view text) const;

  const Document& document_;
  const Binding& binding_;
  std::map<std::string, std::int64_t> integers_;
  Names names_;
};

}  // namespace tmemsim::scenario
