// Matrix instructions of the rocdl target: MFMA of CDNA3 and CDNA4, WMMA of GFX11, GFX120x and GFX1250, and the scaled forms.
// Block counts and fragments of MFMA and WMMA: AMD's instruction set manuals.
#include <algorithm>

#include "ir/atom/families.hpp"
#include "ir/atom/name_text.hpp"
#include "ir/atom/rows.hpp"

namespace tmemsim::atom {
namespace {

struct Matrix {
  std::int64_t m, n, k;
  std::string a, b, c;
};

bool is_fp8(std::string_view type) { return type == "f8E4M3FN" || type == "f8E4M3FNUZ"; }
bool is_bf8(std::string_view type) { return type == "f8E5M2" || type == "f8E5M2FNUZ"; }
bool is_integer(std::string_view type) { return type.find('i') != std::string_view::npos; }

Operand in_registers(std::string which, const std::string& type, std::int64_t rows, std::int64_t columns, NestedLayout layout,
                     std::int64_t values, std::string carrier) {
  Operand operand;
  operand.name = std::move(which);
  operand.type = type;
  operand.bits = *element_bits(type);
  operand.rows = rows;
  operand.tile = rows * columns;
  operand.layout = std::move(layout);
  operand.register_bits = values * operand.bits;
  operand.carrier = std::move(carrier);
  return operand;
}

std::string vector_of(std::int64_t count, std::string_view type) {
  return count == 1 ? std::string(type) : fmt::format("vector<{}x{}>", count, type);
}
std::string words_of(std::int64_t count, std::string_view type) { return vector_of(count * *element_bits(type) / 32, "i32"); }

Payload matrix_payload(std::string name, std::string target, const Matrix& matrix, std::int64_t lanes,
                       std::string instruction) {
  Payload made;
  made.name = std::move(name);
  made.target = std::move(target);
  made.kind = Kind::mma;
  made.instruction = std::move(instruction);
  made.threads = mode_of({{lanes, 1}});
  made.mnk = {matrix.m, matrix.n, matrix.k};
  made.result_type = matrix.c;
  return made;
}

// ---- MFMA: 64 lanes; lanes / M groups share K, each lane holds consecutive k of one row

struct MfmaRow {
  std::string_view types;  // class of A and B: f32, f16, bf16, i8, f8
  std::int64_t m, k;
  int blocks;  // independent products that one instruction makes
  std::string_view target;
  std::string_view carrier;
};
constexpr MfmaRow mfma_rows[] = {
    {"f32", 32, 1, 2, "cdna3", "f32"},   {"f32", 16, 1, 4, "cdna3", "f32"},    {"f32", 4, 1, 16, "cdna3", "f32"},
    {"f32", 32, 2, 1, "cdna3", "f32"},   {"f32", 16, 4, 1, "cdna3", "f32"},    {"f16", 32, 4, 2, "cdna3", "f16"},
    {"f16", 16, 4, 4, "cdna3", "f16"},   {"f16", 4, 4, 16, "cdna3", "f16"},    {"f16", 32, 8, 1, "cdna3", "f16"},
    {"f16", 16, 16, 1, "cdna3", "f16"},  {"f16", 32, 16, 1, "cdna4", "f16"},   {"f16", 16, 32, 1, "cdna4", "f16"},
    {"bf16", 32, 2, 2, "cdna3", "i16"},  {"bf16", 16, 2, 4, "cdna3", "i16"},   {"bf16", 4, 2, 16, "cdna3", "i16"},
    {"bf16", 32, 4, 1, "cdna3", "i16"},  {"bf16", 16, 8, 1, "cdna3", "i16"},   {"bf16", 32, 8, 1, "cdna3", "i16"},
    {"bf16", 16, 16, 1, "cdna3", "i16"}, {"bf16", 32, 16, 1, "cdna4", "bf16"}, {"bf16", 16, 32, 1, "cdna4", "bf16"},
    {"i8", 16, 32, 1, "cdna3", "i64"},   {"i8", 32, 16, 1, "cdna3", "i64"},    {"f8", 16, 32, 1, "cdna3", "i64"},
    {"f8", 32, 16, 1, "cdna3", "i64"}};

std::string mfma_class(std::string_view type) { return is_fp8(type) || type == "f8E5M2FNUZ" ? "f8" : std::string(type); }

std::string mfma_instruction(const MfmaRow& row, const Matrix& matrix) {
  const std::string shape = fmt::format("{}x{}x{}", row.m, row.m, row.k);
  if (row.types == "f8")
    return fmt::format("rocdl.mfma.f32.{}.{}.{}", shape, is_bf8(matrix.a) ? "bf8" : "fp8", is_bf8(matrix.b) ? "bf8" : "fp8");
  if (row.types == "i8") return fmt::format("rocdl.mfma.i32.{}.i8", shape);
  if (row.target == "cdna4") return fmt::format("rocdl.mfma.f32.{}.{}", shape, row.types);
  const bool second_generation = row.types == "bf16" && row.m * row.k == 256;  // 32x32x8 and 16x16x16: four values a lane
  return fmt::format("rocdl.mfma.f32.{}{}{}", shape, row.types, second_generation ? ".1k" : "");
}

// One block: lanes / M groups share K. Several: each group of lanes has a block of its own, and holds all of its k.
NestedLayout mfma_input(std::int64_t m, std::int64_t k, std::int64_t blocks) {
  const std::int64_t groups = 64 / m;
  if (blocks == 1) return thread_value({{m, 1}, {groups, m * (k / groups)}}, {{k / groups, m}});
  if (k == 1) return thread_value({{m, 1}, {groups, m}}, {{1, 0}});
  return thread_value({{m, 1}, {groups, m * k}}, {{k, m}});
}
// The results of one block lie behind those of the block before; of 4x4, the lanes of block b are 4 * b .. 4 * b + 3.
NestedLayout mfma_result(std::int64_t m, std::int64_t blocks) {
  const std::int64_t groups = 64 / m;
  if (m == 4) return thread_value({{4, 4}, {16, 16}}, {{4, 1}});
  Digits values{{4, 1}, {m / 4 / groups, 4 * groups}};
  if (blocks > 1) values.push_back({blocks, m * m});
  return thread_value({{m, m}, {groups, 4}}, values);
}

// One block: lane l holds row l % M, k from (l / M) * each on; of the result column l % M, four rows in turn for each group.
FragmentPlaces mfma_places(std::int64_t m, std::int64_t k) {
  const int rows = static_cast<int>(m), groups = 64 / rows, each = static_cast<int>(k) / groups;
  FragmentPlaces places;
  places.a = places.b = [rows, each](int lane, int v) { return std::pair{lane % rows, lane / rows * each + v}; };
  places.c = [rows](int lane, int v) {
    return rows == 32 ? std::pair{8 * (v / 4) + 4 * (lane / 32) + v % 4, lane % 32} : std::pair{4 * (lane / 16) + v, lane % 16};
  };
  return places;
}

// Several blocks: lane l holds row l % M of block l / M, all its k. Result register v of lane l: of 32x32 block v / 16, of
// 16x16 block v / 4, placed inside the block as in the forms of one block; of 4x4 row v, column l % 4 of block l / 4.
Executor mfma_blocks(std::int64_t m, std::int64_t k) {
  auto multiply = [rows = static_cast<int>(m), depth = static_cast<int>(k)](const Held& a, const Held& b, const Held& c) {
    const FragmentPlaces::Place place =
        rows == 4 ? [](int lane, int v) { return std::pair{v, lane % 4}; } : mfma_places(rows, 64 / rows).c;
    const int of_block = rows == 4 ? 4 : rows * rows / 64;
    Held d = c;
    for (int lane = 0; lane < 64; ++lane) {
      for (int v = 0; v < static_cast<int>(c.at(static_cast<std::size_t>(lane)).size()); ++v) {
        const int block = rows == 4 ? lane / 4 : v / of_block;
        const auto [row, column] = place(lane, v % of_block);
        for (int i = 0; i < depth; ++i) {
          d[static_cast<std::size_t>(lane)][static_cast<std::size_t>(v)] +=
              a.at(static_cast<std::size_t>(rows * block + row)).at(static_cast<std::size_t>(i)) *
              b.at(static_cast<std::size_t>(rows * block + column)).at(static_cast<std::size_t>(i));
        }
      }
    }
    return d;
  };
  return {{}, std::move(multiply), "CDNA3 instruction set, MFMA register layout, blocks", {}};
}

Result<Payload> mfma(const std::string& name, const Matrix& matrix) {
  const std::string a = mfma_class(matrix.a), b = mfma_class(matrix.b);
  if (matrix.m != matrix.n) return refused(fmt::format("{}: M and N of an MFMA are equal", name));
  const MfmaRow* row = std::find_if(std::begin(mfma_rows), std::end(mfma_rows), [&](const MfmaRow& one) {
    return one.types == a && one.types == b && one.m == matrix.m && one.k == matrix.k;
  });
  if (row == std::end(mfma_rows))
    return refused(
        fmt::format("{}: there is no MFMA of {}x{}x{} for {} and {}", name, matrix.m, matrix.n, matrix.k, matrix.a, matrix.b));
  if (matrix.c != (a == "i8" ? "i32" : "f32"))
    return refused(fmt::format("{}: the accumulator is {}, not {}", name, a == "i8" ? "i32" : "f32", matrix.c));
  Payload made = matrix_payload(name, std::string(row->target), matrix, 64, mfma_instruction(*row, matrix));
  made.blocks = row->blocks;
  const std::int64_t each = matrix.m * matrix.k * row->blocks / 64, results = matrix.m * matrix.m * row->blocks / 64;
  const std::string carrier = row->carrier == "i64" ? "i64" : vector_of(each, row->carrier);
  const auto input = [&](const char* which, const std::string& type) {
    return in_registers(which, type, matrix.m, matrix.k, mfma_input(matrix.m, matrix.k, row->blocks), each, carrier);
  };
  made.operands = {input("A", matrix.a), input("B", matrix.b),
                   in_registers("C", matrix.c, matrix.m, matrix.m, mfma_result(matrix.m, row->blocks), results,
                                vector_of(results, matrix.c))};
  for (Operand& operand : made.operands) operand.tile *= row->blocks;
  if (row->target == "cdna4") made.note = "CDNA4 only";
  if (row->types == "bf16" && row->m * row->k == 128)
    made.note = "of CDNA2: the chips of CDNA3 (gfx942) dropped this instruction";
  if (a == "f8" && (matrix.a == "f8E4M3FN" || matrix.b == "f8E4M3FN"))
    made.note = "the chip decides the number format: FNUZ on CDNA3, OCP on CDNA4";
  if (row->blocks > 1) {
    made.corrected = {"A", "B", "C"};
    made.note =
        fmt::format("{}the public layouts are those of one {}x{}x{} tile; the instruction multiplies {} independent ones",
                    made.note.empty() ? "" : made.note + "; ", matrix.m, matrix.n, matrix.k, row->blocks);
    made.executor = mfma_blocks(matrix.m, matrix.k);
    return made;
  }
  made.executor = multiply_by(mfma_places(matrix.m, matrix.k), made.mnk, "CDNA3 instruction set, MFMA register layout");
  return made;
}

// ---- scaled MFMA: any of the five narrow types on either side

constexpr std::string_view narrow_types[] = {"f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"};
bool is_narrow(std::string_view type) {
  return std::find(std::begin(narrow_types), std::end(narrow_types), type) != std::end(narrow_types);
}

std::vector<StateField> scales(std::string type) {
  return {{"scale_a", type, "packed E8M0", 0, false}, {"scale_b", type, "packed E8M0", 0, false}};
}

std::optional<Reason> wrong_selector(const std::string& name, const NameParts& parts, std::int64_t most) {
  for (const char* key : {"opselA", "opselB"}) {
    const auto value = parts.integer(key, 0, 0, most);
    if (!value) return refused(fmt::format("{}: {}", name, value.reason().text));
  }
  return std::nullopt;
}

Result<Payload> mfma_scale(const std::string& name, const Matrix& matrix, const NameParts& parts) {
  if (!is_narrow(matrix.a) || !is_narrow(matrix.b))
    return refused(fmt::format("{}: A and B are of 8-, 6- or 4-bit floating point ({})", name, fmt::join(narrow_types, ", ")));
  if (matrix.c != "f32") return refused(fmt::format("{}: the accumulator is f32", name));
  if (matrix.m != matrix.n || !((matrix.m == 16 && matrix.k == 128) || (matrix.m == 32 && matrix.k == 64)))
    return refused(fmt::format("{}: the shape is 16x16x128 or 32x32x64", name));
  if (const auto wrong = wrong_selector(name, parts, 3)) return *wrong;
  Payload made = matrix_payload(name, "cdna4", matrix, 64,
                                fmt::format("rocdl.mfma.scale.f32.{}x{}x{}.f8f6f4", matrix.m, matrix.n, matrix.k));
  const std::int64_t results = matrix.m * matrix.m / 64;
  made.operands = {
      in_registers("A", matrix.a, matrix.m, matrix.k, mfma_input(matrix.m, matrix.k, 1), 32, words_of(32, matrix.a)),
      in_registers("B", matrix.b, matrix.m, matrix.k, mfma_input(matrix.m, matrix.k, 1), 32, words_of(32, matrix.b)),
      in_registers("C", matrix.c, matrix.m, matrix.m, mfma_result(matrix.m, 1), results, vector_of(results, "f32"))};
  made.state = scales("i32");
  made.note = "ground truth: none: the order of k in a lane is tied to the scale blocks";
  return made;
}

// ---- WMMA: 32 lanes

struct WmmaRow {
  std::string_view family;
  std::string_view a, c;  // classes: f32, f16, bf16, f8, i8, i4
  std::int64_t k;
};
constexpr WmmaRow wmma_rows[] = {
    {"gfx11", "f16", "f32", 16},    {"gfx11", "bf16", "f32", 16},    {"gfx11", "i8", "i32", 16},
    {"gfx11", "i4", "i32", 16},     {"gfx120x", "f16", "f32", 16},   {"gfx120x", "bf16", "f32", 16},
    {"gfx1250", "f32", "f32", 4},   {"gfx1250", "f16", "f32", 32},   {"gfx1250", "f16", "f16", 32},
    {"gfx1250", "bf16", "f32", 32}, {"gfx1250", "bf16", "bf16", 32}, {"gfx1250", "f8", "f32", 64},
    {"gfx1250", "f8", "f16", 64},   {"gfx1250", "f8", "f32", 128},   {"gfx1250", "f8", "f16", 128},
    {"gfx1250", "i8", "i32", 64},   {"gfx1250", "i4", "i32", 32}};

std::string wmma_class(std::string_view type) {
  if (type == "f8E4M3FN" || type == "f8E5M2") return "f8";
  if (type == "i8" || type == "si8" || type == "ui8") return "i8";
  if (type == "i4" || type == "si4" || type == "ui4") return "i4";
  return std::string(type);
}

std::string wmma_instruction(const WmmaRow& row, const Matrix& matrix) {
  std::string inputs(row.a);
  if (row.a == "f8") inputs = fmt::format("{}_{}", is_bf8(matrix.a) ? "bf8" : "fp8", is_bf8(matrix.b) ? "bf8" : "fp8");
  if (row.a == "i8" || row.a == "i4") inputs = fmt::format("iu{}", row.a.substr(1));
  return fmt::format("rocdl.wmma.{}.16x16x{}.{}", row.c, row.k, inputs);
}

// Lanes l and l + 16 hold the same row of A. GFX11: the same values. Later: alternate runs of 8 values of k.
NestedLayout wmma_input(std::string_view family, std::int64_t rows, std::int64_t k, int bits) {
  if (family == "gfx11") return thread_value({{16, 1}, {2, 0}}, {{k, rows}});
  if (bits == 32) return thread_value({{16, 1}, {2, k / 2 * rows}}, {{k / 2, rows}});
  if (k == 16) return thread_value({{16, 1}, {2, 8 * rows}}, {{8, rows}});
  return thread_value({{16, 1}, {2, 8 * rows}}, {{8, rows}, {k / 16, 16 * rows}});
}
NestedLayout wmma_result(std::string_view family, int bits) {
  if (family == "gfx11") return thread_value({{16, 16}, {2, 1}}, {{8, 2}});
  if (bits == 16) return thread_value({{16, 16}, {2, 8}}, {{4, 2}, {2, 1}});
  return thread_value({{16, 16}, {2, 8}}, {{8, 1}});
}

FragmentPlaces wmma_places(std::string_view family, int bits) {
  FragmentPlaces places;
  if (family == "gfx11") {
    places.a = places.b = [](int lane, int v) { return std::pair{lane % 16, v}; };
    places.c = [](int lane, int v) { return std::pair{2 * v + lane / 16, lane % 16}; };
    return places;
  }
  places.a = places.b = [run = bits == 32 ? 2 : 8](int lane, int v) {
    return std::pair{lane % 16, v / run * 2 * run + lane / 16 * run + v % run};
  };
  places.c = [](int lane, int v) { return std::pair{8 * (lane / 16) + v, lane % 16}; };
  return places;
}

std::string wmma_carrier(std::string_view family, const std::string& type, std::int64_t values) {
  if (*element_bits(type) <= 8) return words_of(values, type);
  return vector_of(values, type == "bf16" && family != "gfx1250" ? "i16" : type);
}

Result<Payload> wmma(const std::string& name, std::string_view family, const Matrix& matrix, const NameParts& parts) {
  const std::string a = wmma_class(matrix.a);
  if (a != wmma_class(matrix.b))
    return refused(fmt::format("{}: {} and {} are not multiplied together", name, matrix.a, matrix.b));
  if (!is_integer(matrix.a) && (parts.is_true("signA") || parts.is_true("signB") || parts.is_true("clamp")))
    return refused(fmt::format("{}: signA, signB and clamp belong to integer inputs", name));
  const WmmaRow* row = std::find_if(std::begin(wmma_rows), std::end(wmma_rows), [&](const WmmaRow& one) {
    return one.family == family && matrix.m == 16 && matrix.n == 16 && one.a == a && one.c == matrix.c && one.k == matrix.k;
  });
  if (row == std::end(wmma_rows))
    return refused(fmt::format("{}: {} has no WMMA of {}x{}x{} from {} to {}", name, family, matrix.m, matrix.n, matrix.k,
                               matrix.a, matrix.c));
  const int bits = *element_bits(matrix.a), result_bits = *element_bits(matrix.c);
  const std::int64_t values = family == "gfx11" ? 16 : matrix.k / 2;
  Payload made = matrix_payload(name, std::string(family), matrix, 32, wmma_instruction(*row, matrix));
  made.operands = {in_registers("A", matrix.a, 16, matrix.k, wmma_input(family, 16, matrix.k, bits), values,
                                wmma_carrier(family, matrix.a, values)),
                   in_registers("B", matrix.b, 16, matrix.k, wmma_input(family, 16, matrix.k, bits), values,
                                wmma_carrier(family, matrix.b, values)),
                   in_registers("C", matrix.c, 16, 16, wmma_result(family, result_bits), 8, vector_of(8, matrix.c))};
  if (family == "gfx11") {
    made.operands[0].replication = made.operands[1].replication = 2;  // lanes l and l + 16 hold the same values
    made.note = "A and B are held twice, by lanes l and l + 16, as the hardware reads them";
  }
  const bool packed_result = result_bits == 16;
  if (packed_result)
    made.note =
        "ground truth: none: value v of the accumulator is row 2 * (v % 4) + v / 4 here, element v of the packed register is "
        "row v";
  if (!packed_result && bits >= 16)
    made.executor =
        multiply_by(wmma_places(family, bits), made.mnk, fmt::format("{} instruction set, WMMA register layout", family));
  if (!packed_result && bits < 16 && family == "gfx11")
    made.executor = multiply_by(wmma_places(family, bits), made.mnk, "RDNA3 instruction set, WMMA register layout");
  return made;
}

Result<Payload> wmma_scale(const std::string& name, const Matrix& matrix, const NameParts& parts, std::int64_t block) {
  const bool tall = matrix.m == 32;
  if (matrix.n != 16 || matrix.k != 128 || (matrix.m != 16 && !tall))
    return refused(fmt::format("{}: the shape is 16x16x128 or 32x16x128", name));
  if (!is_narrow(matrix.a) || !is_narrow(matrix.b))
    return refused(fmt::format("{}: A and B are of 8-, 6- or 4-bit floating point ({})", name, fmt::join(narrow_types, ", ")));
  if (tall && (matrix.a != "f4E2M1FN" || matrix.b != "f4E2M1FN"))
    return refused(fmt::format("{}: 32x16x128 takes f4E2M1FN alone", name));
  if (matrix.c != "f32") return refused(fmt::format("{}: the accumulator is f32", name));
  if (const auto wrong = wrong_selector(name, parts, 1)) return *wrong;
  Payload made = matrix_payload(
      name, "gfx1250", matrix, 32,
      fmt::format("rocdl.wmma.scale{}.f32.{}x16x128.{}", block == 16 ? "16" : "", matrix.m, tall ? "f4" : "f8f6f4"));
  const std::int64_t values = matrix.m * 4, results = matrix.m / 2;
  made.operands = {in_registers("A", matrix.a, matrix.m, 128,
                                tall ? thread_value({{32, 1}}, {{128, 32}}) : wmma_input("gfx1250", 16, 128, 8), values,
                                words_of(values, matrix.a)),
                   in_registers("B", matrix.b, 16, 128, wmma_input("gfx1250", 16, 128, 8), 64, words_of(64, matrix.b)),
                   in_registers("C", matrix.c, matrix.m, 16,
                                tall ? thread_value({{16, 32}, {2, 16}}, {{16, 1}}) : wmma_result("gfx1250", 32), results,
                                vector_of(results, "f32"))};
  made.state = scales(block == 16 ? "i64" : "i32");
  made.note = "ground truth: none: the order of k in a lane is tied to the scale blocks";
  if (tall) {
    made.corrected = {"C"};
    made.note = "the public layout of C has stride 16 along N; a column of the 32x16 tile is 32 long. Ground truth: none";
  }
  return made;
}

// ---- names

Result<Payload> matrix_of_name(std::string_view text, const NameParts& parts) {
  const std::string name(text);
  const std::string family = parts.family.substr(0, parts.family.find('.')),
                    form = parts.family.substr(parts.family.find('.') + 1);
  std::int64_t block = 0;
  if (form == "wmma_scale") {
    const auto size = parts.integer("blockSize", 32, 0, 1 << 20);
    if (!size || (*size != 16 && *size != 32)) return refused(fmt::format("{}: blockSize is 16 or 32", name));
    block = *size;
  }
  if (!parts.shape || parts.types.size() != 3) return refused(fmt::format("{}: expected MxNxK, (A, B) -> C", name));
  const Matrix matrix{(*parts.shape)[0], (*parts.shape)[1], (*parts.shape)[2], parts.types[0], parts.types[1], parts.types[2]};
  for (const std::string& type : parts.types) {
    if (!element_bits(type)) return refused(fmt::format("{}: {} is no element type", name, type));
  }
  if (form == "mfma") return mfma(name, matrix);
  if (form == "mfma_scale") return mfma_scale(name, matrix, parts);
  if (form == "wmma_scale") return wmma_scale(name, matrix, parts, block);
  return wmma(name, family, matrix, parts);
}

std::optional<Result<Payload>> named(std::string_view name, std::initializer_list<std::string_view> forms) {
  const auto parts = name_parts(name);
  if (!parts || std::find(forms.begin(), forms.end(), parts->family) == forms.end()) return std::nullopt;
  return matrix_of_name(name, *parts);
}

std::vector<Payload> made_from(const std::vector<std::string>& names) {
  std::vector<Payload> made;
  for (const std::string& name : names) {
    auto payload = matrix_of_name(name, *name_parts(name));
    if (payload) made.push_back(*std::move(payload));
  }
  return made;
}

std::vector<Payload> listed_mfma() {
  std::vector<std::string> names;
  for (const MfmaRow& row : mfma_rows) {
    const bool f8 = row.types == "f8";
    for (const std::string_view a :
         f8 ? std::vector<std::string_view>{"f8E4M3FNUZ", "f8E5M2FNUZ"} : std::vector<std::string_view>{row.types}) {
      for (const std::string_view b :
           f8 ? std::vector<std::string_view>{"f8E4M3FNUZ", "f8E5M2FNUZ"} : std::vector<std::string_view>{row.types}) {
        names.push_back(
            fmt::format("cdna3.mfma<{}x{}x{},({},{})->{}>", row.m, row.m, row.k, a, b, row.types == "i8" ? "i32" : "f32"));
      }
    }
  }
  for (const char* shape : {"16x16x128", "32x32x64"}) {
    for (const std::string_view a : narrow_types) {
      for (const std::string_view b : narrow_types)
        names.push_back(fmt::format("cdna4.mfma_scale<{},({},{})->f32>", shape, a, b));
    }
  }
  return made_from(names);
}

std::vector<Payload> listed_wmma() {
  std::vector<std::string> names;
  for (const WmmaRow& row : wmma_rows) {
    const std::vector<std::string_view> types =
        row.a == "f8" ? std::vector<std::string_view>{"f8E4M3FN", "f8E5M2"} : std::vector<std::string_view>{row.a};
    for (const std::string_view a : types) {
      for (const std::string_view b : types)
        names.push_back(fmt::format("{}.wmma<16x16x{},({},{})->{}>", row.family, row.k, a, b, row.c));
    }
  }
  for (const int block : {32, 16}) {
    for (const std::string_view a : narrow_types) {
      for (const std::string_view b : narrow_types)
        names.push_back(fmt::format("gfx1250.wmma_scale<16x16x128,({},{})->f32,blockSize={}>", a, b, block));
    }
    names.push_back(fmt::format("gfx1250.wmma_scale<32x16x128,(f4E2M1FN,f4E2M1FN)->f32,blockSize={}>", block));
  }
  return made_from(names);
}

}  // namespace

std::vector<Family> rocdl_mma_families() {
  return {{"mfma", "CDNA3 and CDNA4 matrix instructions, 64 lanes, plain and scaled", listed_mfma,
           [](std::string_view name) {
             return named(name, {"cdna3.mfma", "cdna4.mfma_scale"});
           }},
          {"wmma", "GFX11, GFX120x and GFX1250 matrix instructions, 32 lanes, plain and scaled", listed_wmma,
           [](std::string_view name) {
             return named(name, {"gfx11.wmma", "gfx120x.wmma", "gfx1250.wmma", "gfx1250.wmma_scale"});
           }}};
}

}  // namespace tmemsim::atom
