#include "report/compare.hpp"

#include <cstring>

#include "ir/npy.hpp"
#include "report/memory.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/unit/hand_made.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// A program whose memory the tests write by hand: A -> R (one warpgroup's registers) -> T (tensor memory) -> R -> B.
struct World {
  std::shared_ptr<Kernel> kernel;
  Program program;
  sim::Outcome run;

  World() {
    const Buffer slot = buffer("slot", Space::shared, Dtype::u32, {1});
    kernel = std::make_shared<Kernel>(kernel_of(
        {with_init(buffer("A", Space::global, Dtype::f16, {128, 8}), InitIota{Number(std::int64_t{0}), Number(std::int64_t{1})}),
         buffer("B", Space::global, Dtype::f16, {128, 8}), slot, buffer("T", Space::tmem, Dtype::f16, {128, 8}, "S[(128,8):(1@TLane,1@TCol)]"),
         buffer("R", Space::local, Dtype::f16, {128, 8}, "S[(128,8):(1@tid_in_wg,1)]")},
        {copy(whole(4), whole(0)), lowered(CopyAsync{whole(3), whole(4), {}}), lowered(CopyAsync{whole(4), whole(3), {}}), copy(whole(1), whole(4))}));
    kernel->buffers[2].offset = 1024;
    kernel->buffers[3].slot = 2;
    kernel->buffers[3].column = 16;
    program.kernel = kernel;
    program.first_row = {0, 0, 0, 0, 2};
    program.rows_per_warp = 6;

    Image& image = run.image;
    image.global = {bytes(2048), bytes(2048), {}, {}, {}};
    image.ctas.resize(1);
    image.ctas[0].shared = bytes(2048);
    image.ctas[0].registers.assign(4, std::vector<RegisterRow>(6));
    image.sms.resize(1);
    image.sms[0].value.assign(512 * 128, 0);
    image.sms[0].written.assign(512 * 128, 0);
    put32(image.ctas[0].shared, 1024, 64);  // base column 64
    for (const Stmt& stmt : kernel->body)
      for (const Issued& entry : issued_by(0, 3, {&stmt})) run.issued.push_back(entry);
    run.writer_of_global = [this](BufferId id, std::int64_t) -> std::optional<Ref> {
      if (id != 1) return std::nullopt;
      Ref ref;
      ref.path = kernel->body[3].path;
      ref.warp = 1;
      ref.lanes = ~0u;
      return ref;
    };
    const auto outcome = reference::run(*kernel, run.issued);
    for (std::int64_t x = 0; x < 1024; ++x)
      for (BufferId id : {BufferId{0}, BufferId{1}}) put16(image.global[id], 2 * x, static_cast<std::uint16_t>(outcome.global[0].bits[static_cast<std::size_t>(x)]));
  }

  static Bytes bytes(std::size_t size) { return {std::vector<std::uint8_t>(size, 0xcd), std::vector<std::uint8_t>(size, 0)}; }
  static void put16(Bytes& bytes, std::int64_t at, std::uint16_t value) {
    for (std::size_t i = 0; i < 2; ++i) {
      bytes.data[static_cast<std::size_t>(at) + i] = static_cast<std::uint8_t>(value >> (8 * i));
      bytes.written[static_cast<std::size_t>(at) + i] = 1;
    }
  }
  static void put32(Bytes& bytes, std::int64_t at, std::uint32_t value) {
    put16(bytes, at, static_cast<std::uint16_t>(value));
    put16(bytes, at + 2, static_cast<std::uint16_t>(value >> 16));
  }

  report::Comparison compare() const { return report::compare_with_reference(program, run, reference::run(*kernel, run.issued)); }
  report::Comparison stated(const Expect& expect) const { return report::compare_with_stated(program, run, expect); }
};

Expect equal(ExpectedEqual stated) {
  Expect expect;
  expect.equal.push_back(std::move(stated));
  return expect;
}

}  // namespace

TEST_CASE("Equal memories have no mismatch, and the elements written are counted") {
  const World world;
  const auto comparison = world.compare();
  CHECK_FALSE(comparison.first);
  CHECK(comparison.compared == 1024);  // B; A was only read
}

TEST_CASE("The first difference names element, bits, thread, register, lane and column") {
  World world;
  // Element [37, 5]: thread 37, third register (two halves each), lane 37, column 64 + 16 + 2.
  World::put16(world.run.image.global[1], 2 * (37 * 8 + 5), 0x1234);
  const auto comparison = world.compare();
  REQUIRE(comparison.first);
  CHECK(comparison.differing == 1);
  CHECK(comparison.first->buffer == "B");
  CHECK(comparison.first->index == std::vector<std::int64_t>{37, 5});
  CHECK(comparison.first->expected_bits == 0x5cb4);  // 37 * 8 + 5 = 301 in f16
  CHECK(comparison.first->actual_bits == 0x1234);
  CHECK(comparison.first->thread == 37u);
  CHECK(comparison.first->reg == 2u);
  CHECK(comparison.first->lane == 37);
  CHECK(comparison.first->column == 82);
  REQUIRE(comparison.first->written_by);
  CHECK(comparison.first->written_by->path == "program[3]");
}

