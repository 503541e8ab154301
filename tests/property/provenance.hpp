// Where each byte came from, told by the simulator: the copy runs on coded inputs, in which byte k of every place of the source
// says byte k of the place's own number, once for each k.
#pragma once

#include <map>
#include <memory>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "ir/program.hpp"
#include "lower/lower.hpp"
#include "sim/sim.hpp"
#include "tests/property/lower_random.hpp"
#include "tests/symbolic_copy.hpp"

namespace tmemsim::tests {

class Provenance {
 public:
  Provenance(const CopyCase& one, bool into_registers) : one_(one), into_registers_(into_registers) {}

  // "" when every byte of the destination came from where the layouts say, in a run without findings.
  std::string problem(std::uint64_t seed) {
    const std::vector<SymbolicCopy::Move> moves = expected();
    std::vector<std::int64_t> decoded(moves.size());
    for (int part = 0; part < parts; ++part) {
      const sim::Outcome outcome = run(part, seed);
      for (const Finding& finding : outcome.findings) {
        if (finding.severity != Severity::note) return fmt::format("{}: {}", id(finding.verdict), finding.message);
      }
      for (std::size_t k = 0; k < moves.size(); ++k) decoded[k] |= std::int64_t{byte_at(outcome, moves[k].to)} << (8 * part);
    }
    for (std::size_t k = 0; k < moves.size(); ++k) {
      const std::int64_t wanted = number_of(moves[k].from);
      if (decoded[k] != wanted || moves[k].from[2] % 8 != moves[k].to[2] % 8) {
        return fmt::format("place {} {} bit {} holds byte {} of the source, wanted {}", moves[k].to[0], moves[k].to[1], moves[k].to[2], decoded[k], wanted);
      }
    }
    return {};
  }

 private:
  static constexpr int parts = 3;   // 2^24 bytes
  static constexpr BufferId slot = 0, reg = 1, mem = 2, scratch = 3;
  bool is_tensor() const { return one_.mem.space == Space::tmem; }

  std::vector<SymbolicCopy::Move> expected() const {
    Kernel kernel = kernel_of(one_, into_registers_);
    verify(kernel, Level::tile);
    SymbolicCopy copy(kernel, one_.where, {{}, 0});
    const std::int64_t grain = std::gcd<std::int64_t>(bits(one_.reg.dtype), 8);
    return into_registers_ ? copy.moves(one_.reg_region, one_.mem_region, grain) : copy.moves(one_.mem_region, one_.reg_region, grain);
  }

  std::int64_t registers() const { return register_count(one_.reg); }

  // The number of a byte in its space: cells column by column, registers thread by thread.
  std::int64_t number_of(const SymbolicCopy::Key& key) const {
    if (key[0] == SymbolicCopy::in_memory) return key[2] / 8;
    if (key[0] == SymbolicCopy::in_tmem) return (key[2] / 32 * 128 + key[1]) * 4 + key[2] % 32 / 8;
    return (key[1] * registers() + key[2] / 32) * 4 + key[2] % 32 / 8;
  }

  std::uint8_t byte_at(const sim::Outcome& outcome, const SymbolicCopy::Key& key) const {
    const CtaImage& cta = outcome.image.ctas.at(0);
    if (key[0] == SymbolicCopy::in_memory) {
      const auto byte = static_cast<std::size_t>(key[2] / 8);
      if (one_.mem.space == Space::global) return outcome.image.global.at(mem).data.at(byte);
      return cta.shared.data.at(byte + shared_offset_);
    }
    const std::uint32_t word = key[0] == SymbolicCopy::in_tmem
                                   ? outcome.image.sms.at(0).value.at(static_cast<std::size_t>(key[2] / 32 * 128 + key[1]))
                                   : cta.registers.at(static_cast<std::size_t>(key[1] / 32)).at(first_row_ + static_cast<std::size_t>(key[2] / 32)).value.at(static_cast<std::size_t>(key[1] % 32));
    return static_cast<std::uint8_t>(word >> (key[2] % 32 / 8 * 8));
  }

  // The word with number `number` of a coded input.
  static Expr code(const Expr& number, int part) {
    const Expr byte = number * Expr(4);
    const Expr shifted = part == 0 ? byte : Expr::binary(ExprOp::shr, byte, Expr(8 * part));
    const Expr repeated = Expr::binary(ExprOp::bit_and, shifted, Expr(255)) * Expr(0x01010101);
    return part == 0 ? repeated + Expr(0x03020100) : repeated;
  }

  static void add(Body& body, decltype(Stmt::node) node, const Where& where = {}) {
    Stmt stmt;
    stmt.node = std::move(node);
    stmt.where = where;
    body.push_back(std::move(stmt));
  }
  template <class Op> static void add_op(Body& body, Op op, const Where& where = {}) { add(body, MachineOps::Any(std::move(op)), where); }

