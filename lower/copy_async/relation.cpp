#include "lower/copy_async/relation.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include <fmt/format.h>

#include "ir/tcgen05.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::int64_t register_bits = 32;
constexpr std::int64_t most_rows = 4096;   // registers of one thread that one copy may move

// A digit of the element's index in tensor memory.
struct CellStep {
  std::int64_t lane = 0;
  std::int64_t bits = 0;          // along the columns; 32 a column
};

struct RegisterDigit {
  std::int64_t extent = 1;
  std::int64_t reg = 0;           // in bits
  CellStep cell;
};

// The digits of the copy by who holds them.
struct Digits {
  std::vector<AxisDigit> owners;      // key: index into owner_cells
  std::vector<CellStep> owner_cells;
  std::vector<RegisterDigit> registers;
  Point owner_offset{};
  std::int64_t register_offset = 0;   // in bits
  std::int64_t lane_offset = 0;
  std::int64_t column_offset = 0;     // in bits
};

Unrelated no(std::string predicate, std::string reason) { return {std::move(predicate), std::move(reason), std::nullopt}; }

CellStep cell_step(Place place, std::int64_t bits) {
  return place.axis == Axis::TLane ? CellStep{place.stride, 0} : CellStep{0, place.stride * bits};
}

// A thread digit that crosses the border between lane and warp, cut there.
bool cut_at_warps(std::int64_t extent, Place place, CellStep cell, bool replica, Digits& digits) {
  const auto add = [&](std::int64_t part, std::int64_t stride, CellStep step) {
    if (part == 1) return;
    digits.owners.push_back({part, stride, place.axis, digits.owner_cells.size(), replica});
    digits.owner_cells.push_back(step);
  };
  const bool counts_threads = facts(place.axis).unit == Scope::thread;
  if (!counts_threads || place.stride >= warp_threads || place.stride * extent <= warp_threads) {
    add(extent, place.stride, cell);
    return true;
  }
  const std::int64_t lanes = warp_threads / place.stride;
  if (warp_threads % place.stride != 0 || extent % lanes != 0) return false;
  add(lanes, place.stride, cell);
  add(extent / lanes, warp_threads, {cell.lane * lanes, cell.bits * lanes});
  return true;
}

std::variant<Digits, Unrelated> sort_digits(const Operand& local, const Operand& tmem, bool is_load) {
  const auto in_step = digits_in_step(local, tmem);
  if (!in_step) return no("regions", in_step.reason().text);
  Digits digits;
  digits.owner_offset = local.offset;
  digits.register_offset = at(local.offset, Axis::m) * local.bits;
  digits.lane_offset = at(tmem.offset, Axis::TLane);
  digits.column_offset = at(tmem.offset, Axis::TCol) * tmem.bits;
  for (const Digit& digit : *in_step) {
    CellStep cell = cell_step(digit.b, tmem.bits);
    Place owner = digit.a;
    if (!is_thread(owner.axis)) {
      digits.registers.push_back({digit.extent, owner.stride * local.bits, cell});
      continue;
    }
    if (owner.stride == 0) return no("ownership", "the register layout gives several elements to one thread's place (stride 0 on a thread axis)");
    if (owner.stride < 0) {  // counted from the other end
      at(digits.owner_offset, owner.axis) += (digit.extent - 1) * owner.stride;
      digits.lane_offset += (digit.extent - 1) * cell.lane;
      digits.column_offset += (digit.extent - 1) * cell.bits;
      owner.stride = -owner.stride;
      cell = {-cell.lane, -cell.bits};
    }
    if (!cut_at_warps(digit.extent, owner, cell, false, digits)) {
      return no("ownership", fmt::format("iter {}:{}@{} of the register layout does not fill whole warps", digit.extent, owner.stride, name(owner.axis)));
    }
  }
  for (const Iter& replica : local.replica) {
    if (!is_thread(replica.axis)) {
      if (is_load) digits.registers.push_back({replica.extent, replica.stride * local.bits, {}});
    } else if (!cut_at_warps(replica.extent, {replica.axis, replica.stride}, {}, true, digits)) {
      return no("ownership", "a replica of the register layout does not fill whole warps");
    }
  }
  return digits;
}

