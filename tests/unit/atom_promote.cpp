// Register memories as values through loops and branches: both forms are executed on the same memories.
#include <map>
#include <random>

#include "ir/atom/registry.hpp"
#include "lower/atom/promote.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::lower;

namespace {

using Values = std::vector<std::int64_t>;  // four elements

// p*: may become values; q*: strided registers; g*: global memory. f16 sources and f32 results of one matrix instruction.
const std::map<std::string, std::string>& memory_types() {
  static const std::map<std::string, std::string> types{
      {"pa", "memref<f16, register, 4:1>"},         {"pb", "memref<f16, register, (2,2):(1,2)>"},
      {"qa", "memref<f16, register, (2,2):(1,4)>"}, {"ga", "memref<f16, global, 4:1>"},
      {"pc", "memref<f32, register, 4:1>"},         {"pd", "memref<f32, register, (4,1):(1,0)>"},
      {"qc", "memref<f32, register, (2,2):(4,1)>"}, {"pp", "memref<i1, register, 1:1>"}};
  return types;
}

AtomStmt call(const std::string& atom, const std::vector<std::string>& memories) {
  std::vector<OperandType> operands;
  for (const std::string& name : memories) operands.push_back(*parse_operand_type(memory_types().at(name)));
  return {AtomCallStmt{*make_call(*parse_atom_type(atom), false, operands), memories}};
}
const std::string copy_text = "copy_atom<universal_copy<64>, 16>",
                  matrix_text = "mma_atom<!fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>>";

class World {
 public:
  World() {
    for (const auto& [name, type] : memory_types()) {
      const OperandType parsed = *parse_operand_type(type);
      layouts_[name] = *parsed.layout;
      cells_[name] = Values(16);
      for (std::size_t i = 0; i < 16; ++i)
        cells_[name][i] = static_cast<std::int64_t>(name[0] * 131 + name[1] * 17 + static_cast<int>(i));
    }
  }
  Values read(const std::string& name) const {
    Values values;
    const std::int64_t count = size(layouts_.at(name))->value;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(cells_.at(name)[at(name, i)]);
    return values;
  }
  void write(const std::string& name, const Values& values) {
    for (std::size_t i = 0; i < values.size(); ++i) cells_[name][at(name, static_cast<std::int64_t>(i))] = values[i];
  }
  bool operator==(const World& other) const { return cells_ == other.cells_; }

  std::map<std::string, int> numbers;  // loop counts and conditions

 private:
  std::size_t at(const std::string& name, std::int64_t i) const {
    return static_cast<std::size_t>(crd2idx(IntTuple(i), layouts_.at(name))->value);
  }
  std::map<std::string, NestedLayout> layouts_;
  std::map<std::string, Values> cells_;
};

Values multiplied(const Values& a, const Values& b, const Values& c) {
  Values d = c;
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = (3 * d[i] + 7 * a[i] + 11 * b[d.size() - 1 - i]) % 1000003;
  return d;
}

// Memory form, as it is written.
void run(const AtomBody& body, World& world) {
  for (const AtomStmt& stmt : body) {
    if (const auto* one = std::get_if<AtomCallStmt>(&stmt.node)) {
      const auto& names = one->memories;
      if (one->call.atom.payload->kind == atom::Kind::mma)
        world.write(names[0], multiplied(world.read(names[1]), world.read(names[2]), world.read(names[3])));
      else if (names.size() < 3 || world.read(names[2])[0] % 2 == 1)
        world.write(names[1], world.read(names[0]));
    }
    if (const auto* loop = std::get_if<AtomLoop>(&stmt.node))
      for (int i = 0; i < world.numbers.at(loop->count); ++i) run(loop->body, world);
    if (const auto* branch = std::get_if<AtomBranch>(&stmt.node))
      run(world.numbers.at(branch->condition) != 0 ? branch->then : branch->otherwise, world);
  }
}

// Value form. Gives what the body yields; values are defined once.
class Runner {
 public:
  explicit Runner(World& world) : world_(world) {}
  std::vector<Values> run(const std::vector<ValueOp>& ops) {
    for (const ValueOp& op : ops) {
      if (op.name == "scf.yield") return all(op.operands);
      if (op.name == "undefined")
        define(op, {first_value(op.results[0])});
      else if (op.name == "scf.for")
        loop(op);
      else if (op.name == "scf.if")
        define(op, run(op.bodies.at(world_.numbers.at(op.operands[0]) != 0 ? 0 : 1)));
      else if (op.name == "fly.memref.gather")
        define(op, {value(op.operands[0])});
      else if (op.name == "fly.memref.scatter")
        world_.write(op.operands[1].substr(1), value(op.operands[0]));
      else if (op.name == "fly.mma_atom_call_ssa")
        define(op, {multiplied(value(op.operands[0]), value(op.operands[1]), value(op.operands[2]))});
      else if (op.name == "fly.copy_atom_call_ssa" || op.name == "fly.copy_atom_call")
        copy(op);
      else if (op.name == "fly.mma_atom_call")
        world_.write(op.operands[0].substr(1), multiplied(value(op.operands[1]), value(op.operands[2]), value(op.operands[3])));
      else
        FAIL("unknown operation " << op.name);
    }
    return {};
  }
  std::map<std::string, Values> initial;  // memory -> what it held before

