// Calls of atoms: the pass to value form, by executing both forms; checks of calls; emission.
#include <algorithm>
#include <map>
#include <numeric>

#include "ir/atom/registry.hpp"
#include "lower/atom/call.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::lower;

namespace {

OperandType operand(const std::string& text) {
  const auto parsed = parse_operand_type(text);
  INFO(text);
  REQUIRE(parsed);
  return *parsed;
}

Result<AtomCall> made(const std::string& atom, const std::vector<std::string>& operands, bool value_form = false) {
  const auto type = parse_atom_type(atom);
  if (!type) return type.reason();
  std::vector<OperandType> types;
  for (const std::string& text : operands) types.push_back(operand(text));
  return make_call(*type, value_form, types);
}

AtomCall call_of(const std::string& atom, const std::vector<std::string>& operands, bool value_form = false) {
  const auto call = made(atom, operands, value_form);
  if (!call) FAIL(call.reason().text);
  return *call;
}

std::size_t count(const std::vector<AtomOp>& ops, const std::string& name) {
  return static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), [&](const AtomOp& op) { return op.name == name; }));
}

const char* const mfma = "mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>";
const char* const copy4 = "copy_atom<universal_copy<64>, 16>";

using Values = std::vector<std::int64_t>;

// Executes a value form on memories: each memref is 32 elements, read and written by its layout.
class Machine {
 public:
  Machine(const AtomCall& call, const std::vector<std::string>& names) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      layouts_[names[k]] = *call.operands[k].layout;
      Values cells(32);
      std::iota(cells.begin(), cells.end(), 100 * static_cast<std::int64_t>(k + 1));
      memory[names[k]] = cells;
    }
  }
  Values read(const std::string& name) const {
    Values values;
    for (std::int64_t i = 0; i < size(*layouts_.at(name))->value; ++i) values.push_back(memory.at(name)[at(name, i)]);
    return values;
  }
  void write(const std::string& name, const Values& values) {
    for (std::size_t i = 0; i < values.size(); ++i) memory[name][at(name, static_cast<std::int64_t>(i))] = values[i];
  }
  void run(const std::vector<AtomOp>& ops, bool predicate) {
    std::map<std::string, Values> values;
    const auto given = [&](const std::string& name) { return name[0] == '@' ? read(name) : values.at(name); };
    for (const AtomOp& op : ops) {
      if (op.name == "fly.ptr.load" || op.name == "fly.memref.gather")
        values[op.result] = read(op.operands[0]);
      else if (op.name == "fly.ptr.store" || op.name == "fly.memref.scatter")
        write(op.operands[1], values.at(op.operands[0]));
      else if (op.name == "fly.mma_atom_call_ssa")
        values[op.result] = multiplied(given(op.operands[0]), given(op.operands[1]), given(op.operands[2]));
      else if (op.name == "fly.copy_atom_call_ssa")
        copy(op, given, values, predicate);
      else if (op.name == "fly.mma_atom_call")
        write("@d", multiplied(read("@a"), read("@b"), read("@c")));
      else if (op.name == "fly.copy_atom_call") {
        if (predicate) write("@dst", read("@src"));
      } else
        FAIL("unknown operation " << op.name);
    }
  }
  static Values multiplied(const Values& a, const Values& b, const Values& c) {
    Values d = c;
    for (std::size_t i = 0; i < d.size(); ++i) d[i] += 7 * a[i] + 1000 * b[d.size() - 1 - i];
    return d;
  }
  std::map<std::string, Values> memory;

 private:
  std::size_t at(const std::string& name, std::int64_t i) const {
    return static_cast<std::size_t>(crd2idx(IntTuple(i), *layouts_.at(name))->value);
  }
  template <class Given>
  void copy(const AtomOp& op, const Given& given, std::map<std::string, Values>& values, bool predicate) {
    const bool predicated = op.operands.size() == 3;
    if (!op.result.empty())
      values[op.result] = !predicated || predicate ? given(op.operands[0]) : given(op.operands[1]);
    else if (predicate)
      write(op.operands[1], given(op.operands[0]));
  }
  std::map<std::string, std::optional<NestedLayout>> layouts_;
};

const std::vector<std::string> layouts{"4:1", "(4,1):(1,0)", "(2,2):(1,4)", "4:2", "(4):(1)"};

}  // namespace