// The registers as 32-bit rows: takes out of the list the digits that lie inside a register. Sets `packed`.
std::optional<Unrelated> to_whole_registers(Digits& digits, std::int64_t element_bits, bool& packed) {
  std::vector<RegisterDigit>& list = digits.registers;
  std::int64_t run = element_bits;
  const auto continues = [&](const RegisterDigit& digit) { return digit.cell.lane == 0 && digit.reg == run && digit.cell.bits == run; };
  for (auto next = std::find_if(list.begin(), list.end(), continues); next != list.end(); next = std::find_if(list.begin(), list.end(), continues)) {
    run *= next->extent;
    list.erase(next);
  }
  packed = false;
  if (run % register_bits == 0) {
    if (run != register_bits) list.push_back({run / register_bits, register_bits, {0, register_bits}});
  } else if (run == register_bits / 2) {
    const auto half = std::find_if(list.begin(), list.end(), [](const RegisterDigit& digit) {
      return digit.reg == register_bits / 2 && digit.cell.lane == 0 && digit.cell.bits == register_bits && digit.extent % 2 == 0;
    });
    if (half == list.end()) {
      return no("registers", "only half of a register belongs to the copy, or its halves lie neither in one cell nor in the low halves of two neighbours");
    }
    packed = true;
    const std::int64_t rest = half->extent / 2;
    list.erase(half);
    if (rest != 1) list.push_back({rest, register_bits, {0, 2 * register_bits}});
  } else {
    return no("registers", fmt::format("{} bits lie together on both sides, which is no whole register", run));
  }
  for (const RegisterDigit& digit : list) {
    if (digit.reg % register_bits != 0 || digit.cell.bits % register_bits != 0) {
      return no("registers", fmt::format("an iter steps by {} bits of registers and {} bits of columns, which are not whole registers and cells",
                                         digit.reg, digit.cell.bits));
    }
  }
  if (digits.register_offset % register_bits != 0) return no("registers", fmt::format("the registers begin at bit {} of one", digits.register_offset % register_bits));
  if (digits.column_offset % register_bits != 0) return no("registers", fmt::format("the columns begin at bit {} of a cell", digits.column_offset % register_bits));
  return std::nullopt;
}

std::optional<Unrelated> pattern_of(const Owners& owners, const Digits& digits, RowPattern& pattern) {
  std::uint32_t seen = 0;
  for (const Field& field : owners.fields()) {
    if (field.free && field.unit == 1) return no("ownership", "every lane of a warp holds the same elements, but each lane reaches its own cells");
    if (field.unit < warp_threads && field.offset % warp_threads != 0) return no("ownership", "the copy starts in the middle of a warp");
    for (const OwnerDigit& digit : field.digits) {
      if (digit.stride >= warp_threads) continue;
      const bool powers = std::has_single_bit(static_cast<std::uint64_t>(digit.extent)) && std::has_single_bit(static_cast<std::uint64_t>(digit.stride));
      if (!powers || digit.extent * digit.stride > warp_threads) return no("ownership", "not all 32 lanes of a warp own elements; .ld and .st move all of them");
      CellStep cell = digits.owner_cells[digit.key];
      for (int bit = std::countr_zero(static_cast<std::uint64_t>(digit.stride)); 1 << bit < digit.extent * digit.stride; ++bit) {
        if (cell.bits % register_bits != 0) return no("row pattern", "neighbouring lanes hold parts of one cell");
        pattern.lane[static_cast<std::size_t>(bit)] = static_cast<std::int32_t>(cell.lane);
        pattern.column[static_cast<std::size_t>(bit)] = static_cast<std::int32_t>(cell.bits / register_bits);
        seen |= 1u << bit;
        cell = {cell.lane * 2, cell.bits * 2};
      }
    }
  }
  if (seen != 31) return no("ownership", "not all 32 lanes of a warp own elements; .ld and .st move all of them");
  return std::nullopt;
}

