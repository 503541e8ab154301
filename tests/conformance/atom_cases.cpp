#include "tests/conformance/atom_cases.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "ir/atom/flat_map.hpp"
#include "ir/atom/registry.hpp"
#include "ir/atom/verify.hpp"

namespace tmemsim::conformance {
namespace {

using atom::Operand;
using atom::Payload;

bool has_entries(const YAML::Node& node, const char* key) {
  return node[key] && node[key].IsSequence() && node[key].size() > 0;
}

bool has_inexact(const YAML::Node& node) {
  if (!has_entries(node, "val_layouts")) return false;
  for (const YAML::Node& row : node["val_layouts"]) {
    if (row["exact"] && row["exact"].IsScalar() && row["exact"].Scalar() == "false") return true;
  }
  return false;
}

// Layouts agree when they are the same after parsing; written 32:1 or (32):(1) is the same.
std::optional<std::string> differs(const YAML::Node& expected, const NestedLayout& layout) {
  const auto parsed = parse_nested(text(expected));
  if (!parsed) return fmt::format("{} is expected, which is no layout ({})", text(expected), parsed.reason().text);
  if (canonical(*parsed) == canonical(layout)) return std::nullopt;
  return fmt::format("{} is expected, the layout is {}", text(expected), to_string(layout));
}

// What the case calls checks, measured on a layout.
struct Measured {
  bool product = false, threads = false, width = false, injective = false, covers = false;
  std::string replication;
};

Measured measure(const NestedLayout& layout, std::int64_t threads, std::int64_t tile, std::int64_t register_bits,
                 int element_bits) {
  Measured found;
  const auto map = atom::ThreadValueMap::make(layout);
  if (!map) return found;
  found.product = map->threads.size() * map->values.size() == tile;
  found.threads = map->threads.size() == threads;
  found.width = map->values.size() * element_bits == register_bits;
  std::map<std::int64_t, std::int64_t> times;
  bool inside = true;
  for (std::int64_t t = 0; t < map->threads.size(); ++t) {
    for (std::int64_t v = 0; v < map->values.size(); ++v) {
      const std::int64_t at = (*map)(t, v);
      ++times[at];
      inside = inside && at >= 0 && at < tile;
    }
  }
  found.covers = inside && static_cast<std::int64_t>(times.size()) == tile;
  const std::int64_t first = times.empty() ? 0 : times.begin()->second;
  const bool uniform = std::all_of(times.begin(), times.end(), [&](const auto& entry) { return entry.second == first; });
  found.injective = uniform && first == 1;
  found.replication = uniform ? fmt::format("{}", first) : "non-uniform";
  return found;
}

bool flag(const YAML::Node& node) { return text(node) == "true"; }

std::optional<std::string> differs(const YAML::Node& checks, const Measured& found) {
  const std::pair<const char*, bool> flags[] = {{"product", found.product},     {"thr", found.threads},
                                                {"reg_width", found.width},     {"val", found.width},
                                                {"injective", found.injective}, {"covers", found.covers}};
  for (const auto& [key, value] : flags) {
    if (checks[key] && flag(checks[key]) != value)
      return fmt::format("{} is {}, {} is expected", key, value, text(checks[key]));
  }
  if (checks["replication"] && text(checks["replication"]) != found.replication)
    return fmt::format("replication is {}, {} is expected", found.replication, text(checks["replication"]));
  return std::nullopt;
}

class AtomCase {
 public:
  AtomCase(const Case& one, const Payload& payload)
      : node_(one.node), payload_(payload), violated_(has_entries(one.node, "violations")) {}

  std::optional<std::string> wrong() {
    if (!atom::verify(payload_).empty()) return "the row breaks the rules: " + atom::verify(payload_)[0].text;
    if (const auto threads = differs(need(node_, "thr"), payload_.threads)) return "thr: " + *threads;
    if (const auto state = wrong_state()) return state;
    if (payload_.whole_tile) return std::nullopt;  // contract and state only
    return payload_.kind == atom::Kind::mma ? wrong_mma() : wrong_copy();
  }

