#include <fmt/format.h>

#include "ir/scenario/mapping.hpp"
#include "ir/scenario/scenario.hpp"

namespace tmemsim {
namespace {

// NAME stands for the scenario's name.
constexpr std::string_view skeleton = R"(tmemsim: 1                     # version of this format
scenario: NAME
doc: A warpgroup moves a tile into tensor memory and back.
target: sm_100a
launch: {warps: 4}             # also cluster:, grid:, ctas_per_sm:

# Values that may stand for a number or a keyword. A list runs every value: `tmemsim run FILE --only n=16` picks one.
params: {n: [8, 16]}

buffers:
  input:  {space: global, dtype: f32, shape: [128, n], init: {iota: {start: 1}}}
  output: {space: global, dtype: f32, shape: [128, n], init: {fill: 0}}
  # The word in shared memory that receives the address of the allocated columns.
  slot:   {space: shared, dtype: u32, shape: [1]}
  # Element (i, j) stands in lane i, column j.
  tile:   {space: tmem, dtype: f32, shape: [128, n], base: slot, layout: "S[(128,n):(1@TLane,1@TCol)]"}
  # Registers: thread i of the warpgroup owns row i.
  rows:   {space: local, dtype: f32, shape: [128, n], layout: "S[(128,n):(1@tid_in_wg,1)]"}
  back:   {space: local, dtype: f32, shape: [128, n], layout: "S[(128,n):(1@tid_in_wg,1)]"}

# Every warp runs the statements whose `at` includes it, from top to bottom. `tmemsim ops` lists what `do` can be.
program:
  - {at: warp 0,      do: tcgen05.alloc, slot: slot, cols: 32}
  - {at: cta,         do: barrier}
  - {at: warpgroup 0, do: copy, dst: rows, src: input}
  - {at: warpgroup 0, do: copy_async, dst: tile, src: rows, label: store}
  - {at: warpgroup 0, do: tcgen05.wait.st}   # without it the load below reads what is not yet written
  - {at: warpgroup 0, do: copy_async, dst: back, src: tile}
  - {at: warpgroup 0, do: tcgen05.wait.ld}
  - {at: warpgroup 0, do: copy, dst: output, src: back}
  - {at: cta,         do: barrier}
  - {at: warp 0,      do: tcgen05.dealloc, slot: slot, cols: 32}
  - {at: warp 0,      do: tcgen05.relinquish_alloc_permit}

expect:
  equal: [{actual: output, expected: input}]
  findings: []                 # or for example [{verdict: raw-st, at: store}]
)";

}  // namespace

std::string new_scenario(std::string_view name) {
  if (!scenario::is_scenario_name(name))
    throw InputError(fmt::format("'{}' is no name of a scenario", scenario::shown(name)), "letters, digits, _ and -");
  std::string text(skeleton);
  constexpr std::string_view placeholder = "NAME";
  text.replace(text.find(placeholder), placeholder.size(), name);
  return text;
}

}  // namespace tmemsim
