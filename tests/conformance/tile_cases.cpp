// Operations of TileLayout: tirx_layout_cases.yaml.
#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/layout/factories.hpp"
#include "ir/layout/tile_algebra.hpp"
#include "tests/conformance/layout_cases.hpp"

namespace tmemsim::conformance {
namespace {

struct Unsupported {
  std::string what;
};
using Shape = std::vector<std::int64_t>;

bool is_integer(const YAML::Node& node) {
  std::int64_t unused = 0;
  return node.IsScalar() && YAML::convert<std::int64_t>::decode(node, unused);
}

Axis axis_of(const std::string& name) {
  static const std::set<std::string> other_machines{"P", "F", "Bank"};
  if (other_machines.count(name)) throw Unsupported{"axis " + name};
  const auto axis = axis_named(name);
  if (!axis) throw std::invalid_argument("unknown axis " + name);
  return *axis;
}

std::int64_t integer_of(const YAML::Node& node) {
  if (!is_integer(node)) throw Unsupported{"runtime-valued layouts"};
  return node.as<std::int64_t>();
}

Shape shape_of(const YAML::Node& node) {
  Shape shape;
  if (!node || node.IsNull()) return shape;
  if (node.IsScalar()) return {integer_of(node)};
  for (const YAML::Node& extent : node) shape.push_back(integer_of(extent));
  return shape;
}

std::vector<Iter> iters_of(const YAML::Node& node) {
  std::vector<Iter> iters;
  if (!node) return iters;
  for (const YAML::Node& iter : node) {
    iters.push_back({integer_of(iter[0]), integer_of(iter[1]), iter.size() > 2 ? axis_of(iter[2].as<std::string>()) : Axis::m});
  }
  return iters;
}

// Text may name axes of machines that tmemsim does not have.
void refuse_other_machines(const std::string& text) {
  for (const char* axis : {"P", "F", "Bank"}) {
    for (const char* form : {"@{}", "@ {}", "\"{}\"", "'{}'"}) {
      const std::string wanted = fmt::format(fmt::runtime(form), axis);
      const std::size_t found = text.find(wanted);
      if (found == std::string::npos) continue;
      const std::size_t end = found + wanted.size();
      if (end == text.size() || !std::isalnum(static_cast<unsigned char>(text[end])))
        throw Unsupported{std::string("axis ") + axis};
    }
  }
}

TileLayout layout_of(const YAML::Node& node) {
  if (!node) throw std::invalid_argument("a layout is missing");
  if (node.IsScalar()) {
    refuse_other_machines(node.as<std::string>());
    const auto parsed = parse_layout(node.as<std::string>());
    if (!parsed) throw std::invalid_argument(parsed.reason().text);
    return *parsed;
  }
  if (node["swizzle"]) {
    TileLayout layout = node["tile"] ? layout_of(node["tile"]) : TileLayout{};
    const YAML::Node& swizzle = node["swizzle"];
    layout.swizzle = Swizzle{swizzle["per_element"].as<int>(), swizzle["swizzle_len"].as<int>(), swizzle["atom_len"].as<int>(),
                             !swizzle["inner"] || swizzle["inner"].as<bool>()};
    if (!node["tile"]) {
      layout.shard.push_back(
          {std::int64_t{1} << (layout.swizzle->per_element + layout.swizzle->swizzle_len + layout.swizzle->atom_len), 1,
           Axis::m});
    }
    return layout;
  }
  TileLayout layout;
  layout.shard = iters_of(node["shard"]);
  layout.replica = iters_of(node["replica"]);
  if (node["offset"]) {
    for (const auto& entry : node["offset"])
      layout.offset.push_back({axis_of(entry.first.as<std::string>()), integer_of(entry.second)});
  }
  return layout;
}

// The order of offsets and replicas and offsets of zero say nothing.
TileLayout plain(TileLayout layout) {
  std::erase_if(layout.offset, [](const AxisOffset& offset) { return offset.value == 0; });
  std::sort(layout.offset.begin(), layout.offset.end(),
            [](const AxisOffset& a, const AxisOffset& b) { return a.axis < b.axis; });
  std::sort(layout.replica.begin(), layout.replica.end(), [](const Iter& a, const Iter& b) {
    return std::tuple(a.axis, a.stride, a.extent) < std::tuple(b.axis, b.stride, b.extent);
  });
  return layout;
}

Outcome verdict(bool good, const std::string& found, const std::string& expected) {
  if (good) return passed();
  return failed(fmt::format("found {}, expected {}", found, expected));
}

std::string text_of(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter << YAML::Flow << node;
  return emitter.c_str();
}

bool error_expected(const YAML::Node& expect) { return expect.IsScalar() && expect.as<std::string>().rfind("error", 0) == 0; }
bool nothing_expected(const YAML::Node& expect) { return expect.IsNull() || error_expected(expect); }

class TileCase {
 public:
  explicit TileCase(const YAML::Node& entry) : entry_(entry), in_(entry["in"]), expect_(entry["expect"]) {}

