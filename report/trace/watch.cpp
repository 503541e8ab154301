#include "report/trace/watch.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/diagnostic.hpp"
#include "ir/kernel/operand_text.hpp"
#include "report/text.hpp"
#include "report/trace/text.hpp"

namespace tmemsim::report {
namespace {

using Kind = sim::Event::Kind;
using Space = sim::Extent::Space;

constexpr std::size_t most_copies = 64;
constexpr int most_hops = 8;

std::string who(const sim::Event& event, bool several_ctas) {
  std::string text = fmt::format("{}warp {}", several_ctas ? fmt::format("CTA {} ", event.ref.cta) : "", event.ref.warp);
  if (event.ref.lanes != ~0u && event.ref.lanes != 0) text += fmt::format(" lanes {}", lanes_text(event.ref.lanes));
  return text;
}

std::string operation(const sim::Event& event) {
  std::string text = event.stmt ? std::string(op_name(*event.stmt)) : "exit";
  if (!event.ref.label.empty()) text += fmt::format(" ({})", event.ref.label);
  if (event.ref.at.line > 0) text += fmt::format(" in line {}", event.ref.at.line);
  for (const auto& [variable, value] : event.ref.loop) text += fmt::format(", {}={}", variable, value);
  return text;
}

}  // namespace

WatchedElement parse_watched(const Kernel& kernel, const std::string& text) {
  Names names;
  names.buffers = &kernel.buffers;
  Region region;
  try {
    region = parse_region(text, names);
  } catch (const TextError& error) {
    throw InputError(fmt::format("'{}': {}", text, error.message),
                     error.hint.empty() ? "one element of a buffer, as acc[3,5]" : error.hint);
  }
  const Buffer& buffer = kernel.buffers[region.buffer];
  WatchedElement watched;
  watched.buffer = region.buffer;
  if (region.box.size() != buffer.shape.size()) {
    if (region.box.empty() && element_count(buffer) == 1) return watched;
    throw InputError(fmt::format("'{}' names no element: {} has {} dimensions", text, buffer.name, buffer.shape.size()),
                     "one index for each dimension, as acc[3,5]");
  }
  for (std::size_t d = 0; d < region.box.size(); ++d) {
    const auto index = region.box[d].lo.as_constant();
    if (region.box[d].hi || !index)
      throw InputError(fmt::format("'{}' is more than one element", text),
                       "one constant index for each dimension, as acc[3,5]");
    if (*index < 0 || *index >= buffer.shape[d])
      throw InputError(fmt::format("index {} is outside of {}, whose dimension {} has {} elements", *index, buffer.name, d,
                                   buffer.shape[d]));
    watched.element = watched.element * buffer.shape[d] + *index;
  }
  return watched;
}

Watch::Watch(const Program& program, WatchedElement element, Write write)
    : program_(program), element_(element), write_(std::move(write)), places_(*program.kernel), names_(program) {
  const Buffer& buffer = program_.kernel->buffers[element_.buffer];
  write_(fmt::format("{}{} ({}, {})\n", buffer.name, index_text(buffer, element_.element), keyword(buffer.space),
                     name(buffer.dtype)));
  find_home();
}

void Watch::find_home() {
  const std::vector<Spot> spots = spots_of(program_, places_, element_.buffer, element_.element, element_.cta, element_.thread);
  if (spots.empty()) return;
  const auto at_home = [&](const Copy& copy) {
    return copy.home && std::find(spots.begin(), spots.end(), copy.spot) != spots.end();
  };
  if (!homeless_ && std::any_of(copies_.begin(), copies_.end(), at_home)) return;
  homeless_ = false;
  std::string text;
  for (const Spot& spot : spots) {
    copies_.push_back({spot, true, false});
    text += (text.empty() ? "" : ", ") + names_.text(spot, places_);
  }
  const Buffer& buffer = program_.kernel->buffers[element_.buffer];
  const bool initial = buffer.init.has_value();
  write_(fmt::format("  It stands in {}{}.\n", text, initial ? ", and has an initial value" : ""));
}

void Watch::say(const sim::Event& event, const std::string& sentence) {
  ++told_;
  write_(fmt::format("#{:<5} step {:<5} {}: {}\n", event.seq, event.step, who(event, places_.ctas().size() > 1), sentence));
}

void Watch::remember_origins(const sim::Event& event, const std::vector<Moved>& moves) {
  for (const auto& [from, to] : moves)
    origins_[{static_cast<int>(to.space), to.place, to.warp, to.lane, to.row, to.bit}] = {
        from, to, event.of.value_or(event.seq), operation(event)};
}

// " (from A[3, 5], by ld in line 4, #1; ...)": as far back as moves go.
std::string Watch::origin_text(const Spot& spot) {
  std::string text;
  Spot at = spot;
  for (int hop = 0; hop < most_hops; ++hop) {
    auto found = origins_.upper_bound({static_cast<int>(at.space), at.place, at.warp, at.lane, at.row, at.bit});
    if (found == origins_.begin()) break;
    --found;
    const Origin& origin = found->second;
    const auto back = carried(at, origin.to, origin.from);
    if (!back) break;
    text += fmt::format(", which #{} ({}) got from {}", origin.event, origin.by, names_.text(*back, places_));
    if (*back == spot) break;
    at = *back;
  }
  return text;
}

void Watch::follow(const Spot& spot) {
  for (Copy& copy : copies_) {
    if (!(copy.spot == spot)) continue;
    copy.stale = false;
    return;
  }
  if (copies_.size() < most_copies)
    copies_.push_back({spot, false, false});
  else
    more_copies_ = true;
}

void Watch::reads(const sim::Event& event, const std::vector<Moved>& moves) {
  const bool issue = !event.async.empty();
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const Copy copy = copies_[i];
    if (!any_covers(event.reads, copy.spot)) continue;
    const std::string name = copy.home
                                 ? "the element"
                                 : fmt::format("the {}copy in {}", copy.stale ? "older " : "", names_.text(copy.spot, places_));
    std::vector<Spot> to;
    for (const auto& [from, target] : moves)
      if (const auto spot = carried(copy.spot, from, target)) to.push_back(*spot);
    if (to.empty()) {
      say(event, fmt::format("{} reads {}.", operation(event), name));
      continue;
    }
    std::string places;
    for (const Spot& spot : to) places += (places.empty() ? "" : " and ") + names_.text(spot, places_);
    say(event, fmt::format("{} {} {} to {}{}.", operation(event), issue ? "is issued and will move" : "moves", name, places,
                           issue ? ": there only when it is complete" : ""));
  }
}

