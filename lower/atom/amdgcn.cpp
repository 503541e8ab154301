#include "lower/atom/amdgcn.hpp"

#include <fmt/format.h>

#include "ir/atom/name_text.hpp"

namespace tmemsim::lower {
namespace {

Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

// vector<4xf16> -> <4 x half>; f32 -> float.
std::string llvm_type(const std::string& carrier) {
  const auto scalar = [](const std::string& type) -> std::string {
    if (type == "f16") return "half";
    if (type == "bf16") return "bfloat";
    if (type == "f32") return "float";
    if (type == "f64") return "double";
    return type;
  };
  if (carrier.rfind("vector<", 0) != 0) return scalar(carrier);
  const std::size_t x = carrier.find('x');
  return fmt::format("<{} x {}>", carrier.substr(7, x - 7), scalar(carrier.substr(x + 1, carrier.size() - x - 2)));
}

// The type in the name of an overloaded intrinsic: vector<8xf32> -> v8f32.
std::string overload(const std::string& carrier) {
  if (carrier.rfind("vector<", 0) != 0) return carrier;
  std::string text = carrier.substr(7, carrier.size() - 8);
  text.erase(text.find('x'), 1);
  return "v" + text;
}

struct Argument {
  std::string type, value;
};

struct Form {
  std::string suffix;  // of an overloaded name
  std::vector<Argument> arguments;
  std::vector<std::string> chips;
};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

Form mfma(const atom::Payload& payload, const std::vector<std::string>& types) {
  Form form{{}, {{types[0], "%a"}, {types[1], "%b"}, {types[2], "%c"}}, {"gfx950", "gfx942"}};
  for (int k = 0; k < 3; ++k) form.arguments.push_back({"i32", "0"});  // cbsz, abid, blgp
  const std::string& instruction = payload.instruction;
  const bool first_generation = payload.operands[0].type == "bf16" && !has(instruction, ".1k");  // gone with gfx940
  if (payload.target == "cdna4")
    form.chips = {"gfx950"};
  else if (first_generation)
    form.chips = {"gfx90a"};
  else if (!has(instruction, "p8") && !has(instruction, "f8") && !has(instruction, ".i8"))
    form.chips.push_back("gfx90a");
  return form;
}

// The formats of A and B are numbers: e4m3, e5m2, e2m3, e3m2, e2m1.
std::string format_number(const std::string& type) {
  if (type == "f8E4M3FN") return "0";
  if (type == "f8E5M2") return "1";
  if (type == "f6E2M3FN") return "2";
  return type == "f6E3M2FN" ? "3" : "4";
}

Form mfma_scale(const atom::Payload& payload, const std::vector<std::string>& types) {
  const auto parts = atom::name_parts(payload.name);
  const auto selector = [&](const char* key) { return parts ? fmt::format("{}", *parts->integer(key, 0, 0, 3)) : "0"; };
  return {fmt::format(".{}.{}", overload(payload.operands[0].carrier), overload(payload.operands[1].carrier)),
          {{types[0], "%a"},
           {types[1], "%b"},
           {types[2], "%c"},
           {"i32", format_number(payload.operands[0].type)},
           {"i32", format_number(payload.operands[1].type)},
           {"i32", selector("opselA")},
           {"i32", "%scale_a"},
           {"i32", selector("opselB")},
           {"i32", "%scale_b"}},
          {"gfx950"}};
}

Form wmma(const atom::Payload& payload, const std::vector<std::string>& types) {
  const std::vector<std::string> chips =
      payload.target == "gfx11" ? std::vector<std::string>{"gfx1100"} : std::vector<std::string>{"gfx1200"};
  const std::string suffix =
      fmt::format(".{}.{}", overload(payload.operands[2].carrier), overload(payload.operands[0].carrier));
  if (!has(payload.instruction, ".iu")) return {suffix, {{types[0], "%a"}, {types[1], "%b"}, {types[2], "%c"}}, chips};
  const auto parts = atom::name_parts(payload.name);
  const auto flag = [&](const char* key) { return std::string(parts && parts->is_true(key) ? "true" : "false"); };
  return {suffix,
          {{"i1", flag("signA")},
           {types[0], "%a"},
           {"i1", flag("signB")},
           {types[1], "%b"},
           {types[2], "%c"},
           {"i1", flag("clamp")}},
          chips};
}

// GFX1250: modifiers of A and B (negation, or the sign of integers), of C, and two hints that A and B are used again.
Form wmma_gfx1250(const atom::Payload& payload, const std::vector<std::string>& types) {
  const auto parts = atom::name_parts(payload.name);
  const auto flag = [&](const char* key) { return std::string(parts && parts->is_true(key) ? "true" : "false"); };
  const std::string suffix =
      fmt::format(".{}.{}", overload(payload.operands[2].carrier), overload(payload.operands[0].carrier));
  const Argument a{types[0], "%a"}, b{types[1], "%b"}, c{types[2], "%c"}, plain{"i1", "false"}, of_c{"i16", "0"};
  const std::string& type = payload.operands[0].type;
  if (has(payload.instruction, ".iu8"))
    return {suffix, {{"i1", flag("signA")}, a, {"i1", flag("signB")}, b, c, plain, plain, {"i1", flag("clamp")}}, {"gfx1250"}};
  if (has(payload.instruction, ".iu4"))  // the form of GFX12
    return {suffix, {{"i1", flag("signA")}, a, {"i1", flag("signB")}, b, c, {"i1", flag("clamp")}}, {"gfx1200"}};
  if (type[0] == 'f' && payload.operands[0].bits == 8) return {suffix, {a, b, of_c, c, plain, plain}, {"gfx1250"}};
  return {suffix, {plain, a, plain, b, of_c, c, plain, plain}, {"gfx1250"}};
}

// Which lanes' scales, and their format (0: E8M0), stand before each scale.
Form wmma_scale(const atom::Payload& payload, const std::vector<std::string>& types) {
  const std::string suffix = fmt::format(".{}.{}.{}", overload(payload.operands[2].carrier),
                                         overload(payload.operands[0].carrier), overload(payload.operands[1].carrier));
  const auto parts = atom::name_parts(payload.name);
  const auto selector = [&](const char* key) { return parts ? fmt::format("{}", *parts->integer(key, 0, 0, 1)) : "0"; };
  const std::string scale = payload.state[0].type;
  std::vector<Argument> arguments;
  const bool with_formats = has(payload.instruction, "f8f6f4");
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    if (with_formats) arguments.push_back({"i32", format_number(payload.operands[k].type)});
    arguments.push_back({types[k], k == 0 ? "%a" : "%b"});
  }
  arguments.push_back({"i16", "0"});
  arguments.push_back({types[2], "%c"});
  for (const char* which : {"a", "b"}) {
    arguments.push_back({"i32", selector(which[0] == 'a' ? "opselA" : "opselB")});
    arguments.push_back({"i32", "0"});
    arguments.push_back({scale, fmt::format("%scale_{}", which)});
  }
  for (int k = 0; k < 2; ++k) arguments.push_back({"i1", "false"});
  return {suffix, std::move(arguments), {"gfx1250"}};
}

// rocdl joins the types of A and B by _, LLVM by a dot.
std::string llvm_name(std::string instruction) {
  for (const char* pair : {"fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"}) {
    const std::size_t at = instruction.find(pair);
    if (at != std::string::npos) instruction[at + 3] = '.';
  }
  return instruction;
}

// ---- copies

std::string bits_type(std::int64_t bits) {
  return bits <= 32 ? fmt::format("i{}", bits) : fmt::format("<{} x i32>", bits / 32);
}
std::string bits_overload(std::int64_t bits) {
  return bits <= 32 ? fmt::format("i{}", bits) : fmt::format("v{}i32", bits / 32);
}

std::string declared(const std::string& result, const std::string& name, const std::vector<Argument>& arguments) {
  std::vector<std::string> types;
  for (const Argument& argument : arguments) types.push_back(argument.type);
  return fmt::format("declare {} @{}({})\n\n", result, name, fmt::join(types, ", "));
}
std::string called(const std::string& result, const std::string& name, const std::vector<Argument>& arguments) {
  std::vector<std::string> texts;
  for (const Argument& argument : arguments) texts.push_back(argument.type + " " + argument.value);
  return fmt::format("call {} @{}({})", result, name, fmt::join(texts, ", "));
}

const Argument resource{"ptr addrspace(8)", "%resource"}, offset{"i32", "%offset"}, soffset{"i32", "%soffset"},
    none{"i32", "0"};

// A function that loads (memory to registers) and one that stores the bits of one thread.
AmdgcnModule both_ways(const atom::Payload& payload, std::int64_t bits, const std::vector<std::string>& chips) {
  const std::string type = bits_type(bits);
  if (payload.instruction == "llvm.load") {
    return {
        fmt::format("define {0} @atom(ptr addrspace(1) %from) {{\n  %d = load {0}, ptr addrspace(1) %from\n  ret {0} %d\n}}\n\n"
                    "define void @atom_store({0} %value, ptr addrspace(1) %to) {{\n  store {0} %value, ptr addrspace(1) %to\n  "
                    "ret void\n}}\n",
                    type),
        chips};
  }
  const std::string load = "llvm.amdgcn.raw.ptr.buffer.load." + bits_overload(bits),
                    store = "llvm.amdgcn.raw.ptr.buffer.store." + bits_overload(bits);
  const std::vector<Argument> from{resource, offset, soffset, none};
  const std::vector<Argument> to{{type, "%value"}, resource, offset, soffset, none};
  return {
      declared(type, load, from) + declared("void", store, to) +
          fmt::format(
              "define {0} @atom(ptr addrspace(8) %resource, i32 %offset, i32 %soffset) {{\n  %d = {1}\n  ret {0} %d\n}}\n\n",
              type, called(type, load, from)) +
          fmt::format("define void @atom_store({0} %value, ptr addrspace(8) %resource, i32 %offset, i32 %soffset) {{\n  {1}\n  "
                      "ret void\n}}\n",
                      type, called("void", store, to)),
      chips};
}

AmdgcnModule into_lds(const atom::Payload& payload, std::int64_t bits) {
  const bool buffer = payload.operand("src")->place == atom::Place::buffer;
  const std::string name = "llvm.amdgcn." + payload.instruction.substr(payload.instruction.find('.') + 1);
  std::vector<Argument> arguments{buffer ? resource : Argument{"ptr addrspace(1)", "%from"},
                                  {"ptr addrspace(3)", "%to"},
                                  {"i32", fmt::format("{}", bits / 8)}};
  if (buffer) arguments.insert(arguments.end(), {offset, soffset});
  arguments.insert(arguments.end(), {none, none});  // immediate offset, cache bits
  const std::string parameters = buffer ? "ptr addrspace(8) %resource, ptr addrspace(3) %to, i32 %offset, i32 %soffset"
                                        : "ptr addrspace(1) %from, ptr addrspace(3) %to";
  return {declared("void", name, arguments) +
              fmt::format("define void @atom({}) {{\n  {}\n  ret void\n}}\n", parameters, called("void", name, arguments)),
          payload.target == "cdna3" && bits <= 32 ? std::vector<std::string>{"gfx942", "gfx950"}
                                                  : std::vector<std::string>{"gfx950"}};
}

AmdgcnModule transposing(const atom::Payload& payload) {
  const std::int64_t bits = payload.operand("dst")->register_bits;
  const bool halves = has(payload.instruction, "tr16");
  const std::string type = halves ? "<4 x i16>" : bits_type(bits);
  const std::string name =
      fmt::format("llvm.amdgcn.{}.{}", payload.instruction.substr(6), halves ? "v4i16" : bits_overload(bits));
  const std::vector<Argument> arguments{{"ptr addrspace(3)", "%from"}};
  return {declared(type, name, arguments) +
              fmt::format("define {0} @atom(ptr addrspace(3) %from) {{\n  %d = {1}\n  ret {0} %d\n}}\n", type,
                          called(type, name, arguments)),
          {"gfx950"}};
}

Result<AmdgcnModule> atomic(const atom::Payload& payload) {
  const auto parts = atom::name_parts(payload.name);
  const std::string op = parts ? parts->word(0) : "", element = parts ? parts->word(1) : "", type = llvm_type(element);
  const bool floating = element[0] != 'i', buffer = payload.target == "cdna3";
  if (op == "op") return reason(fmt::format("{} stands for any operation", payload.name));
  if (buffer && floating && op == "min")
    return reason(
        fmt::format("{}: there is no minimum of floating point in the instruction that the definition names", payload.name));
  if (buffer) {
    const std::string name = fmt::format("llvm.amdgcn.{}.{}", payload.instruction.substr(6), element);
    const std::vector<Argument> arguments{{type, "%value"}, resource, offset, soffset, none};
    return AmdgcnModule{
        declared(type, name, arguments) + fmt::format("define {0} @atom({0} %value, ptr addrspace(8) %resource, i32 %offset, "
                                                      "i32 %soffset) {{\n  %d = {1}\n  ret {0} %d\n}}\n",
                                                      type, called(type, name, arguments)),
        floating && op == "max" ? std::vector<std::string>{"gfx1100"}  // CDNA has it for f64 alone
                                : std::vector<std::string>{"gfx942", "gfx90a"}};
  }
  const std::string verb = op == "inc"                                 ? "uinc_wrap"
                           : op == "dec"                               ? "udec_wrap"
                           : floating && op.size() == 3 && op != "and" ? "f" + op
                                                                       : op;
  return AmdgcnModule{fmt::format("define {0} @atom({0} %value, ptr addrspace(1) %to) {{\n  %d = atomicrmw {1} ptr "
                                  "addrspace(1) %to, {0} %value syncscope(\"agent\") monotonic\n"
                                  "  ret {0} %d\n}}\n",
                                  type, verb),
                      {"gfx942", "gfx90a"}};
}

Result<AmdgcnModule> copy_module(const atom::Payload& payload) {
  const std::vector<std::string> chips{"gfx942", "gfx90a"};
  if (payload.whole_tile) return reason(fmt::format("{}: contract and state only", payload.name));
  if (has(payload.instruction, "atomic")) return atomic(payload);
  const std::int64_t bits = payload.operand("src")->rows;
  if (has(payload.instruction, ".lds")) return into_lds(payload, bits);
  if (has(payload.instruction, "ds.read.tr")) return transposing(payload);
  if (payload.instruction == "llvm.load" || has(payload.instruction, "raw.ptr.buffer.load"))
    return both_ways(payload, bits, chips);
  return reason(fmt::format("{} is no instruction of the rocdl target", payload.name));
}

AmdgcnModule scalar_fma(const atom::Payload& payload) {
  const std::string type = llvm_type(payload.result_type), name = "llvm.fma." + payload.result_type;
  const std::vector<Argument> arguments{{type, "%a"}, {type, "%b"}, {type, "%c"}};
  return {declared(type, name, arguments) +
              fmt::format("define {0} @atom({0} %a, {0} %b, {0} %c) {{\n  %d = {1}\n  ret {0} %d\n}}\n", type,
                          called(type, name, arguments)),
          {"gfx942", "gfx90a"}};
}

}  // namespace