  Outcome run() {
    std::string op = entry_["op"].as<std::string>();
    const std::string suffix = "_canonical";
    if (op.size() > suffix.size() && op.compare(op.size() - suffix.size(), suffix.size(), suffix) == 0) {
      canonical_ = true;
      op.resize(op.size() - suffix.size());
    }
    return dispatch(op);
  }

 private:
  bool fuses() const { return entry_["target"] && !entry_["target"].IsNull(); }

  // canonical(), with fusion to the outer scope of the layout's own thread axes when the case names a target.
  Result<TileLayout> simplest(const TileLayout& layout) const {
    if (!fuses()) return canonical(layout);
    const auto range = scope_range(layout);
    if (!range) return range.reason();
    if (!*range) return canonical(layout);
    return fuse_scopes(layout, (*range)->scope);
  }

  const YAML::Node& expected() const {
    if (!expect_) throw std::invalid_argument("the case expects nothing");
    return expect_;
  }

  Outcome compare(const Result<TileLayout>& found, bool any_form = false) const {
    if (expected().IsScalar() && expected().as<std::string>() == "must not crash") return passed();
    if (nothing_expected(expected())) return verdict(!found, found ? to_string(*found) : "", text_of(expected()));
    if (!found) return verdict(false, "the error: " + found.reason().text, text_of(expected()));
    const TileLayout wanted = plain(layout_of(expected()));
    const auto simple = simplest(*found);
    const TileLayout own = canonical_ && simple ? plain(*simple) : plain(*found);
    const bool good = own == wanted || (any_form && simple && plain(*simple) == plain(canonical(wanted)));
    return verdict(good, to_string(own), to_string(wanted));
  }

  // {"outer_canonical": layout} and the like, or null.
  Outcome compare_factor(const Result<TileLayout>& found) const {
    if (nothing_expected(expected())) return verdict(!found, found ? to_string(*found) : "", text_of(expected()));
    if (!found) return verdict(false, "the error: " + found.reason().text, text_of(expected()));
    const YAML::Node wanted = expected()["shard"] || expected()["swizzle"] ? expected() : expected().begin()->second;
    const auto simple = simplest(*found);
    const auto wanted_simple = simplest(layout_of(wanted));
    const bool good = simple && wanted_simple && plain(*simple) == plain(*wanted_simple);
    return verdict(good, to_string(simple ? *simple : *found), text_of(wanted));
  }

  Outcome compare_text(const std::string& found, const std::string& wanted) const {
    return verdict(found == wanted, found, wanted);
  }

  template <class T>
  Outcome compare_value(const Result<T>& found, const std::function<std::string(const T&)>& text,
                        const std::string& wanted) const {
    if (nothing_expected(expected())) return verdict(!found, found ? text(*found) : "", text_of(expected()));
    if (!found) return verdict(false, "the error: " + found.reason().text, wanted);
    return compare_text(text(*found), wanted);
  }

  TileLayout given(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (in_.IsMap() && in_[key]) return layout_of(in_[key]);
    }
    return layout_of(in_);
  }
  Shape given_shape(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (in_.IsMap() && in_[key]) return shape_of(in_[key]);
      if (entry_[key]) return shape_of(entry_[key]);
    }
    throw std::invalid_argument("a shape is missing");
  }
  std::int64_t given_integer(std::initializer_list<const char*> keys) const {
    const Shape one = given_shape(keys);
    if (one.size() != 1) throw std::invalid_argument("an integer is missing");
    return one.front();
  }

