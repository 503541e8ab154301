// tmemsim explain, ops, schema, new: what the tool knows, without a scenario.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "ir/atomic_file.hpp"
#include "ir/diagnostic.hpp"
#include "ir/scenario/ops_text.hpp"
#include "ir/scenario/scenario.hpp"
#include "ir/verdict.hpp"
#include "lower/lower.hpp"
#include "report/explain.hpp"

namespace tmemsim::cli {
namespace {

std::string explain(const std::string& asked) {
  if (asked.empty()) return report::verdict_list();
  if (const auto verdict = verdict_named(asked)) return report::explain(*verdict);
  std::vector<std::string_view> ids;
  for (const VerdictFacts& facts : verdict_table()) ids.push_back(facts.id);
  const std::string near = closest(asked, ids);
  throw InputError(fmt::format("there is no verdict '{}'", asked), near.empty() ? "tmemsim explain lists them" : fmt::format("did you mean {}?", near));
}

struct FactsCommand {
  std::string argument, output, format;
  bool variants = false;
};

std::string ops_answer(const FactsCommand& command) {
  const bool markdown = command.format == "markdown";
  if (command.variants) return markdown ? lower::variants_markdown() : lower::variants_text();
  return markdown ? ops_markdown() : ops_text();
}

int answer(const std::string& text, const std::string& path = {}) {
  Output output(path);
  output.add(text);
  output.close();
  return 0;
}

int write_new(const FactsCommand& command) {
  const std::string text = new_scenario(command.argument);
  if (command.output == "-") return answer(text);
  const std::string path = command.output.empty() ? command.argument + ".yaml" : command.output;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) throw InputError(fmt::format("{} exists already", path), "choose another name, or another file with -o");
  write_file_atomically(path, text);
  return answer(fmt::format("{} is written. Next: tmemsim run {}\n", path, path));
}

}  // namespace

void add_facts(CLI::App& app, Chosen& chosen) {
  const auto explain_options = std::make_shared<FactsCommand>();
  CLI::App* explain_app = app.add_subcommand("explain", "What a verdict means, the rule behind it, and how to fix it");
  explain_app->add_option("verdict", explain_options->argument, "Its name (all of them are listed without one)")->type_name("VERDICT");
  add_examples(*explain_app, {"tmemsim explain", "tmemsim explain raw-st"});
  explain_app->callback([&chosen, explain_options] { chosen = [explain_options] { return answer(explain(explain_options->argument)); }; });

  const auto ops_options = std::make_shared<FactsCommand>();
  CLI::App* ops = app.add_subcommand("ops", "The operations that a scenario may use, with their keys");
  add_format(*ops, ops_options->format, {"text", "markdown"});
  ops->add_flag("--variants", ops_options->variants, "Instead: the ways to lower tile primitives, and what each asks for");
  add_examples(*ops, {"tmemsim ops", "tmemsim ops --format markdown", "tmemsim ops --variants"});
  ops->callback([&chosen, ops_options] {
    chosen = [ops_options] { return answer(ops_answer(*ops_options)); };
  });

  const auto schema_options = std::make_shared<FactsCommand>();
  CLI::App* schema = app.add_subcommand("schema", "The JSON Schema of scenarios, for editors");
  add_output(*schema, schema_options->output, "Write it to a file");
  add_examples(*schema, {"tmemsim schema -o scenario.schema.json"});
  schema->callback([&chosen, schema_options] { chosen = [schema_options] { return answer(scenario_schema(), schema_options->output); }; });

  const auto new_options = std::make_shared<FactsCommand>();
  CLI::App* make = app.add_subcommand("new", "Write a commented scenario that runs clean, to start from");
  make->add_option("name", new_options->argument, "Letters, digits, _ and -")->required()->type_name("NAME");
  add_output(*make, new_options->output, "Another file than NAME.yaml; - for standard output");
  add_examples(*make, {"tmemsim new first_try", "tmemsim new second_try -o -"});
  make->callback([&chosen, new_options] { chosen = [new_options] { return write_new(*new_options); }; });
}

}  // namespace tmemsim::cli
