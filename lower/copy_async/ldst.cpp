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
#include "lower/pieces.hpp"
#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

// A piece of the copy with its operands.
struct Piece {
  Operand local, tmem;
  Relation relation;
};

// What one warp has to cover: rows of each piece it takes part in, columns relative to the first of them. Warps of equal parts
// execute the same instructions.
struct Part {
  std::size_t piece = 0;
  std::int32_t lane = 0;        // at which the warp begins in its quadrant
  std::int64_t column = 0;
  bool operator==(const Part&) const = default;
};
struct WarpParts {
  std::int64_t warp = 0, column = 0;
  std::vector<Part> parts;
};

// The instructions of the warps that see the same thing, but for a constant number of columns.
struct Shared {
  std::size_t cover = 0;               // which cover
  std::vector<std::int64_t> warps;
  std::vector<std::int64_t> columns;   // first column of the copy, for each of them
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

// Joins warps of one cover that differ by a column term only; warps that no term describes stay apart.
std::vector<Shared> share(const std::vector<WarpParts>& warps, const std::vector<std::size_t>& cover_of_warp) {
  std::vector<Shared> groups;
  for (std::size_t k = 0; k < warps.size(); ++k) {
    const auto joins = [&](const Shared& group) {
      if (group.cover != cover_of_warp[k]) return false;
      Shared longer = group;
      longer.warps.push_back(warps[k].warp);
      longer.columns.push_back(warps[k].column);
      return column_expr(longer).has_value();
    };
    const auto group = std::find_if(groups.begin(), groups.end(), joins);
    if (group != groups.end()) {
      group->warps.push_back(warps[k].warp);
      group->columns.push_back(warps[k].column);
    } else {
      groups.push_back({cover_of_warp[k], {warps[k].warp}, {warps[k].column}});
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

Stmt issue_statement(const Piece& piece, const Issue& issue, const Shared& shared, const Expr& column, bool is_load) {
  TmemAddr address;
  address.base = base_of(*piece.tmem.buffer);
  address.lane = lane_expr(shared.warps, issue.lane);
  address.col = sum(sum(piece.relation.moving_columns, column), Expr(issue.column));
  if (const auto terms = affine(address.col); terms.is_constant()) address.col = Expr(terms.constant);
  Rows rows{piece.local.id, issue.registers};
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

std::vector<std::string> proof_of(const std::vector<Shared>& groups, const std::vector<std::vector<Issue>>& covers, bool is_load) {
  std::vector<std::string> proof;
  for (const Shared& group : groups) {
    const std::vector<Issue>& issues = covers[group.cover];
    std::vector<std::string> lines;
    std::size_t registers = 0;
    for (const Issue& issue : issues) {
      lines.push_back(issue_text(issue, is_load));
      registers += issue.registers.size();
    }
    proof.push_back(fmt::format("warp{} {}: {} registers a thread, {} instruction{}: {}", group.warps.size() == 1 ? "" : "s", fmt::join(group.warps, ", "),
                                registers, issues.size(), issues.size() == 1 ? "" : "s", fmt::join(lines, "; ")));
  }
  proof.emplace_back("the rows of each register have the pattern of one shape only, and each chain of them is cut widest first: "
                     "no cover that touches each cell once has fewer instructions");
  return proof;
}

std::optional<Declined> relate_piece(const Request& request, const Region& dst, const Region& src, bool is_load, std::vector<Piece>& pieces) {
  const auto local = operand_of(request.kernel, is_load ? dst : src, request.threads);
  if (!local) return Declined{"regions", local.reason().text, {}};
  const auto tmem = operand_of(request.kernel, is_load ? src : dst, request.threads);
  if (!tmem) return Declined{"regions", tmem.reason().text, {}};
  if (local->shape() != tmem->shape()) {
    return Declined{"regions", fmt::format("the regions differ: {} is ({}), {} is ({})", local->buffer->name, fmt::join(local->shape(), ", "),
                                           tmem->buffer->name, fmt::join(tmem->shape(), ", ")), "regions of equal extents"};
  }
  auto related = relate(*local, *tmem, request.threads, is_load);
  if (auto* problem = std::get_if<Unrelated>(&related)) return explain_refusal(request, *local, *tmem, *problem, is_load);
  pieces.push_back({*local, *tmem, std::get<Relation>(std::move(related))});
  return std::nullopt;
}

// The whole copy as one piece, or, when its regions are no layouts, cut into several.
std::optional<Declined> relate_all(const Request& request, bool is_load, std::vector<Piece>& pieces) {
  const CopyRegions regions = regions_of(request);
  auto declined = relate_piece(request, regions.dst, regions.src, is_load, pieces);
  if (!declined || declined->predicate != "regions") return declined;
  const auto cut = pieces_of(request, regions.dst, regions.src);
  if (!cut || cut->size() < 2) return declined;
  for (const RegionPair& pair : *cut) {
    if (auto problem = relate_piece(request, pair.dst, pair.src, is_load, pieces)) return problem;
    if (pieces.back().relation.moving_columns != pieces.front().relation.moving_columns) {
      return Declined{"regions", "the region moves with a variable and is cut in different places as it moves", "a step of the variable that is a multiple of the layout's tiles"};
    }
  }
  return std::nullopt;
}

std::vector<WarpParts> parts_by_warp(const std::vector<Piece>& pieces) {
  std::vector<WarpParts> warps;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    for (const WarpRows& rows : pieces[p].relation.warps) {
      auto warp = std::find_if(warps.begin(), warps.end(), [&](const WarpParts& parts) { return parts.warp == rows.warp; });
      if (warp == warps.end()) warp = warps.insert(warp, WarpParts{rows.warp, rows.column, {}});
      warp->parts.push_back({p, pieces[p].relation.base_lanes[rows.base_index], rows.column - warp->column});
    }
  }
  std::sort(warps.begin(), warps.end(), [](const WarpParts& a, const WarpParts& b) { return a.warp < b.warp; });
  return warps;
}

// Covers the rows of one warp, type by type.
std::optional<Declined> cover_parts(const Request& request, const std::vector<Piece>& pieces, const std::vector<Part>& parts, bool is_load,
                                    std::vector<Issue>& issues) {
  std::vector<bool> done(parts.size());
  for (std::size_t first = 0; first < parts.size(); ++first) {
    if (done[first]) continue;
    const RowType& type = pieces[parts[first].piece].relation.type;
    std::vector<Row> rows;
    for (std::size_t k = first; k < parts.size(); ++k) {
      const Relation& relation = pieces[parts[k].piece].relation;
      if (relation.type != type) continue;
      done[k] = true;
      rows.reserve(rows.size() + relation.rows.size());
      for (const Row& row : relation.rows) {
        rows.push_back({row.reg, row.lane + parts[k].lane, static_cast<std::int32_t>(row.column + parts[k].column)});
      }
    }
    auto covered = cover(type, std::move(rows));
    if (const auto* uncovered = std::get_if<Uncovered>(&covered)) {
      const Unrelated problem{"cover", fmt::format("register {}: {}", uncovered->row.reg, uncovered->reason), uncovered->row.reg};
      const Piece& piece = pieces[parts[first].piece];
      return explain_refusal(request, piece.local, piece.tmem, problem, is_load);
    }
    auto& found = std::get<std::vector<Issue>>(covered);
    std::move(found.begin(), found.end(), std::back_inserter(issues));
  }
  std::sort(issues.begin(), issues.end(), [](const Issue& a, const Issue& b) { return a.registers < b.registers; });
  return std::nullopt;
}

}  // namespace

Outcome plan_tcgen05_ldst(const Request& request) {
  const bool is_load = space_of(request, regions_of(request).dst) == Space::local;
  std::vector<Piece> pieces;
  if (auto declined = relate_all(request, is_load, pieces)) return *declined;

  const std::vector<WarpParts> warps = parts_by_warp(pieces);
  std::vector<std::vector<Issue>> covers;
  std::vector<std::size_t> first_warp_of_cover, cover_of_warp;
  for (std::size_t k = 0; k < warps.size(); ++k) {
    const auto same = std::find_if(first_warp_of_cover.begin(), first_warp_of_cover.end(), [&](std::size_t w) { return warps[w].parts == warps[k].parts; });
    cover_of_warp.push_back(static_cast<std::size_t>(same - first_warp_of_cover.begin()));
    if (same != first_warp_of_cover.end()) continue;
    first_warp_of_cover.push_back(k);
    if (auto declined = cover_parts(request, pieces, warps[k].parts, is_load, covers.emplace_back())) return *declined;
  }

  Plan plan;
  const std::vector<Shared> groups = share(warps, cover_of_warp);
  for (const Shared& group : groups) {
    const Expr column = column_expr(group).value();
    Body body;
    for (const Issue& issue : covers[group.cover]) body.push_back(issue_statement(pieces.front(), issue, group, column, is_load));
    if (auto guard = warp_guard(group.warps, request.threads)) {
      Stmt guarded;
      guarded.node = If{std::move(*guard), std::move(body), {}};
      plan.body.push_back(std::move(guarded));
    } else {
      std::move(body.begin(), body.end(), std::back_inserter(plan.body));
    }
  }
  if (request.explain) plan.proof = proof_of(groups, covers, is_load);
  return plan;
}

}  // namespace tmemsim::lower
