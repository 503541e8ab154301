// Builds the event stream while a run goes on. A Machine has one only when somebody observes.
//
// An event is open from the moment in which its operation begins until it is done; what happens inside of it is an event of
// its own. The order of the stream: completions that an operation brings about (a wait, a read of a register) stand before it;
// completions of the operation itself, and wakes, stand behind.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ir/op.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::sim {

struct Machine;
struct WarpState;
struct LaneGroup;
struct Candidate;

// Adds rows or bytes to a list of extents, joining what goes on where an earlier one ends.
void note_register(std::vector<Extent>& list, std::uint32_t cta, std::uint32_t warp, std::int64_t row, std::uint32_t lanes);
// `first`: first byte of each lane.
void note_bytes(std::vector<Extent>& list, Extent::Space space, std::uint32_t place, const std::array<std::int64_t, 32>& first,
                std::uint32_t lanes, std::int64_t count);
void note_range(std::vector<Extent>& list, Extent::Space space, std::uint32_t place, std::int64_t first, std::int64_t last);

// An event that others point at: an issue under way, an arrival, a block. The number is known once it has been sent.
struct Mark {
  std::uint64_t seq = 0;
  std::uint32_t cta = 0, warp = 0;
  const Stmt* stmt = nullptr;
  Ref ref;
  std::string_view async;
  std::vector<Extent> reads, writes;  // of an asynchronous operation
};
using MarkPtr = std::shared_ptr<Mark>;

struct SyncPoint {
  BarrierState::Kind kind = BarrierState::Kind::named;
  std::uint32_t owner = 0;
  std::int64_t id = 0;
  auto operator<=>(const SyncPoint&) const = default;
};

class Tracer {
 public:
  Tracer(const Machine& machine, Observer& observer);
  ~Tracer();

  // ---- events ----
  Event& begin(Event::Kind kind, const WarpState& warp, std::uint32_t step, std::uint32_t lanes);
  void begin_completion(const MarkPtr& issue);
  void end();      // the innermost open event is done
  void drop();     // ... is none after all, unless a fault was noticed in it
  void end_all();  // the run broke off: what is open is sent as it is
  void wake(const WarpState& warp, const LaneGroup& group, std::uint32_t step, bool finished, const SyncPoint* sees = nullptr);

  // ---- what happens inside the innermost open event ----
  MarkPtr take_off(std::string_view async, Async agent);  // the event issues an asynchronous operation
  void touch(const SyncPoint& barrier);                   // its state is shown
  void arrive(const SyncPoint& barrier);
  void complete_phase(const SyncPoint& barrier);             // the arrivals so far are what a wait sees
  void see(const SyncPoint& barrier);                        // a wait passes
  void see_completions(const WarpState& warp, Async agent);  // all earlier ld, or st, of the warp
  void issue_bulk(const WarpState& warp, std::uint32_t lane, std::uint32_t number);
  void see_bulk(const WarpState& warp, std::uint32_t lane, std::uint32_t up_to);
  void allocate(std::uint32_t sm, std::uint32_t cta, std::uint32_t base, std::uint32_t columns, bool live);
  void see_dealloc(std::uint32_t sm);
  void notice(const Candidate& candidate);

 private:
  struct Open;
  struct Phase {
    std::vector<MarkPtr> arriving, completed;
  };
  struct Bulk {
    std::uint32_t number = 0;
    MarkPtr mark;
  };
  using WarpKey = std::pair<std::uint32_t, std::uint32_t>;    // CTA, warp
  using ThreadKey = std::pair<std::uint32_t, std::uint32_t>;  // CTA, thread

  Open& push(Event::Kind kind, std::uint32_t cta, std::uint32_t warp);
  void emit(Open& open);
  void fill_values(Event& event) const;
  BarrierState state_of(const SyncPoint& key) const;
  static void add(std::vector<MarkPtr>& list, const MarkPtr& mark);

  const Machine& machine_;
  Observer& observer_;
  std::uint64_t next_ = 0;
  std::vector<std::unique_ptr<Open>> open_;
  std::map<WarpKey, std::vector<MarkPtr>> in_flight_;
  std::map<WarpKey, std::array<std::vector<MarkPtr>, 2>> unwaited_;            // ld, st
  std::map<WarpKey, std::vector<std::pair<std::uint32_t, MarkPtr>>> blocked_;  // lanes and their block
  std::map<SyncPoint, Phase> phases_;
  std::map<ThreadKey, std::vector<Bulk>> bulks_;
  std::map<std::uint32_t, MarkPtr> last_dealloc_;  // by SM
};

}  // namespace tmemsim::sim
