// What the type check proves about a layout when a buffer is declared.
//
// The layout admits the shape; its axes fit the space (tmem: TLane and TCol; local: thread axes of one CTA and m; shared and
// global: m) and the threads that exist; no coordinate is negative, lanes stay below 128, thread coordinates inside their
// scope; different elements never share a place (copies must be declared as a replica). Columns are counted and not bounded:
// a column past the allocation or past 511 is a finding of the run, never an input error. A failure names the iter and gives
// the first logical coordinate (row-major order) that shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/buffer.hpp"
#include "ir/layout/tile_layout.hpp"
#include "ir/result.hpp"

namespace tmemsim {

struct Place {
  Space space = Space::global;
  int bits = 32;              // of one element
  std::int64_t threads = 32;  // of the CTA; 1 to 1024
};

struct LayoutFacts {
  std::int64_t elements = 0;
  std::int64_t copies = 1;                 // of each element (declared replicas)
  std::int64_t bytes = 0;                  // shared, global: from byte 0 to the last one used
  std::int64_t registers = 0;              // local: 32-bit rows of one thread
  std::int64_t columns = 0;                // tmem: 32-bit columns from the first one on
  Scope scope = Scope::thread;             // local: what the thread axes count within; each such unit holds its own tile
  std::int64_t threads = 1;                // local: threads of that scope that own elements
  std::optional<std::int64_t> first_idle;  // local: the first thread of the scope that owns none
  bool operator==(const LayoutFacts&) const = default;
};

Result<LayoutFacts> check_layout(const TileLayout& layout, std::span<const std::int64_t> shape, Place place);

// The smallest element (row-major) with an image at or beyond `limit` on `axis`, before the swizzle; below it, for
// `first_below`.
std::optional<std::int64_t> first_reaching(const TileLayout& layout, Axis axis, std::int64_t limit);
std::optional<std::int64_t> first_below(const TileLayout& layout, Axis axis, std::int64_t limit);

}  // namespace tmemsim
