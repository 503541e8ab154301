// Buffers: named storage with a space, an element type, a logical shape and a layout.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/diagnostic.hpp"
#include "ir/dtype.hpp"
#include "ir/layout/tile_layout.hpp"
#include "ir/op.hpp"

namespace tmemsim {

enum class Space : std::uint8_t { global, shared, local, tmem };
template <> struct Keywords<Space> {
  static constexpr std::array<std::string_view, 4> names{"global", "shared", "local", "tmem"};
};

// Initial values, in logical row-major order. A buffer without one starts uninitialised.
struct InitFill { Number value; bool operator==(const InitFill&) const = default; };
struct InitIota { Number start, step; bool operator==(const InitIota&) const = default; };          // start + step * index
struct InitRandom {                                                                                    // uniform in [low, high], or raw bits
  std::uint64_t seed = 0; double low = 0, high = 1; bool bits = false;
  bool operator==(const InitRandom&) const = default;
};
struct InitData { std::vector<Number> values; bool operator==(const InitData&) const = default; };
struct InitNpy { std::string path; bool operator==(const InitNpy&) const = default; };                // relative to Kernel::folder
using Init = std::variant<InitFill, InitIota, InitRandom, InitData, InitNpy>;

struct Buffer {
  std::string name;
  Space space = Space::global;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;     // logical; for a local buffer without layout: elements of one thread
  std::optional<TileLayout> layout;    // absent: row-major on m (global, shared), one thread's row-major slots (local)
  std::optional<Init> init;            // global and shared only
  std::string out;                     // global: .npy file that `run` writes; empty: none
  std::optional<std::int64_t> offset;  // shared: byte offset in the CTA's window; place_shared() sets it where absent
  std::optional<BufferId> slot;        // tmem: shared u32 word that holds the base address; exactly one of slot and base
  std::optional<std::int64_t> base;    // tmem: physical base column
  std::int64_t column = 0;             // tmem: first column relative to the base
  SourceLoc at;
  bool operator==(const Buffer&) const = default;
};

// Sizes. Of a verified buffer they are exact; of any other they saturate instead of overflowing (negative extents count as 0).
std::int64_t element_count(const Buffer& buffer);          // product of the shape
TileLayout layout_of(const Buffer& buffer);                 // the declared layout, or the default one
std::int64_t byte_size(const Buffer& buffer);              // global, shared: bytes from slot 0 to the last element, padding included
int register_count(const Buffer& buffer);                  // local: 32-bit rows of one thread
std::int64_t tmem_columns(const Buffer& buffer);           // tmem: 32-bit columns from `column` on

}  // namespace tmemsim