  static TcgenAlloc alloc() {
    TcgenAlloc op;
    op.slot = Mem{slot, {}, Expr(0)};
    op.cols = Expr(512);
    return op;
  }
  static TcgenDealloc dealloc() {
    TcgenDealloc op;
    op.slot = Mem{slot, {}, Expr(0)};
    op.cols = Expr(512);
    return op;
  }

  void code_registers(Body& body, int part) const {
    const Expr tid = Expr::coordinate(ExprOp::tid);
    for (std::int64_t row = 0; row < registers(); ++row) {
      add_op(body, Move{{reg, {static_cast<std::uint16_t>(row)}}, code(tid * Expr(registers()) + Expr(row), part)});
    }
  }

  void code_cells(Body& body, int part) const {
    Body inner;
    const Expr column = Expr::loop("coded_column"), tid = Expr::coordinate(ExprOp::tid);
    add_op(inner, Move{{scratch, {0}}, code(column * Expr(128) + tid, part)});
    add_op(inner, TcgenSt{Shape::s32x32b, 1, false, {}, TmemAddr{{}, Expr::word(slot, Expr(0)), Expr::coordinate(ExprOp::warp) * Expr(32), column}, {scratch, {0}}});
    add_op(inner, TcgenWaitSt{});
    add(body, For{"coded_column", Expr(0), Expr(std::min<std::int64_t>(512, one_.mem.column + tmem_columns(one_.mem))), Expr(1), std::move(inner)});
  }

  void code_memory(Body& body, int part) const {
    const std::int64_t bytes = byte_size(one_.mem), words = bytes / 4, threads = 32 * std::int64_t{one_.warps};
    const Expr number = Expr::loop("coded_word") * Expr(threads) + Expr::coordinate(ExprOp::tid);
    Body inner, store, tail;
    add_op(store, Move{{scratch, {0}}, code(number, part)});
    add_op(store, Store{Mem{mem, {}, number * Expr(4)}, {scratch, {0}}, 4, {}, Sem::weak, MemScope::cta, {}});
    add(inner, If{Expr::binary(ExprOp::lt, number, Expr(words)), std::move(store), {}});
    add(body, For{"coded_word", Expr(0), Expr((words + threads - 1) / threads), Expr(1), std::move(inner)});
    if (bytes % 4 == 0) return;
    add_op(tail, Move{{scratch, {0}}, code(Expr(words), part)});
    for (std::int64_t byte = words * 4; byte < bytes; ++byte) {
      add_op(tail, Store{Mem{mem, {}, Expr(byte)}, {scratch, {0}}, 1, static_cast<std::uint8_t>(byte % 4), Sem::weak, MemScope::cta, {}});
    }
    add(body, If{Expr::binary(ExprOp::eq, Expr::coordinate(ExprOp::tid), Expr(0)), std::move(tail), {}});
  }

  sim::Outcome run(int part, std::uint64_t seed) {
    Kernel kernel = kernel_of(one_, into_registers_);
    Buffer temporary;
    temporary.name = "temporary";
    temporary.space = Space::local;
    temporary.dtype = Dtype::u32;
    temporary.shape = {1};
    kernel.buffers.push_back(temporary);
    Stmt copy = std::move(kernel.body[0]);
    kernel.body.clear();
    Body& body = kernel.body;
    const Where first_warp{{}, Where::Span{0, 0}, {}, {}, false};
    if (is_tensor()) add_op(body, alloc(), first_warp);
    add_op(body, BarrierSync{});
    if (!into_registers_) {
      code_registers(body, part);
    } else if (is_tensor()) {
      code_cells(body, part);
    } else {
      code_memory(body, part);
    }
    add_op(body, BarrierSync{});
    body.push_back(std::move(copy));
    if (is_tensor()) {
      if (into_registers_) {
        add_op(body, TcgenWaitLd{}, one_.where);
      } else {
        add_op(body, TcgenWaitSt{}, one_.where);
      }
      add_op(body, BarrierSync{});
      add_op(body, dealloc(), first_warp);
    }
    verify(kernel, Level::tile);
    auto lowered = std::make_shared<Kernel>(lower::lower(kernel));
    verify(*lowered, Level::machine);
    shared_offset_ = static_cast<std::size_t>(lowered->buffers[mem].offset.value_or(0));
    const Program program = decode(std::shared_ptr<const Kernel>(lowered));
    first_row_ = program.first_row.at(reg);
    sim::Options options;
    options.seed = seed;
    options.policy = static_cast<sim::Policy>(seed % 3);
    return sim::run(program, options);
  }

  CopyCase one_;
  bool into_registers_;
  std::size_t shared_offset_ = 0, first_row_ = 0;
};

}  // namespace tmemsim::tests
