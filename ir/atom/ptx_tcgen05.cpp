// tcgen05.ld, st, cp and mma. PTX ISA 9.7.16.2, 9.7.16.8, 9.7.16.9 and 9.7.16.10; tcgen05.md 4, 6.1, 7.1 and 7.3.
#include <algorithm>
#include <charconv>

#include "ir/atom/families.hpp"
#include "ir/atom/register_fields.hpp"
#include "ir/atom/rows.hpp"
#include "ir/tcgen05.hpp"

namespace tmemsim::atom {
namespace {

// ---- ld and st

// A digit whose stride (and, for the last value digit, extent) grows with .num. Bits of the dense image: 32 a column, or 16 a
// column with pack/unpack, so both have the same layout.
struct NumDigit {
  std::int64_t extent, stride;
  bool extent_times_num = false, stride_times_num = false;
};
struct ShapeRow {
  Shape shape;
  std::string_view name;
  std::vector<NumDigit> threads, values;
};

const std::vector<ShapeRow>& shape_rows() {
  static const std::vector<ShapeRow> rows{
      {Shape::s32x32b, "32x32b", {{32, 32, false, true}}, {{32, 1, true}}},
      {Shape::s16x64b, "16x64b", {{2, 512, false, true}, {2, 32}, {8, 64, false, true}}, {{32, 1}, {1, 64, true}}},
      {Shape::s16x128b, "16x128b", {{4, 32}, {8, 128, false, true}}, {{32, 1}, {2, 1024, false, true}, {1, 128, true}}},
      {Shape::s16x256b, "16x256b", {{4, 64}, {8, 256, false, true}}, {{64, 1}, {2, 2048, false, true}, {1, 256, true}}},
      {Shape::s16x32bx2, "16x32bx2", {{16, 64, false, true}, {2, 32, false, true}}, {{32, 1, true}}}};
  return rows;
}

Digits scaled(const std::vector<NumDigit>& digits, int num) {
  Digits result;
  for (const NumDigit& digit : digits)
    result.push_back({digit.extent * (digit.extent_times_num ? num : 1), digit.stride * (digit.stride_times_num ? num : 1)});
  return result;
}

struct LoadStoreRow {
  const ShapeRow* shape;
  bool load;
  int num;
  bool packed;

  int registers() const { return tcgen05::registers(shape->shape, num); }
  int columns() const {
    return num * tcgen05::facts(shape->shape).columns * (shape->shape == Shape::s16x32bx2 ? 2 : 1);
  }  // without pack
  int lanes() const { return tcgen05::facts(shape->shape).lanes; }

  std::string name() const {
    return fmt::format("tcgen05.{}.{}.x{}{}", load ? "ld" : "st", shape->name, num,
                       packed ? (load ? ".pack::16b" : ".unpack::16b") : "");
  }

  Operand fragment(std::string side) const {
    Operand operand;
    operand.name = std::move(side);
    operand.type = "bit";
    operand.layout = thread_value(scaled(shape->threads, num), scaled(shape->values, num));
    operand.tile = std::int64_t{32} * lanes() * columns();
    operand.rows = std::int64_t{32} * columns();  // bits of one lane
    operand.register_bits = std::int64_t{32} * registers();
    return operand;
  }
  Operand image(std::string side) const {
    Operand operand = fragment(std::move(side));
    operand.place = Place::tmem;
    operand.register_bits = 0;
    operand.collective = true;
    operand.layout = thread_value({{32, 0}}, {{operand.tile, 1}});
    return operand;
  }

