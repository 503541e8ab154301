// The emulated tensor memory, called directly: every form of ld and st against the forward map, and the allocator.
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "emit/cuda/runtime/emulated_tmem.hpp"
#include "tests/catch.hpp"

namespace {

using emulated::TensorMemory;

struct Cell {
  int lane, column;
};

// Register r of thread t -> cell, relative to the address. PTX ISA 9.7.16.8, the figures of the five shapes.
Cell forward(const emulated::Shape32x32b*, int t, int r) { return {t, r}; }
Cell forward(const emulated::Shape16x64b*, int t, int r) { return {8 * (t & 1) + (t >> 2), ((t >> 1) & 1) + 2 * r}; }
Cell forward(const emulated::Shape16x128b*, int t, int r) { return {(t >> 2) + 8 * (r & 1), (t & 3) + 4 * (r >> 1)}; }
Cell forward(const emulated::Shape16x256b*, int t, int r) {
  return {(t >> 2) + 8 * ((r >> 1) & 1), (r & 1) + 2 * (t & 3) + 8 * (r >> 2)};
}

uint32_t code(int lane, int column) { return 0x10000u * unsigned(lane + 1) + unsigned(column) + 0x80008000u; }

struct OneCta {
  std::unique_ptr<TensorMemory> memory = std::make_unique<TensorMemory>();
  OneCta() {
    gridDim = blockIdx = threadIdx = dim3(1);
    blockIdx = dim3(0, 0, 0);
    emulated::tensor_memories = memory.get();
    for (uint32_t& owner : memory->owner) owner = 1;
    for (int lane = 0; lane < 128; ++lane) {
      for (int column = 0; column < 512; ++column) memory->cell[lane][column] = code(lane, column);
    }
  }
};

constexpr int first_column = 3, quadrant = 2;

// Checks ld against the cells, and st of other values through the same form.
template <class Shape, int Num, bool Packed, int Registers>
void check_form(int offset) {
  OneCta cta;
  const uint32_t address = uint32_t(32 * quadrant + offset) << 16 | uint32_t(first_column);
  const auto cell = [&](int t, int r, int half) -> uint32_t& {
    const Cell at = forward(static_cast<const Shape*>(nullptr), t, r);
    return cta.memory->cell[32 * quadrant + offset + at.lane][first_column + (Packed ? 2 * at.column + half : at.column)];
  };
  for (int t = 0; t < 32; ++t) {
    threadIdx = dim3(unsigned(32 * quadrant + t), 0, 0);
    uint32_t r[Registers] = {};  // no code is 0
    emulated::ld<Shape, Num, Packed>(address, r);
    for (int i = 0; i < Registers; ++i) {
      const uint32_t expected = Packed ? (cell(t, i, 0) & 0xffffu) | cell(t, i, 1) << 16 : cell(t, i, 0);
      if (r[i] != expected) FAIL("ld: thread " << t << " register " << i << ": " << r[i] << " for " << expected);
      r[i] = ~expected;
    }
    emulated::st<Shape, Num, Packed>(address, r);
    for (int i = 0; i < Registers; ++i) {
      const uint32_t now = Packed ? (cell(t, i, 0) & 0xffffu) | cell(t, i, 1) << 16 : cell(t, i, 0);
      if (now != r[i]) FAIL("st: thread " << t << " register " << i);
      if (Packed && cell(t, i, 0) >> 16 == 0xffffu) FAIL("st: the upper half changed");
    }
  }
  // Every register has been written once, all different: as many cells changed as the form has.
  int changed = 0;
  for (int lane = 0; lane < 128; ++lane) {
    for (int column = 0; column < 512; ++column) changed += cta.memory->cell[lane][column] != code(lane, column);
  }
  CHECK(changed == 32 * Registers * (Packed ? 2 : 1));
}

template <class Shape, int PerNum, int Num, int Most>
void check_shape() {
  check_form<Shape, Num, false, PerNum * Num>(0);
  check_form<Shape, Num, true, PerNum * Num>(0);
  if (Shape::lanes == 16) check_form<Shape, Num, false, PerNum * Num>(16);
  if constexpr (Num < Most) check_shape<Shape, PerNum, 2 * Num, Most>();
}

template <int Num, bool Packed>
void check_halves() {
  OneCta cta;
  constexpr int split = 200;
  const uint32_t address = uint32_t(32 * quadrant + 16) << 16 | uint32_t(first_column);
  for (int t = 0; t < 32; ++t) {
    threadIdx = dim3(unsigned(32 * quadrant + t), 0, 0);
    uint32_t r[Num] = {};
    emulated::ld_halves<Num, Packed>(address, split, r);
    for (int i = 0; i < Num; ++i) {
      const uint32_t* cell =
          &cta.memory->cell[32 * quadrant + 16 + t % 16][first_column + split * (t / 16) + (Packed ? 2 * i : i)];
      if (r[i] != (Packed ? (cell[0] & 0xffffu) | cell[1] << 16 : cell[0])) FAIL("thread " << t << " register " << i);
    }
  }
}

// What a call does to the process: the exit status, 3 for a fault.
template <class Call>
int status_of(Call call) {
  const pid_t child = fork();
  if (child == 0) {
    (void)std::freopen("/dev/null", "w", stdout);
    (void)std::freopen("/dev/null", "w", stderr);
    call();
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("emulated ld and st: every shape and number, packed and not") {
  check_shape<emulated::Shape32x32b, 1, 1, 128>();
  check_shape<emulated::Shape16x64b, 1, 1, 64>();  // x128 packed has 512 columns: checked at column 0 below
  check_shape<emulated::Shape16x128b, 2, 1, 32>();
  check_shape<emulated::Shape16x256b, 4, 1, 16>();
  check_halves<1, false>();
  check_halves<32, false>();
  check_halves<128, false>();
  check_halves<16, true>();
  check_halves<64, true>();
}

TEST_CASE("emulated ld: the widest forms fill the 512 columns") {
  OneCta cta;
  threadIdx = dim3(5, 0, 0);
  uint32_t r[128] = {};
  emulated::ld<emulated::Shape16x64b, 128, true>(0, r);
  CHECK(r[127] == ((cta.memory->cell[9][508] & 0xffffu) | cta.memory->cell[9][509] << 16));  // thread 5: lane 9, even columns
  emulated::ld<emulated::Shape16x256b, 32, true>(0, r);
  CHECK(r[127] == ((cta.memory->cell[9][502] & 0xffffu) | cta.memory->cell[9][503] << 16));
}

TEST_CASE("emulated ld: what the hardware traps on stops the program") {
  OneCta cta;
  threadIdx = dim3(32 * quadrant, 0, 0);
  uint32_t r[2] = {};
  const auto load = [&](uint32_t lane, uint32_t column) {
    return [&r, lane, column] { emulated::ld<emulated::Shape32x32b, 2, false>(lane << 16 | column, r); };
  };
  const auto load16 = [&](uint32_t lane) {
    return [&r, lane] { emulated::ld<emulated::Shape16x64b, 2, false>(lane << 16, r); };
  };
  CHECK(status_of(load(64, 0)) == 0);
  CHECK(status_of(load(0, 0)) == 0);   // the quadrant may be left out
  CHECK(status_of(load(32, 0)) == 3);  // another warp's
  CHECK(status_of(load(65, 0)) == 3);
  CHECK(status_of(load(64, 510)) == 0);
  CHECK(status_of(load(64, 511)) == 3);
  CHECK(status_of(load16(80)) == 0);
  CHECK(status_of(load16(72)) == 3);
  cta.memory->owner[3] = 0;
  CHECK(status_of(load(64, 96)) == 3);
  CHECK(status_of(load(64, 95)) == 3);
  CHECK(status_of(load(64, 94)) == 0);
}

TEST_CASE("emulated allocator: lowest aligned run, exact dealloc, permit") {
  OneCta cta;
  for (uint32_t& owner : cta.memory->owner) owner = 0;
  CHECK(emulated::alloc(32) == 0);
  CHECK(emulated::alloc(128) == 128);  // aligned to its own length
  CHECK(emulated::alloc(64) == 64);
  CHECK(emulated::alloc(32) == 32);
  CHECK(emulated::alloc(256) == 256);
  emulated::dealloc(128, 128);
  CHECK(emulated::alloc(64) == 128);
  CHECK(status_of([] { emulated::dealloc(64, 32); }) == 3);   // a part
  CHECK(status_of([] { emulated::dealloc(64, 128); }) == 3);  // and more
  CHECK(status_of([] { emulated::dealloc(96, 32); }) == 3);   // not its start
  CHECK(status_of([] { emulated::dealloc(192, 64); }) == 3);  // free
  CHECK(status_of([] { emulated::dealloc(1 << 16 | 64, 64); }) == 3);
  CHECK(status_of([] { emulated::dealloc(64, 64); }) == 0);
  CHECK(status_of([] { emulated::alloc(96); }) == 3);
  CHECK(status_of([] { emulated::alloc(0); }) == 3);
  CHECK(status_of([] { emulated::alloc(1024); }) == 3);
  emulated::relinquish();
  CHECK(status_of([] { emulated::alloc(32); }) == 3);
}
