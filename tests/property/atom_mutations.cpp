// Single mistakes in an atom's row: a row-major reference, permuted thread modes, swapped value order, a stride off by one, a
// wrong extent. Each that changes the map must be found, in every atom whose instruction has a definition.
#include <algorithm>
#include <functional>

#include "ir/atom/flat_map.hpp"
#include "ir/atom/registry.hpp"
#include "ir/atom/verify.hpp"
#include "tests/catch.hpp"
#include "tests/scale.hpp"

using namespace tmemsim;
using namespace tmemsim::atom;

namespace {

struct Leaf {
  std::int64_t extent, stride;
};
using Mode = std::vector<Leaf>;

Mode mode_leaves(const NestedLayout& layout, std::size_t which) {
  const NestedLayout part = mode(layout, which);
  const auto extents = leaves(part.shape), strides = leaves(part.stride);
  Mode result;
  for (std::size_t k = 0; k < extents.size(); ++k) result.push_back({extents[k].value, strides[k].value});
  return result;
}

NestedLayout layout_of(const Mode& threads, const Mode& values) {
  std::vector<IntTuple> shape, stride;
  for (const Mode& part : {threads, values}) {
    std::vector<IntTuple> extents, strides;
    for (const Leaf& leaf : part) {
      extents.emplace_back(leaf.extent);
      strides.emplace_back(leaf.stride);
    }
    shape.push_back(IntTuple::of(std::move(extents)));
    stride.push_back(IntTuple::of(std::move(strides)));
  }
  return {IntTuple::of(std::move(shape)), IntTuple::of(std::move(stride))};
}

// All orders of two modes, and all mistakes in one leaf.
void leaf_mistakes(const Mode& part, const std::function<void(Mode)>& add) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    for (std::size_t j = i + 1; j < part.size(); ++j) {
      Mode changed = part;
      std::swap(changed[i], changed[j]);
      add(changed);
      changed = part;
      std::swap(changed[i].stride, changed[j].stride);
      add(changed);
    }
    for (const std::int64_t step : {-1, 1}) {
      Mode changed = part;
      changed[i].stride += step;
      add(changed);
      changed = part;
      changed[i].extent += step;
      add(changed);
    }
    for (const std::int64_t factor : {0, 2}) {
      Mode changed = part;
      changed[i].stride *= factor;
      add(changed);
      changed = part;
      changed[i].extent *= factor;
      add(changed);
    }
    if (part[i].stride % 2 == 0) {
      Mode changed = part;
      changed[i].stride /= 2;
      add(changed);
    }
    if (part[i].extent % 2 == 0) {
      Mode changed = part;
      changed[i].extent /= 2;
      add(changed);
    }
  }
}

std::int64_t row_major(std::int64_t stride, std::int64_t rows, std::int64_t columns) {
  return stride % rows * columns + stride / rows;
}

std::vector<NestedLayout> mistakes(const Operand& operand) {
  const Mode threads = mode_leaves(operand.layout, 0), values = mode_leaves(operand.layout, 1);
  std::vector<NestedLayout> result;
  leaf_mistakes(threads, [&](const Mode& changed) { result.push_back(layout_of(changed, values)); });
  leaf_mistakes(values, [&](const Mode& changed) { result.push_back(layout_of(threads, changed)); });
  result.push_back(layout_of(values, threads));
  if (operand.rows > 0 && operand.tile % operand.rows == 0) {
    Mode t = threads, v = values;
    for (Mode* part : {&t, &v}) {
      for (Leaf& leaf : *part) leaf.stride = row_major(leaf.stride, operand.rows, operand.tile / operand.rows);
    }
    result.push_back(layout_of(t, v));
  }
  return result;
}

bool same_map(const NestedLayout& a, const NestedLayout& b) {
  const auto first = ThreadValueMap::make(a), second = ThreadValueMap::make(b);
  if (!first || !second) return false;
  if (first->threads.size() != second->threads.size() || first->values.size() != second->values.size()) return false;
  const auto agree = [](const FlatMap& f, const FlatMap& g) {
    for (std::int64_t x = 0; x < f.size(); ++x) {
      if (f(x) != g(x)) return false;
    }
    return true;
  };
  return agree(first->threads, second->threads) && agree(first->values, second->values);
}

struct Count {
  int wrong = 0, structural = 0, found = 0;
};

void count(const PayloadRef& atom, Count& total) {
  for (std::size_t k = 0; k < atom->operands.size(); ++k) {
    for (const NestedLayout& wrong : mistakes(atom->operands[k])) {
      if (same_map(wrong, atom->operands[k].layout)) continue;
      Payload changed = *atom;
      changed.operands[k].layout = wrong;
      ++total.wrong;
      const bool by_structure = !check_structure(changed).empty();
      total.structural += by_structure ? 1 : 0;
      const bool found = by_structure || !check_against_instruction(changed).empty();
      total.found += found ? 1 : 0;
      if (!found) FAIL_CHECK(atom->name << " " << atom->operands[k].name << ": " << to_string(wrong) << " is not found");
    }
    if (!atom->operands[k].cell) continue;
    const NestedLayout cells{IntTuple::of({IntTuple(1), atom->operands[k].cell->shape}),
                             IntTuple::of({IntTuple(0), atom->operands[k].cell->stride})};
    leaf_mistakes(mode_leaves(cells, 1), [&](const Mode& changed_cells) {
      const NestedLayout wrong = layout_of({{1, 0}}, changed_cells);
      if (same_map(wrong, cells)) return;
      Payload changed = *atom;
      changed.operands[k].cell = mode(wrong, 1);
      ++total.wrong;
      if (!verify(changed).empty())
        ++total.found;
      else
        FAIL_CHECK(atom->name << " cells: " << to_string(wrong) << " is not found");
    });
    for (const std::int64_t step : {-1, 1}) {
      Payload changed = *atom;
      changed.operands[k].first_cell += step;
      ++total.wrong;
      if (!verify(changed).empty())
        ++total.found;
      else
        FAIL_CHECK(atom->name << " cells: first one " << step << " further is not found");
    }
  }
}

// Large forms of a family have the layout of the small ones; they are checked, but not mutated.
bool is_small(const Payload& payload) {
  const bool scaled = payload.operand("SFA") != nullptr && payload.sparsity == 1 && payload.operand("A")->place != Place::tmem;
  if (payload.kind == Kind::mma)
    return payload.mnk[0] * payload.mnk[1] * payload.mnk[2] <= (scaled ? 128 * 64 * 64 : 64 * 64 * 32);
  return payload.operands[0].tile <= 8192;
}

}  // namespace

TEST_CASE("All single mistakes in atoms with a definition of the instruction are found") {
  const int every = std::max(1, 20 / tests::scaled(20));  // a shorter test takes every so-manieth atom
  Count total;
  int atoms = 0;
  for (const PayloadRef& atom : all_atoms()) {
    if (!atom->executor || !is_small(*atom)) continue;
    if (atoms++ % every == 0) count(atom, total);
  }
  INFO(total.found << " of " << total.wrong << " found, " << total.structural << " by structure alone, " << atoms << " atoms");
  CHECK(atoms > 100);
  CHECK(total.wrong > 5000 / every);
  CHECK(total.structural < total.wrong);  // some need the instruction
  CHECK(total.found == total.wrong);
}
