#include "lower/copy_async/cover.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "ir/tcgen05.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::array all_shapes{Shape::s32x32b, Shape::s16x64b, Shape::s16x128b, Shape::s16x256b, Shape::s16x32bx2};
constexpr int lane_bits = 5;

// Whether the pattern changes with the lowest `bits` lane bits as the closed form of the shape does.
bool follows(const RowPattern& pattern, Shape shape, int bits) {
  const tcgen05::Cell origin = tcgen05::cell(shape, pattern.packed, 0, 0, 0);
  for (int bit = 0; bit < bits; ++bit) {
    const tcgen05::Cell cell = tcgen05::cell(shape, pattern.packed, 0, 1 << bit, 0);
    const auto k = static_cast<std::size_t>(bit);
    if (pattern.lane[k] != cell.lane - origin.lane || pattern.column[k] != cell.column - origin.column) return false;
  }
  return true;
}

// Sub-rows of one repetition: registers whose cells lie 8 lanes or one column (two when packed) from the first one.
struct SubRow {
  std::int32_t lane, column;
};
std::vector<SubRow> sub_rows(const RowType& type) {
  std::vector<SubRow> result;
  const tcgen05::Cell origin = tcgen05::cell(type.shape, type.packed, 0, 0, 0);
  for (int reg = 0; reg < tcgen05::facts(type.shape).registers; ++reg) {
    const tcgen05::Cell cell = tcgen05::cell(type.shape, type.packed, 0, 0, reg);
    result.push_back({cell.lane - origin.lane, cell.column - origin.column});
  }
  return result;
}

std::int32_t columns_between_repetitions(const RowType& type) {
  const int registers = tcgen05::facts(type.shape).registers;
  return tcgen05::cell(type.shape, type.packed, 0, 0, registers).column - tcgen05::cell(type.shape, type.packed, 0, 0, 0).column;
}

// One repetition of a shape: its registers stand together in a list that all repetitions share.
struct Repetition {
  std::int32_t column = 0;
  std::size_t first_register = 0;
};
struct Slab {
  std::int32_t lane = 0;    // 0 or 16
  std::size_t parts = 1;    // registers of a repetition
  std::vector<Repetition> repetitions;
  std::vector<std::uint16_t> registers;
};

// Rows of one slab (lanes from 0 or from 16 on) as whole repetitions. The lowest column left always starts a repetition,
// because nothing that lies lower could hold it.
std::optional<Uncovered> gather(const RowType& type, std::vector<Row> rows, Slab& slab) {
  const std::vector<SubRow> parts = sub_rows(type);
  slab.parts = parts.size();
  slab.repetitions.reserve(rows.size() / parts.size());
  slab.registers.reserve(rows.size());
  const auto by_place = [](const Row& a, const Row& b) { return std::pair(a.column, a.lane) < std::pair(b.column, b.lane); };
  if (!std::is_sorted(rows.begin(), rows.end(), by_place)) std::stable_sort(rows.begin(), rows.end(), by_place);
  if (parts.size() == 1) {
    for (const Row& row : rows) {
      if (row.lane != slab.lane) return Uncovered{row, fmt::format("its lanes start {} above a multiple of 16", row.lane - slab.lane)};
      slab.repetitions.push_back({row.column, slab.registers.size()});
      slab.registers.push_back(row.reg);
    }
    return std::nullopt;
  }
  std::vector<bool> used(rows.size());
  for (std::size_t first = 0; first < rows.size(); ++first) {
    if (used[first]) continue;
    slab.repetitions.push_back({rows[first].column, slab.registers.size()});
    for (const SubRow& part : parts) {
      std::size_t k = first;
      // Parts of a repetition lie at most two columns on; rows are sorted by column.
      while (k < rows.size() && rows[k].column <= rows[first].column + 2 &&
             (used[k] || rows[k].column != rows[first].column + part.column || rows[k].lane != slab.lane + part.lane)) {
        ++k;
      }
      if (k == rows.size() || rows[k].column > rows[first].column + 2) {
        return Uncovered{rows[first], fmt::format(".{} moves {} registers together, and the one at lane {} above it, column {:+} is not part of the copy",
                                                  keyword(type.shape), parts.size(), slab.lane + part.lane - rows[first].lane, part.column)};
      }
      used[k] = true;
      slab.registers.push_back(rows[k].reg);
    }
  }
  return std::nullopt;
}

