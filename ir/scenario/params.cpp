#include "ir/scenario/params.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/scenario/words.hpp"

namespace tmemsim::scenario {
namespace {

constexpr std::size_t most_params = 64;

// The value that a text stands for: true and false, a number, or a word.
std::optional<ParamValue> value_of(std::string_view text) {
  if (text == "true" || text == "false") return ParamValue(text == "true");
  const bool numeric =
      !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  if (numeric) {
    try {
      const Number number = parse_number(text, Names{});
      if (const auto* whole = std::get_if<std::int64_t>(&number)) return ParamValue(*whole);
      return ParamValue(std::get<double>(number));
    } catch (const TextError&) {
      // Some keywords begin with a digit: 32x32b.
    }
  }
  const auto in_word = [](char c) {
    return c == '_' || c == '.' || c == ':' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  };
  constexpr std::size_t longest_word = 64;
  if (text.empty() || text.size() > longest_word || !std::all_of(text.begin(), text.end(), in_word)) return std::nullopt;
  return ParamValue(Word{std::string(text)});
}

bool is_number(const ParamValue& value) { return value.index() <= 1; }
bool same_kind(const ParamValue& a, const ParamValue& b) { return a.index() == b.index() || (is_number(a) && is_number(b)); }

std::string_view kind_of(const ParamValue& value) {
  if (is_number(value)) return "a number";
  return std::holds_alternative<bool>(value) ? "true or false" : "a keyword";
}

bool equal_values(const ParamValue& a, const ParamValue& b) {
  if (a.index() == b.index()) return a == b;
  if (!is_number(a) || !is_number(b)) return false;
  const auto as_double = [](const ParamValue& v) {
    return std::holds_alternative<double>(v) ? std::get<double>(v) : static_cast<double>(std::get<std::int64_t>(v));
  };
  return as_double(a) == as_double(b);
}

void check_name(const Document& document, const Node& key) {
  const std::string& name = key.text;
  if (!is_plain_name(name))
    document.fail(key, fmt::format("{} is no name of a parameter", describe(key)),
                  "letters, digits and _, not starting with a digit");
  if (is_reserved_name(name) || is_keyword(name))
    document.fail(key, fmt::format("'{}' means something else, so no parameter can have that name", name));
}

ParamValue read_value(const Document& document, const Node& node, std::string_view name) {
  if (node.kind != Node::Kind::scalar)
    document.fail(node, fmt::format("a value of parameter {} must be a number or a keyword, found {}", name, describe(node)));
  const auto value = value_of(node.text);
  if (!value) document.fail(node, fmt::format("{} is neither a number nor a keyword", describe(node)));
  return *value;
}

Param read_param(const Document& document, const Mapping::Entry& entry) {
  check_name(document, *entry.key);
  Param param{entry.key->text, entry.value->kind == Node::Kind::list, {}};
  if (!param.sweep) {
    param.values.push_back(read_value(document, *entry.value, param.name));
    return param;
  }
  if (entry.value->items.empty())
    document.fail(*entry.value, fmt::format("parameter {} has an empty list of values", param.name));
  if (entry.value->items.size() > most_instances)
    document.fail(*entry.value, fmt::format("parameter {} has more than {} values", param.name, most_instances));
  for (const Node& item : entry.value->items) {
    ParamValue value = read_value(document, item, param.name);
    if (!param.values.empty() && !same_kind(value, param.values.front()))
      document.fail(item, fmt::format("{} is {}, but the first value of parameter {} is {}", describe(item), kind_of(value),
                                      param.name, kind_of(param.values.front())));
    const bool repeated =
        std::any_of(param.values.begin(), param.values.end(), [&](const ParamValue& v) { return equal_values(v, value); });
    if (repeated) document.fail(item, fmt::format("parameter {} has the value {} twice", param.name, to_text(value)));
    param.values.push_back(std::move(value));
  }
  return param;
}

struct Assignment {
  std::string name;
  ParamValue value;
};

// "n=16" or "n=16,dtype=f32", as instance names show them.
std::vector<Assignment> assignments(const std::vector<std::string>& texts, const std::vector<Param>& params,
                                    std::string_view option) {
  std::vector<Assignment> found;
  for (const std::string& text : texts) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view part = std::string_view(text).substr(begin, end - begin);
      begin = end + 1;
      const std::size_t sign = part.find('=');
      if (sign == std::string_view::npos)
        throw InputError(fmt::format("{} {}: NAME=VALUE is missing", option, shown(text)),
                         fmt::format("for example {} n=16", option));
      const std::string name(part.substr(0, sign));
      const auto param = std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.name == name; });
      if (param == params.end()) {
        std::vector<std::string_view> names;
        for (const Param& p : params) names.push_back(p.name);
        throw InputError(fmt::format("{} {}: the scenario has no parameter '{}'", option, shown(text), shown(name)),
                         suggestion(name, names, "its parameters"));
      }
      const auto value = value_of(part.substr(sign + 1));
      if (!value || !same_kind(*value, param->values.front()))
        throw InputError(
            fmt::format("{} {}: parameter {} takes {}", option, shown(text), name, kind_of(param->values.front())));
      found.push_back({name, *value});
    }
  }
  return found;
}

