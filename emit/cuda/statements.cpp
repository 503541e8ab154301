// Statements: guards, loops, comments, and where the lanes of a warp may run apart.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "emit/cuda/cuda.hpp"
#include "emit/cuda/identifier.hpp"
#include "emit/cuda/ops.hpp"

namespace tmemsim::emit {
namespace {

// The lanes of one warp may disagree about it. Words are taken as uniform, as lowering does.
bool depends_on_lane(const Expr& expr) { return expr.uses(ExprOp::tid) || expr.uses(ExprOp::lane) || expr.uses(ExprOp::reg); }

// Lanes may leave a loop or an `if` at different times: also where a word decides, since each lane reads it for itself.
bool may_split(const Expr& expr) { return depends_on_lane(expr) || expr.uses(ExprOp::word); }

bool names_some_lanes(const Where& where) {
  return where.elect || (where.lanes && (where.lanes->first > 0 || where.lanes->last < 31));
}

// Whether some statement of the body can leave the lanes of a warp at different places.
bool may_split(const Body& body);

struct MaySplit {
  bool operator()(const For& loop) const {
    return may_split(loop.begin) || may_split(loop.end) || may_split(loop.step) || may_split(loop.body);
  }
  bool operator()(const While& loop) const { return may_split(loop.condition) || may_split(loop.body); }
  bool operator()(const If& choice) const {
    return may_split(choice.condition) || may_split(choice.then) || may_split(choice.otherwise);
  }
  bool operator()(const Lowered& lowered) const { return may_split(lowered.body); }
  // Each lane polls for itself.
  bool operator()(const MachineOps::Any& op) const {
    const auto* test = std::get_if<MbarrierTestWait>(&op);
    const auto* attempt = std::get_if<MbarrierTryWait>(&op);
    return (test && !test->poll) || (attempt && !attempt->poll) || std::holds_alternative<ClusterWait>(op) ||
           std::holds_alternative<BulkWaitGroup>(op);
  }
  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

bool may_split(const Body& body) {
  for (const Stmt& stmt : body) {
    if (names_some_lanes(stmt.where) || std::visit(MaySplit{}, stmt.node)) return true;
  }
  return false;
}

// "warp == 0", "warp >= 4 && warp <= 7"; "" when it holds for all of 0 .. count-1.
std::string span_text(std::string_view name, const Where::Span& span, std::uint32_t count) {
  if (span.first == span.last) return count == 1 ? "" : fmt::format("{} == {}", name, span.first);
  std::string text;
  if (span.first > 0) text = fmt::format("{} >= {}", name, span.first);
  if (span.last + 1 < count) text += fmt::format("{}{} <= {}", text.empty() ? "" : " && ", name, span.last);
  return text;
}

template <class T>
bool asks_more(const std::optional<T>& inner, const std::optional<T>& outer) {
  return inner && inner != outer;
}

template <class T>
void take_over(std::optional<T>& into, const std::optional<T>& from) {
  if (from) into = from;
}

void find_loads(const Body& body, std::set<BufferId>& loaded) {
  for (const Stmt& stmt : body) {
    if (const auto* op = std::get_if<MachineOps::Any>(&stmt.node)) {
      if (const auto* load = std::get_if<TcgenLd>(op)) loaded.insert(load->dst.buffer);
    } else if (const auto* loop = std::get_if<For>(&stmt.node)) {
      find_loads(loop->body, loaded);
    } else if (const auto* poll = std::get_if<While>(&stmt.node)) {
      find_loads(poll->body, loaded);
    } else if (const auto* choice = std::get_if<If>(&stmt.node)) {
      find_loads(choice->then, loaded);
      find_loads(choice->otherwise, loaded);
    } else if (const auto* lowered = std::get_if<Lowered>(&stmt.node)) {
      find_loads(lowered->body, loaded);
    }
  }
}

}  // namespace

Cuda::Cuda(const Kernel& kernel, const Options& options, DeviceFunctions& functions)
    : kernel_(kernel), functions_(functions), facilities_(kernel, options) {
  find_loads(kernel.body, loaded_);
  if (cluster_size(kernel.launch) > 1) use(Needs::cluster, "the launch has clusters");
}

std::string Cuda::condition(const Where& where) {
  std::vector<std::string> parts;
  const auto add = [&](std::string part) {
    if (!part.empty()) parts.push_back(std::move(part));
  };
  const auto add_span = [&](ExprOp coordinate, const Where::Span& span, std::uint32_t count) {
    std::string part = span_text(spelling(coordinate), span, count);
    if (!part.empty()) coordinates_.insert(coordinate);
    add(std::move(part));
  };
  const Launch& launch = kernel_.launch;
  if (asks_more(where.cta, around_.cta)) add_span(ExprOp::cta, {*where.cta, *where.cta}, cta_count(launch));
  if (asks_more(where.warps, around_.warps)) add_span(ExprOp::warp, *where.warps, launch.warps);
  if (asks_more(where.warpgroup, around_.warpgroup)) {
    add_span(ExprOp::wg, {*where.warpgroup, *where.warpgroup}, (launch.warps + 3) / 4);
  }
  if (asks_more(where.lanes, around_.lanes)) add_span(ExprOp::lane, *where.lanes, 32);
  if (where.elect && !around_.elect) {
    const bool has_elect = facilities_.has(Needs::elect);
    if (has_elect) use(Needs::elect, "an election");
    add(call(has_elect ? "elect_one" : "lowest_lane_of", active_lanes()));
  }
  return fmt::format("{}", fmt::join(parts, " && "));
}

void Cuda::print(const Body& body) {
  for (std::size_t i = 0; i < body.size();) {
    std::size_t end = i + 1;
    while (end < body.size() && body[end].where == body[i].where) ++end;
    if (i > 0 && !inside_lowered_) blank_line();
    print_group(std::span(body).subspan(i, end - i));
    i = end;
  }
}

void Cuda::print_group(std::span<const Stmt> group) {
  const Where& where = group.front().where;
  at_ = group.front().at;
  const std::string asked = condition(where);
  const Where outside = around_;
  const bool some_lanes_outside = some_lanes_, apart_before = apart_;
  take_over(around_.cta, where.cta);
  take_over(around_.warps, where.warps);
  take_over(around_.warpgroup, where.warpgroup);
  take_over(around_.lanes, where.lanes);
  around_.elect = around_.elect || where.elect;
  some_lanes_ = some_lanes_ || names_some_lanes(where);

  if (!asked.empty()) open("if (" + asked + ") {");
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i > 0 && !inside_lowered_) blank_line();
    print_statement(group[i]);
  }
  if (!asked.empty()) close();

