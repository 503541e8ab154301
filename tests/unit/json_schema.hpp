// A small JSON Schema validator: the keywords that the project's own schemas use, nothing else (an unknown one throws).
#pragma once

#include <regex>
#include <set>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace tmemsim::tests {

class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : schema_(std::move(schema)) {}
  // "" or where the value does not fit: "/writes/0: ...".
  std::string problem(const nlohmann::json& value) const { return problem(value, schema_, ""); }

 private:
  using Json = nlohmann::json;

  static bool has_type(const Json& value, const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    if (type == "null") return value.is_null();
    throw std::logic_error("type " + type);
  }

  std::string problem(const Json& value, const Json& schema, const std::string& at) const {
    static const std::set<std::string> known{
        "$schema", "title",   "$defs", "$ref",     "anyOf",    "type",       "const",    "enum",
        "pattern", "minimum", "items", "minItems", "maxItems", "properties", "required", "additionalProperties"};
    for (const auto& [key, unused] : schema.items())
      if (known.count(key) == 0) throw std::logic_error("keyword " + key);
    if (schema.contains("$ref"))
      return problem(value, schema_.at("$defs").at(schema.at("$ref").get<std::string>().substr(8)), at);
    if (schema.contains("anyOf")) {
      std::string all;
      for (const Json& choice : schema.at("anyOf")) {
        const std::string why = problem(value, choice, at);
        if (why.empty()) return "";
        all += "\n  " + why;
      }
      return at + ": fits none:" + all;
    }
    if (schema.contains("const") && value != schema.at("const")) return at + " is not " + schema.at("const").dump();
    if (schema.contains("enum") &&
        std::find(schema.at("enum").begin(), schema.at("enum").end(), value) == schema.at("enum").end())
      return at + ": " + value.dump() + " is no choice";
    if (schema.contains("type")) {
      bool fits = false;
      if (schema.at("type").is_string())
        fits = has_type(value, schema.at("type"));
      else
        for (const Json& type : schema.at("type")) fits = fits || has_type(value, type);
      if (!fits) return at + ": " + value.dump().substr(0, 60) + " has the wrong type";
    }
    if (schema.contains("minimum") && value.is_number() && value < schema.at("minimum")) return at + " is too small";
    if (schema.contains("pattern") &&
        !std::regex_search(value.get<std::string>().substr(0, 512), std::regex(schema.at("pattern").get<std::string>())))
      return at + " has the wrong form";
    if (value.is_array()) {
      if (schema.contains("minItems") && value.size() < schema.at("minItems")) return at + " is too short";
      if (schema.contains("maxItems") && value.size() > schema.at("maxItems")) return at + " is too long";
      for (std::size_t i = 0; schema.contains("items") && i < value.size(); ++i)
        if (std::string why = problem(value[i], schema.at("items"), at + "/" + std::to_string(i)); !why.empty()) return why;
    }
    return value.is_object() ? problem_of_object(value, schema, at) : "";
  }

  std::string problem_of_object(const Json& value, const Json& schema, const std::string& at) const {
    for (const Json& key : schema.value("required", Json::array()))
      if (!value.contains(key.get<std::string>())) return at + " lacks " + key.dump();
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, item] : value.items()) {
      std::string why;
      if (properties.contains(key))
        why = problem(item, properties.at(key), at + "/" + key);
      else if (schema.contains("additionalProperties") && schema.at("additionalProperties") == false)
        return at + " has a key " + key;
      else if (schema.contains("additionalProperties"))
        why = problem(item, schema.at("additionalProperties"), at + "/" + key);
      if (!why.empty()) return why;
    }
    return "";
  }

  Json schema_;
};

}  // namespace tmemsim::tests