TEST_CASE("An input that the run spoilt, and a byte that nobody wrote, are mismatches") {
  World spoilt;
  World::put16(spoilt.run.image.global[0], 0, 0x7777);
  REQUIRE(spoilt.compare().first);
  CHECK(spoilt.compare().first->buffer == "A");
  World unwritten;
  unwritten.run.image.global[1].written[11] = 0;
  REQUIRE(unwritten.compare().first);
  CHECK(unwritten.compare().first->unwritten);
  CHECK(unwritten.compare().first->index == std::vector<std::int64_t>{0, 5});
}

TEST_CASE("expect.equal: regions, values, files, tolerances") {
  World world;
  CHECK_FALSE(world.stated(equal({whole(1), whole(0), {}, {}, {}})).first);
  CHECK(world.stated(equal({whole(1), whole(0), {}, {}, {}})).compared == 1024);
  const Region row{1, {one(0), from_to(0, 4)}};
  CHECK_FALSE(world.stated(equal({row, InitData{{Number(std::int64_t{0}), Number(std::int64_t{1}), Number(2.0), Number(3.0)}}, {}, {}, {}})).first);
  const Region first{1, {one(0), one(1)}};
  CHECK_FALSE(world.stated(equal({first, InitFill{Number(1.0)}, {}, {}, {}})).first);
  const auto off = [&](std::optional<double> abs, std::optional<std::uint64_t> ulp) {
    return world.stated(equal({first, InitFill{Number(1.001953125)}, abs, ulp, {}})).first.has_value();  // 2 ulp of f16 away
  };
  CHECK(off({}, {}));
  CHECK(off(0.001, {}));
  CHECK_FALSE(off(0.002, {}));
  CHECK(off({}, 1));
  CHECK_FALSE(off({}, 2));
  CHECK_THROWS_AS(world.stated(equal({row, InitData{{Number(0.0)}}, {}, {}, {}})), InputError);

  const TemporaryFolder folder;
  NpyArray array{Dtype::f16, {4}, std::vector<std::byte>(8)};
  const std::uint16_t values[]{0x0000, 0x3c00, 0x4000, 0x4200};
  std::memcpy(array.data.data(), values, 8);
  write_npy(folder / "row.npy", array);
  world.kernel->folder = folder.path().string();
  CHECK_FALSE(world.stated(equal({row, InitNpy{"row.npy"}, {}, {}, {}})).first);
  CHECK_THROWS_AS(world.stated(equal({row, InitNpy{"missing.npy"}, {}, {}, {}})), InputError);
}

TEST_CASE("expect.cells and expect.regs are physical") {
  World world;
  Cells& cells = world.run.image.sms[0];
  cells.value[70 * 128 + 5] = 0xaabbccdd;
  cells.written[70 * 128 + 5] = 3;
  Expect expect;
  expect.cells.push_back({0, 5, 70, 0xaabbccdd, {}});
  CHECK_FALSE(world.stated(expect).first);
  expect.cells[0].bits = 1;
  REQUIRE(world.stated(expect).first);
  CHECK(world.stated(expect).first->lane == 5);
  CHECK(world.stated(expect).first->column == 70);
  expect.cells[0].bits = 0xaabbccdd;
  cells.written[70 * 128 + 5] = 1;  // the high half was never written
  CHECK(world.stated(expect).first);

  expect.cells.clear();
  expect.registers.push_back({0, 4, 37, 3, 99, {}});
  CHECK(world.stated(expect).first);
  world.run.image.ctas[0].registers[1][5].value[5] = 99;  // thread 37 = warp 1, lane 5; row 2 + 3
  world.run.image.ctas[0].registers[1][5].written = 1u << 5;
  CHECK_FALSE(world.stated(expect).first);
}

TEST_CASE("Elements are read back from every space") {
  World world;
  const report::Memory memory(world.program, world.run.image);
  Cells& cells = world.run.image.sms[0];
  const std::size_t cell = (64 + 16 + 2) * 128 + 37;  // element [37, 5]: column 82, high half
  cells.value[cell] = 0x43210000;
  cells.written[cell] = 2;
  const auto read = memory.read(3, 0, 0, 37 * 8 + 5);
  REQUIRE(read);
  CHECK(read->bits == 0x4321);
  CHECK(read->written);
  CHECK_FALSE(memory.read(3, 0, 0, 37 * 8 + 4)->written);
  world.run.image.ctas[0].registers[1][2 + 2].value[5] = 0x87650000;
  world.run.image.ctas[0].registers[1][2 + 2].written = 1u << 5;
  CHECK(memory.read(4, 0, 0, 37 * 8 + 5)->bits == 0x8765);
  world.run.image.ctas[0].shared.written[1024] = 0;  // no base address: no place
  CHECK_FALSE(memory.read(3, 0, 0, 0));
}

TEST_CASE("Whether a run writes global memory") {
  World world;
  CHECK(report::writes_global(*world.kernel, world.run));
  world.run.issued.resize(world.run.issued.size() - 4);  // without the last statement
  CHECK_FALSE(report::writes_global(*world.kernel, world.run));
}
