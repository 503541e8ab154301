#include "report/trace/stream.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "ir/kernel/operand_text.hpp"

namespace tmemsim::report {
namespace {

// The two sides of a pair may have changed places between the notice and the finding.
bool same_statement(const Ref& a, const Ref* b) { return b && a.path == b->path && a.op == b->op; }
bool same_instance(const Ref& a, const Ref& b) {
  return a.op == b.op && a.cta == b.cta && a.warp == b.warp && a.path == b.path && a.loop == b.loop;
}

// Puts the findings of a run into the stream of the same run.
class Follower : public sim::Observer {
 public:
  Follower(const std::vector<Finding>& findings, std::uint64_t max_events, TraceSink& sink)
      : max_events_(max_events), sink_(sink) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
      PlacedFinding placed;
      placed.id = i;
      placed.finding = &findings[i];
      waiting_.push_back(placed);
    }
  }

  void event(const sim::Event& event) override {
    ++seen_;
    if (event.kind == sim::Event::Kind::exit) exited_ += static_cast<std::uint64_t>(std::popcount(event.ref.lanes));
    for (PlacedFinding& placed : waiting_) {
      note(placed.at, placed.finding->at, event);
      if (placed.finding->other) note(placed.other, *placed.finding->other, event);
    }
    if (seen_ <= max_events_) sink_.event(event);
    // A pair is told when both have happened, whenever it was noticed; anything else when it is noticed.
    place([](const PlacedFinding& placed) { return placed.at.event && placed.other.event; }, event.seq);
  }

  void noticed(const sim::Noticed& noticed) override {
    place(
        [&](const PlacedFinding& placed) {
          const Finding& finding = *placed.finding;
          if (finding.verdict != noticed.verdict || (finding.other && placed.other.event && placed.at.event)) return false;
          const Ref* other = finding.other ? &*finding.other : nullptr;
          const bool as_it_is =
              same_statement(finding.at, noticed.at) && (other ? same_statement(*other, noticed.other) : !noticed.other);
          return as_it_is || (other && same_statement(finding.at, noticed.other) && same_statement(*other, noticed.at));
        },
        noticed.event);
  }

  bool wants_values() const override { return sink_.wants_values(); }
  std::uint64_t exited_threads() const { return exited_; }

  void finish(TraceEnd& end) {
    for (PlacedFinding& placed : waiting_) {
      if (seen_ > 0) placed.event = seen_ - 1;
      sink_.finding(placed);
    }
    waiting_.clear();
    end.events = std::min(seen_, max_events_);
    end.left_out = seen_ - end.events;
    sink_.end(end);
  }

