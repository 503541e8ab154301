#include "report/trace/places.hpp"

namespace tmemsim::report {

void TmemPlaces::follow(const sim::Event& event) {
  for (const sim::AllocationChange& change : event.allocations)
    if (change.live) granted_[change.cta] = change.base;
  if (event.ref.op != TcgenAlloc::row.name || event.kind != sim::Event::Kind::execute) return;
  const auto granted = granted_.find(event.ref.cta);  // of a pair, the peer's event may have granted it
  if (granted == granted_.end()) return;
  for (const sim::Extent& extent : event.writes)
    if (extent.space == sim::Extent::Space::shared) in_slot_[{extent.place, extent.first}] = granted->second;
}

std::optional<std::int64_t> TmemPlaces::base(BufferId buffer, std::uint32_t cta) const {
  const Buffer& of = kernel_->buffers[buffer];
  if (of.base) return of.base;
  if (!of.slot) return std::nullopt;
  const auto found = in_slot_.find({cta, kernel_->buffers[*of.slot].offset.value_or(0)});
  return found == in_slot_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::pair<std::int64_t, std::int64_t>> TmemPlaces::columns(BufferId buffer, std::uint32_t cta) const {
  const auto from = base(buffer, cta);
  if (!from) return std::nullopt;
  const Buffer& of = kernel_->buffers[buffer];
  return std::pair(*from + of.column, *from + of.column + tmem_columns(of) - 1);
}

bool TmemPlaces::meets(BufferId buffer, std::uint32_t sm, std::int64_t first, std::int64_t last) const {
  for (std::uint32_t cta = 0; cta < ctas_.size(); ++cta) {
    if (ctas_[cta].sm != sm) continue;
    const auto own = columns(buffer, cta);
    if (own && first <= own->second && own->first <= last) return true;
  }
  return false;
}

}  // namespace tmemsim::report
