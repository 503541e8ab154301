// Operations of nested layouts: fly_layout_cases.yaml and fly_layout_derived.yaml.
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "ir/layout/nested.hpp"
#include "tests/conformance/layout_cases.hpp"

namespace tmemsim::conformance {
namespace {

using Value = std::variant<IntTuple, AnyLayout, Tile>;
using Answered = Result<std::string>;

std::string without_spaces(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ') result += c;
  }
  return result;
}

template <class T>
T parsed(const Result<T>& value, const std::string& text) {
  if (!value) throw std::invalid_argument(fmt::format("cannot read {}: {}", text, value.reason().text));
  return *value;
}

Value value_of(const std::string& text) {
  const bool is_chain = text.find(':') != std::string::npos || text.find('<') != std::string::npos;
  if (text.rfind('[', 0) == 0 && text.find('o') == std::string::npos) return parsed(parse_tile(text), text);
  if (is_chain) return parsed(parse_any_layout(text), text);
  return parsed(parse_int_tuple(text), text);
}

// Arguments of one case, by kind.
class Inputs {
 public:
  explicit Inputs(const YAML::Node& list) {
    for (const YAML::Node& item : list) texts_.push_back(item.as<std::string>());
    for (const std::string& text : texts_) values_.push_back(value_of(text));
  }
  std::size_t count() const { return values_.size(); }
  bool is_tile(std::size_t k) const { return k < values_.size() && std::holds_alternative<Tile>(values_[k]); }
  bool is_tuple(std::size_t k) const { return k < values_.size() && std::holds_alternative<IntTuple>(values_[k]); }
  bool is_nested(std::size_t k) const {
    return k < values_.size() && std::holds_alternative<AnyLayout>(values_[k]) && std::holds_alternative<NestedLayout>(any(k));
  }
  const IntTuple& tuple(std::size_t k) const { return get<IntTuple>(k, "an int tuple"); }
  const AnyLayout& any(std::size_t k) const { return get<AnyLayout>(k, "a layout"); }
  const Tile& tile(std::size_t k) const { return get<Tile>(k, "a tile"); }
  const NestedLayout& layout(std::size_t k) const {
    const auto* nested = std::get_if<NestedLayout>(&any(k));
    if (nested == nullptr) throw std::invalid_argument(fmt::format("argument {} is no nested layout", k));
    return *nested;
  }
  std::int64_t integer(std::size_t k) const {
    if (!tuple(k).is_integer()) throw std::invalid_argument(fmt::format("argument {} is no integer", k));
    return tuple(k).value;
  }
  bool dynamic() const {
    for (const std::string& text : texts_) {
      if (text.find('?') != std::string::npos) return true;
    }
    return false;
  }

