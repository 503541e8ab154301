// The closed set of named axes that layouts speak about, and the scopes that thread axes live in.
//
// Thread axes say which thread owns an element, memory axes say where it stands in its space. A name outside this list is
// an error, never a new axis (reference: layouts A.2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tmemsim {

enum class Axis : std::uint8_t {
  m,          // element slot of shared, global or (space local) of one thread's registers
  TLane,      // TMEM lane 0..127
  TCol,       // TMEM column, counted in elements of the buffer
  laneid,     // thread in its warp
  tid_in_wg,  // thread in its warpgroup
  tx,         // thread in its CTA
  wid_in_wg,  // warp in its warpgroup
  warpid,     // warp in its CTA
  wgid,       // warpgroup in its CTA
  cbx, cby, cbz,  // CTA in its cluster
  bx, by, bz,     // CTA in the grid
};
inline constexpr std::size_t axis_count = 15;

enum class Scope : std::uint8_t { thread, warp, warpgroup, cta, cluster, grid };

struct AxisFacts {
  Axis axis;
  std::string_view name;
  bool thread;     // false: memory axis; unit and scope have no meaning then
  Scope unit;      // what one step of the axis is
  Scope scope;     // within what it counts
};

inline constexpr std::array<AxisFacts, axis_count> axis_table{{
    {Axis::m, "m", false, Scope::thread, Scope::thread},
    {Axis::TLane, "TLane", false, Scope::thread, Scope::thread},
    {Axis::TCol, "TCol", false, Scope::thread, Scope::thread},
    {Axis::laneid, "laneid", true, Scope::thread, Scope::warp},
    {Axis::tid_in_wg, "tid_in_wg", true, Scope::thread, Scope::warpgroup},
    {Axis::tx, "tx", true, Scope::thread, Scope::cta},
    {Axis::wid_in_wg, "wid_in_wg", true, Scope::warp, Scope::warpgroup},
    {Axis::warpid, "warpid", true, Scope::warp, Scope::cta},
    {Axis::wgid, "wgid", true, Scope::warpgroup, Scope::cta},
    {Axis::cbx, "cbx", true, Scope::cta, Scope::cluster},
    {Axis::cby, "cby", true, Scope::cta, Scope::cluster},
    {Axis::cbz, "cbz", true, Scope::cta, Scope::cluster},
    {Axis::bx, "bx", true, Scope::cta, Scope::grid},
    {Axis::by, "by", true, Scope::cta, Scope::grid},
    {Axis::bz, "bz", true, Scope::cta, Scope::grid},
}};

constexpr const AxisFacts& facts(Axis axis) { return axis_table[static_cast<std::size_t>(axis)]; }
constexpr std::string_view name(Axis axis) { return facts(axis).name; }
constexpr bool is_thread(Axis axis) { return facts(axis).thread; }
std::optional<Axis> axis_named(std::string_view name);
std::string_view name(Scope scope);

}  // namespace tmemsim
