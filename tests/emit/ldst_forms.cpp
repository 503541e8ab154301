// Every tcgen05.ld and .st form that the assembler takes is emitted and assembled; every other one is refused.
// ptxas_accept.csv says which ones it takes: an assembler's answers, not the table that the emitter reads.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "emit/emit.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"
#include "tests/paths.hpp"

using namespace tmemsim;

namespace {

struct Form {
  bool load;
  Shape shape;
  int num;
  bool packed;
  bool accepted;

  std::string instruction() const {
    return fmt::format("tcgen05.{}.sync.aligned.{}.x{}{}.b32", load ? "ld" : "st", keyword(shape), num,
                       !packed ? ""
                       : load  ? ".pack::16b"
                               : ".unpack::16b");
  }
};

Shape shape_named(const std::string& name) {
  for (const Shape shape : {Shape::s32x32b, Shape::s16x64b, Shape::s16x128b, Shape::s16x256b, Shape::s16x32bx2}) {
    if (keyword(shape) == name) return shape;
  }
  throw std::runtime_error("no shape " + name);
}

std::vector<Form> forms() {
  std::ifstream file(std::string(tests::source_dir) + "/tests/emit/ptxas_accept.csv");
  std::string line;
  std::getline(file, line);
  std::vector<Form> all;
  while (std::getline(file, line)) {
    std::stringstream cells(line);
    std::string op, shape, num, pack, accepted;
    std::getline(cells, op, ',');
    std::getline(cells, shape, ',');
    std::getline(cells, num, ',');
    std::getline(cells, pack, ',');
    std::getline(cells, accepted, ',');
    all.push_back({op == "ld", shape_named(shape), std::stoi(num), pack == "1", accepted == "1"});
  }
  return all;
}

// Registers of a thread: PTX ISA 9.7.16.8, table of .num.
int registers(const Form& form) {
  const int each = form.shape == Shape::s16x128b ? 2 : form.shape == Shape::s16x256b ? 4 : 1;
  return each * form.num;
}

Stmt statement(MachineOps::Any op) {
  Stmt stmt;
  stmt.node = std::move(op);
  return stmt;
}

Rows rows(int count, int step = 1) {
  Rows result;
  for (int i = 0; i < count; ++i) result.rows.push_back(static_cast<std::uint16_t>(i * step));
  return result;
}

TmemAddr address() { return {std::nullopt, Expr(0), Expr(0), Expr(4)}; }

Stmt statement(const Form& form, const Rows& registers) {
  const std::optional<std::int32_t> half =
      form.shape == Shape::s16x32bx2 ? std::optional(form.num * (form.packed ? 2 : 1)) : std::nullopt;
  const auto num = static_cast<std::uint8_t>(form.num);
  if (form.load) return statement(TcgenLd{form.shape, num, form.packed, half, registers, address()});
  return statement(TcgenSt{form.shape, num, form.packed, half, address(), registers});
}

Kernel kernel_with(Body body, int rows_needed = 128) {
  Kernel kernel;
  kernel.name = "forms";
  kernel.launch.warps = 1;
  Buffer buffer;
  buffer.name = "R";
  buffer.space = Space::local;
  buffer.dtype = Dtype::u32;
  buffer.shape = {rows_needed};
  kernel.buffers.push_back(buffer);
  kernel.body = std::move(body);
  number_statements(kernel);
  return kernel;
}

}  // namespace

TEST_CASE("ld and st forms: the assembler takes what is emitted, and what it does not take is refused") {
  std::map<std::pair<bool, Shape>, Body> bodies;
  std::vector<Form> emitted;
  for (const Form& form : forms()) {
    const Stmt stmt = statement(form, rows(registers(form)));
    if (!form.accepted) {
      CAPTURE(form.instruction());
      CHECK_THROWS_AS(emit::cuda(kernel_with({stmt}, 512)), Unsupported);
      continue;
    }
    bodies[{form.load, form.shape}].push_back(stmt);
    emitted.push_back(form);
  }
  CHECK(emitted.size() == 148);
  CHECK(bodies.size() == 10);
  std::vector<Kernel> kernels;
  for (auto& [key, body] : bodies) kernels.push_back(kernel_with(std::move(body)));
  // A register list that is not consecutive is written register by register.
  kernels.push_back(kernel_with({statement({true, Shape::s16x256b, 2, false, true}, rows(8, 3)),
                                 statement({false, Shape::s16x256b, 2, false, true}, rows(8, 3))}));
  const std::string text = emit::device_code(kernels);
  if (!tests::have_nvcc()) {
    WARN("no nvcc 12.8 or later: not assembled");
    return;
  }
  const tests::Compiled compiled = tests::compile(text);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
  CHECK(compiled.stack_bytes == 0);
  for (const Form& form : emitted) {
    const std::size_t at = compiled.ptx.find(form.instruction() + " ");
    CAPTURE(form.instruction());
    REQUIRE(at != std::string::npos);
    const std::string line = compiled.ptx.substr(at, compiled.ptx.find('\n', at) - at);
    const std::string list = line.substr(line.find('{'), line.find('}') - line.find('{'));
    CHECK(std::count(list.begin(), list.end(), '%') == registers(form));
    const bool split = form.shape == Shape::s16x32bx2;
    const std::string half = fmt::format("], {}", form.num * (form.packed ? 2 : 1));
    CHECK((line.find(half + (form.load ? ";" : ",")) != std::string::npos) == split);
  }
}

TEST_CASE("ld and st forms: wrong register counts and half splits are refused") {
  const auto refused = [](const Stmt& stmt) {
    try {
      (void)emit::cuda(kernel_with({stmt}));
      return std::string("not refused");
    } catch (const Unsupported& error) { return error.reason(); }
  };
  CHECK_THAT(refused(statement({true, Shape::s16x256b, 2, false, true}, rows(7))), tests::contains("takes 8 registers, not 7"));
  CHECK_THAT(refused(statement(TcgenLd{Shape::s16x32bx2, 1, false, {}, rows(1), address()})), tests::contains("half split"));
  CHECK_THAT(refused(statement(TcgenSt{Shape::s32x32b, 1, false, 4, address(), rows(1)})), tests::contains("half split"));
  CHECK(refused(statement(TcgenSt{Shape::s32x32b, 1, false, {}, address(), rows(1)})) == "not refused");
}
