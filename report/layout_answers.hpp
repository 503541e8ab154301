// `tmemsim layout ...`: questions about layouts in text, answers in text.
//
// Layouts are given in either notation: S[(128,8):(1@TLane,1@TCol)] (also with a swizzle, or a factory by name) or nested
// (4,(2,8)):(1,(4,8)). Wrong notation, shapes that do not fit and operations that have no answer throw InputError with a caret
// where text is involved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/axis.hpp"
#include "ir/layout/digit_map.hpp"
#include "report/draw/layout_picture.hpp"

namespace tmemsim::report {

using Extents = std::vector<std::int64_t>;

Extents parse_extents(const std::string& text);                                            // "128,64" or "(128, 64)"
std::vector<std::pair<std::int64_t, std::int64_t>> parse_ranges(const std::string& text);  // "0:64,16:32", ends excluded

// Notation, simplest form, number of elements, size on each axis.
std::string layout_print(const std::string& layout);
// One line an element: row-major indices, or one coordinate of `shape` (of the layout itself where it is nested); all elements,
// at most 4096, when none is named.
std::string layout_eval(const std::string& layout, const Extents& elements, const Extents& shape,
                        const std::optional<Extents>& coordinate);
std::string layout_canon(const std::string& layout, std::optional<Scope> fuse);
std::string layout_group(const std::string& layout, const Extents& shape);
std::string layout_tile(const std::string& outer, const Extents& outer_shape, const std::string& inner,
                        const Extents& inner_shape);
std::string layout_slice(const std::string& layout, const Extents& shape, const std::string& region);
std::string layout_compose(const std::string& outer, const std::string& inner);
std::string layout_invert(const std::string& layout);

struct LayoutComparison {
  std::string text;
  Answer same = Answer::yes;
};
LayoutComparison layout_compare(const std::string& a, const std::string& b, const Extents& shape);

// Without a shape, a layout of one or two iters is drawn as it is written. Without a view, tensor memory is drawn by place.
Grid layout_picture(const std::string& layout, const Extents& shape, std::optional<View> view);

}  // namespace tmemsim::report
