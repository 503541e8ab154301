#include "report/text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/dtype.hpp"

namespace tmemsim::report {
namespace {

enum class Ink { plain, bold, red, yellow, green, blue, faint };

class Page {
 public:
  Page(const RunResult& run, const TextOptions& options) : run_(run), options_(options) {}

  std::string inked(Ink ink, std::string_view words) const {
    if (!options_.colour || ink == Ink::plain) return std::string(words);
    constexpr std::string_view codes[]{"", "1", "1;31", "1;33", "1;32", "1;36", "2"};
    return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<int>(ink)], words);
  }

  void line(std::string_view words) { text_ += fmt::format("{}\n", words); }
  void text(std::string_view lines) { text_ += lines; }

  // "file:3:7: " or "" when it is unknown.
  std::string location(SourceLoc at) const {
    if (!has_source(at)) return {};
    return inked(Ink::bold, fmt::format("{}:{}:{}:", run_.kernel->files[at.file].name, at.line, std::max(1u, at.col))) + " ";
  }

  // The source line under its number, a caret below, and a remark behind the caret.
  void source(SourceLoc at, Ink ink, std::string_view remark) {
    if (!has_source(at)) return line(fmt::format("    {}", remark));
    const std::string shown = source_line(at);
    const std::size_t caret = std::min<std::size_t>(at.col > 0 ? at.col - 1 : 0, shown.size());
    line(fmt::format("{}{}", inked(Ink::faint, fmt::format("{:>5} | ", at.line)), shown));
    line(fmt::format("{}{}{}", inked(Ink::faint, "      | "), std::string(caret, ' '), inked(ink, remark.empty() ? "^" : fmt::format("^ {}", remark))));
  }

  void field(std::string_view label, std::string_view words) {
    if (!words.empty()) line(fmt::format("  {} {}", inked(Ink::faint, fmt::format("{:>6}:", label)), words));
  }

  std::string take() && { return std::move(text_); }

 private:
  bool has_source(SourceLoc at) const { return run_.kernel && at.line > 0 && at.file < run_.kernel->files.size(); }

  std::string source_line(SourceLoc at) const {
    const std::string& all = run_.kernel->files[at.file].text;
    std::size_t begin = 0;
    for (std::uint32_t line = 1; line < at.line && begin != std::string::npos; ++line) {
      begin = all.find('\n', begin);
      if (begin != std::string::npos) ++begin;
    }
    if (begin == std::string::npos) return {};
    std::string shown = all.substr(begin, std::min<std::size_t>(all.find('\n', begin) - begin, 160));
    for (char& c : shown)
      if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = c == '\t' ? ' ' : '?';
    while (!shown.empty() && shown.back() == ' ') shown.pop_back();
    return shown;
  }

  const RunResult& run_;
  const TextOptions& options_;
  std::string text_;
};

Ink ink_of(Severity severity) {
  return severity == Severity::error ? Ink::red : severity == Severity::warning ? Ink::yellow : Ink::blue;
}

std::string range(std::pair<std::int64_t, std::int64_t> range) {
  return range.first == range.second ? fmt::format("{}", range.first) : fmt::format("{}-{}", range.first, range.second);
}