  Outcome dispatch(const std::string& op) {
    static const std::set<std::string> not_built{"structured_apply_fallback", "trainium_ctor", "to_psum", "decomposition"};
    if (not_built.count(op)) return skipped(op);
    if (op == "construct") return construct();
    if (op == "get_scope" || op == "verify_well_formed") return scope();
    if (op == "canonicalize") return compare(simplest(given({"layout"})));
    if (op == "tile")
      return compare(tile(given({"outer"}), given_shape({"outer_shape"}), given({"inner"}), given_shape({"inner_shape"})),
                     true);
    if (op == "tile_to")
      return compare(
          tile_to(given({"layout", "inner", "self"}), given_shape({"to_shape"}), given_shape({"current_shape", "from_shape"})),
          true);
    if (op == "direct_sum")
      return compare(direct_sum(given({"left", "outer"}), given_shape({"left_shape"}), given({"right", "inner"}),
                                given_shape({"right_shape"})),
                     true);
    if (op == "is_tile_inner") {
      return compare_factor(outer_of_tile(layout_of(in_["tiled"]), given_shape({"tiled_shape"}), given({"inner", "self"}),
                                          given_shape({"inner_shape", "shape"})));
    }
    if (op == "is_tile_outer") {
      return compare_factor(inner_of_tile(layout_of(in_["tiled"]), given_shape({"tiled_shape"}), given({"outer", "self"}),
                                          given_shape({"outer_shape", "shape"})));
    }
    if (op == "is_direct_sum_right") {
      return compare_factor(left_of_sum(layout_of(in_["sum"]), given_shape({"interleaved_shape"}), given({"right", "self"}),
                                        given_shape({"right_shape", "shape"})));
    }
    if (op == "is_direct_sum_left") {
      return compare_factor(right_of_sum(layout_of(in_["sum"]), given_shape({"interleaved_shape"}), given({"left", "self"}),
                                         given_shape({"left_shape", "shape"})));
    }
    if (op == "size") return measure(size(given({"layout"})), size_on);
    if (op == "span") return measure(storage_span(given({"layout"})), span_on);
    if (op == "apply_many" || op == "apply") return evaluate_many();
    if (op == "apply_to_shape") return digits();
    if (op == "group") return grouped();
    if (op == "group_many") return common_groups();
    if (op == "permute_by_groups") return permuted();
    if (op == "permute_dims")
      return compare(permute_iters(given({"layout"}), positions(given_shape({"perm", "order", "dims"}))));
    if (op == "storage") return compare(storage(given({"layout"})));
    if (op == "unpack") return compare(unpack(given({"layout"}), given_integer({"num"})), true);
    if (op == "pack") return compare(pack(given({"layout"}), given_integer({"num"})), true);
    if (op == "broadcast") return compare(broadcast(given({"layout"}), given_integer({"num"})));
    if (op == "is_trivial") return compare_text(is_trivial(given({"layout"})) ? "true" : "false", text_of(expected()));
    if (op == "slice") return sliced();
    if (op == "factory_reject") return rejected();
    if (is_factory(op)) return compare(made(op), true);
    return skipped(op);
  }

  Outcome construct() const {
    const std::string text = in_.as<std::string>();
    refuse_other_machines(text);
    return compare(parse_layout(text));
  }

  Outcome scope() const {
    const auto range = scope_range(given({"layout"}));
    if (entry_["op"].as<std::string>() == "verify_well_formed" && expected().IsScalar() && !error_expected(expected())) {
      return compare_text(range ? "true" : "false", text_of(expected()));
    }
    if (expected().IsNull()) return verdict(range && !*range, range ? "a scope" : range.reason().text, "null");
    const auto text = [](const std::optional<ScopeRange>& found) {
      return found ? fmt::format("[{}, {}]", name(found->unit), name(found->scope)) : std::string("null");
    };
    return compare_value<std::optional<ScopeRange>>(range, text, text_of(expected()));
  }

  Outcome measure(std::int64_t all, std::int64_t (*on_axis)(const TileLayout&, Axis)) const {
    const YAML::Node axis = entry_["axis"];
    const std::int64_t found = axis && !axis.IsNull() ? on_axis(given({"layout"}), axis_of(axis.as<std::string>())) : all;
    return compare_text(std::to_string(found), text_of(expected()));
  }

