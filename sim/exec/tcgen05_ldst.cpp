// tcgen05.ld, .st, .wait::ld, .wait::st, .fence. PTX ISA 9.7.16.8 and 9.7.16.11.
//
// All that is known of cells and registers changes when the instruction is issued, values when it completes. An st takes its
// registers at issue (they are operands, not memory); an ld reads its cells when it completes.
#include "ir/ops/tcgen05_ldst.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/check/hazards.hpp"
#include "sim/check/means.hpp"
#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::uint32_t low_half = 0x0000ffffu;

// What an ld or st moves, after its address has been checked.
struct CellMove {
  Shape shape = Shape::s32x32b;
  bool packed = false;
  std::int32_t half = 0;
  std::uint32_t quadrant = 0, lane = 0;  // lane inside the quadrant: 0 or 16
  std::uint32_t column = 0;
  TmemFootprint cells;
};

// Calls visit(i, thread, lane in the quadrant, column, half) for each register word (each half of it when packed), register
// `i` of the list.
template <class Visit> void for_each_cell(const CellMove& move, std::size_t registers, Visit&& visit) {
  for (std::size_t i = 0; i < registers; ++i) {
    for (int thread = 0; thread < 32; ++thread) {
      for (int part = 0; part < (move.packed ? 2 : 1); ++part) {
        const tcgen05::Cell cell = tcgen05::cell(move.shape, move.packed, move.half, thread, static_cast<int>(i), part);
        visit(i, static_cast<std::uint32_t>(thread), (move.lane + static_cast<std::uint32_t>(cell.lane)) % 32,
              move.column + static_cast<std::uint32_t>(cell.column), part);
      }
    }
  }
}

// Cell of each thread and register of one repetition, relative to its first column: the shapes repeat to the right.
struct Repetition {
  int registers = 1, columns = 1;
  std::array<std::uint16_t, 4 * 32> offset{};  // [register][thread]: column * 128 + lane
};

constexpr Repetition repetition_of(Shape shape) {
  Repetition repetition{tcgen05::facts(shape).registers, tcgen05::facts(shape).columns, {}};
  for (int reg = 0; reg < repetition.registers; ++reg) {
    for (int thread = 0; thread < 32; ++thread) {
      const tcgen05::Cell cell = tcgen05::cell(shape, false, 0, thread, reg);
      repetition.offset[static_cast<std::size_t>(reg * 32 + thread)] = static_cast<std::uint16_t>(cell.column * tcgen05::lanes + cell.lane);
    }
  }
  return repetition;
}

constexpr std::array<Repetition, 4> repetitions{repetition_of(Shape::s32x32b), repetition_of(Shape::s16x64b), repetition_of(Shape::s16x128b),
                                                repetition_of(Shape::s16x256b)};

bool moves_by_table(const CellMove& move) { return !move.packed && move.shape != Shape::s16x32bx2; }

void load_values(const Tmem& tmem, const CellMove& move, const std::vector<std::uint16_t>& rows, RegisterFile& registers) {
  const std::uint32_t first_lane = move.quadrant * tcgen05::quadrant_lanes + move.lane;
  if (move.shape == Shape::s32x32b && !move.packed) {
    for (std::size_t i = 0; i < rows.size(); ++i) std::memcpy(registers.row(rows[i]), &tmem.cell[move.column + i][first_lane], 128);
    return;
  }
  if (moves_by_table(move)) {
    const Repetition& repetition = repetitions[static_cast<std::size_t>(move.shape)];
    const std::uint32_t* cells = &tmem.cell[move.column][first_lane];
    for (std::size_t i = 0; i < rows.size(); i += static_cast<std::size_t>(repetition.registers)) {
      for (int reg = 0; reg < repetition.registers; ++reg) {
        std::uint32_t* row = registers.row(rows[i + static_cast<std::size_t>(reg)]);
        const std::uint16_t* offset = repetition.offset.data() + reg * 32;
        for (int thread = 0; thread < 32; ++thread) row[thread] = cells[offset[thread]];
      }
      cells += repetition.columns * tcgen05::lanes;
    }
    return;
  }
  for_each_cell(move, rows.size(), [&](std::size_t i, std::uint32_t thread, std::uint32_t lane, std::uint32_t column, int part) {
    const std::uint32_t cell = tmem.cell[column][move.quadrant * tcgen05::quadrant_lanes + lane];
    std::uint32_t& word = registers.row(rows[i])[thread];
    if (!move.packed) word = cell;
    else if (part == 0) word = (word & ~low_half) | (cell & low_half);
    else word = (word & low_half) | (cell << 16);
  });
}

