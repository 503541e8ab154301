// The programs that the consumers run.
#pragma once

#include <exception>
#include <functional>
#include <iostream>
#include <ir/scenario/scenario.hpp>

// A warp moves a tile from A through its registers to B.
inline const char* const tile_program = R"(
tmemsim: 1
scenario: tile
target: sm_100a
launch: {warps: 1}
buffers:
  A: {space: global, dtype: f32, shape: [32, 4], init: {iota: {start: 1}}}
  B: {space: global, dtype: f32, shape: [32, 4], init: {fill: 0}}
  frag: {space: local, dtype: f32, shape: [32, 4], layout: "S[(32,4):(1@laneid,1)]"}
program:
  - {at: warp 0, do: copy, dst: frag, src: A}
  - {at: warp 0, do: copy, dst: B, src: frag}
)";

// Each lane of a warp stores its number to B.
inline const char* const machine_program = R"(
tmemsim: 1
scenario: machine
target: sm_100a
launch: {warps: 1}
buffers:
  B: {space: global, dtype: u32, shape: [32], init: {fill: 7}}
  R: {space: local, dtype: u32, shape: [1]}
program:
  - {at: warp 0, do: mov, dst: "R.r[0]", a: lane}
  - {at: warp 0, do: st, dst: "B[lane]", src: "R.r[0]", bytes: 4}
)";

inline tmemsim::Kernel load(const char* text) { return tmemsim::load_scenario_text(text, "consumer.yaml", ".").at(0).kernel; }

// The exit code of a consumer: 0 when `check` holds.
inline int report(const std::function<bool()>& check) {
  try {
    if (check()) return 0;
    std::cerr << "the result is wrong\n";
  } catch (const std::exception& error) { std::cerr << error.what() << '\n'; }
  return 1;
}
