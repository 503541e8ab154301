// The JSON Schema of scenarios: one skeleton by hand, the operations and all keywords folded from their tables.
#include <nlohmann/json.hpp>

#include "ir/op_list.hpp"
#include "ir/scenario/field_kinds.hpp"
#include "ir/scenario/scenario.hpp"
#include "ir/scenario/words.hpp"
#include "ir/target.hpp"

namespace tmemsim {
namespace {

using namespace scenario;
using Json = nlohmann::ordered_json;

Json ref(std::string_view definition) { return {{"$ref", "#/$defs/" + std::string(definition)}}; }
Json list_of(Json item) { return {{"type", "array"}, {"items", std::move(item)}}; }
Json any_of(std::vector<Json> choices) { return {{"anyOf", std::move(choices)}}; }
Json constant(Json value) { return {{"const", std::move(value)}}; }

Json object(Json properties, std::vector<std::string> required = {}) {
  Json made{{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
  if (!required.empty()) made["required"] = std::move(required);
  return made;
}

// Exactly one of the properties.
Json one_of_object(Json properties) {
  Json made = object(std::move(properties));
  made["minProperties"] = 1;
  made["maxProperties"] = 1;
  return made;
}

Json words(std::vector<std::string> names) { return {{"enum", std::move(names)}}; }

// Where a keyword stands a parameter may stand; no parameter has the name of a keyword.
Json keyword_or_parameter(std::vector<std::string> names) { return any_of({words(std::move(names)), ref("parameter")}); }

template <class Range>
std::vector<std::string> strings(const Range& range) {
  std::vector<std::string> names;
  for (const auto& item : range) names.emplace_back(item);
  return names;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const DtypeFacts& dtype : dtype_table) names.emplace_back(dtype.name);
  return names;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < target_count; ++i) names.emplace_back(name(static_cast<Target>(i)));
  return names;
}

std::vector<std::string> verdict_names() {
  std::vector<std::string> names;
  for (const VerdictFacts& verdict : verdict_table()) names.emplace_back(verdict.id);
  return names;
}

template <class T>
Json schema_of() {
  if constexpr (is_optional<T>::value)
    return schema_of<typename T::value_type>();
  else if constexpr (is_list<T>::value)
    return list_of(schema_of<typename T::value_type>());
  else if constexpr (HasKeywords<T>)
    return keyword_or_parameter(strings(Keywords<T>::names));
  else if constexpr (std::is_same_v<T, bool>)
    return ref("boolean");
  else if constexpr (std::is_integral_v<T>)
    return ref("integer");
  else if constexpr (std::is_same_v<T, Expr>)
    return ref("expression");
  else if constexpr (std::is_same_v<T, Region>)
    return ref("region");
  else if constexpr (std::is_same_v<T, Rows>)
    return ref("registers");
  else if constexpr (std::is_same_v<T, Mem>)
    return ref("memory");
  else if constexpr (std::is_same_v<T, TmemAddr>)
    return ref("tmem_address");
  else if constexpr (std::is_same_v<T, Value>)
    return ref("expression");
  else if constexpr (std::is_same_v<T, Number>)
    return ref("number");
  else if constexpr (std::is_same_v<T, Transpose>)
    return list_of(keyword_or_parameter({"a", "b"}));
  else
    return ref("word");
}

// Enum fields, whose keywords may stand behind the operation's name.
template <class Op>
std::vector<std::vector<std::string>> suffix_choices() {
  std::vector<std::vector<std::string>> choices;
  const auto add = [&]<class T>() {
    if constexpr (is_optional<T>::value) {
      if constexpr (HasKeywords<typename T::value_type>) choices.push_back(strings(Keywords<typename T::value_type>::names));
    } else if constexpr (HasKeywords<T>) {
      choices.push_back(strings(Keywords<T>::names));
    }
  };
  std::apply([&](const auto&... field) { (add.template operator()<FieldType<decltype(field)>>(), ...); }, Op::fields);
  return choices;
}

// The keywords as one alternative of a regular expression: (\.(lt|le))?
std::string suffix_pattern(const std::vector<std::string>& keywords) {
  std::string text;
  for (const std::string& word : keywords) text += (text.empty() ? "" : "|") + word;
  return "(\\.(" + text + "))?";
}

std::string escaped(std::string_view name) {
  std::string text;
  for (char c : name) text += c == '.' ? std::string("\\.") : std::string(1, c);
  return text;
}

template <class Op>
Json name_schema() {
  std::vector<std::string> names{std::string(Op::row.name)};
  if (const std::string other = dotted(Op::row.name); other != names[0]) names.push_back(other);
  for (const Alias& alias : operation_aliases)
    if (alias.means == Op::row.name) names.emplace_back(alias.name);
  const auto choices = suffix_choices<Op>();
  if (choices.empty()) return words(names);
  std::string pattern = "^" + escaped(Op::row.name);
  for (const auto& choice : choices) pattern += suffix_pattern(choice);
  return {{"type", "string"}, {"pattern", pattern + "$"}};
}

// Keys that must stand there, whatever the name in `do`: keywords of enum fields may be part of the name instead.
template <class Op>
Json op_schema(bool machine) {
  Json properties{{"do", name_schema<Op>()}, {"at", ref("where")}, {"label", ref("name")}};
  if (machine) properties["means"] = object({{"dst", ref("region")}, {"src", ref("region")}}, {"dst", "src"});
  std::vector<std::string> required{"do"};
  const auto add = [&](const auto& field) {
    using T = FieldType<decltype(field)>;
    properties[std::string(field.key)] = schema_of<T>();
    if (!may_be_left_out(field) && !HasKeywords<T>) required.emplace_back(field.key);
  };
  std::apply([&](const auto&... field) { (add(field), ...); }, Op::fields);
  return object(std::move(properties), std::move(required));
}

Json control(Json properties, std::vector<std::string> required) {
  properties["at"] = ref("where");
  properties["label"] = ref("name");
  return object(std::move(properties), std::move(required));
}

Json statement() {
  std::vector<Json> choices;
  TileOps::for_each([&]<class Op>() { choices.push_back(op_schema<Op>(false)); });
  MachineOps::for_each([&]<class Op>() { choices.push_back(op_schema<Op>(true)); });
  const Json bounds{{"type", "array"}, {"items", ref("expression")}, {"minItems", 2}, {"maxItems", 3}};
  choices.push_back(control({{"for", ref("name")}, {"in", any_of({ref("expression"), bounds})}, {"body", ref("body")}},
                            {"for", "in", "body"}));
  choices.push_back(control({{"while", ref("expression")}, {"body", ref("body")}}, {"while", "body"}));
  choices.push_back(control({{"if", ref("expression")}, {"then", ref("body")}, {"else", ref("body")}}, {"if", "then"}));
  choices.push_back(control({{"delay", ref("integer")}}, {"delay"}));
  return any_of(std::move(choices));
}

Json init() {
  Json random = object({{"seed", ref("integer")}, {"low", ref("number")}, {"high", ref("number")}, {"bits", ref("boolean")}});
  return one_of_object({{"fill", ref("number")},
                        {"iota", object({{"start", ref("number")}, {"step", ref("number")}})},
                        {"random", std::move(random)},
                        {"data", ref("data")},
                        {"npy", ref("npy")}});
}

Json buffer(Space space, Json more, std::vector<std::string> needed = {}) {
  Json properties{{"space", constant(keyword(space))},
                  {"dtype", keyword_or_parameter(dtype_names())},
                  {"shape", Json{{"type", "array"}, {"items", ref("integer")}, {"minItems", 1}}},
                  {"layout", Json{{"type", "string"}}}};
  properties.update(more);
  std::vector<std::string> required{"space", "dtype", "shape"};
  required.insert(required.end(), needed.begin(), needed.end());
  return object(std::move(properties), std::move(required));
}

Json buffers() {
  Json base = any_of({Json{{"type", "integer"}}, ref("expression")});
  Json one =
      any_of({buffer(Space::global, {{"init", ref("init")}, {"out", ref("npy")}}),
              buffer(Space::shared, {{"init", ref("init")}, {"offset", ref("integer")}}), buffer(Space::local, Json::object()),
              buffer(Space::tmem, {{"base", std::move(base)}, {"col", ref("integer")}}, {"base"})});
  return {{"type", "object"}, {"propertyNames", ref("name")}, {"additionalProperties", std::move(one)}};
}

Json expect() {
  Json finding = object({{"verdict", keyword_or_parameter(verdict_names())},
                         {"at", ref("place")},
                         {"other", ref("place")},
                         {"severity", words({"error", "warning"})},
                         {"count", ref("integer")}},
                        {"verdict"});
  Json findings = list_of(std::move(finding));
  Json values = one_of_object({{"fill", ref("number")}, {"npy", ref("npy")}, {"data", ref("data")}});
  Json equal = object({{"actual", ref("region")},
                       {"expected", any_of({ref("region"), std::move(values)})},
                       {"abs", ref("number")},
                       {"ulp", ref("integer")}},
                      {"actual", "expected"});
  Json lane_and_column{{"type", "array"}, {"items", ref("integer")}, {"minItems", 2}, {"maxItems", 2}};
  Json cell =
      object({{"cta", ref("integer")}, {"tmem", std::move(lane_and_column)}, {"bits", ref("integer")}}, {"tmem", "bits"});
  Json reg = object({{"cta", ref("integer")},
                     {"buffer", ref("name")},
                     {"thread", ref("integer")},
                     {"reg", ref("integer")},
                     {"bits", ref("integer")}},
                    {"buffer", "thread", "reg", "bits"});
  return object({{"status", words({"clean", "findings", "mismatch", "unsupported"})},
                 {"findings", findings},
                 {"lenient", object({{"findings", findings}}, {"findings"})},
                 {"equal", list_of(std::move(equal))},
                 {"cells", list_of(std::move(cell))},
                 {"regs", list_of(std::move(reg))}});
}

Json params() {
  const Json value = {{"type", Json::array({"integer", "number", "boolean", "string"})}};
  Json list{{"type", "array"}, {"items", value}, {"minItems", 1}};
  return {{"type", "object"}, {"propertyNames", ref("name")}, {"additionalProperties", any_of({value, std::move(list)})}};
}

Json launch() {
  Json extents = any_of({ref("integer"), Json{{"type", "array"}, {"items", ref("integer")}, {"minItems", 1}, {"maxItems", 3}}});
  return object({{"warps", ref("integer")},
                 {"cluster", extents},
                 {"grid", extents},
                 {"ctas_per_sm", ref("integer")},
                 {"held_columns", ref("integer")}});
}

Json text(std::string_view pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

Json definitions() {
  const Json string{{"type", "string"}};
  const Json number_or_text{{"type", Json::array({"number", "string"})}};
  const Json integer_or_text{{"type", Json::array({"integer", "string"})}};
  Json place = object({{"buffer", ref("name")}, {"byte", ref("expression")}}, {"buffer", "byte"});
  Json address = object({{"base", ref("expression")}, {"lane", ref("expression")}, {"col", ref("expression")}}, {"base"});
  return {{"name", text("^[A-Za-z_][A-Za-z0-9_]*$")},
          {"parameter", Json{{"allOf", Json::array({ref("name"), Json{{"not", words({"true", "false"})}}})}}},
          {"word", string},
          {"place", string},
          {"where", string},
          {"npy", text("\\.npy$")},
          {"integer", integer_or_text},
          {"number", number_or_text},
          {"boolean", any_of({Json{{"type", "boolean"}}, ref("parameter")})},
          {"expression", Json{{"type", Json::array({"integer", "string", "boolean"})}}},
          {"region", string},
          {"registers", string},
          {"memory", any_of({string, std::move(place)})},
          {"tmem_address", any_of({string, std::move(address)})},
          {"data", list_of(any_of({ref("number"), ref("data")}))},
          {"init", init()},
          {"body", list_of(ref("statement"))},
          {"statement", statement()}};
}

}  // namespace

std::string scenario_schema() {
  Json properties{{"tmemsim", constant(1)},
                  {"scenario", text("^[A-Za-z0-9_-]+$")},
                  {"doc", Json{{"type", "string"}}},
                  {"target", keyword_or_parameter(target_names())},
                  {"ptx", Json{{"type", Json::array({"number", "string"})}}},
                  {"profile", keyword_or_parameter({"strict", "lenient"})},
                  {"launch", launch()},
                  {"params", params()},
                  {"buffers", buffers()},
                  {"program", ref("body")},
                  {"expect", expect()}};
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "tmemsim scenario"}};
  schema.update(object(std::move(properties), {"tmemsim", "scenario", "program"}));
  schema["$defs"] = definitions();
  return schema.dump(2) + "\n";
}

}  // namespace tmemsim
