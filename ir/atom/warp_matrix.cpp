#include "ir/atom/warp_matrix.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/atom/flat_map.hpp"
#include "ir/atom/registry.hpp"

namespace tmemsim::atom {
namespace {

constexpr std::int64_t warp_lanes = 32, half_bits = 16;

const Operand& side(const Payload& payload, std::string_view which) {
  const Operand* found = payload.operand(which);
  if (found == nullptr) throw std::logic_error(fmt::format("{} has no operand {}", payload.name, which));
  return *found;
}

MatrixRows rows_of(bool load, int num, bool trans) {
  const PayloadRef payload =
      *atom_named(fmt::format("{}.m8n8.x{}{}.b16", load ? "ldmatrix" : "stmatrix", num, trans ? ".trans" : ""));
  const Operand& addressed = side(*payload, load ? "src" : "dst");
  const auto row_map = *ThreadValueMap::make(addressed.layout),
             fragment = *ThreadValueMap::make(side(*payload, load ? "dst" : "src").layout);
  // Image -> the first lane that addresses it: the lanes beyond repeat the others.
  std::vector<MatrixRows::Half> addressed_by(static_cast<std::size_t>(addressed.tile / half_bits));
  for (std::int64_t lane = warp_lanes - 1; lane >= 0; --lane) {
    for (std::int64_t bit = 0; bit < row_map.values.size(); bit += half_bits)
      addressed_by.at(static_cast<std::size_t>(row_map(lane, bit) / half_bits)) = {static_cast<std::uint8_t>(lane),
                                                                                   static_cast<std::uint8_t>(bit / 8)};
  }
  MatrixRows rows{num, {}};
  for (std::int64_t lane = 0; lane < warp_lanes; ++lane) {
    for (std::int64_t bit = 0; bit < fragment.values.size(); bit += half_bits)
      rows.half.push_back(addressed_by.at(static_cast<std::size_t>(fragment(lane, bit) / half_bits)));
  }
  return rows;
}

// A digit of a fragment's layout along the rows or along the columns of the matrix.
struct MatrixDigit {
  std::int64_t weight;  // rows or columns
  Iter iter;
};

// The fragment as a layout of buffers: its digits along the rows, then those along the columns, the largest first.
TileLayout tile_layout_of(const Operand& operand) {
  std::vector<MatrixDigit> along_rows, along_columns;
  for (const std::size_t which : {std::size_t{0}, std::size_t{1}}) {
    const NestedLayout part = mode(operand.layout, which);
    const auto extents = leaves(part.shape), strides = leaves(part.stride);
    std::int64_t weight = 1;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const std::int64_t extent = extents[i].value, stride = strides[i].value;
      if (extent == 1) continue;
      const Iter iter{extent, weight, which == 0 ? Axis::laneid : Axis::m};
      if (stride < operand.rows)
        along_rows.push_back({stride, iter});
      else
        along_columns.push_back({stride / operand.rows, iter});
      weight *= extent;
    }
  }
  TileLayout layout;
  for (auto* digits : {&along_rows, &along_columns}) {
    std::sort(digits->begin(), digits->end(), [](const MatrixDigit& x, const MatrixDigit& y) { return x.weight > y.weight; });
    for (const MatrixDigit& digit : *digits) layout.shard.push_back(digit.iter);
  }
  return layout;
}

Fragment fragment_of(const Payload& payload, std::string_view which) {
  const Operand& operand = side(payload, which);
  const auto map = *ThreadValueMap::make(operand.layout);
  Fragment fragment;
  fragment.rows = static_cast<int>(operand.rows);
  fragment.columns = static_cast<int>(operand.tile / operand.rows);
  fragment.bits = operand.bits;
  fragment.values = static_cast<int>(map.values.size());
  fragment.registers = static_cast<int>(operand.register_bits / 32);
  fragment.layout = tile_layout_of(operand);
  for (std::int64_t lane = 0; lane < warp_lanes; ++lane) {
    for (std::int64_t value = 0; value < map.values.size(); ++value) {
      const std::int64_t index = map(lane, value);
      fragment.place.emplace_back(index % operand.rows, index / operand.rows);
    }
  }
  return fragment;
}

MmaResult usual_result(MmaInput input) {
  return input == MmaInput::s8 || input == MmaInput::u8 ? MmaResult::s32 : MmaResult::f32;
}

std::string name_of(MmaShape shape, MmaInput input, MmaResult result) {
  const std::string form = fmt::format("mma.sync.{}.{}", keyword(shape), keyword(input));
  return result == usual_result(input) ? form : fmt::format("{}.{}", form, keyword(result));
}

std::optional<Payload> row_named(const std::string& name) {
  for (const Family& family : families()) {
    auto found = family.find(name);
    if (found && *found) return **std::move(found);
  }
  return std::nullopt;
}

std::vector<WarpMma> all_warp_mmas() {
  std::vector<WarpMma> all;
  for (std::size_t shape = 0; shape < Keywords<MmaShape>::names.size(); ++shape) {
    for (std::size_t input = 0; input < Keywords<MmaInput>::names.size(); ++input) {
      for (std::size_t result = 0; result < Keywords<MmaResult>::names.size(); ++result) {
        WarpMma mma{
            static_cast<MmaShape>(shape), static_cast<MmaInput>(input), static_cast<MmaResult>(result), {}, {}, {}, {}, {}, {}};
        mma.name = name_of(mma.shape, mma.input, mma.result);
        const auto payload = row_named(mma.name);
        if (!payload) continue;
        mma.input_type = *dtype_named(keyword(mma.input));
        mma.result_type = *dtype_named(keyword(mma.result));
        mma.a = fragment_of(*payload, "A");
        mma.b = fragment_of(*payload, "B");
        mma.c = fragment_of(*payload, "C");
        all.push_back(std::move(mma));
      }
    }
  }
  return all;
}

}  // namespace

const MatrixRows& matrix_rows(bool load, int num, bool trans) {
  static const std::array<MatrixRows, 12> tables = [] {
    std::array<MatrixRows, 12> made;
    std::size_t at = 0;
    for (const bool of_load : {false, true})
      for (const bool transposed : {false, true})
        for (const int count : {1, 2, 4}) made[at++] = rows_of(of_load, count, transposed);
    return made;
  }();
  if (num != 1 && num != 2 && num != 4) throw std::logic_error("ldmatrix and stmatrix move 1, 2 or 4 matrices");
  return tables[(load ? 6u : 0u) + (trans ? 3u : 0u) + static_cast<std::size_t>(num / 2)];
}

const std::vector<WarpMma>& warp_mmas() {
  static const std::vector<WarpMma> all = all_warp_mmas();
  return all;
}

Result<const WarpMma*> warp_mma(MmaShape shape, MmaInput input, std::optional<MmaResult> acc) {
  const MmaResult result = acc.value_or(usual_result(input));
  std::vector<std::string> forms;
  for (const WarpMma& mma : warp_mmas()) {
    if (mma.shape == shape && mma.input == input && mma.result == result) return &mma;
    if (mma.input == input) forms.push_back(mma.name);
  }
  return Reason{fmt::format("there is no {}; with {} there are {}", name_of(shape, input, result), keyword(input),
                            fmt::join(forms, ", ")),
                {},
                {},
                {}};
}

}  // namespace tmemsim::atom
