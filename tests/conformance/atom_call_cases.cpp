// Calls of atoms: fly_lowering_cases.yaml.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/atom/registry.hpp"
#include "lower/atom/call.hpp"
#include "tests/conformance/atom_cases.hpp"

namespace tmemsim::conformance {
namespace {

using lower::AtomCall;
using lower::AtomOp;

struct Row {
  std::string op, types;
};

std::vector<Row> rows_of(const YAML::Node& list) {
  std::vector<Row> rows;
  if (!list) return rows;
  if (!list.IsSequence()) throw BadCase(list, "expected a list of [operation, types]");
  for (const YAML::Node& row : list) {
    if (!row.IsSequence() || row.size() != 2) throw BadCase(row, "expected [operation, types]");
    rows.push_back({text(row[0]), text(row[1])});
  }
  return rows;
}

bool has_pass(const YAML::Node& node, const std::string& name) {
  for (const YAML::Node& pass : node["passes"]) {
    if (text(pass) == name) return true;
  }
  return false;
}

bool is_instruction(const std::string& op) { return op.rfind("rocdl.", 0) == 0 || op == "llvm.atomicrmw"; }

// The last row that names an instruction, against the instruction of the emitted call.
std::optional<std::string> wrong_instruction(const std::vector<Row>& rows, const std::vector<AtomOp>& emitted) {
  const auto wanted = std::find_if(rows.rbegin(), rows.rend(), [](const Row& row) { return is_instruction(row.op); });
  if (wanted == rows.rend()) return std::nullopt;
  const auto found = std::find_if(emitted.rbegin(), emitted.rend(), [](const AtomOp& op) { return is_instruction(op.name); });
  if (found == emitted.rend()) return fmt::format("{} is expected, no instruction is emitted", wanted->op);
  if (found->name != wanted->op) return fmt::format("{} is expected, {} is emitted", wanted->op, found->name);
  if (found->types.find(wanted->types) == std::string::npos)
    return fmt::format("{} is expected, the types are {}", wanted->types, found->types);
  return std::nullopt;
}

// Loads and stores of the value form: how many, and of which types. A row's types may begin inside the text.
std::optional<std::string> wrong_accesses(const std::vector<Row>& rows, const std::vector<AtomOp>& ops) {
  for (const std::string name : {"fly.ptr.load", "fly.ptr.store"}) {
    std::vector<std::string> wanted, found;
    for (const Row& row : rows) {
      if (row.op == name) wanted.push_back(row.types);
    }
    for (const AtomOp& op : ops) {
      if (op.name == name) found.push_back(op.types);
    }
    if (wanted.size() != found.size())
      return fmt::format("{} {} are expected, there are {}", wanted.size(), name, found.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (found[k].find(wanted[k]) == std::string::npos)
        return fmt::format("{} {} is expected, found {}", name, wanted[k], found[k]);
    }
  }
  return std::nullopt;
}

std::optional<std::string> forbidden(const YAML::Node& node, const std::vector<AtomOp>& ops) {
  for (const YAML::Node& entry : node["forbid"]) {
    const std::string name = text(entry);
    if (name.rfind("fly.", 0) != 0) continue;  // other text: about the whole function
    for (const AtomOp& op : ops) {
      if ((op.name + "(").rfind(name, 0) == 0) return fmt::format("{} must not appear", name);
    }
  }
  return std::nullopt;
}

std::optional<std::string> wrong_sets(const YAML::Node& node, const atom::PayloadRef& payload) {
  if (!node["sets"]) return std::nullopt;
  // The promotion tests are about functions with several atoms; what they set belongs to the one that has state.
  if (payload->state.empty() && has_pass(node, "fly-promote-regmem-to-vectorssa")) return std::nullopt;
  atom::State state(payload);
  for (const YAML::Node& field : node["sets"]) {
    const auto declared = std::find_if(payload->state.begin(), payload->state.end(),
                                       [&](const atom::StateField& one) { return one.name == text(field); });
    const auto next = state.set(text(field), {declared == payload->state.end() ? "i32" : declared->type, 1, true});
    if (!next) return next.reason().text;
    state = *next;
  }
  return std::nullopt;
}

// A copy in value form whose destination is its result alone: src[, pred] -> value.
std::optional<std::string> add_result(const YAML::Node& node, bool value_form, atom::Kind kind,
                                      std::vector<lower::OperandType>& operands) {
  if (!value_form || kind != atom::Kind::copy || !node["result"] || text(node["result"]) == "()") return std::nullopt;
  const bool only_source = operands.size() == 1,
             predicated = operands.size() == 2 && operands[1].element == "i1" && operands[0].element != "i1";
  if (!only_source && !predicated) return std::nullopt;
  const auto result = lower::parse_operand_type(text(node["result"]));
  if (!result) return result.reason().text;
  operands.insert(operands.begin() + 1, *result);
  return std::nullopt;
}

Outcome run_negative(const YAML::Node& node) {
  const std::string given = text(need(node, "atom"));
  const std::size_t on = given.find(" on ");
  const auto found = atom::atom_named(given.substr(0, on));
  if (!found) return found.reason().text.rfind("there is no atom", 0) == 0 ? failed(found.reason().text) : passed();
  if (on == std::string::npos) return failed("is accepted, and must be refused");
  const std::string tile = given.substr(on + 4);
  const std::size_t space = tile.find(' ');
  if (space == std::string::npos) throw BadCase(node["atom"], "expected ATOM on ELEMENT LAYOUT");
  const auto type =
      lower::parse_operand_type(fmt::format("memref<{}, global, {}>", tile.substr(0, space), tile.substr(space + 1)));
  if (!type) throw BadCase(node["atom"], type.reason().text);
  return lower::tile_refused(**found, *type) ? passed() : failed("is accepted, and must be refused");
}

}  // namespace

bool is_atom_call_case(const Case& one) {
  const YAML::Node& node = one.node;
  if (one.list == "negative") return node["atom"] && node["stage"];
  return node["call"] && node["atom"] && node["operands"] && node["operands"].IsSequence();
}

Outcome run_atom_call_case(const Case& one) {
  const YAML::Node& node = one.node;
  if (one.list == "negative") return run_negative(node);
  const auto type = lower::parse_atom_type(text(need(node, "atom")));
  if (!type) return failed(type.reason().text);
  std::vector<lower::OperandType> operands;
  for (const YAML::Node& operand : need(node, "operands")) {
    const auto parsed = lower::parse_operand_type(text(operand));
    if (!parsed) return failed(parsed.reason().text);
    operands.push_back(*parsed);
  }
  const std::string called = text(need(node, "call"));
  const bool value_form = called.size() > 4 && called.substr(called.size() - 4) == "_ssa";
  if (const auto wrong = add_result(node, value_form, type->payload->kind, operands)) return failed(*wrong);
  const auto call = lower::make_call(*type, value_form, operands);
  if (!call) return failed(call.reason().text);
  if (const auto wrong = wrong_sets(node, type->payload)) return failed(*wrong);
  const std::vector<Row> rows = rows_of(node["expect"]);
  if (const auto wrong = wrong_instruction(rows, lower::emit(*call))) return failed(*wrong);
  if (!has_pass(node, "fly-convert-atom-call-to-ssa-form")) return passed();
  const std::vector<AtomOp> values = lower::to_value_form(*call);
  if (const auto wrong = forbidden(node, values)) return failed(*wrong);
  if (has_pass(node, "fly-promote-regmem-to-vectorssa")) return passed();  // the loads and stores are gone in the end
  const auto wrong = wrong_accesses(rows, values);
  return wrong ? failed(*wrong) : passed();
}

}  // namespace tmemsim::conformance