int columns_apart(const RowType& type) { return static_cast<std::int16_t>(type.half & 0xffff); }
int lanes_apart(const RowType& type) { return (type.half - columns_apart(type)) >> 16; }

// The largest .num for a chain; the halves of a .16x32bx2 must not overlap.
int most_num(const RowType& type) {
  int most = tcgen05::facts(type.shape).most_num;
  if (type.shape == Shape::s16x32bx2 && lanes_apart(type) == 0) {
    const int apart = std::abs(columns_apart(type)) / (type.packed ? 2 : 1);
    while (most > apart && most > 1) most /= 2;
  }
  return most;
}

// Cuts one chain, widest first.
void cut(const RowType& type, const Slab& slab, const std::vector<std::size_t>& chain, std::vector<Issue>& issues) {
  int num = most_num(type);
  for (std::size_t at = 0; at < chain.size();) {
    while (static_cast<std::size_t>(num) > chain.size() - at) num /= 2;
    Issue issue{type, num, slab.lane, slab.repetitions[chain[at]].column, {}};
    issue.registers.reserve(static_cast<std::size_t>(num) * slab.parts);
    for (int k = 0; k < num; ++k, ++at) {
      const auto first = slab.registers.begin() + static_cast<std::ptrdiff_t>(slab.repetitions[chain[at]].first_register);
      issue.registers.insert(issue.registers.end(), first, first + static_cast<std::ptrdiff_t>(slab.parts));
    }
    issues.push_back(std::move(issue));
  }
}

// Repetitions that follow each other without a gap; they stand by rising column. A cell that is named several times belongs to
// several chains.
void chain_and_cut(const RowType& type, const Slab& slab, std::vector<Issue>& issues) {
  const std::vector<Repetition>& repetitions = slab.repetitions;
  const std::int32_t step = columns_between_repetitions(type);
  std::vector<bool> used(repetitions.size());
  std::vector<std::size_t> chain;
  for (std::size_t first = 0; first < repetitions.size(); ++first) {
    if (used[first]) continue;
    chain.clear();
    std::int32_t wanted = repetitions[first].column;
    for (std::size_t k = first; k < repetitions.size() && repetitions[k].column <= wanted; ++k) {
      if (used[k] || repetitions[k].column != wanted) continue;
      used[k] = true;
      chain.push_back(k);
      wanted += step;
    }
    cut(type, slab, chain, issues);
  }
}

}  // namespace

std::optional<RowType> type_of(const RowPattern& pattern) {
  for (const Shape shape : all_shapes) {
    if (shape == Shape::s16x32bx2) continue;
    if (follows(pattern, shape, lane_bits)) return RowType{shape, pattern.packed, 0};
  }
  if (!follows(pattern, Shape::s16x32bx2, lane_bits - 1)) return std::nullopt;
  const std::int32_t lane = pattern.lane[4], column = pattern.column[4];
  const bool reaches_apart = (lane == 0 && column != 0) || lane == 16;
  if (!reaches_apart || std::abs(column) >= tcgen05::columns) return std::nullopt;
  return RowType{Shape::s16x32bx2, pattern.packed, lane * 65536 + column};
}

std::variant<std::vector<Issue>, Uncovered> cover(const RowType& type, std::vector<Row> rows) {
  std::vector<Issue> issues;
  const std::int32_t lanes = type.shape == Shape::s32x32b || lanes_apart(type) != 0 ? 32 : 16;  // that an instruction reaches
  for (std::int32_t lane = 0; lane < tcgen05::quadrant_lanes; lane += lanes) {
    Slab slab;
    slab.lane = lane;
    std::vector<Row> here;
    if (lanes == tcgen05::quadrant_lanes) {
      here = std::move(rows);
    } else {
      std::copy_if(rows.begin(), rows.end(), std::back_inserter(here), [&](const Row& row) { return row.lane / lanes == lane / lanes; });
    }
    if (auto problem = gather(type, std::move(here), slab)) return *problem;
    chain_and_cut(type, slab, issues);
  }
  std::sort(issues.begin(), issues.end(), [](const Issue& a, const Issue& b) { return a.registers < b.registers; });
  return issues;
}

}  // namespace tmemsim::lower
