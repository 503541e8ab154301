// The contract of atoms: structural checks, value widths, state, names.
#include <algorithm>
#include <set>

#include "ir/atom/families.hpp"
#include "ir/atom/flat_map.hpp"
#include "ir/atom/register_fields.hpp"
#include "ir/atom/rows.hpp"
#include "ir/atom/verify.hpp"
#include "ir/op_list.hpp"
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
  CHECK(reason_of("cdna3.mfma<32x32x4,(f16,f16)->f32>") == "accepted");
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
}

TEST_CASE("MFMA with several blocks: the corrected rows, against the block counts of the instruction set") {
  struct Row {
    const char* name;
    int m, k, blocks, a_values, c_values;
  };
  // A and B: M * K * blocks / 64 values a lane; C: M * M * blocks / 64.
  const Row rows[] = {
      {"cdna3.mfma<32x32x1,(f32,f32)->f32>", 32, 1, 2, 1, 32},   {"cdna3.mfma<16x16x1,(f32,f32)->f32>", 16, 1, 4, 1, 16},
      {"cdna3.mfma<4x4x1,(f32,f32)->f32>", 4, 1, 16, 1, 4},      {"cdna3.mfma<32x32x4,(f16,f16)->f32>", 32, 4, 2, 4, 32},
      {"cdna3.mfma<16x16x4,(f16,f16)->f32>", 16, 4, 4, 4, 16},   {"cdna3.mfma<4x4x4,(f16,f16)->f32>", 4, 4, 16, 4, 4},
      {"cdna3.mfma<32x32x2,(bf16,bf16)->f32>", 32, 2, 2, 2, 32}, {"cdna3.mfma<16x16x2,(bf16,bf16)->f32>", 16, 2, 4, 2, 16},
      {"cdna3.mfma<4x4x2,(bf16,bf16)->f32>", 4, 2, 16, 2, 4}};
  for (const Row& row : rows) {
    const Payload payload = named(row.name);
    INFO(row.name);
    CHECK(payload.blocks == row.blocks);
    CHECK(payload.corrected == std::vector<std::string>{"A", "B", "C"});
    CHECK(payload.operand("A")->register_bits == row.a_values * payload.operand("A")->bits);
    CHECK(payload.operand("C")->register_bits == row.c_values * 32);
    CHECK(verify(payload).empty());
  }
  // Lane 20 of 16x16x4 f16 holds row 4 of block 1; register 6 of its result is row 4 + 2, column 4 of block 1.
  const Payload one = named("cdna3.mfma<16x16x4,(f16,f16)->f32>");
  CHECK((*ThreadValueMap::make(one.operand("A")->layout))(20, 3) == 4 + 16 * 3 + 64);
  CHECK((*ThreadValueMap::make(one.operand("C")->layout))(20, 6) == 6 + 16 * 4 + 256);
}

