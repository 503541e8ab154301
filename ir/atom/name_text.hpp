// The notation of FlyDSL's atom types: family<MxNxK, (A, B) -> C, key = value, word>.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.hpp"

namespace tmemsim::atom {

struct NameParts {
  std::string family;                                       // without !fly_rocdl.
  std::optional<std::array<std::int64_t, 3>> shape;         // MxNxK
  std::vector<std::string> types;                           // A, B, C
  std::vector<std::string> words;                           // what stands alone: 32, op, f32, opselA
  std::map<std::string, std::vector<std::string>> options;  // key = value, and the bare numbers that follow it

  std::string word(std::size_t k) const { return k < words.size() ? words[k] : std::string(); }
  bool is_true(const std::string& key) const;
  // Reason when the value is no integer or lies outside [low, high]; `missing` when the key is not there.
  Result<std::int64_t> integer(const std::string& key, std::int64_t missing, std::int64_t low, std::int64_t high,
                               std::size_t k = 0) const;
};

// Nothing when the text has no family<...> form.
std::optional<NameParts> name_parts(std::string_view text);
std::optional<std::int64_t> to_integer(std::string_view text);

}  // namespace tmemsim::atom
