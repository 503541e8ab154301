// Loads, stores, moves and arithmetic of single threads. PTX ISA 9.7.1, 9.7.3, 9.7.6, 9.7.9.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/families.hpp"

namespace tmemsim::sim {
namespace {

template <class Visit> void for_each_lane(std::uint32_t lanes, Visit&& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// The registers of a load or store of `bytes` bytes, one a word of memory: calls visit(row, first byte, bytes).
template <class Visit> void for_each_word(const RowsPlan& registers, int bytes, Visit&& visit) {
  for (std::size_t i = 0; i < registers.rows.size() && 4 * static_cast<int>(i) < bytes; ++i)
    visit(registers.rows[i], 4 * static_cast<std::int64_t>(i), std::min(4, bytes));
}

std::uint32_t memory_record(Warp& warp, const MemPlan& mem, Sem sem, MemScope scope) {
  const std::uint32_t record = warp.record(mem.buffer);
  if (sem == Sem::weak) return record;
  Access& access = warp.machine.accesses.at(record);
  access.strong = true;
  access.cta_scope = scope == MemScope::cta;
  return record;
}

// ---- flags: a strong load takes over what the strong store that it reads has handed over ----

FlagPlace flag_place(const ByteSpan& span, std::uint32_t lane) {
  return {span.shared, span.shared ? span.owner->index : std::uint32_t{span.buffer}, span.first[lane]};
}

void note_flag_stores(Warp& warp, const ByteSpan& span, Sem sem, MemScope scope) {
  auto& flags = warp.machine.flags;
  if (sem == Sem::weak) {
    if (!flags.empty()) for_each_lane(span.lanes, [&](std::uint32_t lane) { flags.erase(flag_place(span, lane)); });
    return;
  }
  for_each_lane(span.lanes, [&](std::uint32_t lane) { flags[flag_place(span, lane)] = {warp.released(1u << lane), sem == Sem::release, warp.cta.index, scope}; });
}

void take_over_flags(Warp& warp, const ByteSpan& span, Sem sem, MemScope scope) {
  if (sem == Sem::weak || warp.machine.flags.empty()) return;
  for_each_lane(span.lanes, [&](std::uint32_t lane) {
    const auto found = warp.machine.flags.find(flag_place(span, lane));
    if (found == warp.machine.flags.end()) return;
    const FlagStore& store = found->second;
    const bool pairs = store.release && sem == Sem::acquire;
    warp.acquire(1u << lane, store.views, pairs ? Edge::release_acquire : Edge::relaxed, warp.is_too_narrow(store.cta, std::min(store.scope, scope)));
  });
}

// What is known of the bytes of one lane.
struct Known {
  bool defined = true, bad = false;
};
Known known_of(const ByteMemory& memory, std::int64_t first, int count) {
  Known known;
  for (int i = 0; i < count; ++i) {
    const std::uint8_t flag = memory.flags()[first + i];
    known.defined = known.defined && (flag & ByteMemory::defined);
    known.bad = known.bad || (flag & ByteMemory::bad);
  }
  return known;
}

// After a load into a part of a register: the other bytes stay, and so does what is known of them.
void keep_other_bytes(Warp& warp, std::uint32_t row, const RowState& before, std::uint32_t first, std::uint32_t count) {
  RowState& known = warp.state.registers.state(row);
  known.written = ~0u;
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    std::uint32_t& written = known.byte_written[byte];
    if (byte < first || byte >= first + count) written = before.byte_written[byte];
    known.written &= written;
  }
}

// Lanes in which all of these bytes of the register hold defined values.
std::uint32_t written_bytes(const RowState& known, std::uint32_t first, int count) {
  std::uint32_t written = ~0u;
  for (std::uint32_t byte = first; byte < first + static_cast<std::uint32_t>(count) && byte < 4; ++byte) written &= known.byte_written[byte];
  return written;
}

}  // namespace

Ran execute(const Load& op, Warp& warp) {
  const MemPlan& mem = warp.plan(op.src);
  const RowsPlan& dst = warp.plan(op.dst);
  const ByteSpan span = warp.locate(mem, op.bytes, op.rank);
  const std::uint32_t raced = warp.touch(span, op.bytes, Warp::Touch::read, memory_record(warp, mem, op.sem, op.scope));
  take_over_flags(warp, span, op.sem, op.scope);
  for_each_word(dst, op.bytes, [&](std::uint32_t row, std::int64_t offset, int count) {
    std::uint32_t undefined = 0, bad = raced | (warp.lanes & ~span.lanes);
    std::uint32_t* values = warp.state.registers.row(row);
    const RowState before = warp.state.registers.state(row);
    for_each_lane(span.lanes, [&](std::uint32_t lane) {
      const std::int64_t first = span.first[lane] + offset;
      const Known known = known_of(*span.memory, first, count);
      if (!known.defined) {
        undefined |= 1u << lane;
        warp.note_origin(span.memory->origin_of(static_cast<std::size_t>(first)));
      }
      if (known.bad) bad |= 1u << lane;
    });
    if (op.reg_byte) bad |= before.bad;
    warp.write_row(row, warp.lanes, undefined, bad);
    if (op.reg_byte) keep_other_bytes(warp, row, before, *op.reg_byte, op.bytes);
    for_each_lane(span.lanes, [&](std::uint32_t lane) {
      std::uint32_t value = op.reg_byte ? values[lane] : 0;
      std::memcpy(reinterpret_cast<std::uint8_t*>(&value) + op.reg_byte.value_or(0), span.memory->data() + span.first[lane] + offset,
                  static_cast<std::size_t>(count));
      values[lane] = value;
    });
  });
  return Ran::finished();
}

namespace {

// Threads that write the same bytes in one instruction: nothing says whose value stays. Where all write the same value it is a
// note. Returns the lanes whose bytes are known bad now. Aligned accesses of one size overlap only where they are equal.
std::uint32_t check_own_lanes(Warp& warp, const Store& op, const ByteSpan& span, const RowsPlan& src) {
  if (op.sem != Sem::weak) return 0;
  std::array<std::uint32_t, 32> order{};
  std::size_t count = 0;
  for_each_lane(span.lanes, [&](std::uint32_t lane) { order[count++] = lane; });
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), [&](std::uint32_t a, std::uint32_t b) { return span.first[a] < span.first[b]; });
  std::uint32_t shared = 0, differing = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint32_t a = order[i - 1], b = order[i];
    if (span.first[a] != span.first[b]) continue;
    shared |= 1u << a | 1u << b;
    for (std::uint16_t row : src.rows) {
      const std::uint32_t* words = warp.state.registers.row(row);
      if (std::memcmp(reinterpret_cast<const std::uint8_t*>(&words[a]) + op.reg_byte.value_or(0), reinterpret_cast<const std::uint8_t*>(&words[b]) + op.reg_byte.value_or(0),
                      static_cast<std::size_t>(std::min<int>(4, op.bytes))) != 0) {
        differing |= 1u << a | 1u << b;
      }
    }
  }
  if (shared == 0) return 0;
  const std::string& name = warp.machine.kernel.buffers[span.buffer].name;
  Candidate found = warp.candidate(span.shared ? Verdict::smem_race : Verdict::global_race,
                                   fmt::format("threads of one instruction write the same bytes of {}{}", name, differing != 0 ? "" : ", all of them the same value"),
                                   warp.record(span.buffer));
  if (differing == 0) found.severity = Severity::note;
  found.at.lanes = found.other->lanes = differing != 0 ? differing : shared;
  const std::int64_t first = span.first[static_cast<std::size_t>(std::countr_zero(found.at.lanes))] - span.base;
  found.where.space = span.shared ? "shared" : "global";
  if (span.shared) found.where.cta = span.owner->index;
  found.where.buffer = name;
  found.where.bytes = {first, first + op.bytes - 1};
  warp.report(std::move(found));
  return differing;
}

}  // namespace