void define(std::vector<Param>& params, const LoadOptions& options) {
  for (Assignment& assignment : assignments(options.define, params, "--define")) {
    const auto param = std::find_if(params.begin(), params.end(), [&](const Param& p) { return p.name == assignment.name; });
    param->values.assign(1, std::move(assignment.value));
  }
}

// Several values for one name: any of them; several names: all of them.
void keep_only(std::vector<Param>& params, const LoadOptions& options) {
  const std::vector<Assignment> wanted = assignments(options.only, params, "--only");
  for (Param& param : params) {
    const auto asked = [&](const ParamValue* value) {
      return std::any_of(wanted.begin(), wanted.end(), [&](const Assignment& a) {
        return a.name == param.name && (!value || equal_values(a.value, *value));
      });
    };
    if (!asked(nullptr)) continue;
    std::string there;
    for (const ParamValue& value : param.values) there += (there.empty() ? "" : ", ") + to_text(value);
    std::erase_if(param.values, [&](const ParamValue& value) { return !asked(&value); });
    if (param.values.empty())
      throw InputError(fmt::format("--only: parameter {} never has that value", param.name),
                       fmt::format("its values: {}", shown(there)));
  }
}

}  // namespace

std::string to_text(const ParamValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* fraction = std::get_if<double>(&value)) return fmt::format("{}", *fraction);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return std::get<Word>(value).text;
}

std::vector<Param> read_params(const Document& document, const Node* node) {
  std::vector<Param> params;
  if (!node) return params;
  const Mapping mapping(document, *node, "params");
  if (mapping.entries().size() > most_params) document.fail(*node, fmt::format("more than {} parameters", most_params));
  for (const Mapping::Entry& entry : mapping.entries()) params.push_back(read_param(document, entry));
  return params;
}

std::vector<Binding> bindings(const Document& document, const Node* params_node, std::vector<Param> params,
                              const LoadOptions& options) {
  define(params, options);
  keep_only(params, options);
  std::int64_t count = 1;
  for (const Param& param : params) count = saturating_mul(count, static_cast<std::int64_t>(param.values.size()));
  if (count > static_cast<std::int64_t>(most_instances))
    document.fail(params_node ? *params_node : document.root(),
                  fmt::format("the parameters have more than {} combinations", most_instances),
                  "split the sweep, or choose with --only");
  std::vector<Binding> found;
  for (std::int64_t instance = 0; instance < count; ++instance) {
    Binding binding;
    std::int64_t rest = instance;
    for (std::size_t i = params.size(); i-- > 0;) {
      const auto size = static_cast<std::int64_t>(params[i].values.size());
      binding.values[params[i].name] = params[i].values[static_cast<std::size_t>(rest % size)];
      rest /= size;
    }
    for (const Param& param : params)
      if (param.sweep)
        binding.suffix += (binding.suffix.empty() ? "[" : ",") + param.name + "=" + to_text(binding.values.at(param.name));
    if (!binding.suffix.empty()) binding.suffix += "]";
    found.push_back(std::move(binding));
  }
  return found;
}

}  // namespace tmemsim::scenario