Result<AmdgcnModule> amdgcn_module(const atom::Payload& payload) {
  const std::string prefix = "rocdl.";
  if (payload.kind == atom::Kind::copy) return copy_module(payload);
  if (payload.instruction == "llvm.intr.fma") return scalar_fma(payload);
  if (payload.instruction.rfind(prefix, 0) != 0)
    return reason(fmt::format("{} is no instruction of the rocdl target", payload.name));
  std::vector<std::string> types;
  for (const atom::Operand& operand : payload.operands) types.push_back(llvm_type(operand.carrier));
  const bool scaled = has(payload.instruction, ".scale"), is_mfma = has(payload.instruction, ".mfma.");
  const Form form = scaled && is_mfma             ? mfma_scale(payload, types)
                    : is_mfma                     ? mfma(payload, types)
                    : scaled                      ? wmma_scale(payload, types)
                    : payload.target == "gfx1250" ? wmma_gfx1250(payload, types)
                                                  : wmma(payload, types);
  std::vector<std::string> parameters, arguments;
  for (const Argument& argument : form.arguments) {
    parameters.push_back(argument.type);
    arguments.push_back(argument.type + " " + argument.value);
  }
  const std::string intrinsic =
      fmt::format("@llvm.amdgcn.{}{}", llvm_name(payload.instruction.substr(prefix.size())), form.suffix);
  std::string text = fmt::format("declare {} {}({})\n\n", types[2], intrinsic, fmt::join(parameters, ", "));
  text += fmt::format("define {} @atom({} %a, {} %b, {} %c{}) {{\n", types[2], types[0], types[1], types[2],
                      scaled ? fmt::format(", {0} %scale_a, {0} %scale_b", payload.state[0].type) : "");
  text += fmt::format("  %d = call {} {}({})\n  ret {} %d\n}}\n", types[2], intrinsic, fmt::join(arguments, ", "), types[2]);
  return AmdgcnModule{std::move(text), form.chips};
}

}  // namespace tmemsim::lower
