#include "lower/copy_async/refusal.hpp"

#include <fmt/format.h>

namespace tmemsim::lower {

Declined explain_refusal(const Request&, const Operand&, const Operand&, const Unrelated& problem, bool) {
  return Declined{problem.predicate, problem.reason, {}};
}

}  // namespace tmemsim::lower
