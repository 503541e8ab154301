// Operands of the tensor core: where each element of a matrix lies, and whether the instruction can reach it there.
// PTX ISA 9.7.16.10.3 to 9.7.16.10.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/hazards.hpp"
#include "sim/exec/exec.hpp"

namespace tmemsim::sim {

// Bytes [first, first + count) of a CTA's shared window or of a global buffer.
using ByteRuns = std::vector<std::pair<std::int64_t, std::int64_t>>;

// A matrix in shared memory, the same for every CTA.
struct SharedMatrix {
  std::vector<std::int64_t> byte;  // of element (mn, k), at index mn * K + k
  ByteRuns runs;
};
// Element (mn, k) of the region. `transposed`: the region is [K, MN].
SharedMatrix shared_matrix(const Buffer& buffer, const RegionPlan& region, std::int64_t first, bool transposed);

// The bytes of the elements of a region, in row-major order.
std::vector<std::int64_t> region_bytes(const Buffer& buffer, const RegionPlan& region, std::int64_t first);

// Runs of bytes that some elements of `bytes` bytes each cover.
ByteRuns runs_of(std::vector<std::int64_t> first, std::int64_t bytes);

// Whether a descriptor can describe the matrix: one of the canonical layouts of 8.2 for elements of `bytes` bytes (1, 2 or 4).
bool is_canonical(const std::vector<std::int64_t>& byte, std::int64_t mn, std::int64_t k, int bytes, bool k_major_only);

// A matrix in tensor memory, relative to the buffer's base address.
struct TmemMatrix {
  struct Cell {
    std::uint32_t lane = 0, column = 0, bit = 0;
  };
  std::vector<Cell> cell;  // of element (row, column), at index row * columns + column
};
TmemMatrix tmem_matrix(const Buffer& buffer, const RegionPlan& region, std::int64_t first);

// Where tcgen05.mma keeps the rows of D (and of A in tensor memory). `lane_base`: 0, or 16 for F.
enum class DataPath : std::uint8_t { a, b, d, f };
std::optional<DataPath> data_path(std::int64_t m, int cta_group);
constexpr char letter(DataPath path) {
  return path == DataPath::a ? 'A' : path == DataPath::b ? 'B' : path == DataPath::d ? 'D' : 'F';
}
// Row and column as one CTA counts them; columns relative to the address of D.
TmemMatrix::Cell cell_of(DataPath path, std::int64_t row, std::int64_t column, std::int64_t n);
// Columns that D takes.
constexpr std::int64_t d_columns(DataPath path, std::int64_t n) { return path == DataPath::b ? n / 2 : n; }
// Slabs of 16 lanes that the data path uses; bit i = lanes 16 * i .. .
constexpr std::uint32_t slabs_of(DataPath path, std::uint32_t lane_base) {
  return path == DataPath::f ? (lane_base == 0 ? 0x55u : 0xaau) : 0xffu;
}

// Maximal boxes of the slabs whose bits are set.
std::vector<SlabBox> boxes_of(std::uint32_t slab_bits, std::uint32_t column, std::uint32_t columns);

// ---- accesses of the asynchronous proxy to shared and global memory (check/async_bytes.cpp) ----

struct AsyncBytes {
  ByteMemory* memory = nullptr;
  const Cta* owner = nullptr;  // of shared memory
  BufferId buffer = 0;
  std::int64_t base = 0;       // where the buffer starts in `memory`
};
// Compares the access `record` with everything that touched the bytes, reports races and missing proxy fences, and enters it
// into the shadow. False where a finding was made or had been made about the bytes.
bool check_async_bytes(Warp& warp, const AsyncBytes& where, const ByteRuns& runs, Warp::Touch touch, std::uint32_t record);

}  // namespace tmemsim::sim