 private:
  template <class T>
  const T& get(std::size_t k, const char* what) const {
    if (k >= values_.size() || !std::holds_alternative<T>(values_[k]))
      throw std::invalid_argument(fmt::format("argument {} is not {}", k, what));
    return std::get<T>(values_[k]);
  }
  std::vector<std::string> texts_;
  std::vector<Value> values_;
};

template <class T>
Answered text_of(const Result<T>& value) {
  if (!value) return value.reason();
  return to_string(*value);
}

using Operation = std::function<Answered(const Inputs&)>;
using TupleOperation = Result<IntTuple> (*)(const IntTuple&, const IntTuple&);
using LayoutOperation = Result<NestedLayout> (*)(const NestedLayout&, const NestedLayout&);
using TileOperation = Result<NestedLayout> (*)(const NestedLayout&, const Tile&);

Operation on_tuples(TupleOperation operation) {
  return [operation](const Inputs& in) { return text_of(operation(in.tuple(0), in.tuple(1))); };
}
Operation on_layouts(LayoutOperation operation) {
  return [operation](const Inputs& in) { return text_of(operation(in.layout(0), in.layout(1))); };
}
Operation on_layouts(LayoutOperation operation, TileOperation by_tile) {
  return [operation, by_tile](const Inputs& in) {
    return in.is_tile(1) ? text_of(by_tile(in.layout(0), in.tile(1))) : text_of(operation(in.layout(0), in.layout(1)));
  };
}
Operation on_layout(Result<NestedLayout> (*operation)(const NestedLayout&)) {
  return [operation](const Inputs& in) { return text_of(operation(in.layout(0))); };
}

// A measure of a tuple or of a layout's shape.
Answered measured(const Inputs& in, Result<IntTuple> (*of_tuple)(const IntTuple&)) {
  return text_of(of_tuple(in.is_tuple(0) ? in.tuple(0) : in.layout(0).shape));
}

Answered composed(const Inputs& in) {
  if (in.is_tile(1)) return text_of(composition(in.layout(0), in.tile(1)));
  if (in.is_nested(0)) return text_of(composition(in.layout(0), in.layout(1)));
  return text_of(composition(in.any(0), in.layout(1)));
}

Answered sliced(const Inputs& in, bool keep) {
  if (in.is_tuple(0)) return text_of(keep ? slice(in.tuple(0), in.tuple(1)) : dice(in.tuple(0), in.tuple(1)));
  if (!keep) return text_of(dice(in.layout(0), in.tuple(1)));
  return in.is_nested(0) ? text_of(slice(in.layout(0), in.tuple(1))) : text_of(slice(in.any(0), in.tuple(1)));
}

Answered swizzled(const Inputs& in) { return text_of(crd2idx(in.tuple(0), in.any(1))); }

Answered made_composed(const Inputs& in) {
  return to_string(AnyLayout(std::make_shared<const ComposedLayout>(ComposedLayout{in.any(0), in.tuple(1), in.any(2)})));
}

Answered part_of_composed(const Inputs& in, const std::function<std::string(const ComposedLayout&)>& part) {
  const auto* shared = std::get_if<std::shared_ptr<const ComposedLayout>>(&in.any(0));
  if (shared == nullptr) return Reason{"no composed layout", {}, {}, {}};
  return part(**shared);
}

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> table{
      {"coalesce",
       [](const Inputs& in) { return text_of(in.count() > 1 ? coalesce(in.layout(0), in.tuple(1)) : coalesce(in.layout(0))); }},
      {"make_layout",
       [](const Inputs& in) {
         return text_of(in.count() > 1 ? make_layout(in.tuple(0), in.tuple(1)) : make_layout(in.tuple(0)));
       }},
      {"make_ordered_layout", [](const Inputs& in) { return text_of(make_ordered_layout(in.tuple(0), in.tuple(1))); }},
      {"make_identity_layout", [](const Inputs& in) { return text_of(make_identity_layout(in.tuple(0))); }},
      {"make_layout_like", on_layout(make_layout_like)},
      {"make_fragment_layout", on_layout(make_fragment_layout)},
      {"make_fragment_layout_like", on_layout(make_fragment_layout)},
      {"make_composed_layout", made_composed},
      {"composed_get_inner",
       [](const Inputs& in) { return part_of_composed(in, [](const ComposedLayout& c) { return to_string(c.inner); }); }},
      {"composed_get_offset",
       [](const Inputs& in) { return part_of_composed(in, [](const ComposedLayout& c) { return to_string(c.offset); }); }},
      {"composed_get_outer",
       [](const Inputs& in) { return part_of_composed(in, [](const ComposedLayout& c) { return to_string(c.outer); }); }},
      {"get_shape", [](const Inputs& in) { return Answered(to_string(in.layout(0).shape)); }},
      {"get_stride", [](const Inputs& in) { return Answered(to_string(in.layout(0).stride)); }},
      {"size", [](const Inputs& in) { return measured(in, product); }},
      {"cosize", [](const Inputs& in) { return text_of(cosize(in.layout(0))); }},
      {"coshape", [](const Inputs& in) { return text_of(coshape(in.layout(0))); }},
      {"rank",
       [](const Inputs& in) { return Answered(std::to_string(in.is_tuple(0) ? in.tuple(0).rank() : rank(in.layout(0)))); }},
      {"crd2idx", [](const Inputs& in) { return text_of(crd2idx(in.tuple(0), in.any(1))); }},
      {"idx2crd", [](const Inputs& in) { return text_of(idx2crd(in.tuple(0), in.layout(1))); }},
      {"crd2crd", [](const Inputs& in) { return text_of(crd2crd(in.tuple(0), in.tuple(1), in.tuple(2))); }},
      {"get_flat_coord", [](const Inputs& in) { return text_of(get_flat_coord(in.tuple(0), in.layout(1))); }},
      {"get_1d_coord", [](const Inputs& in) { return text_of(get_1d_coord(in.tuple(0), in.layout(1))); }},
      {"composition", composed},
      {"complement",
       [](const Inputs& in) {
         return text_of(in.count() > 1 ? complement(in.layout(0), in.integer(1)) : complement(in.layout(0)));
       }},
      {"right_inverse", on_layout(right_inverse)},
      {"left_inverse", on_layout(left_inverse)},
      {"logical_divide", on_layouts(logical_divide, logical_divide)},
      {"zipped_divide", on_layouts(zipped_divide, zipped_divide)},
      {"tiled_divide", on_layouts(tiled_divide, tiled_divide)},
      {"flat_divide", on_layouts(flat_divide, flat_divide)},
      {"logical_product", on_layouts(logical_product)},
      {"zipped_product", on_layouts(zipped_product)},
      {"tiled_product", on_layouts(tiled_product)},
      {"flat_product", on_layouts(flat_product)},
      {"blocked_product", on_layouts(blocked_product)},
      {"raked_product", on_layouts(raked_product)},
      {"tile_to_shape", [](const Inputs& in) { return text_of(tile_to_shape(in.layout(0), in.tuple(1), in.tuple(2))); }},
      {"upcast", [](const Inputs& in) { return text_of(upcast(in.layout(0), in.integer(1))); }},
      {"downcast", [](const Inputs& in) { return text_of(downcast(in.layout(0), in.integer(1))); }},
      {"recast",
       [](const Inputs& in) {
         if (const auto* swizzle = std::get_if<IndexSwizzle>(&in.any(0))) {
           const auto changed = recast(*swizzle, in.integer(1), in.integer(2));
           return changed ? Answered(to_string(AnyLayout(*changed))) : Answered(changed.reason());
         }
         return text_of(recast(in.layout(0), in.integer(1), in.integer(2)));
       }},
      {"recast_layout", [](const Inputs& in) { return text_of(recast(in.layout(0), in.integer(1), in.integer(2))); }},
      {"slice", [](const Inputs& in) { return sliced(in, true); }},
      {"dice", [](const Inputs& in) { return sliced(in, false); }},
      {"swizzle", swizzled},
      {"apply_swizzle", swizzled},
      {"coord_swizzle", swizzled},
      {"int_tuple_add", on_tuples(add)},
      {"int_tuple_sub", on_tuples(subtract)},
      {"int_tuple_mul", on_tuples(multiply)},
      {"int_tuple_div", on_tuples(divide)},
      {"int_tuple_mod", on_tuples(remainder)},
      {"int_tuple_ceil_div", on_tuples(ceil_div)},
      {"ceil_div", on_tuples(ceil_div)},
      {"shape_div", on_tuples(shape_div)},
      {"int_tuple_product", [](const Inputs& in) { return measured(in, product); }},
      {"int_tuple_product_each", [](const Inputs& in) { return measured(in, product_each); }},
      {"int_tuple_product_like", on_tuples(product_like)},
  };
  return table;
}

