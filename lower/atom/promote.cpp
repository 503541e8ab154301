#include "lower/atom/promote.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tmemsim::lower {
namespace {

Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

using Memories = std::map<std::string, OperandType>;

std::optional<Reason> collect(const AtomBody& body, Memories& memories);

std::optional<Reason> collect(const AtomCallStmt& one, Memories& memories) {
  const AtomCall& call = one.call;
  if (call.value_form) return reason("a call in value form has no memories to promote");
  if (one.memories.size() != call.operands.size())
    return reason(fmt::format("{} names for {} operands", one.memories.size(), call.operands.size()));
  for (std::size_t k = 0; k < one.memories.size(); ++k) {
    const auto [found, first] = memories.try_emplace(one.memories[k], call.operands[k]);
    if (!first && found->second.text() != call.operands[k].text())
      return reason(fmt::format("{} is used as {} and as {}", one.memories[k], found->second.text(), call.operands[k].text()));
  }
  return std::nullopt;
}
std::optional<Reason> collect(const AtomLoop& loop, Memories& memories) { return collect(loop.body, memories); }
std::optional<Reason> collect(const AtomBranch& branch, Memories& memories) {
  if (auto wrong = collect(branch.then, memories)) return wrong;
  return collect(branch.otherwise, memories);
}
std::optional<Reason> collect(const AtomBody& body, Memories& memories) {
  for (const AtomStmt& stmt : body) {
    if (auto wrong = std::visit([&](const auto& node) { return collect(node, memories); }, stmt.node)) return wrong;
  }
  return std::nullopt;
}

class Promotion {
 public:
  explicit Promotion(const Memories& memories) {
    for (const auto& [name, type] : memories) {
      if (!not_promotable(type)) promotable_.insert(name);
    }
  }

  std::vector<ValueOp> run(const AtomBody& body) {
    for (const std::string& memory : promotable_) {
      const std::string value = fresh(memory);
      ops().push_back({"undefined", {}, {value}, {}, "", {}});
      current_[memory] = value;
    }
    walk(body);
    return std::move(lists_.back());
  }

 private:
  using Current = std::map<std::string, std::string>;  // memory -> the value that it holds

  std::vector<ValueOp>& ops() { return lists_.back(); }
  std::string fresh(const std::string& stem) { return fmt::format("%{}_{}", stem, count_++); }

  void walk(const AtomBody& body) {
    for (const AtomStmt& stmt : body) std::visit([&](const auto& node) { enter(node); }, stmt.node);
  }

  // ---- calls ----

  void enter(const AtomCallStmt& one) {
    const bool copy = one.call.atom.payload->kind == atom::Kind::copy;
    static const std::vector<std::string> of_copy{"@src", "@dst", "@pred"}, of_matrix{"@d", "@a", "@b", "@c"};
    std::map<std::string, std::string> names;  // of the call -> of the function
    for (std::size_t k = 0; k < one.memories.size(); ++k) names[(copy ? of_copy : of_matrix)[k]] = "@" + one.memories[k];
    const auto resolved = [&](const std::string& name) {
      const auto found = names.find(name);
      return found == names.end() ? name : found->second;
    };
    const auto held = [&](const std::string& name) -> std::string& { return current_[resolved(name).substr(1)]; };
    for (const AtomOp& op : to_value_form(one.call)) {
      if (op.name == "fly.ptr.load") {
        names[op.result] = held(op.operands[0]);
      } else if (op.name == "fly.ptr.store") {
        held(op.operands[1]) = resolved(op.operands[0]);
      } else {
        ValueOp made{op.name, {}, {}, {}, op.types, {}};
        for (const std::string& operand : op.operands) made.operands.push_back(resolved(operand));
        if (!op.result.empty()) made.results.push_back(names[op.result] = fresh(op.result.substr(1)));
        ops().push_back(std::move(made));
      }
    }
  }

  // ---- loops and branches ----