 private:
  Values value(const std::string& name) const { return name[0] == '@' ? world_.read(name.substr(1)) : values_.at(name); }
  std::vector<Values> all(const std::vector<std::string>& names) const {
    std::vector<Values> result;
    for (const std::string& name : names) result.push_back(value(name));
    return result;
  }
  Values first_value(const std::string& name) const { return initial.at(name.substr(1, name.rfind('_') - 1)); }
  void define(const ValueOp& op, const std::vector<Values>& results) {
    REQUIRE(results.size() == op.results.size());
    for (std::size_t i = 0; i < results.size(); ++i) values_[op.results[i]] = results[i];
  }
  void loop(const ValueOp& op) {
    std::vector<Values> carried = all({op.operands.begin() + 1, op.operands.end()});
    for (int i = 0; i < world_.numbers.at(op.operands[0]); ++i) {
      for (std::size_t k = 0; k < op.arguments.size(); ++k) values_[op.arguments[k]] = carried[k];
      carried = run(op.bodies.at(0));
    }
    define(op, carried);
  }
  void copy(const ValueOp& op) {
    const bool predicated = op.operands.size() == 3, happens = !predicated || value(op.operands[2])[0] % 2 == 1;
    if (!op.results.empty())
      define(op, {happens ? value(op.operands[0]) : value(op.operands[1])});
    else if (happens)
      world_.write(op.operands[1].substr(1), value(op.operands[0]));
  }
  World& world_;
  std::map<std::string, Values> values_;
};

AtomBody random_body(std::mt19937& random, int depth) {
  const auto pick = [&](std::vector<std::string> names) { return names[random() % names.size()]; };
  AtomBody body;
  for (unsigned i = 1 + random() % 4; i > 0; --i) {
    switch (random() % (depth > 0 ? 5 : 3)) {
      case 0:
        body.push_back(call(copy_text, {pick({"pa", "pb", "qa", "ga"}), pick({"pa", "pb", "qa", "ga"})}));
        break;
      case 1:
        body.push_back(call(copy_text, {pick({"pa", "pb", "ga"}), pick({"pa", "pb", "ga"}), "pp"}));
        break;
      case 2:
        body.push_back(call(matrix_text, {pick({"pc", "pd", "qc"}), pick({"pa", "pb", "qa"}), pick({"pa", "pb", "qa"}),
                                          pick({"pc", "pd", "qc"})}));
        break;
      case 3:
        body.push_back({AtomLoop{pick({"n0", "n1", "n3"}), random_body(random, depth - 1)}});
        break;
      default:
        body.push_back({AtomBranch{pick({"yes", "no"}), random_body(random, depth - 1),
                                   random() % 2 ? random_body(random, depth - 1) : AtomBody{}}});
    }
  }
  return body;
}

// Everything that was a value is copied out at the end, so that both worlds show it.
AtomBody with_copies_out(AtomBody body) {
  body.push_back(call(copy_text, {"pa", "ga"}));
  body.push_back(call(copy_text, {"ga", "qa"}));
  body.push_back(call(copy_text, {"pb", "ga"}));
  body.push_back(call(matrix_text, {"qc", "qa", "pb", "pc"}));
  body.push_back(call(matrix_text, {"qc", "qa", "pb", "pd"}));
  return body;
}

}  // namespace

TEST_CASE("Register memories become values through loops and branches: both forms leave the same") {
  std::mt19937 random(5);
  for (int i = 0; i < 400; ++i) {
    const AtomBody body = with_copies_out(random_body(random, 3));
    const auto promoted = promote(body);
    REQUIRE(promoted);
    INFO(to_string(*promoted));
    World memory, value;
    memory.numbers = value.numbers = {{"n0", 0}, {"n1", 1}, {"n3", 3}, {"yes", 1}, {"no", 0}};
    Runner runner(value);
    for (const char* name : {"pa", "pb", "pc", "pd", "pp"}) runner.initial[name] = value.read(name);
    runner.run(*promoted);
    run(body, memory);
    for (const char* name : {"qa", "qc", "ga"}) REQUIRE(memory.read(name) == value.read(name));
  }
}

TEST_CASE("An accumulator is carried by its loop, and nothing loads or stores it") {
  const AtomBody body{{AtomLoop{"n3", {call(copy_text, {"ga", "pa"}), call(matrix_text, {"pc", "pa", "pb", "pc"})}}},
                      call(matrix_text, {"qc", "pa", "pb", "pc"})};
  const auto promoted = promote(body);
  REQUIRE(promoted);
  const std::string text = to_string(*promoted);
  INFO(text);
  CHECK_THAT(text, tests::contains("scf.for n3, %pa_0, %pc_2 carries %pa_3, %pc_4 {"));
  CHECK(text.find("fly.ptr.load") == std::string::npos);
  CHECK(text.find("fly.ptr.store") == std::string::npos);
  CHECK_THAT(text, tests::contains("fly.memref.scatter %result"));  // the strided result is not lost
  AtomBody two_types = body;
  std::get<AtomCallStmt>(two_types[1].node).memories[3] = "pa";
  CHECK_FALSE(promote(two_types));
  std::get<AtomCallStmt>(two_types[1].node).memories.pop_back();
  CHECK_FALSE(promote(two_types));
}
