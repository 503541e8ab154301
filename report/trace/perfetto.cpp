#include "report/trace/perfetto.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/text.hpp"
#include "report/trace/text.hpp"

namespace tmemsim::report {
namespace {

using Kind = sim::Event::Kind;

// Threads of a process. A warp whose lanes have parted may wait in several places at once: each gets a row of its own.
constexpr std::uint32_t warp_tid = 1, parted_tid = 100, rows_of_a_warp = 33, agent_tid = 2000, barrier_tid = 3000,
                        sm_pid = 1'000'000;

std::string json_text(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string_view agent_of(std::string_view async) {
  if (async == "bulk") return "bulk copies";
  if (async == "ld" || async == "st") return "tensor memory ld and st";
  return "tensor core";
}

std::uint32_t tid_of_agent(std::string_view async) {
  return agent_tid + (async == "bulk" ? 1u : async == "ld" || async == "st" ? 2u : 0u);
}

std::string extents(const Program& program, const std::vector<sim::Extent>& list) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i) text += (i == 0 ? "" : ", ") + extent_text(program, list[i]);
  return list.size() > most ? fmt::format("{} and {} more", text, list.size() - most) : text;
}

std::string arguments_of(const Program& program, const sim::Event& event) {
  std::string text = fmt::format(R"("event":{},"step":{})", event.seq, event.step);
  if (event.ref.lanes != 0) text += fmt::format(R"(,"lanes":{})", json_text(lanes_text(event.ref.lanes)));
  if (event.ref.at.line > 0) text += fmt::format(R"(,"line":{})", event.ref.at.line);
  if (event.stmt) text += R"(,"statement":)" + json_text(statement_text(*program.kernel, *event.stmt));
  for (const auto& [variable, value] : event.ref.loop) text += fmt::format(",{}:{}", json_text("loop " + variable), value);
  if (!event.reads.empty()) text += R"(,"reads":)" + json_text(extents(program, event.reads));
  if (!event.writes.empty()) text += R"(,"writes":)" + json_text(extents(program, event.writes));
  if (!event.text.empty()) text += R"(,"note":)" + json_text(event.text);
  return text;
}

}  // namespace

Perfetto::Perfetto(const Program& program, Write write) : program_(program), write_(std::move(write)) {
  write_("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"time\":\"one microsecond an event\"},\"traceEvents\":[");
}

void Perfetto::add(std::string_view record) {
  write_(first_ ? "\n" : ",\n");
  first_ = false;
  write_(record);
}

void Perfetto::name_process(std::uint32_t pid, const std::string& process) {
  if (!named_.try_emplace({pid, 0}).second) return;
  add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})", pid, json_text(process)));
  add(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}}}})", pid, pid));
}

void Perfetto::name_thread(Track track, const std::string& thread) {
  if (!named_.try_emplace(track).second) return;
  add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})", track.pid, track.tid,
                  json_text(thread)));
  add(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", track.pid,
                  track.tid, track.tid));
}

Perfetto::Track Perfetto::track_of_warp(const Ref& ref) {
  const Track track{ref.cta + 1, warp_tid + ref.warp};
  name_process(track.pid, fmt::format("CTA {}", ref.cta));
  name_thread(track, fmt::format("warp {}", ref.warp));
  return track;
}

Perfetto::Track Perfetto::track_of_agent(std::uint32_t cta, std::string_view async) {
  const Track track{cta + 1, tid_of_agent(async)};
  name_process(track.pid, fmt::format("CTA {}", cta));
  name_thread(track, std::string(agent_of(async)));
  return track;
}

Perfetto::Track Perfetto::track_of_barrier(const sim::BarrierState& barrier) {
  const auto [known, fresh] =
      barrier_tids_.try_emplace({barrier.owner, barrier.id}, barrier_tid + static_cast<std::uint32_t>(barrier_tids_.size()));
  const Track track{barrier.owner + 1, known->second};
  if (!fresh) return track;
  name_process(track.pid, fmt::format("CTA {}", barrier.owner));
  name_thread(track, "mbarrier " + barrier_name(*program_.kernel, barrier.kind, barrier.id));
  return track;
}

