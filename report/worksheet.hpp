// The worksheet of a storage: who writes it, who reads it, through which synchronisation it is handed over, when it may be used
// again. `tmemsim run --explain` fills one in for the storage of every finding.
#pragma once

#include <string>
#include <vector>

#include "ir/finding.hpp"
#include "ir/kernel/kernel.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::report {

// Keeps the events of a run, up to a limit that bounds memory; a worksheet of a longer run says that it is cut off.
class EventLog : public sim::Observer {
 public:
  void event(const sim::Event& event) override;
  const std::vector<sim::Event>& events() const { return events_; }
  bool is_cut_off() const { return cut_off_; }

 private:
  std::vector<sim::Event> events_;
  bool cut_off_ = false;
};

// Lines that each end with a line end; empty where the finding names no storage and no barrier. `kernel` is the one that ran.
std::string worksheet(const Kernel& kernel, const EventLog& log, const Finding& finding);

}  // namespace tmemsim::report
