// The stream as Chrome trace-event JSON: opens in Perfetto and in chrome://tracing.
//
// A process is a CTA, a thread of it a warp; further threads are the tensor core, bulk copies, loads and stores of tensor
// memory (what completes by itself), and one for each mbarrier, whose slices are its phases. An asynchronous operation is an
// asynchronous slice from issue to completion; arrows lead from a signal or an issue to the wait that sees it. One process an
// SM counts the allocated columns. The time axis counts events, one microsecond each: a simulator has no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/trace/stream.hpp"

namespace tmemsim::report {

class Perfetto : public TraceSink {
 public:
  using Write = std::function<void(std::string_view)>;
  Perfetto(const Program& program, Write write);
  void event(const sim::Event& event) override;
  void finding(const PlacedFinding& finding) override;
  void end(const TraceEnd& end) override;

 private:
  struct Track {
    std::uint32_t pid = 0, tid = 0;
    auto operator<=>(const Track&) const = default;
  };
  struct Waiting {  // a slice of a blocked warp that is still open
    Track track;
    std::uint64_t block = 0;
    std::uint32_t lanes = 0;
  };

  void add(std::string_view record);
  void name_process(std::uint32_t pid, const std::string& name);
  void name_thread(Track track, const std::string& name);
  Track track_of_warp(const Ref& ref);
  Track track_of_agent(std::uint32_t cta, std::string_view async);
  Track track_of_barrier(const sim::BarrierState& barrier);
  void slice(Track track, std::uint64_t at, const std::string& name, const std::string& arguments);
  void block(const sim::Event& event, const std::string& name);
  void go_on(const sim::Event& event);
  void barriers(const sim::Event& event);
  void arrows(const sim::Event& event, Track to);
  void columns(const sim::Event& event);

  const Program& program_;
  Write write_;
  bool first_ = true;
  std::uint64_t last_ = 0, next_arrow_ = 1;
  std::map<Track, bool> named_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> barrier_tids_;  // by CTA and byte
  std::map<Track, std::int64_t> open_phases_;
  std::vector<Waiting> waiting_;
  std::unordered_map<std::uint64_t, Track> signals_;                            // events that an arrow may start from
  std::unordered_map<std::uint64_t, std::pair<Track, std::string>> under_way_;  // asynchronous slices that are open
  std::map<std::uint32_t, std::int64_t> allocated_;                             // columns by SM
};

}  // namespace tmemsim::report
