// What the printer and the parser of the text form agree on beside the operands.
//
//   kernel NAME                      a name that is no word stands in quotes
//   doc "..."
//   target sm_100a
//   ptx 9.0
//   launch warps=4 cluster=[1, 1, 1] grid=[1, 1, 1] ctas_per_sm=1 held_columns=0
//   buffer acc: tmem f16 [128, 8] layout="S[...]" slot=slot column=0     also base=, offset=, init=, out=
//   program {
//     store: @warpgroup 0  copy_async dst=acc src=A_frag                 label and threads may be missing
//     copy dst=A_frag src=A by reg { ... }                               a lowered primitive and its instructions
//     @warp 0  tcgen05.ld shape=32x32b num=8 dst=R.r[0:8] src=acc means(R_frag <- acc)
//     for i in [0, 4, 1] { ... }   while word(flag, 0) == 0 { ... }   if tid < 3 { ... } else { ... }   delay 5
//   }
//
// Initial values: fill(v) iota(start, step) random(seed, low, high) random_bits(seed) data(v, ...) npy("path").
// A comment runs from # to the end of the line.
#pragma once

#include <cstddef>
#include <string_view>

namespace tmemsim::text_form {

inline constexpr std::size_t longest_text = std::size_t{1} << 24;
inline constexpr std::size_t most_statements = std::size_t{1} << 18;
inline constexpr std::size_t most_buffers = 1024;
inline constexpr std::size_t most_dimensions = 16;
inline constexpr std::size_t most_list_items = 64;
inline constexpr int deepest_body = 64;

constexpr bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}
constexpr bool in_operation_name(char c) { return in_word(c) || c == ':'; }
bool is_word(std::string_view text);

}  // namespace tmemsim::text_form
