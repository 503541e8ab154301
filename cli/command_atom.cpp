// tmemsim atom: list, show, verify.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "ir/atom/registry.hpp"
#include "ir/diagnostic.hpp"
#include "lower/atom/amdgcn.hpp"
#include "report/atom_answers.hpp"

namespace tmemsim::cli {
namespace {

constexpr int wrong_contract = 1;

struct AtomQuestion {
  std::string name, operand, format, output;
  std::vector<std::string> names;
};

int print(const std::string& text, const std::string& path = {}) {
  Output output(path);
  output.add(text);
  output.close();
  return 0;
}

std::string llvm_text(const std::string& name) {
  const auto found = atom::atom_named(name);
  if (!found) throw InputError(found.reason().text, "tmemsim atom list shows what there is");
  const auto made = lower::amdgcn_module(**found);
  if (!made) throw Unsupported(made.reason().text);
  return made->text;
}

int show(const AtomQuestion& question) {
  if (question.format == "llvm") return print(llvm_text(question.name), question.output);
  if (question.format == "csv") return print(report::atom_csv(question.name, question.operand), question.output);
  if (question.format == "svg")
    return print(report::svg(report::atom_picture(question.name, question.operand)), question.output);
  std::string text = report::atom_text(question.name);
  if (!question.operand.empty())
    text += "\n" + report::terminal_text(report::atom_picture(question.name, question.operand), {}, false);
  return print(text, question.output);
}

void add_show(CLI::App& atom, Chosen& chosen) {
  const auto question = std::make_shared<AtomQuestion>();
  CLI::App* command = atom.add_subcommand("show", "The contract of one atom, and who holds what");
  command->add_option("name", question->name, "A name of the list, any other legal form, or FlyDSL's notation")
      ->required()
      ->type_name("NAME");
  command->add_option("--operand", question->operand, "A, B, C or D; src, dst or ref of a copy")->type_name("OPERAND");
  add_format(*command, question->format, {"text", "csv", "svg", "llvm"});
  add_output(*command, question->output, "Write it to a file");
  add_examples(*command,
               {"tmemsim atom show tcgen05.ld.16x256b.x8 --format csv", "tmemsim atom show mma.sync.m16n8k16.f16 --operand A",
                "tmemsim atom show \"cdna3.mfma<16x16x16,(f16,f16)->f32>\" --operand C --format svg -o mfma.svg"});
  command->callback([&chosen, question] { chosen = [question] { return show(*question); }; });
}

}  // namespace

void add_atom(CLI::App& app, Chosen& chosen) {
  CLI::App* atom = app.add_subcommand("atom", "Target instructions as checked objects: list, show and verify them");
  atom->require_subcommand(1);
  add_examples(*atom, {"tmemsim atom list tcgen05.cp", "tmemsim atom show ldmatrix.m8n8.x4.b16",
                       "tmemsim atom verify mma.sync.m16n8k16.f16"});

  const auto listed = std::make_shared<AtomQuestion>();
  CLI::App* list = atom->add_subcommand("list", "All atoms with their target and where their ground truth comes from");
  list->add_option("family", listed->name, "Only this family")->type_name("FAMILY");
  add_examples(*list, {"tmemsim atom list", "tmemsim atom list mma.sync"});
  list->callback([&chosen, listed] { chosen = [listed] { return print(report::atom_list(listed->name)); }; });

  add_show(*atom, chosen);

  const auto verified = std::make_shared<AtomQuestion>();
  CLI::App* verify = atom->add_subcommand(
      "verify", "Check contracts, and execute the instructions against their layouts (exit 1 when one is wrong)");
  verify->add_option("names", verified->names, "Which (all of them when left out)")->type_name("NAME");
  add_examples(*verify, {"tmemsim atom verify ldmatrix.m8n8.x4.trans.b16 mma.sync.m16n8k8.tf32"});
  verify->callback([&chosen, verified] {
    chosen = [verified] {
      const report::AtomVerdicts verdicts = report::atom_verify(verified->names);
      print(verdicts.text);
      return verdicts.all_right ? 0 : wrong_contract;
    };
  });
}

}  // namespace tmemsim::cli
