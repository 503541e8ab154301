#include "ir/atom/verify.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "ir/atom/flat_map.hpp"

namespace tmemsim::atom {
namespace {

constexpr std::int64_t most_cells = 128 * 512 * 32;  // bits of one SM's tensor memory

class StructureCheck {
 public:
  explicit StructureCheck(const Payload& payload) : payload_(payload) {}

  std::vector<Problem> run() {
    check_state();
    if (payload_.whole_tile) return std::move(problems_);
    const auto threads = FlatMap::make(payload_.threads);
    if (!threads) {
      say("form", "", threads.reason().text);
      return std::move(problems_);
    }
    for (const Operand& operand : payload_.operands) check(operand, threads->size());
    if (!problems_.empty()) return std::move(problems_);
    if (payload_.kind == Kind::copy)
      check_copy();
    else
      check_tiles();
    return std::move(problems_);
  }

 private:
  void say(std::string rule, std::string operand, std::string text) {
    problems_.push_back({std::move(rule), std::move(operand), std::move(text)});
  }

  void check_state() {
    std::set<std::string> names;
    for (const StateField& field : payload_.state) {
      if (!names.insert(field.name).second) say("state", "", fmt::format("the field {} is declared twice", field.name));
      if (field.type.rfind('i', 0) != 0 || !element_bits(field.type))
        say("state", "", fmt::format("the field {} has the unknown type {}", field.name, field.type));
    }
  }

  void check(const Operand& operand, std::int64_t threads) {
    const auto map = ThreadValueMap::make(operand.layout);
    if (!map) return say("form", operand.name, map.reason().text);
    const std::int64_t held = map->threads.size() * map->values.size();
    if (map->threads.size() != threads)
      say("threads", operand.name,
          fmt::format("{} threads in the layout, {} execute the instruction", map->threads.size(), threads));
    if (operand.register_bits != 0 && map->values.size() * operand.bits != operand.register_bits) {
      say("registers", operand.name,
          fmt::format("{} values of {} bits, a thread's registers have {} bits", map->values.size(), operand.bits,
                      operand.register_bits));
    }
    const std::int64_t expected = operand.tile * operand.replication, counted = operand.collective ? map->values.size() : held;
    if (counted != expected)
      return say("tile", operand.name,
                 fmt::format("the layout has {} positions, the tile {} elements times {} (declared replication)", counted,
                             operand.tile, operand.replication));
    if (held > 1 << 24) return say("form", operand.name, "more than 2^24 positions");
    check_coverage(operand, *map);
    check_cells(operand, *map);
  }

  // Every value of a thread has a cell of its own.
  void check_cells(const Operand& operand, const ThreadValueMap& map) {
    if (!operand.cell) return;
    const auto cells = FlatMap::make(*operand.cell);
    if (!cells) return say("form", operand.name, cells.reason().text);
    if (cells->size() != map.values.size())
      return say("tile", operand.name, fmt::format("{} cells for {} values", cells->size(), map.values.size()));
    std::set<std::int64_t> taken;
    for (std::int64_t v = 0; v < cells->size(); ++v) {
      const std::int64_t at = (*cells)(v) + operand.first_cell;
      if (at < 0 || at >= most_cells)
        return say("coverage", operand.name, fmt::format("value {} lies outside the tensor memory", v));
      if (!taken.insert(at).second)
        return say("coverage", operand.name, fmt::format("value {} shares its cell with another value", v));
    }
  }

  void check_coverage(const Operand& operand, const ThreadValueMap& map) {
    std::vector<std::int64_t> times(static_cast<std::size_t>(operand.tile), 0);
    for (std::int64_t t = 0; t < map.threads.size(); ++t) {
      if (operand.collective && map.threads(t) != 0)
        return say("coverage", operand.name, fmt::format("thread {} does not address the whole image", t));
      if (operand.collective && t > 0) continue;
      for (std::int64_t v = 0; v < map.values.size(); ++v) {
        const std::int64_t at = map(t, v);
        if (at < 0 || at >= operand.tile)
          return say("coverage", operand.name,
                     fmt::format("thread {} value {} is index {}, outside the tile of {}", t, v, at, operand.tile));
        ++times[static_cast<std::size_t>(at)];
      }
    }
    for (std::size_t at = 0; at < times.size(); ++at) {
      if (times[at] != operand.replication)
        return say("coverage", operand.name,
                   fmt::format("index {} occurs {} times, {} declared", at, times[at], operand.replication));
    }
  }

