#include "report/explain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ir/profile.hpp"
#include "report/embedded.hpp"
#include "report/public_reports.hpp"

namespace tmemsim::report {
namespace {

std::string indented(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += end == 0 ? "\n" : fmt::format("    {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string program(std::string_view word, const std::string& name) {
  const auto files = verdict_programs();
  const auto found = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& file) { return file.name == name; });
  return found == files.end() ? std::string() : fmt::format("\n{}: scenarios/verdicts/{}\n\n{}", word, name, indented(found->text));
}

std::string reports_of(Verdict verdict) {
  std::string text;
  for (const PublicReport& report : public_reports()) {
    if (report.verdict != verdict) continue;
    text += fmt::format("  {:<8} {} ({}): {}\n           {}\n", text.empty() ? "reports" : "", report.id, name(report.status),
                        report.shows.empty() ? fmt::format("no program yet, needs {}", report.needs) : report.shows, report.url);
  }
  return text;
}

}  // namespace

std::string explain(Verdict verdict) {
  const VerdictFacts& row = facts(verdict);
  std::string text = fmt::format("{}: {}\n\n", row.id, row.meaning);
  text += fmt::format("  rule     {}\n", row.rule);
  text += fmt::format("  source   {}\n", row.section == "tool" ? "a rule of this tool" : fmt::format("PTX ISA {}", row.section));
  text += fmt::format("  fix      {}\n", row.fix);
  text += fmt::format("  severity {} (strict), {} (lenient)\n", name(severity_of(verdict, Profile::strict())), name(severity_of(verdict, Profile::lenient())));
  if (row.decided_by) {
    const SwitchFacts& decides = switch_table()[static_cast<std::size_t>(*row.decided_by)];
    text += fmt::format("  switch   --set {}={}: {}\n", decides.name, fmt::join(decides.values, "|"), decides.meaning);
  }
  const std::string id(row.id);
  return text + reports_of(verdict) + program("wrong", id + ".yaml") + program("right", id + ".fixed.yaml");
}

std::string verdict_list() {
  std::string text;
  for (const VerdictFacts& row : verdict_table()) text += fmt::format("{:<20} {}\n", row.id, row.meaning);
  return text + "\ntmemsim explain VERDICT tells the rule and how to fix it.\n";
}

}  // namespace tmemsim::report
