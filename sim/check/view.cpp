#include "sim/check/view.hpp"

#include <algorithm>

namespace tmemsim::sim {
namespace {

void raise_to(std::vector<std::uint32_t>& counts, std::size_t index, std::uint32_t count) {
  if (counts.size() <= index) counts.resize(index + 1, 0);
  counts[index] = std::max(counts[index], count);
}

}  // namespace

const View::Block* View::block(std::uint32_t cta) const {
  for (const Block& one : blocks_)
    if (one.cta == cta) return &one;
  return nullptr;
}

View::Block& View::block_for(std::uint32_t cta) {
  auto at = std::lower_bound(blocks_.begin(), blocks_.end(), cta, [](const Block& b, std::uint32_t c) { return b.cta < c; });
  if (at == blocks_.end() || at->cta != cta) at = blocks_.insert(at, Block{cta, {}, {}});
  return *at;
}

std::uint32_t View::count(std::uint32_t cta, std::uint32_t agent) const {
  const Block* known = block(cta);
  return known && agent < known->counts.size() ? known->counts[agent] : 0;
}

std::uint32_t View::order(std::uint32_t cta, std::uint32_t warp, std::uint32_t lane) const {
  const Block* known = block(cta);
  if (!known) return 0;
  const std::uint32_t agent = agent_of(warp, WarpAgent::order);
  std::uint32_t count = agent < known->counts.size() ? known->counts[agent] : 0;
  for (const Lanes& lanes : known->lanes)
    if (lanes.warp == warp) count = std::max(count, lanes.count[lane]);
  return count;
}

void View::raise(std::uint32_t cta, std::uint32_t agent, std::uint32_t count) { raise_to(block_for(cta).counts, agent, count); }

void View::raise_order(std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes, std::uint32_t count) {
  Block& known = block_for(cta);
  const auto at = std::lower_bound(known.lanes.begin(), known.lanes.end(), warp,
                                   [](const Lanes& l, std::uint32_t w) { return l.warp < w; });
  const bool has_lanes = at != known.lanes.end() && at->warp == warp;
  if (lanes == ~0u) {
    raise_to(known.counts, agent_of(warp, WarpAgent::order), count);
    if (has_lanes && std::all_of(at->count.begin(), at->count.end(), [&](std::uint32_t c) { return c <= count; })) known.lanes.erase(at);
    return;
  }
  Lanes& kept = has_lanes ? *at : *known.lanes.insert(at, Lanes{warp, {}});
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1u) kept.count[lane] = std::max(kept.count[lane], count);
}

void View::join(const View& other) {
  for (const Block& theirs : other.blocks_) {
    Block& mine = block_for(theirs.cta);
    if (mine.counts.size() < theirs.counts.size()) mine.counts.resize(theirs.counts.size(), 0);
    for (std::size_t i = 0; i < theirs.counts.size(); ++i) mine.counts[i] = std::max(mine.counts[i], theirs.counts[i]);
    for (const Lanes& lanes : theirs.lanes) {
      const auto at = std::lower_bound(mine.lanes.begin(), mine.lanes.end(), lanes.warp,
                                       [](const Lanes& l, std::uint32_t w) { return l.warp < w; });
      if (at == mine.lanes.end() || at->warp != lanes.warp) {
        mine.lanes.insert(at, lanes);
        continue;
      }
      for (std::size_t lane = 0; lane < 32; ++lane) at->count[lane] = std::max(at->count[lane], lanes.count[lane]);
    }
    std::erase_if(mine.lanes, [&](const Lanes& lanes) {  // what holds for all lanes needs no entry of its own
      const std::uint32_t agent = agent_of(lanes.warp, WarpAgent::order);
      const std::uint32_t all = agent < mine.counts.size() ? mine.counts[agent] : 0;
      return std::all_of(lanes.count.begin(), lanes.count.end(), [&](std::uint32_t c) { return c <= all; });
    });
  }
}

bool View::covers(const View& other) const {
  for (const Block& theirs : other.blocks_) {
    const Block* mine = block(theirs.cta);
    const auto known = [&](std::size_t agent) { return mine && agent < mine->counts.size() ? mine->counts[agent] : 0; };
    for (const Lanes& lanes : theirs.lanes)
      for (std::uint32_t lane = 0; lane < 32; ++lane)
        if (lanes.count[lane] > 0 && order(theirs.cta, lanes.warp, lane) < lanes.count[lane]) return false;
    for (std::size_t i = 0; i < theirs.counts.size(); ++i) {
      if (theirs.counts[i] <= known(i)) continue;
      bool lane_by_lane = mine != nullptr && i % 3 == 0;  // perhaps an order counter, known for each lane by itself
      for (std::uint32_t lane = 0; lane < 32 && lane_by_lane; ++lane)
        lane_by_lane = order(theirs.cta, static_cast<std::uint32_t>(i / 3), lane) >= theirs.counts[i];
      if (!lane_by_lane) return false;
    }
  }
  return true;
}