std::string plural(std::uint64_t count, std::string_view word) { return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s"); }

std::string index_text(const std::vector<std::int64_t>& index) { return index.empty() ? "" : fmt::format("[{}]", fmt::join(index, ", ")); }

std::string place_text(const Place& place) {
  std::vector<std::string> parts;
  if (!place.space.empty()) parts.push_back(place.space == "tmem" ? "tensor memory" : place.space == "register" ? "registers" : place.space);
  if (!place.buffer.empty()) parts.push_back(place.buffer + index_text(place.index));
  if (place.sm) parts.push_back(fmt::format("SM {}", *place.sm));
  if (place.cta) parts.push_back(fmt::format("CTA {}", *place.cta));
  const auto add = [&](std::string_view word, const std::optional<std::pair<std::int64_t, std::int64_t>>& pair) {
    if (pair) parts.push_back(fmt::format("{}{} {}", word, pair->first == pair->second ? "" : "s", range(*pair)));
  };
  add("lane", place.lanes);
  add("column", place.columns);
  add("byte", place.bytes);
  if (place.reg) parts.push_back(fmt::format("register {}", *place.reg));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void write_finding(Page& page, const Finding& finding, const std::string& worksheet) {
  const Ink ink = ink_of(finding.severity);
  page.line(fmt::format("{}{} {}", page.location(finding.at.at), page.inked(ink, fmt::format("{}: {}:", name(finding.severity), id(finding.verdict))),
                        page.inked(Ink::bold, finding.message)));
  page.source(finding.at.at, ink, describe(finding.at));
  if (finding.other) page.source(finding.other->at, Ink::blue, "other: " + describe(*finding.other));
  page.field("where", place_text(finding.where));
  if (finding.count > 1) page.field("count", fmt::format("{} instances (other lanes, warps, CTAs or iterations)", finding.count));
  page.field("rule", finding.section.empty() || finding.section == "tool" ? finding.rule : fmt::format("{} [PTX ISA {}]", finding.rule, finding.section));
  page.field("fix", finding.fix);
  if (finding.profile_switch) page.field("switch", fmt::format("{}={}", finding.profile_switch->first, finding.profile_switch->second));
  page.text(worksheet);
  page.line("");
}

std::string value_text(Dtype dtype, std::uint64_t value, bool unwritten = false) {
  const std::string bits_text = fmt::format("0x{:0{}x}", value, (bits(dtype) + 3) / 4);
  if (unwritten) return fmt::format("{} (never written)", bits_text);
  return fmt::format("{} (bits {})", format_value(dtype, value), bits_text);
}

std::string way_text(const Mismatch& mismatch) {
  std::vector<std::string> parts;
  if (mismatch.cta) parts.push_back(fmt::format("CTA {}", *mismatch.cta));
  if (mismatch.thread) parts.push_back(fmt::format("thread {}", *mismatch.thread));
  if (mismatch.reg) parts.push_back(fmt::format("register {}", *mismatch.reg));
  if (mismatch.lane) parts.push_back(fmt::format("TMEM lane {}", *mismatch.lane));
  if (mismatch.column) parts.push_back(fmt::format("column {}", *mismatch.column));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void write_mismatch(Page& page, const Mismatch& mismatch, std::uint64_t differing) {
  const SourceLoc at = mismatch.at ? *mismatch.at : mismatch.written_by ? mismatch.written_by->at : SourceLoc{};
  const std::string what = mismatch.buffer.empty() ? "a cell" : mismatch.buffer + index_text(mismatch.index);
  page.line(fmt::format("{}{} {}", page.location(at), page.inked(Ink::red, "mismatch:"),
                        page.inked(Ink::bold, fmt::format("{} differs from {}", what, mismatch.against))));
  page.field("wanted", value_text(mismatch.dtype, mismatch.expected_bits));
  page.field("found", value_text(mismatch.dtype, mismatch.actual_bits, mismatch.unwritten));
  page.field("way", way_text(mismatch));
  if (mismatch.written_by) page.source(mismatch.written_by->at, Ink::red, fmt::format("written by {}", describe(*mismatch.written_by)));
  if (differing > 1) page.field("count", fmt::format("{} differ in all; this is the first", differing));
  page.line("");
}

std::string schedules_text(const RunResult& run) {
  const std::string number = run.explored ? fmt::format(" ({} explored)", run.explored->schedules) : std::string();
  return (run.all_schedules ? "holds for all schedules" : run.replay.empty() && !run.explored ? "holds for this schedule" : "holds for the schedule shown") + number;
}

std::string summary(const RunResult& run) {
  std::vector<std::string> parts;
  if (run.status == Status::error || (run.status == Status::unsupported && run.unsupported)) return {};
  parts.push_back(plural(run.steps, "step"));
  if (run.reference.compared > 0) parts.push_back(fmt::format("{} compared", plural(run.reference.compared, "element")));
  if (run.stated.compared > run.stated.differing) parts.push_back(fmt::format("{} as stated", plural(run.stated.compared - run.stated.differing, "value")));
  parts.push_back(schedules_text(run));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string headline(const RunResult& run) {
  const auto count = [&](Severity severity) {
    return static_cast<std::uint64_t>(std::count_if(run.findings.begin(), run.findings.end(), [&](const Finding& f) { return f.severity == severity; }));
  };
  std::vector<std::string> parts;
  const std::uint64_t errors = count(Severity::error), warnings = count(Severity::warning), notes = count(Severity::note);
  if (run.status == Status::findings) parts.push_back(plural(errors, "error"));
  else parts.push_back(std::string(name(run.status)));
  if (warnings > 0) parts.push_back(plural(warnings, "warning"));
  if (notes > 0) parts.push_back(plural(notes, "note"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void write_unordered(Page& page, const RunResult& run) {
  constexpr std::size_t most = 4;
  for (std::size_t i = 0; i < std::min(run.unordered.size(), most); ++i) {
    const auto& [first, second] = run.unordered[i];
    page.line(fmt::format("{}{} nothing orders {} and {}{}", page.location(first.at), page.inked(Ink::blue, "unordered:"), describe(first), describe(second),
                          second.at.line > 0 && second.at.line != first.at.line ? fmt::format(" (line {})", second.at.line) : ""));
  }
  if (run.unordered.size() > most) page.line(fmt::format("... and {} more such pairs", run.unordered.size() - most));
  for (std::size_t i = 0; i < std::min(run.choices.size(), most); ++i) {
    const OpenChoice& choice = run.choices[i];
    page.line(fmt::format("{}{} {}: {}", page.location(choice.at.at), page.inked(Ink::blue, "open:"), choice.what, describe(choice.at)));
  }
  if (run.choices.size() > most) page.line(fmt::format("... and {} more open choices", run.choices.size() - most));
}

void write_explored(Page& page, const RunResult& run) {
  if (!run.explored) return;
  const Explored& explored = *run.explored;
  std::string line = plural(explored.schedules, "schedule");
  if (explored.complete) line += ": all that can differ";
  else if (explored.out_of_steps) line += ": stopped at ten times --max-steps, there are more";
  else line += ": not all of them";
  page.line(fmt::format("{} {}", page.inked(Ink::blue, "explored:"), line));
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(explored.outcomes.size(), most); ++i) {
    const Explored::Outcome& one = explored.outcomes[i];
    page.line(fmt::format("  {} of {}: {}{}{}", one.count, explored.schedules, page.inked(one.as_expected ? Ink::green : Ink::red, one.what),
                          one.as_expected ? "" : ", not as expected", one.replay.empty() ? "" : fmt::format("; --replay {}", one.replay)));
  }
  if (explored.outcomes.size() > most) page.line(fmt::format("  ... and {} more outcomes", explored.outcomes.size() - most));
}

// What `check` promises, and what it cannot: statements that this run did not come to.
void write_coverage(Page& page, const RunResult& run) {
  if (!run.rules_only || run.status == Status::unsupported) return;
  constexpr std::size_t most = 4;
  for (std::size_t i = 0; i < std::min(run.never_executed.size(), most); ++i) {
    const Ref& ref = run.never_executed[i];
    page.line(fmt::format("{}{} no thread comes to {}{}: nothing is said about it", page.location(ref.at), page.inked(Ink::blue, "not checked:"), ref.op,
                          ref.label.empty() ? "" : fmt::format(" ({})", ref.label)));
  }
  if (run.never_executed.size() > most) page.line(fmt::format("... and {} more statements", run.never_executed.size() - most));
}

// The first line of a reason stands beside its place, the rest (a table) below the source line.
void write_unsupported(Page& page, const RunResult& run) {
  const std::size_t end = std::min(run.reason.find('\n'), run.reason.size());
  page.line(fmt::format("{}{} {}", run.unsupported_at ? page.location(*run.unsupported_at) : "", page.inked(Ink::yellow, "unsupported:"),
                        page.inked(Ink::bold, run.reason.substr(0, end))));
  if (run.unsupported_at) page.source(*run.unsupported_at, Ink::yellow, "");
  if (end < run.reason.size()) page.line(run.reason.substr(end + 1));
}

}  // namespace

std::string unsupported_text(std::shared_ptr<const Kernel> kernel, SourceLoc at, std::string reason) {
  RunResult run;
  run.kernel = std::move(kernel);
  run.reason = std::move(reason);
  while (!run.reason.empty() && run.reason.back() == '\n') run.reason.pop_back();
  if (at.line > 0) run.unsupported_at = at;
  const TextOptions plain;
  Page page(run, plain);
  write_unsupported(page, run);
  return std::move(page).take();
}

std::string lanes_text(std::uint32_t mask) {
  std::vector<std::string> parts;
  for (std::int64_t lane = 0; lane < 32;) {
    if ((mask >> lane & 1) == 0) { ++lane; continue; }
    std::int64_t last = lane;
    while (last + 1 < 32 && (mask >> (last + 1) & 1)) ++last;
    parts.push_back(range({lane, last}));
    lane = last + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string describe(const Ref& ref) {
  std::string text = ref.op;
  if (!ref.label.empty()) text += fmt::format(" ({})", ref.label);
  text += fmt::format(", CTA {}, warp {}", ref.cta, ref.warp);
  if (ref.lanes != 0 && ref.lanes != ~0u) text += fmt::format(", lane{} {}", (ref.lanes & (ref.lanes - 1)) == 0 ? "" : "s", lanes_text(ref.lanes));
  for (const auto& [variable, value] : ref.loop) text += fmt::format(", {}={}", variable, value);
  return text;
}

std::string text(const RunResult& run, const TextOptions& options) {
  Page page(run, options);
  if (run.status == Status::error) {
    page.line(run.reason);
    return std::move(page).take();
  }
  for (std::size_t i = 0; i < run.findings.size(); ++i)
    if (run.findings[i].severity != Severity::note || options.notes)
      write_finding(page, run.findings[i], i < run.worksheets.size() ? run.worksheets[i] : std::string());
  if (const Mismatch* mismatch = run.mismatch())
    write_mismatch(page, *mismatch, mismatch == (run.stated.first ? &*run.stated.first : nullptr) ? run.stated.differing : run.reference.differing);
  write_unordered(page, run);
  write_coverage(page, run);
  write_explored(page, run);
  if (run.status == Status::unsupported) write_unsupported(page, run);
  for (const std::string& sentence : run.unmet) page.line(fmt::format("{} {}", page.inked(Ink::red, "expect:"), sentence));

  const bool wanted = run.as_expected && run.status != Status::clean;
  const std::string facts = summary(run);
  page.line(fmt::format("{}: {}{}{}{}", page.inked(Ink::bold, run.instance), page.inked(run.as_expected ? Ink::green : Ink::red, headline(run)),
                        wanted ? ", as expected" : "", facts.empty() ? "" : "; ", facts));
  return std::move(page).take();
}

}  // namespace tmemsim::report
