#include "ir/atom/atom.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

#include "ir/atom/flat_map.hpp"
#include "ir/diagnostic.hpp"

namespace tmemsim::atom {
namespace {

Reason reason(std::string text, std::optional<std::size_t> offset = {}) { return Reason{std::move(text), {}, {}, offset}; }

struct TypeBits {
  std::string_view type;
  int bits;
};
constexpr TypeBits type_table[] = {
    {"bit", 1},        {"i1", 1},     {"f64", 64},       {"f32", 32},     {"tf32", 32},    {"f16", 16},    {"bf16", 16},
    {"i64", 64},       {"i32", 32},   {"s32", 32},       {"u32", 32},     {"i16", 16},     {"i8", 8},      {"s8", 8},
    {"u8", 8},         {"si8", 8},    {"ui8", 8},        {"i4", 4},       {"s4", 4},       {"u4", 4},      {"si4", 4},
    {"ui4", 4},        {"e4m3", 8},   {"e5m2", 8},       {"e3m2", 6},     {"e2m3", 6},     {"e2m1", 4},     {"ue8m0", 8},  {"ue4m3", 8},    {"f8E4M3FN", 8},
    {"f8E4M3FNUZ", 8}, {"f8E5M2", 8}, {"f8E5M2FNUZ", 8}, {"f6E2M3FN", 6}, {"f6E3M2FN", 6}, {"f4E2M1FN", 4}};

std::optional<int> width_of(const std::string& type) {
  const auto bits = element_bits(type);
  return type.rfind('i', 0) == 0 ? bits : std::nullopt;
}

bool fits(std::int64_t number, int bits) {
  if (bits >= 64) return true;
  return number >= -(std::int64_t{1} << (bits - 1)) && number < (std::int64_t{1} << bits);  // signed or unsigned
}

std::size_t side_index(const Payload& payload, std::string_view side) {
  for (std::size_t k = 0; k < payload.operands.size(); ++k) {
    if (payload.operands[k].name == side) return k;
  }
  throw std::logic_error(fmt::format("{} has no operand {}", payload.name, side));
}

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first + 1));
}

}  // namespace

std::string_view name(Place place) {
  switch (place) {
    case Place::registers:
      return "registers";
    case Place::shared:
      return "shared";
    case Place::shared_by_descriptor:
      return "shared (descriptor)";
    case Place::tmem:
      return "tmem";
    case Place::global:
      return "global";
    case Place::buffer:
      return "buffer";
  }
  return {};
}

std::optional<int> element_bits(std::string_view type) {
  for (const TypeBits& row : type_table) {
    if (row.type == type) return row.bits;
  }
  return std::nullopt;
}

const Operand* Payload::operand(std::string_view which) const {
  const std::string_view held = which == "D" ? "C" : which;  // D is held as C is
  for (const Operand& one : operands) {
    if (one.name == held) return &one;
  }
  return nullptr;
}

Result<CopyAtom> CopyAtom::make(PayloadRef payload, std::int64_t value_bits) {
  if (payload->kind != Kind::copy) return reason(fmt::format("{} is no copy", payload->name));
  CopyAtom atom;
  if (payload->whole_tile) {
    if (value_bits != 0) return reason(fmt::format("{} moves a whole tile: its value width is 0", payload->name));
    atom.payload_ = std::move(payload);
    return atom;
  }
  if (value_bits < 1)
    return reason(fmt::format("the value width of {} must be at least 1 bit, it is {}", payload->name, value_bits));
  for (const Operand& side : payload->operands) {
    const auto before = ThreadValueMap::make(side.layout);
    if (!before) return before.reason();
    if (before->values.size() % value_bits != 0) {
      return reason(fmt::format("{} {}: the {} bits of a thread are no whole number of {}-bit values", payload->name, side.name,
                                before->values.size(), value_bits));
    }
    auto values = recast(side.layout, 1, value_bits);
    if (!values) return reason(fmt::format("{} {}: {}", payload->name, side.name, values.reason().text));
    const auto after = ThreadValueMap::make(*values);
    if (!after) return after.reason();
    if (after->threads.size() != before->threads.size() || after->values.size() * value_bits != before->values.size()) {
      return reason(fmt::format("{} {}: {} is not made of {}-bit values; they would be {}", payload->name, side.name,
                                to_string(side.layout), value_bits, to_string(*values)));
    }
    for (std::int64_t v = 0; v < after->values.size(); ++v) {  // each value is adjacent, aligned bits
      for (std::int64_t b = 0; b < value_bits; ++b) {
        if (before->values(v * value_bits + b) != after->values(v) * value_bits + b) {
          return reason(fmt::format("{} {}: the {} bits of value {} do not lie side by side in the image", payload->name,
                                    side.name, value_bits, v));
        }
      }
    }
    for (std::int64_t t = 0; t < after->threads.size(); ++t) {
      if (before->threads(t) != after->threads(t) * value_bits)
        return reason(fmt::format("{} {}: thread {} does not begin at a value", payload->name, side.name, t));
    }
    atom.values_.push_back(*std::move(values));
  }
  atom.payload_ = std::move(payload);
  atom.value_bits_ = value_bits;
  return atom;
}

