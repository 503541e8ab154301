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

}  // namespace

Result<AmdgcnModule> amdgcn_module(const atom::Payload& payload) {
  const std::string prefix = "rocdl.";
  if (payload.kind != atom::Kind::mma || payload.instruction.rfind(prefix, 0) != 0)
    return reason(fmt::format("{} is no matrix instruction of the rocdl target", payload.name));
  if (payload.target == "gfx1250")
    return reason(fmt::format("{}: the intrinsics of GFX1250 are not described here", payload.name));
  std::vector<std::string> types;
  for (const atom::Operand& operand : payload.operands) types.push_back(llvm_type(operand.carrier));
  const bool scaled = has(payload.instruction, ".scale.");
  const Form form = scaled                               ? mfma_scale(payload, types)
                    : has(payload.instruction, ".mfma.") ? mfma(payload, types)
                                                         : wmma(payload, types);
  std::vector<std::string> parameters, arguments;
  for (const Argument& argument : form.arguments) {
    parameters.push_back(argument.type);
    arguments.push_back(argument.type + " " + argument.value);
  }
  const std::string intrinsic = fmt::format("@llvm.amdgcn.{}{}", payload.instruction.substr(prefix.size()), form.suffix);
  std::string text = fmt::format("declare {} {}({})\n\n", types[2], intrinsic, fmt::join(parameters, ", "));
  text += fmt::format("define {} @atom({} %a, {} %b, {} %c{}) {{\n", types[2], types[0], types[1], types[2],
                      scaled ? ", i32 %scale_a, i32 %scale_b" : "");
  text += fmt::format("  %d = call {} {}({})\n  ret {} %d\n}}\n", types[2], intrinsic, fmt::join(arguments, ", "), types[2]);
  return AmdgcnModule{std::move(text), form.chips};
}

}  // namespace tmemsim::lower