void Perfetto::slice(Track track, std::uint64_t at, const std::string& what, const std::string& arguments) {
  add(fmt::format(R"({{"ph":"X","name":{},"cat":"operation","ts":{},"dur":1,"pid":{},"tid":{},"args":{{{}}}}})",
                  json_text(what), at, track.pid, track.tid, arguments));
}

void Perfetto::block(const sim::Event& event, const std::string& what) {
  Track track = track_of_warp(event.ref);
  const auto taken = [&](Track one) {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) { return waiting.track == one; });
  };
  for (std::uint32_t row = 0; taken(track); ++row) track.tid = parted_tid + event.ref.warp * rows_of_a_warp + row;
  if (track.tid >= parted_tid) name_thread(track, fmt::format("warp {}, parted lanes", event.ref.warp));
  add(fmt::format(R"({{"ph":"B","name":{},"cat":"wait","ts":{},"pid":{},"tid":{},"args":{{{}}}}})", json_text(what + " waits"),
                  event.seq, track.pid, track.tid, arguments_of(program_, event)));
  waiting_.push_back({track, event.seq, event.ref.lanes});
  signals_[event.seq] = track;  // it has arrived
}

void Perfetto::go_on(const sim::Event& event) {
  for (Waiting& waiting : waiting_) {
    if (waiting.track.pid != event.ref.cta + 1 || event.of != waiting.block) continue;
    add(fmt::format(R"({{"ph":"E","ts":{},"pid":{},"tid":{}}})", event.seq, waiting.track.pid, waiting.track.tid));
    arrows(event, waiting.track);
    waiting.lanes = 0;
  }
  std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.lanes == 0; });
}

void Perfetto::barriers(const sim::Event& event) {
  for (const sim::BarrierState& barrier : event.barriers) {
    if (barrier.kind != sim::BarrierState::Kind::mbarrier) continue;
    const Track track = track_of_barrier(barrier);
    const auto open = open_phases_.find(track);
    if (open != open_phases_.end() && barrier.valid && open->second == barrier.phase) continue;
    if (open != open_phases_.end()) {
      add(fmt::format(R"({{"ph":"E","ts":{},"pid":{},"tid":{}}})", event.seq, track.pid, track.tid));
      open_phases_.erase(open);
    }
    if (!barrier.valid) continue;
    add(fmt::format(
        R"({{"ph":"B","name":"phase {}","cat":"mbarrier","ts":{},"pid":{},"tid":{},"args":{{"event":{},"expected":{}}}}})",
        barrier.phase, event.seq, track.pid, track.tid, event.seq, barrier.expected));
    open_phases_[track] = barrier.phase;
  }
}

void Perfetto::arrows(const sim::Event& event, Track to) {
  for (const sim::Seen& seen : event.sees) {
    const auto from = signals_.find(seen.event);
    if (from == signals_.end()) continue;
    const std::string_view what = seen.by == sim::Seen::By::arrive    ? "arrive"
                                  : seen.by == sim::Seen::By::dealloc ? "dealloc"
                                                                      : "completion";
    add(fmt::format(R"({{"ph":"s","name":"{}","cat":"sync","id":{},"ts":{},"pid":{},"tid":{}}})", what, next_arrow_, seen.event,
                    from->second.pid, from->second.tid));
    add(fmt::format(R"({{"ph":"f","bp":"e","name":"{}","cat":"sync","id":{},"ts":{},"pid":{},"tid":{}}})", what, next_arrow_,
                    event.seq, to.pid, to.tid));
    ++next_arrow_;
  }
}

void Perfetto::columns(const sim::Event& event) {
  for (const sim::AllocationChange& change : event.allocations) {
    std::int64_t& columns = allocated_[change.sm];
    columns += change.live ? change.columns : -static_cast<std::int64_t>(change.columns);
    name_process(sm_pid + change.sm, fmt::format("SM {}", change.sm));
    add(fmt::format(R"({{"ph":"C","name":"allocated columns","ts":{},"pid":{},"tid":0,"args":{{"columns":{}}}}})", event.seq,
                    sm_pid + change.sm, columns));
  }
}

