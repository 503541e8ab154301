// The stream for people: one line an event, findings in place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "report/trace/places.hpp"
#include "report/trace/stream.hpp"

namespace tmemsim::report {

// Which events are shown. Everything that is set must fit.
struct TraceFilter {
  std::optional<std::uint32_t> cta, warp;
  std::optional<std::uint32_t> thread;                        // in its CTA: its warp, and lanes that include it
  std::optional<std::pair<std::int64_t, std::int64_t>> cell;  // lane, physical column: events that touch it
  std::optional<BufferId> buffer;                             // events that touch its storage
  std::uint64_t from = 0, to = ~std::uint64_t{0};             // seq, both included
  bool any() const { return cta || warp || thread || cell || buffer || from != 0 || to != ~std::uint64_t{0}; }
};

bool passes(const TraceFilter& filter, const Program& program, const TmemPlaces& places, const sim::Event& event);

class TraceText : public TraceSink {
 public:
  using Write = std::function<void(std::string_view)>;
  TraceText(const Program& program, TraceFilter filter, Write write);
  void event(const sim::Event& event) override;
  void finding(const PlacedFinding& finding) override;
  void end(const TraceEnd& end) override;

 private:
  const Program& program_;
  const TraceFilter filter_;
  TmemPlaces places_;
  Write write_;
  std::uint64_t hidden_ = 0;
};

// One line, without its end.
std::string event_line(const Program& program, const sim::Event& event);
std::string extent_text(const Program& program, const sim::Extent& extent);

}  // namespace tmemsim::report
