#include "lower/atom/cuda.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tmemsim::lower {

const std::string_view cuda_prelude = R"(#include <cstdint>

// 32-bit registers of one thread.
template <int N>
struct Registers {
  uint32_t r[N];
};
)";

namespace {

Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

class Function {
 public:
  Function(const AtomCall& call, std::string_view name)
      : call_(call), payload_(*call.atom.payload), name_(name), value_(call.value_form) {}

  Result<std::string> text() {
    if (payload_.target.rfind("sm_", 0) != 0 && payload_.instruction.rfind("ld.", 0) != 0 &&
        payload_.instruction.rfind("st.", 0) != 0)
      return reason(fmt::format("{} is no atom of the ptx target", payload_.name));
    if (payload_.instruction.find(".ld.red.") != std::string::npos)
      return reason(fmt::format("{} has a second result, which a call has no operand for", payload_.name));
    for (const OperandType& operand : call_.operands) {
      if (operand.space != "register") continue;
      if (auto strided = not_promotable(operand)) return *strided;
    }
    if (payload_.kind == atom::Kind::copy)
      copy();
    else if (payload_.operands[2].place == atom::Place::tmem)
      tensor_core();
    else
      matrix();
    return finished();
  }

 private:
  static constexpr std::size_t words(std::int64_t bits) {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, bits / 32));
  }

  // ---- parts of the function ----

  void parameter(std::string text) { parameters_.push_back(std::move(text)); }

  // Registers that the instruction reads: "{%4, %5}".
  std::string read(const std::string& name, std::int64_t bits, bool floats = false) {
    const std::size_t count = words(bits);
    parameter(value_ ? fmt::format("Registers<{}> {}", count, name) : fmt::format("const uint32_t* {}", name));
    std::vector<std::string> places;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string word = fmt::format("{}{}[{}]", name, value_ ? ".r" : "", i);
      places.push_back(input(floats ? "f" : "r", floats ? fmt::format("__uint_as_float({})", word) : word));
    }
    return braces(places);
  }

  // Registers that it writes. They are outputs, so they come before all inputs.
  std::string written(const std::string& name, std::int64_t bits, bool floats = false) {
    result_ = {name, words(bits), floats};
    std::vector<std::string> places;
    for (std::size_t i = 0; i < result_.count; ++i) places.push_back(fmt::format("%{}", i));
    return braces(places);
  }

  static std::string braces(const std::vector<std::string>& places) { return fmt::format("{{{}}}", fmt::join(places, ", ")); }

  std::string input(const std::string& constraint, const std::string& expression) {
    inputs_.push_back(fmt::format("\"{}\"({})", constraint, expression));
    return fmt::format("%{}", result_.count + inputs_.size() - 1);
  }

  std::string address(atom::Place place, const std::string& name, bool is_source) {
    if (place == atom::Place::global) {
      parameter(fmt::format("{}void* {}", is_source ? "const " : "", name));
      return fmt::format("[{}]", input("l", fmt::format("__cvta_generic_to_global({})", name)));
    }
    parameter(fmt::format("uint32_t {}", name));  // a shared or TMEM address
    return fmt::format("[{}]", input("r", name));
  }

  std::string state(const std::string& field) {
    const auto found = std::find_if(payload_.state.begin(), payload_.state.end(),
                                    [&](const atom::StateField& one) { return one.name == field; });
    const bool wide = found != payload_.state.end() && found->type == "i64";
    parameter(fmt::format("{} {}", wide ? "uint64_t" : "uint32_t", field));
    return input(wide ? "l" : "r", field);
  }

  bool predicated() const { return payload_.kind == atom::Kind::copy && call_.operands.size() == 3; }

  // ---- the families ----

  void copy() {
    const atom::Operand &src = *payload_.operand("src"), &dst = *payload_.operand("dst");
    const auto in_registers = [](const atom::Operand& operand) { return operand.place == atom::Place::registers; };
    if (dst.place == atom::Place::tmem && src.place == atom::Place::shared_by_descriptor) {  // tcgen05.cp
      const std::string to = state("taddr");
      instruction_ = fmt::format("{} [{}], {};", payload_.instruction, to, state("s_desc"));
      return;
    }
    const std::string half =
        payload_.name.find("16x32bx2") == std::string::npos ? "" : fmt::format(", {}", call_.state.get("half_split")->number);
    if (in_registers(dst)) {
      const std::string registers = single_or_list(written("d", dst.register_bits));
      instruction_ = fmt::format("{} {}, {}{};", payload_.instruction, registers, address(src.place, "from", true), half);
    } else if (in_registers(src)) {
      const std::string to = address(dst.place, "to", false);
      instruction_ = fmt::format("{} {}{}, {};", payload_.instruction, to, half, single_or_list(read("s", src.register_bits)));
    } else {  // cp.async
      const std::string to = address(dst.place, "to", false), from = address(src.place, "from", true);
      instruction_ = fmt::format("{} {}, {}, {}, {};", payload_.instruction, to, from, src.rows / 8, state("src_size"));
    }
  }

  // ld and st of one register take it without braces.
  std::string single_or_list(std::string list) const {
    const bool plain = (payload_.instruction.rfind("ld.", 0) == 0 || payload_.instruction.rfind("st.", 0) == 0) &&
                       payload_.instruction.find(".v") == std::string::npos;
    return plain ? list.substr(1, list.size() - 2) : list;
  }

  void matrix() {
    const bool floats = payload_.result_type == "f32";
    const std::string d = written("d", payload_.operand("C")->register_bits, floats);
    const std::string a = read("a", payload_.operand("A")->register_bits), b = read("b", payload_.operand("B")->register_bits),
                      c = read("c", payload_.operand("C")->register_bits, floats);
    instruction_ = fmt::format("{} {}, {}, {}, {};", payload_.instruction, d, a, b, c);
  }

  void tensor_core() {
    const bool a_in_tmem = payload_.operand("A")->place == atom::Place::tmem, scaled = payload_.operand("SFA") != nullptr;
    std::string text = fmt::format("[{}], ", state("d_tmem"));
    text += a_in_tmem ? fmt::format("[{}], ", state("a_tmem")) : state("a_desc") + ", ";
    text += state("b_desc") + ", ";
    if (payload_.sparsity != 1) text += fmt::format("[{}], ", state("meta_tmem"));
    text += state("idesc") + ", ";
    if (scaled) {
      const std::string a = state("sfa_tmem");
      text += fmt::format("[{}], [{}], ", a, state("sfb_tmem"));
    }
    before_ = fmt::format(".reg .pred accumulate; setp.ne.b32 accumulate, {}, 0; ", state("accumulate"));
    instruction_ = fmt::format("{} {}accumulate;", payload_.instruction, text);
  }

  // ---- the whole ----

  std::string finished() {
    std::string lines, outputs;
    if (predicated()) {
      parameter(value_ ? "bool predicate" : "const bool* predicate");
      const std::string on = input("r", value_ ? "int(predicate)" : "int(*predicate)");
      before_ += fmt::format(".reg .pred on; setp.ne.b32 on, {}, 0; @on ", on);
    }
    if (result_.count != 0) {
      if (!value_) parameters_.insert(parameters_.begin(), fmt::format("uint32_t* {}", result_.name));
      if (value_ && predicated()) parameter(fmt::format("Registers<{}> old", result_.count));
      if (value_) lines += fmt::format("  Registers<{}> {}{};\n", result_.count, result_.name, predicated() ? " = old" : "");
      std::vector<std::string> places;
      for (std::size_t i = 0; i < result_.count; ++i) {
        const std::string word = fmt::format("{}{}[{}]", result_.name, value_ ? ".r" : "", i);
        if (result_.floats) lines += fmt::format("  float f{};\n", i);
        places.push_back(result_.floats ? fmt::format("\"=f\"(f{})", i)
                                        : fmt::format("\"{}\"({})", predicated() ? "+r" : "=r", word));
      }
      outputs = fmt::format("{}", fmt::join(places, ", "));
    }
    lines += fmt::format("  asm volatile(\"{{ {}{} }}\" : {} : {} : \"memory\");\n", before_, instruction_, outputs,
                         fmt::join(inputs_, ", "));
    for (std::size_t i = 0; result_.floats && i < result_.count; ++i)
      lines += fmt::format("  {}{}[{}] = __float_as_uint(f{});\n", result_.name, value_ ? ".r" : "", i, i);
    if (value_ && result_.count != 0) lines += fmt::format("  return {};\n", result_.name);
    const std::string type = value_ && result_.count != 0 ? fmt::format("Registers<{}>", result_.count) : "void";
    return fmt::format("\n__device__ __forceinline__ {} {}({}) {{\n{}}}\n", type, name_, fmt::join(parameters_, ", "), lines);
  }

  struct Written {
    std::string name;
    std::size_t count = 0;
    bool floats = false;
  };

  const AtomCall& call_;
  const atom::Payload& payload_;
  std::string name_;
  bool value_;
  std::vector<std::string> parameters_, inputs_;
  Written result_;
  std::string before_, instruction_;  // before_: what stands in front of the instruction inside the braces
};

}  // namespace

Result<std::string> cuda_function(const AtomCall& call, std::string_view name) { return Function(call, name).text(); }

}  // namespace tmemsim::lower
