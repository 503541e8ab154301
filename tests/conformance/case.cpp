#include "tests/conformance/case.hpp"

#include <fmt/format.h>

namespace tmemsim::conformance {
namespace {

template <class T>
T scalar(const YAML::Node& node, const char* what) {
  T value{};
  if (!node.IsScalar() || !YAML::convert<T>::decode(node, value)) throw BadCase(node, fmt::format("expected {}", what));
  return value;
}

std::string scalar_or_nothing(const YAML::Node& map, const char* key) {
  const YAML::Node found = map[key];
  return found && found.IsScalar() ? found.Scalar() : std::string();
}

}  // namespace

std::string Case::operation() const {
  const std::string op = scalar_or_nothing(node, "op");
  return op.empty() ? scalar_or_nothing(node, "kind") : op;
}

std::string Case::title() const {
  for (const char* key : {"id", "name", "atom"}) {
    const std::string value = scalar_or_nothing(node, key);
    if (!value.empty()) return value;
  }
  return fmt::format("{}[{}] {}", list, index, operation());
}

YAML::Node need(const YAML::Node& map, const std::string& key) {
  const YAML::Node found = map.IsMap() ? map[key] : YAML::Node(YAML::NodeType::Undefined);
  if (!found) throw BadCase(map, fmt::format("the key '{}' is missing", key));
  return found;
}

std::int64_t integer(const YAML::Node& node) { return scalar<std::int64_t>(node, "an integer"); }

std::string text(const YAML::Node& node) { return scalar<std::string>(node, "a text"); }

std::vector<std::int64_t> integers(const YAML::Node& list) {
  if (!list.IsSequence()) throw BadCase(list, "expected a list of integers");
  std::vector<std::int64_t> values;
  for (const YAML::Node& item : list) values.push_back(integer(item));
  return values;
}

}  // namespace tmemsim::conformance
