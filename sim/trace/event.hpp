// The event stream: one record an executed operation and one an asynchronous completion, made by the code that executes.
// Formatting is separate (report/).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/finding.hpp"

namespace tmemsim::sim {

// A box of storage, never expanded. tmem: lanes and columns; register: lanes = threads, columns = rows; shared, global: bytes.
struct Extent {
  std::string_view space;           // "tmem", "register", "shared", "global", "barrier"
  std::uint32_t place = 0;          // SM (tmem), CTA (shared, barrier), warp in the CTA (register), BufferId (global)
  std::int64_t lane_first = 0, lane_last = 0;
  std::int64_t first = 0, last = 0; // columns, register rows or bytes, both included
};

struct Event {
  enum class Kind : std::uint8_t { execute, complete, block, wake, exit, finding };
  Kind kind = Kind::execute;
  std::uint64_t step = 0;
  Ref ref;                          // the statement instance (complete: the one that issued the operation)
  std::vector<Extent> reads, writes;
  std::uint32_t in_flight_before = 0, in_flight_after = 0;  // asynchronous operations of the warp
  std::string text;                 // what it waits for, what it got (base column of an alloc, ...); may be empty
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void event(const Event& event) = 0;
};

}  // namespace tmemsim::sim