  // The reference side equals a side that carries data in registers, else the destination.
  void check_copy() {
    const Operand* src = payload_.operand("src");
    const Operand* dst = payload_.operand("dst");
    const Operand* ref = payload_.operand("ref");
    if (src == nullptr || dst == nullptr || ref == nullptr) return say("form", "", "a copy has the operands src, dst and ref");
    if (src->tile != dst->tile || ref->tile != dst->tile)
      say("tile", "", "source, destination and reference have images of different sizes");
    if (!(ref->layout == src->layout) && !(ref->layout == dst->layout))
      say("reference", "ref", "the reference is neither the source nor the destination");
  }

  void check_tiles() {
    const auto [m, n, k] = payload_.mnk;
    if (payload_.sparsity < 1 || payload_.kept_in_group < 1 || payload_.blocks < 1 ||
        k % (payload_.sparsity * payload_.kept_in_group) != 0)
      return say("tile", "A", fmt::format("K of {} is no whole number of groups", k));
    const std::pair<const char*, std::int64_t> tiles[] = {{"A", m * k / payload_.sparsity}, {"B", n * k}, {"C", m * n}};
    for (const auto& [which, one_block] : tiles) {
      const std::int64_t elements = one_block * payload_.blocks;
      const Operand* operand = payload_.operand(which);
      if (operand == nullptr)
        say("form", which, "a matrix atom has the operands A, B and C");
      else if (operand->tile != elements)
        say("tile", which, fmt::format("a tile of {} elements, M, N and K make {}", operand->tile, elements));
    }
  }

