// The parameters of a scenario: typed values that may stand for a number or a keyword, and the sweep over all combinations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/scenario/mapping.hpp"
#include "ir/scenario/scenario.hpp"

namespace tmemsim::scenario {

inline constexpr std::size_t most_instances = 10000;

struct Word {
  std::string text;
  bool operator==(const Word&) const = default;
};
using ParamValue = std::variant<std::int64_t, double, bool, Word>;

std::string to_text(const ParamValue& value);

struct Param {
  std::string name;
  bool sweep = false;              // written as a list
  std::vector<ParamValue> values;  // all of one kind; whole and fractional numbers are one kind
};

// One combination of values.
struct Binding {
  std::map<std::string, ParamValue, std::less<>> values;
  std::string suffix;  // "[n=16,dtype=f32]"; empty without a sweep
};

std::vector<Param> read_params(const Document& document, const Node* node);

// Every combination, the last parameter fastest; --define sets a parameter to one value, --only keeps the combinations that
// have the values. Throws InputError for names and values that do not exist, and when nothing is left.
std::vector<Binding> bindings(const Document& document, const Node* params_node, std::vector<Param> params,
                              const LoadOptions& options);

}  // namespace tmemsim::scenario
