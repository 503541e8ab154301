// copy_async / tcgen05_ldst: tensor memory <-> registers. From the two layouts follows where each register of each thread
// lies; warps cover it with the fewest tcgen05.ld or .st. No wait is emitted: that is the author's.
#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/tcgen05.hpp"
#include "lower/copy_async/cover.hpp"
#include "lower/copy_async/refusal.hpp"
#include "lower/copy_async/relation.hpp"
#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

// The instructions of the warps that see the same thing, but for a constant number of columns.
struct Shared {
  std::size_t base_index = 0;
  std::vector<std::int64_t> warps;
  std::vector<std::int64_t> columns;   // first column of the copy, for each of them
  std::vector<Issue> issues;           // columns relative to that
};

// column = constant + factor * coordinate for all warps of the group.
std::optional<Expr> column_expr(const Shared& shared) {
  const auto fits = [&](auto&& coordinate, const Expr& expr) -> std::optional<Expr> {
    std::int64_t factor = 0, constant = shared.columns.front();
    for (std::size_t k = 1; k < shared.warps.size(); ++k) {
      const std::int64_t apart = coordinate(shared.warps[k]) - coordinate(shared.warps.front());
      if (apart == 0) continue;
      factor = (shared.columns[k] - shared.columns.front()) / apart;
      constant = shared.columns.front() - factor * coordinate(shared.warps.front());
      break;
    }
    for (std::size_t k = 0; k < shared.warps.size(); ++k) {
      if (constant + factor * coordinate(shared.warps[k]) != shared.columns[k]) return std::nullopt;
    }
    return factor == 0 ? Expr(constant) : sum(scaled(expr, factor), Expr(constant));
  };
  const Expr warp = Expr::coordinate(ExprOp::warp);
  if (auto expr = fits([](std::int64_t w) { return w; }, warp)) return expr;
  if (auto expr = fits([](std::int64_t w) { return w % 4; }, Expr::binary(ExprOp::mod, warp, Expr(4)))) return expr;
  return fits([](std::int64_t w) { return w / 4; }, Expr::coordinate(ExprOp::wg));
}

// Joins warps whose instructions differ by a column term only; warps that no term describes stay apart.
std::vector<Shared> share(const std::vector<WarpRows>& warps, const std::vector<std::vector<Issue>>& issues_of_base) {
  std::vector<Shared> groups;
  for (const WarpRows& warp : warps) {
    const auto joins = [&](const Shared& group) {
      if (group.base_index != warp.base_index) return false;
      Shared longer = group;
      longer.warps.push_back(warp.warp);
      longer.columns.push_back(warp.column);
      return column_expr(longer).has_value();
    };
    const auto group = std::find_if(groups.begin(), groups.end(), joins);
    if (group != groups.end()) {
      group->warps.push_back(warp.warp);
      group->columns.push_back(warp.column);
    } else {
      groups.push_back({warp.base_index, {warp.warp}, {warp.column}, issues_of_base[warp.base_index]});
    }
  }
  return groups;
}

// True for the warps of a group among those that execute the statement; nothing when it is all of them.
std::optional<Expr> warp_guard(const std::vector<std::int64_t>& group, const Threads& threads) {
  if (static_cast<std::int64_t>(group.size()) == threads.warps()) return std::nullopt;
  const Expr warp = Expr::coordinate(ExprOp::warp);
  std::optional<Expr> result;
  for (std::size_t first = 0; first < group.size();) {
    std::size_t last = first;
    while (last + 1 < group.size() && group[last + 1] == group[last] + 1) ++last;
    std::optional<Expr> run;
    if (first == last) {
      run = Expr::binary(ExprOp::eq, warp, Expr(group[first]));
    } else {
      if (group[first] > threads.first_warp) run = Expr::binary(ExprOp::ge, warp, Expr(group[first]));
      if (group[last] < threads.last_warp) {
        const Expr below = Expr::binary(ExprOp::le, warp, Expr(group[last]));
        run = run ? Expr::binary(ExprOp::bit_and, *run, below) : below;
      }
    }
    result = result ? Expr::binary(ExprOp::bit_or, *result, *run) : *run;
    first = last + 1;
  }
  return result;
}

// 32 * (warp % 4) + lane: where the quadrant of the executing warp begins, and the lane in it.
Expr lane_expr(const std::vector<std::int64_t>& warps, std::int64_t lane) {
  if (warps.size() == 1) return Expr(tcgen05::quadrant_lanes * (warps.front() % 4) + lane);
  const Expr warp = Expr::coordinate(ExprOp::warp);
  const Expr quadrant = warps.back() < 4 ? warp : Expr::binary(ExprOp::mod, warp, Expr(4));
  return sum(scaled(quadrant, tcgen05::quadrant_lanes), Expr(lane));
}

Expr base_of(const Buffer& tmem) { return tmem.slot ? Expr::word(*tmem.slot, Expr(0)) : Expr(tmem.base.value_or(0)); }

