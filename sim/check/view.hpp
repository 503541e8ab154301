// What is known to have happened: agents, their counters, and the views that threads hold of them.
//
// Every agent counts what it has done: each warp has one for its instructions (counted by warp, known lane by lane), one for
// its tcgen05.ld and one for its tcgen05.st (counted when issued, known when waited for). Waits cover a prefix of what the
// agent issued, so "x is complete before y" is one compare of x's number with y's view. Several views are kept side by side
// (Views): a synchronisation edge carries some of them and not others, and that alone says whether a fence is missing.
// Rules: the catalogue, ir/verdict.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace tmemsim::sim {

// Agents of a CTA: three a warp, then those that appear while running (issuing threads of mma, barriers, ...).
enum class WarpAgent : std::uint8_t { order, ld, st };
constexpr std::uint32_t agent_of(std::uint32_t warp, WarpAgent which) { return 3 * warp + static_cast<std::uint32_t>(which); }

class View {
 public:
  std::uint32_t count(std::uint32_t cta, std::uint32_t agent) const;
  // How many of the warp's instructions the lane is known to have executed.
  std::uint32_t order(std::uint32_t cta, std::uint32_t warp, std::uint32_t lane) const;
  void raise(std::uint32_t cta, std::uint32_t agent, std::uint32_t count);
  void raise_order(std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes, std::uint32_t count);
  void join(const View& other);
  // Whether everything that the other knows is known here, too.
  bool covers(const View& other) const;
  bool operator==(const View&) const = default;

 private:
  struct Lanes {
    std::uint32_t warp = 0;
    std::array<std::uint32_t, 32> count{};
    bool operator==(const Lanes&) const = default;
  };
  struct Block {  // what is known of one CTA
    std::uint32_t cta = 0;
    std::vector<std::uint32_t> counts;  // by agent; an order count holds for all 32 lanes
    std::vector<Lanes> lanes;           // warps of which more is known for some lanes; sorted by warp
    bool operator==(const Block&) const = default;
  };
  const Block* block(std::uint32_t cta) const;
  Block& block_for(std::uint32_t cta);

  std::vector<Block> blocks_;  // sorted by CTA
};

// A view of tensor memory operations, with what fences have done to it.
struct FencedView {
  View now;       // operations that later tcgen05 operations of this thread are ordered after
  View released;  // what the last fence::before_thread_sync made ready to be carried
  View pending;   // carried here, but no fence::after_thread_sync yet
  bool operator==(const FencedView&) const = default;
  void join(const FencedView& other);
};

// Where ordinary accesses become visible to the async proxy: everywhere, in global memory, in the shared memory of every CTA
// or in that of one (its number in the grid plus `of_cta`).
struct ProxyPlace {
  static constexpr std::uint32_t everywhere = 0, global = 1, shared = 2, of_cta = 3;
};

// Ordinary accesses that fences of the proxies have made visible to the async proxy, by place. Whoever holds this knows the
// accesses of others in `known`; its own count up to `own`, its last such fence: every lane's fence covers what that lane did and
// what it knew, and lanes that hold the same are still not ordered after each other.
class ProxyViews {
 public:
  void fence(std::uint32_t place, const View& known, std::uint32_t number);
  // What others have made visible; `own` stays mine.
  void join(const ProxyViews& other);
  // Takes over what these lanes have made visible by themselves.
  void join_own(const ProxyViews& theirs, std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes);
  // Forgets `own` where `known` says the same of all these lanes.
  void settle_own(std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes);
  // Whether access `number` of the lane is visible there. `mine`: the lane is the one that asks.
  bool sees(std::uint32_t place, std::uint32_t cta, std::uint32_t warp, std::uint32_t lane, std::uint32_t number, bool mine) const;
  bool operator==(const ProxyViews&) const = default;

 private:
  struct Known {
    std::uint32_t place = 0, own = 0;
    View known;
    bool operator==(const Known&) const = default;
  };
  Known& at(std::uint32_t place);

  std::vector<Known> known_;  // sorted by place
};

// Kinds of synchronisation edge.
enum class Edge : std::uint8_t {
  warp,             // bar.warp.sync: lanes of one warp; no fences are needed inside a warp
  barrier,          // CTA and cluster barriers: order generic accesses, compose with the tcgen05 fences
  relaxed,          // mbarrier or flag without release/acquire: orders nothing but what fences make it carry
  release_acquire,  // the ordinary memory model applies to tcgen05 operations too
};

struct Views {
  View any;                // every edge: no order here is a race
  View generic;            // ordinary memory accesses
  FencedView tensor;       // tcgen05 operations, by the letter
  FencedView tolerant;     // the same with plain barriers that need no fences (decides between the two severities)
  ProxyViews async;        // ordinary accesses made visible to the async proxy
  // mbarriers, one bit each (Mbarrier::bit; more than 64 share bits), on which something that happened before has waited; and
  // those where such a wait passed only because the object was new.
  std::uint64_t waited = 0, passed_new = 0;
  // The same without what came over a release or acquire whose scope is too narrow: from one CTA to another of the cluster, and
  // either of the two of .cta scope. None: nothing came that way.
  std::vector<Views> in_scope;
  bool operator==(const Views&) const = default;

  // Calls change(Views&) for these views and for those in scope.
  template <class Change> void change(Change&& change) {
    change(*this);
    for (Views& views : in_scope) change(views);
  }

  void fence_before();
  void fence_after();
  // What a thread that arrives gives away; what it carries through the edge is decided in acquire().
  void join_released(const Views& arriving);
  // The waiting side takes what the edge carries. `narrow`: over a scope that does not reach from one side to the other.
  void acquire(const Views& carried, Edge edge, bool fences_at_acquire, bool narrow = false);

 private:
  void join_own(const Views& arriving);
  void take(const Views& carried, Edge edge, bool fences_at_acquire);
  void keep_scope_apart();
  void join_waited(const Views& other) {
    waited |= other.waited;
    passed_new |= other.passed_new;
  }
};

enum class Sight : std::uint8_t { any, generic, tensor, tolerant };
inline const View& sight(const Views& views, Sight which) {
  switch (which) {
    case Sight::any: return views.any;
    case Sight::generic: return views.generic;
    case Sight::tensor: return views.tensor.now;
    case Sight::tolerant: return views.tolerant.now;
  }
  return views.any;
}
// With or without the edges whose scope is too narrow.
enum class Scopes : std::uint8_t { any, wide_enough };
inline const Views& views_of(const Views& views, Scopes scopes) {
  return scopes == Scopes::wide_enough && !views.in_scope.empty() ? views.in_scope.front() : views;
}

}  // namespace tmemsim::sim
