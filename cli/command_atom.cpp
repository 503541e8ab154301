// tmemsim atom: list, show, verify.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "ir/atom/registry.hpp"
#include "ir/diagnostic.hpp"
#include "lower/atom/amdgcn.hpp"
#include "lower/atom/call.hpp"
#include "lower/atom/cuda.hpp"
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

// What a call becomes: `type` and `operands` as in the notation of calls, `state` as FIELD=NUMBER, ...
struct CallQuestion {
  std::string type, state, form, output;
  std::vector<std::string> operands;
  bool values = false;
};

template <class T>
T taken(Result<T> result, const std::string& text) {
  if (result) return *std::move(result);
  std::string message = result.reason().text;
  if (const auto at = result.reason().text_offset) message += fmt::format("\n  {}\n  {}^", text, std::string(*at, ' '));
  throw InputError(message, "tmemsim atom call --help shows the notation");
}

lower::AtomCall call_of(const CallQuestion& question) {
  lower::AtomType type = taken(lower::parse_atom_type(question.type), question.type);
  std::vector<lower::OperandType> operands;
  for (const std::string& text : question.operands) operands.push_back(taken(lower::parse_operand_type(text), text));
  atom::State state = taken(atom::State(type.payload).set_all(question.state), question.state);
  return taken(lower::make_call(std::move(type), question.values, std::move(operands), std::move(state)), question.type);
}

int print_call(const CallQuestion& question) {
  const lower::AtomCall call = call_of(question);
  if (question.form == "values") return print(lower::to_string(lower::to_value_form(call)), question.output);
  if (question.form == "llvm") return print(lower::to_string(lower::emit(call)), question.output);
  const auto text = lower::cuda_function(call, "atom");
  if (!text) throw Unsupported(text.reason().text);
  return print(std::string(lower::cuda_prelude) + *text, question.output);
}

void add_call(CLI::App& atom, Chosen& chosen) {
  const auto question = std::make_shared<CallQuestion>();
  question->form = "values";
  CLI::App* command =
      atom.add_subcommand("call", "What a call of an atom becomes: in value form, as LLVM operations or as CUDA");
  command->add_option("type", question->type, "copy_atom<PAYLOAD, BITS> or mma_atom<PAYLOAD>")->required()->type_name("ATOM");
  command
      ->add_option("operands", question->operands,
                   "memref<ELEMENT, SPACE, LAYOUT>, vector<NxELEMENT> or ELEMENT: src, dst[, pred]; d, a, b, c")
      ->required()
      ->type_name("TYPE");
  command->add_option("--state", question->state, "The atom's fields: soffset=4, imm_offset=16")->type_name("FIELDS");
  command->add_flag("--value-form", question->values, "The operands are values already");
  command->add_option("--form", question->form, "values, llvm or cuda")
      ->check(CLI::IsMember({"values", "llvm", "cuda"}))
      ->type_name("FORM");
  add_output(*command, question->output, "Write it to a file");
  add_examples(*command, {"tmemsim atom call \"copy_atom<ldmatrix.m8n8.x2.b16, 16>\" \"memref<f16, shared, 64:1>\" "
                          "\"memref<f16, register, 4:1>\" --form cuda"});
  command->callback([&chosen, question] { chosen = [question] { return print_call(*question); }; });
}

}  // namespace

void add_atom(CLI::App& app, Chosen& chosen) {
  CLI::App* atom = app.add_subcommand("atom", "Target instructions as checked objects: list, show, call and verify them");
  atom->require_subcommand(1);
  add_examples(*atom, {"tmemsim atom list tcgen05.cp", "tmemsim atom show ldmatrix.m8n8.x4.b16",
                       "tmemsim atom verify mma.sync.m16n8k16.f16"});

  const auto listed = std::make_shared<AtomQuestion>();
  CLI::App* list = atom->add_subcommand("list", "All atoms with their target and where their ground truth comes from");
  list->add_option("family", listed->name, "Only this family")->type_name("FAMILY");
  add_examples(*list, {"tmemsim atom list", "tmemsim atom list mma.sync"});
  list->callback([&chosen, listed] { chosen = [listed] { return print(report::atom_list(listed->name)); }; });

  add_show(*atom, chosen);
  add_call(*atom, chosen);

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