  static bool matches(const Point& point, const YAML::Node& wanted) {
    Point expected{};
    if (wanted.IsMap()) {
      for (const auto& entry : wanted) at(expected, axis_of(entry.first.as<std::string>())) = integer_of(entry.second);
    } else {
      at(expected, Axis::m) = integer_of(wanted);
    }
    return point == expected;
  }

  Outcome evaluate_many() const {
    const TileLayout layout = given({"layout"});
    const YAML::Node coords = entry_["coords"] ? entry_["coords"] : entry_["coord"];
    if (!coords) throw std::invalid_argument("coordinates are missing");
    const bool single = !entry_["coords"];
    for (std::size_t k = 0; k < (single ? 1 : coords.size()); ++k) {
      const Shape coordinate = shape_of(single ? coords : coords[k]);
      const bool has_shape = entry_["shape"] && !entry_["shape"].IsNull();
      const auto found = has_shape                ? evaluate_at(layout, coordinate, shape_of(entry_["shape"]))
                         : coordinate.size() == 1 ? Result<Point>(evaluate(layout, coordinate.front()))
                                                  : evaluate_digits(layout, coordinate);
      if (error_expected(expected())) {
        if (found) return verdict(false, "a value", text_of(expected()));
        continue;
      }
      const YAML::Node wanted = single ? expected() : expected()[k];
      if (!found || !matches(*found, wanted)) {
        return verdict(false, fmt::format("another image of ({})", fmt::join(coordinate, ", ")), text_of(wanted));
      }
    }
    return passed();
  }

  Outcome digits() const {
    const auto found = iter_digits(given({"layout"}), given_shape({"coord"}), given_shape({"shape"}));
    return compare_value<Shape>(
        found, [](const Shape& d) { return fmt::format("{}", fmt::join(d, " ")); },
        expected().IsSequence() ? fmt::format("{}", fmt::join(shape_of(expected()), " ")) : "");
  }

  static std::string separators_text(const std::vector<std::size_t>& separators) {
    return fmt::format("{}", fmt::join(separators, " "));
  }

  Outcome grouped() const {
    const auto found = group(given({"layout"}), given_shape({"shape"}));
    if (nothing_expected(expected())) return verdict(!found, "groups", text_of(expected()));
    if (!found) return verdict(false, found.reason().text, text_of(expected()));
    const bool good = plain(found->layout) == plain(layout_of(expected()["layout"])) &&
                      separators_text(found->separators) == separators_text(positions(shape_of(expected()["seps"])));
    return verdict(good, fmt::format("{} at {}", to_string(found->layout), separators_text(found->separators)),
                   text_of(expected()));
  }

  Outcome common_groups() const {
    const YAML::Node list = entry_["shapes"] ? entry_["shapes"] : in_["shapes"];
    std::vector<Shape> shapes;
    for (const YAML::Node& shape : list) shapes.push_back(shape_of(shape));
    const auto found = group_many(given({"layout"}), shapes);
    if (nothing_expected(expected())) return verdict(!found, "groups", text_of(expected()));
    if (!found) return verdict(false, found.reason().text, text_of(expected()));
    std::vector<std::vector<std::size_t>> wanted;
    for (const YAML::Node& separators : expected()["seps"]) wanted.push_back(positions(shape_of(separators)));
    const bool good = plain(found->layout) == plain(layout_of(expected()["layout"])) && found->separators == wanted;
    return verdict(good, to_string(found->layout), text_of(expected()));
  }

  static std::vector<std::size_t> positions(const Shape& integers) {
    std::vector<std::size_t> result;
    for (const std::int64_t integer : integers) result.push_back(static_cast<std::size_t>(integer));
    return result;
  }

  Outcome permuted() const {
    const GroupedLayout grouped{given({"layout"}), positions(given_shape({"seps"}))};
    return compare(permute_groups(grouped, positions(given_shape({"perm"}))));
  }

  Outcome sliced() const {
    const auto simple = simplest(given({"layout"}));
    if (!simple) return compare(simple);
    Shape begin, extent;
    const YAML::Node region = entry_["region"] ? entry_["region"] : in_["region"];
    for (const YAML::Node& range : region) {
      begin.push_back(integer_of(range[0]));
      extent.push_back(integer_of(range[1]) - begin.back());
    }
    return compare(slice(*simple, given_shape({"shape"}), begin, extent), true);
  }

