// What is known about the type of an operation's field: its keywords, and the word that documentation uses for it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/op.hpp"
#include "ir/ops/tcgen05_mma.hpp"

namespace tmemsim::scenario {

template <class T>
struct MemberOf;
template <class Op, class T>
struct MemberOf<Field<Op, T>> {
  using type = T;
};
template <class AnyField>
using FieldType = typename MemberOf<std::remove_cvref_t<AnyField>>::type;

template <class Enum>
concept HasKeywords = std::is_enum_v<Enum> && requires {
  Keywords<Enum>::names;
};

template <class T>
struct is_list : std::false_type {};
template <class T>
struct is_list<std::vector<T>> : std::true_type {};

template <class T>
void add_keywords_of(std::set<std::string_view>& words) {
  if constexpr (is_optional<T>::value)
    add_keywords_of<typename T::value_type>(words);
  else if constexpr (HasKeywords<T>)
    words.insert(Keywords<T>::names.begin(), Keywords<T>::names.end());
}

// How a value of the type is written, in one or two words; keywords are listed.
template <class T>
std::string written_as() {
  if constexpr (is_optional<T>::value)
    return written_as<typename T::value_type>();
  else if constexpr (is_list<T>::value)
    return "list of " + written_as<typename T::value_type>();
  else if constexpr (HasKeywords<T>) {
    std::string text;
    for (std::string_view word : Keywords<T>::names) text += (text.empty() ? "" : "|") + std::string(word);
    return text;
  } else if constexpr (std::is_same_v<T, bool>)
    return "true|false";
  else if constexpr (std::is_integral_v<T>)
    return "integer";
  else if constexpr (std::is_same_v<T, Expr>)
    return "expression";
  else if constexpr (std::is_same_v<T, Region>)
    return "region";
  else if constexpr (std::is_same_v<T, Rows>)
    return "registers";
  else if constexpr (std::is_same_v<T, Mem>)
    return "place in memory";
  else if constexpr (std::is_same_v<T, TmemAddr>)
    return "TMEM address";
  else if constexpr (std::is_same_v<T, Value>)
    return "registers or expression";
  else if constexpr (std::is_same_v<T, Number>)
    return "number";
  else if constexpr (std::is_same_v<T, std::string>)
    return "name";
  else if constexpr (std::is_same_v<T, Transpose>)
    return "list of a|b";
  else
    static_assert(std::is_void_v<T>, "a new kind of field: say how it is written");
}

// May the key be left out?
template <class Op, class T>
constexpr bool may_be_left_out(const Field<Op, T>& field) {
  return is_optional<T>::value || field.may_default;
}

}  // namespace tmemsim::scenario
