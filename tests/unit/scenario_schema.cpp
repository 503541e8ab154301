#include <sys/wait.h>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "ir/op_list.hpp"
#include "ir/scenario/ops_text.hpp"
#include "ir/scenario/scenario.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// Every object that lists properties refuses others, and every reference leads somewhere.
void check_closed(const nlohmann::json& schema, const nlohmann::json& root) {
  if (schema.is_object()) {
    if (schema.contains("properties") && schema.contains("type")) CHECK(schema.at("additionalProperties") == false);
    if (schema.contains("$ref") && schema.at("$ref").is_string()) {
      const std::string prefix = "#/$defs/", target = schema.at("$ref");
      REQUIRE(target.starts_with(prefix));
      CHECK(root.at("$defs").contains(target.substr(prefix.size())));
    }
  }
  if (schema.is_structured())
    for (const auto& item : schema) check_closed(item, root);
}

template <class Op>
std::vector<std::string> keys_of() {
  return std::apply([](const auto&... field) { return std::vector<std::string>{std::string(field.key)...}; }, Op::fields);
}

struct Finished {
  int exit_code = -1;
  std::string output;
};

Finished run(const std::string& command_line) {
  Finished finished;
  FILE* pipe = ::popen((command_line + " 2>&1").c_str(), "r");
  if (!pipe) return finished;
  char block[4096];
  while (const std::size_t count = std::fread(block, 1, sizeof block, pipe)) finished.output.append(block, count);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) finished.exit_code = WEXITSTATUS(status);
  return finished;
}

}  // namespace

TEST_CASE("The schema is closed and names every operation and key") {
  const auto schema = nlohmann::json::parse(scenario_schema());
  CHECK(schema.at("$schema") == "https://json-schema.org/draft/2020-12/schema");
  check_closed(schema, schema);
  const auto& choices = schema.at("$defs").at("statement").at("anyOf");
  std::size_t at = 0;
  const auto next = [&]<class Op>() {
    const auto& properties = choices.at(at++).at("properties");
    for (const std::string& key : keys_of<Op>()) CHECK(properties.contains(key));
    CHECK(properties.contains("do"));
  };
  TileOps::for_each(next);
  MachineOps::for_each(next);
  CHECK(choices.size() == at + 4);  // for, while, if, delay
}

TEST_CASE("The tables of operations name every operation, key, rule and section") {
  const std::string text = ops_text(), markdown = ops_markdown();
  const auto named = [&]<class Op>() {
    CHECK_THAT(text, contains(std::string(Op::row.name)));
    CHECK_THAT(text, contains(std::string(Op::row.rule)));
    CHECK_THAT(markdown, contains("`" + std::string(Op::row.name)));
    for (const std::string& key : keys_of<Op>()) CHECK_THAT(markdown, contains("`" + key));
  };
  TileOps::for_each(named);
  MachineOps::for_each(named);
  CHECK_THAT(text, contains("barrier.sync, barrier\n"));
  CHECK_THAT(text, contains("section: 9.7.16.7.1"));
  for (std::size_t begin = 0, lines = 0; begin < markdown.size(); ++lines) {  // no cell breaks the table
    const std::size_t end = markdown.find('\n', begin);
    std::size_t bars = 0;
    for (std::size_t i = begin; i < end; ++i) bars += markdown[i] == '|' && (i == 0 || markdown[i - 1] != '\\');
    CHECK(bars == 8);
    begin = end + 1;
  }
}

TEST_CASE("An independent validator accepts every scenario, and none with a typo") {
  TemporaryFolder folder;
  const auto schema = folder.write("schema.json", scenario_schema());
  const std::string root = source_dir;
  const Finished finished =
      run("python3 '" + root + "/tests/schema/validate_scenarios.py' '" + schema.string() + "' '" + root + "/scenarios'");
  INFO(finished.output);
  constexpr int skipped = 77, no_command = 127;
  if (finished.exit_code == skipped || finished.exit_code == no_command) {
    WARN("the schema was not validated: " << finished.output);
    return;
  }
  CHECK(finished.exit_code == 0);
}
