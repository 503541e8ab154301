#include "report/public_reports.hpp"

#include <array>

#include <fmt/format.h>

namespace tmemsim::report {
namespace {

using Status = PublicReport::Status;

constexpr PublicReport table[]{
    {"cutlass-3435", "https://github.com/NVIDIA/cutlass/issues/3435", Status::open, Verdict::peer_lifecycle,
     "One CTA of a pair frees the columns before its late peer has allocated them.", ""},
    {"cutlass-3316", "https://github.com/NVIDIA/cutlass/pull/3316", Status::suspected, Verdict::peer_lifecycle,
     "The pair allocates at kernel entry; nothing says that the peer has been launched.", ""},
    {"triton-10735", "https://github.com/triton-lang/triton/pull/10735", Status::confirmed, Verdict::peer_lifecycle,
     "The compiler emits the paired allocation without a cluster barrier before it.", ""},
    {"fbtriton-1444", "https://github.com/facebookexperimental/triton/pull/1444", Status::confirmed, Verdict::peer_lifecycle,
     "Neither the allocation nor the release of the pair is joined with the peer.", ""},
    {"fbtriton-652", "https://github.com/facebookexperimental/triton/pull/652", Status::confirmed, Verdict::mbar_uninit,
     "CTA 1 arrives on the barrier of CTA 0, which may not be initialised yet.", ""},
    {"deepgemm-292", "https://github.com/deepseek-ai/DeepGEMM/pull/292", Status::confirmed, Verdict::dealloc_live,
     "The last epilogue warp frees the accumulator; the loads of the other three may still run.", ""},
    {"cutlass-2230", "https://github.com/NVIDIA/cutlass/issues/2230", Status::confirmed, Verdict::unallocated_access,
     "The accumulator stands at an invented address; the CTA owns no columns.", ""},
    {"cutlass-2835", "https://github.com/NVIDIA/cutlass/pull/2835", Status::suspected, Verdict::addr_publish,
     "With zero tiles the barrier that publishes the base address is never waited for.", ""},
    {"fbtriton-1449", "https://github.com/facebookexperimental/triton/pull/1449", Status::confirmed, Verdict::alias_race,
     "The word that receives the base address lies inside the tile that a bulk copy fills.", ""},
    {"tilelang-2831-capacity", "https://github.com/tile-ai/tilelang/pull/2831", Status::confirmed, Verdict::alloc_capacity,
     "Each buffer became its own power of two: 512 and 32 columns are asked for at once.", ""},
    {"tilelang-2831-order", "https://github.com/tile-ai/tilelang/pull/2831", Status::confirmed, Verdict::alloc_order,
     "The narrow allocation comes first.", ""},
    {"xla-40118", "https://github.com/openxla/xla/pull/40118", Status::open, Verdict::alloc_capacity,
     "A plan of 640 columns: the second buffer starts where the tensor memory ends.", ""},
    {"fuser-3795", "https://github.com/NVIDIA/Fuser/pull/3795", Status::confirmed, Verdict::permit_held,
     "Two CTAs share an SM; the permit is never given back.", ""},
    {"flashinfer-5302", "https://github.com/flashinfer-ai/flashinfer/pull/5302", Status::suspected, {},
     "Warp 0 allocates, warp 1 frees: any single warp of the CTA may.", ""},
    {"vllm-fa-182", "https://github.com/vllm-project/flash-attention/pull/182", Status::confirmed, Verdict::war_ld,
     "The epilogue releases the accumulator while its load may still read it.", ""},
    {"flashinfer-5334", "https://github.com/flashinfer-ai/flashinfer/issues/5334", Status::open, Verdict::war_ld,
     "One stage of tensor memory; the consumer signals while its load is in flight.", ""},
    {"cutlass-3653", "https://github.com/NVIDIA/cutlass/pull/3653", Status::suspected, Verdict::raw_st,
     "Row statistics are stored and signalled without wait::st.", ""},
    {"cutlass-2525", "https://github.com/NVIDIA/cutlass/issues/2525", Status::question, Verdict::read_before_wait,
     "A loaded register is used without wait::ld: the register dependence holds, but nothing says that the cells are free.", ""},
    {"cutlass-2974", "https://github.com/NVIDIA/cutlass/issues/2974", Status::question, Verdict::missing_fence,
     "The wait for the commit is relaxed and no fence follows it.", ""},
    {"cutlass-2626", "https://github.com/NVIDIA/cutlass/issues/2626", Status::open, Verdict::mbar_phase,
     "The barrier completes two phases while a waiter may still be on the first.", ""},
    {"cutlass-3654", "https://github.com/NVIDIA/cutlass/pull/3654", Status::suspected, Verdict::mbar_phase,
     "All lanes wait for the empty barrier, one of them so late that the phase has moved on.", ""},
    {"tilelang-2644-expect-tx", "https://github.com/tile-ai/tilelang/issues/2644", Status::suspected, Verdict::mbar_tx,
     "The expected bytes are multiplied by the cluster size; two loads bring half of them.", ""},
    {"tilelang-2644-masks", "https://github.com/tile-ai/tilelang/issues/2644", Status::suspected, Verdict::layout_mismatch,
     "A mask of four words for an instruction of the pair, which takes eight.", ""},
    {"tilelang-2644-C13", "https://github.com/tile-ai/tilelang/issues/2644", Status::suspected, Verdict::layout_mismatch,
     "", "block-scaled operands and descriptors"},
    {"tilelang-2644-C14", "https://github.com/tile-ai/tilelang/issues/2644", Status::suspected, Verdict::layout_mismatch,
     "", "block-scaled operands"},
    {"jax-40279", "https://github.com/jax-ml/jax/pull/40279", Status::confirmed, Verdict::mbar_target,
     "The pair of ranks 2 and 3 commits with a mask that names ranks 0 and 1.", ""},
    {"cutlass-3658", "https://github.com/NVIDIA/cutlass/issues/3658", Status::open, Verdict::mbar_target,
     "The mask has a bit for a CTA that does not exist.", ""},
    {"triton-10196", "https://github.com/triton-lang/triton/pull/10196", Status::confirmed, Verdict::mbar_count,
     "Two commits arrive on a barrier that expects one.", ""},
    {"tilelang-1866", "https://github.com/tile-ai/tilelang/pull/1866", Status::confirmed, Verdict::layout_mismatch,
     "The store unpacks A to one value a column; the tensor core expects two values a column.", ""},
    {"tilelang-2880-pack", "https://github.com/tile-ai/tilelang/pull/2880", Status::confirmed, Verdict::layout_mismatch,
     "The fragment steps by one value where the instruction steps by a column of two: K comes out as 0, 2, 1, 3.", ""},
    {"tvm-20068", "https://github.com/apache/tvm/pull/20068", Status::confirmed, Verdict::layout_mismatch,
     "The upper half of each quadrant is meant; the address names the lower one.", ""},
    {"tvm-20075", "https://github.com/apache/tvm/pull/20075", Status::confirmed, Verdict::layout_mismatch,
     "A tile of layout B is read as 64 lanes and all columns; its right half stands in lanes 64 to 127.", ""},
    {"fbtriton-1238", "https://github.com/facebookexperimental/triton/pull/1238", Status::confirmed, Verdict::descriptor,
     "The second half of .16x32bx2 starts at the first one: both load the same column.", ""},
    {"tilus-51", "https://github.com/NVIDIA/tilus/pull/51", Status::confirmed, Verdict::descriptor,
     "", "descriptor words"},
    {"cutlass-2968", "https://github.com/NVIDIA/cutlass/issues/2968", Status::question, Verdict::descriptor,
     "", "descriptor words"},
    {"thunderkittens-177", "https://github.com/HazyResearch/ThunderKittens/pull/177", Status::confirmed, Verdict::descriptor,
     "A in tensor memory cannot be read transposed.", ""},
    {"triton-6011", "https://github.com/triton-lang/triton/pull/6011", Status::confirmed, {},
     "A product with A in tensor memory.", ""},
    {"triton-9852", "https://github.com/triton-lang/triton/pull/9852", Status::open, Verdict::target,
     "tcgen05 on consumer Blackwell, which has no tensor memory.", ""},
    {"llvm-156613", "https://github.com/llvm/llvm-project/pull/156613", Status::confirmed, {},
     "The fences exist on sm_103a as the loads do.", ""},
    {"own-tilelang-dealloc",
     "https://github.com/tile-ai/tilelang/blob/cd37ed5fc35ae7a60a1277c8eb49028174ac51e6/src/cuda/transform/lower_shared_tmem.cc", Status::hypothesis, Verdict::dealloc_live,
     "Warp 0 frees the columns right after its own load; nothing joins the warps.", ""},
};

std::string shown(const PublicReport& report) {
  if (report.shows.empty()) return fmt::format("not expressible yet: needs {}", report.needs);
  return fmt::format("[{}](../scenarios/bugs/{}.yaml)", report.shows, report.id);
}

}  // namespace

std::span<const PublicReport> public_reports() { return table; }

std::string_view name(PublicReport::Status status) {
  constexpr std::array<std::string_view, 5> names{"confirmed", "open", "suspected", "question", "hypothesis"};
  return names[static_cast<std::size_t>(status)];
}

std::string public_reports_markdown() {
  std::string text = "| report | status | verdict | what the scenario shows |\n|---|---|---|---|\n";
  for (const PublicReport& report : table)
    text += fmt::format("| [{}]({}) | {} | {} | {} |\n", report.id, report.url, name(report.status),
                        report.verdict ? fmt::format("`{}`", id(*report.verdict)) : "none", shown(report));
  return text;
}

}  // namespace tmemsim::report