void FencedView::join(const FencedView& other) {
  now.join(other.now);
  released.join(other.released);
  pending.join(other.pending);
}

ProxyViews::Known& ProxyViews::at(std::uint32_t place) {
  const auto found = std::lower_bound(known_.begin(), known_.end(), place, [](const Known& k, std::uint32_t p) { return k.place < p; });
  if (found != known_.end() && found->place == place) return *found;
  return *known_.insert(found, Known{place, 0, {}});
}

void ProxyViews::fence(std::uint32_t place, const View& known, std::uint32_t number) {
  Known& here = at(place);
  here.known.join(known);
  here.own = number;
}

void ProxyViews::join(const ProxyViews& other) {
  for (const Known& theirs : other.known_) at(theirs.place).known.join(theirs.known);
}

void ProxyViews::join_own(const ProxyViews& theirs, std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes) {
  for (const Known& one : theirs.known_)
    if (one.own != 0) at(one.place).known.raise_order(cta, warp, lanes, one.own);
}

void ProxyViews::settle_own(std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes) {
  for (Known& one : known_) {
    bool all = true;
    for (std::uint32_t lane = 0; lane < 32 && one.own != 0 && all; ++lane)
      all = (lanes >> lane & 1u) == 0 || one.known.order(cta, warp, lane) >= one.own;
    if (all) one.own = 0;
  }
}

bool ProxyViews::sees(std::uint32_t place, std::uint32_t cta, std::uint32_t warp, std::uint32_t lane, std::uint32_t number, bool mine) const {
  for (const Known& one : known_) {
    const bool covers = one.place == place || one.place == ProxyPlace::everywhere || (one.place == ProxyPlace::shared && place >= ProxyPlace::of_cta);
    if (covers && ((mine && one.own >= number) || one.known.order(cta, warp, lane) >= number)) return true;
  }
  return false;
}

void Views::fence_before() {
  tensor.released = tensor.now;
  tolerant.released = tolerant.now;
}

void Views::fence_after() {
  tensor.now.join(tensor.pending);
  tolerant.now.join(tolerant.pending);
}

void Views::keep_scope_apart() {
  if (in_scope.empty()) in_scope.push_back(Views(*this));
}

void Views::join_own(const Views& arriving) {
  any.join(arriving.any);
  generic.join(arriving.generic);
  tensor.join(arriving.tensor);
  tolerant.join(arriving.tolerant);
  async.join(arriving.async);
  join_waited(arriving);
}

void Views::join_released(const Views& arriving) {
  if (!arriving.in_scope.empty()) keep_scope_apart();
  for (Views& views : in_scope) views.join_own(views_of(arriving, Scopes::wide_enough));
  join_own(arriving);
}

void Views::acquire(const Views& carried, Edge edge, bool fences_at_acquire, bool narrow) {
  if (narrow || !carried.in_scope.empty()) keep_scope_apart();
  if (!narrow)
    for (Views& views : in_scope) views.take(views_of(carried, Scopes::wide_enough), edge, fences_at_acquire);
  take(carried, edge, fences_at_acquire);
}

// The table of edges: which view is carried by which kind. Everything that profiles change about order is here.
void Views::take(const Views& carried, Edge edge, bool fences_at_acquire) {
  const bool whole = edge == Edge::warp || (edge == Edge::release_acquire && !fences_at_acquire);
  any.join(carried.any);
  join_waited(carried);
  if (edge != Edge::relaxed) generic.join(carried.generic);
  if (edge != Edge::relaxed) async.join(carried.async);
  tensor.pending.join(carried.tensor.released);
  tolerant.pending.join(carried.tolerant.released);
  if (whole) tensor.now.join(carried.tensor.now);
  if (whole || edge == Edge::barrier) tolerant.now.join(carried.tolerant.now);
  if (edge == Edge::warp) {
    tensor.pending.join(carried.tensor.pending);
    tensor.released.join(carried.tensor.released);
    tolerant.pending.join(carried.tolerant.pending);
    tolerant.released.join(carried.tolerant.released);
  }
}

}  // namespace tmemsim::sim
