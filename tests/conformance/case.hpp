// One case of a case file, what running it can say, and readers of its keys that complain with a place.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace tmemsim::conformance {

struct Case {
  std::string file;   // without folder and .yaml: tirx_layout_cases
  std::string list;   // the top-level key it stands under: cases, size_cases, negative, atoms, reports
  std::size_t index;  // in its list
  YAML::Node node;    // a map

  // "op" or else "kind", or "" when the case has neither.
  std::string operation() const;
  // Its id, name or operation, and where it stands in its list.
  std::string title() const;
};

struct Outcome {
  enum class Kind : std::uint8_t { passed, failed, skipped } kind;
  std::string text;  // failed: what differs; skipped: the operation that is not built yet
};
inline Outcome passed() { return {Outcome::Kind::passed, {}}; }
inline Outcome failed(std::string what) { return {Outcome::Kind::failed, std::move(what)}; }
inline Outcome skipped(std::string operation) { return {Outcome::Kind::skipped, std::move(operation)}; }

// The first runner that recognises a case runs it. A runner that throws BadCase or a YAML exception found a malformed case
// (the file is bad); any other exception is a failure of the case.
struct Runner {
  bool (*recognises)(const Case&);
  Outcome (*run)(const Case&);
};

class BadCase : public std::runtime_error {
 public:
  BadCase(const YAML::Node& at, const std::string& message) : std::runtime_error(message), mark(at.Mark()) {}
  YAML::Mark mark;
};

YAML::Node need(const YAML::Node& map, const std::string& key);  // BadCase when the key is missing
std::int64_t integer(const YAML::Node& node);
std::vector<std::int64_t> integers(const YAML::Node& list);
std::string text(const YAML::Node& node);

}  // namespace tmemsim::conformance
