#include "ir/program.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace tmemsim {
namespace {

constexpr int most_rows = 4096;
constexpr std::size_t most_steps = std::size_t{1} << 24;

class Decoder {
 public:
  explicit Decoder(Program& program) : program_(program), kernel_(*program.kernel) {}

  void run() {
    place_registers();
    body(kernel_.body, Where{});
    add(Step::Kind::end, nullptr, Where{});
  }

 private:
  void place_registers() {
    int row = 0;
    for (const Buffer& buffer : kernel_.buffers) {
      program_.first_row.push_back(static_cast<std::uint16_t>(row));
      if (buffer.space != Space::local) continue;
      const int rows = register_count(buffer);
      if (rows > most_rows - row) {
        input_error(kernel_.files, buffer.at, fmt::format("the local buffers need more than {} registers a thread", most_rows));
      }
      row += rows;
    }
    program_.rows_per_warp = static_cast<std::uint16_t>(row);
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.steps.size()); }

  std::uint32_t add(Step::Kind kind, const Stmt* stmt, const Where& where) {
    if (program_.steps.size() >= most_steps) throw InputError(fmt::format("the program has more than {} steps", most_steps));
    Step step;
    step.kind = kind;
    step.stmt = stmt;
    step.where = where;
    step.loops_around = loops_;
    program_.steps.push_back(std::move(step));
    return here() - 1;
  }

  Step& at(std::uint32_t index) { return program_.steps[index]; }

  void body(const Body& body, const Where& outer) {
    for (const Stmt& stmt : body) statement(stmt, narrowed(outer, stmt.where));
  }

  void statement(const Stmt& stmt, const Where& where) {
    std::visit([&](const auto& node) { statement(stmt, node, where); }, stmt.node);
  }

  void statement(const Stmt& stmt, const MachineOps::Any&, const Where& where) { add(Step::Kind::op, &stmt, where); }
  void statement(const Stmt& stmt, const Delay&, const Where& where) { add(Step::Kind::delay, &stmt, where); }
  void statement(const Stmt& stmt, const TileOps::Any&, const Where&) {
    throw std::logic_error("decode: the tile primitive at " + stmt.path + " is not lowered");
  }

  void statement(const Stmt& stmt, const Lowered& lowered, const Where& where) {
    add(Step::Kind::tile_begin, &stmt, where);
    body(lowered.body, where);
    add(Step::Kind::tile_end, &stmt, where);
  }

  // Who is inside a loop or an `if` has been elected already.
  static Where inside(Where where) {
    where.elect = false;
    return where;
  }

  void statement(const Stmt& stmt, const For& loop, const Where& where) {
    if (program_.loops.size() > 0xffff) throw InputError("the program has more than 65536 loops");
    const auto slot = static_cast<std::uint16_t>(program_.loops.size());
    program_.loops.push_back({loop.variable});
    const std::uint32_t enter = add(Step::Kind::loop_enter, &stmt, where);
    loops_.push_back(slot);
    body(loop.body, inside(where));
    loops_.pop_back();
    const std::uint32_t next = add(Step::Kind::loop_next, &stmt, inside(where));
    at(enter).loop = at(next).loop = slot;
    at(next).target = enter + 1;
    at(enter).target = at(enter).after = here();
  }

  void statement(const Stmt& stmt, const While& loop, const Where& where) {
    const std::uint32_t head = add(Step::Kind::branch_unless, &stmt, where);
    body(loop.body, inside(where));
    at(add(Step::Kind::jump, &stmt, inside(where))).target = head;
    at(head).target = at(head).after = here();
  }

  void statement(const Stmt& stmt, const If& branch, const Where& where) {
    const std::uint32_t head = add(Step::Kind::branch_unless, &stmt, where);
    body(branch.then, inside(where));
    if (branch.otherwise.empty()) {
      at(head).target = here();
    } else {
      const std::uint32_t leave = add(Step::Kind::jump, &stmt, inside(where));
      at(head).target = here();
      body(branch.otherwise, inside(where));
      at(leave).target = here();
    }
    at(head).after = here();
  }

  Program& program_;
  const Kernel& kernel_;
  std::vector<std::uint16_t> loops_;
};

// Reads the nesting off the branches; everything that a step does not say comes from its statement.
class Rebuilder {
 public:
  explicit Rebuilder(const Program& program) : program_(program) {}

  Body body(std::uint32_t from, std::uint32_t to) const {
    Body body;
    while (from < to) {
      const Step& step = program_.steps[from];
      const auto [stmt, next] = statement(step, from);
      body.push_back(stmt);
      from = next;
    }
    return body;
  }

 private:
  struct Rebuilt {
    Stmt stmt;
    std::uint32_t next;
  };

  Rebuilt statement(const Step& step, std::uint32_t at) const {
    switch (step.kind) {
      case Step::Kind::op:
      case Step::Kind::delay: return {*step.stmt, at + 1};
      case Step::Kind::tile_begin: return lowered(step, at);
      case Step::Kind::loop_enter: return counted(step, at);
      case Step::Kind::branch_unless: return std::holds_alternative<While>(step.stmt->node) ? polling(step, at) : branch(step, at);
      default: throw std::logic_error("rebuild: a step stands outside its statement");
    }
  }

  static Rebuilt with(const Step& step, Stmt::Node node, std::uint32_t next) {
    Stmt stmt;
    stmt.at = step.stmt->at;
    stmt.label = step.stmt->label;
    stmt.where = step.stmt->where;
    stmt.means = step.stmt->means;
    stmt.node = std::move(node);
    stmt.path = step.stmt->path;
    return {std::move(stmt), next};
  }

  Rebuilt lowered(const Step& step, std::uint32_t at) const {
    std::uint32_t end = at + 1;
    while (program_.steps[end].kind != Step::Kind::tile_end || program_.steps[end].stmt != step.stmt) ++end;
    const auto& of = std::get<Lowered>(step.stmt->node);
    return with(step, Lowered{of.origin, of.variant, body(at + 1, end)}, end + 1);
  }

  Rebuilt counted(const Step& step, std::uint32_t at) const {
    const auto& of = std::get<For>(step.stmt->node);
    return with(step, For{program_.loops[step.loop].variable, of.begin, of.end, of.step, body(at + 1, step.after - 1)}, step.after);
  }

  Rebuilt polling(const Step& step, std::uint32_t at) const {
    return with(step, While{std::get<While>(step.stmt->node).condition, body(at + 1, step.after - 1)}, step.after);
  }

  Rebuilt branch(const Step& step, std::uint32_t at) const {
    const Expr& condition = std::get<If>(step.stmt->node).condition;
    if (step.target == step.after) return with(step, If{condition, body(at + 1, step.after), {}}, step.after);
    return with(step, If{condition, body(at + 1, step.target - 1), body(step.target, step.after)}, step.after);
  }

  const Program& program_;
};

}  // namespace

Program decode(std::shared_ptr<const Kernel> kernel) {
  Program program;
  program.kernel = std::move(kernel);
  Decoder(program).run();
  return program;
}

Body rebuild(const Program& program) { return Rebuilder(program).body(0, static_cast<std::uint32_t>(program.steps.size()) - 1); }

}  // namespace tmemsim