  // Moves bits between the image (lane after lane; 16 bits a column when packed) and the registers, by the table of the ISA.
  Executor executor() const {
    auto copy = [*this](const Held& source) {
      const std::int64_t lane_bits = std::int64_t{32} * columns(), field = packed ? 16 : 32;
      Held moved = load ? Held(32, std::vector<std::uint64_t>(static_cast<std::size_t>(32 * registers())))
                        : Held(1, std::vector<std::uint64_t>(static_cast<std::size_t>(lane_bits * lanes())));
      const int half_split = packed ? 2 * num : num;
      for (int thread = 0; thread < 32; ++thread) {
        for (int reg = 0; reg < registers(); ++reg) {
          for (int half = 0; half < 32 / field; ++half) {
            const tcgen05::Cell cell = tcgen05::cell(shape->shape, packed, half_split, thread, reg, half);
            for (std::int64_t bit = 0; bit < field; ++bit) {
              const auto in_register = static_cast<std::size_t>(32 * reg + field * half + bit);
              const auto in_image = static_cast<std::size_t>(cell.lane * lane_bits + cell.column * field + bit);
              if (load)
                moved[static_cast<std::size_t>(thread)][in_register] = source.at(0).at(in_image);
              else
                moved[0].at(in_image) = source.at(static_cast<std::size_t>(thread)).at(in_register);
            }
          }
        }
      }
      return moved;
    };
    return {std::move(copy), {}, "PTX ISA 9.7.16.8.1, per-lane tables"};
  }

  Result<Payload> payload() const {
    Payload made;
    made.name = name();
    made.target = "sm_100a";
    made.instruction = fmt::format("tcgen05.{}.sync.aligned.{}.x{}{}.b32", load ? "ld" : "st", shape->name, num,
                                   packed ? (load ? ".pack::16b" : ".unpack::16b") : "");
    made.threads = mode_of({{32, 1}});
    if (load)
      made.operands = {image("src"), fragment("dst"), image("ref")};
    else
      made.operands = {fragment("src"), image("dst"), image("ref")};
    made.state = {{"taddr", "i32", "", {}, false}};
    if (shape->shape == Shape::s16x32bx2) made.state.push_back({"half_split", "i32", "columns", packed ? 2 * num : num, true});
    made.executor = executor();
    return made;
  }
};

std::vector<LoadStoreRow> load_store_rows() {
  std::vector<LoadStoreRow> rows;
  for (const bool load : {true, false}) {
    for (const ShapeRow& shape : shape_rows()) {
      for (int num = 1; num <= tcgen05::facts(shape.shape).most_num; num *= 2) {
        for (const bool packed : {false, true}) rows.push_back({&shape, load, num, packed});
      }
    }
  }
  return rows;
}

std::vector<Payload> load_stores() {
  std::vector<Payload> made;
  for (const LoadStoreRow& row : load_store_rows()) made.push_back(*row.payload());
  return made;
}

std::optional<Result<Payload>> load_store_named(std::string_view name) {
  if (name.substr(0, 11) != "tcgen05.ld." && name.substr(0, 11) != "tcgen05.st.") return std::nullopt;
  for (const LoadStoreRow& row : load_store_rows()) {
    if (row.name() == name) return row.payload();
  }
  return std::nullopt;
}

// ---- cp: rows of shared memory to lanes, some of them several times

struct CopyRow {
  std::string_view name_;
  int row_bits;
  Digits rows;    // extent and lane stride of the row digits
  Digits copies;  // the same for the copies of each row
  std::vector<int> (*lanes_of_row)(int row);

  std::string name() const { return fmt::format("tcgen05.cp.{}", name_); }

  Result<Payload> payload() const {
    Payload made;
    made.name = name();
    made.target = "sm_100a";
    made.instruction = fmt::format("tcgen05.cp.cta_group::1.{}", name_);
    made.threads = mode_of({{1, 1}});
    std::int64_t row_count = 1, copy_count = 1;
    Digits values{{row_bits, 1}}, cells{{row_bits, 1}};
    for (const Digit& digit : rows) {
      values.push_back({digit.extent, row_count * row_bits});
      cells.push_back({digit.extent, digit.stride * row_bits});
      row_count *= digit.extent;
    }
    for (const Digit& digit : copies) {
      values.push_back({digit.extent, 0});
      cells.push_back({digit.extent, digit.stride * row_bits});
      copy_count *= digit.extent;
    }
    Operand source;
    source.name = "src";
    source.type = "bit";
    source.place = Place::shared_by_descriptor;
    source.tile = row_count * row_bits;
    source.rows = row_bits;
    source.layout = thread_value({{1, 0}}, {{source.tile, 1}});
    Operand target = source;
    target.name = "dst";
    target.place = Place::tmem;
    target.replication = copy_count;
    target.layout = thread_value({{1, 0}}, values);
    target.cell = mode_of(cells);
    target.cells_in_row = row_bits;
    Operand reference = source;
    reference.name = "ref";
    made.operands = {source, target, reference};
    made.state = {{"taddr", "i32", "", {}, false}, {"s_desc", "i64", "", {}, false}};
    made.executor = executor(row_count);
    return made;
  }

