// Atoms: what one target instruction moves or multiplies, and who holds what.
//
// Two levels. A Payload is the target's side: one row of a family table (ptx.cpp, rocdl.cpp) gives its layouts, operand
// registers, name and executor together. CopyAtom and MmaAtom are target-neutral and forward to a payload; a CopyAtom adds the
// width of a value. Layouts are nested shape:stride with exactly two top modes, (thread, value); they map to the column-major
// index of the operand's tile, those of copies to a bit of the image. Rules: verify.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/layout/nested.hpp"
#include "ir/result.hpp"

namespace tmemsim::atom {

enum class Kind : std::uint8_t { copy, mma };

// Where an operand lives. shared_by_descriptor: the instruction reads shared memory through a descriptor, no thread holds data.
enum class Place : std::uint8_t { registers, shared, shared_by_descriptor, tmem, global, buffer };
std::string_view name(Place place);

// Bits of an element type of any target (f16, e4m3, f8E4M3FN, si8, ...); nothing for an unknown type.
std::optional<int> element_bits(std::string_view type);

struct Operand {
  std::string name;  // A, B, C of a matrix atom (D is held as C is), SFA, SFB its scale factors; src, dst, ref of a copy
  std::string type;  // element type; "bit" for copies
  int bits = 1;      // of an element
  Place place = Place::registers;
  NestedLayout layout;               // (thread, value) -> index in the tile
  std::int64_t tile = 0;             // elements of the tile, bits of the image
  std::int64_t rows = 0;             // of the tile: M of A and C, N of B; bits of one image row for copies
  std::int64_t replication = 1;      // declared: how many (thread, value) stand for each element
  std::int64_t register_bits = 0;    // of one thread's operand, from the instruction set; 0: not in registers
  std::string carrier;               // the instruction's operand type, in LLVM's notation; "" where no register holds it
  bool collective = false;           // every thread addresses the whole image: thread strides are 0
  std::optional<NestedLayout> cell;  // TMEM: value -> lane * cells_in_row + column (bits for copies), relative to the address
  std::int64_t cells_in_row = 0;
  std::int64_t first_cell = 0;  // added to every cell
};

// A typed field of an atom's state. Units: elements, bytes, "" where none applies.
struct StateField {
  std::string name;
  std::string type;  // i1, i16, i32, i64
  std::string unit;
  std::optional<std::int64_t> default_value;  // none: required
  bool must_be_constant = false;
};

// What a lane holds, value by value: held[lane][value]. A collective operand is one lane. An operand with cells is indexed by
// cell.
using Held = std::vector<std::vector<std::uint64_t>>;

// The per-lane definition of the instruction, written from the instruction set. It never sees the layouts.
struct Executor {
  std::function<Held(const Held& source)> copy;
  std::function<Held(const Held& a, const Held& b, const Held& c)> multiply;  // arithmetic modulo 2^64
  std::string source;                                                         // where the definition comes from
  // With scale factors, one for each row and run of k: each product is multiplied by both.
  std::function<Held(const Held& a, const Held& b, const Held& c, const Held& scale_a, const Held& scale_b)> multiply_scaled =
      {};
  explicit operator bool() const { return copy || multiply || multiply_scaled; }
};

struct Payload {
  std::string name;
  std::string target;  // sm_80, sm_100a, cdna3, gfx1250, generic
  Kind kind = Kind::copy;
  std::string instruction;
  std::string operation;  // of the kernel's operation list; "" where the list has none
  NestedLayout threads;   // those that execute one instruction together
  std::array<std::int64_t, 3> mnk{};
  std::string result_type;  // element type of D
  // A is stored with K / sparsity columns; which of the K columns each is, metadata say. Indexed inputs take the first ones of
  // every group of 2 * sparsity (of sparsity for one element a group).
  std::int64_t sparsity = 1, kept_in_group = 1;
  std::int64_t blocks = 1;  // independent products of one instruction; their tiles stand one behind the other
  std::int64_t column_of_a(std::int64_t stored) const {
    return stored / kept_in_group * kept_in_group * sparsity + stored % kept_in_group;
  }
  std::vector<Operand> operands;
  std::vector<StateField> state;
  Executor executor;
  std::string note;                    // what differs from the public definition, or what to know
  std::vector<std::string> corrected;  // operands whose public layout is wrong; the row here is the right one
  bool whole_tile = false;             // contract and state only: one call moves the whole tile, no (thread, value) layout

  const Operand* operand(std::string_view which) const;
};

// What a family's row must give. A payload is made from the row alone, so nothing about it can drift from the others.
template <class Row>
concept FamilyRow = requires(const Row& row) {
  { row.payload() } -> std::convertible_to<Result<Payload>>;
};

using PayloadRef = std::shared_ptr<const Payload>;

class CopyAtom {
 public:
  // Reason: the payload is no copy, or a layout does not come apart in values of this width.
  static Result<CopyAtom> make(PayloadRef payload, std::int64_t value_bits);

  const Payload& payload() const { return *payload_; }
  std::int64_t value_bits() const { return value_bits_; }
  const NestedLayout& threads() const { return payload_->threads; }
  const NestedLayout& bits(std::string_view side) const;  // side: src, dst, ref
  const NestedLayout& thread_values(std::string_view side) const;

 private:
  CopyAtom() = default;
  PayloadRef payload_;
  std::int64_t value_bits_ = 0;
  std::vector<NestedLayout> values_;
};

class MmaAtom {
 public:
  static Result<MmaAtom> make(PayloadRef payload);  // Reason: the payload is no matrix atom

  const Payload& payload() const { return *payload_; }
  const NestedLayout& threads() const { return payload_->threads; }
  const std::array<std::int64_t, 3>& shape_mnk() const { return payload_->mnk; }
  const std::string& value_type(char operand) const;      // A, B, C, D
  const NestedLayout& thread_values(char operand) const;  // A: (M,K), B: (N,K), C and D: (M,N)
  Place place(char operand) const;

 private:
  MmaAtom() = default;
  PayloadRef payload_;
};

// The state of one atom: a value, changed by making another one.
class State {
 public:
  explicit State(PayloadRef payload);
  struct Value {
    std::string type;
    std::int64_t number = 0;
    bool constant = true;  // known at compile time
  };
  // Reason at once: an unknown field (with the nearest name), another type, a number that the type cannot hold, or a value
  // that is not constant where it must be.
  Result<State> set(std::string_view field, const Value& value) const;
  // "soffset=4, imm_offset=16": the caret (text_offset) stands at the entry that is wrong.
  Result<State> set_all(std::string_view text) const;
  std::optional<Value> get(std::string_view field) const;
  // Reason: a required field that has not been set. Asked when a call is made.
  std::optional<Reason> missing() const;

 private:
  PayloadRef payload_;
  std::vector<std::optional<Value>> values_;  // as payload_->state
};

}  // namespace tmemsim::atom
