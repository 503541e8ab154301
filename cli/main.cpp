// The tmemsim command: parses options, calls the library, prints.
#include <CLI/CLI.hpp>
#include <csignal>
#include <new>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "ir/diagnostic.hpp"
#include "lower/lower.hpp"

namespace tmemsim::cli {
namespace {

constexpr int bad_input = 2, internal = 3, unsupported = 4;

void say(const std::string& message) { fmt::print(stderr, "{}{}", message, message.empty() || message.back() != '\n' ? "\n" : ""); }

// What is wrong with the arguments, in the words of the command line: CLI11 names options, but not a command that does not exist.
Diagnostic usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {{}, 0, 0, {}, error.what(), "tmemsim --help lists the commands"};
  const std::string asked = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), asked) != names.end())
    return {{}, 0, 0, {}, error.what(), fmt::format("tmemsim {} --help shows what it takes", asked)};
  const std::string near = closest(asked, {names.begin(), names.end()});
  return {{}, 0, 0, {}, fmt::format("there is no command '{}'", asked),
          near.empty() ? fmt::format("commands: {}", fmt::join(names, ", ")) : fmt::format("did you mean tmemsim {}?", near)};
}

void describe(CLI::App& app, Chosen& chosen) {
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tmemsim ") + version, "Print the version and exit");
  add_run(app, chosen);
  add_lower(app, chosen);
  add_emit(app, chosen);
  add_diff(app, chosen);
  add_probe(app, chosen);
  add_trace(app, chosen);
  add_debug(app, chosen);
  add_draw(app, chosen);
  add_layout(app, chosen);
  add_atom(app, chosen);
  add_facts(app, chosen);
  add_examples(app, {"tmemsim run scenarios/seeds/tmem_roundtrip_f16.yaml", "tmemsim explain raw-st", "tmemsim new my_kernel"});
}

int run(int argc, char** argv) {
  CLI::App app("Compiler and simulator for Blackwell tensor memory (TMEM, tcgen05)", "tmemsim");
  Chosen chosen;
  describe(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    say(format(usage_error(app, error, argc, argv)));
    return bad_input;
  }
  return chosen();
}

// Whatever happens ends in a message and an exit code (design 9).
int run_safely(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const ReaderGone&) {
    return 0;
  } catch (const InputError& error) {
    say(error.what());
    return bad_input;
  } catch (const Unsupported& error) {
    say(fmt::format("unsupported: {}", error.reason()));
    return unsupported;
  } catch (const lower::Refused& refused) {
    say(fmt::format("unsupported: {}", refused.text()));
    return unsupported;
  } catch (const std::bad_alloc&) {
    std::fputs("error: not enough memory\n", stderr);
    return internal;
  } catch (const std::exception& error) {
    say(fmt::format("internal error, please report: {}", error.what()));
  } catch (...) {
    say("internal error, please report: an unknown exception");
  }
  return internal;
}

}  // namespace
}  // namespace tmemsim::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), see Output
  return tmemsim::cli::run_safely(argc, argv);
}
