// The parts of verify(): buffers, and the operands of one statement.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::verifier {

// Bounds of what a simulation takes on. They keep memory and time of any input within reason.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 28;         // of one buffer
inline constexpr std::int64_t most_global_bytes = std::int64_t{1} << 29;     // of all global buffers
inline constexpr std::int64_t shared_window = 227 * 1024;                    // bytes of one CTA
inline constexpr std::int64_t shared_alignment = 1024;
inline constexpr std::int64_t most_ctas = 1024;                              // of the grid
inline constexpr std::int64_t most_threads = 65536;                          // of the grid
inline constexpr std::int64_t most_register_rows_in_all = std::int64_t{1} << 22;  // rows of 32 registers, of all warps
inline constexpr std::int64_t farthest_column = 65535;                       // past 511 is a finding, past this is nonsense
inline constexpr std::uint32_t longest_delay = 1'000'000;

// Names, shapes, layouts and where buffers stand.
void check_buffers(const Kernel& kernel);

// Gives every shared buffer without an offset the next free multiple of 1024 behind the one before it.
void place_shared(Kernel& kernel);

// One statement's own operands; bodies are left out. `loops` are the loop variables around it.
void check_operands(const Kernel& kernel, const Stmt& stmt, const std::vector<std::string>& loops);

}  // namespace tmemsim::verifier
