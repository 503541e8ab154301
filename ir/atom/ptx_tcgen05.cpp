// tcgen05.ld, st and cp. PTX ISA 9.7.16.2, 9.7.16.8 and 9.7.16.9.
#include <algorithm>

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
    made.operation = load ? "tcgen05.ld" : "tcgen05.st";
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
  if (name.substr(0, 15) == "tcgen05.ld.red.") return std::nullopt;
  for (const LoadStoreRow& row : load_store_rows()) {
    if (row.name() == name) return row.payload();
  }
  return std::nullopt;
}

// ---- ld.red: a load, and in one more register of each thread the smallest or largest of what it loaded

struct ReducingLoadRow {
  LoadStoreRow load;
  std::string_view operation, type;  // min, max; f32, u32, s32
  std::string_view modifiers;        // "", .abs, .NaN, .abs.NaN: f32 only

  std::string name() const {
    return fmt::format("tcgen05.ld.red.{}.x{}.{}{}.{}", load.shape->name, load.num, operation, modifiers, type);
  }
  Result<Payload> payload() const {
    Payload made = *load.payload();
    made.name = name();
    made.target = "sm_103a";
    made.operation.clear();
    made.instruction =
        fmt::format("tcgen05.ld.red.sync.aligned.{}.x{}.{}{}.{}", load.shape->name, load.num, operation, modifiers, type);
    made.note = "one more register of each thread receives the result over the thread's own values";
    return made;
  }
};

std::vector<ReducingLoadRow> reducing_rows() {
  std::vector<ReducingLoadRow> rows;
  for (const ShapeRow& shape : shape_rows()) {
    if (shape.shape != Shape::s32x32b && shape.shape != Shape::s16x32bx2) continue;
    for (int num = 2; num <= tcgen05::facts(shape.shape).most_num; num *= 2) {
      for (const std::string_view operation : {"min", "max"}) {
        for (const std::string_view modifiers : {"", ".abs", ".NaN", ".abs.NaN"})
          rows.push_back({{&shape, true, num, false}, operation, "f32", modifiers});
        for (const std::string_view type : {"u32", "s32"}) rows.push_back({{&shape, true, num, false}, operation, type, ""});
      }
    }
  }
  return rows;
}

std::vector<Payload> reducing_loads() {
  std::vector<Payload> made;
  for (const ReducingLoadRow& row : reducing_rows()) {
    if (row.modifiers.empty()) made.push_back(*row.payload());
  }
  return made;
}

std::optional<Result<Payload>> reducing_load_named(std::string_view name) {
  if (name.substr(0, 15) != "tcgen05.ld.red.") return std::nullopt;
  for (const ReducingLoadRow& row : reducing_rows()) {
    if (row.name() == name) return row.payload();
  }
  return Result<Payload>(refused(fmt::format(
      "{}: the shape is 32x32b or 16x32bx2, num at least 2, then min or max with f32 (.abs, .NaN), u32 or s32", name)));
}

// ---- cp: rows of shared memory to lanes, some of them several times

// A source format: `bits` of each of the 16 elements of a 16-byte unit are copied, to bit `to` of a byte each. The rest of the
// unit is padding. PTX ISA 9.7.16.9.1.
struct Widening {
  std::string_view suffix;
  int bits, to;
};
constexpr Widening widenings[] = {{"", 8, 0}, {".b8x16.b6x16_p32", 6, 1}, {".b8x16.b4x16_p64", 4, 2}};
constexpr int unit_bits = 128, unit_elements = 16;

struct ShapeOfCopy {
  std::string_view name;
  int row_bits;
  Digits rows;    // extent and lane stride of the row digits
  Digits copies;  // the same for the copies of each row
  std::vector<int> (*lanes_of_row)(int row);
};

struct CopyRow {
  const ShapeOfCopy* shape;
  int ctas;  // each copies from its own shared memory to its own tensor memory
  const Widening* widening;

  std::string name() const {
    return fmt::format("tcgen05.cp{}.{}{}", ctas == 2 ? ".cta_group::2" : "", shape->name, widening->suffix);
  }

