// Conflicts in tensor memory: who may read, write or free which cells after whom.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sim/exec/exec.hpp"

namespace tmemsim::sim {

// A box of slabs: what one half of an ld or st touches. Operations of the tensor core may leave lanes out.
struct SlabBox {
  std::uint32_t slab = 0, slabs = 0;        // of 16 lanes each
  std::uint32_t column = 0, columns = 0;
  std::uint32_t lanes = ~0u;                // of every quadrant that it reaches into: those that are touched
};

struct TmemFootprint {
  std::array<SlabBox, 2> box{};
  std::uint32_t boxes = 1;
};

enum class TmemUse : std::uint8_t { read, write, update };  // update: reads what it then writes

// Compares the access `record` (issued now by the warp) with everything that has touched its cells in the tensor memory of
// `cta` (the warp's own or its peer), reports conflicts and enters it into the shadow.
void check_tmem(Warp& warp, Cta& cta, std::span<const SlabBox> cells, TmemUse use, std::uint32_t record);
inline void check_tmem(Warp& warp, const TmemFootprint& cells, TmemUse use, std::uint32_t record) {
  check_tmem(warp, warp.cta, {cells.box.data(), cells.boxes}, use, record);
}

// Every access to the columns in the tensor memory of `cta` must be complete before the warp frees them: dealloc-live for those
// that its own CTA made, peer-lifecycle for those of the peer.
void check_dealloc(Warp& warp, const Cta& cta, const Allocation& allocation);

// The CTA has just been given columns by the alloc `record` of this warp: earlier accesses to them that nothing orders with it
// are told with it.
void settle_early_accesses(Warp& warp, Cta& cta, std::uint32_t base, std::uint32_t columns, std::uint32_t record);

inline constexpr std::uint32_t no_address = 0x80000000u;  // names no cell: what an alloc that is refused stores
constexpr bool is_no_address(std::uint32_t address) { return (address & ~tcgen05::address_mask) == no_address; }

// What a write with a wrong address was meant for is not known: cells of the CTA's allocations that nobody has written are known
// bad.
void spoil_unwritten(Machine& machine, const Cta& cta);

// Whether all columns belong to a live allocation of the CTA that came before this instruction; reports what is wrong.
bool check_allocated(Warp& warp, Cta& cta, std::span<const SlabBox> cells);
inline bool check_allocated(Warp& warp, const TmemFootprint& cells) {
  return check_allocated(warp, warp.cta, {cells.box.data(), cells.boxes});
}

}  // namespace tmemsim::sim
