#include "report/layout_answers.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/diagnostic.hpp"
#include "ir/layout/coordinate.hpp"
#include "ir/layout/nested.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim::report {
namespace {

using AnyNotation = std::variant<TileLayout, AnyLayout>;

[[noreturn]] void complain(const std::string& text, const Reason& reason, const std::string& hint = {}) {
  Diagnostic diagnostic;
  diagnostic.file = "LAYOUT";
  diagnostic.message = reason.text;
  diagnostic.hint = hint;
  if (reason.text_offset) {
    diagnostic.line = 1;
    diagnostic.col = static_cast<std::uint32_t>(*reason.text_offset) + 1;
    diagnostic.line_text = text;
  }
  throw InputError(diagnostic);
}

template <class T>
T need(const std::string& text, Result<T> result) {
  if (!result) complain(text, result.reason());
  return std::move(result).value();
}

// shape:stride without S[...] is nested.
bool looks_nested(const std::string& text) {
  return text.find("S[") == std::string::npos && text.find("R[") == std::string::npos && text.find('@') == std::string::npos &&
         text.find("_layout") == std::string::npos && text.find("Swizzle") == std::string::npos &&
         (text.find(':') != std::string::npos || text.find('<') != std::string::npos);
}

AnyNotation parse(const std::string& text) {
  if (looks_nested(text)) return need(text, parse_any_layout(text));
  return need(text, parse_layout(text));
}

TileLayout tile_of(const std::string& text) {
  const AnyNotation any = parse(text);
  if (const auto* layout = std::get_if<TileLayout>(&any)) return *layout;
  if (const auto* nested = std::get_if<NestedLayout>(&std::get<AnyLayout>(any))) return need(text, tile_layout(*nested));
  complain(text, Reason{"a composed layout has no S[...] form", {}, {}, {}});
}

const NestedLayout* nested_in(const AnyNotation& any) {
  const auto* layout = std::get_if<AnyLayout>(&any);
  return layout ? std::get_if<NestedLayout>(layout) : nullptr;
}

std::vector<Axis> axes_of(const TileLayout& layout) {
  std::set<Axis> used;
  for (const Iter& iter : layout.shard) used.insert(iter.axis);
  for (const Iter& iter : layout.replica) used.insert(iter.axis);
  for (const AxisOffset& offset : layout.offset) used.insert(offset.axis);
  return {used.begin(), used.end()};
}

std::string point_text(const std::vector<Axis>& axes, const Point& point) {
  std::vector<std::string> parts;
  for (const Axis axis : axes) parts.push_back(fmt::format("{}={}", name(axis), at(point, axis)));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string images_text(const TileLayout& layout, std::int64_t x) {
  const std::vector<Axis> axes = axes_of(layout);
  std::vector<std::string> texts;
  for (const Point& point : evaluate_all(layout, x)) texts.push_back(point_text(axes, point));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string element_text(std::int64_t x, const Extents& shape) {
  return shape.empty() ? std::to_string(x) : shape_text(coordinate_of(x, shape));
}

// A shape that was given fits; without one the elements are numbered.
void check_shape(const std::string& text, const TileLayout& layout, const Extents& shape) {
  if (shape.empty()) return;
  const TileLayout flat{{{size(layout), 1, Axis::m}}, {}, {}, {}};  // any shape of the right size groups a flat layout
  need(text, group(flat, shape));
}

std::int64_t index_of(const std::string& text, const Extents& coordinate, const Extents& shape) {
  if (shape.empty() && coordinate.size() == 1) {
    if (coordinate[0] < 0) complain(text, Reason{"elements count from 0", {}, {}, {}});
    return coordinate[0];
  }
  if (coordinate.size() != shape.size())
    complain(text,
             Reason{fmt::format("coordinate {} does not have the rank of shape {}", shape_text(coordinate), shape_text(shape)),
                    {},
                    {},
                    {}});
  std::int64_t index = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (coordinate[d] < 0 || coordinate[d] >= shape[d])
      complain(
          text,
          Reason{fmt::format("coordinate {} is outside the shape {}", shape_text(coordinate), shape_text(shape)), {}, {}, {}});
    index = index * shape[d] + coordinate[d];
  }
  return index;
}

std::string eval_nested(const std::string& text, const AnyLayout& layout, const Extents& elements,
                        const std::optional<Extents>& coordinate) {
  if (elements.empty() && !coordinate)
    complain(text, Reason{"a nested layout is evaluated at named elements", {}, {}, {}},
             "name indices, or a coordinate with --at");
  std::string result;
  const auto add = [&](const IntTuple& c) {
    result += fmt::format("{} -> {}\n", to_string(c), to_string(need(text, crd2idx(c, layout))));
  };
  if (coordinate) {
    const std::vector<IntTuple> items(coordinate->begin(), coordinate->end());
    add(items.size() == 1 ? items.front() : IntTuple::of(items));
  }
  for (const std::int64_t x : elements) add(IntTuple(x));
  return result;
}

// The tile that the layout itself shows.
Extents own_shape(const std::string& text, const TileLayout& layout) {
  if (layout.shard.size() > 2)
    complain(
        text,
        Reason{
            fmt::format("the layout has {} iters, so it does not show the shape of the tile", layout.shard.size()), {}, {}, {}},
        "give one with --shape, such as --shape 64,32");
  Extents shape;
  for (const Iter& iter : layout.shard) shape.push_back(iter.extent);
  return shape;
}

bool in_tensor_memory(const TileLayout& layout) {
  return std::any_of(layout.shard.begin(), layout.shard.end(),
                     [](const Iter& iter) { return iter.axis == Axis::TLane || iter.axis == Axis::TCol; });
}

}  // namespace

Extents parse_extents(const std::string& text) {
  Extents extents;
  std::size_t at = 0;
  const auto skip = [&](std::string_view characters) {
    while (at < text.size() && characters.find(text[at]) != std::string_view::npos) ++at;
  };
  skip(" (");
  while (at < text.size() && text[at] != ')') {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{}) complain(text, Reason{"expected an integer of 64 bits", {}, {}, at});
    extents.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
    skip(" ");
    if (at == text.size() || text[at] == ')') break;
    if (text[at] != ',') complain(text, Reason{"expected ','", {}, {}, at});
    ++at;
    skip(" ");
  }
  skip(" )");
  if (at != text.size() || extents.empty()) complain(text, Reason{"expected integers such as 128,64", {}, {}, at});
  return extents;
}

