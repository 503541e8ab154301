// The contract of atoms: structural checks, value widths, state, names.
#include <algorithm>

#include "ir/atom/families.hpp"
#include "ir/atom/flat_map.hpp"
#include "ir/atom/register_fields.hpp"
#include "ir/atom/rows.hpp"
#include "ir/atom/verify.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::atom;

namespace {

Payload named(const std::string& name) {
  const auto found = atom_named(name);
  INFO(name);
  REQUIRE(found);
  return **found;
}

Operand& operand(Payload& payload, std::string_view which) {
  for (Operand& one : payload.operands) {
    if (one.name == which) return one;
  }
  throw std::logic_error("no such operand");
}

NestedLayout layout(const char* text) { return *parse_nested(text); }

bool breaks(const Payload& payload, std::string_view rule, std::string_view which) {
  for (const Problem& problem : check_structure(payload)) {
    if (problem.rule == rule && problem.operand == which) return true;
  }
  return false;
}

// A warp's matrix atom with the given layout of A, 16 x 16 of f16.
Payload with_a(const char* text) {
  Payload payload = named("mma.sync.m16n8k16.f16");
  operand(payload, "A").layout = layout(text);
  return payload;
}

std::string reason_of(const std::string& name) {
  const auto found = atom_named(name);
  return found ? "accepted" : found.reason().text;
}

}  // namespace

TEST_CASE("Every listed atom keeps the rules, and its instruction agrees with its layouts") {
  std::size_t with_definition = 0;
  for (const PayloadRef& atom : all_atoms()) {
    INFO(atom->name);
    CHECK(verify(*atom).empty());
    if (atom->executor) ++with_definition;
    const auto again = atom_named(atom->name);
    REQUIRE(again);
    CHECK((*again)->instruction == atom->instruction);
    const bool ptx = atom->target.rfind("sm_", 0) == 0;
    CHECK((!ptx || bool(atom->executor)));  // the whole ptx target has a definition
  }
  CHECK(with_definition > 300);
}

TEST_CASE("Structural checks: each finds its mistake and passes the right layout") {
  CHECK(check_structure(with_a("((4,8),(2,2,2)):((32,1),(16,8,128))")).empty());
  CHECK(breaks(with_a("((4,8),2,(2,2)):((32,1),16,(8,128))"), "form", "A"));
  CHECK(breaks(with_a("((4,4),(2,2,2)):((32,1),(16,8,128))"), "threads", "A"));
  CHECK(breaks(with_a("((4,8),(2,2)):((32,1),(16,8))"), "registers", "A"));
  CHECK(breaks(with_a("((4,8),(2,2)):((32,1),(16,8))"), "tile", "A"));
  CHECK(breaks(with_a("((4,8),(2,2,2)):((32,1),(16,8,129))"), "coverage", "A"));
  CHECK(breaks(with_a("((4,8),(2,2,2)):((32,1),(16,8,0))"), "coverage", "A"));
  Payload incongruent = with_a("((4,8),(2,2,2)):((32,1),(16,8,128))");
  operand(incongruent, "A").layout.stride = layout("((4,8),(2,(2,2))):((32,1),(16,(8,128)))").stride;
  CHECK(breaks(incongruent, "form", "A"));
  Payload empty = with_a("((4,8),(2,2,2)):((32,1),(16,8,128))");
  operand(empty, "A").layout.shape = *parse_int_tuple("((4,8),(2,2,0))");
  CHECK(breaks(empty, "tile", "A"));
  Payload many = with_a("((4,8),(2,2,2)):((32,1),(16,8,128))");
  operand(many, "A").layout.shape = *parse_int_tuple("((4,8),(1000000,1000000,1000000))");
  CHECK(breaks(many, "form", "A"));

  Payload tile = named("mma.sync.m16n8k16.f16");
  tile.mnk[2] = 32;
  CHECK(breaks(tile, "tile", "A"));

  Payload copy = named("ldmatrix.m8n8.x2.b16");
  CHECK(check_structure(copy).empty());
  operand(copy, "ref").layout = layout("((4,8),(32,2)):((32,128),(1,1024))");
  CHECK(check_structure(copy).empty());
  operand(copy, "ref").layout = layout("((8,4),(32,2)):((128,32),(1,1024))");
  CHECK(breaks(copy, "reference", "ref"));

  Payload replicated = named("ldmatrix.m8n8.x1.b16");
  CHECK(check_structure(replicated).empty());
  operand(replicated, "src").replication = 1;
  CHECK(breaks(replicated, "tile", "src"));

  Payload collective = named("tcgen05.ld.32x32b.x2");
  operand(collective, "src").layout = layout("(32,2048):(1,1)");
  CHECK(breaks(collective, "coverage", "src"));

  Payload cells = named("tcgen05.mma.cta_group::1.kind::f16.m64n64k16");
  operand(cells, "C").cell = layout("(16,4,64):(64,64,1)");
  CHECK(breaks(cells, "coverage", "C"));

  Payload state = named("cdna3.buffer_copy<32>");
  state.state.push_back(state.state[0]);
  CHECK(breaks(state, "state", ""));
}