Stmt issue_statement(const Relation& relation, const Issue& issue, const Shared& shared, const Expr& column, bool is_load) {
  TmemAddr address;
  address.base = base_of(*relation.tmem->buffer);
  address.lane = lane_expr(shared.warps, issue.lane);
  address.col = sum(sum(relation.moving_columns, column), Expr(issue.column));
  if (const auto terms = affine(address.col); terms.is_constant()) address.col = Expr(terms.constant);
  Rows rows{relation.local->id, issue.registers};
  std::optional<std::int32_t> half;
  if (issue.type.shape == Shape::s16x32bx2) half = issue.type.half;
  const auto num = static_cast<std::uint8_t>(issue.num);
  Stmt result;
  if (is_load) {
    result.node = TcgenLd{issue.type.shape, num, issue.type.packed, half, std::move(rows), std::move(address)};
  } else {
    result.node = TcgenSt{issue.type.shape, num, issue.type.packed, half, std::move(address), std::move(rows)};
  }
  return result;
}

std::string issue_text(const Issue& issue, bool is_load) {
  return fmt::format(".{}.x{}{} at lane {:+}, column {:+}", keyword(issue.type.shape), issue.num,
                     issue.type.packed ? (is_load ? ".pack::16b" : ".unpack::16b") : "", issue.lane, issue.column);
}

std::vector<std::string> proof_of(const Relation& relation, const std::vector<Shared>& groups, bool is_load) {
  std::vector<std::string> proof;
  proof.push_back(fmt::format("{} registers of each thread lie as the rows of .{}{}: no other shape has this pattern", relation.rows.size(),
                              keyword(relation.type.shape), relation.type.packed ? " packed" : ""));
  for (const Shared& group : groups) {
    std::vector<std::string> issues;
    for (const Issue& issue : group.issues) issues.push_back(issue_text(issue, is_load));
    proof.push_back(fmt::format("warp{} {}: {} instruction{}: {}", group.warps.size() == 1 ? "" : "s", fmt::join(group.warps, ", "),
                                issues.size(), issues.size() == 1 ? "" : "s", fmt::join(issues, "; ")));
  }
  proof.emplace_back("each chain is cut widest first: no cover of these rows that touches each cell once has fewer instructions");
  return proof;
}

}  // namespace

Outcome plan_tcgen05_ldst(const Request& request) {
  const CopyRegions regions = regions_of(request);
  const bool is_load = space_of(request, regions.dst) == Space::local;
  const auto local = operand_of(request.kernel, is_load ? regions.dst : regions.src, request.threads);
  if (!local) return Declined{"regions", local.reason().text, {}};
  const auto tmem = operand_of(request.kernel, is_load ? regions.src : regions.dst, request.threads);
  if (!tmem) return Declined{"regions", tmem.reason().text, {}};
  if (local->shape() != tmem->shape()) {
    return Declined{"regions", fmt::format("the regions differ: {} is ({}), {} is ({})", local->buffer->name, fmt::join(local->shape(), ", "),
                                           tmem->buffer->name, fmt::join(tmem->shape(), ", ")), "regions of equal extents"};
  }
  auto related = relate(*local, *tmem, request.threads, is_load);
  if (auto* problem = std::get_if<Unrelated>(&related)) return explain_refusal(request, *local, *tmem, *problem, is_load);
  const Relation& relation = std::get<Relation>(related);

  // Warps that start at the same lane of their quadrant share one cover.
  std::vector<std::vector<Issue>> issues_of_base;
  for (const std::int32_t lane : relation.base_lanes) {
    std::vector<Row> rows = relation.rows;
    for (Row& row : rows) row.lane += lane;
    auto covered = cover(relation.type, std::move(rows));
    if (auto* uncovered = std::get_if<Uncovered>(&covered)) {
      return explain_refusal(request, *local, *tmem, Unrelated{"cover", fmt::format("register {}: {}", uncovered->row.reg, uncovered->reason)}, is_load);
    }
    issues_of_base.push_back(std::move(std::get<std::vector<Issue>>(covered)));
  }

  Plan plan;
  const std::vector<Shared> groups = share(relation.warps, issues_of_base);
  for (const Shared& group : groups) {
    const Expr column = column_expr(group).value();
    Body body;
    for (const Issue& issue : group.issues) body.push_back(issue_statement(relation, issue, group, column, is_load));
    if (auto guard = warp_guard(group.warps, request.threads)) {
      Stmt guarded;
      guarded.node = If{std::move(*guard), std::move(body), {}};
      plan.body.push_back(std::move(guarded));
    } else {
      std::move(body.begin(), body.end(), std::back_inserter(plan.body));
    }
  }
  if (request.explain) plan.proof = proof_of(relation, groups, is_load);
  return plan;
}

}  // namespace tmemsim::lower
