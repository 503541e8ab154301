// Calls of the atoms of the ptx target as CUDA: both forms, with and without a predicate, assembled where nvcc is installed.
#include <fmt/format.h>

#include "ir/atom/registry.hpp"
#include "lower/atom/cuda.hpp"
#include "tests/catch.hpp"
#include "tests/emit/nvcc.hpp"

using namespace tmemsim;
using namespace tmemsim::lower;

namespace {

OperandType operand(const std::string& text) { return *parse_operand_type(text); }

std::string registers(std::int64_t bits, bool value) {
  const std::string element = bits < 32 ? fmt::format("i{}", bits) : "i32";
  const std::int64_t count = std::max<std::int64_t>(1, bits / 32);
  if (!value) return fmt::format("memref<{}, register, {}:1>", element, count);
  return count == 1 ? element : fmt::format("vector<{}x{}>", count, element);
}

std::string space(atom::Place place) {
  if (place == atom::Place::global) return "global";
  return place == atom::Place::tmem ? "tmem" : "shared";
}

// Every required field set; what the instruction does with it is not asked here.
atom::State all_set(const atom::PayloadRef& payload) {
  atom::State state(payload);
  for (const atom::StateField& field : payload->state)
    if (!field.default_value) state = *state.set(field.name, {field.type, 0, true});
  return state;
}

Result<AtomCall> call_of(const atom::PayloadRef& payload, bool value, bool predicated) {
  std::vector<OperandType> operands;
  const auto of = [&](const atom::Operand& held) {
    operands.push_back(operand(held.place == atom::Place::registers ? registers(held.register_bits, value)
                                                                    : fmt::format("memref<i32, {}, 1:1>", space(held.place))));
  };
  if (payload->kind == atom::Kind::copy) {
    of(*payload->operand("src"));
    of(*payload->operand("dst"));
    if (predicated) operands.push_back(operand(value ? "i1" : "memref<i1, register, 1:1>"));
  } else {
    for (const char* which : {"D", "A", "B", "C"}) of(*payload->operand(which));
  }
  return make_call({payload, payload->kind == atom::Kind::copy ? 1 : 0}, value, operands, all_set(payload));
}

std::string text_of(const std::string& name, bool value, bool predicated) {
  const auto call = call_of(*atom::atom_named(name), value, predicated);
  if (!call) return call.reason().text;
  const auto text = cuda_function(*call, "atom");
  return text ? *text : text.reason().text;
}

}  // namespace

TEST_CASE("A call of a ptx atom as CUDA: registers in memory or as values, old values kept under a predicate") {
  const std::string memory = text_of("ldmatrix.m8n8.x2.trans.b16", false, true),
                    value = text_of("ldmatrix.m8n8.x2.trans.b16", true, true);
  CHECK_THAT(memory, tests::contains("void atom(uint32_t* d, uint32_t from, const bool* predicate)"));
  CHECK_THAT(memory, tests::contains("\"+r\"(d[0]), \"+r\"(d[1])"));
  CHECK_THAT(value, tests::contains("Registers<2> atom(uint32_t from, bool predicate, Registers<2> old)"));
  CHECK_THAT(value, tests::contains("Registers<2> d = old;"));
  CHECK_THAT(value, tests::contains("@on ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"));
  CHECK_THAT(text_of("mma.sync.m16n8k16.f16", true, false),
             tests::contains("Registers<4> atom(Registers<4> a, Registers<2> b, Registers<4> c)"));
  CHECK_THAT(text_of("mma.sync.m16n8k16.f16", true, false),
             tests::contains("{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"));
  CHECK_THAT(text_of("tcgen05.st.16x32bx2.x2", false, false),
             tests::contains("tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%0], 2, {%1, %2};"));
  CHECK_THAT(text_of("tcgen05.mma.sp.cta_group::1.kind::f16.m128n64k32.a_tmem", true, false),
             tests::contains("tcgen05.mma.sp.cta_group::1.kind::f16 [%0], [%1], %2, [%3], %4, accumulate;"));
  CHECK_THAT(text_of("tcgen05.ld.red.32x32b.x2.min.f32", true, false), tests::contains("second result"));
  CHECK_THAT(text_of("cdna3.mfma<16x16x16,(f16,f16)->f32>", true, false), tests::contains("no atom of the ptx target"));
}

TEST_CASE("Calls of all ptx atoms assemble in every form") {
  std::string text(cuda_prelude);
  int functions = 0;
  std::string one_cta, pair;  // a kernel uses one cta_group
  for (const atom::PayloadRef& payload : atom::all_atoms()) {
    const bool ptx =
        payload->target.rfind("sm_", 0) == 0 || payload->name.rfind("ld.", 0) == 0 || payload->name.rfind("st.", 0) == 0;
    const bool large = payload->kind == atom::Kind::mma && payload->mnk[1] > 64;
    if (!ptx || large || payload->name.find(".ld.red.") != std::string::npos) continue;
    for (const bool value : {false, true}) {
      for (const bool predicated : {false, true}) {
        if (predicated && payload->kind == atom::Kind::mma) continue;
        INFO(payload->name);
        const auto call = call_of(payload, value, predicated);
        if (!call) FAIL(call.reason().text);
        const auto made = cuda_function(*call, fmt::format("atom_{}", functions++));
        if (!made) FAIL(made.reason().text);
        text += *made;
        (payload->instruction.find("cta_group::2") == std::string::npos ? one_cta : pair) +=
            fmt::format("  use(atom_{});\n", functions - 1);
      }
    }
  }
  CHECK(functions > 600);
  if (!tests::have_nvcc()) {
    WARN("no nvcc 12.8 or later: " << functions << " functions are not assembled");
    return;
  }
  // Registers come from and go to memory; instantiated with the parameter types that the functions have.
  text += R"(
template <class T> __device__ T& any() { extern __shared__ unsigned long long window[]; return *reinterpret_cast<T*>(window); }
template <class R, class... A> __device__ void use(R (*f)(A...)) { any<R>() = f(any<A>()...); }
template <class... A> __device__ void use(void (*f)(A...)) { f(any<A>()...); }
)";
  text += "__global__ void of_one_cta() {\n" + one_cta + "}\n__global__ void of_a_pair() {\n" + pair + "}\n";
  const tests::Compiled compiled = tests::compile(text, "100a");
  INFO(compiled.log.substr(0, 4000));
  REQUIRE(compiled.ok);
}
