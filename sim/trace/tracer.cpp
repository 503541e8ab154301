#include "sim/trace/tracer.hpp"

#include <algorithm>
#include <bit>

#include "sim/exec/machine.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::uint64_t unsent = ~std::uint64_t{0};
constexpr std::size_t most_marks = 4096;  // of one list: arrivals of a phase, loads without a wait

// Calls visit(first, last) for each run of neighbouring lanes.
template <class Visit>
void for_each_run(std::uint32_t lanes, Visit&& visit) {
  while (lanes != 0) {
    const int first = std::countr_zero(lanes), count = std::countr_one(lanes >> first);
    visit(first, first + count - 1);
    lanes &= count == 32 ? 0u : ~(((1u << count) - 1u) << first);
  }
}

// The words or bytes of an extent as they are now.
std::vector<std::uint32_t> values_of(const Machine& machine, const Extent& extent) {
  std::vector<std::uint32_t> values;
  switch (extent.space) {
    case Extent::Space::tmem: {
      const Sm& sm = machine.sms[extent.place];
      if (!sm.tmem) return values;
      for (std::int64_t column = extent.first; column <= extent.last; ++column)
        for (std::int64_t lane = extent.lane_first; lane <= extent.lane_last; ++lane)
          values.push_back(sm.tmem->cell[static_cast<std::size_t>(column)][static_cast<std::size_t>(lane)]);
      return values;
    }
    case Extent::Space::registers: {
      const RegisterFile& registers = machine.ctas[extent.place].warps[extent.warp].registers;
      for (std::int64_t row = extent.first; row <= extent.last; ++row)
        for (std::int64_t lane = extent.lane_first; lane <= extent.lane_last; ++lane)
          values.push_back(registers.row(static_cast<std::size_t>(row))[lane]);
      return values;
    }
    case Extent::Space::shared:
    case Extent::Space::global: {
      const ByteMemory& memory =
          extent.space == Extent::Space::shared ? machine.ctas[extent.place].shared : machine.global[extent.place];
      const std::int64_t threads = extent.by_thread ? extent.lane_last - extent.lane_first + 1 : 1;
      for (std::int64_t k = 0; k < threads; ++k)
        for (std::int64_t byte = extent.first + k * extent.stride; byte <= extent.last + k * extent.stride; ++byte)
          values.push_back(memory.data()[byte]);
      return values;
    }
  }
  return values;
}

}  // namespace

void note_register(std::vector<Extent>& list, std::uint32_t cta, std::uint32_t warp, std::int64_t row, std::uint32_t lanes) {
  constexpr std::size_t looked_back = 32;
  for_each_run(lanes, [&](int first, int last) {
    for (std::size_t i = list.size(); i-- > 0 && list.size() - i <= looked_back;) {
      Extent& known = list[i];
      if (known.space != Extent::Space::registers || known.lane_first != first || known.lane_last != last) continue;
      if (row < known.first || row > known.last + 1) continue;
      known.last = std::max(known.last, row);
      return;
    }
    Extent extent;
    extent.space = Extent::Space::registers;
    extent.place = cta;
    extent.warp = warp;
    extent.lane_first = first;
    extent.lane_last = last;
    extent.first = extent.last = row;
    list.push_back(std::move(extent));
  });
}

void note_bytes(std::vector<Extent>& list, Extent::Space space, std::uint32_t place, const std::array<std::int64_t, 32>& first,
                std::uint32_t lanes, std::int64_t count) {
  for_each_run(lanes, [&](int from, int to) {
    for (int lane = from; lane <= to;) {
      const auto at = [&](int l) { return first[static_cast<std::size_t>(l)]; };
      const std::int64_t stride = lane < to ? at(lane + 1) - at(lane) : 0;
      int end = lane + 1;
      while (end <= to && at(end) - at(end - 1) == stride) ++end;
      Extent extent;
      extent.space = space;
      extent.place = place;
      extent.lane_first = lane;
      extent.lane_last = end - 1;
      extent.first = at(lane);
      extent.last = at(lane) + count - 1;
      extent.stride = end - lane > 1 ? stride : 0;
      list.push_back(std::move(extent));
      lane = end;
    }
  });
}

void note_range(std::vector<Extent>& list, Extent::Space space, std::uint32_t place, std::int64_t first, std::int64_t last) {
  Extent extent;
  extent.space = space;
  extent.place = place;
  extent.first = first;
  extent.last = last;
  extent.by_thread = false;
  list.push_back(std::move(extent));
}

struct Tracer::Open {
  struct Notice {
    Verdict verdict;
    Ref at;
    std::optional<Ref> other;
    std::string message;
  };
  Event event;
  MarkPtr self = std::make_shared<Mark>();
  MarkPtr of;
  std::vector<MarkPtr> before, after;
  std::vector<std::pair<MarkPtr, Seen::By>> sees;
  std::vector<SyncPoint> touched;
  bool issues = false;
  std::vector<Notice> notices;
  std::vector<std::unique_ptr<Open>> behind;  // events that stand behind this one
};