TEST_CASE("Which operands become values") {
  const std::pair<const char*, bool> table[] = {{"4:1", true},      {"(4,1):(1,0)", true},  {"(4,2):(1,4)", true},
                                                {"1:7", true},      {"(4,2):(1,8)", false}, {"4:0", false},
                                                {"(4):(1)", false}, {"4:2", false}};
  for (const auto& [layout, promotable] : table) {
    INFO(layout);
    CHECK(!not_promotable(operand(std::string("memref<f32, register, ") + layout + ">")) == promotable);
  }
  CHECK(not_promotable(operand("memref<f32, global, 4:1>")));
  CHECK(not_promotable(operand("memref<f32, register, S<1,2,3>o0o(8):(1)>")));
  CHECK(not_promotable(operand("vector<4xf32>")));
}

TEST_CASE("Both forms of a matrix call write the same, whichever operands become values") {
  for (const std::string& d : layouts) {
    for (const std::string& a : layouts) {
      for (const std::string& b : layouts) {
        for (const std::string& c : layouts) {
          INFO(d << " " << a << " " << b << " " << c);
          const AtomCall call = call_of(mfma, {"memref<f32, register, " + d + ">", "memref<f16, register, " + a + ">",
                                               "memref<f16, register, " + b + ">", "memref<f32, register, " + c + ">"});
          Machine value(call, {"@d", "@a", "@b", "@c"}), memory = value;
          value.run(to_value_form(call), true);
          memory.write("@d", Machine::multiplied(memory.read("@a"), memory.read("@b"), memory.read("@c")));
          CHECK(value.memory == memory.memory);
        }
      }
    }
  }
}

TEST_CASE("Both forms of a copy write the same; where the predicate is false the destination stays") {
  for (const std::string& src : {std::string("register, 4:1"), std::string("register, 4:2"), std::string("global, 4:1")}) {
    for (const std::string& dst : {std::string("register, 4:1"), std::string("register, 4:2"), std::string("shared, 4:1")}) {
      for (const int predicate : {-1, 0, 1}) {
        std::vector<std::string> types{"memref<f16, " + src + ">", "memref<f16, " + dst + ">"}, names{"@src", "@dst"};
        if (predicate >= 0) {
          types.push_back("memref<i1, register, 1:1>");
          names.push_back("@pred");
        }
        const AtomCall call = call_of(copy4, types);
        INFO(src << " " << dst << " " << predicate);
        Machine value(call, names), memory = value;
        value.run(to_value_form(call), predicate != 0);
        if (predicate != 0) memory.write("@dst", memory.read("@src"));
        CHECK(value.memory == memory.memory);
      }
    }
  }
}

TEST_CASE("The value form loads and stores only what became a value") {
  const auto ops =
      to_value_form(call_of(copy4, {"memref<f16, global, 4:1>", "memref<f16, register, 4:1>", "memref<i1, register, 1:1>"}));
  CHECK(count(ops, "fly.ptr.load") == 2);  // the predicate and the old destination
  CHECK(count(ops, "fly.ptr.store") == 1);
  CHECK(count(to_value_form(call_of(copy4, {"memref<f16, global, 4:1>", "memref<f16, shared, 4:1>"})), "fly.copy_atom_call") ==
        1);
  const auto kept = to_value_form(call_of(mfma, {"memref<f32, register, (2,2):(1,4)>", "memref<f16, register, 4:1>",
                                                 "memref<f16, register, 4:1>", "memref<f32, register, 4:1>"}));
  CHECK(count(kept, "fly.memref.scatter") == 1);  // the result reaches a D that is no value
}

