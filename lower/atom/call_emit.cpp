// The pass to value form, and the emission of both forms.
#include <algorithm>

#include <fmt/format.h>

#include "ir/atom/name_text.hpp"
#include "lower/atom/call.hpp"

namespace tmemsim::lower {
namespace {

using atom::Payload;

// Floating point narrower than 16 bits is carried as integers of that width.
std::string value_element(const OperandType& type) {
  return type.bits < 16 && type.element[0] == 'f' ? fmt::format("i{}", type.bits) : type.element;
}
std::string vector_text(std::int64_t count, const std::string& element) {
  return count == 1 ? element : fmt::format("vector<{}x{}>", count, element);
}
std::int64_t elements_of(const OperandType& type) {
  if (!type.layout) return type.count;
  const auto elements = size(*type.layout);
  return elements && elements->is_integer() ? elements->value : type.count;
}
std::string value_text(const OperandType& type) {
  return vector_text(type.is_memory() ? elements_of(type) : type.count, value_element(type));
}
std::string pointer_text(const OperandType& type) { return fmt::format("ptr<{}, {}>", type.element, type.space); }

std::string address_space(const std::string& space) {
  if (space == "register") return "ptr<5>";
  if (space == "shared") return "ptr<3>";
  if (space == "global") return "ptr<1>";
  return "ptr<8>";  // buffer
}

class Writer {
 public:
  void add(std::string name, std::vector<std::string> operands, std::string result, std::string types,
           bool under_predicate = false) {
    ops_.push_back({std::move(name), std::move(operands), std::move(result), std::move(types), under_predicate});
  }
  std::vector<AtomOp> take() { return std::move(ops_); }

 private:
  std::vector<AtomOp> ops_;
};

// ---- to value form

class ValueForm {
 public:
  explicit ValueForm(const AtomCall& call) : call_(call), copy_(call.atom.payload->kind == atom::Kind::copy) {}

  std::vector<AtomOp> run() {
    const bool any = std::any_of(call_.operands.begin(), call_.operands.end(),
                                 [](const OperandType& type) { return !not_promotable(type); });
    if (call_.value_form || !any) {
      writer_.add(fmt::format("fly.{}_atom_call{}", copy_ ? "copy" : "mma", call_.value_form ? "_ssa" : ""), names(), "",
                  types(call_.operands));
      return writer_.take();
    }
    if (copy_)
      copy();
    else
      matrix();
    return writer_.take();
  }

 private:
  std::string memory(std::size_t k) const {
    static constexpr const char* copies[] = {"@src", "@dst", "@pred"};
    static constexpr const char* matrices[] = {"@d", "@a", "@b", "@c"};
    return copy_ ? copies[k] : matrices[k];
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (std::size_t k = 0; k < call_.operands.size(); ++k) result.push_back(memory(k));
    return result;
  }
  static std::string types(const std::vector<OperandType>& operands) {
    std::vector<std::string> texts;
    for (const OperandType& type : operands) texts.push_back(type.text());
    return fmt::format("({}) -> ()", fmt::join(texts, ", "));
  }

  // The operand as a value: loaded whole when it may be, element by element when it is other register memory that must carry
  // one, as it is otherwise.
  std::pair<std::string, std::string> as_value(std::size_t k, bool must) {
    const OperandType& type = call_.operands[k];
    const bool whole = !not_promotable(type);
    if (!whole && !must) return {memory(k), type.text()};
    const std::string value = "%" + memory(k).substr(1);
    if (whole)
      writer_.add("fly.ptr.load", {memory(k)}, value, fmt::format("({}) -> {}", pointer_text(type), value_text(type)));
    else
      writer_.add("fly.memref.gather", {memory(k)}, value, fmt::format("({}) -> {}", type.text(), value_text(type)));
    return {value, value_text(type)};
  }
  void store_result(std::size_t k) {
    const OperandType& type = call_.operands[k];
    if (!not_promotable(type))
      writer_.add("fly.ptr.store", {"%result", memory(k)}, "",
                  fmt::format("({}, {}) -> ()", value_text(type), pointer_text(type)));
    else
      writer_.add("fly.memref.scatter", {"%result", memory(k)}, "",
                  fmt::format("({}, {}) -> ()", value_text(type), type.text()));
  }

