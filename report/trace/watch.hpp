// The history of one logical element, in sentences: who writes it, from where, who reads it, and where its copies go.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/trace/moves.hpp"
#include "report/trace/stream.hpp"

namespace tmemsim::report {

struct WatchedElement {
  BufferId buffer = 0;
  std::int64_t element = 0;             // row-major index
  std::uint32_t cta = 0;                // whose cells, window or registers
  std::optional<std::uint32_t> thread;  // of a local buffer without layout; absent: thread 0
};

// "acc[3, 5]", "R[2]". InputError that says what is wrong: no such buffer, an index outside of its shape.
WatchedElement parse_watched(const Kernel& kernel, const std::string& text);

class Watch : public TraceSink {
 public:
  using Write = std::function<void(std::string_view)>;
  Watch(const Program& program, WatchedElement element, Write write);
  void event(const sim::Event& event) override;
  void finding(const PlacedFinding& finding) override;
  void end(const TraceEnd& end) override;

 private:
  struct Copy {
    Spot spot;
    bool home = false;   // the element's own place; otherwise its value has been moved there
    bool stale = false;  // the element itself has been written again since
  };
  struct Origin {  // of what stands in a word or memory run: the place that it was moved from
    Spot from, to;
    std::uint64_t event = 0;
    std::string by;  // "tcgen05.ld (load)"
  };
  using Moved = std::pair<Spot, Spot>;
  // What an operation under way took with it when it was issued: a store has its registers from then on.
  struct UnderWay {
    std::vector<Spot> sources;  // that held the element or a copy
    std::string origin;         // of what will be written to the element
  };
  using Key = std::tuple<int, std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>;

  void find_home();
  void remember_origins(const sim::Event& event, const std::vector<Moved>& moves);
  std::string origin_text(const Spot& spot);
  void reads(const sim::Event& event, const std::vector<Moved>& moves);
  void writes(const sim::Event& event, const std::vector<Moved>& moves);
  bool holds(const Spot& spot, const sim::Event& event) const;
  void issue(const sim::Event& event, const std::vector<Moved>& moves);
  void say(const sim::Event& event, const std::string& sentence);
  void follow(const Spot& spot);

  const Program& program_;
  const WatchedElement element_;
  Write write_;
  TmemPlaces places_;
  PlaceNames names_;
  std::vector<Copy> copies_;
  std::map<Key, Origin> origins_;
  std::map<std::uint64_t, UnderWay> under_way_;  // by issue
  bool homeless_ = true;
  std::uint64_t told_ = 0, seen_ = 0;
  bool more_copies_ = false;
};

}  // namespace tmemsim::report