TEST_CASE("Calls are checked when they are made") {
  CHECK(made(mfma, {"memref<f32, register, 4:1>", "memref<f16, register, 4:1>", "memref<f16, register, 4:1>",
                    "memref<f32, register, 4:1>"}));
  CHECK_FALSE(made(mfma, {"memref<f32, register, 4:1>", "memref<f16, register, 8:1>", "memref<f16, register, 4:1>",
                          "memref<f32, register, 4:1>"}));
  CHECK_FALSE(made(mfma, {"memref<f32, shared, 4:1>", "memref<f16, register, 4:1>", "memref<f16, register, 4:1>",
                          "memref<f32, register, 4:1>"}));
  CHECK_FALSE(made(mfma, {"memref<f32, register, 4:1>"}));
  const std::string buffer = "copy_atom<!fly_rocdl.cdna3.buffer_copy<64>, 16>";
  CHECK(made(buffer, {"memref<f16, buffer_desc, 4:1>", "memref<f16, register, 4:1>"}));
  CHECK(made(buffer, {"memref<f16, register, 4:1>", "memref<f16, buffer_desc, 4:1>"}));
  CHECK_FALSE(made(buffer, {"memref<f16, global, 4:1>", "memref<f16, register, 4:1>"}));
  CHECK_THAT(made(buffer, {"memref<f16, global, 4:1>", "memref<f16, register, 4:1>"}).reason().text,
             tests::contains("from buffer to registers"));
  CHECK_FALSE(made(buffer, {"memref<f16, buffer_desc, 4:1>", "memref<f32, register, 4:1>"}));
  CHECK_FALSE(made(buffer, {"memref<f16, buffer_desc, 4:1>", "memref<f16, register, 4:1>", "memref<i8, register, 1:1>"}));
  CHECK_FALSE(
      made("copy_atom<!fly_rocdl.cdna3.buffer_copy<64>, 48>", {"memref<f16, buffer_desc, 4:1>", "memref<f16, register, 4:1>"}));
  const std::string tdm =
      "copy_atom<!fly_rocdl.gfx1250.tdm<rank = 2, warps = 1, pad = 64, 8, cache = 0, barrier = false, timeout = false>, 0>";
  CHECK(made(tdm, {"memref<f16, global, (128,64):(64,1)>", "memref<f16, shared, (128,64):(64,1)>"}));
  CHECK_FALSE(made(tdm, {"memref<f16, global, 128:1>", "memref<f16, shared, 128:1>"}));
  for (const char* odd : {"", "memref<>", "memref<f32, register>", "memref<f32, nowhere, 4:1>", "memref<f32, register, 4:>",
                          "vector<xf32>", "vector<0xf32>", "vector<4xf31>", "vector<99999999999999999999xf32>"}) {
    INFO(odd);
    CHECK_FALSE(parse_operand_type(odd));
  }
  for (const char* odd : {"", "copy_atom<>", "copy_atom<universal_copy<64>>", "copy_atom<universal_copy<64>, x>",
                          "mma_atom<universal_copy<64>>", "mma_atom<"}) {
    INFO(odd);
    CHECK_FALSE(parse_atom_type(odd));
  }
}

TEST_CASE("Emission: loads, the instruction and the store; casts in value form; scf.if under a predicate") {
  const auto memory = emit(call_of(mfma, {"memref<f32, register, 4:1>", "memref<f16, register, 4:1>",
                                          "memref<f16, register, 4:1>", "memref<f32, register, 4:1>"}));
  CHECK(count(memory, "llvm.load") == 3);
  CHECK(memory.back().name == "llvm.store");
  CHECK(count(memory, "rocdl.mfma.f32.16x16x16f16") == 1);
  const auto strided = emit(call_of(mfma, {"memref<f32, register, (2,2):(1,4)>", "memref<f16, register, 4:1>",
                                           "memref<f16, register, 4:1>", "memref<f32, register, 4:1>"}));
  CHECK(count(strided, "llvm.store") == 4);
  const auto values = emit(call_of("mma_atom<!fly_rocdl.gfx120x.wmma<16x16x16, (bf16, bf16) -> f32>>",
                                   {"vector<8xbf16>", "vector<8xbf16>", "vector<8xf32>"}, true));
  CHECK(count(values, "llvm.bitcast") == 2);
  CHECK(values.back().result == "%d");
  const auto predicated =
      emit(call_of("copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>",
                   {"memref<f32, buffer_desc, 1:1>", "memref<f32, register, 1:1>", "memref<i1, register, 1:1>"}));
  for (const AtomOp& op : predicated) {
    const bool effect = op.name.rfind("rocdl.", 0) == 0 || op.name == "llvm.store";
    CHECK(op.under_predicate == effect);
  }
  const auto old =
      emit(call_of("copy_atom<!fly_rocdl.cdna3.buffer_copy<32>, 32>", {"memref<f32, buffer_desc, 1:1>", "f32", "i1"}, true));
  CHECK(old.back().name == "scf.if");
  CHECK(old.back().operands.back() == "%arg_dst");
  CHECK_THAT(to_string(old), tests::contains("rocdl.raw.ptr.buffer.load"));
}
