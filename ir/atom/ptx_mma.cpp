// mma.sync m16n8: fragments of 32 threads. PTX ISA 9.7.14.5.
#include "ir/atom/families.hpp"
#include "ir/atom/rows.hpp"

namespace tmemsim::atom {
namespace {

// Thread t is thread t % 4 of group t / 4. A 32-bit register holds the packed() values of consecutive k.
struct WarpMmaRow {
  int k;
  std::string_view type, result;

  std::string name() const {
    const std::string_view usual = type[0] == 's' || type[0] == 'u' ? "s32" : "f32";
    return fmt::format("mma.sync.m16n8k{}.{}{}", k, type, result == usual ? "" : fmt::format(".{}", result));
  }
  int bits() const { return *element_bits(type); }
  int packed() const { return 32 / bits(); }
  int parts() const { return k / (4 * packed()); }  // registers along K

  Operand operand(std::string which, std::string_view element, std::int64_t rows, std::int64_t tile, NestedLayout layout,
                  std::int64_t register_bits) const {
    Operand made;
    made.name = std::move(which);
    made.type = std::string(element);
    made.bits = *element_bits(element);
    made.layout = std::move(layout);
    made.rows = rows;
    made.tile = tile;
    made.register_bits = register_bits;
    return made;
  }

  static Digits without_ones(const Digits& digits) {
    Digits kept;
    for (const Digit& digit : digits) {
      if (digit.extent != 1) kept.push_back(digit);
    }
    return kept.empty() ? Digits{{1, 0}} : kept;
  }

  // The tables of the ISA: row and column of value i of thread `lane`.
  FragmentPlaces places() const {
    const int width = packed(), halves = parts();
    FragmentPlaces tables;
    tables.a = [width, halves](int lane, int i) {
      const int group = lane >> 2, in_group = lane % 4;
      if (width == 1) return std::pair{i == 0 || i == 2 ? group : group + 8, halves == 1 || i < 2 ? in_group : in_group + 4};
      const bool upper = halves == 1 ? i < width : i < width || (i >= 2 * width && i < 3 * width);
      const int far = halves == 2 && i >= 2 * width ? 4 * width : 0;
      return std::pair{upper ? group : group + 8, in_group * width + i % width + far};
    };
    tables.b = [width](int lane, int i) {
      const int group = lane >> 2, in_group = lane % 4;
      return std::pair{group, in_group * width + i % width + (i >= width ? 4 * width : 0)};
    };
    tables.c = [](int lane, int i) { return std::pair{i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)}; };
    return tables;
  }

  Result<Payload> payload() const {
    const std::int64_t e = packed(), h = parts();
    Payload made;
    made.name = name();
    made.target = "sm_80";
    made.kind = Kind::mma;
    if (bits() >= 8) made.operation = "mma.sync";  // the kernel's element types have no integers of 4 bits
    made.instruction = fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{}", k, result, type, type, result);
    made.threads = mode_of({{32, 1}});
    made.mnk = {16, 8, k};
    made.result_type = std::string(result);
    made.operands = {
        operand("A", type, 16, 16 * k, thread_value({{4, 16 * e}, {8, 1}}, without_ones({{e, 16}, {2, 8}, {h, 64 * e}})),
                64 * h),
        operand("B", type, 8, 8 * k, thread_value({{4, 8 * e}, {8, 1}}, without_ones({{e, 8}, {h, 32 * e}})), 32 * h),
        operand("C", result, 16, 128, thread_value({{4, 32}, {8, 1}}, {{2, 16}, {2, 8}}), 4 * *element_bits(result))};
    made.executor = multiply_by(places(), made.mnk, "PTX ISA 9.7.14.5, fragment tables");
    return made;
  }
};

const std::vector<WarpMmaRow>& warp_mma_rows() {
  static const std::vector<WarpMmaRow> rows{{8, "f16", "f32"},  {16, "f16", "f32"},  {8, "f16", "f16"},  {16, "f16", "f16"},
                                            {8, "bf16", "f32"}, {16, "bf16", "f32"}, {4, "tf32", "f32"}, {8, "tf32", "f32"},
                                            {16, "s8", "s32"},  {32, "s8", "s32"},   {16, "u8", "s32"},  {32, "u8", "s32"},
                                            {32, "s4", "s32"},  {64, "s4", "s32"}};
  return rows;
}

std::vector<Payload> warp_mmas() {
  std::vector<Payload> made;
  for (const WarpMmaRow& row : warp_mma_rows()) made.push_back(*row.payload());
  return made;
}

std::optional<Result<Payload>> warp_mma_named(std::string_view name) {
  for (const WarpMmaRow& row : warp_mma_rows()) {
    if (row.name() == name) return row.payload();
  }
  return std::nullopt;
}

}  // namespace

std::vector<Family> ptx_mma_families() {
  return {{"mma.sync", "matrix multiply of one warp, operands in registers", warp_mmas, warp_mma_named}};
}

}  // namespace tmemsim::atom
