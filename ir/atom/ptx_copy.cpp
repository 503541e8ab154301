// Copies of the ptx family: per-thread loads and stores, cp.async, ldmatrix and stmatrix. PTX ISA 9.7.9.8, 9.7.9.11,
// 9.7.9.25.3 and 9.7.14.5.15/16.
#include <algorithm>
#include <iterator>

#include "ir/atom/families.hpp"
#include "ir/atom/rows.hpp"

namespace tmemsim::atom {
namespace {

template <class Row, class Table>
std::vector<Payload> payloads(const Table& table) {
  static_assert(FamilyRow<Row>);
  std::vector<Payload> made;
  for (const Row& row : table) made.push_back(*row.payload());
  return made;
}

template <class Row>
std::optional<Result<Payload>> row_named(const std::vector<Row>& table, std::string_view prefix, std::string_view name) {
  if (name.substr(0, prefix.size()) != prefix) return std::nullopt;
  for (const Row& row : table) {
    if (row.name() == name) return row.payload();
  }
  return std::nullopt;
}

// ---- one thread: ld and st

struct VectorRow {
  bool load;
  Place memory;
  int bits;

  std::string name() const {
    const std::string width = bits <= 32 ? fmt::format("b{}", bits) : fmt::format("v{}.b32", bits / 32);
    return fmt::format("{}.{}.{}", load ? "ld" : "st", atom::name(memory), width);
  }
  Result<Payload> payload() const {
    Payload made = load ? per_thread_copy(name(), "generic", name(), bits, memory, Place::registers)
                        : per_thread_copy(name(), "generic", name(), bits, Place::registers, memory);
    made.operation = load ? "ld" : "st";
    made.executor = identity_copy("PTX ISA 9.7.9.8, 9.7.9.11: element i of the vector is at address + i * width");
    return made;
  }
};

std::vector<VectorRow> vector_rows() {
  std::vector<VectorRow> rows;
  for (const bool load : {true, false}) {
    for (const Place memory : {Place::global, Place::shared}) {
      for (const int bits : {8, 16, 32, 64, 128}) rows.push_back({load, memory, bits});
    }
  }
  return rows;
}

std::optional<Result<Payload>> vector_named(std::string_view name) {
  if (auto found = row_named(vector_rows(), "ld.", name)) return found;
  return row_named(vector_rows(), "st.", name);
}

// ---- cp.async

struct AsyncRow {
  std::string_view cache;
  int bytes;

  std::string name() const { return fmt::format("cp.async.{}.{}", cache, bytes); }
  Result<Payload> payload() const {
    Payload made = per_thread_copy(name(), "sm_80", fmt::format("cp.async.{}.shared.global", cache), bytes * 8, Place::global,
                                   Place::shared);
    made.state = {{"src_size", "i32", "bytes", bytes, false}};  // the rest of the destination is zero-filled
    made.executor = identity_copy("PTX ISA 9.7.9.25.3: cp-size bytes in order");
    return made;
  }
};

std::vector<AsyncRow> async_rows() { return {{"ca", 4}, {"ca", 8}, {"ca", 16}, {"cg", 16}}; }
std::optional<Result<Payload>> async_named(std::string_view name) { return row_named(async_rows(), "cp.async.", name); }

// ---- ldmatrix and stmatrix: num matrices of 8 rows of 8 16-bit elements; row i of matrix j is where thread 8j + i points

struct MatrixRow {
  bool load;
  int num;
  bool transposed;

  std::string name() const {
    return fmt::format("{}.m8n8.x{}{}.b16", load ? "ldmatrix" : "stmatrix", num, transposed ? ".trans" : "");
  }

