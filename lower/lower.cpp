#include "lower/lower.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lower/dispatch.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::string_view scratch_name = "copy_scratch";

// What stands around a statement.
struct Around {
  Where where;
  bool differs_in_warp = false;   // below a condition that differs between the threads of a warp
};

bool differs_in_warp(const Expr& condition) {
  return condition.uses(ExprOp::tid) || condition.uses(ExprOp::lane) || condition.uses(ExprOp::reg);
}

class Pass {
 public:
  Pass(Kernel& kernel, std::vector<Explanation>* explanations) : kernel_(kernel), explanations_(explanations) {
    scratch_ = static_cast<BufferId>(kernel.buffers.size());
  }

  void run() {
    walk(kernel_.body, {});
    if (needs_scratch_) add_scratch();
  }

 private:
  void walk(Body& body, const Around& around) {
    for (Stmt& stmt : body) {
      const Around inner{narrowed(around.where, stmt.where), around.differs_in_warp};
      std::visit([&](auto& node) { enter(stmt, node, inner); }, stmt.node);
    }
  }

  template <class Node> void enter(Stmt&, Node&, const Around&) {}
  void enter(Stmt&, For& loop, const Around& around) { walk(loop.body, around); }
  void enter(Stmt&, While& loop, Around around) {
    around.differs_in_warp = around.differs_in_warp || differs_in_warp(loop.condition);
    walk(loop.body, around);
  }
  void enter(Stmt&, If& branch, Around around) {
    around.differs_in_warp = around.differs_in_warp || differs_in_warp(branch.condition);
    walk(branch.then, around);
    walk(branch.otherwise, around);
  }
  void enter(Stmt& stmt, TileOps::Any&, const Around& around) {
    const Threads threads = threads_of(around.where, kernel_.launch);
    if (threads.warps() < 1 || threads.lanes() < 1) {  // the ranges of `at` have nothing in common
      stmt.node = Lowered{std::get<TileOps::Any>(std::move(stmt.node)), "nobody", {}};
      return;
    }
    const Request request{kernel_, stmt, threads, explanations_ != nullptr, scratch_};
    if (around.differs_in_warp) refuse_divergent(request);
    Choice choice = choose(request);
    needs_scratch_ = needs_scratch_ || choice.plan.needs_scratch;
    if (explanations_ != nullptr) {
      explanations_->push_back({stmt.path, one_line(request), std::string(choice.variant->name), std::move(choice.refusals), std::move(choice.plan.proof)});
    }
    place(choice.plan.body, stmt);
    stmt.node = Lowered{std::get<TileOps::Any>(std::move(stmt.node)), std::string(choice.variant->name), std::move(choice.plan.body)};
  }

  [[noreturn]] static void refuse_divergent(const Request& request) {
    throw Refused(request.stmt.at, one_line(request),
                  {{"(all)", "same condition for the threads", "it stands below a condition that differs between the threads of a warp"}},
                  "a condition on warp, wg, cta, rank, loop variables or words, or `at` with lanes");
  }

  // What a primitive became stands where it stood and runs on its threads.
  static void place(Body& body, const Stmt& primitive) {
    for (Stmt& stmt : body) {
      stmt.at = primitive.at;
      stmt.where = primitive.where;
      if (auto* branch = std::get_if<If>(&stmt.node)) place(branch->then, primitive);
      if (auto* loop = std::get_if<For>(&stmt.node)) place(loop->body, primitive);
    }
  }

  void add_scratch() {
    Buffer scratch;
    scratch.name = std::string(scratch_name);
    for (int suffix = 2; buffer_named(kernel_, scratch.name); ++suffix) scratch.name = fmt::format("{}_{}", scratch_name, suffix);
    scratch.space = Space::local;
    scratch.dtype = Dtype::u32;
    scratch.shape = {4};
    kernel_.buffers.push_back(std::move(scratch));
  }

  Kernel& kernel_;
  std::vector<Explanation>* explanations_;
  BufferId scratch_ = 0;
  bool needs_scratch_ = false;
};

}  // namespace

Kernel lower(const Kernel& kernel, std::vector<Explanation>* explanations) {
  Kernel result = kernel;
  if (explanations != nullptr) number_statements(result);
  Pass(result, explanations).run();
  number_statements(result);
  return result;
}

}  // namespace tmemsim::lower
