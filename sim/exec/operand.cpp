#include "sim/exec/operand.hpp"

#include <algorithm>

namespace tmemsim::sim {

// ---- shared memory ----

ByteRuns runs_of(std::vector<std::int64_t> first, std::int64_t bytes) {
  std::sort(first.begin(), first.end());
  ByteRuns runs;
  for (std::int64_t at : first) {
    if (!runs.empty() && at <= runs.back().first + runs.back().second) {
      runs.back().second = std::max(runs.back().second, at + bytes - runs.back().first);
    } else {
      runs.emplace_back(at, bytes);
    }
  }
  return runs;
}

std::vector<std::int64_t> region_bytes(const Buffer& buffer, const RegionPlan& region, std::int64_t first) {
  const SlotMap slot(layout_of(buffer), Axis::m);
  const std::int64_t window = buffer.space == Space::shared ? buffer.offset.value_or(0) : 0;
  std::vector<std::int64_t> byte;
  byte.reserve(static_cast<std::size_t>(region.elements));
  for (std::int64_t i = 0; i < region.elements; ++i) {
    std::int64_t element = first, rest = i;
    for (std::size_t d = region.extent.size(); d-- > 0; rest /= region.extent[d]) element += rest % region.extent[d] * region.weight[d];
    byte.push_back(window + slot(element) * bits(buffer.dtype) / 8);
  }
  return byte;
}

SharedMatrix shared_matrix(const Buffer& buffer, const RegionPlan& region, std::int64_t first, bool transposed) {
  const SlotMap slot(layout_of(buffer), Axis::m);
  const std::int64_t bytes = bits(buffer.dtype) / 8, window = buffer.offset.value_or(0);
  const std::size_t mn_dimension = transposed ? 1 : 0, k_dimension = 1 - mn_dimension;
  SharedMatrix matrix;
  matrix.byte.reserve(static_cast<std::size_t>(region.elements));
  for (std::int64_t mn = 0; mn < region.extent[mn_dimension]; ++mn) {
    for (std::int64_t k = 0; k < region.extent[k_dimension]; ++k)
      matrix.byte.push_back(window + bytes * slot(first + mn * region.weight[mn_dimension] + k * region.weight[k_dimension]));
  }
  matrix.runs = runs_of(matrix.byte, bytes);
  return matrix;
}

namespace {

// One row of the table of 8.2. The offset of (mn, k) is a sum of digits; LBO and SBO are free, everything else is fixed.
struct Canonical {
  bool k_major;
  int swizzle_bytes;  // 16: none
  int atom_bytes;     // what the swizzle moves as one
};
constexpr Canonical canonical_layouts[] = {{true, 16, 16}, {true, 32, 16}, {true, 64, 16}, {true, 128, 16},
                                           {false, 16, 16}, {false, 32, 16}, {false, 64, 16}, {false, 128, 16}, {false, 128, 32}};

// The XOR acts on the absolute address and is its own inverse.
std::int64_t unswizzled(const Canonical& layout, std::int64_t address) {
  if (layout.swizzle_bytes == 16) return address;
  if (layout.atom_bytes == 32) return address ^ (((address >> 7) & 3) << 5);
  return address ^ (((address >> 7) & (layout.swizzle_bytes / 16 - 1)) << 4);
}

struct Strides {
  std::int64_t lbo = 0, sbo = 0;
};

std::int64_t offset_of(const Canonical& layout, std::int64_t mn, std::int64_t k, std::int64_t bytes, const Strides& strides) {
  const std::int64_t t = 16 / bytes, s = layout.swizzle_bytes / 16;
  if (layout.k_major) {
    if (s == 1) return (mn % 8) * 16 + (mn / 8) * strides.sbo + (k % t) * bytes + (k / t) * strides.lbo;
    return (mn % 8) * 16 * s + (mn / 8) * strides.sbo + k * bytes;
  }
  if (s == 1) return (mn % t) * bytes + (mn / t) * strides.sbo + (k % 8) * 16 + (k / 8) * strides.lbo;
  const std::int64_t deep = layout.atom_bytes == 32 ? 4 : 8;
  return (mn % t) * bytes + (mn / t) % s * 16 + (mn / (t * s)) * strides.lbo + (k % deep) * 16 * s + (k / deep) * strides.sbo;
}

// The first element whose offset holds the stride alone; nothing when the matrix is too small to have one.
struct Probe {
  std::int64_t mn = 0, k = 0;
};
Probe lbo_probe(const Canonical& layout, std::int64_t bytes) {
  const std::int64_t t = 16 / bytes, s = layout.swizzle_bytes / 16;
  if (layout.k_major) return s == 1 ? Probe{0, t} : Probe{0, INT64_MAX};
  return s == 1 ? Probe{0, 8} : Probe{t * s, 0};
}
Probe sbo_probe(const Canonical& layout, std::int64_t bytes) {
  const std::int64_t t = 16 / bytes, s = layout.swizzle_bytes / 16;
  if (layout.k_major) return {8, 0};
  return s == 1 ? Probe{t, 0} : Probe{0, layout.atom_bytes == 32 ? 4 : 8};
}

bool fits_field(std::int64_t value) { return value >= 0 && value % 16 == 0 && value < (std::int64_t{1} << 18); }

bool matches(const Canonical& layout, const std::vector<std::int64_t>& byte, std::int64_t mn, std::int64_t k, std::int64_t bytes) {
  const auto at = [&](std::int64_t i, std::int64_t j) { return unswizzled(layout, byte[static_cast<std::size_t>(i * k + j)]); };
  const std::int64_t start = at(0, 0);
  if (!fits_field(start)) return false;
  const auto stride = [&](Probe probe) { return probe.mn < mn && probe.k < k ? at(probe.mn, probe.k) - start : 0; };
  const Strides strides{stride(lbo_probe(layout, bytes)), stride(sbo_probe(layout, bytes))};
  if (!fits_field(strides.lbo) || !fits_field(strides.sbo)) return false;
  for (std::int64_t i = 0; i < mn; ++i)
    for (std::int64_t j = 0; j < k; ++j)
      if (at(i, j) - start != offset_of(layout, i, j, bytes, strides)) return false;
  return true;
}

}  // namespace

bool is_canonical(const std::vector<std::int64_t>& byte, std::int64_t mn, std::int64_t k, int bytes, bool k_major_only) {
  return std::any_of(std::begin(canonical_layouts), std::end(canonical_layouts), [&](const Canonical& layout) {
    if (!layout.k_major && (k_major_only || (bytes == 4) != (layout.atom_bytes == 32))) return false;
    return matches(layout, byte, mn, k, bytes);
  });
}

// ---- tensor memory ----

TmemMatrix tmem_matrix(const Buffer& buffer, const RegionPlan& region, std::int64_t first) {
  const TileLayout layout = layout_of(buffer);
  const SlotMap lane(layout, Axis::TLane), column(layout, Axis::TCol);
  const int width = bits(buffer.dtype);
  TmemMatrix matrix;
  matrix.cell.reserve(static_cast<std::size_t>(region.elements));
  for (std::int64_t i = 0; i < region.extent[0]; ++i) {
    for (std::int64_t j = 0; j < region.extent[1]; ++j) {
      const std::int64_t element = first + i * region.weight[0] + j * region.weight[1], bit = column(element) * width;
      matrix.cell.push_back({static_cast<std::uint32_t>(lane(element)), static_cast<std::uint32_t>(buffer.column + bit / 32),
                             static_cast<std::uint32_t>(bit % 32)});
    }
  }
  return matrix;
}

std::optional<DataPath> data_path(std::int64_t m, int cta_group) {
  if (cta_group == 1) return m == 128 ? std::optional(DataPath::d) : m == 64 ? std::optional(DataPath::f) : std::nullopt;
  return m == 256 ? std::optional(DataPath::a) : m == 128 ? std::optional(DataPath::b) : std::nullopt;
}

TmemMatrix::Cell cell_of(DataPath path, std::int64_t row, std::int64_t column, std::int64_t n) {
  switch (path) {
    case DataPath::b:
      return {static_cast<std::uint32_t>(row + (column >= n / 2 ? 64 : 0)), static_cast<std::uint32_t>(column % (n / 2)), 0};
    case DataPath::f: return {static_cast<std::uint32_t>(32 * (row / 16) + row % 16), static_cast<std::uint32_t>(column), 0};
    default: return {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column), 0};
  }
}

std::vector<SlabBox> boxes_of(std::uint32_t slab_bits, std::uint32_t column, std::uint32_t columns) {
  std::vector<SlabBox> boxes;
  for (std::uint32_t slab = 0; slab < slabs;) {
    if (!(slab_bits >> slab & 1u)) {
      ++slab;
      continue;
    }
    std::uint32_t end = slab;
    while (end < slabs && (slab_bits >> end & 1u)) ++end;
    boxes.push_back({slab, end - slab, column, columns});
    slab = end;
  }
  return boxes;
}

}  // namespace tmemsim::sim