  Operand fragment(std::string side) const {
    Operand operand;
    operand.name = std::move(side);
    operand.type = "bit";
    operand.layout = transposed ? thread_value({{4, 256}, {8, 16}}, {{16, 1}, {2, 128}, {num, 1024}})
                                : thread_value({{4, 32}, {8, 128}}, {{32, 1}, {num, 1024}});
    operand.tile = std::int64_t{1024} * num;
    operand.rows = 128;
    operand.register_bits = std::int64_t{32} * num;
    return operand;
  }
  Operand addressed(std::string side) const {
    Operand operand = fragment(std::move(side));
    operand.place = Place::shared;
    operand.register_bits = 0;
    operand.replication = 4 / num;  // the threads from 8 * num on give no address; they are listed as repeating the others
    operand.layout =
        num == 4 ? thread_value({{32, 128}}, {{128, 1}}) : thread_value({{8 * num, 128}, {4 / num, 0}}, {{128, 1}});
    return operand;
  }

  // Where bit `bit` of thread `thread`'s registers is: the thread that points at its row, and the bit of the row.
  static std::pair<int, int> row_and_bit(bool transposed, int thread, int bit) {
    const int matrix = bit / 32, element = 2 * (thread % 4) + bit / 16 % 2;
    return transposed ? std::pair{8 * matrix + element, 16 * (thread / 4) + bit % 16}
                      : std::pair{8 * matrix + thread / 4, 16 * element + bit % 16};
  }

  Executor executor() const {
    auto copy = [load = load, num = num, transposed = transposed](const Held& source) {
      Held moved(32, std::vector<std::uint64_t>(static_cast<std::size_t>(load ? 32 * num : 128)));
      for (int thread = 0; thread < 32; ++thread) {
        for (int bit = 0; bit < 32 * num; ++bit) {
          const auto [row, at] = row_and_bit(transposed, thread, bit);
          const auto t = static_cast<std::size_t>(thread), b = static_cast<std::size_t>(bit), r = static_cast<std::size_t>(row),
                     a = static_cast<std::size_t>(at);
          if (load) {
            moved[t][b] = source.at(r).at(a);
          } else {
            for (std::size_t same = r; same < 32; same += static_cast<std::size_t>(8 * num))
              moved[same][a] = source.at(t).at(b);
          }
        }
      }
      return moved;
    };
    return {std::move(copy), {}, "PTX ISA 9.7.14.5.15, 9.7.14.5.16"};
  }

  Result<Payload> payload() const {
    Payload made;
    made.name = name();
    made.target = load ? "sm_75" : "sm_90";
    made.instruction =
        fmt::format("{}.sync.aligned.m8n8.x{}{}.shared.b16", load ? "ldmatrix" : "stmatrix", num, transposed ? ".trans" : "");
    made.operation = load ? "ldmatrix" : "stmatrix";
    made.threads = mode_of({{32, 1}});
    if (load)
      made.operands = {addressed("src"), fragment("dst"), fragment("ref")};
    else
      made.operands = {fragment("src"), addressed("dst"), fragment("ref")};
    made.executor = executor();
    return made;
  }
};

std::vector<MatrixRow> matrix_rows() {
  std::vector<MatrixRow> rows;
  for (const bool load : {true, false}) {
    for (const int num : {1, 2, 4}) {
      for (const bool transposed : {false, true}) rows.push_back({load, num, transposed});
    }
  }
  return rows;
}
std::optional<Result<Payload>> matrix_named(std::string_view name) {
  if (auto found = row_named(matrix_rows(), "ldmatrix.", name)) return found;
  return row_named(matrix_rows(), "stmatrix.", name);
}

}  // namespace

std::vector<Family> ptx_copy_families() {
  return {{"ld/st", "per-thread vector loads and stores", [] { return payloads<VectorRow>(vector_rows()); }, vector_named},
          {"cp.async", "asynchronous copies global to shared", [] { return payloads<AsyncRow>(async_rows()); }, async_named},
          {"ldmatrix", "8x8 matrices of 16-bit elements between shared memory and registers",
           [] { return payloads<MatrixRow>(matrix_rows()); }, matrix_named}};
}

}  // namespace tmemsim::atom
