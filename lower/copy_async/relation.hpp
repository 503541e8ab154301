// Where each register of each thread lies in tensor memory, from the two layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lower/copy_async/cover.hpp"
#include "lower/operand.hpp"
#include "lower/threads.hpp"

namespace tmemsim::lower {

struct WarpRows {
  std::int64_t warp = 0;          // in the CTA
  std::int64_t column = 0;        // first column of the warp's rows
  std::size_t base_index = 0;     // into Relation::base_lanes
};

// All warps hold the same rows but for where they begin.
struct Relation {
  RowType type;
  std::vector<Row> rows;          // lanes and columns relative to the warp's beginning
  std::vector<WarpRows> warps;    // that take part, rising
  std::vector<std::int32_t> base_lanes;  // different lanes in the quadrant at which warps begin
  Expr moving_columns{0};         // part of the column that is no constant
};

struct Unrelated {
  std::string predicate, reason;
  std::optional<std::uint16_t> reg;  // the register it is about, where it is about one
};

std::variant<Relation, Unrelated> relate(const Operand& local, const Operand& tmem, const Threads& threads, bool is_load);

}  // namespace tmemsim::lower