void store_values(Tmem& tmem, const CellMove& move, const std::uint32_t* words, std::size_t registers, std::uint32_t unpacked_high) {
  const std::uint32_t first_lane = move.quadrant * tcgen05::quadrant_lanes + move.lane;
  if (move.shape == Shape::s32x32b && !move.packed) {
    for (std::size_t i = 0; i < registers; ++i) std::memcpy(&tmem.cell[move.column + i][first_lane], words + i * 32, 128);
    return;
  }
  if (moves_by_table(move)) {
    const Repetition& repetition = repetitions[static_cast<std::size_t>(move.shape)];
    std::uint32_t* cells = &tmem.cell[move.column][first_lane];
    const std::size_t count = static_cast<std::size_t>(repetition.registers) * 32;
    for (std::size_t i = 0; i < registers; i += static_cast<std::size_t>(repetition.registers)) {
      for (std::size_t word = 0; word < count; ++word) cells[repetition.offset[word]] = words[i * 32 + word];
      cells += repetition.columns * tcgen05::lanes;
    }
    return;
  }
  for_each_cell(move, registers, [&](std::size_t i, std::uint32_t thread, std::uint32_t lane, std::uint32_t column, int part) {
    std::uint32_t& cell = tmem.cell[column][move.quadrant * tcgen05::quadrant_lanes + lane];
    const std::uint32_t word = words[i * 32 + thread];
    cell = move.packed ? ((part == 0 ? word : word >> 16) & low_half) | unpacked_high : word;
  });
}

// ---- what is known of cells and registers ----

std::uint32_t lane_mask(const SlabBox& box) {
  return box.slabs == 2 ? ~0u : box.slab % 2 == 0 ? 0x0000ffffu : 0xffff0000u;
}

struct CellsKnown {
  bool all_fine = true;               // every cell written, defined, and not bad
  std::uint32_t unwritten_column = 0, unwritten_lanes = 0;  // the first column with cells that nobody wrote
};

CellsKnown know_cells(const Tmem& tmem, const CellMove& move) {
  CellsKnown known;
  for (std::uint32_t b = 0; b < move.cells.boxes; ++b) {
    const SlabBox& box = move.cells.box[b];
    const std::uint32_t mask = lane_mask(box);
    const CellState* state = tmem.state[move.quadrant].data() + box.column;
    std::uint32_t fine = ~0u;
    for (std::uint32_t i = 0; i < box.columns; ++i)
      fine &= (state[i].low & (move.packed ? ~0u : state[i].high) & state[i].defined & ~state[i].bad) | ~mask;
    if (fine == ~0u) continue;
    known.all_fine = false;
    for (std::uint32_t i = 0; i < box.columns && known.unwritten_lanes == 0; ++i) {
      known.unwritten_lanes = mask & ~(state[i].low & (move.packed ? ~0u : state[i].high)) & ~state[i].bad;
      known.unwritten_column = box.column + i;
    }
  }
  return known;
}