  void copy() {
    const bool predicated = call_.operands.size() == 3, result = call_.operands[1].space == "register";
    std::vector<std::pair<std::string, std::string>> given{as_value(0, call_.operands[0].space == "register")};
    if (predicated) {
      const bool carried = call_.operands[2].space == "register";
      const auto predicate = as_value(2, carried);
      // The old destination is what a load that does not happen leaves.
      if (result)
        given.push_back(as_value(1, true));
      else
        given.emplace_back(memory(1), call_.operands[1].text());
      given.push_back(predicate);
    } else if (!result) {
      given.emplace_back(memory(1), call_.operands[1].text());
    }
    call(given, result ? value_text(call_.operands[1]) : "");
    if (result) store_result(1);
  }

  void matrix() {
    std::vector<std::pair<std::string, std::string>> given;
    for (const std::size_t k : {1, 2, 3}) given.push_back(as_value(k, call_.operands[k].space == "register"));
    const bool in_registers = call_.operands[0].space == "register";
    if (!in_registers) given.insert(given.begin(), {memory(0), call_.operands[0].text()});
    call(given, in_registers ? value_text(call_.operands[0]) : "");
    if (in_registers) store_result(0);
  }

  void call(const std::vector<std::pair<std::string, std::string>>& given, const std::string& result) {
    std::vector<std::string> operands, texts;
    for (const auto& [name, text] : given) {
      operands.push_back(name);
      texts.push_back(text);
    }
    writer_.add(copy_ ? "fly.copy_atom_call_ssa" : "fly.mma_atom_call_ssa", operands, result.empty() ? "" : "%result",
                fmt::format("({}) -> {}", fmt::join(texts, ", "), result.empty() ? "()" : result));
  }

  const AtomCall& call_;
  bool copy_;
  Writer writer_;
};

// ---- emission

class Emission {
 public:
  explicit Emission(const AtomCall& call) : call_(call), payload_(*call.atom.payload) {}

  std::vector<AtomOp> run() {
    if (payload_.kind == atom::Kind::mma)
      matrix();
    else if (payload_.whole_tile)
      tile();
    else
      copy();
    return writer_.take();
  }

 private:
  // An operand as the instruction takes it. Memory form: loaded with that type (element by element when strided). Value form:
  // cast.
  std::string operand(std::size_t k, const std::string& name, const std::string& carrier) {
    const OperandType& type = call_.operands[k];
    const std::string value = "%" + name;
    if (!type.is_memory()) {
      const std::string have = type.text();
      if (have == carrier) return "%arg_" + name;
      writer_.add("llvm.bitcast", {"%arg_" + name}, value, fmt::format("{} to {}", have, carrier));
      return value;
    }
    if (!not_promotable(type)) {
      writer_.add("llvm.load", {"%ptr_" + name}, value, fmt::format("{} -> {}", address_space(type.space), carrier));
      return value;
    }
    strided(type, name, carrier, true);
    return value;
  }

  // Register memory whose elements do not lie side by side.
  void strided(const OperandType& type, const std::string& name, const std::string& carrier, bool load) {
    const std::int64_t elements = elements_of(type);
    const std::string whole = vector_text(elements, value_element(type));
    const std::string value = "%" + name;
    std::vector<std::string> parts;
    if (!load) writer_.add("llvm.bitcast", {value}, value + "_elements", fmt::format("{} to {}", carrier, whole));
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto at = type.layout ? crd2idx(IntTuple(i), *type.layout) : Result<IntTuple>(IntTuple(i));
      const std::string address = fmt::format("%ptr_{}[{}]", name, at ? to_string(*at) : "?");
      const std::string part = fmt::format("{}_{}", value, i);
      if (load)
        writer_.add("llvm.load", {address}, part, fmt::format("{} -> {}", address_space(type.space), value_element(type)));
      else
        writer_.add("llvm.store", {fmt::format("{}_elements[{}]", value, i), address}, "",
                    fmt::format("{}, {}", value_element(type), address_space(type.space)), predicated());
      parts.push_back(part);
    }
    if (load) writer_.add("vector.from_elements", parts, value + "_elements", whole);
    if (load) writer_.add("llvm.bitcast", {value + "_elements"}, value, fmt::format("{} to {}", whole, carrier));
  }

