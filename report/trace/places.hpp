// Where the TMEM buffers of a kernel lie while its trace is read: each alloc leaves a base address in a slot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/kernel/kernel.hpp"
#include "sim/placement.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::report {

class TmemPlaces {
 public:
  explicit TmemPlaces(const Kernel& kernel) : kernel_(&kernel), ctas_(sim::place_ctas(kernel.launch)) {}
  void follow(const sim::Event& event);

  // The base column of a TMEM buffer in a CTA; nothing before its alloc. A dealloc does not change it.
  std::optional<std::int64_t> base(BufferId buffer, std::uint32_t cta) const;
  // First and last physical column of the buffer in a CTA.
  std::optional<std::pair<std::int64_t, std::int64_t>> columns(BufferId buffer, std::uint32_t cta) const;
  // Whether columns of the SM meet those of the buffer, in any CTA that runs there.
  bool meets(BufferId buffer, std::uint32_t sm, std::int64_t first, std::int64_t last) const;
  const std::vector<sim::CtaPlace>& ctas() const { return ctas_; }

 private:
  const Kernel* kernel_;
  std::vector<sim::CtaPlace> ctas_;
  std::map<std::uint32_t, std::int64_t> granted_;                           // by CTA: base of its last allocation
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> in_slot_;  // by CTA and byte of the window
};

}  // namespace tmemsim::report