Tracer::Tracer(const Machine& machine, Observer& observer) : machine_(machine), observer_(observer) {}
Tracer::~Tracer() = default;

void Tracer::add(std::vector<MarkPtr>& list, const MarkPtr& mark) {
  if (list.size() < most_marks && (list.empty() || list.back() != mark)) list.push_back(mark);
}

Tracer::Open& Tracer::push(Event::Kind kind, std::uint32_t cta, std::uint32_t warp) {
  Open& open = *open_.emplace_back(std::make_unique<Open>());
  open.event.kind = kind;
  open.event.step = machine_.steps;
  open.self->seq = unsent;
  open.self->cta = cta;
  open.self->warp = warp;
  open.before = in_flight_[{cta, warp}];
  return open;
}

Event& Tracer::begin(Event::Kind kind, const WarpState& warp, std::uint32_t step, std::uint32_t lanes) {
  Open& open = push(kind, warp.cta, warp.warp);
  open.event.stmt = machine_.program.steps[step].stmt;
  open.event.ref = machine_.ref(step, warp, lanes);
  return open.event;
}

void Tracer::begin_completion(const MarkPtr& issue) {
  Open& open = push(Event::Kind::complete, issue->cta, issue->warp);
  open.event.stmt = issue->stmt;
  open.event.ref = issue->ref;
  open.event.async = issue->async;
  open.event.reads = issue->reads;
  open.event.writes = issue->writes;
  open.of = issue;
}

void Tracer::fill_values(Event& event) const {
  const bool written = event.kind == Event::Kind::complete || event.async.empty();
  if (!written || !observer_.wants_values()) return;
  for (Extent& extent : event.writes) extent.values = values_of(machine_, extent);
}

BarrierState Tracer::state_of(const SyncPoint& key) const {
  BarrierState state;
  state.kind = key.kind;
  state.owner = key.owner;
  state.id = key.id;
  switch (key.kind) {
    case BarrierState::Kind::mbarrier: {
      const auto& barriers = machine_.ctas[key.owner].mbarriers;
      const auto found = barriers.find(key.id);
      state.valid = found != barriers.end() && found->second.valid;
      if (!state.valid) return state;
      state.phase = found->second.phase;
      state.expected = found->second.expected;
      state.pending = found->second.pending;
      state.tx = found->second.tx;
      return state;
    }
    case BarrierState::Kind::named: {
      const NamedBarrier& barrier = machine_.ctas[key.owner].barriers[static_cast<std::size_t>(key.id)];
      state.phase = barrier.uses;
      state.expected = barrier.expected;
      std::int64_t arrived = 0;
      for (std::uint32_t lanes : barrier.arrived) arrived += std::popcount(lanes);
      state.pending = std::max<std::int64_t>(0, state.expected - arrived);
      return state;
    }
    case BarrierState::Kind::cluster: {
      const ClusterBarrier& barrier = machine_.clusters[key.owner];
      state.phase = barrier.uses;
      for (const Cta& cta : machine_.ctas) {
        if (cta.cluster != key.owner) continue;
        for (const WarpState& warp : cta.warps) {
          const std::uint32_t here = warp.cluster_use == barrier.uses ? warp.cluster_arrived & warp.live : 0;
          state.expected += std::popcount(warp.live);
          state.pending += std::popcount(warp.live & ~here);
        }
      }
      return state;
    }
  }
  return state;
}

void Tracer::end() {
  std::unique_ptr<Open> open = std::move(open_.back());
  open_.pop_back();
  Event& event = open->event;
  auto& flying = in_flight_[{open->self->cta, open->self->warp}];
  if (open->of && event.kind == Event::Kind::complete) {
    const auto found = std::find(flying.begin(), flying.end(), open->of);
    if (found != flying.end()) flying.erase(found);
  }
  open->after = flying;
  if (open->issues && std::find(flying.begin(), flying.end(), open->self) == flying.end()) open->after.push_back(open->self);
  fill_values(event);
  for (const SyncPoint& key : open->touched) event.barriers.push_back(state_of(key));
  Open* around = open_.empty() ? nullptr : open_.back().get();
  if (around && (event.kind == Event::Kind::wake || (event.kind == Event::Kind::complete && open->of == around->self))) {
    around->behind.push_back(std::move(open));
  } else {
    emit(*open);
  }
}

void Tracer::drop() {
  if (!open_.back()->notices.empty()) return end();
  open_.pop_back();
}

void Tracer::end_all() {
  while (!open_.empty()) end();
}

