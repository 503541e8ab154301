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

struct Repetition {
  std::int32_t column = 0;
  std::vector<std::uint16_t> registers;
};

// Rows of one slab (lanes from 0 or from 16 on) as whole repetitions. The lowest column left always starts a repetition,
// because nothing that lies lower could hold it.
std::optional<Uncovered> gather(const RowType& type, std::int32_t slab, std::vector<Row> rows, std::vector<Repetition>& repetitions) {
  const std::vector<SubRow> parts = sub_rows(type);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return std::pair(a.column, a.lane) < std::pair(b.column, b.lane); });
  if (parts.size() == 1) {
    for (const Row& row : rows) {
      if (row.lane != slab) return Uncovered{row, fmt::format("its lanes start {} above a multiple of 16", row.lane - slab)};
      repetitions.push_back({row.column, {row.reg}});
    }
    return std::nullopt;
  }
  std::vector<bool> used(rows.size());
  for (std::size_t first = 0; first < rows.size(); ++first) {
    if (used[first]) continue;
    Repetition repetition{rows[first].column, {}};
    std::size_t from = first;
    for (const SubRow& part : parts) {
      std::size_t k = from;
      // Parts of a repetition lie at most two columns on; rows are sorted by column.
      while (k < rows.size() && rows[k].column <= rows[first].column + 2 &&
             (used[k] || rows[k].column != rows[first].column + part.column || rows[k].lane != slab + part.lane)) {
        ++k;
      }
      if (k == rows.size() || rows[k].column > rows[first].column + 2) {
        return Uncovered{rows[first], fmt::format(".{} moves {} registers together, and the one at lane {} above it, column {:+} is not part of the copy",
                                                  keyword(type.shape), parts.size(), slab + part.lane - rows[first].lane, part.column)};
      }
      used[k] = true;
      repetition.registers.push_back(rows[k].reg);
    }
    repetitions.push_back(std::move(repetition));
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

// Cuts repetitions [first, last) of one chain, widest first.
void cut(const RowType& type, std::int32_t slab, const std::vector<const Repetition*>& chain, std::vector<Issue>& issues) {
  int num = most_num(type);
  for (std::size_t at = 0; at < chain.size();) {
    while (static_cast<std::size_t>(num) > chain.size() - at) num /= 2;
    Issue issue{type, num, slab, chain[at]->column, {}};
    issue.registers.reserve(static_cast<std::size_t>(num) * chain[at]->registers.size());
    for (int k = 0; k < num; ++k, ++at) {
      issue.registers.insert(issue.registers.end(), chain[at]->registers.begin(), chain[at]->registers.end());
    }
    issues.push_back(std::move(issue));
  }
}

// Repetitions that follow each other without a gap. A cell that is named several times belongs to several chains.
void chain_and_cut(const RowType& type, std::int32_t slab, std::vector<Repetition>& repetitions, std::vector<Issue>& issues) {
  std::stable_sort(repetitions.begin(), repetitions.end(), [](const Repetition& a, const Repetition& b) { return a.column < b.column; });
  const std::int32_t step = columns_between_repetitions(type);
  std::vector<bool> used(repetitions.size());
  for (std::size_t first = 0; first < repetitions.size(); ++first) {
    if (used[first]) continue;
    std::vector<const Repetition*> chain;
    std::int32_t wanted = repetitions[first].column;
    for (std::size_t k = first; k < repetitions.size() && repetitions[k].column <= wanted; ++k) {
      if (used[k] || repetitions[k].column != wanted) continue;
      used[k] = true;
      chain.push_back(&repetitions[k]);
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
  for (std::int32_t slab = 0; slab < tcgen05::quadrant_lanes; slab += lanes) {
    std::vector<Row> here;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(here), [&](const Row& row) { return row.lane / lanes == slab / lanes; });
    std::vector<Repetition> repetitions;
    repetitions.reserve(here.size());
    if (auto problem = gather(type, slab, std::move(here), repetitions)) return *problem;
    chain_and_cut(type, slab, repetitions, issues);
  }
  std::sort(issues.begin(), issues.end(), [](const Issue& a, const Issue& b) { return a.registers < b.registers; });
  return issues;
}

}  // namespace tmemsim::lower
