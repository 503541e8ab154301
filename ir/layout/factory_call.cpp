// Factories by name, for layout notation and case files.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "ir/layout/factories.hpp"

namespace tmemsim {
namespace {

// The arguments of one call, taken in order or by name. The first wrong one is remembered.
class Arguments {
 public:
  explicit Arguments(const FactoryCall& call) : call_(call) {}

  std::int64_t integer(std::string_view key, std::optional<std::int64_t> otherwise = {}) {
    const FactoryValue* value = next(key, otherwise.has_value());
    if (value == nullptr) return otherwise.value_or(0);
    if (const auto* number = std::get_if<std::int64_t>(value)) return *number;
    if (const auto* word = std::get_if<std::string>(value)) {
      if (*word == "True" || *word == "true") return 1;
      if (*word == "False" || *word == "false") return 0;
    }
    wrong(key, "an integer");
    return 0;
  }
  std::string word(std::string_view key, std::optional<std::string> otherwise = {}) {
    const FactoryValue* value = next(key, otherwise.has_value());
    if (value == nullptr) return otherwise.value_or("");
    if (const auto* text = std::get_if<std::string>(value)) return *text;
    wrong(key, "a word");
    return "";
  }
  char letter(std::string_view key) {
    const std::string text = word(key);
    return text.size() == 1 ? text.front() : '?';
  }
  std::vector<std::int64_t> tuple(std::string_view key, bool optional = false) {
    const FactoryValue* value = next(key, optional);
    if (value == nullptr) return {};
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) return *list;
    wrong(key, "a tuple");
    return {};
  }
  int bits(std::string_view key) {
    const std::string name = word(key);
    const auto found = element_bits(name);
    if (!found && !problem_) problem_ = fmt::format("'{}' is no element type", name);
    return found.value_or(0);
  }

  std::optional<Reason> problem() const {
    if (problem_) return Reason{call_.name + ": " + *problem_, {}, {}, {}};
    if (position_ < call_.values.size())
      return Reason{fmt::format("{} takes {} values; {} were given", call_.name, position_, call_.values.size()), {}, {}, {}};
    for (const auto& [key, unused] : call_.named) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        return Reason{fmt::format("{} has no argument '{}'", call_.name, key), {}, {}, {}};
    }
    return std::nullopt;
  }

 private:
  const FactoryValue* next(std::string_view key, bool optional) {
    known_.emplace_back(key);
    const auto named = call_.named.find(std::string(key));
    if (named != call_.named.end()) return &named->second;
    if (position_ < call_.values.size()) return &call_.values[position_++];
    if (!optional && !problem_) problem_ = fmt::format("'{}' is missing", key);
    return nullptr;
  }
  void wrong(std::string_view key, std::string_view what) {
    if (!problem_) problem_ = fmt::format("'{}' must be {}", key, what);
  }

  const FactoryCall& call_;
  std::size_t position_ = 0;
  std::vector<std::string> known_;
  std::optional<std::string> problem_;
};

int small(std::int64_t value) { return value < -1 || value > 1'000'000 ? -1 : static_cast<int>(value); }

using Make = Result<TileLayout> (*)(Arguments&);

template <class Then>
Result<TileLayout> when_good(const Arguments& arguments, Then then) {
  if (auto reason = arguments.problem()) return *reason;
  return then();
}

Result<TileLayout> make_datapath(Arguments& arguments) {
  const char letter = arguments.letter("datapath");
  const std::int64_t rows = arguments.integer("rows");
  const std::int64_t cols = arguments.integer("cols");
  const int sub_slab = small(arguments.integer("sub_slab", 0));
  return when_good(arguments, [&] { return tmem_datapath_layout(letter, rows, cols, sub_slab); });
}

Result<TileLayout> make_fragment(Arguments& arguments) {
  const std::string shape = arguments.word("instr_shape");
  const std::vector<std::int64_t> tile = arguments.tuple("shape");
  const int bits = arguments.bits("dtype");
  return when_good(arguments, [&]() -> Result<TileLayout> {
    if (tile.size() != 2) return Reason{"tcgen05_atom_layout: the shape is (rows, columns)", {}, {}, {}};
    return tcgen05_atom_layout(shape.starts_with('.') ? shape.substr(1) : shape, tile[0], tile[1], bits);
  });
}