TEST_CASE("What the shape rules cannot see, the instruction shows") {
  for (const char* wrong : {"((4,8),(2,2,2)):((32,1),(128,8,16))", "((8,4),(2,2,2)):((1,64),(8,16,32))"}) {
    const Payload payload = with_a(wrong);
    INFO(wrong);
    CHECK_FALSE(verify(payload).empty());
  }
  const Payload order = with_a("((4,8),(2,2,2)):((32,1),(128,8,16))");
  CHECK(check_structure(order).empty());
  REQUIRE(check_against_instruction(order).size() == 1);
  CHECK(check_against_instruction(order)[0].rule == "ground truth");
}

TEST_CASE("A copy is formed only with values that the bits are made of") {
  const auto buffer = *atom_named("cdna4.global_load_async_lds<96>");
  const auto words = CopyAtom::make(buffer, 32);
  REQUIRE(words);
  CHECK(to_string(words->thread_values("src")) == "(1,3):(1,1)");
  CHECK_FALSE(CopyAtom::make(buffer, 64));
  CHECK_FALSE(CopyAtom::make(buffer, 0));
  CHECK_FALSE(CopyAtom::make(*atom_named("mma.sync.m16n8k8.f16"), 32));
  const auto transposing = *atom_named("cdna4.lds_read_trans<trans=16b,64>");
  const auto halves = CopyAtom::make(transposing, 16);
  REQUIRE(halves);
  CHECK(to_string(halves->thread_values("src")) == "(16,4):(4,1)");
  CHECK(to_string(halves->thread_values("dst")) == "(16,(1,4)):(1,(1,16))");
  CHECK_FALSE(CopyAtom::make(transposing, 32));
  CHECK_FALSE(MmaAtom::make(buffer));
  const auto mma = MmaAtom::make(*atom_named("mma.sync.m16n8k16.bf16"));
  REQUIRE(mma);
  CHECK(mma->value_type('A') == "bf16");
  CHECK(mma->value_type('D') == "f32");
  CHECK(mma->place('D') == Place::registers);
  CHECK(mma->thread_values('D') == mma->thread_values('C'));
}