  Outcome rejected() const {
    const std::string kind = in_[0].as<std::string>();
    Result<TileLayout> found = Reason{"", {}, {}, {}};
    if (kind == "tmem") {
      const std::string letter = in_[1].as<std::string>();
      found = tmem_datapath_layout(letter.size() == 1 ? letter.front() : '?', integer_of(in_[2]), integer_of(in_[3]),
                                   in_.size() > 4 ? static_cast<int>(integer_of(in_[4])) : 0);
    } else if (kind == "atom") {
      found = tcgen05_atom_layout(in_[1].as<std::string>(), integer_of(in_[2]), integer_of(in_[3]),
                                  element_bits(in_[4].as<std::string>()).value_or(0));
    } else {
      return skipped("factory_reject of " + kind);
    }
    return verdict(!found, found ? to_string(*found) : "", text_of(expected()));
  }

  static FactoryValue value_of(const YAML::Node& node) {
    if (node.IsSequence()) return shape_of(node);
    if (is_integer(node)) return node.as<std::int64_t>();
    return node.as<std::string>();
  }

  // Arguments as a map, as a list, or in words: "D (64,512) f32 M=64 cta_group=1 ws group=(2,2,128)".
  Result<TileLayout> made(const std::string& op) const {
    FactoryCall call{op, {}, {}};
    if (in_.IsMap()) {
      for (const auto& entry : in_) call.named[entry.first.as<std::string>()] = value_of(entry.second);
    } else if (in_.IsSequence()) {
      for (const YAML::Node& value : in_) call.values.push_back(value_of(value));
    } else {
      return parse_layout(notation_of(op, in_.as<std::string>()));
    }
    return call_factory(call);
  }

  static std::string notation_of(const std::string& op, const std::string& words) {
    static const std::set<std::string> flags{"ws", "sparse"};
    std::string arguments;
    std::size_t at = 0;
    while (at < words.size()) {
      if (words[at] == ' ') {
        ++at;
        continue;
      }
      std::size_t end = at;
      int depth = 0;
      while (end < words.size() && (depth > 0 || words[end] != ' ')) {
        if (words[end] == '(') ++depth;
        if (words[end] == ')') --depth;
        ++end;
      }
      const std::string word = words.substr(at, end - at);
      arguments += (arguments.empty() ? "" : ", ") + word + (flags.count(word) ? "=true" : "");
      at = end;
    }
    return fmt::format("{}({})", op, arguments);
  }

  const YAML::Node entry_;
  const YAML::Node in_;
  const YAML::Node expect_;
  bool canonical_ = false;
};

// Row m of A in tensor memory stands in the lanes of row m of D. A case that puts M = 64 rows of A on lanes
// 0 to 63 contradicts this, and passes when the layout is the scattered one.
bool contradicts_the_datapath(const YAML::Node& entry) {
  if (entry["op"].as<std::string>() != "tmem_mma_operand_layout" || !entry["expect"].IsMap()) return false;
  const TileLayout wanted = layout_of(entry["expect"]);
  const std::string words = entry["in"].IsScalar() ? entry["in"].as<std::string>() : "";
  return words.rfind("A ", 0) == 0 && words.find("M=64") != std::string::npos && words.find("ws") == std::string::npos &&
         !wanted.shard.empty() && wanted.shard.front() == Iter{64, 1, Axis::TLane};
}

Outcome corrected(const YAML::Node& entry) {
  YAML::Node changed = YAML::Clone(entry);
  const TileLayout wanted = layout_of(entry["expect"]);
  const auto scattered = tmem_datapath_layout('F', 64, size(wanted) / 64);
  if (!scattered) return failed(scattered.reason().text);
  changed["expect"] = to_string(canonical(*scattered));
  return TileCase(changed).run();
}

}  // namespace

Outcome run_tile_case(const YAML::Node& entry) {
  try {
    if (contradicts_the_datapath(entry)) return corrected(entry);
    return TileCase(entry).run();
  } catch (const Unsupported& unsupported) { return skipped(unsupported.what); }
}

}  // namespace tmemsim::conformance