Ran execute(const Store& op, Warp& warp) {
  const MemPlan& mem = warp.plan(op.dst);
  const RowsPlan& src = warp.plan(op.src);
  const ByteSpan span = warp.locate(mem, op.bytes, op.rank);
  for_each_word(src, op.bytes, [&](std::uint32_t row, std::int64_t, int) { warp.read_row(row, span.lanes); });
  std::uint32_t raced = warp.touch(span, op.bytes, Warp::Touch::write, memory_record(warp, mem, op.sem, op.scope));
  raced |= check_own_lanes(warp, op, span, src);
  warp.spoil_if_left_out(mem, span);
  note_flag_stores(warp, span, op.sem, op.scope);
  for_each_word(src, op.bytes, [&](std::uint32_t row, std::int64_t offset, int count) {
    const RowState known = warp.state.registers.state(row);
    if ((span.lanes & ~known.written) != 0) warp.note_origin(known.undefined_since);
    const std::uint32_t written = written_bytes(known, op.reg_byte.value_or(0), count);
    std::uint32_t bad = known.bad | raced;
    if (!span.shared) bad = warp.use_value(span.lanes, ~written, bad, fmt::format("what is stored to {}", warp.machine.kernel.buffers[mem.buffer].name), Severity::error);
    if (!span.shared && (span.lanes & known.bad & ~written) != 0) warp.machine.reaches_memory(known.undefined_since);
    const std::uint32_t* values = warp.state.registers.row(row);
    for_each_lane(span.lanes, [&](std::uint32_t lane) {
      const std::int64_t first = span.first[lane] + offset;
      std::memcpy(span.memory->data() + first, reinterpret_cast<const std::uint8_t*>(&values[lane]) + op.reg_byte.value_or(0),
                  static_cast<std::size_t>(count));
      const std::uint8_t flag = (written >> lane & 1u ? ByteMemory::defined : 0) | (bad >> lane & 1u ? ByteMemory::bad : 0);
      std::memset(span.memory->flags() + first, flag, static_cast<std::size_t>(count));
      if (!(written >> lane & 1u) && known.undefined_since != 0) span.memory->set_origin(static_cast<std::size_t>(first), known.undefined_since);
    });
  });
  return Ran::finished();
}