 private:
  std::optional<std::string> wrong_mma() {
    const auto shape = integers(need(node_, "shapeMNK"));
    if (shape != std::vector<std::int64_t>(payload_.mnk.begin(), payload_.mnk.end())) return "shapeMNK differs";
    for (const Operand& operand : payload_.operands) {
      if (node_["types"] && node_["types"][operand.name] && text(node_["types"][operand.name]) != operand.type)
        return fmt::format("{} has the type {}", operand.name, operand.type);
      const std::string& name = operand.name;
      const bool corrected = std::find(payload_.corrected.begin(), payload_.corrected.end(), name) != payload_.corrected.end();
      if (corrected && violated_) continue;
      if (const auto layout = differs(need(node_, name), operand.layout)) return name + ": " + *layout;
      const Measured found = measure(operand.layout, atom::FlatMap::make(payload_.threads)->size(), operand.tile,
                                     operand.register_bits, operand.bits);
      if (node_["checks"] && node_["checks"][name]) {
        if (const auto check = differs(node_["checks"][name], found)) return name + ": " + *check;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> wrong_copy() {
    const std::int64_t bits = integer(need(node_, "bits"));
    for (const char* side : {"src", "dst", "ref"}) {
      const Operand& operand = *payload_.operand(side);
      if (const auto layout = differs(need(node_, std::string(side) + "_bits"), operand.layout))
        return std::string(side) + ": " + *layout;
      const auto threads = atom::FlatMap::make(payload_.threads)->size();
      if (node_["checks"] && node_["checks"][side]) {
        if (const auto check = differs(node_["checks"][side], measure(operand.layout, threads, operand.tile, bits, 1)))
          return std::string(side) + ": " + *check;
      }
    }
    return wrong_values();
  }

  std::optional<std::string> wrong_values() {
    if (!has_entries(node_, "val_layouts")) return std::nullopt;
    const auto shared = std::make_shared<const Payload>(payload_);
    for (const YAML::Node& row : node_["val_layouts"]) {
      const std::int64_t width = integer(need(row, "valBits"));
      const bool exact = !row["exact"] || flag(row["exact"]);
      const auto made = atom::CopyAtom::make(shared, width);
      if (!made && !exact) continue;  // refused
      if (!made) return made.reason().text;
      if (!exact) return fmt::format("{}-bit values are not exact, and must be refused", width);
      for (const char* side : {"src", "dst", "ref"}) {
        if (const auto layout = differs(need(row, side), made->thread_values(side)))
          return fmt::format("{} at {} bits: {}", side, width, *layout);
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> wrong_state() {
    const YAML::Node state = node_["state"];
    if (!state || !state.IsSequence())
      return payload_.state.empty() || !state ? std::nullopt : std::optional<std::string>("the atom has state, the case none");
    for (const YAML::Node& field : state) {
      std::string name = text(need(field, "name"));
      const std::size_t range = name.find("..");
      if (range != std::string::npos) name = name.substr(0, range);
      const auto found = std::find_if(payload_.state.begin(), payload_.state.end(),
                                      [&](const atom::StateField& one) { return one.name == name; });
      if (found == payload_.state.end()) return "there is no field " + name;
      if (field["type"] && text(field["type"]) != found->type) return fmt::format("{} is an {}", name, found->type);
      if (field["default"] && found->default_value != std::optional(integer(field["default"])))
        return name + " has another default";
      if (field["unit"] && text(field["unit"]) != found->unit) return name + " has another unit";
      if (field["must_be_constant"] && flag(field["must_be_constant"]) != found->must_be_constant)
        return name + ": constness differs";
    }
    return std::nullopt;
  }

  const YAML::Node& node_;
  const Payload& payload_;
  bool violated_;
};

}  // namespace

bool is_atom_case(const Case& one) {
  const YAML::Node& node = one.node;
  return node["name"] && node["thr"] && node["kind"] && (one.operation() == "mma" || one.operation() == "copy") &&
         !node["image_bits"];
}

Outcome run_atom_case(const Case& one) {
  const std::string name = text(need(one.node, "name"));
  const auto found = atom::atom_named(name);
  const bool may_be_refused = has_entries(one.node, "violations") || has_inexact(one.node);
  if (!found)
    return may_be_refused && found.reason().text.find("there is no atom") != 0 ? passed() : failed(found.reason().text);
  const auto wrong = AtomCase(one, **found).wrong();
  return wrong ? failed(*wrong) : passed();
}

}  // namespace tmemsim::conformance