TEST_CASE("tcgen05.mma: sparse, block-scaled, A in tensor memory; cells by the formulas of the data paths") {
  const auto cell = [](const Payload& payload, const char* which, std::int64_t value) {
    const Operand& of = *payload.operand(which);
    const std::int64_t at = (*FlatMap::make(*of.cell))(value) + of.first_cell;
    return std::pair{at / of.cells_in_row, at % of.cells_in_row};  // lane, column in elements
  };
  // A pair, M = 128: rows 0..63 in the even CTA. Sparse is layout C (16 rows a quadrant), dense layout B (N cut in two).
  const Payload sparse = named("tcgen05.mma.sp.cta_group::2.kind::f16.m128n64k32");
  const auto map = *ThreadValueMap::make(sparse.operand("C")->layout);
  for (std::int64_t v = 0; v < map.values.size(); ++v) {
    const std::int64_t row = map(0, v) % 128, column = map(0, v) / 128;
    CHECK(cell(sparse, "C", v) == std::pair{32 * (row / 16) + row % 16, column});
    CHECK(map(1, v) == map(0, v) + 64);
  }
  CHECK(sparse.operand("A")->tile == 128 * 16);
  CHECK(sparse.operand("B")->tile == 64 * 32);
  // Scale factors: lane x % 32 of every quadrant, column x / 32, byte j.
  const Payload scaled = named("tcgen05.mma.cta_group::1.kind::mxf4nvf4.scale_vec::4X.m128n256k64");
  for (const char* which : {"SFA", "SFB"}) {
    const Operand& of = *scaled.operand(which);
    const auto factors = *ThreadValueMap::make(of.layout);
    CHECK(of.replication == 4);
    for (std::int64_t v = 0; v < factors.values.size(); ++v) {
      const std::int64_t x = factors(0, v) % of.rows, run = factors(0, v) / of.rows;
      const auto [lane, byte] = cell(scaled, which, v);
      CHECK(lane % 32 == x % 32);
      CHECK(byte == 4 * (x / 32) + run);
    }
  }
  // A in tensor memory, M = 64: in the lanes of D.
  const Payload placed = named("tcgen05.mma.cta_group::1.kind::tf32.m64n64k8.a_tmem");
  const auto a = *ThreadValueMap::make(placed.operand("A")->layout);
  for (std::int64_t v = 0; v < a.values.size(); ++v)
    CHECK(cell(placed, "A", v) == std::pair{32 * (a(0, v) % 64 / 16) + a(0, v) % 16, a(0, v) / 64});
  CHECK(named("tcgen05.mma.cta_group::2.kind::f16.m128n64k16.a_tmem").operand("A")->replication == 2);

  CHECK_THAT(reason_of("tcgen05.mma.ws.cta_group::1.kind::f16.m32n64k16.a_tmem"), tests::contains("not settled"));
  CHECK_THAT(reason_of("tcgen05.mma.cta_group::1.kind::mxf4.scale_vec::4X.m128n64k64"), tests::contains("2 scale factors"));
  CHECK_THAT(reason_of("tcgen05.mma.cta_group::1.kind::mxf8f6f4.scale_vec::1X.m64n64k32"), tests::contains("M is 128"));
  CHECK_THAT(reason_of("tcgen05.mma.sp.cta_group::2.kind::mxf4.scale_vec::2X.m128n64k128"), tests::contains("M is 256"));
  CHECK_THAT(reason_of("tcgen05.mma.cta_group::1.kind::mxf4.scale_vec::2X.m128n64k96"), tests::contains("K = 96"));
  CHECK_THAT(reason_of("tcgen05.mma.cta_group::1.kind::f16.scale_vec::1X.m128n64k16"), tests::contains("no scale factors"));
  CHECK_THAT(reason_of("tcgen05.mma.cta_group::1.kind::mxf8f6f4.scale_vec::1X.m128n40k32"), tests::contains("no layout"));
  CHECK_THAT(reason_of("tcgen05.mma.sp.cta_group::1.kind::f16.m128n64k16"), tests::contains("K is 32"));
}

TEST_CASE("tcgen05.cp: pairs and widening") {
  const Payload widened = named("tcgen05.cp.128x128b.b8x16.b4x16_p64");
  const Operand &src = *widened.operand("src"), &dst = *widened.operand("dst");
  const FlatMap from = *FlatMap::make(*src.cell), to = *FlatMap::make(*dst.cell);
  // Bit b of element e of row r: 4 bits packed in the first 8 bytes of the row's 16, then in bits 2 to 5 of byte e of its lane.
  for (std::int64_t r : {0, 5, 127}) {
    for (std::int64_t e = 0; e < 16; ++e) {
      for (std::int64_t b = 0; b < 4; ++b) {
        const std::int64_t value = 64 * r + 4 * e + b;
        CHECK(from(value) == 128 * r + 4 * e + b);
        CHECK(to(value) + dst.first_cell == 128 * r + 8 * e + 2 + b);
      }
    }
  }
  CHECK(named("tcgen05.cp.cta_group::2.64x128b.warpx2::02_13").operand("dst")->replication == 2);
  CHECK(to_string(named("tcgen05.cp.cta_group::2.128x256b").threads) == "2:1");
  CHECK_THAT(reason_of("tcgen05.cp.64x128b"), tests::contains("no atom"));
  CHECK(named("tcgen05.ld.red.32x32b.x8.max.abs.NaN.f32").operand("dst")->register_bits == 256);
  CHECK_THAT(reason_of("tcgen05.ld.red.32x32b.x1.min.f32"), tests::contains("num at least 2"));
  CHECK_THAT(reason_of("tcgen05.ld.red.32x32b.x2.min.abs.u32"), tests::contains("with f32"));
}

TEST_CASE("An atom names the operation of the kernel that it is") {
  std::set<std::string> named_by_atoms, operations;
  for (const Row& row : MachineOps::rows) operations.insert(std::string(row.name));
  for (const PayloadRef& atom : all_atoms()) {
    if (atom->operation.empty()) continue;
    INFO(atom->name);
    CHECK(operations.count(atom->operation) == 1);
    named_by_atoms.insert(atom->operation);
  }
  CHECK(named_by_atoms == std::set<std::string>{"ld", "st", "ldmatrix", "stmatrix", "mma.sync", "tcgen05.ld", "tcgen05.st",
                                                "tcgen05.cp", "tcgen05.mma"});
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
