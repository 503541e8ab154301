#include "report/trace/debugger.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/diagnostic.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/tcgen05.hpp"
#include "report/text.hpp"
#include "report/trace/text.hpp"
#include "report/trace/watch.hpp"

namespace tmemsim::report {
namespace {

using Space = sim::Extent::Space;

// A command that means nothing: the answer says what would.
struct Mistake {
  std::string text;
};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;  // acc[3, 5] is one word
  for (char c : line) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    const bool blank = c == ' ' || c == '\t' || c == '\r';
    if (blank && depth <= 0) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else if (!blank) {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::optional<std::uint64_t> as_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::pair<std::int64_t, std::int64_t>> as_pair(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto a = as_number(text.substr(0, comma)), b = as_number(text.substr(comma + 1));
  if (!a || !b || *a > 1u << 20 || *b > 1u << 20) return std::nullopt;
  return std::pair(static_cast<std::int64_t>(*a), static_cast<std::int64_t>(*b));
}

bool is(const std::string& word, std::string_view name, std::size_t least = 1) {
  return word.size() >= least && name.substr(0, word.size()) == word;
}

Spot cell_spot(std::uint32_t sm, std::int64_t lane, std::int64_t column) {
  return {Space::tmem, sm, 0, static_cast<std::uint32_t>(lane), column, 0, 32};
}

}  // namespace

void Recording::finding(const PlacedFinding& placed) {
  findings_.push_back({*placed.finding, placed.event, placed.other.event});
}

Debugger::Debugger(std::shared_ptr<const Program> program, const Recording& recording)
    : program_(std::move(program)),
      recording_(recording),
      statements_(*program_->kernel),
      replay_(program_),
      names_(*program_) {}

std::string Debugger::greeting() const {
  std::string text = fmt::format("{}: {} events", program_->kernel->name, recording_.events().size());
  if (recording_.how_it_ended().left_out > 0)
    text += fmt::format(" ({} more are left out: --max-events)", recording_.how_it_ended().left_out);
  const std::size_t found = recording_.findings().size();
  return text + fmt::format(", {} finding{}; help lists the commands\n", found, found == 1 ? "" : "s");
}

const sim::Event* Debugger::last() const { return at_ == 0 ? nullptr : &recording_.events()[at_ - 1]; }

std::string Debugger::shown_event(std::uint64_t seq) const {
  std::string text = event_line(*program_, recording_.events()[seq]) + "\n";
  for (const Recording::KeptFinding& kept : recording_.findings()) {
    if (kept.event != seq) continue;
    text += fmt::format("{:>13}  {} {}: {}: {}\n", "!!", name(kept.finding.severity), id(kept.finding.verdict),
                        describe(kept.finding.at), kept.finding.message);
  }
  return text;
}

bool Debugger::forward(std::string& shown, bool quiet) {
  if (at_ == recording_.events().size()) return false;
  replay_.apply(recording_.events()[at_]);
  if (!quiet) shown += shown_event(at_);
  ++at_;
  return true;
}

void Debugger::rewind(std::uint64_t position) {
  replay_ = Replay(program_);
  at_ = 0;
  std::string nothing;
  while (at_ < position && forward(nothing, true)) {}
}

std::uint32_t Debugger::number(const std::string& text, std::string_view what, std::uint64_t below) const {
  const auto value = as_number(text);
  if (!value || *value >= below) throw Mistake{fmt::format("'{}' is no {}: 0 to {}", text, what, below - 1)};
  return static_cast<std::uint32_t>(*value);
}

std::string Debugger::step(const Words& words) {
  std::string shown;
  const auto at_the_end = [&] { return shown + "the run is at its end\n"; };
  if (words.size() > 1 && is(words[1], "warp")) {
    if (words.size() < 3 && !last()) throw Mistake{"step warp W: which warp?"};
    const std::uint32_t warp =
        words.size() > 2 ? number(words[2], "warp of the CTA", program_->kernel->launch.warps) : last()->ref.warp;
    while (forward(shown, true)) {
      if (last()->ref.warp != warp || last()->ref.cta != cta_) continue;
      return shown_event(at_ - 1);
    }
    return at_the_end();
  }
  std::uint64_t count = words.size() > 1 ? as_number(words[1]).value_or(0) : 1;
  if (count == 0) throw Mistake{"step N: how many events?"};
  for (; count > 0; --count)
    if (!forward(shown)) return at_the_end();
  return shown;
}

std::string Debugger::back(const Words& words) {
  const std::uint64_t count = words.size() > 1 ? as_number(words[1]).value_or(0) : 1;
  if (count == 0) throw Mistake{"back N: how many events?"};
  rewind(at_ > count ? at_ - count : 0);
  return at_ == 0 ? "at the start\n" : shown_event(at_ - 1);
}

std::string Debugger::go(const Words& words) {
  const auto seq =
      words.size() > 1 ? as_number(words[1].front() == '#' ? std::string_view(words[1]).substr(1) : words[1]) : std::nullopt;
  if (!seq || *seq >= recording_.events().size())
    throw Mistake{
        fmt::format("goto N: the events are 0 to {}", recording_.events().empty() ? 0 : recording_.events().size() - 1)};
  if (*seq + 1 < at_) rewind(*seq + 1);
  std::string nothing;
  while (at_ <= *seq) forward(nothing, true);
  return shown_event(*seq);
}

std::string Debugger::continue_to(const Words& words) {
  std::size_t first = 1;
  if (words.size() > first && (words[first] == "to" || words[first] == "until")) ++first;
  std::function<bool(const sim::Event&)> stop;
  const auto finding_at = [&](const sim::Event& event) {
    return std::any_of(recording_.findings().begin(), recording_.findings().end(),
                       [&](const Recording::KeptFinding& kept) { return kept.event == event.seq; });
  };
  if (words.size() <= first || words[first] == "finding") {
    stop = finding_at;
  } else if (words[first] == "write") {
    const Thing target = thing(words, first + 1);
    stop = [target](const sim::Event& event) {
      const bool issue = event.kind == sim::Event::Kind::execute && !event.async.empty();
      return !issue && std::any_of(target.spots.begin(), target.spots.end(),
                                   [&](const Spot& spot) { return any_covers(event.writes, spot); });
    };
  } else {
    const std::string& place = words[first] == "line" && words.size() > first + 1 ? words[first + 1] : words[first];
    const auto line = as_number(place);
    const auto fits = [&, place, line](const Stmt& stmt) {
      return line ? stmt.at.line == *line : stmt.label == place || stmt.path == place;
    };
    const auto& all = statements_.all();
    if (std::none_of(all.begin(), all.end(), [&](const Statements::Entry& entry) { return fits(*entry.stmt); }))
      throw Mistake{fmt::format(
          "'{}' is no line with a statement, no label and no path of one; also: continue to finding, continue to write WHAT",
          place)};
    stop = [fits](const sim::Event& event) {
      return event.kind != sim::Event::Kind::complete && event.stmt && fits(*event.stmt);
    };
  }
  std::string nothing;
  while (forward(nothing, true))
    if (stop(*last())) return shown_event(at_ - 1);
  return "the run is at its end\n";
}

Debugger::Thing Debugger::thing(const Words& words, std::size_t from) const {
  const Kernel& kernel = *program_->kernel;
  if (words.size() <= from) throw Mistake{"of what? cell LANE,COLUMN, an element as acc[3,5], or reg R.r[0] THREAD"};
  const std::uint32_t sm = replay_.places().ctas()[cta_].sm;
  const std::string& first = words[from];
  const auto cell = [&](const std::string& text) -> Thing {
    const auto pair = as_pair(text);
    if (!pair || pair->first >= tcgen05::lanes || pair->second >= tcgen05::columns)
      throw Mistake{fmt::format("'{}' is no cell: LANE,COLUMN of 128 x 512", text)};
    return {
        fmt::format("lane {}, column {}", pair->first, pair->second), {cell_spot(sm, pair->first, pair->second)}, std::nullopt};
  };
  if (is(first, "cell")) {
    if (words.size() <= from + 1) throw Mistake{"which cell? LANE,COLUMN"};
    return cell(words[from + 1]);
  }
  if (as_pair(first)) return cell(first);
  const bool reg = is(first, "reg") || first == "register";
  const std::size_t at = reg ? from + 1 : from;
  if (words.size() <= at) throw Mistake{"which register? R.r[0] THREAD"};
  Names names;
  names.buffers = &kernel.buffers;
  if (reg || words[at].find(".r[") != std::string::npos) {
    Rows rows;
    try {
      rows = parse_rows(words[at], names);
    } catch (const TextError& error) { throw Mistake{error.message}; }
    if (words.size() <= at + 1) throw Mistake{"of which thread? R.r[0] THREAD"};
    const std::uint32_t thread = number(words[at + 1], "thread of the CTA", std::uint64_t{kernel.launch.warps} * 32);
    Thing out{fmt::format("{} of thread {}", words[at], thread), {}, std::nullopt};
    for (std::uint16_t row : rows.rows) {
      if (row >= register_count(kernel.buffers[rows.buffer]))
        throw Mistake{
            fmt::format("{} has {} registers", kernel.buffers[rows.buffer].name, register_count(kernel.buffers[rows.buffer]))};
      out.spots.push_back({Space::registers, cta_, thread / 32, thread % 32, program_->first_row[rows.buffer] + row, 0, 32});
    }
    return out;
  }
  try {
    const WatchedElement element = parse_watched(kernel, words[at]);
    const auto thread = words.size() > at + 1
                            ? std::optional(number(words[at + 1], "thread of the CTA", std::uint64_t{kernel.launch.warps} * 32))
                            : std::nullopt;
    const Buffer& buffer = kernel.buffers[element.buffer];
    Thing out{buffer.name + index_text(buffer, element.element),
              spots_of(*program_, replay_.places(), element.buffer, element.element, cta_, thread), buffer.dtype};
    if (out.spots.empty()) throw Mistake{fmt::format("{} has no place yet: its columns are not allocated", out.name)};
    return out;
  } catch (const InputError& error) {
    throw Mistake{error.diagnostic().message + (error.diagnostic().hint.empty() ? "" : "; " + error.diagnostic().hint)};
  }
}

Replay::Item Debugger::item(const Spot& spot) const {
  switch (spot.space) {
    case Space::tmem:
      return replay_.cell(spot.place, spot.lane, spot.row).item;
    case Space::registers:
      return replay_.reg(spot.place, spot.warp, spot.row, spot.lane);
    case Space::shared:
      return replay_.shared_byte(spot.place, spot.bit / 8);
    case Space::global:
      return replay_.global_byte(static_cast<BufferId>(spot.place), spot.bit / 8);
  }
  return {};
}

std::string Debugger::value_text(const Thing& of, const Spot& spot) const {
  const bool memory = spot.space == Space::shared || spot.space == Space::global;
  std::uint64_t value = 0;
  bool written = true;
  if (memory) {
    for (std::int64_t byte = spot.bit / 8, i = 0; byte * 8 < spot.bit + spot.bits; ++byte, ++i) {
      const Replay::Item one = spot.space == Space::shared ? replay_.shared_byte(spot.place, byte)
                                                           : replay_.global_byte(static_cast<BufferId>(spot.place), byte);
      written = written && one.written && one.value.has_value();
      if (i < 8) value |= std::uint64_t{one.value.value_or(0)} << (8 * i);
    }
    value >>= spot.bit % 8;
  } else {
    const Replay::Item one = item(spot);
    written = one.written && one.value.has_value();
    value = std::uint64_t{one.value.value_or(0)} >> spot.bit;
  }
  if (!written) return "never written";
  if (spot.bits < 64) value &= (std::uint64_t{1} << spot.bits) - 1;
  const std::string hex = fmt::format("{:#0{}x}", value, 2 + (spot.bits + 3) / 4);
  return of.dtype && bits(*of.dtype) == spot.bits ? fmt::format("{} ({})", format_value(*of.dtype, value), hex) : hex;
}

std::string Debugger::register_row(const Words& words, std::size_t from) const {  // of all threads of a warp
  const std::uint32_t warp = number(words[from + 2], "warp of the CTA", program_->kernel->launch.warps);
  std::string text;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const Thing one = thing({"reg", words[from], std::to_string(warp * 32 + lane)}, 0);
    for (const Spot& spot : one.spots)
      text += fmt::format("{}: {}\n", names_.text(spot, replay_.places()), value_text(one, spot));
  }
  return text;
}

std::string Debugger::barriers(const std::string& wanted) const {
  std::string text;
  for (const auto& [key, barrier] : replay_.barriers()) {
    const std::string name = barrier_name(*program_->kernel, barrier.kind, barrier.id);
    if (!wanted.empty() && name.find(wanted) == std::string::npos) continue;
    const std::string owner = replay_.places().ctas().size() > 1 && barrier.kind != sim::BarrierState::Kind::cluster
                                  ? fmt::format("CTA {}: ", barrier.owner)
                                  : "";
    if (!barrier.valid)
      text += fmt::format("{}{}: no object\n", owner, name);
    else if (barrier.kind == sim::BarrierState::Kind::mbarrier)
      text += fmt::format("{}{}: phase {}, {} of {} arrivals pending, {} bytes expected\n", owner, name, barrier.phase,
                          barrier.pending, barrier.expected, barrier.tx);
    else
      text += fmt::format("{}{}: complete {} times, {} of {} threads have arrived\n", owner, name, barrier.phase,
                          barrier.expected - barrier.pending, barrier.expected);
  }
  return text.empty() ? "no barrier has been used yet\n" : text;
}

std::string Debugger::print(const Words& words) {
  if (words.size() > 1 && is(words[1], "barrier", 3)) return barriers(words.size() > 2 ? words[2] : "");
  if (words.size() > 4 && is(words[1], "reg") && is(words[3], "warp")) return register_row(words, 2);
  const Thing what = thing(words, 1);
  std::string text;
  for (const Spot& spot : what.spots) {
    text += fmt::format("{}: ", names_.text(spot, replay_.places()));
    const bool cell_without_value = spot.space == Space::tmem && !item(spot).written;
    if (!cell_without_value) text += value_text(what, spot);
    if (spot.space == Space::tmem) {
      const Replay::Cell cell = replay_.cell(spot.place, spot.lane, spot.row);
      text += fmt::format("{}{}", cell_without_value ? "" : ", ", name(cell.state));
    } else if (const Replay::Item one = item(spot); one.writes_in_flight > 0) {
      text += ", write in flight";
    }
    text += "\n";
  }
  return text;
}

std::string Debugger::who(const Words& words) {
  std::size_t from = 1;
  while (words.size() > from && (words[from] == "wrote" || words[from] == "writes")) ++from;
  const Thing what = thing(words, from);
  std::string text;
  for (const Spot& spot : what.spots) {
    const Replay::Item one = item(spot);
    text += names_.text(spot, replay_.places());
    if (one.writer)
      text += fmt::format(" was written by\n{}", shown_event(*one.writer));
    else
      text += one.written ? ": its value is from before the run\n" : ": nobody has written it\n";
  }
  return text;
}

std::string Debugger::flight() const {
  std::string text;
  for (std::uint32_t cta = 0; cta < replay_.places().ctas().size(); ++cta) {
    for (std::uint32_t warp = 0; warp < program_->kernel->launch.warps; ++warp) {
      const Replay::WarpPosition* position = replay_.position(cta, warp);
      if (!position) continue;
      for (std::uint64_t seq : position->in_flight) text += event_line(*program_, recording_.events()[seq]) + "\n";
    }
  }
  return text.empty() ? "nothing is in flight\n" : text;
}

std::string Debugger::where() const {
  std::string text;
  for (std::uint32_t cta = 0; cta < replay_.places().ctas().size(); ++cta) {
    for (std::uint32_t warp = 0; warp < program_->kernel->launch.warps; ++warp) {
      const Replay::WarpPosition* position = replay_.position(cta, warp);
      text += fmt::format("CTA {} warp {}: ", cta, warp);
      if (!position)
        text += "not started\n";
      else if (position->exited == ~0u)
        text += "has ended\n";
      else {
        const std::string_view how = position->kind == sim::Event::Kind::block ? "waits in" : "after";
        text +=
            fmt::format("{} {}{}, #{}\n", how, position->stmt ? statement_text(*program_->kernel, *position->stmt) : "exit",
                        position->stmt && position->stmt->at.line > 0 ? fmt::format(" (line {})", position->stmt->at.line) : "",
                        position->event);
      }
    }
  }
  return text;
}

std::string Debugger::list() const {
  std::string text;
  for (const Statements::Entry& entry : statements_.all()) {
    std::string warps;
    for (std::uint32_t warp = 0; warp < program_->kernel->launch.warps; ++warp) {
      const Replay::WarpPosition* position = replay_.position(cta_, warp);
      if (position && position->stmt == entry.stmt && position->exited != ~0u)
        warps += fmt::format("{}{}", warps.empty() ? "" : ",", warp);
    }
    text +=
        fmt::format("{:>8} {:>5} | {}{}{}\n", warps.empty() ? "" : warps + " >",
                    entry.stmt->at.line > 0 ? std::to_string(entry.stmt->at.line) : "",
                    std::string(static_cast<std::size_t>(2 * entry.depth), ' '),
                    entry.stmt->label.empty() ? "" : entry.stmt->label + ": ", statement_text(*program_->kernel, *entry.stmt));
  }
  return text;
}

std::string Debugger::findings() const {
  std::string text;
  for (const Recording::KeptFinding& kept : recording_.findings()) {
    text += fmt::format("{}{} {}: {}: {}\n", kept.event ? fmt::format("#{} ", *kept.event) : "", name(kept.finding.severity),
                        id(kept.finding.verdict), describe(kept.finding.at), kept.finding.message);
    if (kept.finding.other)
      text += fmt::format("    the other one: {}{}\n", describe(*kept.finding.other),
                          kept.other_event ? fmt::format(", #{}", *kept.other_event) : "");
    text += fmt::format("    rule: {} ({})\n", kept.finding.rule, kept.finding.section);
  }
  return text.empty() ? "no findings\n" : text;
}

std::string Debugger::help() {
  return "step [N]                      the next event, or N of them\n"
         "step warp W                   to the next event of the warp\n"
         "back [N]                      undo events\n"
         "goto N                        to behind event N\n"
         "continue                      to the next finding, or to the end\n"
         "continue to LINE|LABEL|PATH   to the next event of a statement\n"
         "continue to write WHAT        to the event that writes it\n"
         "print WHAT                    its value and state\n"
         "print reg R.r[0] warp W       a register of all threads of a warp\n"
         "print barrier [NAME]          phases and arrivals\n"
         "who WHAT                      who wrote it last\n"
         "flight                        asynchronous operations under way\n"
         "where                         where every warp is\n"
         "list                          the program, with the warps of the CTA\n"
         "findings                      all findings of the run\n"
         "cta N                         speak about another CTA\n"
         "quit\n"
         "WHAT: cell LANE,COLUMN; an element as acc[3,5]; reg R.r[0] THREAD. Commands may be shortened; an empty line steps.\n";
}

std::string Debugger::command(std::string_view line) {
  const std::size_t remark = line.find('#');
  if (remark == 0) return {};
  Words words = words_of(line);
  if (words.empty()) words = {"step"};
  const std::string& name = words.front();
  try {
    if (is(name, "step")) return step(words);
    if (is(name, "back")) return back(words);
    if (is(name, "goto")) return go(words);
    if (is(name, "continue")) return continue_to(words);
    if (is(name, "print")) return print(words);
    if (is(name, "who", 3)) return who(words);
    if (is(name, "where", 4)) return where();
    if (is(name, "flight", 2) || name == "in-flight") return flight();
    if (is(name, "findings", 2)) return findings();
    if (is(name, "list")) return list();
    if (is(name, "help")) return help();
    if (is(name, "cta", 3)) {
      cta_ = number(words.size() > 1 ? words[1] : "", "CTA of the grid", replay_.places().ctas().size());
      return fmt::format("CTA {}\n", cta_);
    }
    if (is(name, "quit")) {
      finished_ = true;
      return {};
    }
    throw Mistake{fmt::format("there is no command '{}'; help lists them", name)};
  } catch (const Mistake& mistake) {
    ++mistakes_;
    return mistake.text + "\n";
  }
}

}  // namespace tmemsim::report