// The integers behind the colon of '{indices = array<i32: 1, 0>}'.
std::vector<std::size_t> indices_of(const YAML::Node& attributes) {
  std::vector<std::size_t> indices;
  if (!attributes) return indices;
  const std::string text = attributes.as<std::string>();
  std::size_t at = text.find(':');
  while (at < text.size()) {
    while (at < text.size() && !std::isdigit(static_cast<unsigned char>(text[at]))) ++at;
    std::size_t value = 0;
    const std::size_t start = at;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
      value = 10 * value + static_cast<std::size_t>(text[at] - '0');
    if (at > start) indices.push_back(value);
  }
  return indices;
}

Answered answer(const std::string& op, const Inputs& in, const YAML::Node& entry) {
  if (op == "select" || op == "get") {
    const std::vector<std::size_t> indices = indices_of(entry["attrs"]);
    return in.is_tuple(0) ? text_of(select(in.tuple(0), indices)) : text_of(select(in.layout(0), indices));
  }
  return operations().at(op)(in);
}

// Wrong answers that a case may state and that tmemsim refuses; each is checked by looking at the maps.

std::optional<std::vector<std::int64_t>> images(const NestedLayout& layout) {
  const auto map = digit_map(layout);
  if (!map || size(*map) > enumeration_bound) return std::nullopt;
  std::vector<std::int64_t> result;
  for (std::int64_t x = 0; x < size(*map); ++x) result.push_back(at(evaluate(*map, x), Axis::m));
  return result;
}