// `origin`: of the load that has been told.
void mark_unwritten_bad(Tmem& tmem, const CellMove& move, std::uint32_t origin) {
  for (std::uint32_t b = 0; b < move.cells.boxes; ++b) {
    const SlabBox& box = move.cells.box[b];
    for (std::uint32_t i = 0; i < box.columns; ++i) {
      CellState& state = tmem.state[move.quadrant][box.column + i];
      const std::uint32_t missing = lane_mask(box) & ~(state.low & (move.packed ? ~0u : state.high)) & ~state.bad;
      state.bad |= missing;
      tmem.set_origins(move.quadrant, box.column + i, missing, origin);
    }
  }
}

// What the registers of a load will hold.
void know_loaded(const Tmem& tmem, const CellMove& move, const std::vector<std::uint16_t>& rows, bool all_fine, RegisterFile& registers) {
  for (std::uint16_t row : rows) {
    RowState& state = registers.state(row);
    state.written = ~0u;
    state.byte_written.fill(~0u);
    state.bad = 0;
  }
  if (all_fine) return;
  for_each_cell(move, rows.size(), [&](std::size_t i, std::uint32_t thread, std::uint32_t lane, std::uint32_t column, int) {
    const CellState& cell = tmem.state[move.quadrant][column];
    RowState& state = registers.state(rows[i]);
    const std::uint32_t written = cell.low & (move.packed ? ~0u : cell.high) & cell.defined;
    if (!(written >> lane & 1u)) {
      state.written &= ~(1u << thread);
      const auto origin = tmem.origins.find(column * tcgen05::lanes + move.quadrant * tcgen05::quadrant_lanes + lane);
      if (origin != tmem.origins.end()) state.undefined_since = origin->second;
    }
    if (cell.bad >> lane & 1u) state.bad |= 1u << thread;
  });
  for (std::uint16_t row : rows) registers.state(row).byte_written.fill(registers.state(row).written);
}

// What a store leaves in its cells.
void know_stored(Tmem& tmem, const CellMove& move, const std::vector<std::uint16_t>& rows, const RegisterFile& registers, bool high_written,
                 bool bad_address) {
  std::uint32_t all_defined = ~0u, any_bad = bad_address ? ~0u : 0;
  for (std::uint16_t row : rows) {
    all_defined &= registers.state(row).written;
    any_bad |= registers.state(row).bad;
  }
  for (std::uint32_t b = 0; b < move.cells.boxes; ++b) {
    const SlabBox& box = move.cells.box[b];
    const std::uint32_t mask = lane_mask(box), high = high_written ? mask : 0;
    CellState* state = tmem.state[move.quadrant].data() + box.column;
    if (mask == ~0u && high_written) {
      std::fill_n(state, box.columns, CellState{~0u, ~0u, ~0u, bad_address ? ~0u : 0});
      continue;
    }
    for (std::uint32_t i = 0; i < box.columns; ++i) {
      state[i].low |= mask;
      state[i].high = (state[i].high & ~mask) | high;
      state[i].defined |= mask;
      state[i].bad = (state[i].bad & ~mask) | (bad_address ? mask : 0);
    }
  }
  if (all_defined == ~0u && any_bad == 0) return;
  for_each_cell(move, rows.size(), [&](std::size_t i, std::uint32_t thread, std::uint32_t lane, std::uint32_t column, int) {
    CellState& cell = tmem.state[move.quadrant][column];
    const RowState& state = registers.state(rows[i]);
    if (!(state.written >> thread & 1u)) {
      cell.defined &= ~(1u << lane);
      if (state.undefined_since != 0) tmem.origins[column * tcgen05::lanes + move.quadrant * tcgen05::quadrant_lanes + lane] = state.undefined_since;
    }
    if (state.bad >> thread & 1u) cell.bad |= 1u << lane;
  });
}

// ---- addresses ----

Candidate at_cells(Warp& warp, Verdict verdict, std::string message, std::uint32_t lane, std::uint32_t lanes, std::uint32_t column,
                   std::uint32_t columns) {
  Candidate found = warp.candidate(verdict, std::move(message));
  found.where.space = "tmem";
  found.where.sm = warp.cta.sm;
  found.where.cta = warp.cta.index;
  found.where.lanes = {lane, lane + lanes - 1};
  found.where.columns = {column, column + columns - 1};
  return found;
}