const NestedLayout& CopyAtom::bits(std::string_view side) const {
  return payload_->operands[side_index(*payload_, side)].layout;
}

const NestedLayout& CopyAtom::thread_values(std::string_view side) const { return values_.at(side_index(*payload_, side)); }

Result<MmaAtom> MmaAtom::make(PayloadRef payload) {
  if (payload->kind != Kind::mma) return reason(fmt::format("{} is no matrix instruction", payload->name));
  MmaAtom atom;
  atom.payload_ = std::move(payload);
  return atom;
}

const std::string& MmaAtom::value_type(char operand) const {
  return operand == 'D' ? payload_->result_type : payload_->operands[side_index(*payload_, std::string_view(&operand, 1))].type;
}

const NestedLayout& MmaAtom::thread_values(char operand) const {
  const char held = operand == 'D' ? 'C' : operand;
  return payload_->operands[side_index(*payload_, std::string_view(&held, 1))].layout;
}

Place MmaAtom::place(char operand) const {
  const char held = operand == 'D' ? 'C' : operand;
  return payload_->operands[side_index(*payload_, std::string_view(&held, 1))].place;
}

State::State(PayloadRef payload) : payload_(std::move(payload)) {
  for (const StateField& field : payload_->state) {
    values_.push_back(field.default_value ? std::optional<Value>({field.type, *field.default_value, true}) : std::nullopt);
  }
}

Result<State> State::set(std::string_view field, const Value& value) const {
  std::vector<std::string_view> names;
  for (std::size_t k = 0; k < payload_->state.size(); ++k) {
    const StateField& found = payload_->state[k];
    names.push_back(found.name);
    if (found.name != field) continue;
    const auto have = width_of(value.type), want = width_of(found.type);
    if (have != want)
      return reason(fmt::format("{} of {} is an {}, not {}", found.name, payload_->name, found.type, value.type));
    if (!fits(value.number, *want))
      return reason(fmt::format("{} does not fit into {} ({})", value.number, found.name, found.type));
    if (found.must_be_constant && !value.constant)
      return reason(fmt::format("{} of {} must be a compile-time constant", found.name, payload_->name));
    State next = *this;
    next.values_[k] = value;
    return next;
  }
  if (names.empty()) return reason(fmt::format("{} has no state; there is no field '{}' to set", payload_->name, field));
  const std::string near = closest(field, names);
  return reason(fmt::format("{} has no field '{}'{}; it has {}", payload_->name, field,
                            near.empty() ? "" : fmt::format(" (did you mean {}?)", near), fmt::join(names, ", ")));
}

Result<State> State::set_all(std::string_view text) const {
  State state = *this;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view entry = text.substr(begin, end - begin);
    const std::size_t offset = begin + std::min(entry.find_first_not_of(" \t\n"), entry.size());
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) return reason("expected FIELD=NUMBER", offset);
    const std::string field = trimmed(entry.substr(0, equals)), digits = trimmed(entry.substr(equals + 1));
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || stop != digits.data() + digits.size())
      return reason(fmt::format("'{}' is no integer", digits), begin + equals + 1);
    const auto declared =
        std::find_if(payload_->state.begin(), payload_->state.end(), [&](const StateField& one) { return one.name == field; });
    auto next = state.set(field, {declared == payload_->state.end() ? "i32" : declared->type, number, true});
    if (!next) return reason(next.reason().text, offset);
    state = *std::move(next);
    begin = end + 1;
  }
  return state;
}

std::optional<State::Value> State::get(std::string_view field) const {
  for (std::size_t k = 0; k < values_.size(); ++k) {
    if (payload_->state[k].name == field) return values_[k];
  }
  return std::nullopt;
}

std::optional<Reason> State::missing() const {
  for (std::size_t k = 0; k < values_.size(); ++k) {
    if (!values_[k])
      return reason(fmt::format("{} needs {} ({}) to be set before it is called", payload_->name, payload_->state[k].name,
                                payload_->state[k].type));
  }
  return std::nullopt;
}

}  // namespace tmemsim::atom