std::variant<std::vector<Row>, Unrelated> rows_of(const Digits& digits) {
  std::int64_t count = 1;
  for (const RegisterDigit& digit : digits.registers) {
    count *= digit.extent;
    if (count > most_rows) return no("registers", fmt::format("more than {} registers of a thread", most_rows));
  }
  std::vector<Row> rows{{static_cast<std::uint16_t>(digits.register_offset / register_bits), 0, 0}};
  rows.reserve(static_cast<std::size_t>(count));
  for (const RegisterDigit& digit : digits.registers) {
    const std::size_t before = rows.size();
    for (std::int64_t k = 1; k < digit.extent; ++k) {
      for (std::size_t i = 0; i < before; ++i) {
        rows.push_back({static_cast<std::uint16_t>(rows[i].reg + k * digit.reg / register_bits), static_cast<std::int32_t>(rows[i].lane + k * digit.cell.lane),
                        static_cast<std::int32_t>(rows[i].column + k * digit.cell.bits / register_bits)});
      }
    }
  }
  const auto by_register = [](const Row& a, const Row& b) { return a.reg < b.reg; };
  if (!std::is_sorted(rows.begin(), rows.end(), by_register)) std::sort(rows.begin(), rows.end(), by_register);
  return rows;
}

std::optional<Unrelated> rows_collide(std::vector<Row> rows, bool is_load) {
  const auto rising = [](const Row& a, const Row& b) { return a.reg < b.reg && (a.column < b.column || (a.column == b.column && a.lane < b.lane)); };
  if (std::adjacent_find(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return !rising(a, b); }) == rows.end()) return std::nullopt;
  const auto same = [&](const Row& a, const Row& b) { return is_load ? a.reg == b.reg : a.lane == b.lane && a.column == b.column; };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return is_load ? a.reg < b.reg : std::pair(a.column, a.lane) < std::pair(b.column, b.lane);
  });
  const auto twice = std::adjacent_find(rows.begin(), rows.end(), same);
  if (twice == rows.end()) return std::nullopt;
  if (is_load) return no("registers", fmt::format("two elements fall on register {} of the same thread", twice->reg));
  return no("registers", fmt::format("registers {} and {} of the same thread are stored to one cell", twice->reg, (twice + 1)->reg));
}

// The warps that take part, with the cell at which their rows begin.
std::optional<Unrelated> place_warps(const Owners& owners, const Digits& digits, const Threads& threads, bool is_load, Relation& relation) {
  std::int64_t lowest = 0, highest = 0;   // lanes of the rows of a warp, relative to its beginning, all threads included
  std::int64_t last_column = 0;
  for (const Row& row : relation.rows) {
    last_column = std::max<std::int64_t>(last_column, row.column);
    lowest = std::min<std::int64_t>(lowest, row.lane);
    highest = std::max<std::int64_t>(highest, row.lane);
  }
  std::set<std::pair<std::int64_t, std::int64_t>> stored;
  std::int64_t needed = 1;
  for (const Field& field : owners.fields()) {
    for (const OwnerDigit& digit : field.digits) needed *= digit.stride >= warp_threads && !digit.replica ? digit.extent : 1;
  }
  std::string first_problem;
  for (std::int64_t warp = threads.first_warp; warp <= threads.last_warp; ++warp) {
    const std::int64_t tid = warp * warp_threads;
    if (!owners.owns(tid)) continue;
    std::int64_t lane = digits.lane_offset, bits = digits.column_offset;
    for (const Field& field : owners.fields()) {
      for (std::size_t k = 0; k < field.digits.size(); ++k) {
        if (field.digits[k].stride < warp_threads) continue;
        const std::int64_t value = owners.value(field, k, tid);
        lane += value * digits.owner_cells[field.digits[k].key].lane;
        bits += value * digits.owner_cells[field.digits[k].key].bits;
      }
    }
    const std::int64_t quadrant = warp % 4;
    const std::int64_t own = quadrant * tcgen05::quadrant_lanes;
    if (lane + lowest < own || lane + highest >= own + tcgen05::quadrant_lanes) {
      if (first_problem.empty()) {
        first_problem = fmt::format("warp {} holds lanes {}.., but reaches only lanes {}..{} (32 * (warp % 4))", warp, lane + lowest, own, own + 31);
      }
      if (is_load) return no("quadrant", first_problem);
      continue;
    }
    if (bits % register_bits != 0) return no("registers", fmt::format("warp {} begins at bit {} of a cell", warp, bits % register_bits));
    if (bits < 0 || bits / register_bits + last_column >= tcgen05::columns) {
      return no("quadrant", fmt::format("warp {} holds column {}, but tensor memory has {} columns", warp, bits / register_bits + last_column, tcgen05::columns));
    }
    if (!stored.insert({lane, bits}).second && !is_load) continue;   // another warp stores the same cells
    const auto base_lane = static_cast<std::int32_t>(lane - own);
    auto base = std::find(relation.base_lanes.begin(), relation.base_lanes.end(), base_lane);
    if (base == relation.base_lanes.end()) base = relation.base_lanes.insert(base, base_lane);
    relation.warps.push_back({warp, bits / register_bits, static_cast<std::size_t>(base - relation.base_lanes.begin())});
  }
  if (!is_load && static_cast<std::int64_t>(stored.size()) < needed) return no("quadrant", first_problem.empty() ? "two warps hold different elements of the same cells" : first_problem);
  return std::nullopt;
}