void place_at_cells(Candidate& found, const Warp& warp, const TmemFootprint& cells) {
  const SlabBox& box = cells.box[0];
  found.where.space = "tmem";
  found.where.sm = warp.cta.sm;
  found.where.cta = warp.cta.index;
  found.where.lanes = {box.slab * slab_lanes, (box.slab + box.slabs) * slab_lanes - 1};
  found.where.columns = {box.column, box.column + box.columns - 1};
}

struct Checked {
  CellMove move;
  bool fine = false;      // no finding about the address: the access counts
  bool in_range = false;  // the move can be made at all
  std::optional<std::uint32_t> near;    // bits outside the fields: some cells of the allocation that holds this column were meant
  bool refused = false;   // the address is that of a refused alloc: it stands for no cells
  std::uint32_t intended_quadrant = 0;  // that the address names
};

SlabBox box_at(std::uint32_t quadrant, std::uint32_t lane, std::uint32_t lanes, std::uint32_t column, std::uint32_t columns) {
  return {quadrant * 2 + lane / slab_lanes, lanes / slab_lanes, column, columns};
}

// The first that applies: taddr-bits > out-of-bounds > misaligned > lane-window (> unallocated-access).
Checked check_address(Warp& warp, const TmemAddr& operand, Shape shape, int num, bool packed, std::optional<std::int32_t> half, bool writes) {
  const WarpValue given = warp.address(operand);
  const auto address = static_cast<std::uint32_t>(given.value);
  const tcgen05::ShapeFacts facts = tcgen05::facts(shape);
  const auto lanes = static_cast<std::uint32_t>(facts.lanes);
  const auto columns = static_cast<std::uint32_t>(facts.columns * num * (packed ? 2 : 1));
  const bool split = shape == Shape::s16x32bx2;
  const std::uint32_t second = address + static_cast<std::uint32_t>(half.value_or(0));
  const std::uint32_t own = warp.state.warp % quadrants;
  const std::uint32_t lane = tcgen05::lane_of(address), column = tcgen05::column_of(address);

  Checked checked;
  checked.fine = !given.bad;
  const auto fault = [&](Candidate found) {
    if (checked.fine) warp.report(std::move(found));
    checked.fine = false;
  };
  const auto check_part = [&](std::uint32_t part) {
    const std::uint32_t l = tcgen05::lane_of(part), c = tcgen05::column_of(part);
    if (part & ~tcgen05::address_mask) {
      checked.near = c % tcgen05::columns;
      fault(warp.candidate(Verdict::taddr_bits, fmt::format("address {:#010x} has bits outside lane (22:16) and column (8:0)", part)));
    } else if (c + columns > tcgen05::columns) {
      fault(at_cells(warp, Verdict::out_of_bounds, fmt::format("columns {} to {} leave the 512 of tensor memory", c, c + columns - 1), l, lanes, c, columns));
    } else if (l + lanes > tcgen05::lanes) {
      Candidate found = at_cells(warp, Verdict::out_of_bounds, fmt::format("lanes {} to {} leave the 128 of tensor memory", l, l + lanes - 1), l, lanes, c, columns);
      found.also = lanes == 16 && l % 16 != 0 ? Verdict::misaligned : Verdict::lane_window;
      fault(std::move(found));
    } else if (lanes == 16 && l % 16 != 0) {
      fault(at_cells(warp, Verdict::misaligned, fmt::format("a 16-lane shape starts at lane {}; lane 0 or 16 of a quadrant is allowed", l), l, lanes, c, columns));
    } else {
      const bool relative = warp.machine.options.profile.value(Switch::quadrant_bits) == "ignored-when-0" && l / 32 == 0;
      const std::uint32_t first = relative ? own * 32 + l : l;
      if (first / 32 != own || (first + lanes - 1) / 32 != own) {
        Candidate found = at_cells(warp, Verdict::lane_window, fmt::format("warp {} reaches lanes {} to {}, the address names lanes {} to {}", warp.state.warp,
                                                                           own * 32, own * 32 + 31, l, l + lanes - 1), l, lanes, c, columns);
        found.decided_by = Switch::quadrant_bits;
        fault(std::move(found));
      }
    }
  };
  check_part(address);
  if (split) check_part(second);

  CellMove& move = checked.move;
  move = {shape, packed, half.value_or(0), own, lane & 31u, column, {}};
  checked.intended_quadrant = lane / 32 % quadrants;
  checked.refused = given.bad && is_no_address(address);
  const std::uint32_t second_column = tcgen05::column_of(second), second_lane = tcgen05::lane_of(second) & 31u;
  checked.in_range = column + columns <= tcgen05::columns && move.lane % 16 == 0 && move.lane + lanes <= 32 &&
                     (!split || (second_column + columns <= tcgen05::columns && second_lane % 16 == 0)) && !checked.refused;
  if (!checked.in_range) return checked;
  move.cells.box[0] = box_at(own, move.lane, lanes, column, columns);
  if (split) {
    move.cells.box[1] = box_at(own, second_lane, lanes, second_column, columns);
    move.cells.boxes = 2;
    const std::uint32_t distance = second_column > column ? second_column - column : column - second_column;
    if (distance < columns && second_lane == move.lane && checked.fine) {
      Candidate found = at_cells(warp, Verdict::descriptor, fmt::format("the two halves of 16x32bx2 overlap: {} columns, {} apart", columns, distance), lane, lanes,
                                 column, columns);
      found.severity = writes ? Severity::error : Severity::warning;
      warp.report(std::move(found));
      if (writes) checked.fine = false;
    }
  }
  return checked;
}

