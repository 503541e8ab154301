// TiledCopy and TiledMma: the worked examples, and ownership by brute force.
#include <map>
#include <set>

#include "ir/atom/flat_map.hpp"
#include "ir/atom/registry.hpp"
#include "ir/atom/tiled.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::atom;

namespace {

NestedLayout layout(const std::string& text) { return *parse_nested(text); }

CopyAtom copy_atom(const std::string& name, std::int64_t bits) { return *CopyAtom::make(*atom_named(name), bits); }

template <class T>
std::string said(const Result<T>& result) {
  return result ? to_string(*result) : result.reason().text;
}

const ThreadValueTile& rows_of_128() {
  static const ThreadValueTile made = *thread_value_tile(layout("(8,32):(32,1)"), layout("(1,4):(4,1)"));
  return made;
}
TiledCopy rows_copy() { return *TiledCopy::make(copy_atom("universal_copy<128>", 32), rows_of_128().tv, rows_of_128().tile); }
TiledMma four_waves() {
  return *TiledMma::make(*MmaAtom::make(*atom_named("cdna3.mfma<16x16x16,(f16,f16)->f32>")), layout("(2,2,1):(1,2,0)"));
}

std::int64_t first_offset(const NestedLayout& view, std::int64_t thread) {
  return crd2idx(IntTuple(thread), mode(view, 0))->value;
}

}  // namespace

TEST_CASE("Threads and values make a tile") {
  CHECK(to_string(rows_of_128().tv) == "((32,8),4):((32,1),8)");
  CHECK(to_string(rows_of_128().tile) == "(8,128)");
}

TEST_CASE("A tiled copy of four floats a thread: view, owners, iterations") {
  const TiledCopy copy = rows_copy();
  CHECK(copy.threads() == 256);
  const auto view = copy.view("src", layout("(32,256):(256,1)"));
  REQUIRE(view);
  CHECK(to_string(*view) == "((32,8),(4,1),(4,2)):((4,256),(1,0),(2048,128))");
  CHECK(first_offset(*view, 32) == 256);    // row 1, columns from 0 on
  CHECK(first_offset(*view, 255) == 1916);  // row 7, columns 124..127
  CHECK(size(mode(*view, 2))->is(8));
  CHECK_FALSE(not_owned_once(*view, 32 * 256));
  CHECK(said(copy.view("src", layout("(128,128):(1,0)"))) == "((32,8),(4,1),(16,1)):((0,1),(0,0),(8,0))");
  const auto part = copy.partition("src", layout("(32,256):(256,1)"), 255);
  REQUIRE(part);
  CHECK(part->offset == 1916);
  CHECK(to_string(part->layout) == "((4,1),(4,2)):((1,0),(2048,128))");
  CHECK_FALSE(copy.partition("src", layout("(32,256):(256,1)"), 256));
  CHECK_FALSE(copy.view("src", layout("(30,256):(256,1)")));
  CHECK_FALSE(copy.view("src", layout("(8192):(1)")));
}

