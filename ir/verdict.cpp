#include "ir/verdict.hpp"

namespace tmemsim {
namespace {

constexpr Severity E = Severity::error, W = Severity::warning, N = Severity::note;

constexpr std::array<VerdictFacts, verdict_count> table{{
    {Verdict::target, "target", "instruction not available", "The architecture or PTX version of the scenario lacks this instruction or modifier.",
     "Choose a target that has it, or another instruction.", "9.7.16", E, E, {}},
    {Verdict::alloc_size, "alloc-size", "illegal number of columns", "tcgen05.alloc takes 32, 64, 128, 256 or 512 columns.",
     "Round the request up to the next of these sizes.", "9.7.16.7.1", E, E, {}},
    {Verdict::alloc_capacity, "alloc-capacity", "more columns than exist",
     "An SM has 512 columns; a plan or a CTA's own live allocations must leave room for the request.",
     "Free columns before the request, or pack the buffers into fewer columns.", "9.7.16.7.1", E, E, {}},
    {Verdict::alloc_order, "alloc-order", "request grows", "Within a CTA no allocation may be larger than an earlier one, freed or not.",
     "Allocate the largest piece first.", "9.7.16.7.1", E, W, Switch::alloc_growth},
    {Verdict::alloc_blocked, "alloc-blocked", "allocation that is never granted",
     "alloc waits for free columns; nobody who holds them can still return them.",
     "Free the columns before waiting for others, or ask for fewer.", "9.7.16.7.1", E, E, {}},
    {Verdict::alloc_permit, "alloc-permit", "allocation without the permit",
     "After relinquish_alloc_permit no thread of the CTA may allocate again.", "Relinquish after the last alloc.", "9.7.16.7.1", E, E, {}},
    {Verdict::permit_held, "permit-held", "permit kept from a neighbour",
     "A CTA that will not allocate again should relinquish its permit so that a neighbour on the SM is not held up.",
     "Execute relinquish_alloc_permit after the last alloc.", "9.7.16.7.1", W, N, Switch::permit_held},
    {Verdict::alloc_leak, "alloc-leak", "exit while holding columns", "Every allocation must be returned before the kernel ends.",
     "Dealloc it, with the same number of columns, before exit.", "9.7.16.1.2", E, E, {}},
    {Verdict::dealloc_mismatch, "dealloc-mismatch", "dealloc names no allocation",
     "dealloc takes the base of a live allocation of this CTA, lane 0, and exactly its number of columns.",
     "Pass the address that alloc stored and the same column count, once.", "9.7.16.7.1", E, E, {}},
    {Verdict::dealloc_live, "dealloc-live", "columns freed under an access",
     "Every access to the columns must be complete, and known to be, before dealloc or the CTA's exit.",
     "Wait for the access (wait::ld, wait::st or a commit's barrier) in its own warp, then join the warps with a barrier before dealloc.",
     "9.7.16.5", E, E, {}},
    {Verdict::unallocated_access, "unallocated-access", "access outside live columns",
     "Every column of an access must belong to a live allocation of the CTA.", "Allocate enough columns, and access them before dealloc.",
     "9.7.16.1.2", E, E, {}},
    {Verdict::cta_group_mismatch, "cta-group-mismatch", "mixed cta_group",
     "All tcgen05 instructions of a kernel that carry .cta_group must use the same value.", "Use one cta_group throughout.", "9.7.16.4", E, E, {}},
    {Verdict::peer_lifecycle, "peer-lifecycle", "pair rule broken",
     "With cta_group::2 the peer CTA must have started, allocated, finished its accesses and not exited, as the operation needs.",
     "Put a cluster barrier (arrive and wait in both CTAs) between the two.", "9.7.16.5", E, E, {}},
    {Verdict::taddr_bits, "taddr-bits", "malformed TMEM address", "A TMEM address has its lane in bits 22:16 and its column in bits 8:0; all other bits are zero.",
     "Keep the column below 512 and the lane below 128.", "9.7.16.1", E, E, {}},
    {Verdict::out_of_bounds, "out-of-bounds", "footprint leaves the memory", "All cells or bytes of an access must lie inside the memory, buffer or window.",
     "Shorten the access or move its start.", "9.7.16.1", E, E, {}},
    {Verdict::lane_window, "lane-window", "wrong quadrant", "Warp w reaches TMEM lanes 32*(w%4) to 32*(w%4)+31 only.",
     "Let the warp of that quadrant make the access, or put the warp's own quadrant into the address.", "9.7.16.8.1", E, E, Switch::quadrant_bits},
    {Verdict::misaligned, "misaligned", "alignment rule broken", "The address must be aligned as the instruction demands.",
     "Align the address; 16-lane shapes start at lane 0 or 16 of a quadrant.", "9.7.16.2", E, E, {}},
    {Verdict::descriptor, "descriptor", "illegal or inconsistent operands", "The shape, type or descriptor fields are not a legal combination.",
     "Use a combination that the instruction's table lists.", "9.7.16.4", E, E, {}},
    {Verdict::layout_mismatch, "layout-mismatch", "right accesses, wrong places",
     "A value reaches another lane, column, half or register than the declared layout says.",
     "Make the instruction's data path agree with the layout of the buffer.", "9.7.16.2", E, E, {}},
    {Verdict::participation, "participation", "wrong set of threads",
     "A .sync.aligned instruction needs all 32 threads of the warp, converged, with equal operands, and none exited.",
     "Let the whole warp execute it, without a lane guard.", "9.7.16.8.1", E, E, {}},
    {Verdict::read_before_wait, "read-before-wait", "register used before its load is complete",
     "The destination registers of tcgen05.ld are valid after tcgen05.wait::ld.", "Execute tcgen05.wait::ld before the use.", "9.7.16.6.4.5", E, N,
     Switch::reg_before_wait},
    {Verdict::war_ld, "war-ld", "cells of a load overwritten", "Cells that a tcgen05.ld reads must not change before it is complete.",
     "Execute tcgen05.wait::ld, and hand the cells over by a barrier, before the overwrite.", "9.7.16.6.4.4", E, E, {}},
    {Verdict::raw_st, "raw-st", "store not complete when its cells are read", "Cells that a tcgen05.st writes may be read after it is complete.",
     "Execute tcgen05.wait::st, and hand the cells over by a barrier, before the read.", "9.7.16.6.4.4", E, E, {}},
    {Verdict::raw_mma, "raw-mma", "tensor result read too early", "Results of mma, cp and shift may be read after a commit of the issuing thread has been waited for.",
     "Commit to an mbarrier after the operation and wait for that phase before the read.", "9.7.16.6.2.1.1", E, E, {}},
    {Verdict::war_mma, "war-mma", "operand overwritten while in use", "Operands of mma and cp must not change before the operation is complete.",
     "Wait for a commit that follows the operation before overwriting its operands.", "9.7.16.6", E, E, {}},
    {Verdict::waw_async, "waw-async", "two writers without order", "Two asynchronous writes of one cell need completion of the first before the second.",
     "Wait for the first write before issuing the second.", "9.7.16.6", E, E, {}},
    {Verdict::alias_race, "alias-race", "two views of one storage", "Accesses through different buffers to the same storage need an order between them.",
     "Put a barrier between the two uses, or place the buffers apart.", "9.7.16.6", E, E, {}},
    {Verdict::missing_fence, "missing-fence", "order exists, fence does not",
     "Over a relaxed or plain synchronisation edge tcgen05 operations need fence::before_thread_sync in front and fence::after_thread_sync behind.",
     "Add the missing fence, or use release and acquire forms.", "9.7.16.6.3", E, E, {}},
    {Verdict::uninit_read, "uninit-read", "never-written storage read", "Storage has no defined value before it is written; TMEM is not zeroed by alloc. Under every profile an error where an mma uses the value or where "
     "it reaches global memory.",
     "Write it first.", "9.7.16.1.2", E, W, {}},
    {Verdict::addr_publish, "addr-publish", "base address read without order",
     "alloc stores the base address with a weak write; another warp must synchronise with it before reading.",
     "Put a CTA barrier between alloc and the first use of the address.", "9.7.16.7.1", E, E, {}},
    {Verdict::smem_race, "smem-race", "shared bytes without order", "Two accesses to a shared byte, one of them a write, need an order.",
     "Put a barrier between them.", "8.7.1", E, E, {}},
    {Verdict::global_race, "global-race", "global bytes without order", "Two accesses to a global byte, one of them a write, need an order.",
     "Synchronise the two threads between the accesses.", "8.7.1", E, E, {}},
    {Verdict::proxy_fence, "proxy-fence", "ordered, but across proxies",
     "A generic write needs fence.proxy.async before an asynchronous-proxy access that follows it.",
     "Execute fence.proxy.async in the writer before it signals.", "9.7.16.6.5", E, E, {}},
    {Verdict::mbar_uninit, "mbar-uninit", "operation on something that is no barrier",
     "An mbarrier must be initialised, visibly, before any other operation, and must not be accessed as data.",
     "Initialise it once and synchronise before its first use.", "9.7.13.15", E, E, {}},
    {Verdict::mbar_count, "mbar-count", "arrivals do not fit", "The arrivals of a phase must be exactly the expected count, and each phase must be observed before the next one's arrivals.",
     "Make the init count equal to the number of arrivals of a phase.", "9.7.13.15.4", E, E, {}},
    {Verdict::mbar_phase, "mbar-phase", "wait names the wrong phase", "A parity wait can mean the current phase or the one before it, nothing older.",
     "Track the parity per use; a fresh barrier passes a wait for parity 1 at once.", "9.7.13.15.16", E, E, {}},
    {Verdict::mbar_tx, "mbar-tx", "bytes do not fit", "expect_tx and the bytes that arrive must sum to zero in each phase.",
     "Expect exactly the bytes that the copies of the phase deliver.", "9.7.13.15", E, E, {}},
    {Verdict::mbar_target, "mbar-target", "signal goes to the wrong place", "Masks and barrier addresses must name CTAs of the cluster and of the issuing pair.",
     "Compute the mask from the pair's ranks.", "9.7.16.7", E, E, {}},
    {Verdict::deadlock, "deadlock", "nobody can go on", "Some thread waits for something that no thread or operation can still do.",
     "Make every barrier reachable by all its threads.", "tool", E, E, {}},
    {Verdict::step_limit, "step-limit", "ran too long", "The program executed more instructions than the limit allows.",
     "End the loop, or raise --max-steps.", "tool", E, E, {}},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (static_cast<std::size_t>(table[i].verdict) != i) return false;
  return true;
}
static_assert(in_order(), "verdict_table must follow the order of enum Verdict");

}  // namespace

const std::array<VerdictFacts, verdict_count>& verdict_table() { return table; }
const VerdictFacts& facts(Verdict verdict) { return table[static_cast<std::size_t>(verdict)]; }
std::string_view id(Verdict verdict) { return facts(verdict).id; }

std::optional<Verdict> verdict_named(std::string_view wanted) {
  for (const VerdictFacts& row : table)
    if (row.id == wanted) return row.verdict;
  return std::nullopt;
}

Severity severity_of(Verdict verdict, const Profile& profile) {
  const VerdictFacts& row = facts(verdict);
  if (verdict == Verdict::lane_window) return Severity::error;  // the switch decides whether it arises, not how bad it is
  if (row.decided_by) return profile.severity(*row.decided_by);
  return profile.is_strict() ? row.strict : row.lenient;
}

}  // namespace tmemsim