// The cells that a faulty store was meant for: nobody is told that they were never written.
void mark_intended(Warp& warp, const Checked& checked) {
  auto& quadrant = warp.sm().cells().state[checked.intended_quadrant];
  for (std::uint32_t b = 0; checked.in_range && b < checked.move.cells.boxes; ++b) {
    const SlabBox& box = checked.move.cells.box[b];
    for (std::uint32_t column = box.column; column < box.column + box.columns; ++column) quadrant[column].bad |= lane_mask(box);
  }
  const Allocation* near = checked.near ? warp.sm().allocator.holding(*checked.near) : nullptr;
  if (!near || near->cta != warp.cta.index) return;
  for (std::uint32_t column = near->base; column < near->base + near->columns; ++column) quadrant[column].bad |= ~quadrant[column].low;
}

// What the author says the instruction moves, against what it moves. True: they differ, and that has been told.
bool misses_its_meaning(Warp& warp, const CellMove& move, const std::vector<std::uint16_t>& rows) {
  const std::optional<Means>& means = warp.machine.program.steps[warp.step].stmt->means;
  if (!means) return false;
  Tmem& tmem = warp.sm().cells();
  const bool from_tmem = warp.machine.kernel.buffers[means->src.buffer].space == Space::tmem;
  std::vector<MovedPart> parts;
  for_each_cell(move, rows.size(), [&](std::size_t i, std::uint32_t thread, std::uint32_t lane, std::uint32_t column, int part) {
    const bool bad = from_tmem ? (tmem.state[move.quadrant][column].bad >> lane & 1u) != 0 : (warp.state.registers.state(rows[i]).bad >> thread & 1u) != 0;
    parts.push_back({thread, rows[i], static_cast<std::uint32_t>(16 * part), move.quadrant * tcgen05::quadrant_lanes + lane, column, bad});
  });
  const auto mismatch = mismatch_with_means(warp, *means, parts, move.packed ? 16 : 32);
  if (!mismatch) return false;
  Candidate found = warp.candidate(Verdict::layout_mismatch, mismatch->message);
  place_at_cells(found, warp, move.cells);
  warp.report(std::move(found));
  if (!from_tmem) {  // what should have been written is known bad, and so is what is written instead
    for (const auto& [lane, column] : mismatch->meant)
      if (lane < tcgen05::lanes && column < tcgen05::columns) tmem.state[lane / 32][column].bad |= 1u << (lane % 32);
  }
  return true;
}

