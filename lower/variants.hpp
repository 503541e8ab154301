// The variants, each in its own file, and the predicates that several of them share.
#pragma once

#include <optional>
#include <string>

#include "lower/dispatch.hpp"

namespace tmemsim::lower {

Outcome plan_copy_reg(const Request& request);
Outcome plan_copy_gmem_smem(const Request& request);
Outcome plan_tcgen05_ldst(const Request& request);
Outcome plan_copy_ldmatrix(const Request& request);
Outcome plan_copy_stmatrix(const Request& request);
Outcome plan_gemm_mma_sync(const Request& request);
Outcome plan_fill_local(const Request& request);
Outcome plan_fill_memory(const Request& request);

// Destination and source of a copy or copy_async.
struct CopyRegions {
  const Region& dst;
  const Region& src;
};
CopyRegions regions_of(const Request& request);
Space space_of(const Request& request, const Region& region);

// Predicates of copies: nothing, or why not.
std::optional<std::string> needs_one_local_and_one_memory(const Request& request);
std::optional<std::string> needs_two_memories(const Request& request);
std::optional<std::string> needs_tmem_and_local(const Request& request);
std::optional<std::string> needs_equal_dtypes(const Request& request);
std::optional<std::string> needs_whole_warps(const Request& request);
std::optional<std::string> needs_shared_to_local(const Request& request);
std::optional<std::string> needs_local_to_shared(const Request& request);
std::optional<std::string> needs_local_matrices(const Request& request);
std::optional<std::string> needs_local_destination(const Request& request);
std::optional<std::string> needs_memory_destination(const Request& request);

// What would work for a primitive between these spaces; "" when the spaces are not the problem.
std::string nearest_by_spaces(const Request& request);

}  // namespace tmemsim::lower
