// Follows the events of a run up to a step, and shows that moment.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/program.hpp"
#include "report/draw/moment.hpp"
#include "report/trace/places.hpp"
#include "sim/trace/event.hpp"

namespace tmemsim::report {

class RunMoment : public sim::Observer {
 public:
  // Events count while their step is at most `step`. The program must outlive this.
  RunMoment(const Program& program, std::uint64_t step);
  void event(const sim::Event& event) override;

  // The SM and the warp are those of the last event, where nothing else is asked for. CTA and warp must be of the launch.
  Moment moment(std::optional<std::uint32_t> cta, std::optional<std::uint32_t> warp) const;
  std::uint64_t last_step() const { return last_step_; }  // of the whole run

 private:
  // What is known of the words of an SM, or of the registers of a warp: word column * height + lane (row * 32 + thread).
  struct Words {
    explicit Words(std::size_t count) : written(count), reading(count), writing(count) {}
    std::vector<std::uint8_t> written;
    std::vector<std::uint16_t> reading, writing;  // operations under way
  };
  using WarpKey = std::pair<std::uint32_t, std::uint32_t>;  // CTA, warp

  Words* words_of(const sim::Extent& extent);               // null: memory, which is not drawn
  void count(const std::vector<sim::Extent>& extents, bool write, bool begins);
  void write(const std::vector<sim::Extent>& extents);
  void allocate(const sim::AllocationChange& change);
  Plane tmem_plane(std::uint32_t sm) const;
  Plane register_plane(std::uint32_t cta, std::uint32_t warp) const;
  void add_marks(Plane& plane, sim::Extent::Space space, std::uint32_t place, std::uint32_t warp) const;

  const Program& program_;
  const std::uint64_t step_;
  std::uint64_t last_step_ = 0;
  TmemPlaces places_;
  std::map<std::uint32_t, Words> cells_;                    // by SM
  std::map<WarpKey, Words> registers_;
  std::map<std::uint32_t, std::array<bool, 512>> allocated_;  // by SM: columns
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> used_;  // by SM: first and last column that was ever allocated
  std::optional<sim::Event> last_;
};

}  // namespace tmemsim::report