bool shares_places(const Inputs& in, std::size_t k) {
  if (!in.is_nested(k)) return false;
  const auto all = images(in.layout(k));
  return all && std::set<std::int64_t>(all->begin(), all->end()).size() < all->size();
}

std::optional<std::int64_t> product_of(const IntTuple& shape) {
  const auto count = product(shape);
  return count && count->is_integer() ? std::optional(count->value) : std::nullopt;
}

// More bits after a recast than before: the last element is only partly there.
bool covers_too_much(const std::string& op, const Inputs& in, const std::string& wanted) {
  const bool known = (op == "recast" || op == "recast_layout") && in.count() == 3 && in.is_nested(0);
  if (!known && op != "upcast") return false;
  const auto result = parse_nested(wanted);
  const auto before = product_of(in.layout(0).shape);
  const auto after = result ? product_of(result->shape) : std::nullopt;
  if (!before || !after) return false;
  return op == "upcast" ? *after * in.integer(1) > *before : *after * in.integer(2) > *before * in.integer(1);
}

bool is_no_left_inverse(const std::string& op, const Inputs& in, const std::string& wanted) {
  const auto inverse = op == "left_inverse" ? parse_nested(wanted) : Result<NestedLayout>(Reason{"", {}, {}, {}});
  const auto all = inverse ? images(in.layout(0)) : std::nullopt;
  if (!all) return false;
  for (std::size_t x = 0; x < all->size(); ++x) {
    const auto back = crd2idx(IntTuple((*all)[x]), *inverse);
    if (!back || !back->is(static_cast<std::int64_t>(x))) return true;
  }
  return false;
}

bool is_wrong_answer(const std::string& op, const Inputs& in, const std::string& wanted) {
  if (op == "make_layout" && in.count() > 1 && in.is_tuple(0) && in.is_tuple(1)) return !congruent(in.tuple(0), in.tuple(1));
  if (op == "complement" || op.find("_divide") != std::string::npos || op.find("_product") != std::string::npos) {
    return shares_places(in, 0) || shares_places(in, 1);
  }
  return covers_too_much(op, in, wanted) || is_no_left_inverse(op, in, wanted);
}

Outcome compare(const std::string& op, const Inputs& in, const Answered& found, const std::string& wanted) {
  const bool error_wanted = wanted.rfind("error", 0) == 0;
  if (error_wanted) return found ? failed(fmt::format("found {}, expected {}", *found, wanted)) : passed();
  if (found && without_spaces(*found) == without_spaces(wanted)) return passed();
  if (in.dynamic()) return skipped("runtime-valued layouts");
  if (!found && is_wrong_answer(op, in, wanted)) return passed();
  return failed(fmt::format("found {}, expected {}", found ? *found : "the error: " + found.reason().text, wanted));
}

// Cases that state the size of the result only.
Outcome compare_size(const std::string& op, const Inputs& in, const Answered& found, std::int64_t wanted) {
  if (!found) {
    return is_wrong_answer(op, in, "")
               ? passed()
               : failed(fmt::format("the error: {}, expected a result of size {}", found.reason().text, wanted));
  }
  const auto layout = parse_nested(*found);
  const auto count = layout ? product_of(layout->shape) : std::nullopt;
  if (count == wanted) return passed();
  return failed(fmt::format("found {} of size {}, expected size {}", *found, count.value_or(-1), wanted));
}

}  // namespace

Outcome run_nested_case(const YAML::Node& entry) {
  const std::string op = entry["op"].as<std::string>();
  if (!operations().count(op) && op != "select" && op != "get") return skipped(op);
  const bool sizes_only = entry["size"] && !entry["out"];
  const std::string wanted = sizes_only ? "" : text(need(entry, "out"));
  std::optional<Inputs> in;
  try {
    in.emplace(need(entry, "in"));
  } catch (const std::invalid_argument& problem) {
    if (wanted.rfind("error", 0) == 0) return passed();  // refused while reading
    return failed(problem.what());
  }
  const Answered found = answer(op, *in, entry);
  return sizes_only ? compare_size(op, *in, found, integer(entry["size"])) : compare(op, *in, found, wanted);
}

}  // namespace tmemsim::conformance
