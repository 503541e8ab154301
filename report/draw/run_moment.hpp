// Follows the events of a run up to a step, and shows that moment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "report/draw/moment.hpp"
#include "report/trace/replay.hpp"

namespace tmemsim::report {

class RunMoment : public sim::Observer {
 public:
  // Events count while their step is at most `step`.
  RunMoment(std::shared_ptr<const Program> program, std::uint64_t step);
  void event(const sim::Event& event) override;

  // The CTA and the warp are those of the last event, where nothing else is asked for; they must be of the launch.
  Moment moment(std::optional<std::uint32_t> cta, std::optional<std::uint32_t> warp) const;
  std::uint64_t last_step() const { return last_step_; }  // of the whole run

 private:
  Plane tmem_plane(std::uint32_t sm) const;
  Plane register_plane(std::uint32_t cta, std::uint32_t warp) const;
  void add_marks(Plane& plane, sim::Extent::Space space, std::uint32_t place, std::uint32_t warp) const;

  const std::shared_ptr<const Program> program_;
  const std::uint64_t step_;
  std::uint64_t last_step_ = 0;
  Replay replay_;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> used_;  // by SM: first and last column that was ever allocated
  std::optional<sim::Event> last_;
};

}  // namespace tmemsim::report