Result<TileLayout> make_row_per_thread(Arguments& arguments) {
  const std::int64_t cols = arguments.integer("cols");
  const std::int64_t rows = arguments.integer("rows", 128);
  return when_good(arguments, [&] { return wg_local_layout(cols, rows); });
}

Result<TileLayout> make_shared(Arguments& arguments) {
  const int bits = arguments.bits("dtype");
  const std::int64_t mode = arguments.integer("swizzle_mode");
  const std::vector<std::int64_t> shape = arguments.tuple("shape");
  const std::string major = arguments.word("major", "k");
  return when_good(arguments, [&]() -> Result<TileLayout> {
    if (mode < 0 || mode > 4)
      return Reason{
          fmt::format("swizzle mode {}: 0 none, 1 to 3 for 32, 64 and 128 bytes, 4 for 128 bytes with 32-byte atoms", mode),
          {},
          {},
          {}};
    if (major != "k" && major != "mn") return Reason{fmt::format("major '{}': it is k or mn", major), {}, {}, {}};
    return mma_shared_layout(bits, static_cast<SharedSwizzle>(mode), shape, major == "k" ? Major::k : Major::mn);
  });
}

Result<TileLayout> make_scale_factors(Arguments& arguments) {
  const std::int64_t rows = arguments.integer("rows");
  const std::int64_t blocks = arguments.integer("SF_K");
  return when_good(arguments, [&] { return scale_factor_layout(rows, blocks); });
}

Result<TileLayout> make_operand(Arguments& arguments) {
  const char operand = arguments.letter("operand");
  const std::vector<std::int64_t> shape = arguments.tuple("shape");
  arguments.word("dtype", "");
  MmaInstruction mma;
  mma.m = small(arguments.integer("M"));
  mma.cta_group = small(arguments.integer("cta_group", 1));
  mma.ws = arguments.integer("ws", 0) != 0;
  mma.sparse = arguments.integer("sparse", 0) != 0;
  const std::vector<std::int64_t> group = arguments.tuple("group", true);
  return when_good(arguments, [&] { return tmem_mma_operand_layout(operand, shape, mma, group); });
}

struct Factory {
  std::string_view name;
  Make make;
};
constexpr std::array<Factory, 7> factories{{
    {"tmem_datapath_layout", make_datapath},
    {"tcgen05_atom_layout", make_fragment},
    {"wg_local_layout", make_row_per_thread},
    {"mma_shared_layout", make_shared},
    {"scale_factor_layout", make_scale_factors},
    {"sf_tmem_layout", make_scale_factors},
    {"tmem_mma_operand_layout", make_operand},
}};

const Factory* factory_named(std::string_view name) {
  const auto* row = std::find_if(factories.begin(), factories.end(), [&](const Factory& f) { return f.name == name; });
  return row == factories.end() ? nullptr : row;
}

struct NamedBits {
  std::string_view name;
  int bits;
};
constexpr std::array<NamedBits, 6> minifloats{{{"e4m3", 8}, {"e5m2", 8}, {"e3m2", 6}, {"e2m3", 6}, {"e2m1", 4}, {"tf32", 32}}};

}  // namespace

std::optional<int> element_bits(std::string_view dtype) {
  for (const NamedBits& row : minifloats) {
    if (row.name == dtype) return row.bits;
  }
  std::size_t at = 0;
  while (at < dtype.size() && std::isalpha(static_cast<unsigned char>(dtype[at]))) ++at;
  const std::string_view kind = dtype.substr(0, at);
  constexpr std::array<std::string_view, 9> kinds{"float", "bfloat", "int", "uint", "f", "bf", "s", "u", "i"};
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return std::nullopt;
  int bits = 0;
  while (at < dtype.size() && std::isdigit(static_cast<unsigned char>(dtype[at])) && bits < 1000)
    bits = bits * 10 + (dtype[at++] - '0');
  if (at != dtype.size() && dtype[at] != '_') return std::nullopt;
  constexpr std::array sizes{4, 6, 8, 16, 32, 64};
  if (std::find(sizes.begin(), sizes.end(), bits) == sizes.end()) return std::nullopt;
  return bits;
}

bool is_factory(std::string_view name) { return factory_named(name) != nullptr; }

Result<TileLayout> call_factory(const FactoryCall& call) {
  const Factory* factory = factory_named(call.name);
  if (factory == nullptr) return Reason{fmt::format("'{}' makes no layout", call.name), {}, {}, {}};
  Arguments arguments(call);
  return factory->make(arguments);
}

}  // namespace tmemsim
