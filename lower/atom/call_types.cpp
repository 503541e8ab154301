// Reading the types of calls and checking a call.
#include <algorithm>

#include <fmt/format.h>

#include "ir/atom/name_text.hpp"
#include "ir/atom/registry.hpp"
#include "lower/atom/call.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::size_t longest = 1024;
constexpr std::int64_t most_elements = std::int64_t{1} << 32;
constexpr std::string_view spaces[] = {"register", "shared", "global", "buffer_desc", "tmem"};

Reason reason(std::string text) { return Reason{std::move(text), {}, {}, {}}; }

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first + 1));
}

// "NAME<inside>" -> inside.
std::optional<std::string> inside(std::string_view text, std::string_view name) {
  for (const std::string_view prefix : {"", "!fly."}) {
    const std::string start = std::string(prefix) + std::string(name) + "<";
    if (text.rfind(start, 0) == 0 && text.back() == '>')
      return std::string(text.substr(start.size(), text.size() - start.size() - 1));
  }
  return std::nullopt;
}

Result<OperandType> memref(const std::string& text) {
  const std::size_t first = text.find(','), second = first == std::string::npos ? first : text.find(',', first + 1);
  if (second == std::string::npos)
    return reason(fmt::format("expected memref<ELEMENT, SPACE, LAYOUT>, found memref<{}>", text));
  OperandType type;
  type.element = trimmed(std::string_view(text).substr(0, first));
  type.space = trimmed(std::string_view(text).substr(first + 1, second - first - 1));
  type.layout_text = trimmed(std::string_view(text).substr(second + 1));
  if (std::find(std::begin(spaces), std::end(spaces), type.space) == std::end(spaces))
    return reason(fmt::format("'{}' is no address space; there are {}", type.space, fmt::join(spaces, ", ")));
  const auto layout = parse_nested(type.layout_text);
  if (!layout) {
    const auto composed = parse_any_layout(type.layout_text);
    if (!composed) return reason(fmt::format("{}: {}", type.layout_text, layout.reason().text));
    return type;
  }
  const auto elements = cosize(*layout);
  if (!elements || !elements->is_integer() || elements->value < 0 || elements->value > most_elements)
    return reason(fmt::format("the size of {} is not known", type.layout_text));
  type.layout = *layout;
  type.count = elements->value;
  return type;
}

bool space_fits(const atom::Payload& payload, atom::Place place, const std::string& space) {
  if (payload.name.rfind("universal_", 0) == 0) return space == "register" || space == "shared" || space == "global";
  switch (place) {
    case atom::Place::registers:
      return space == "register";
    case atom::Place::shared:
      return space == "shared";
    case atom::Place::global:
      return space == "global";
    case atom::Place::buffer:
      return space == "buffer_desc";
    case atom::Place::tmem:
      return space == "tmem";
    case atom::Place::shared_by_descriptor:
      return space == "shared";
    default:
      return false;
  }
}

// Copies that go either way: the operands' places are those of src and dst, or the other way round.
bool both_ways(const atom::Payload& payload) {
  return payload.whole_tile || payload.name.find("cdna3.buffer_copy<") != std::string::npos;
}