void Tracer::emit(Open& open) {
  Event& event = open.event;
  event.seq = open.self->seq = next_++;
  const auto list = [](const std::vector<MarkPtr>& marks) {
    std::vector<std::uint64_t> numbers;
    for (const MarkPtr& mark : marks)
      if (mark->seq != unsent) numbers.push_back(mark->seq);
    return numbers;
  };
  event.in_flight_before = list(open.before);
  event.in_flight_after = list(open.after);
  if (open.of && open.of->seq != unsent) event.of = open.of->seq;
  for (const auto& [mark, by] : open.sees)
    if (mark->seq != unsent && mark != open.self) event.sees.push_back({mark->seq, by});
  if (event.kind == Event::Kind::block) blocked_[{open.self->cta, open.self->warp}].emplace_back(event.ref.lanes, open.self);
  observer_.event(event);
  for (const Open::Notice& notice : open.notices)
    observer_.noticed({event.seq, notice.verdict, &notice.at, notice.other ? &*notice.other : nullptr, notice.message});
  for (const auto& behind : open.behind) emit(*behind);
}

void Tracer::wake(const WarpState& warp, const LaneGroup& group, std::uint32_t step, bool finished, const SyncPoint* sees) {
  Event& event = begin(Event::Kind::wake, warp, step, group.lanes);
  event.finished = finished;
  auto& blocked = blocked_[{warp.cta, warp.warp}];
  for (auto& [lanes, mark] : blocked) {
    if ((lanes & group.lanes) == 0) continue;
    open_.back()->of = mark;
    lanes &= ~group.lanes;
  }
  std::erase_if(blocked, [](const auto& one) { return one.first == 0; });
  if (sees) see(*sees);
  end();
}

MarkPtr Tracer::take_off(std::string_view async, Async agent) {
  Open& open = *open_.back();
  open.event.async = async;
  open.issues = true;
  Mark& mark = *open.self;
  mark.async = async;
  mark.stmt = open.event.stmt;
  mark.ref = open.event.ref;
  mark.reads = open.event.reads;
  mark.writes = open.event.writes;
  in_flight_[{mark.cta, mark.warp}].push_back(open.self);
  if (agent == Async::ld || agent == Async::st) add(unwaited_[{mark.cta, mark.warp}][agent == Async::st], open.self);
  return open.self;
}

void Tracer::touch(const SyncPoint& barrier) {
  if (open_.empty()) return;
  auto& touched = open_.back()->touched;
  if (std::find(touched.begin(), touched.end(), barrier) == touched.end()) touched.push_back(barrier);
}

void Tracer::arrive(const SyncPoint& barrier) {
  touch(barrier);
  if (!open_.empty()) add(phases_[barrier].arriving, open_.back()->self);
}

void Tracer::complete_phase(const SyncPoint& barrier) {
  touch(barrier);
  Phase& phase = phases_[barrier];
  phase.completed = std::move(phase.arriving);
  phase.arriving.clear();
}

void Tracer::see(const SyncPoint& barrier) {
  touch(barrier);
  if (open_.empty()) return;
  for (const MarkPtr& mark : phases_[barrier].completed) open_.back()->sees.emplace_back(mark, Seen::By::arrive);
}

void Tracer::see_completions(const WarpState& warp, Async agent) {
  auto& issued = unwaited_[{warp.cta, warp.warp}][agent == Async::st];
  for (const MarkPtr& mark : issued) open_.back()->sees.emplace_back(mark, Seen::By::completion);
  issued.clear();
}

void Tracer::issue_bulk(const WarpState& warp, std::uint32_t lane, std::uint32_t number) {
  auto& bulks = bulks_[{warp.cta, warp.warp * 32 + lane}];
  if (bulks.size() < most_marks) bulks.push_back({number, open_.back()->self});
}

void Tracer::see_bulk(const WarpState& warp, std::uint32_t lane, std::uint32_t up_to) {
  auto& bulks = bulks_[{warp.cta, warp.warp * 32 + lane}];
  for (const Bulk& bulk : bulks)
    if (bulk.number <= up_to) open_.back()->sees.emplace_back(bulk.mark, Seen::By::completion);
  std::erase_if(bulks, [&](const Bulk& bulk) { return bulk.number <= up_to; });
}

void Tracer::allocate(std::uint32_t sm, std::uint32_t cta, std::uint32_t base, std::uint32_t columns, bool live) {
  if (open_.empty()) return;
  open_.back()->event.allocations.push_back({sm, cta, base, columns, live});
  if (!live) last_dealloc_[sm] = open_.back()->self;
}

void Tracer::see_dealloc(std::uint32_t sm) {
  if (const auto found = last_dealloc_.find(sm); found != last_dealloc_.end())
    open_.back()->sees.emplace_back(found->second, Seen::By::dealloc);
}

void Tracer::notice(const Candidate& candidate) {
  if (!open_.empty()) {
    open_.back()->notices.push_back({candidate.verdict, candidate.at, candidate.other, candidate.message});
    return;
  }
  observer_.noticed({next_ == 0 ? std::nullopt : std::optional(next_ - 1), candidate.verdict, &candidate.at,
                     candidate.other ? &*candidate.other : nullptr, candidate.message});
}

}  // namespace tmemsim::sim
