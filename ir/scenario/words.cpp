#include "ir/scenario/words.hpp"

#include <algorithm>
#include <set>

#include "ir/buffer.hpp"
#include "ir/op_list.hpp"
#include "ir/scenario/field_kinds.hpp"
#include "ir/target.hpp"

namespace tmemsim::scenario {
namespace {

void add_field_keywords(std::set<std::string_view>& words) {
  const auto add = [&]<class Op>() {
    std::apply([&](const auto&... field) { (add_keywords_of<FieldType<decltype(field)>>(words), ...); }, Op::fields);
  };
  MachineOps::for_each(add);
  TileOps::for_each(add);
}

std::set<std::string_view> all_keywords() {
  std::set<std::string_view> words{"true", "false"};
  for (const DtypeFacts& dtype : dtype_table) words.insert(dtype.name);
  for (std::string_view space : Keywords<Space>::names) words.insert(space);
  for (std::size_t i = 0; i < target_count; ++i) words.insert(name(static_cast<Target>(i)));
  add_field_keywords(words);
  return words;
}

std::vector<std::string> all_operation_names() {
  std::vector<std::string> names;
  const auto add = [&]<class Op>() { names.push_back(dotted(Op::row.name)); };
  MachineOps::for_each(add);
  TileOps::for_each(add);
  for (const Alias& alias : operation_aliases) names.emplace_back(alias.name);
  return names;
}

}  // namespace

bool is_keyword(std::string_view word) {
  static const std::set<std::string_view> words = all_keywords();
  return words.contains(word);
}

const std::vector<std::string_view>& operation_names() {
  static const std::vector<std::string> names = all_operation_names();
  static const std::vector<std::string_view> views(names.begin(), names.end());
  return views;
}

std::string dotted(std::string_view name) {
  std::string text(name);
  for (std::size_t at = text.find("::"); at != std::string::npos; at = text.find("::")) text.replace(at, 2, ".");
  return text;
}

}  // namespace tmemsim::scenario
