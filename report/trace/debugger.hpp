// A stepper over a recorded stream: commands in, text out. The command line only reads lines and prints answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/trace/moves.hpp"
#include "report/trace/replay.hpp"
#include "report/trace/stream.hpp"

namespace tmemsim::report {

// The stream of a run, kept: events with the values that they wrote, and findings with their places.
class Recording : public TraceSink {
 public:
  void event(const sim::Event& event) override { events_.push_back(event); }
  void finding(const PlacedFinding& placed) override;
  void end(const TraceEnd& end) override { end_ = end; }
  bool wants_values() const override { return true; }

  struct KeptFinding {
    Finding finding;
    std::optional<std::uint64_t> event, other_event;
  };
  const std::vector<sim::Event>& events() const { return events_; }
  const std::vector<KeptFinding>& findings() const { return findings_; }
  const TraceEnd& how_it_ended() const { return end_; }

 private:
  std::vector<sim::Event> events_;
  std::vector<KeptFinding> findings_;
  TraceEnd end_;
};

class Debugger {
 public:
  Debugger(std::shared_ptr<const Program> program, const Recording& recording);

  std::string greeting() const;
  // Executes one line and returns what it says, line ends included; what is wrong with a line is said, too, and changes
  // nothing.
  std::string command(std::string_view line);
  bool finished() const { return finished_; }  // quit was given
  // How many commands could not be understood.
  std::size_t mistakes() const { return mistakes_; }

 private:
  using Words = std::vector<std::string>;

  std::string step(const Words& words);
  std::string back(const Words& words);
  std::string go(const Words& words);
  std::string continue_to(const Words& words);
  std::string print(const Words& words);
  std::string who(const Words& words);
  std::string flight() const;
  std::string where() const;
  std::string list() const;
  std::string findings() const;
  static std::string help();

  bool forward(std::string& shown, bool quiet = false);  // one event; false at the end
  void rewind(std::uint64_t position);
  std::string shown_event(std::uint64_t seq) const;
  const sim::Event* last() const;

  struct Thing {  // what a command names: bits that stand somewhere
    std::string name;
    std::vector<Spot> spots;
    std::optional<Dtype> dtype;  // of a logical element
  };
  Thing thing(const Words& words, std::size_t from) const;
  Replay::Item item(const Spot& spot) const;
  std::string value_text(const Thing& thing, const Spot& spot) const;
  std::string barriers(const std::string& name) const;
  std::string register_row(const Words& words, std::size_t from) const;
  std::uint32_t number(const std::string& text, std::string_view what, std::uint64_t below) const;

  std::shared_ptr<const Program> program_;
  const Recording& recording_;
  Statements statements_;
  Replay replay_;
  mutable PlaceNames names_;
  std::uint64_t at_ = 0;   // events that have happened
  std::uint32_t cta_ = 0;  // that commands speak about
  bool finished_ = false;
  std::size_t mistakes_ = 0;
};

}  // namespace tmemsim::report