std::optional<Reason> wrong_copy(const AtomType& type, const std::vector<OperandType>& operands) {
  const atom::Payload& payload = *type.payload;
  if (operands.size() != 2 && operands.size() != 3)
    return reason(fmt::format("{} takes src, dst and perhaps a predicate, not {} operands", payload.name, operands.size()));
  const atom::Place from = payload.operand("src")->place, to = payload.operand("dst")->place;
  const auto fits = [&](std::size_t k, atom::Place place) {
    return !operands[k].is_memory() ? place == atom::Place::registers || payload.name.rfind("universal_", 0) == 0
                                    : space_fits(payload, place, operands[k].space);
  };
  const bool forward = fits(0, from) && fits(1, to), backward = both_ways(payload) && fits(0, to) && fits(1, from);
  if (!forward && !backward)
    return reason(fmt::format("{} copies from {} to {}{}, not from {} to {}", payload.name, atom::name(from), atom::name(to),
                              both_ways(payload) ? " or back" : "", operands[0].text(), operands[1].text()));
  std::int64_t wanted = 0;
  for (const atom::Operand& operand : payload.operands) wanted = std::max(wanted, operand.register_bits);
  for (std::size_t k = 0; k < 2; ++k) {
    const bool in_registers = !operands[k].is_memory() || operands[k].space == "register";
    const std::int64_t bits = operands[k].count * operands[k].bits;
    const bool strided = operands[k].is_memory() && not_promotable(operands[k]);
    if (!payload.whole_tile && in_registers && !strided && wanted != 0 && bits != wanted)
      return reason(fmt::format("{} moves {} bits a thread; {} has {}", payload.name, wanted, operands[k].text(), bits));
  }
  if (operands.size() == 3 && (operands[2].element != "i1" || operands[2].count != 1))
    return reason(fmt::format("the predicate is one i1, not {}", operands[2].text()));
  if (payload.whole_tile) {
    for (const OperandType& operand : operands) {
      if (const auto refused = tile_refused(payload, operand)) return refused;
    }
  }
  return std::nullopt;
}

std::optional<Reason> wrong_matrix(const AtomType& type, bool value_form, const std::vector<OperandType>& operands) {
  const atom::Payload& payload = *type.payload;
  const bool with_d = operands.size() == 4;
  if (!with_d && !(value_form && operands.size() == 3))
    return reason(fmt::format("{} takes d, a, b and c{}, not {} operands", payload.name,
                              value_form ? " (d may be left out)" : "", operands.size()));
  const char* names[] = {"D", "A", "B", "C"};
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const char* name = names[k + (with_d ? 0 : 1)];
    const atom::Operand& operand = *payload.operand(name);
    if (operand.place != atom::Place::registers) continue;
    if (operands[k].is_memory() && operands[k].space != "register")
      return reason(fmt::format("{} of {} lives in registers, not in {}", name, payload.name, operands[k].space));
    const std::int64_t bits = operands[k].count * operands[k].bits;
    const bool strided = operands[k].is_memory() && not_promotable(operands[k]);
    if (!strided && bits != operand.register_bits)
      return reason(fmt::format("{} of {} has {} bits a thread; {} has {}", name, payload.name, operand.register_bits,
                                operands[k].text(), bits));
  }
  return std::nullopt;
}

}  // namespace

std::string OperandType::text() const {
  if (is_memory()) return fmt::format("memref<{}, {}, {}>", element, space, layout_text);
  return count == 1 ? element : fmt::format("vector<{}x{}>", count, element);
}

Result<OperandType> parse_operand_type(std::string_view given) {
  const std::string text = trimmed(given);
  if (text.empty() || text.size() > longest) return reason("expected a type");
  OperandType type;
  if (const auto memory = inside(text, "memref")) {
    auto parsed = memref(*memory);
    if (!parsed) return parsed;
    type = *std::move(parsed);
  } else if (const auto vector = inside(text, "vector")) {
    const std::size_t x = vector->find('x');
    const auto count = x == std::string::npos ? std::nullopt : atom::to_integer(std::string_view(*vector).substr(0, x));
    if (!count || *count < 1 || *count > most_elements)
      return reason(fmt::format("expected vector<COUNTxELEMENT>, found {}", text));
    type.count = *count;
    type.element = vector->substr(x + 1);
  } else {
    type.element = text;
  }
  const auto bits = atom::element_bits(type.element);
  if (!bits) return reason(fmt::format("'{}' is no element type", type.element));
  type.bits = *bits;
  return type;
}