 private:
  template <class Fits>
  void place(Fits&& fits, std::optional<std::uint64_t> event) {
    for (std::size_t i = 0; i < waiting_.size();) {
      if (!fits(waiting_[i])) {
        ++i;
        continue;
      }
      waiting_[i].event = event;
      sink_.finding(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  static void note(PlacedFinding::Side& side, const Ref& ref, const sim::Event& event) {
    const bool runs = event.kind == sim::Event::Kind::execute || event.kind == sim::Event::Kind::block ||
                      event.kind == sim::Event::Kind::control;
    if (!runs || !same_instance(ref, event.ref)) return;
    side.stmt = event.stmt;
    side.event = event.seq;
  }

  std::uint64_t seen_ = 0, exited_ = 0, max_events_;
  TraceSink& sink_;
  std::vector<PlacedFinding> waiting_;
};

TraceEnd::How how_it_ended(const Launch& launch, const sim::Outcome& outcome, std::uint64_t exited_threads) {
  const auto is_limit = [](const Finding& finding) { return finding.verdict == Verdict::step_limit; };
  if (std::any_of(outcome.findings.begin(), outcome.findings.end(), is_limit)) return TraceEnd::How::step_limit;
  return exited_threads == std::uint64_t{cta_count(launch)} * launch.warps * 32 ? TraceEnd::How::complete
                                                                                : TraceEnd::How::stopped;
}

}  // namespace

Statements::Statements(const Kernel& kernel) { add(kernel.body, std::nullopt, 0, false); }

void Statements::add(const Body& body, std::optional<std::size_t> parent, int depth, bool otherwise) {
  for (const Stmt& stmt : body) {
    const std::size_t id = entries_.size();
    ids_[&stmt] = id;
    entries_.push_back({&stmt, parent, depth, otherwise});
    bool second = false;
    for_each_body(stmt, [&](const Body& inner) {
      const auto* branch = std::get_if<If>(&stmt.node);
      second = branch && &inner == &branch->otherwise;
      add(inner, id, depth + 1, second);
    });
  }
}

std::string_view op_name(const Stmt& stmt) {
  struct Name {
    std::string_view operator()(const MachineOps::Any& op) const {
      return std::visit([](const auto& one) -> std::string_view { return std::remove_cvref_t<decltype(one)>::row.name; }, op);
    }
    std::string_view operator()(const TileOps::Any& op) const {
      return std::visit([](const auto& one) -> std::string_view { return std::remove_cvref_t<decltype(one)>::row.name; }, op);
    }
    std::string_view operator()(const Lowered& lowered) const { return (*this)(lowered.origin); }
    std::string_view operator()(const For&) const { return "for"; }
    std::string_view operator()(const While&) const { return "while"; }
    std::string_view operator()(const If&) const { return "if"; }
    std::string_view operator()(const Delay&) const { return "delay"; }
  };
  return std::visit(Name{}, stmt.node);
}

std::string statement_text(const Kernel& kernel, const Stmt& stmt) {
  const std::string text = print(kernel, stmt), who = "@" + to_text(stmt.where) + "  ";
  const std::size_t at = text.find(who);
  return at == std::string::npos ? text : text.substr(at + who.size());
}

std::string barrier_name(const Kernel& kernel, sim::BarrierState::Kind kind, std::int64_t id) {
  constexpr std::int64_t object_bytes = 8;
  if (kind == sim::BarrierState::Kind::named) return fmt::format("barrier {}", id);
  if (kind == sim::BarrierState::Kind::cluster) return "the cluster barrier";
  for (const Buffer& buffer : kernel.buffers) {
    const std::int64_t first = buffer.offset.value_or(0);
    if (buffer.space != Space::shared || buffer.dtype != Dtype::mbarrier || id < first || id >= first + byte_size(buffer))
      continue;
    return element_count(buffer) == 1 ? buffer.name : fmt::format("{}[{}]", buffer.name, (id - first) / object_bytes);
  }
  return fmt::format("mbarrier at byte {}", id);
}

std::string_view name(TraceEnd::How how) {
  switch (how) {
    case TraceEnd::How::complete:
      return "complete";
    case TraceEnd::How::stopped:
      return "stopped";
    case TraceEnd::How::step_limit:
      return "step-limit";
    case TraceEnd::How::error:
      return "error";
  }
  return "";
}

TraceEnd stream_trace(const Program& program, const sim::Options& options, std::uint64_t max_events, TraceSink& sink) {
  std::vector<Finding> findings;
  try {
    findings = sim::run(program, options).findings;
  } catch (const std::exception&) {  // comes again where it belongs
  }
  Follower follower(findings, max_events, sink);
  TraceEnd end;
  end.findings = findings.size();
  try {
    const sim::Outcome outcome = sim::run(program, options, &follower);
    end.how = how_it_ended(program.kernel->launch, outcome, follower.exited_threads());
    end.steps = outcome.steps;
    end.all_schedules = outcome.all_schedules;
    follower.finish(end);
  } catch (const std::bad_alloc&) { throw; } catch (const std::exception& error) {
    end.how = TraceEnd::How::error;
    end.reason = error.what();
    follower.finish(end);
    throw;
  }
  return end;
}

}  // namespace tmemsim::report
