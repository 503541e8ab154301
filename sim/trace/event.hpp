// The event stream: one record an executed operation and one an asynchronous completion, made by the code that executes.
// Formatting is separate (report/trace/). docs/trace-schema.md describes the same records as JSON Lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/finding.hpp"

namespace tmemsim {
struct Stmt;
}

namespace tmemsim::sim {

// A box of storage, never expanded. Ranges include both ends.
struct Extent {
  enum class Space : std::uint8_t { tmem, registers, shared, global };
  Space space = Space::tmem;
  std::uint32_t place = 0;                     // SM (tmem), CTA in the grid (registers, shared), BufferId (global)
  std::uint32_t warp = 0;                      // registers: warp in the CTA
  std::int64_t lane_first = 0, lane_last = 0;  // tmem: lanes; otherwise threads of the warp
  std::int64_t first = 0, last = 0;            // columns, rows of the warp's register file, bytes of the window or buffer
  std::int64_t stride = 0;  // bytes by thread: thread lane_first + k touches [first + k * stride, last + k * stride]
  bool by_thread = true;    // shared, global; false: the operation as a whole touches [first, last]
  bool low_half = false;    // tmem: only the low 16 bits of the cells
  // What was written, when the observer wants values: words of cells (column by column, then lane by lane) and of registers
  // (row by row, then lane by lane), or bytes, one an entry (thread by thread, then in address order).
  std::vector<std::uint32_t> values = {};
};

// As Place::space of findings.
constexpr std::string_view name(Extent::Space space) {
  switch (space) {
    case Extent::Space::tmem:
      return "tmem";
    case Extent::Space::registers:
      return "register";
    case Extent::Space::shared:
      return "shared";
    case Extent::Space::global:
      return "global";
  }
  return "";
}

// Of shared and global memory: the first and the last byte that any of the threads touches.
constexpr std::pair<std::int64_t, std::int64_t> hull(const Extent& extent) {
  const std::int64_t far = extent.by_thread ? extent.stride * (extent.lane_last - extent.lane_first) : 0;
  return {extent.first + (far < 0 ? far : 0), extent.last + (far > 0 ? far : 0)};
}

// An edge of synchronisation: what a wait or a barrier saw.
struct Seen {
  enum class By : std::uint8_t { completion, arrive, dealloc };
  std::uint64_t event = 0;  // Event::seq of the operation that is complete, or of the signal
  By by = By::arrive;
};

struct BarrierState {
  enum class Kind : std::uint8_t { named, mbarrier, cluster };
  Kind kind = Kind::named;
  std::uint32_t owner = 0;                 // CTA in the grid; cluster: its index
  std::int64_t id = 0;                     // named: 0..15; mbarrier: byte in the CTA's window; cluster: 0
  bool valid = true;                       // mbarrier: the object exists
  std::int64_t phase = 0;                  // completed phases or uses
  std::int64_t expected = 0, pending = 0;  // arrivals (mbarrier) or threads, of the phase under way
  std::int64_t tx = 0;                     // mbarrier: bytes expected and not yet arrived
};

struct AllocationChange {
  std::uint32_t sm = 0, cta = 0, base = 0, columns = 0;
  bool live = true;  // false: freed by this event
};

struct Event {
  enum class Kind : std::uint8_t {
    execute,   // an operation was executed; an asynchronous one was issued
    complete,  // the effect of an asynchronous operation was applied
    block,     // an operation cannot go on yet; it is tried again, or done, by a wake
    wake,      // the lanes go on
    control,   // an if, while or for has decided
    exit,      // the lanes have ended
  };
  Kind kind = Kind::execute;
  std::uint64_t seq = 0;              // position in the stream
  std::uint64_t step = 0;             // executed warp steps so far
  const Stmt* stmt = nullptr;         // in the kernel that ran; null: exit
  Ref ref;                            // the statement instance (complete: the one that issued the operation)
  std::string_view async;             // "ld", "st", "mma", "cp", "shift", "bulk", "commit": its effect comes later
  std::optional<std::uint64_t> of;    // complete: seq of the issue; wake: of the block
  bool finished = false;              // wake: the operation is done by it
  std::vector<Extent> reads, writes;  // complete: those of the issue
  std::vector<std::uint64_t> in_flight_before, in_flight_after;  // issues of the warp's asynchronous operations under way
  std::vector<Seen> sees;
  std::vector<BarrierState> barriers;  // after the event
  std::vector<AllocationChange> allocations;
  std::string text;  // what it waits for, what it got (columns of an alloc, ...); may be empty
};

// What looked like a fault when it happened. The run's findings are what resolve() leaves of these; a finding has the verdict,
// the statements and the message of the first one of its kind.
struct Noticed {
  std::optional<std::uint64_t> event;  // nothing: before anything ran
  Verdict verdict = Verdict::deadlock;
  const Ref* at = nullptr;
  const Ref* other = nullptr;  // may be null
  std::string_view message;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void event(const Event& event) = 0;
  virtual void noticed(const Noticed&) {}  // comes right behind its event
  virtual bool wants_values() const { return false; }
};

}  // namespace tmemsim::sim