  const Payload& payload_;
  std::vector<Problem> problems_;
};

// A different 64-bit number for each element of each operand (splitmix64).
std::uint64_t tag(std::uint64_t operand, std::int64_t index) {
  std::uint64_t x = (operand << 48) + static_cast<std::uint64_t>(index) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Element -> what the threads hold, through the layout.
Held handed_out(const Operand& operand, std::uint64_t number) {
  const auto map = ThreadValueMap::make(operand.layout);
  const std::int64_t threads = operand.collective ? 1 : map->threads.size();
  const FlatMap cells =
      operand.cell ? *FlatMap::make(*operand.cell) : *FlatMap::make(*make_layout(IntTuple(map->values.size())));
  std::int64_t last = 0;
  for (std::int64_t v = 0; v < map->values.size(); ++v) last = std::max(last, cells(v) + operand.first_cell);
  Held held(static_cast<std::size_t>(threads), std::vector<std::uint64_t>(static_cast<std::size_t>(last) + 1));
  for (std::int64_t t = 0; t < threads; ++t) {
    for (std::int64_t v = 0; v < map->values.size(); ++v) {
      const std::int64_t at = cells(v) + operand.first_cell;
      if (at >= 0) held[static_cast<std::size_t>(t)][static_cast<std::size_t>(at)] = tag(number, (*map)(t, v));
    }
  }
  return held;
}

using Expected = std::function<std::uint64_t(std::int64_t)>;

std::optional<std::string> compare(const Operand& operand, const Held& held, const Expected& expected) {
  const auto map = ThreadValueMap::make(operand.layout);
  std::optional<FlatMap> cells;
  if (operand.cell) {
    const auto made = FlatMap::make(*operand.cell);
    if (!made) return made.reason().text;
    cells = *made;
    if (cells->size() != map->values.size()) return fmt::format("{} cells for {} values", cells->size(), map->values.size());
  }
  const std::int64_t threads = operand.collective ? 1 : map->threads.size();
  if (static_cast<std::int64_t>(held.size()) != threads)
    return fmt::format("the instruction has {} threads, the layout {}", held.size(), threads);
  for (std::int64_t t = 0; t < threads; ++t) {
    const auto& mine = held[static_cast<std::size_t>(t)];
    for (std::int64_t v = 0; v < map->values.size(); ++v) {
      const std::int64_t at = cells ? (*cells)(v) + operand.first_cell : v;
      if (at < 0 || at >= static_cast<std::int64_t>(mine.size()))
        return fmt::format("value {} lies outside what the instruction writes", v);
      if (mine[static_cast<std::size_t>(at)] != expected((*map)(t, v)))
        return fmt::format("after the instruction thread {} value {} is not element {}", t, v, (*map)(t, v));
    }
  }
  return std::nullopt;
}

std::vector<Problem> executed_copy(const Payload& payload) {
  const Held held = payload.executor.copy(handed_out(*payload.operand("src"), 1));
  const auto wrong = compare(*payload.operand("dst"), held, [](std::int64_t index) { return tag(1, index); });
  return wrong ? std::vector<Problem>{{"ground truth", "dst", *wrong}} : std::vector<Problem>{};
}

Held multiplied(const Payload& payload) {
  const auto given = [&](std::string_view which, std::uint64_t number) { return handed_out(*payload.operand(which), number); };
  if (payload.executor.multiply_scaled)
    return payload.executor.multiply_scaled(given("A", 1), given("B", 2), given("C", 3), given("SFA", 4), given("SFB", 5));
  return payload.executor.multiply(given("A", 1), given("B", 2), given("C", 3));
}

// The product of the tags, element by element of C's tile.
std::vector<std::uint64_t> expected_product(const Payload& payload) {
  const auto [m, n, k] = payload.mnk;
  const std::int64_t stored = k / payload.sparsity;
  const Operand* scale = payload.operand("SFA");
  const std::int64_t runs = scale == nullptr ? 1 : scale->tile / m;  // of k, each with a scale factor of its own
  std::vector<std::uint64_t> product;
  for (std::int64_t block = 0; block < payload.blocks; ++block) {
    for (std::int64_t col = 0; col < n; ++col) {
      for (std::int64_t row = 0; row < m; ++row) {
        std::uint64_t sum = tag(3, row + m * col + m * n * block);
        for (std::int64_t s = 0; s < stored; ++s) {
          const std::int64_t depth = payload.column_of_a(s), run = depth * runs / k;
          std::uint64_t one = tag(1, row + m * s + m * stored * block) * tag(2, col + n * depth + n * k * block);
          if (scale != nullptr) one *= tag(4, row + m * run) * tag(5, col + n * run);
          sum += one;
        }
        product.push_back(sum);
      }
    }
  }
  return product;
}

std::vector<Problem> executed_multiply(const Payload& payload) {
  const Held held = multiplied(payload);
  const std::vector<std::uint64_t> product = expected_product(payload);
  const auto wrong =
      compare(*payload.operand("C"), held, [&](std::int64_t index) { return product.at(static_cast<std::size_t>(index)); });
  return wrong ? std::vector<Problem>{{"ground truth", "D", *wrong}} : std::vector<Problem>{};
}

}  // namespace

std::vector<Problem> check_structure(const Payload& payload) { return StructureCheck(payload).run(); }

std::vector<Problem> check_against_instruction(const Payload& payload) {
  try {
    if (payload.executor.copy) return executed_copy(payload);
    if (payload.executor.multiply || payload.executor.multiply_scaled) return executed_multiply(payload);
  } catch (const std::out_of_range&) {
    return {{"ground truth", "", "the instruction needs a value that the layouts do not give"}};
  }
  return {};
}

std::vector<Problem> verify(const Payload& payload) {
  std::vector<Problem> problems = check_structure(payload);
  return problems.empty() ? check_against_instruction(payload) : problems;
}

}  // namespace tmemsim::atom
