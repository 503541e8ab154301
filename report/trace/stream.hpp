// A run as a stream: its events in order, each finding right behind the event at which it was noticed, and how it ended.
//
// Formats are sinks of this stream. Nothing is kept: a run is a pure function of program and options, so it runs twice, once
// to know its findings, once to be followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/program.hpp"
#include "sim/sim.hpp"

namespace tmemsim::report {

// The statements of a kernel in the order in which they are written, bodies behind their statement. The index is the
// statement's id in a trace.
class Statements {
 public:
  struct Entry {
    const Stmt* stmt = nullptr;
    std::optional<std::size_t> parent;
    int depth = 0;
    bool otherwise = false;  // in the else branch of an if
  };
  explicit Statements(const Kernel& kernel);
  const std::vector<Entry>& all() const { return entries_; }
  std::size_t id(const Stmt* stmt) const { return ids_.at(stmt); }

 private:
  void add(const Body& body, std::optional<std::size_t> parent, int depth, bool otherwise);
  std::vector<Entry> entries_;
  std::unordered_map<const Stmt*, std::size_t> ids_;
};

std::string_view op_name(const Stmt& stmt);                          // PTX name; tile primitive; for, while, if, delay
std::string statement_text(const Kernel& kernel, const Stmt& stmt);  // one line, without label and threads

// "full[0]", "mbarrier at byte 8", "barrier 1", "the cluster barrier".
std::string barrier_name(const Kernel& kernel, sim::BarrierState::Kind kind, std::int64_t id);

// A finding and where it belongs in the stream.
struct PlacedFinding {
  // One of its statements: the event is the last one of that instance so far; nothing when it never ran.
  struct Side {
    const Stmt* stmt = nullptr;
    std::optional<std::uint64_t> event;
  };
  std::size_t id = 0;
  const Finding* finding = nullptr;
  std::optional<std::uint64_t> event;  // at which it was noticed; nothing: before anything ran
  Side at, other;
};

struct TraceEnd {
  enum class How : std::uint8_t { complete, stopped, step_limit, error };
  How how = How::complete;  // stopped: threads are left that never came to their end
  std::uint64_t events = 0, left_out = 0, steps = 0;
  std::size_t findings = 0;
  bool all_schedules = false;
  std::string reason;  // of an error
};
std::string_view name(TraceEnd::How how);

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void event(const sim::Event& event) = 0;
  virtual void finding(const PlacedFinding& finding) = 0;
  virtual void end(const TraceEnd& end) = 0;
  virtual bool wants_values() const { return false; }
};

// Events beyond `max_events` are counted and not passed on; findings always are. What the run throws (InputError, Unsupported)
// is thrown again behind the end.
TraceEnd stream_trace(const Program& program, const sim::Options& options, std::uint64_t max_events, TraceSink& sink);

}  // namespace tmemsim::report