// Whether the bits hold the element's value for this event: now, or, of registers that a store took along, when it was issued.
bool Watch::holds(const Spot& spot, const sim::Event& event) const {
  const auto taken = event.kind == Kind::complete && event.of ? under_way_.find(*event.of) : under_way_.end();
  if (taken != under_way_.end() && spot.space == Space::registers) {
    const auto& sources = taken->second.sources;
    return std::any_of(sources.begin(), sources.end(), [&](const Spot& source) { return source.meets(spot); });
  }
  return std::any_of(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.spot.meets(spot) && !copy.stale; });
}

void Watch::issue(const sim::Event& event, const std::vector<Moved>& moves) {
  UnderWay taken;
  for (const Copy& copy : copies_)
    if (!copy.stale && any_covers(event.reads, copy.spot)) taken.sources.push_back(copy.spot);
  for (const Copy& copy : copies_) {
    if (!copy.home || !any_covers(event.writes, copy.spot)) continue;
    const auto source =
        std::find_if(moves.begin(), moves.end(), [&](const Moved& move) { return move.second.meets(copy.spot); });
    const auto from = source == moves.end() ? std::nullopt : carried(copy.spot, source->second, source->first);
    if (from) taken.origin = ", from " + names_.text(*from, places_) + origin_text(*from);
    say(event, fmt::format("{} is issued and will write the element{}; nobody may read it before the operation is complete.",
                           operation(event), taken.origin));
  }
  under_way_[event.seq] = std::move(taken);
}

