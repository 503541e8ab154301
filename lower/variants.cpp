#include "lower/variants.hpp"

#include <array>

#include <fmt/format.h>

namespace tmemsim::lower {
namespace {

bool is_memory(Space space) { return space == Space::global || space == Space::shared; }

std::string pair_text(const Request& request) {
  const CopyRegions regions = regions_of(request);
  return fmt::format("{} <- {}", keyword(space_of(request, regions.dst)), keyword(space_of(request, regions.src)));
}

constexpr std::array reg_predicates{Predicate{"spaces", needs_one_local_and_one_memory}, Predicate{"dtypes", needs_equal_dtypes}};
constexpr std::array<std::string_view, 4> reg_plan{"regions", "ownership", "registers", "width"};
constexpr std::array memory_predicates{Predicate{"spaces", needs_two_memories}, Predicate{"dtypes", needs_equal_dtypes}};
constexpr std::array<std::string_view, 3> memory_plan{"regions", "threads", "width"};
constexpr std::array ldst_predicates{Predicate{"spaces", needs_tmem_and_local}, Predicate{"dtypes", needs_equal_dtypes},
                                     Predicate{"whole warps", needs_whole_warps}};
constexpr std::array<std::string_view, 6> ldst_plan{"regions", "ownership", "registers", "quadrant", "row pattern", "cover"};
constexpr std::array ldmatrix_predicates{Predicate{"spaces", needs_shared_to_local}, Predicate{"dtypes", needs_equal_dtypes},
                                         Predicate{"whole warps", needs_whole_warps}};
constexpr std::array stmatrix_predicates{Predicate{"spaces", needs_local_to_shared}, Predicate{"dtypes", needs_equal_dtypes},
                                         Predicate{"whole warps", needs_whole_warps}};
constexpr std::array<std::string_view, 4> matrix_plan{"regions", "ownership", "matrices", "alignment"};
constexpr std::array gemm_predicates{Predicate{"spaces", needs_local_matrices}, Predicate{"whole warps", needs_whole_warps}};
constexpr std::array<std::string_view, 3> gemm_plan{"regions", "ownership", "fragments"};
constexpr std::array fill_local_predicates{Predicate{"spaces", needs_local_destination}};
constexpr std::array fill_memory_predicates{Predicate{"spaces", needs_memory_destination}};

constexpr std::array all_variants{
    Variant{"reg", "copy", 20, "Each thread copies the elements that the register layout gives it, with the widest proved accesses.",
            reg_predicates, reg_plan, plan_copy_reg},
    Variant{"gmem_smem", "copy", 10, "The threads share the elements of two memories evenly and move them through scratch registers.",
            memory_predicates, memory_plan, plan_copy_gmem_smem},
    Variant{"ldmatrix", "copy", 5, "Warps load fragments by ldmatrix, four 8x8 matrices an instruction where the layout has them (asked for by name).",
            ldmatrix_predicates, matrix_plan, plan_copy_ldmatrix},
    Variant{"stmatrix", "copy", 4, "Warps store fragments by stmatrix (asked for by name).", stmatrix_predicates, matrix_plan, plan_copy_stmatrix},
    Variant{"mma_sync", "gemm", 10, "Warps multiply fragments by mma.sync, with the largest K that the layouts fit.", gemm_predicates, gemm_plan,
            plan_gemm_mma_sync},
    Variant{"tcgen05_ldst", "copy_async", 10, "Warps move tensor memory with the fewest tcgen05.ld or .st that both layouts allow.",
            ldst_predicates, ldst_plan, plan_tcgen05_ldst},
    Variant{"fill_local", "fill", 20, "Each thread sets the registers that the layout gives it.", fill_local_predicates, reg_plan, plan_fill_local},
    Variant{"fill_memory", "fill", 10, "The threads share the elements of a memory evenly and store the value.", fill_memory_predicates,
            memory_plan, plan_fill_memory},
};

}  // namespace

std::span<const Variant> registry() { return all_variants; }

CopyRegions regions_of(const Request& request) {
  if (const auto* copy = std::get_if<Copy>(&request.primitive())) return {copy->dst, copy->src};
  const auto& copy = std::get<CopyAsync>(request.primitive());
  return {copy.dst, copy.src};
}

Space space_of(const Request& request, const Region& region) { return request.kernel.buffers[region.buffer].space; }

std::optional<std::string> needs_one_local_and_one_memory(const Request& request) {
  const CopyRegions regions = regions_of(request);
  const Space dst = space_of(request, regions.dst), src = space_of(request, regions.src);
  if ((dst == Space::local && is_memory(src)) || (src == Space::local && is_memory(dst))) return std::nullopt;
  return fmt::format("one side is local and the other shared or global; this is {}", pair_text(request));
}

std::optional<std::string> needs_two_memories(const Request& request) {
  const CopyRegions regions = regions_of(request);
  if (is_memory(space_of(request, regions.dst)) && is_memory(space_of(request, regions.src))) return std::nullopt;
  return fmt::format("both sides are shared or global; this is {}", pair_text(request));
}

std::optional<std::string> needs_shared_to_local(const Request& request) {
  const CopyRegions regions = regions_of(request);
  if (space_of(request, regions.dst) == Space::local && space_of(request, regions.src) == Space::shared) return std::nullopt;
  return fmt::format("ldmatrix loads local from shared; this is {}", pair_text(request));
}

std::optional<std::string> needs_local_to_shared(const Request& request) {
  const CopyRegions regions = regions_of(request);
  if (space_of(request, regions.dst) == Space::shared && space_of(request, regions.src) == Space::local) return std::nullopt;
  return fmt::format("stmatrix stores local to shared; this is {}", pair_text(request));
}

std::optional<std::string> needs_local_matrices(const Request& request) {
  const auto& gemm = std::get<Gemm>(request.primitive());
  for (const Region* region : {&gemm.dst, &gemm.a, &gemm.b}) {
    if (space_of(request, *region) == Space::local) continue;
    return fmt::format("d, a and b are local; {} is {}", request.kernel.buffers[region->buffer].name, keyword(space_of(request, *region)));
  }
  return std::nullopt;
}

std::optional<std::string> needs_tmem_and_local(const Request& request) {
  const CopyRegions regions = regions_of(request);
  const Space dst = space_of(request, regions.dst), src = space_of(request, regions.src);
  if ((dst == Space::tmem && src == Space::local) || (dst == Space::local && src == Space::tmem)) return std::nullopt;
  return fmt::format("one side is tmem and the other local; this is {}", pair_text(request));
}

std::optional<std::string> needs_equal_dtypes(const Request& request) {
  const CopyRegions regions = regions_of(request);
  const Dtype dst = request.kernel.buffers[regions.dst.buffer].dtype, src = request.kernel.buffers[regions.src.buffer].dtype;
  if (dst == src) return std::nullopt;
  return fmt::format("a copy converts nothing, but the destination is {} and the source {}", name(dst), name(src));
}

std::optional<std::string> needs_whole_warps(const Request& request) {
  if (request.threads.whole_warps()) return std::nullopt;
  return fmt::format("the instruction is executed by all 32 lanes of a warp; this runs on {}", describe(request.threads));
}

namespace {

Space fill_space(const Request& request) { return space_of(request, std::get<Fill>(request.primitive()).dst); }

}  // namespace

std::optional<std::string> needs_local_destination(const Request& request) {
  if (fill_space(request) == Space::local) return std::nullopt;
  return fmt::format("the destination is local; this is {}", keyword(fill_space(request)));
}

std::optional<std::string> needs_memory_destination(const Request& request) {
  if (is_memory(fill_space(request))) return std::nullopt;
  if (fill_space(request) == Space::tmem) {
    return std::string("the destination is shared or global; tensor memory is written asynchronously, and a fill is complete at once");
  }
  return fmt::format("the destination is shared or global; this is {}", keyword(fill_space(request)));
}

std::string nearest_by_spaces(const Request& request) {
  if (std::holds_alternative<Fill>(request.primitive())) {
    if (fill_space(request) != Space::tmem) return {};
    return "fill a local buffer, copy_async it to tensor memory, then tcgen05.wait.st";
  }
  if (std::holds_alternative<Gemm>(request.primitive())) return "copy a and b to local buffers first, with the fragments of mma.sync as layouts";
  const CopyRegions regions = regions_of(request);
  const Space dst = space_of(request, regions.dst), src = space_of(request, regions.src);
  const bool is_copy = std::holds_alternative<Copy>(request.primitive());
  const bool tmem = dst == Space::tmem || src == Space::tmem, local = dst == Space::local || src == Space::local;
  if (tmem && local) return is_copy ? "copy_async, followed by tcgen05.wait.ld or .st: tensor memory is moved asynchronously" : "";
  if (tmem) return "through registers: a local buffer, copy on one side and copy_async on the other";
  if (!is_copy) return "copy: shared and global memory are copied synchronously";
  if (dst == Space::local && src == Space::local) return "mov, register by register: no variant copies registers to registers";
  if (!needs_equal_dtypes(request)) return {};
  return "buffers of the same dtype";
}

}  // namespace tmemsim::lower
