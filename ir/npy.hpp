// NumPy's .npy files (format versions 1 to 3): the arrays of scenarios, and what runs save.
//
// The element types are f16 f32 f64 u8 s8 u16 s16 u32 s32 u64. bf16 and narrower floats are stored as the integers that hold
// their bits, one element an integer; tf32 is stored as f32 and an mbarrier as u64 (npy_storage).
// In memory an array is little-endian and in C order, whatever the file's order is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.hpp"
#include "ir/result.hpp"

namespace tmemsim {

inline constexpr std::uint64_t largest_npy_data = std::uint64_t{1} << 30;  // bytes

struct NpyArray {
  Dtype dtype = Dtype::u8;  // one of the types above
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
  bool operator==(const NpyArray&) const = default;
};

// The type whose bits a .npy file holds for elements of `dtype`.
Dtype npy_storage(Dtype dtype);

// Untrusted: the header is bounded, and the data must be exactly as long as the header says and at most largest_npy_data
// before anything is allocated. The Reason says what is wrong and, where the array can be saved differently, how.
Result<NpyArray> read_npy(const std::filesystem::path& path);
Result<NpyArray> parse_npy(std::string_view bytes);

// The file's bytes (format version 1). data: product(shape) elements of `dtype`, C order, little-endian.
std::string npy_bytes(Dtype dtype, std::span<const std::int64_t> shape, std::span<const std::byte> data);
// Whole or not at all (atomic_file.hpp); throws InputError when it cannot be written.
void write_npy(const std::filesystem::path& path, const NpyArray& array);

}  // namespace tmemsim
