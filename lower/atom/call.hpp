// Calls of atoms, in two forms: operands in register memory, and operands as values. The pass between them, and what each form
// becomes on the rocdl target.
//
// Rule of the pass: an operand becomes a value when it is register memory whose plain layout coalesces to one leaf with stride
// 1 (or extent 1). A call with at least one such operand is rewritten. The result of a matrix call is never dropped: when D is
// not such an operand, the value is scattered into it by its layout. A predicated copy keeps the old destination where the
// predicate is false. Source: the atom dialect of FlyDSL.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/atom/atom.hpp"

namespace tmemsim::lower {

// memref<f32, register, 4:1>, vector<8xf16>, f32.
struct OperandType {
  std::string element;
  int bits = 0;                        // of an element
  std::string space;                   // register, shared, global, buffer_desc, tmem; "" for a value
  std::optional<NestedLayout> layout;  // of a memref; nothing for a composed layout (a swizzle)
  std::string layout_text;
  std::int64_t count = 1;  // elements: of a vector, or the cosize of a memref

  bool is_memory() const { return !space.empty(); }
  std::string text() const;
};
Result<OperandType> parse_operand_type(std::string_view text);

// copy_atom<PAYLOAD, valueBits> or mma_atom<PAYLOAD>.
struct AtomType {
  atom::PayloadRef payload;
  std::int64_t value_bits = 0;  // copies
};
Result<AtomType> parse_atom_type(std::string_view text);

struct AtomCall {
  AtomType atom;
  bool value_form = false;
  std::vector<OperandType> operands;  // copy: src, dst[, pred]; matrix: d, a, b, c; in value form [d,] a, b, c
  atom::State state;
};

// Checks the call: number of operands, address spaces, register width against the instruction, required state fields.
Result<AtomCall> make_call(AtomType type, bool value_form, std::vector<OperandType> operands,
                           std::optional<atom::State> state = {});

// One operation of the rewritten code. Operands and results are names of values; what starts with @ is a memref of the call.
struct AtomOp {
  std::string name;  // fly.ptr.load, fly.copy_atom_call_ssa, llvm.load, rocdl.mfma.f32.16x16x16f16, ...
  std::vector<std::string> operands;
  std::string result;            // "" for none
  std::string types;             // "(vector<4xf16>, ...) -> vector<4xf32>"
  bool under_predicate = false;  // inside the then-branch of scf.if
  bool operator==(const AtomOp&) const = default;
};
std::string to_string(const std::vector<AtomOp>& ops);

// Nothing when the operand may become a value, otherwise why not.
std::optional<Reason> not_promotable(const OperandType& type);

// convert-atom-calls-to-ssa. A call with no promotable operand comes back as it is (one op).
//   fly.ptr.load @m -> v, fly.ptr.store v, @m      promotable operands
//   fly.memref.gather @m -> v, fly.memref.scatter  other register memory that must carry a value: element by element
std::vector<AtomOp> to_value_form(const AtomCall& call);

// What a call becomes on its target: loads, casts, state, the instruction, stores. Predicated ops stand under scf.if.
std::vector<AtomOp> emit(const AtomCall& call);

// A whole-tile copy (gfx1250.tdm) on a tile: Reason when the descriptor cannot say it (padding interval in words).
std::optional<Reason> tile_refused(const atom::Payload& payload, const OperandType& tile);

}  // namespace tmemsim::lower