  std::vector<std::string> state_values(std::vector<std::string>& types) {
    std::vector<std::string> values;
    if (!payload_.state.empty()) writer_.add("llvm.struct", {"%atom"}, "", struct_text());
    for (std::size_t k = 0; k < payload_.state.size(); ++k) {
      const atom::StateField& field = payload_.state[k];
      if (field.must_be_constant) continue;  // an attribute of the instruction
      writer_.add("llvm.extractvalue", {"%atom", fmt::format("[{}]", k)}, "%" + field.name,
                  fmt::format("{} -> {}", struct_text(), field.type));
      values.push_back("%" + field.name);
      types.push_back(field.type);
    }
    return values;
  }
  std::string struct_text() const {
    std::vector<std::string> types;
    for (const atom::StateField& field : payload_.state) types.push_back(field.type);
    return fmt::format("!llvm.struct<({})>", fmt::join(types, ", "));
  }

  bool predicated() const { return payload_.kind == atom::Kind::copy && call_.operands.size() == 3; }

  void matrix() {
    const bool with_d = call_.operands.size() == 4;
    const std::size_t first = with_d ? 1 : 0;
    std::vector<std::string> values, types;
    for (std::size_t k = 0; k < 3; ++k) {
      const atom::Operand& held = payload_.operands[k];
      const std::string name(1, static_cast<char>('a' + k));
      const std::string carrier = held.carrier.empty() ? vector_text(held.register_bits / held.bits, held.type) : held.carrier;
      values.push_back(operand(first + k, name, carrier));
      types.push_back(carrier);
    }
    for (std::string& value : state_values(types)) values.push_back(std::move(value));
    const std::string result = types[2];
    writer_.add(payload_.instruction, values, "%d", fmt::format("({}) -> {}", fmt::join(types, ", "), result));
    if (!with_d) return;
    const OperandType& d = call_.operands[0];
    if (!d.is_memory()) return;
    if (!not_promotable(d))
      writer_.add("llvm.store", {"%d", "%ptr_d"}, "", fmt::format("{}, {}", result, address_space(d.space)));
    else
      strided(d, "d", result, false);
  }

  // What a thread's bits are called by the instructions: i8, i16, i32 or a vector of i32.
  std::string carried() const {
    const std::int64_t bits = payload_.operands[0].rows;
    return bits <= 32 ? fmt::format("i{}", bits) : fmt::format("vector<{}xi32>", bits / 32);
  }