  Executor executor(std::int64_t row_count) const {
    auto copy = [bits = row_bits, lanes_of = lanes_of_row, row_count](const Held& source) {
      Held moved(1, std::vector<std::uint64_t>(static_cast<std::size_t>(tcgen05::lanes * bits)));
      for (int row = 0; row < row_count; ++row) {
        for (const int lane : lanes_of(row)) {
          for (int bit = 0; bit < bits; ++bit)
            moved[0][static_cast<std::size_t>(lane * bits + bit)] = source.at(0).at(static_cast<std::size_t>(row * bits + bit));
        }
      }
      return moved;
    };
    return {std::move(copy), {}, "PTX ISA 9.7.16.9.1: the lanes of each row"};
  }
};

const std::vector<CopyRow>& copy_rows() {
  static const std::vector<CopyRow> rows{
      {"128x256b", 256, {{128, 1}}, {}, [](int row) { return std::vector{row}; }},
      {"128x128b", 128, {{128, 1}}, {}, [](int row) { return std::vector{row}; }},
      {"4x256b", 256, {{4, 32}}, {}, [](int row) { return std::vector{32 * row}; }},
      {"64x128b.warpx2::02_13",
       128,
       {{64, 1}},
       {{2, 64}},
       [](int row) {
         return std::vector{row, row + 64};
       }},
      {"64x128b.warpx2::01_23",
       128,
       {{32, 1}, {2, 64}},
       {{2, 32}},
       [](int row) {
         return row < 32 ? std::vector{row, row + 32} : std::vector{64 + (row - 32), 96 + (row - 32)};
       }},
      {"32x128b.warpx4", 128, {{32, 1}}, {{4, 32}}, [](int row) {
         return std::vector{row, row + 32, row + 64, row + 96};
       }}};
  return rows;
}

std::vector<Payload> copies() {
  std::vector<Payload> made;
  for (const CopyRow& row : copy_rows()) made.push_back(*row.payload());
  return made;
}

std::optional<Result<Payload>> copy_named(std::string_view name) {
  for (const CopyRow& row : copy_rows()) {
    if (row.name() == name) return row.payload();
  }
  return std::nullopt;
}

// ---- mma: one thread issues it; "threads" are the CTAs whose memory holds the operands

struct KindRow {
  std::string_view name, type, result;
  int k;
};
constexpr KindRow kind_rows[] = {
    {"f16", "f16", "f32", 16}, {"tf32", "tf32", "f32", 8}, {"f8f6f4", "e4m3", "f32", 32}, {"i8", "s8", "s32", 32}};

struct MmaRow {
  const KindRow* kind;
  bool ws;
  int ctas, m, n;

  std::string name() const {
    return fmt::format("tcgen05.mma{}.cta_group::{}.kind::{}.m{}n{}k{}", ws ? ".ws" : "", ctas, kind->name, m, n, kind->k);
  }

  std::optional<std::string> illegal() const {
    if (ws) {
      if (ctas != 1) return "tcgen05.mma.ws needs cta_group::1";
      if (m != 32 && m != 64 && m != 128) return "M is 32, 64 or 128 with .ws";
      if (n != 64 && n != 128 && n != 256) return "N is 64, 128 or 256 with .ws";
      return std::nullopt;
    }
    if (ctas == 1 && m != 64 && m != 128) return "M is 64 or 128 with cta_group::1";
    if (ctas == 2 && m != 128 && m != 256) return "M is 128 or 256 with cta_group::2";
    const bool i8 = kind->name == "i8";
    const int step = ctas == 2 ? (i8 ? 32 : 16) : i8 && n > 32 ? 16 : 8;
    if (n < step || n > 256 || n % step != 0) return fmt::format("N is a multiple of {} up to 256", step);
    return std::nullopt;
  }