namespace {

struct Operand {
  std::array<std::uint32_t, 32> value{};
  std::uint32_t undefined = 0, bad = 0;
};

// Element i of a register operand: its row i, its only row, or the value of an expression.
Operand operand(Warp& warp, const Value& value, std::size_t i) {
  Operand out;
  if (const auto* expr = std::get_if<Expr>(&value)) {
    LaneValues values;
    warp.plan(*expr).evaluate(warp, warp.lanes, values);
    for (std::size_t lane = 0; lane < 32; ++lane) out.value[lane] = static_cast<std::uint32_t>(values.value[lane]);
    out.undefined = values.undefined;
    out.bad = values.bad;
    return out;
  }
  const RowsPlan& rows = warp.plan(std::get<Rows>(value));
  const std::uint32_t row = rows.rows.size() == 1 ? rows.rows.front() : rows.rows.at(i);
  warp.read_row(row, warp.lanes);
  std::memcpy(out.value.data(), warp.state.registers.row(row), sizeof out.value);
  out.undefined = ~warp.state.registers.state(row).written;
  out.bad = warp.state.registers.state(row).bad;
  return out;
}

Operand used_operand(Warp& warp, const Value& value, std::size_t i) {
  Operand out = operand(warp, value, i);
  out.bad = warp.use_value(warp.lanes, out.undefined, out.bad, "an operand");
  return out;
}

void assign(Warp& warp, std::uint32_t row, const Operand& value) {
  warp.write_row(row, warp.lanes, value.undefined, value.bad);
  std::uint32_t* words = warp.state.registers.row(row);
  for_each_lane(warp.lanes, [&](std::uint32_t lane) { words[lane] = value.value[lane]; });
}

template <class Compute> Ran row_by_row(Warp& warp, const Rows& dst, const Value& a, const Value& b, Compute&& compute) {
  const RowsPlan& rows = warp.plan(dst);
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    Operand left = used_operand(warp, a, i);
    const Operand right = used_operand(warp, b, i);
    left.bad |= right.bad;
    left.undefined |= right.undefined;
    for_each_lane(warp.lanes, [&](std::uint32_t lane) { left.value[lane] = compute(left.value[lane], right.value[lane]); });
    assign(warp, rows.rows[i], left);
  }
  return Ran::finished();
}

float as_float(const Value& value, std::uint32_t bits) {
  return std::holds_alternative<Expr>(value) ? static_cast<float>(static_cast<std::int32_t>(bits)) : std::bit_cast<float>(bits);
}

template <class T> bool compare(Compare how, T a, T b) {
  switch (how) {
    case Compare::eq: return a == b;
    case Compare::ne: return a < b || a > b;  // as every comparison, false with a NaN (PTX ISA 9.7.6.2)
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    case Compare::ge: return a >= b;
  }
  return false;
}

}  // namespace

Ran execute(const Move& op, Warp& warp) {
  const RowsPlan& rows = warp.plan(op.dst);
  std::vector<Operand> values;  // read all before the first is written: the rows may overlap
  values.reserve(rows.rows.size());
  for (std::size_t i = 0; i < rows.rows.size(); ++i) values.push_back(operand(warp, op.a, i));
  for (std::size_t i = 0; i < rows.rows.size(); ++i) assign(warp, rows.rows[i], values[i]);
  return Ran::finished();
}

Ran execute(const AddS32& op, Warp& warp) {
  return row_by_row(warp, op.dst, op.a, op.b, [](std::uint32_t a, std::uint32_t b) { return a + b; });
}

Ran execute(const AddF32& op, Warp& warp) {
  return row_by_row(warp, op.dst, op.a, op.b, [&](std::uint32_t a, std::uint32_t b) {
    return std::bit_cast<std::uint32_t>(as_float(op.a, a) + as_float(op.b, b));
  });
}

Ran execute(const SetPredicate& op, Warp& warp) {
  return row_by_row(warp, op.dst, op.a, op.b, [&](std::uint32_t a, std::uint32_t b) -> std::uint32_t {
    switch (op.type) {
      case AluType::s32: return compare(op.cmp, static_cast<std::int32_t>(a), static_cast<std::int32_t>(b));
      case AluType::u32: return compare(op.cmp, a, b);
      case AluType::f32: return compare(op.cmp, as_float(op.a, a), as_float(op.b, b));
    }
    return 0;
  });
}

}  // namespace tmemsim::sim