std::uint32_t async_record(Warp& warp, AccessKind kind, std::uint32_t number, std::uint16_t view) {
  Access access = warp.describe();
  access.kind = kind;
  access.async_number = number;
  access.collective = true;
  access.buffer = view;
  return warp.machine.accesses.add(access);
}

void note_extents(Event* event, const Warp& warp, const TmemFootprint& cells, const std::vector<std::uint16_t>& rows, bool load, bool low_halves) {
  if (!event) return;
  for (std::uint32_t b = 0; b < cells.boxes; ++b) {
    const SlabBox& box = cells.box[b];
    Extent extent;
    extent.place = warp.cta.sm;
    extent.lane_first = box.slab * slab_lanes;
    extent.lane_last = (box.slab + box.slabs) * slab_lanes - 1;
    extent.first = box.column;
    extent.last = box.column + box.columns - 1;
    extent.low_half = low_halves;
    (load ? event->reads : event->writes).push_back(std::move(extent));
  }
  if (load)
    for (std::uint16_t row : rows) note_register(event->writes, warp.cta.index, warp.state.warp, row, ~0u);
}

}  // namespace

Flight issue(const TcgenLd& op, Warp& warp) {
  const RowsPlan& rows = warp.plan(op.dst);
  const Checked checked = check_address(warp, op.src, op.shape, op.num, op.pack, op.half, false);
  const std::uint32_t number = ++warp.state.ld_issued;
  const std::uint32_t record = async_record(warp, AccessKind::ld, number, warp.plan(op.src).view);
  const CellMove& move = checked.move;
  RegisterFile& registers = warp.state.registers;

  bool good = checked.fine && checked.in_range && check_allocated(warp, move.cells);
  for (std::uint16_t row : rows.rows) {
    if (registers.state(row).pending > warp.state.ld_waited) warp.write_row(row, warp.lanes, 0, 0);
  }
  if (good) {
    Tmem& tmem = warp.sm().cells();
    check_tmem(warp, move.cells, TmemUse::read, record);
    const CellsKnown known = know_cells(tmem, move);
    if (known.unwritten_lanes != 0) {
      const std::uint32_t first = static_cast<std::uint32_t>(std::countr_zero(known.unwritten_lanes)), last = 31u - static_cast<std::uint32_t>(std::countl_zero(known.unwritten_lanes));
      warp.report(at_cells(warp, Verdict::uninit_read, fmt::format("cells of column {} are read that nobody has written since the alloc", known.unwritten_column),
                           move.quadrant * 32 + first, last - first + 1, known.unwritten_column, 1));
      mark_unwritten_bad(tmem, move, warp.machine.origin(warp.instance()));
    }
    know_loaded(tmem, move, rows.rows, known.all_fine, registers);
    if (misses_its_meaning(warp, move, rows.rows)) good = false;
    note_extents(warp.event, warp, move.cells, rows.rows, true, op.pack);
  }
  for (std::uint16_t row : rows.rows) {
    RowState& state = registers.state(row);
    if (!good) {
      state.written = ~0u;
      state.byte_written.fill(~0u);
      state.bad = ~0u;
    }
    state.pending = number;
    state.pending_record = record;
    state.unread = warp.lanes;
  }
  warp.machine.accesses.at(record).unread_rows = static_cast<std::uint32_t>(rows.rows.size());
  Flight flight{Async::ld, record, number, {}, false};
  if (!checked.in_range) {
    flight.complete = [](Machine&, WarpState&) {};
    return flight;
  }
  flight.complete = [&rows, move, number](Machine& machine, WarpState& state) {
    load_values(machine.sm_of(state).cells(), move, rows.rows, state.registers);
    for (std::uint16_t row : rows.rows)
      if (state.registers.state(row).pending != number) state.registers.state(row).bad = ~0u;  // somebody else wrote it meanwhile
  };
  return flight;
}

