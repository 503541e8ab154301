#include "report/atom_answers.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/atom/families.hpp"
#include "ir/atom/flat_map.hpp"
#include "ir/atom/register_fields.hpp"
#include "ir/atom/verify.hpp"
#include "ir/atom/warp_matrix.hpp"
#include "ir/diagnostic.hpp"

namespace tmemsim::report {
namespace {

using atom::Operand;
using atom::Payload;
using atom::PayloadRef;

constexpr std::int64_t most_cells = 65536;

PayloadRef named(const std::string& name) {
  const auto found = atom::atom_named(name);
  if (!found) throw InputError(found.reason().text, "tmemsim atom list shows what there is");
  return *found;
}

bool is_tcgen05_move(const Payload& payload) {
  return payload.name.rfind("tcgen05.ld.", 0) == 0 || payload.name.rfind("tcgen05.st.", 0) == 0;
}

std::string truth(const Payload& payload) { return payload.executor ? payload.executor.source : "none"; }

const Operand& chosen(const Payload& payload, const std::string& which) {
  if (payload.whole_tile) throw InputError(fmt::format("{} has no (thread, value) layout", payload.name), payload.note);
  if (which.empty()) {
    for (const Operand& operand : payload.operands) {
      if (operand.place == atom::Place::registers) return operand;
    }
    return payload.operands[0];
  }
  const Operand* found = payload.operand(which);
  if (found != nullptr) return *found;
  std::vector<std::string> names;
  for (const Operand& operand : payload.operands) names.push_back(operand.name);
  throw InputError(fmt::format("{} has no operand '{}'", payload.name, which),
                   fmt::format("operands: {}", fmt::join(names, ", ")));
}

std::string operand_line(const Operand& operand) {
  std::string line =
      fmt::format("  {:<4} {:<9} {:<20} {}", operand.name, operand.type, atom::name(operand.place), to_string(operand.layout));
  if (operand.register_bits != 0) line += fmt::format("  {} bits a thread", operand.register_bits);
  if (operand.replication != 1) line += fmt::format("  each element {} times", operand.replication);
  if (operand.collective) line += "  collective";
  if (operand.cell) line += fmt::format("  cells {} in rows of {}", to_string(*operand.cell), operand.cells_in_row);
  return line + "\n";
}

std::string state_line(const atom::StateField& field) {
  return fmt::format("  {:<15} {:<4} {:<12} {}{}\n", field.name, field.type, field.unit,
                     field.default_value ? fmt::format("default {}", *field.default_value) : "required",
                     field.must_be_constant ? ", constant" : "");
}

// A column-major tile for matrices; image rows run across for copies.
struct Position {
  std::int64_t row, column;
};
Position position(const Payload& payload, const Operand& operand, std::int64_t index) {
  if (payload.kind == atom::Kind::mma)
    return {index % operand.rows, index / operand.rows};  // of several blocks, one beside the other
  return {index / operand.rows, index % operand.rows};
}

std::string register_rows(const Payload& payload) {
  std::string text = "thread,reg,lane,column,bit_lo,bits,col_bit\n";
  for (const atom::RegisterField& field : atom::register_fields(payload)) {
    text += fmt::format("{},{},{},{},{},{},{}\n", field.thread, field.reg, field.lane, field.column, field.bit_lo, field.bits,
                        field.col_bit);
  }
  return text;
}

}  // namespace

std::string atom_list(const std::string& family) {
  std::string text;
  std::vector<std::string> names;
  bool found = false;
  for (const atom::Family& one : atom::families()) {
    names.push_back(one.name);
    if (!family.empty() && one.name != family) continue;
    found = true;
    text += fmt::format("{}: {}\n", one.name, one.meaning);
    for (const Payload& payload : one.rows()) {
      text +=
          fmt::format("  {:<58} {:<4} {:<8} {:>3} threads  ground truth: {}{}\n", payload.name,
                      payload.kind == atom::Kind::mma ? "mma" : "copy", payload.target,
                      atom::FlatMap::make(payload.threads)->size(), truth(payload),
                      payload.corrected.empty() ? "" : fmt::format("  (corrected: {})", fmt::join(payload.corrected, ", ")));
    }
  }
  if (!found)
    throw InputError(fmt::format("there is no family '{}'", family), fmt::format("families: {}", fmt::join(names, ", ")));
  return text;
}

std::string atom_text(const std::string& name) {
  const PayloadRef payload = named(name);
  std::string text = fmt::format("{}: {} for {}\n", payload->name, payload->instruction, payload->target);
  text += fmt::format("threads       {}\n", to_string(payload->threads));
  if (payload->kind == atom::Kind::mma)
    text +=
        fmt::format("M, N, K       {}, {}, {}; D is {}{}{}\n", payload->mnk[0], payload->mnk[1], payload->mnk[2],
                    payload->result_type, payload->blocks == 1 ? "" : fmt::format("; {} independent products", payload->blocks),
                    payload->sparsity == 1 ? "" : fmt::format("; A is stored with K / {} columns", payload->sparsity));
  text += "operands\n";
  for (const Operand& operand : payload->operands) text += operand_line(operand);
  if (!payload->state.empty()) text += "state\n";
  for (const atom::StateField& field : payload->state) text += state_line(field);
  text += fmt::format("ground truth  {}\n", truth(*payload));
  if (!payload->operation.empty()) text += fmt::format("operation     {}\n", payload->operation);
  for (const atom::WarpMma& mma : atom::warp_mmas()) {
    if (mma.name != payload->name) continue;
    text += fmt::format("buffers       a {}, b {}, d {}\n", to_string(mma.a.layout), to_string(mma.b.layout),
                        to_string(mma.c.layout));
  }
  if (!payload->corrected.empty())
    text += fmt::format("corrected     {}: the public definition is wrong\n", fmt::join(payload->corrected, ", "));
  if (!payload->note.empty()) text += fmt::format("note          {}\n", payload->note);
  return text;
}

std::string atom_csv(const std::string& name, const std::string& which) {
  const PayloadRef payload = named(name);
  if (which.empty() && is_tcgen05_move(*payload)) return register_rows(*payload);
  const Operand& operand = chosen(*payload, which);
  const auto map = *atom::ThreadValueMap::make(operand.layout);
  std::string text = "thread,value,row,col\n";
  for (std::int64_t t = 0; t < map.threads.size(); ++t) {
    for (std::int64_t v = 0; v < map.values.size(); ++v) {
      const Position at = position(*payload, operand, map(t, v));
      text += fmt::format("{},{},{},{}\n", t, v, at.row, at.column);
    }
  }
  return text;
}

Grid atom_picture(const std::string& name, const std::string& which) {
  const PayloadRef payload = named(name);
  const Operand& operand = chosen(*payload, which);
  const std::int64_t unit = payload->kind == atom::Kind::mma ? 1
                            : operand.rows % 32 == 0         ? 32
                            : operand.rows % 16 == 0         ? 16
                                                             : 8;  // bits of a cell
  if (operand.tile / unit > most_cells)
    throw InputError(fmt::format("{} has more than {} elements", name, most_cells), "--format csv has no such limit");
  const auto map = *atom::ThreadValueMap::make(operand.layout);
  const bool matrix = payload->kind == atom::Kind::mma;
  const std::int64_t rows = matrix ? operand.rows : operand.tile / operand.rows, columns = operand.tile / unit / rows;
  Grid grid;
  grid.title = fmt::format("{} {}: {}", payload->name, operand.name, to_string(operand.layout));
  grid.row_name = matrix ? "row" : "image row";
  grid.column_name = matrix ? "column" : fmt::format("{} bits", unit);
  for (std::int64_t r = 0; r < rows; ++r) grid.row_labels.push_back(fmt::format("{}", r));
  for (std::int64_t c = 0; c < columns; ++c) grid.column_labels.push_back(fmt::format("{}", c));
  grid.cells.resize(static_cast<std::size_t>(rows * columns));
  const std::int64_t threads = operand.collective ? 1 : map.threads.size();
  for (std::int64_t t = 0; t < threads; ++t) {
    for (std::int64_t v = 0; v < map.values.size(); v += unit) {
      const Position at = position(*payload, operand, map(t, v));
      Cell& cell = grid.cells[static_cast<std::size_t>(at.row * columns + at.column / unit)];
      if (cell.label.empty()) cell = {fmt::format("T{}.{}", t, v / unit), static_cast<std::uint32_t>(t)};
    }
  }
  grid.legend = "Tt.v: thread t, value v; the first holder of an element that several hold";
  return grid;
}

AtomVerdicts atom_verify(const std::vector<std::string>& names) {
  std::vector<PayloadRef> atoms;
  for (const std::string& name : names) atoms.push_back(named(name));
  if (names.empty()) atoms = atom::all_atoms();
  AtomVerdicts verdicts;
  std::size_t right = 0, executed = 0;
  for (const PayloadRef& payload : atoms) {
    const auto problems = atom::verify(*payload);
    right += problems.empty() ? 1 : 0;
    executed += payload->executor ? 1 : 0;
    verdicts.text +=
        fmt::format("{:<6} {}  ground truth: {}\n", problems.empty() ? "right" : "wrong", payload->name, truth(*payload));
    for (const atom::Problem& problem : problems)
      verdicts.text +=
          fmt::format("       {}{}: {}\n", problem.operand.empty() ? "" : problem.operand + ", ", problem.rule, problem.text);
  }
  verdicts.all_right = right == atoms.size();
  verdicts.text += fmt::format("{} of {} right, {} with ground truth\n", right, atoms.size(), executed);
  return verdicts;
}

}  // namespace tmemsim::report
