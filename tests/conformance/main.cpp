// conformance FILE...: runs the cases of case files. One line a failing case and one a skipped operation; the last line is
// "N passed, N failed, N skipped". Exit code 0; 1 when a case failed; 2 when a file is bad (located message).
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "ir/diagnostic.hpp"
#include "tests/conformance/runners.hpp"

namespace tmemsim::conformance {
namespace {

constexpr std::uintmax_t largest_file = 64u << 20;

struct Tally {
  int passed = 0, failed = 0, skipped = 0;
  bool bad_file = false;
};

SourceFile read_source(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw InputError(fmt::format("{} is no file", path));
  if (std::filesystem::file_size(path, error) > largest_file) throw InputError(fmt::format("{} is larger than 64 MiB", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{} cannot be read", path));
  return {path, std::string(std::istreambuf_iterator<char>(file), {})};
}

[[noreturn]] void bad_file(const SourceFile& source, const YAML::Mark& mark, const std::string& message) {
  const bool known = !mark.is_null();
  const SourceLoc at{0, known ? static_cast<std::uint32_t>(mark.line) + 1 : 1,
                     known ? static_cast<std::uint32_t>(mark.column) + 1 : 1};
  input_error({source}, at, message);
}

bool is_case_list(const YAML::Node& node) {
  if (!node.IsSequence() || node.size() == 0) return false;
  for (const YAML::Node& item : node) {
    if (!item.IsMap()) return false;
  }
  return true;
}

// Every top-level list of maps holds cases.
std::vector<Case> cases_of(const SourceFile& source) {
  const YAML::Node document = YAML::Load(source.text);
  if (!document.IsMap()) bad_file(source, document.Mark(), "expected a map with a list of cases");
  const std::string stem = std::filesystem::path(source.name).stem().string();
  std::vector<Case> cases;
  for (const auto& entry : document) {
    if (!is_case_list(entry.second)) continue;
    for (std::size_t i = 0; i < entry.second.size(); ++i) cases.push_back({stem, entry.first.Scalar(), i, entry.second[i]});
  }
  if (cases.empty()) bad_file(source, document.Mark(), "expected a list of cases (cases:, reports:, atoms:)");
  return cases;
}

Outcome run_case(const Case& one) {
  for (const Runner& runner : runners()) {
    if (!runner.recognises(one)) continue;
    try {
      return runner.run(one);
    } catch (const BadCase&) { throw; } catch (const YAML::Exception&) {
      throw;
    } catch (const std::exception& error) { return failed(error.what()); }
  }
  return skipped(one.operation().empty() ? one.file : one.operation());
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string line;
  for (char c : text) line += c == '\n' ? std::string("; ") : std::string(1, c);
  return line;
}

void run_cases(const SourceFile& source, Tally& tally) {
  std::map<std::string, int> skipped_operations;
  for (const Case& one : cases_of(source)) {
    const Outcome outcome = run_case(one);
    switch (outcome.kind) {
      case Outcome::Kind::passed:
        ++tally.passed;
        break;
      case Outcome::Kind::skipped:
        ++tally.skipped;
        ++skipped_operations[outcome.text];
        break;
      case Outcome::Kind::failed:
        ++tally.failed;
        fmt::print("{}:{}: {} failed: {}\n", source.name, one.node.Mark().line + 1, one.title(), one_line(outcome.text));
        break;
    }
  }
  for (const auto& [operation, count] : skipped_operations) {
    fmt::print("{}: skipped, not built yet: {} ({} {})\n", source.name, operation, count, count == 1 ? "case" : "cases");
  }
}

void run_file(const std::string& path, Tally& tally) {
  const SourceFile source = read_source(path);
  try {
    run_cases(source, tally);
  } catch (const BadCase& error) { bad_file(source, error.mark, error.what()); } catch (const YAML::Exception& error) {
    bad_file(source, error.mark, error.msg);
  }
}

int run(const std::vector<std::string>& paths) {
  Tally tally;
  for (const std::string& path : paths) {
    try {
      run_file(path, tally);
    } catch (const InputError& error) {
      tally.bad_file = true;
      fmt::print(stderr, "{}", error.what());
    }
  }
  std::fflush(stderr);
  fmt::print("{} passed, {} failed, {} skipped\n", tally.passed, tally.failed, tally.skipped);
  return tally.bad_file ? 2 : tally.failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tmemsim::conformance

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: conformance FILE...\n");
    return 2;
  }
  return tmemsim::conformance::run({argv + 1, argv + argc});
}