  void copy() {
    std::vector<std::string> state_types;
    std::vector<std::string> state = state_values(state_types);
    const auto offset = std::find_if(payload_.state.begin(), payload_.state.end(),
                                     [](const atom::StateField& field) { return field.name == "soffset"; });
    if (offset != payload_.state.end() && !state.empty()) {
      writer_.add("arith.muli", {state[0], fmt::format("{}", std::max(1, call_.operands[0].bits / 8))}, "%soffset_bytes",
                  "i32");
      state[0] = "%soffset_bytes";
    }
    if (predicated()) {
      const OperandType& predicate = call_.operands[2];
      if (predicate.is_memory())
        writer_.add("llvm.load", {"%ptr_pred"}, "%pred", fmt::format("{} -> i1", address_space(predicate.space)));
      else
        writer_.add("scf.condition", {"%arg_pred"}, "%pred", "i1");
    }
    if (payload_.instruction == "llvm.atomicrmw" || payload_.name.find("buffer_atomic") != std::string::npos) return atomic();
    const OperandType& src = call_.operands[0];
    const bool to_registers = !in_memory(call_.operands[1]), from_registers = !in_memory(src);
    if (from_registers) {
      const std::string value = operand(0, "src", carried());
      if (to_registers) return finish(value);
      writer_.add(store_instruction(), {value, "%ptr_dst"}, "",
                  fmt::format("({}, {}{})", carried(), address_space(call_.operands[1].space), offsets(state)), predicated());
    } else if (to_registers) {
      writer_.add(payload_.instruction, {"%ptr_src"}, "%loaded",
                  fmt::format("{}{} -> {}", address_space(src.space), offsets(state), carried()), predicated());
      finish("%loaded");
    } else {
      writer_.add(payload_.instruction, {"%ptr_src", "%ptr_dst"}, "",
                  fmt::format("({}, {}{})", address_space(src.space), address_space(call_.operands[1].space), offsets(state)),
                  predicated());
    }
  }
  static bool in_memory(const OperandType& type) { return type.is_memory() && type.space != "register"; }
  static std::string offsets(const std::vector<std::string>& state) { return state.empty() ? "" : ", i32"; }
  std::string store_instruction() const {
    return payload_.instruction == "rocdl.raw.ptr.buffer.load" ? "rocdl.raw.ptr.buffer.store" : "llvm.store";
  }

  // The loaded value reaches registers: stored, or yielded. A predicated one without memory yields the old value otherwise.
  void finish(const std::string& value) {
    const OperandType& dst = call_.operands[1];
    if (!dst.is_memory()) {
      if (predicated()) writer_.add("scf.if", {"%pred", value, "%arg_dst"}, "%result", fmt::format("i1 -> {}", carried()));
      return;
    }
    if (!not_promotable(dst))
      writer_.add("llvm.store", {value, "%ptr_dst"}, "", fmt::format("{}, {}", carried(), address_space(dst.space)),
                  predicated());
    else
      strided_store(value, dst);
  }
  void strided_store(const std::string& value, const OperandType& dst) {
    writer_.add("arith.copy", {value}, "%dst", carried());
    strided(dst, "dst", carried(), false);
  }

  void atomic() {
    const std::string type = call_.operands[0].element;
    const std::string value = operand(0, "src", type);
    const auto parts = atom::name_parts(payload_.name);
    writer_.add(payload_.instruction, {parts ? parts->word(0) : "", value, "%ptr_dst"}, "",
                fmt::format("{}, {}", address_space(call_.operands[1].space), type), predicated());
  }

  void tile() {
    const bool load = call_.operands[0].space == "global";
    std::vector<std::string> types;
    std::vector<std::string> values = state_values(types);
    writer_.add("llvm.ptrtoint", {load ? "%ptr_src" : "%ptr_dst"}, "%address", "ptr<1> to i64");
    writer_.add("arith.addi", {"%address", "%imm_offset"}, "%base", "i64");
    values.insert(values.begin(), "%base");
    writer_.add(load ? "rocdl.tensor.load.to.lds" : "rocdl.tensor.store.from.lds", values, "", "(descriptor)", predicated());
  }

  const AtomCall& call_;
  const Payload& payload_;
  Writer writer_;
};

}  // namespace

std::string to_string(const std::vector<AtomOp>& ops) {
  std::string text;
  for (const AtomOp& op : ops) {
    text += fmt::format("{}{}{} {} : {}\n", op.under_predicate ? "if %pred: " : "", op.result.empty() ? "" : op.result + " = ",
                        op.name, fmt::join(op.operands, ", "), op.types);
  }
  return text;
}

std::vector<AtomOp> to_value_form(const AtomCall& call) { return ValueForm(call).run(); }

std::vector<AtomOp> emit(const AtomCall& call) { return Emission(call).run(); }

}  // namespace tmemsim::lower