TEST_CASE("A transposing copy: source and destination give a thread different elements") {
  const auto copy = TiledCopy::make(copy_atom("cdna4.lds_read_trans<trans=16b,64>", 16), layout("((16,4),4):((1,64),16)"),
                                    *parse_int_tuple("(16,16)"));
  REQUIRE(copy);
  const NestedLayout data = layout("(16,16):(1,16)");
  const auto src = copy->view("src", data), dst = copy->view("dst", data);
  REQUIRE(src);
  REQUIRE(dst);
  CHECK(first_offset(*src, 1) == 4);
  const auto from = copy->partition("src", data, 0), to = copy->partition("dst", data, 0);
  REQUIRE((from && to));
  std::vector<std::int64_t> read, received;
  const FlatMap from_map = *FlatMap::make(from->layout), to_map = *FlatMap::make(to->layout);
  for (std::int64_t v = 0; v < 4; ++v) {
    read.push_back(from->offset + from_map(v));
    received.push_back(to->offset + to_map(v));
  }
  CHECK(read == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(received == std::vector<std::int64_t>{0, 16, 32, 48});
  CHECK_FALSE(not_owned_once(*src, 256));
  CHECK_FALSE(not_owned_once(*dst, 256));
}

TEST_CASE("A tiled copy is refused when an element has two owners or none, or the atom does not fit") {
  const CopyAtom atom = copy_atom("universal_copy<128>", 32);
  CHECK_FALSE(TiledCopy::make(atom, layout("((32,8),4):((32,1),4)"), rows_of_128().tile));
  CHECK_FALSE(TiledCopy::make(atom, layout("((32,8),4):((32,1),8)"), *parse_int_tuple("(8,64)")));
  CHECK_FALSE(TiledCopy::make(atom, layout("(512,2):(1,512)"), *parse_int_tuple("(8,128)")));
  CHECK_FALSE(
      TiledCopy::make(copy_atom("cdna4.lds_read_trans<trans=16b,64>", 16), layout("(8,4):(1,8)"), *parse_int_tuple("(8,4)")));
  CHECK(TiledCopy::make(atom, layout("((32,8),4):((32,1),8)"), *parse_int_tuple("(8,128)")));
}

TEST_CASE("A tiled matrix instruction: thread coordinates and views") {
  const TiledMma mma = four_waves();
  CHECK(mma.threads() == 256);
  CHECK(to_string(mma.thread_vmnk()) == "(64,2,2,1):(1,64,128,0)");
  CHECK(said(mma.view('A', layout("(128,64):(64,1)"))) == "(((16,4),(2,1)),(4,(4,4))):(((64,4),(1024,0)),(1,(2048,16)))");
  CHECK(said(mma.view('C', layout("(128,128):(128,1)"))) ==
        "(((16,4),(2,2)),((4,1),(4,4))):(((1,512),(2048,16)),((128,0),(4096,32)))");
  CHECK_FALSE(not_owned_once(*mma.view('A', layout("(128,64):(64,1)")), 128 * 64));
  CHECK_FALSE(not_owned_once(*mma.view('C', layout("(128,128):(128,1)")), 128 * 128));
  CHECK_FALSE(mma.view('A', layout("(120,64):(64,1)")));
  CHECK_FALSE(mma.partition('A', layout("(128,64):(64,1)"), 256));
  CHECK_FALSE(TiledMma::make(*MmaAtom::make(*atom_named("mma.sync.m16n8k16.f16")), layout("(2,2):(1,2)")));
  CHECK_FALSE(TiledMma::make(*MmaAtom::make(*atom_named("cdna3.mfma<16x16x4,(f16,f16)->f32>")), layout("(1,1,1):(0,0,0)")));
  // Thread 128 is thread 0 of the atom at M 0, N 1; its fragment of A is 4 values, 4 atoms along M, 4 along K.
  CHECK(to_string(*idx2crd(IntTuple(128), mma.thread_vmnk())) == "(0,0,1,0)");
  CHECK(to_string(mma.partition('A', layout("(128,64):(64,1)"), 0)->layout.shape) == "(4,(4,4))");
}

TEST_CASE("Each element of an operand's tile has as many owners as atoms share it") {
  const std::pair<const char*, const char*> cases[] = {{"mma.sync.m16n8k16.f16", "(2,2,1):(1,2,0)"},
                                                       {"mma.sync.m16n8k8.tf32", "(1,4,2):(0,1,4)"},
                                                       {"cdna3.mfma<32x32x8,(f16,f16)->f32>", "(2,1,2):(2,0,1)"},
                                                       {"gfx11.wmma<16x16x16,(f16,f16)->f32>", "(2,2,1):(2,1,0)"}};
  for (const auto& [name, atoms] : cases) {
    INFO(name << " " << atoms);
    const auto made = TiledMma::make(*MmaAtom::make(*atom_named(name)), layout(atoms));
    REQUIRE(made);
    for (const char operand : {'A', 'B', 'C'}) {
      // The same from the partitions of all threads.
      const auto tv = made->thread_values(operand);
      REQUIRE(tv);
      const auto map = *ThreadValueMap::make(*tv);
      const auto [rows, columns] = made->tile(operand);
      std::map<std::int64_t, std::int64_t> owners;
      for (std::int64_t thread = 0; thread < made->threads(); ++thread) {
        const auto part = made->partition(operand, *make_layout(IntTuple::of({rows, columns})), thread);
        REQUIRE(part);
        const FlatMap values = *FlatMap::make(part->layout);
        REQUIRE(values.size() == map.values.size());
        for (std::int64_t v = 0; v < values.size(); ++v) {
          REQUIRE(part->offset + values(v) == map(thread, v));
          ++owners[map(thread, v)];
        }
      }
      CHECK(static_cast<std::int64_t>(owners.size()) == rows * columns);
      for (const auto& [at, count] : owners) REQUIRE(count == made->owners(operand));
    }
  }
}

TEST_CASE("A fragment of a matrix instruction as a copy walks it") {
  // C of mma.sync, 2 x 2 warps, stored by copies of two floats: the copy's values are the registers that hold the elements
  // which the copy owns.
  const TiledMma mma = *TiledMma::make(*MmaAtom::make(*atom_named("mma.sync.m16n8k16.f16")), layout("(2,2,1):(1,2,0)"));
  for (const auto& [bits, operand] : {std::pair{32, 'C'}, std::pair{32, 'A'}, std::pair{32, 'B'}}) {
    INFO(operand);
    const std::int64_t width = operand == 'C' ? 32 : 16;
    const auto copy = TiledCopy::for_operand(copy_atom("universal_copy<32>", width), mma, operand);
    if (!copy) FAIL(copy.reason().text);
    const auto [rows, columns] = mma.tile(operand);
    const NestedLayout data = *make_layout(IntTuple::of({2 * rows, 3 * columns}));
    // The thread's fragment: its values side by side, then the tiles along both dimensions.
    const auto part = mma.partition(operand, data, 0);
    REQUIRE(part);
    const std::int64_t values = FlatMap::make(mode(part->layout, 0))->size(), all = FlatMap::make(part->layout)->size();
    CHECK(all == values * 6);
    const NestedLayout fragment = *make_layout(IntTuple::of({values, 2, 3}));
    const auto retiled = copy->retile(fragment);
    if (!retiled) FAIL(retiled.reason().text);
    CHECK_FALSE(not_owned_once(*retiled, all));
    const FlatMap registers = *FlatMap::make(*retiled);
    for (const std::int64_t thread : {0, 5, 31, 64, 127}) {
      const auto held = mma.partition(operand, data, thread), copied = copy->partition("dst", data, thread);
      REQUIRE((held && copied));
      const FlatMap in_fragment = *FlatMap::make(held->layout), walked = *FlatMap::make(copied->layout);
      REQUIRE(walked.size() == all);
      for (std::int64_t i = 0; i < all; ++i) REQUIRE(copied->offset + walked(i) == held->offset + in_fragment(registers(i)));
    }
  }
  CHECK_FALSE(rows_copy().retile(layout("(4,2):(1,4)")));
}

TEST_CASE("The threads of a tiled matrix instruction together compute every product once") {
  // Each thread's C, and the rows and columns of A and B that its atom reads, from the partitions alone.
  const TiledMma mma = *TiledMma::make(*MmaAtom::make(*atom_named("mma.sync.m16n8k16.f16")), layout("(2,2,1):(1,2,0)"));
  const std::int64_t m = 64, n = 32, k = 32;
  std::map<std::int64_t, int> owners;
  std::map<std::int64_t, std::set<std::int64_t>> rows_of_a, rows_of_c, rows_of_b, columns_of_c;  // by warp
  for (std::int64_t thread = 0; thread < mma.threads(); ++thread) {
    const auto c = mma.partition('C', layout("(64,32):(1,64)"), thread),
               a = mma.partition('A', layout("(64,32):(1,64)"), thread),
               b = mma.partition('B', layout("(32,32):(1,32)"), thread);
    REQUIRE((a && b && c));
    const std::int64_t warp = thread / 32;
    const auto visit = [](const TiledCopy::Part& part, const auto& use) {
      const FlatMap map = *FlatMap::make(part.layout);
      for (std::int64_t v = 0; v < map.size(); ++v) use(part.offset + map(v));
    };
    visit(*c, [&](std::int64_t at) {
      ++owners[at];
      rows_of_c[warp].insert(at % m);
      columns_of_c[warp].insert(at / m);
    });
    visit(*a, [&](std::int64_t at) { rows_of_a[warp].insert(at % m); });
    visit(*b, [&](std::int64_t at) { rows_of_b[warp].insert(at % n); });
  }
  CHECK(owners.size() == static_cast<std::size_t>(m * n));
  for (const auto& [at, count] : owners) CHECK(count == 1);
  CHECK(rows_of_a == rows_of_c);
  CHECK(rows_of_b == columns_of_c);
  CHECK(k == 32);
}