  // N is cut in this many parts that lie in lanes of their own (data-path layouts B, E: 2; G: 4).
  int column_parts() const { return ws ? 128 / m : ctas == 2 && m == 128 ? 2 : 1; }

  Operand descriptor(std::string which, std::int64_t rows) const {
    Operand operand;
    operand.name = std::move(which);
    operand.type = std::string(kind->type);
    operand.bits = *element_bits(kind->type);
    operand.place = Place::shared_by_descriptor;
    operand.rows = rows;
    operand.tile = rows * kind->k;
    operand.layout = thread_value({{ctas, ctas == 1 ? 0 : rows / ctas}}, {{rows / ctas, 1}, {kind->k, rows}});
    return operand;
  }

  Operand accumulator() const {
    const std::int64_t rows = m / ctas, parts = column_parts(), columns = n / parts;
    Operand operand;
    operand.name = "C";
    operand.type = std::string(kind->result);
    operand.bits = 32;
    operand.place = Place::tmem;
    operand.rows = m;
    operand.tile = std::int64_t{m} * n;
    Digits values, cells;
    if (m == 64 && ctas == 1 && !ws) {  // layout F: 16 rows in each quadrant
      values = {{16, 1}, {4, 16}};
      cells = {{16, columns}, {4, 32 * columns}};
    } else {
      values = {{rows, 1}};
      cells = {{rows, columns}};
    }
    values.push_back({columns, m});
    cells.push_back({columns, 1});
    if (parts > 1) {
      values.push_back({parts, m * columns});
      cells.push_back({parts, rows * columns});
    }
    operand.layout = thread_value({{ctas, ctas == 1 ? 0 : rows}}, values);
    operand.cell = mode_of(cells);
    operand.cells_in_row = columns;
    return operand;
  }

  // (m, n) of the tile -> CTA, lane and column, by the data-path layouts of the ISA.
  static std::array<int, 3> place(bool ws, int ctas, int tile_m, int tile_n, int row, int column) {
    if (ctas == 2 && tile_m == 256) return {row / 128, row % 128, column};                                // A
    if (ctas == 2) return {row / 64, row % 64 + (column >= tile_n / 2 ? 64 : 0), column % (tile_n / 2)};  // B
    if (tile_m == 128) return {0, row, column};                                                           // D
    if (tile_m == 64 && ws) return {0, row + (column >= tile_n / 2 ? 64 : 0), column % (tile_n / 2)};     // E
    if (tile_m == 64) return {0, 32 * (row / 16) + row % 16, column};                                     // F
    return {0, row + 32 * (column / (tile_n / 4)), column % (tile_n / 4)};                                // G
  }

  Executor executor() const {
    auto multiply = [row = *this](const Held& a, const Held& b, const Held& c) {
      const int columns = row.n / row.column_parts(), rows_a = row.m / row.ctas, rows_b = row.n / row.ctas;
      Held d = c;
      for (int i = 0; i < row.m; ++i) {
        for (int j = 0; j < row.n; ++j) {
          const auto [cta, lane, column] = place(row.ws, row.ctas, row.m, row.n, i, j);
          std::uint64_t& cell = d.at(static_cast<std::size_t>(cta)).at(static_cast<std::size_t>(lane * columns + column));
          for (int k = 0; k < row.kind->k; ++k) {
            cell += a.at(static_cast<std::size_t>(i / rows_a)).at(static_cast<std::size_t>(i % rows_a + rows_a * k)) *
                    b.at(static_cast<std::size_t>(j / rows_b)).at(static_cast<std::size_t>(j % rows_b + rows_b * k));
          }
        }
      }
      return d;
    };
    return {{}, std::move(multiply), "PTX ISA 9.7.16.10.5: data-path layouts A, B, D, E, F, G"};
  }

