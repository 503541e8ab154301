// What a run leaves in a buffer, as an array or as text.
#pragma once

#include <string>

#include "ir/npy.hpp"
#include "ir/program.hpp"
#include "ir/image.hpp"

namespace tmemsim::cli {

// All instances of a buffer: a dimension for the CTAs where there are several (shared, tmem, local), then one for the threads,
// warps or warpgroups that have registers of their own, then the buffer's shape. InputError when it has no place.
NpyArray array_of(const Program& program, const Image& image, BufferId buffer);

// "B[0:2, 0:4] =" and the values, one row of the last dimension a line. Buffers with several instances: the first.
std::string region_text(const Program& program, const Image& image, const std::string& region);

// "B=out.npy": writes the buffer. InputError for what is no such assignment or names no buffer.
struct Save {
  std::string buffer, path;
};
Save parse_save(const std::string& assignment);
void save(const Program& program, const Image& image, const Save& what);

// The global buffers that have an `out` file, below the scenario's folder.
void write_out_files(const Program& program, const Image& image);

}  // namespace tmemsim::cli