  static void add_written(const AtomBody& body, std::set<std::string>& written) {
    for (const AtomStmt& stmt : body) {
      if (const auto* one = std::get_if<AtomCallStmt>(&stmt.node))
        written.insert(one->memories[one->call.atom.payload->kind == atom::Kind::copy ? 1 : 0]);
      if (const auto* loop = std::get_if<AtomLoop>(&stmt.node)) add_written(loop->body, written);
      if (const auto* branch = std::get_if<AtomBranch>(&stmt.node)) {
        add_written(branch->then, written);
        add_written(branch->otherwise, written);
      }
    }
  }
  // The promotable memories that are stored to, in order of their names.
  std::vector<std::string> carried(std::initializer_list<const AtomBody*> bodies) const {
    std::set<std::string> written;
    for (const AtomBody* body : bodies) add_written(*body, written);
    std::vector<std::string> result;
    std::set_intersection(written.begin(), written.end(), promotable_.begin(), promotable_.end(), std::back_inserter(result));
    return result;
  }

  // The operations of a body that starts from the values in `current_`; what it carries is yielded.
  std::vector<ValueOp> inside(const AtomBody& body, const std::vector<std::string>& memories) {
    lists_.emplace_back();
    walk(body);
    ValueOp yield{"scf.yield", {}, {}, {}, "", {}};
    for (const std::string& memory : memories) yield.operands.push_back(current_[memory]);
    ops().push_back(std::move(yield));
    std::vector<ValueOp> made = std::move(lists_.back());
    lists_.pop_back();
    return made;
  }

  void add_results(ValueOp& op, const Current& before, const std::vector<std::string>& memories) {
    current_ = before;
    for (const std::string& memory : memories) {
      op.results.push_back(fresh(memory));
      current_[memory] = op.results.back();
    }
  }

  void enter(const AtomLoop& loop) {
    const std::vector<std::string> memories = carried({&loop.body});
    const Current before = current_;
    ValueOp op{"scf.for", {loop.count}, {}, {}, "", {}};
    for (const std::string& memory : memories) {
      op.operands.push_back(current_[memory]);
      op.arguments.push_back(fresh(memory));
      current_[memory] = op.arguments.back();
    }
    op.bodies.push_back(inside(loop.body, memories));
    add_results(op, before, memories);
    ops().push_back(std::move(op));
  }

  void enter(const AtomBranch& branch) {
    const std::vector<std::string> memories = carried({&branch.then, &branch.otherwise});
    const Current before = current_;
    ValueOp op{"scf.if", {branch.condition}, {}, {}, "", {}};
    for (const AtomBody* body : {&branch.then, &branch.otherwise}) {
      current_ = before;
      op.bodies.push_back(inside(*body, memories));
    }
    add_results(op, before, memories);
    ops().push_back(std::move(op));
  }

  std::set<std::string> promotable_;
  std::vector<std::vector<ValueOp>> lists_ = std::vector<std::vector<ValueOp>>(1);
  Current current_;
  int count_ = 0;
};

void print(const std::vector<ValueOp>& ops, const std::string& indent, std::string& text) {
  for (const ValueOp& op : ops) {
    text += indent;
    if (!op.results.empty()) text += fmt::format("{} = ", fmt::join(op.results, ", "));
    text += fmt::format("{} {}", op.name, fmt::join(op.operands, ", "));
    if (!op.arguments.empty()) text += fmt::format(" carries {}", fmt::join(op.arguments, ", "));
    if (!op.types.empty()) text += " : " + op.types;
    for (std::size_t k = 0; k < op.bodies.size(); ++k) {
      text += k == 0 ? " {\n" : indent + "} else {\n";
      print(op.bodies[k], indent + "  ", text);
    }
    text += op.bodies.empty() ? "\n" : (text.back() == '\n' ? indent : "") + "}\n";
  }
}

}  // namespace

std::string to_string(const std::vector<ValueOp>& ops) {
  std::string text;
  print(ops, "", text);
  return text;
}

Result<std::vector<ValueOp>> promote(const AtomBody& body) {
  Memories memories;
  if (auto wrong = collect(body, memories)) return *wrong;
  return Promotion(memories).run(body);
}

}  // namespace tmemsim::lower