  Result<Payload> payload() const {
    if (const auto why = illegal()) return refused(fmt::format("{}: {}", name(), *why));
    Payload made;
    made.name = name();
    made.target = "sm_100a";
    made.kind = Kind::mma;
    made.instruction = fmt::format("tcgen05.mma{}.cta_group::{}.kind::{}", ws ? ".ws" : "", ctas, kind->name);
    made.threads = mode_of({{ctas, 1}});
    made.mnk = {m, n, kind->k};
    made.result_type = std::string(kind->result);
    made.operands = {descriptor("A", m), descriptor("B", n), accumulator()};
    made.state = {{"d_tmem", "i32", "", {}, false},
                  {"a_desc", "i64", "", {}, false},
                  {"b_desc", "i64", "", {}, false},
                  {"idesc", "i32", "", {}, false},
                  {"accumulate", "i1", "", {}, false}};
    made.note = "issued by one thread; the thread mode counts the CTAs whose shared and tensor memory hold the operands";
    made.executor = executor();
    return made;
  }
};

std::vector<Payload> listed_mmas() {
  std::vector<Payload> made;
  for (const KindRow& kind : kind_rows) {
    for (const auto& [ws, ctas, m] : {std::tuple{false, 1, 64},
                                      {false, 1, 128},
                                      {false, 2, 128},
                                      {false, 2, 256},
                                      {true, 1, 32},
                                      {true, 1, 64},
                                      {true, 1, 128}}) {
      for (const int n : {64, 128, 256}) made.push_back(*MmaRow{&kind, ws, ctas, m, n}.payload());
    }
  }
  return made;
}

// Reads `text` as an integer that `rest` starts with.
bool take(std::string_view& rest, std::string_view text) {
  if (rest.substr(0, text.size()) != text) return false;
  rest.remove_prefix(text.size());
  return true;
}
bool take(std::string_view& rest, int& number) {
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 0) return false;
  rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
  return true;
}

std::optional<Result<Payload>> mma_named(std::string_view name) {
  std::string_view rest = name;
  if (!take(rest, "tcgen05.mma")) return std::nullopt;
  MmaRow row{nullptr, false, 0, 0, 0};
  row.ws = take(rest, ".ws");
  if (!take(rest, ".cta_group::") || !take(rest, row.ctas) || (row.ctas != 1 && row.ctas != 2) || !take(rest, ".kind::"))
    return std::nullopt;
  for (const KindRow& kind : kind_rows) {
    if (row.kind == nullptr && rest.substr(0, kind.name.size() + 1) == std::string(kind.name) + ".") row.kind = &kind;
  }
  int k = 0;
  if (row.kind == nullptr || !take(rest, row.kind->name) || !take(rest, ".m") || !take(rest, row.m) || !take(rest, "n") ||
      !take(rest, row.n) || !take(rest, "k") || !take(rest, k) || !rest.empty())
    return std::nullopt;
  if (k != row.kind->k)
    return Result<Payload>(refused(fmt::format("{}: K is {} for kind::{}", name, row.kind->k, row.kind->name)));
  return row.payload();
}

}  // namespace

std::vector<Family> ptx_tcgen05_families() {
  return {{"tcgen05.ld/st", "tensor memory to registers and back, every legal shape and num", load_stores, load_store_named},
          {"tcgen05.cp", "shared memory to tensor memory", copies, copy_named},
          {"tcgen05.mma", "D in tensor memory; every legal M and N by name, N 64, 128 and 256 in the list", listed_mmas,
           mma_named}};
}

std::vector<RegisterField> register_fields(const Payload& payload) {
  const bool packed = payload.name.find("pack::16b") != std::string::npos;
  const int field = packed ? 16 : 32;
  const Operand* fragment = payload.operand("dst")->place == Place::registers ? payload.operand("dst") : payload.operand("src");
  const auto map = *ThreadValueMap::make(fragment->layout);
  std::vector<RegisterField> fields;
  for (int thread = 0; thread < 32; ++thread) {
    for (int bit = 0; bit < fragment->register_bits; bit += field) {
      const auto at = map(thread, bit);
      fields.push_back({thread, bit / 32, static_cast<int>(at / fragment->rows), static_cast<int>(at % fragment->rows / field),
                        bit % 32, field, 0});
    }
  }
  return fields;
}

}  // namespace tmemsim::atom