void Perfetto::event(const sim::Event& event) {
  last_ = event.seq;
  std::string what = event.stmt ? std::string(op_name(*event.stmt)) : "exit";
  if (!event.ref.label.empty()) what += fmt::format(" ({})", event.ref.label);
  switch (event.kind) {
    case Kind::block:
      block(event, what);
      break;
    case Kind::wake:
      go_on(event);
      break;
    case Kind::complete: {
      const Track track = track_of_agent(event.ref.cta, event.async);
      slice(track, event.seq, what + " completes", arguments_of(program_, event));
      signals_[event.seq] = track;
      const auto open = event.of ? under_way_.find(*event.of) : under_way_.end();
      if (open == under_way_.end()) break;
      add(fmt::format(R"({{"ph":"e","name":{},"cat":{},"id":{},"ts":{},"pid":{},"tid":{}}})", open->second.second,
                      json_text(agent_of(event.async)), *event.of, event.seq, open->second.first.pid, open->second.first.tid));
      under_way_.erase(open);
      break;
    }
    case Kind::execute:
    case Kind::control:
    case Kind::exit: {
      const Track track = track_of_warp(event.ref);
      slice(track, event.seq, what, arguments_of(program_, event));
      if (!event.async.empty() || !event.barriers.empty() || !event.allocations.empty()) signals_[event.seq] = track;
      arrows(event, track);
      if (event.async.empty()) break;
      const Track agent = track_of_agent(event.ref.cta, event.async);
      const std::string name = json_text(what);
      add(fmt::format(R"({{"ph":"b","name":{},"cat":{},"id":{},"ts":{},"pid":{},"tid":{},"args":{{"event":{}}}}})", name,
                      json_text(agent_of(event.async)), event.seq, event.seq, agent.pid, agent.tid, event.seq));
      under_way_[event.seq] = {agent, name};
      break;
    }
  }
  barriers(event);
  columns(event);
}

void Perfetto::finding(const PlacedFinding& placed) {
  const Finding& finding = *placed.finding;
  const Track track = track_of_warp(finding.at);
  add(fmt::format(
      R"({{"ph":"i","s":"t","name":{},"cat":"finding","ts":{},"pid":{},"tid":{},"args":{{"severity":"{}","message":{},"rule":{}}}}})",
      json_text(id(finding.verdict)), placed.event ? std::max(*placed.event, std::uint64_t{0}) : 0, track.pid, track.tid,
      name(finding.severity), json_text(finding.message), json_text(finding.rule)));
}

void Perfetto::end(const TraceEnd& end) {
  const std::uint64_t at = last_ + 1;
  for (const Waiting& waiting : waiting_)
    add(fmt::format(R"({{"ph":"E","ts":{},"pid":{},"tid":{}}})", at, waiting.track.pid, waiting.track.tid));
  for (const auto& [track, phase] : open_phases_)
    add(fmt::format(R"({{"ph":"E","ts":{},"pid":{},"tid":{}}})", at, track.pid, track.tid));
  std::map<std::uint64_t, std::pair<Track, std::string>> left(under_way_.begin(), under_way_.end());
  for (const auto& [seq, open] : left) {
    const std::string_view category = open.first.tid == tid_of_agent("bulk") ? agent_of("bulk")
                                      : open.first.tid == tid_of_agent("ld") ? agent_of("ld")
                                                                             : agent_of("mma");
    add(fmt::format(R"({{"ph":"e","name":{},"cat":{},"id":{},"ts":{},"pid":{},"tid":{}}})", open.second, json_text(category),
                    seq, at, open.first.pid, open.first.tid));
  }
  write_(fmt::format("\n],\"tmemsim\":{{\"ended\":\"{}\",\"events\":{},\"left_out\":{},\"findings\":{}}}}}\n", name(end.how),
                     end.events, end.left_out, end.findings));
}

}  // namespace tmemsim::report