Result<AtomType> parse_atom_type(std::string_view given) {
  const std::string text = trimmed(given);
  if (text.size() > longest) return reason("the type is too long");
  if (const auto payload = inside(text, "mma_atom")) {
    const auto found = atom::atom_named(*payload);
    if (!found) return found.reason();
    const auto made = atom::MmaAtom::make(*found);
    if (!made) return made.reason();
    return AtomType{*found, 0};
  }
  const auto payload = inside(text, "copy_atom");
  const std::size_t comma = payload ? payload->rfind(',') : std::string::npos;
  if (comma == std::string::npos)
    return reason(fmt::format("expected copy_atom<PAYLOAD, BITS> or mma_atom<PAYLOAD>, found {}", text));
  const auto bits = atom::to_integer(trimmed(std::string_view(*payload).substr(comma + 1)));
  if (!bits) return reason(fmt::format("expected the value width after {}", payload->substr(0, comma)));
  const auto found = atom::atom_named(trimmed(std::string_view(*payload).substr(0, comma)));
  if (!found) return found.reason();
  const auto made = atom::CopyAtom::make(*found, *bits);
  if (!made) return made.reason();
  return AtomType{*found, *bits};
}

Result<AtomCall> make_call(AtomType type, bool value_form, std::vector<OperandType> operands,
                           std::optional<atom::State> state) {
  const auto wrong =
      type.payload->kind == atom::Kind::copy ? wrong_copy(type, operands) : wrong_matrix(type, value_form, operands);
  if (wrong) return *wrong;
  atom::State set = state ? *std::move(state) : atom::State(type.payload);
  if (const auto missing = set.missing()) return *missing;
  return AtomCall{std::move(type), value_form, std::move(operands), std::move(set)};
}

std::optional<Reason> not_promotable(const OperandType& type) {
  if (type.space != "register") return reason(fmt::format("{} is not register memory", type.text()));
  if (!type.layout) return reason(fmt::format("{} has a composed layout", type.text()));
  const auto whole = coalesce(*type.layout);
  if (!whole || !whole->shape.is_leaf() || !whole->shape.is_integer() || !whole->stride.is_integer())
    return reason(fmt::format("{} does not coalesce to one leaf", type.text()));
  if (!whole->stride.is(1) && !whole->shape.is(1))
    return reason(fmt::format("{} has stride {}", type.text(), whole->stride.value));
  return std::nullopt;
}

std::optional<Reason> tile_refused(const atom::Payload& payload, const OperandType& tile) {
  const auto parts = atom::name_parts(payload.name);
  const auto interval = parts ? parts->integer("pad", 0, 0, 1 << 20) : Result<std::int64_t>(0),
             amount = parts ? parts->integer("pad", 0, 0, 1 << 20, 1) : Result<std::int64_t>(0);
  const auto rank_wanted = parts ? parts->integer("rank", 2, 1, 5) : Result<std::int64_t>(2);
  if (!interval || !amount || !rank_wanted) return reason("the padding cannot be read");
  if (tile.layout && static_cast<std::int64_t>(rank(*tile.layout)) != *rank_wanted)
    return reason(fmt::format("{} moves tiles of rank {}, {} has rank {}", payload.name, *rank_wanted, tile.layout_text,
                              rank(*tile.layout)));
  if (*interval == 0) return std::nullopt;
  // The descriptor holds log2(interval) - 1 in three bits and amount - 1 in seven, both in 32-bit words.
  const std::int64_t interval_bits = *interval * tile.bits, amount_bits = *amount * tile.bits;
  if (interval_bits % 32 != 0 || interval_bits / 32 < 2 || interval_bits / 32 > 256)
    return reason(fmt::format("the padding interval is {} bits; the descriptor says 2 to 256 words of 32 bits", interval_bits));
  if (amount_bits % 32 != 0 || amount_bits / 32 < 1 || amount_bits / 32 > 128)
    return reason(fmt::format("the padding amount is {} bits; the descriptor says 1 to 128 words of 32 bits", amount_bits));
  return std::nullopt;
}

}  // namespace tmemsim::lower
