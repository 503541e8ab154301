// The words of scenarios: keywords of operations and of everything around them, as folds over the tables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tmemsim::scenario {

// Keywords of dtypes, spaces, targets and of every enum field of an operation, and true and false.
bool is_keyword(std::string_view word);

// Names that `do` accepts: every operation with '.' for '::', and the short name barrier.
const std::vector<std::string_view>& operation_names();

// "tcgen05.wait::st" -> "tcgen05.wait.st".
std::string dotted(std::string_view name);

struct Alias {
  std::string_view name, means;
};
inline constexpr Alias operation_aliases[] = {{"barrier", "barrier.sync"}};

}  // namespace tmemsim::scenario
