// One operation from the keys of a statement: a fold over its fields, one overload a type of field.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/kernel/kernel.hpp"
#include "ir/scenario/field_kinds.hpp"
#include "ir/scenario/reader.hpp"

namespace tmemsim::scenario {

void read_field(const Reader& reader, const Node& node, const std::string& what, bool& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, std::string& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, Number& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, Expr& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, Value& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, Rows& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, Region& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, Mem& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, TmemAddr& to);
void read_field(const Reader& reader, const Node& node, const std::string& what, Transpose& to);

template <class Int>
requires std::is_integral_v<Int>
void read_field(const Reader& reader, const Node& node, const std::string& what, Int& to) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Int>::max());
  constexpr auto high = static_cast<std::int64_t>(most > INT64_MAX ? INT64_MAX : most);
  to = static_cast<Int>(reader.integer(node, what, static_cast<std::int64_t>(std::numeric_limits<Int>::min()), high));
}

template <HasKeywords Enum>
void read_field(const Reader& reader, const Node& node, const std::string& what, Enum& to) {
  const auto& names = Keywords<Enum>::names;
  to = static_cast<Enum>(reader.keyword(node, what, {names.begin(), names.end()}));
}

template <class T>
void read_field(const Reader& reader, const Node& node, const std::string& what, std::optional<T>& to) {
  read_field(reader, node, what, to.emplace());
}

template <class T>
void read_field(const Reader& reader, const Node& node, const std::string& what, std::vector<T>& to) {
  for (const Node& item : list_of(reader.document(), node, what)) read_field(reader, item, what, to.emplace_back());
}

// Words behind the name in `do`: "setp.lt.f32" gives lt and f32 to the enum fields that know them.
class Suffix {
 public:
  explicit Suffix(std::vector<std::string> words) : words_(std::move(words)) {}

  template <class T>
  bool take(T& to) {
    if constexpr (is_optional<T>::value) {
      typename T::value_type value{};
      if (!take(value)) return false;
      to = value;
      return true;
    } else if constexpr (HasKeywords<T>) {
      for (std::size_t i = 0; i < Keywords<T>::names.size(); ++i)
        if (std::erase(words_, std::string(Keywords<T>::names[i])) > 0) {
          to = static_cast<T>(i);
          return true;
        }
    }
    return false;
  }
  const std::vector<std::string>& left() const { return words_; }

 private:
  std::vector<std::string> words_;
};

template <class Op>
std::vector<std::string_view> keys_of() {
  return std::apply([](const auto&... field) { return std::vector<std::string_view>{field.key...}; }, Op::fields);
}

template <class Op>
Op read_op(const Reader& reader, const Mapping& statement, Suffix suffix) {
  const Document& document = reader.document();
  const std::string name(Op::row.name);
  Op op;
  std::vector<std::string_view> in_name;
  for_each_field(op, [&](const auto& field, auto& member) {
    if (suffix.take(member)) in_name.push_back(field.key);
  });
  if (!suffix.left().empty())
    document.fail(statement.need("do"), fmt::format("{} has no modifier '{}' in its name", name, shown(suffix.left().front())),
                  fmt::format("its keys: {}", listing(keys_of<Op>())));
  for_each_field(op, [&](const auto& field, auto& member) {
    const Node* node = statement.find(field.key);
    if (std::find(in_name.begin(), in_name.end(), field.key) != in_name.end()) {
      if (node)
        document.fail(statement.key_node(field.key),
                      fmt::format("'{}' stands in the name of the operation and as a key", field.key));
    } else if (node) {
      read_field(reader, *node, fmt::format("'{}' of {}", field.key, name), member);
    } else if (!may_be_left_out(field)) {
      document.fail(statement.node(),
                    fmt::format("{} needs the key '{}' ({})", name, field.key, written_as<FieldType<decltype(field)>>()));
    }
  });
  return op;
}

}  // namespace tmemsim::scenario