  Result<Payload> payload() const {
    Payload made;
    made.name = name();
    made.target = "sm_100a";
    if (widening->suffix.empty()) made.operation = "tcgen05.cp";
    made.instruction = fmt::format("tcgen05.cp.cta_group::{}.{}{}", ctas, shape->name, widening->suffix);
    made.threads = mode_of({{ctas, 1}});
    const int bits = widening->bits, units = shape->row_bits / unit_bits, moved = bits * unit_elements * units;
    std::int64_t row_count = 1, copy_count = 1;
    // Bits of an element, elements of a unit, units of a row; as it is, a row is one piece.
    Digits values{{moved, 1}}, from = values, to = values;
    if (bits != 8) {
      values = {{bits, 1}, {unit_elements, bits}};
      from = values;
      to = {{bits, 1}, {unit_elements, 8}};
      if (units > 1) {
        values.push_back({units, std::int64_t{bits} * unit_elements});
        from.push_back({units, unit_bits});
        to.push_back({units, unit_bits});
      }
    }
    for (const Digit& digit : shape->rows) {
      values.push_back({digit.extent, row_count * moved});
      from.push_back({digit.extent, row_count * shape->row_bits});
      to.push_back({digit.extent, digit.stride * shape->row_bits});
      row_count *= digit.extent;
    }
    Digits copied = values;
    for (const Digit& digit : shape->copies) {
      copied.push_back({digit.extent, 0});
      to.push_back({digit.extent, digit.stride * shape->row_bits});
      copy_count *= digit.extent;
    }
    const std::int64_t tile = row_count * moved;
    const Digit cta{ctas, ctas == 1 ? 0 : tile};
    Operand source;
    source.name = "src";
    source.type = "bit";
    source.place = Place::shared_by_descriptor;
    source.tile = tile * ctas;
    source.rows = moved;
    source.layout = thread_value({cta}, values);
    source.cell = mode_of(from);
    source.cells_in_row = shape->row_bits;
    Operand target = source;
    target.name = "dst";
    target.place = Place::tmem;
    target.replication = copy_count;
    target.layout = thread_value({cta}, copied);
    target.cell = mode_of(to);
    target.first_cell = widening->to;
    Operand reference = source;
    reference.name = "ref";
    reference.cell.reset();
    made.operands = {source, target, reference};
    made.state = {{"taddr", "i32", "", {}, false}, {"s_desc", "i64", "", {}, false}};
    if (ctas == 2) made.note = "the thread mode counts the CTAs of the pair: each copies its own memory";
    made.executor = executor(row_count);
    return made;
  }

  Executor executor(std::int64_t row_count) const {
    auto copy = [row_bits = shape->row_bits, lanes_of = shape->lanes_of_row, row_count,
                 widening = *widening](const Held& source) {
      Held moved(source.size(), std::vector<std::uint64_t>(static_cast<std::size_t>(tcgen05::lanes * row_bits)));
      for (std::size_t cta = 0; cta < source.size(); ++cta) {
        for (int row = 0; row < row_count; ++row) {
          for (const int lane : lanes_of(row)) {
            for (int byte = 0; byte < row_bits / 8; ++byte) {
              const int unit = byte / unit_elements, element = byte % unit_elements;
              for (int bit = 0; bit < widening.bits; ++bit) {
                moved[cta][static_cast<std::size_t>(lane * row_bits + byte * 8 + widening.to + bit)] =
                    source[cta].at(static_cast<std::size_t>(row * row_bits + unit * unit_bits + element * widening.bits + bit));
              }
            }
          }
        }
      }
      return moved;
    };
    return {std::move(copy), {}, "PTX ISA 9.7.16.9.1: the lanes of each row"};
  }
};

const std::vector<ShapeOfCopy>& copy_shapes() {
  static const std::vector<ShapeOfCopy> shapes{
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
  return shapes;
}

std::vector<CopyRow> copy_rows() {
  std::vector<CopyRow> rows;
  for (const int ctas : {1, 2}) {
    for (const Widening& widening : widenings) {
      for (const ShapeOfCopy& shape : copy_shapes()) rows.push_back({&shape, ctas, &widening});
    }
  }
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

}  // namespace

std::vector<Family> ptx_tcgen05_families() {
  return {{"tcgen05.ld/st", "tensor memory to registers and back, every legal shape and num", load_stores, load_store_named},
          {"tcgen05.ld.red", "a load that also reduces what each thread loads", reducing_loads, reducing_load_named},
          {"tcgen05.cp", "shared memory to tensor memory, in one CTA or a pair, as it is or widened", copies, copy_named}};
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
