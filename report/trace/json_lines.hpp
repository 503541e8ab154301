// The stream as JSON Lines. docs/trace-schema.md describes the records, docs/trace.schema.json is their JSON Schema.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "report/trace/stream.hpp"

namespace tmemsim::report {

inline constexpr int trace_version = 1;

// How the run was asked for: what the header says beside the kernel.
struct TraceHeader {
  std::string instance, profile, policy, scheduler;
  std::uint64_t seed = 0, max_steps = 0;
  bool values = false;
};

class JsonLines : public TraceSink {
 public:
  using Write = std::function<void(std::string_view)>;  // whole lines
  // Writes the header at once. With `values` the initial contents of global and shared buffers follow it.
  JsonLines(const Program& program, const TraceHeader& header, Write write);
  void event(const sim::Event& event) override;
  void finding(const PlacedFinding& finding) override;
  void end(const TraceEnd& end) override;
  bool wants_values() const override { return values_; }

 private:
  const Program& program_;
  const Statements statements_;
  const bool values_;
  Write write_;
  std::string line_;
};

}  // namespace tmemsim::report
