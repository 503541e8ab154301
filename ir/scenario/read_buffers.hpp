// The buffers of a scenario.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/buffer.hpp"
#include "ir/scenario/reader.hpp"

namespace tmemsim::scenario {

// What loading has found out about .npy files, so that a sweep reads each of them once for the same buffer type and shape.
using NpyChecks = std::map<std::string, std::optional<std::string>>;

// Fills `buffers`, the vector that the reader's names refer to. `node` may be absent (no buffers).
void read_buffers(Reader& reader, const Node* node, const std::string& folder, std::vector<Buffer>& buffers,
                  NpyChecks& checked);

// The values of `data`: flat, or nested as the shape is.
InitData read_data(const Reader& reader, const Node& node, const std::vector<std::int64_t>& shape, Dtype dtype);
// A value that the type holds.
Number read_element(const Reader& reader, const Node& node, std::string_view what, Dtype dtype);
// The path of a .npy file of the folder.
std::string read_npy_path(const Reader& reader, const Node& node, std::string_view what, const std::string& folder);

}  // namespace tmemsim::scenario