std::optional<Unrelated> moving_problem(const Operand& local, const Operand& tmem) {
  if (!local.moving.empty()) {
    return no("regions", fmt::format("the region of {} moves with a variable, but registers are named when the kernel is built", local.buffer->name));
  }
  for (const Moving& moving : tmem.moving) {
    if (moving.axis == Axis::TLane) return no("regions", fmt::format("the lanes of {} move with a variable, but a warp reaches its own quadrant only", tmem.buffer->name));
    if (moving.stride * tmem.bits % register_bits != 0) {
      return no("regions", fmt::format("the columns of {} move in steps of {} bits, which are not whole cells", tmem.buffer->name, moving.stride * tmem.bits));
    }
  }
  return std::nullopt;
}

}  // namespace

std::variant<Relation, Unrelated> relate(const Operand& local, const Operand& tmem, const Threads& threads, bool is_load) {
  if (auto problem = moving_problem(local, tmem)) return *problem;
  if (local.swizzle || tmem.swizzle) return no("registers", "registers and tensor memory are never swizzled");
  if (!is_load && !tmem.replica.empty()) return no("regions", "the tensor memory layout keeps replicas; store each of them by a copy of its own");
  auto sorted = sort_digits(local, tmem, is_load);
  if (auto* problem = std::get_if<Unrelated>(&sorted)) return *problem;
  Digits& digits = std::get<Digits>(sorted);

  Relation relation;
  RowPattern pattern;
  if (auto problem = to_whole_registers(digits, local.bits, pattern.packed)) return *problem;
  const auto owners = Owners::of(threads, digits.owners, digits.owner_offset, local.named, is_load);
  if (!owners) return no("ownership", owners.reason().text);
  if (auto problem = pattern_of(*owners, digits, pattern)) return *problem;
  const auto type = type_of(pattern);
  if (!type) return no("row pattern", "the lanes and columns of a register's 32 threads are those of no .ld or .st shape");
  relation.type = *type;
  auto rows = rows_of(digits);
  if (auto* problem = std::get_if<Unrelated>(&rows)) return *problem;
  relation.rows = std::move(std::get<std::vector<Row>>(rows));
  if (auto problem = rows_collide(relation.rows, is_load)) return *problem;
  digits.column_offset += tmem.buffer->column * register_bits;
  if (auto problem = place_warps(*owners, digits, threads, is_load, relation)) return *problem;
  for (const Moving& moving : tmem.moving) relation.moving_columns = sum(relation.moving_columns, scaled(moving.expr, moving.stride * tmem.bits / register_bits));
  return relation;
}

}  // namespace tmemsim::lower