std::vector<std::pair<std::int64_t, std::int64_t>> parse_ranges(const std::string& text) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::size_t at = 0;
  const auto integer = [&] {
    while (at < text.size() && (text[at] == ' ' || text[at] == '[')) ++at;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{}) complain(text, Reason{"expected an integer of 64 bits", {}, {}, at});
    at = static_cast<std::size_t>(end - text.data());
    while (at < text.size() && (text[at] == ' ' || text[at] == ']')) ++at;
    return value;
  };
  do {
    const std::int64_t begin = integer();
    std::int64_t end = begin < INT64_MAX ? begin + 1 : begin;  // a single index is a range of one
    if (at < text.size() && text[at] == ':') {
      ++at;
      end = integer();
    }
    ranges.emplace_back(begin, end);
    if (at == text.size()) return ranges;
    if (text[at] != ',') complain(text, Reason{"expected ranges such as 0:64,16:32", {}, {}, at});
    ++at;
  } while (true);
}

std::string layout_print(const std::string& layout) {
  const AnyNotation any = parse(layout);
  if (const auto* nested = std::get_if<AnyLayout>(&any)) {
    const NestedLayout* plain = nested_in(any);
    std::string text = fmt::format("layout     {}\n", to_string(*nested));
    if (plain == nullptr) return text;
    return text + fmt::format("canonical  {}\nelements   {}\ncosize     {}\n", to_string(need(layout, coalesce(*plain))),
                              to_string(need(layout, size(*plain))), to_string(need(layout, cosize(*plain))));
  }
  const TileLayout& tile = std::get<TileLayout>(any);
  const TileLayout simplest = canonical(tile);
  std::string text =
      fmt::format("layout     {}\ncanonical  {}\nelements   {}\n", to_string(tile), to_string(simplest), size(tile));
  for (const Axis axis : axes_of(simplest)) text += fmt::format("{:<10} {} coordinates\n", name(axis), size_on(simplest, axis));
  return text;
}

std::string layout_eval(const std::string& layout, const Extents& elements, const Extents& shape,
                        const std::optional<Extents>& coordinate) {
  const AnyNotation any = parse(layout);
  if (const auto* nested = std::get_if<AnyLayout>(&any)) return eval_nested(layout, *nested, elements, coordinate);
  const TileLayout& tile = std::get<TileLayout>(any);
  check_shape(layout, tile, shape);
  constexpr std::int64_t most_lines = 4096;
  if (elements.empty() && !coordinate && size(tile) > most_lines)
    complain(layout, Reason{fmt::format("the layout has {} elements", size(tile)), {}, {}, {}}, "name those that are wanted");
  std::string text;
  const auto add = [&](std::int64_t x) {
    if (x < 0 || x >= size(tile))
      complain(layout, Reason{fmt::format("element {} is outside the layout, which has {}", x, size(tile)), {}, {}, {}});
    text += fmt::format("{} -> {}\n", element_text(x, shape), images_text(tile, x));
  };
  if (coordinate) add(index_of(layout, *coordinate, shape));
  for (const std::int64_t x : elements) add(x);
  for (std::int64_t x = 0; elements.empty() && !coordinate && x < size(tile); ++x) add(x);
  return text;
}