TEST_CASE("State: fields are typed, set one after the other, and required ones are missed") {
  const auto atom = *atom_named("cdna3.buffer_copy_lds<32>");
  const State start(atom);
  const auto set = start.set("soffset", {"i32", 12, false});
  REQUIRE(set);
  CHECK(set->get("soffset")->number == 12);
  CHECK(start.get("soffset")->number == 0);  // the first value is as it was
  CHECK_FALSE(start.set("sofset", {"i32", 12, false}));
  CHECK_THAT(start.set("sofset", {"i32", 12, false}).reason().text, tests::contains("did you mean soffset?"));
  CHECK_FALSE(start.set("soffset", {"i64", 12, false}));
  CHECK_FALSE(start.set("soffset", {"f32", 12, false}));
  CHECK_FALSE(start.set("soffset", {"i32", std::int64_t{1} << 33, false}));
  CHECK(start.set("imm_offset", {"i32", 12, true}));
  CHECK_FALSE(start.set("imm_offset", {"i32", 12, false}));
  CHECK(start.set_all("soffset=1, imm_offset = 2")->get("imm_offset")->number == 2);
  CHECK(start.set_all("soffset=1, offset=2").reason().text_offset == std::size_t{11});
  CHECK(start.set_all("soffset=x").reason().text_offset == std::size_t{8});
  CHECK_FALSE(start.set_all("soffset"));
  CHECK_FALSE(start.missing());
  CHECK_FALSE(State(*atom_named("universal_copy<32>")).set("soffset", {"i32", 0, true}));

  const State mma(*atom_named("tcgen05.mma.cta_group::1.kind::f16.m128n128k16"));
  REQUIRE(mma.missing());
  CHECK_THAT(mma.missing()->text, tests::contains("d_tmem"));
  const auto whole = mma.set_all("d_tmem=0, a_desc=1, b_desc=2, idesc=3, accumulate=0");
  REQUIRE(whole);
  CHECK_FALSE(whole->missing());
}

TEST_CASE("Names: what no row allows is refused with the rule") {
  CHECK_THAT(reason_of("cdna3.mfma<32x32x4,(f16,f16)->f32>"), tests::contains("2 independent blocks"));
  CHECK(reason_of("!fly_rocdl.cdna3.mfma<32x32x8, (f16, f16) -> f32>") == "accepted");
  CHECK_THAT(reason_of("gfx1250.wmma_scale<16x16x128,(f8E5M2,f8E5M2)->f32,blockSize=8>"), tests::contains("16 or 32"));
  CHECK_THAT(reason_of("gfx1250.wmma<16x16x32,(f16,f16)->f32,signA=true>"), tests::contains("integer inputs"));
  CHECK_THAT(reason_of("cdna4.mfma_scale<16x16x128,(f8E5M2,f8E5M2)->f32,opselA=4>"), tests::contains("[0, 3]"));
  CHECK(reason_of("cdna4.mfma_scale<16x16x128,(f8E5M2,f8E5M2)->f32,opselA=3>") == "accepted");
  CHECK_THAT(reason_of("universal_atomic<and,f32>"), tests::contains("for integers"));
  CHECK_THAT(reason_of("tcgen05.mma.cta_group::1.kind::f16.m128n12k16"), tests::contains("multiple of 8"));
  CHECK(reason_of("tcgen05.mma.cta_group::1.kind::f16.m128n24k16") == "accepted");
  CHECK_THAT(reason_of("tcgen05.ld.32x32b.x3"), tests::contains("no atom"));
  CHECK_THAT(reason_of("tcgen05.ld.16x256b.x64"), tests::contains("no atom"));
  for (const char* odd : {"", "<", "<>", "cdna3.mfma<", "cdna3.mfma<>", "cdna3.mfma<16x16x16>",
                          "cdna3.mfma<0x0x0,(f16,f16)->f32>", "cdna3.mfma<16x16x16,(f16,f17)->f32>", "cdna4.lds_read_trans<>",
                          "cdna4.lds_read_trans<trans=b,64>", "gfx1250.tdm<rank=9>", "universal_copy<99999999999999999999>",
                          "tcgen05.mma.cta_group::1.kind::", "universal_atomic<>"}) {
    INFO(odd);
    CHECK(reason_of(odd) != "accepted");
  }
  CHECK(multi_block_mfmas().size() == 9);
}

TEST_CASE("Registers of tcgen05.ld and st: one field a register, two when packed, all cells once") {
  const auto plain = register_fields(named("tcgen05.ld.16x256b.x2"));
  CHECK(plain.size() == 32 * 8);
  const auto packed = register_fields(named("tcgen05.st.16x32bx2.x4.unpack::16b"));
  CHECK(packed.size() == 32 * 4 * 2);
  // Thread 16 of the second half: columns start at 2 * num.
  const auto far = std::find_if(packed.begin(), packed.end(), [](const RegisterField& field) { return field.thread == 16; });
  CHECK((far->lane == 0 && far->column == 8 && far->bits == 16 && far->col_bit == 0));
}