void Watch::writes(const sim::Event& event, const std::vector<Moved>& moves) {
  const std::size_t count = copies_.size();
  std::vector<Spot> arrived, gone;
  bool rewritten = false;
  for (std::size_t i = 0; i < count; ++i) {
    Copy& copy = copies_[i];
    if (!any_covers(event.writes, copy.spot)) continue;
    const auto source =
        std::find_if(moves.begin(), moves.end(), [&](const Moved& move) { return move.second.meets(copy.spot); });
    const auto from = source == moves.end() ? std::nullopt : carried(copy.spot, source->second, source->first);
    const bool from_copy = from && holds(*from, event);
    if (copy.home) {
      const std::string what =
          event.kind == Kind::complete ? "is complete: the element now has its value" : "writes the element";
      const auto taken = event.kind == Kind::complete && event.of ? under_way_.find(*event.of) : under_way_.end();
      const std::string origin = taken != under_way_.end() && !taken->second.origin.empty() ? taken->second.origin
                                 : from ? ", from " + names_.text(*from, places_) + origin_text(*from)
                                        : "";
      say(event, fmt::format("{} {}{}.", operation(event), what, origin));
      rewritten = rewritten || !from_copy;
    } else if (!from_copy) {
      say(event, fmt::format("{} overwrites the copy in {}.", operation(event), names_.text(copy.spot, places_)));
      gone.push_back(copy.spot);
    }
  }
  std::vector<Spot> sources;
  for (std::size_t i = 0; i < count; ++i)
    if (holds(copies_[i].spot, event)) sources.push_back(copies_[i].spot);
  if (const auto taken = event.of ? under_way_.find(*event.of) : under_way_.end();
      event.kind == Kind::complete && taken != under_way_.end()) {
    for (const Spot& source : taken->second.sources)
      if (source.space == Space::registers && std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(source);
  }
  for (const auto& [from, to] : moves) {
    for (const Spot& source : sources) {
      const auto spot = carried(source, from, to);
      const auto is_home = [&](const Copy& copy) { return copy.home && spot && copy.spot == *spot; };
      if (!spot || std::any_of(copies_.begin(), copies_.end(), is_home)) continue;
      if (event.kind == Kind::complete)
        say(event, fmt::format("{} is complete: {} holds a copy.", operation(event), names_.text(*spot, places_)));
      arrived.push_back(*spot);
    }
  }
  std::erase_if(copies_,
                [&](const Copy& copy) { return !copy.home && std::find(gone.begin(), gone.end(), copy.spot) != gone.end(); });
  if (rewritten)
    for (Copy& copy : copies_) copy.stale = copy.stale || !copy.home;
  for (const Spot& spot : arrived) follow(spot);
}

void Watch::event(const sim::Event& event) {
  ++seen_;
  places_.follow(event);
  if (!event.allocations.empty()) {
    find_home();
    for (const sim::AllocationChange& change : event.allocations) {
      for (const Copy& copy : copies_) {
        const bool inside = copy.spot.space == Space::tmem && copy.spot.place == change.sm && copy.spot.row >= change.base &&
                            copy.spot.row < change.base + change.columns;
        if (!inside) continue;
        say(event, fmt::format("{} {} the columns of {}.", operation(event), change.live ? "allocates" : "frees",
                               copy.home ? "the element" : names_.text(copy.spot, places_)));
        break;
      }
    }
  }
  const bool is_issue = event.kind == Kind::execute && !event.async.empty();
  std::vector<Moved> moves;
  const auto touched = [&](const Copy& copy) {
    return any_covers(event.reads, copy.spot) || any_covers(event.writes, copy.spot);
  };
  const bool relevant = std::any_of(copies_.begin(), copies_.end(), touched);
  if (!is_issue || relevant)
    for_each_move(program_, event, [&](const Spot& from, const Spot& to) { moves.emplace_back(from, to); });
  if (relevant && event.kind != Kind::complete) reads(event, moves);
  if (is_issue) {
    if (relevant) issue(event, moves);
    return;
  }
  const bool brings = event.of && under_way_.count(*event.of) != 0;
  if (relevant || brings) writes(event, moves);
  remember_origins(event, moves);
  if (event.kind == Kind::complete && event.of) under_way_.erase(*event.of);
}

void Watch::finding(const PlacedFinding& placed) {
  const Finding& finding = *placed.finding;
  write_(fmt::format("{:>18} {} {}: {}: {}\n", "!!", name(finding.severity), id(finding.verdict), describe(finding.at),
                     finding.message));
}

void Watch::end(const TraceEnd& end) {
  if (homeless_) write_("  It never had a place: its columns were not allocated.\n");
  std::string copies;
  for (const Copy& copy : copies_)
    if (!copy.home)
      copies += fmt::format("{}{}{}", copies.empty() ? "" : "; ", names_.text(copy.spot, places_),
                            copy.stale ? " (an older value)" : "");
  write_(copies.empty()
             ? "  At the end nobody holds a copy.\n"
             : fmt::format("  At the end copies stand in {}{}.\n", copies, more_copies_ ? " and further places" : ""));
  write_(fmt::format("  {} of {} events are about it.{}\n", told_, end.events,
                     end.left_out > 0 ? fmt::format(" {} events are left out (--max-events).", end.left_out) : ""));
}

}  // namespace tmemsim::report