std::string layout_canon(const std::string& layout, std::optional<Scope> fuse) {
  const AnyNotation any = parse(layout);
  if (const auto* tile = std::get_if<TileLayout>(&any))
    return to_string(fuse ? need(layout, fuse_scopes(*tile, *fuse)) : canonical(*tile)) + "\n";
  const NestedLayout* nested = nested_in(any);
  if (nested == nullptr) complain(layout, Reason{"a composed layout has no canonical form here", {}, {}, {}});
  return to_string(need(layout, coalesce(*nested))) + "\n";
}

std::string layout_group(const std::string& layout, const Extents& shape) {
  const GroupedLayout grouped = need(layout, group(tile_of(layout), shape));
  std::string text = to_string(grouped.layout) + "\n";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    TileLayout part;
    for (std::size_t k = grouped.separators[d]; k < grouped.separators[d + 1]; ++k)
      part.shard.push_back(grouped.layout.shard[k]);
    text += fmt::format("dimension {} ({}): iters {} to {}, {}\n", d, shape[d], grouped.separators[d],
                        grouped.separators[d + 1] - 1, to_string(part));
  }
  return text;
}

std::string layout_tile(const std::string& outer, const Extents& outer_shape, const std::string& inner,
                        const Extents& inner_shape) {
  return to_string(need(inner, tile(tile_of(outer), outer_shape, tile_of(inner), inner_shape))) + "\n";
}

std::string layout_slice(const std::string& layout, const Extents& shape, const std::string& region) {
  Extents begin, extent;
  for (const auto& [first, end] : parse_ranges(region)) {
    if (end <= first)
      complain(region, Reason{fmt::format("the range {}:{} is empty; the end is excluded", first, end), {}, {}, {}});
    begin.push_back(first);
    extent.push_back(first < 0 ? end : end - first);
  }
  return to_string(canonical(need(layout, slice(tile_of(layout), shape, begin, extent)))) + "\n";
}

std::string layout_compose(const std::string& outer, const std::string& inner) {
  const AnyNotation left = parse(outer), right = parse(inner);
  const NestedLayout* nested = nested_in(right);
  if (const auto* any = std::get_if<AnyLayout>(&left); any != nullptr && nested != nullptr)
    return to_string(need(outer, composition(*any, *nested))) + "\n";
  return to_string(need(outer, compose(tile_of(outer), tile_of(inner)))) + "\n";
}

std::string layout_invert(const std::string& layout) {
  const AnyNotation any = parse(layout);
  if (const NestedLayout* nested = nested_in(any)) return to_string(need(layout, left_inverse(*nested))) + "\n";
  const InverseLayout found = need(layout, inverse(tile_of(layout)));
  std::vector<std::string> axes;
  for (std::size_t k = 0; k < found.axes.size(); ++k)
    axes.push_back(fmt::format("{} 0..{}", name(found.axes[k]), found.shape[k] - 1));
  return fmt::format("{}\nfrom ({}) to the element\n", to_string(found.layout), fmt::join(axes, ", "));
}

LayoutComparison layout_compare(const std::string& a, const std::string& b, const Extents& shape) {
  const TileLayout left = tile_of(a), right = tile_of(b);
  if (size(left) == size(right)) check_shape(a, left, shape);
  const Comparison found = same_map(left, right);
  if (found.same == Answer::yes) return {"the same map\n", Answer::yes};
  if (found.same == Answer::undecided) return {fmt::format("undecided: {}\n", found.why), Answer::undecided};
  const std::int64_t x = found.first.value_or(0);
  if (x >= std::min(size(left), size(right))) {
    return {
        fmt::format("different: the layouts have {} and {} elements, and agree on the first {}\n", size(left), size(right), x),
        Answer::no};
  }
  const Extents& own = size(left) == size(right) ? shape : Extents{};
  return {fmt::format("different at element {} first\n  {}: {}\n  {}: {}\n", element_text(x, own), to_string(left),
                      images_text(left, x), to_string(right), images_text(right, x)),
          Answer::no};
}

Grid layout_picture(const std::string& layout, const Extents& shape, std::optional<View> view) {
  const TileLayout tile = tile_of(layout);
  const View chosen = view.value_or(in_tensor_memory(tile) ? View::place : View::tile);
  return need(layout, picture(tile, shape.empty() ? own_shape(layout, tile) : shape, chosen));
}

}  // namespace tmemsim::report