Flight issue(const TcgenSt& op, Warp& warp) {
  const RowsPlan& rows = warp.plan(op.src);
  for (std::uint16_t row : rows.rows) warp.read_row(row, warp.lanes);
  const Checked checked = check_address(warp, op.dst, op.shape, op.num, op.unpack, op.half, true);
  const std::uint32_t number = ++warp.state.st_issued;
  const std::uint32_t record = async_record(warp, AccessKind::st, number, warp.plan(op.dst).view);
  const CellMove& move = checked.move;

  Flight flight{Async::st, record, number, {}, false};
  flight.complete = [](Machine&, WarpState&) {};
  if (!checked.in_range) {
    if (checked.near) mark_intended(warp, checked);
    else if (!checked.refused) spoil_unwritten(warp.machine, warp.cta);
    return flight;
  }
  const bool good = checked.fine && check_allocated(warp, move.cells);
  Tmem& tmem = warp.sm().cells();
  const bool zero_high = warp.machine.options.profile.value(Switch::unpack_high_half) == "zero";
  if (good) {
    check_tmem(warp, move.cells, TmemUse::write, record);
    note_extents(warp.event, warp, move.cells, rows.rows, false, op.unpack && !zero_high);
  } else {
    mark_intended(warp, checked);
  }
  const bool misplaced = good && misses_its_meaning(warp, move, rows.rows);
  know_stored(tmem, move, rows.rows, warp.state.registers, !op.unpack || zero_high, !good || misplaced);

  std::vector<std::uint32_t> words(rows.rows.size() * 32);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) std::memcpy(words.data() + i * 32, warp.state.registers.row(rows.rows[i]), 128);
  const std::uint32_t high = zero_high ? 0 : tmem_poison & ~low_half;
  flight.complete = [move, high, words = std::move(words)](Machine& machine, WarpState& state) {
    store_values(machine.sm_of(state).cells(), move, words.data(), words.size() / 32, high);
  };
  return flight;
}

namespace {

// All earlier loads (or stores) of the warp are complete, and its threads know it.
Ran wait(Warp& warp, Async agent) {
  WarpState& state = warp.state;
  const bool ld = agent == Async::ld;
  std::uint32_t& waited = ld ? state.ld_waited : state.st_waited;
  waited = ld ? state.ld_issued : state.st_issued;
  warp.machine.complete(state, agent, waited);
  if (warp.machine.tracer) warp.machine.tracer->see_completions(state, agent);
  const std::uint32_t counter = agent_of(state.warp, ld ? WarpAgent::ld : WarpAgent::st);
  warp.change_views(~0u, [&](Views& views) {
    for (View* view : {&views.any, &views.generic, &views.tensor.now, &views.tolerant.now}) view->raise(state.cta, counter, waited);
  });
  return Ran::finished();
}

}  // namespace

Ran execute(const TcgenWaitLd&, Warp& warp) { return wait(warp, Async::ld); }
Ran execute(const TcgenWaitSt&, Warp& warp) { return wait(warp, Async::st); }

Ran execute(const TcgenFenceBefore&, Warp& warp) {
  warp.change_views(warp.lanes, [](Views& views) { views.fence_before(); });
  return Ran::finished();
}

Ran execute(const TcgenFenceAfter&, Warp& warp) {
  warp.change_views(warp.lanes, [](Views& views) { views.fence_after(); });
  return Ran::finished();
}

}  // namespace tmemsim::sim