  around_ = outside;
  some_lanes_ = some_lanes_outside;
  apart_ = (apart_ || (apart_before && !asked.empty())) || names_some_lanes(where);
}

void Cuda::print_comment(const Stmt& stmt) {
  std::string place;
  if (stmt.at.line > 0 && stmt.at.file < kernel_.files.size()) {
    const std::string file = std::filesystem::path(kernel_.files[stmt.at.file].name).filename().string();
    place = fmt::format("{}:{} ", file, stmt.at.line);
  }
  line("// " + comment_text(fmt::format("{}{}: {}", place, stmt.path, tmemsim::print(kernel_, stmt))));
}

void Cuda::print_statement(const Stmt& stmt) {
  at_ = stmt.at;
  if (!inside_lowered_) print_comment(stmt);
  if (const auto* op = std::get_if<MachineOps::Any>(&stmt.node)) {
    print_operation(*op, *this);
  } else if (const auto* loop = std::get_if<For>(&stmt.node)) {
    print_for(*loop);
  } else if (const auto* poll = std::get_if<While>(&stmt.node)) {
    print_while(*poll);
  } else if (const auto* choice = std::get_if<If>(&stmt.node)) {
    print_if(*choice);
  } else if (const auto* delay = std::get_if<Delay>(&stmt.node)) {
    line(fmt::format("__nanosleep({});", std::min<std::uint32_t>(delay->steps, 1'000'000)));  // at most a millisecond
  } else if (const auto* lowered = std::get_if<Lowered>(&stmt.node)) {
    inside_lowered_ = true;  // one comment for the whole primitive
    print(lowered->body);
    inside_lowered_ = false;
  } else {
    unsupported("a tile primitive has no code of its own: lower the kernel first");
  }
}

void Cuda::print_body(const Body& body, bool lane_dependent) {
  const bool before = lane_dependent_;
  lane_dependent_ = lane_dependent_ || lane_dependent;
  print(body);
  lane_dependent_ = before;
}

void Cuda::print_for(const For& loop) {
  const auto leaf_range = [this](const Expr& node) { return leaf(node).range; };
  const std::string name = loop_identifier(loop.variable);
  const std::string begin = expr(loop.begin), end = expr(loop.end, true), step = expr(loop.step);
  const Interval first = range_of(loop.begin, leaf_range), last = range_of(loop.end, leaf_range),
                 by = range_of(loop.step, leaf_range);
  if (last.hi + by.hi > std::int64_t{INT32_MAX} + 1) {
    unsupported(
        fmt::format("the end and step of loop '{}' could take its variable beyond 32 bits", comment_text(loop.variable)));
  }
  const bool split = may_split(loop.begin) || may_split(loop.end) || may_split(loop.step);
  const bool by_lane = depends_on_lane(loop.begin) || depends_on_lane(loop.end) || depends_on_lane(loop.step);
  apart_ = apart_ || split || may_split(loop.body);  // the second time round, lanes come from the end of the body
  const std::string next = loop.step.as_constant() == 1 ? "++" + name : name + " += " + step;
  open(fmt::format("for (int {0} = {1}; {0} < {2}; {3}) {{", name, begin, end, next));
  loops_.emplace_back(loop.variable, Interval{first.lo, std::max(first.lo, last.hi - 1)});
  print_body(loop.body, by_lane);
  loops_.pop_back();
  close();
  apart_ = apart_ || split;
}

void Cuda::print_while(const While& loop) {
  const bool split = may_split(loop.condition);
  apart_ = apart_ || split || may_split(loop.body);
  open(fmt::format("while ({}) {{", expr(loop.condition)));
  print_body(loop.body, depends_on_lane(loop.condition));
  close();
  apart_ = apart_ || split;
}

void Cuda::print_if(const If& choice) {
  const bool by_lane = depends_on_lane(choice.condition);
  const bool before = apart_;
  open(fmt::format("if ({}) {{", expr(choice.condition)));
  print_body(choice.then, by_lane);
  const bool after_then = apart_;
  apart_ = before;
  if (!choice.otherwise.empty()) {
    otherwise();
    print_body(choice.otherwise, by_lane);
  }
  close();
  apart_ = apart_ || after_then || may_split(choice.condition);
}

}  // namespace tmemsim::emit
