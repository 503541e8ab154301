#include "diff/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "diff/process.hpp"
#include "emit/emit.hpp"

namespace tmemsim::diff {
namespace {

std::string first_line(const std::string& text, std::size_t from = 0) {
  const std::size_t end = std::min(text.find('\n', from), text.size());
  return text.substr(from, std::min<std::size_t>(end - from, 300));
}

// The first line that says error, else the first line.
std::string first_error(const std::string& output) {
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    if (line.find("error") != std::string::npos || line.find("fatal") != std::string::npos) return line.substr(0, 300);
    begin = end + 1;
  }
  return first_line(output);
}

// The last line that says something: what a program prints before it gives up.
std::string last_words(std::string output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == ' ')) output.pop_back();
  const std::size_t start = output.rfind('\n');
  return first_line(output, start == std::string::npos ? 0 : start + 1);
}

// What a process that ran some cases tells: which runs are done, and which one was going on when it ended.
class Progress {
 public:
  bool line(std::string_view text) {
    if (text.starts_with("run ")) {
      started_ = done_ + 1;
      return true;
    }
    if (!text.starts_with("done ")) return false;
    done_ = started_;
    return true;
  }
  std::size_t done() const { return done_; }
  bool running() const { return started_ > done_; }

 private:
  std::size_t started_ = 0, done_ = 0;
};

class Batch {
 public:
  Batch(const std::filesystem::path& folder, const std::vector<CaseRuns>& cases, std::chrono::milliseconds limit)
      : folder_(folder), cases_(cases), limit_(limit), outcomes_(cases.size()) {}

  std::vector<CaseOutcome> run() {
    std::vector<std::size_t> together;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (!cases_[i].alone) together.push_back(i);
    }
    while (!together.empty()) together = run_together(together);
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].alone || suspect_.count(i) > 0) run_alone(i);
    }
    return std::move(outcomes_);
  }

 private:
  struct Attempt {
    Ended ended;
    std::size_t cases_done = 0;
    std::string reason;
  };

  Attempt attempt(const std::vector<std::size_t>& which) const {
    Command command{{(folder_ / "k").string()}, folder_, limit_};
    for (const std::size_t i : which) {
      for (const Run& run : cases_[i].runs) command.words.insert(command.words.end(), {std::to_string(run.number), run.in, run.out});
    }
    Progress progress;
    Attempt result;
    result.ended = diff::run(command, [&](std::string_view line) { return progress.line(line); });
    std::size_t runs = 0;
    for (const std::size_t i : which) {
      runs += cases_[i].runs.size();
      if (runs > progress.done()) break;
      ++result.cases_done;
    }
    if (result.ended.ok() && result.cases_done == which.size()) return result;
    const std::string words = last_words(result.ended.output);
    const bool says_why = !words.empty() && !words.starts_with("run ") && !words.starts_with("done ");
    result.reason = fmt::format("the program did not do its work: {}{}", describe(result.ended, command), says_why ? "; " + words : "");
    if (result.ended.how == Ended::How::timed_out) result.reason = fmt::format("the program hangs: {}", describe(result.ended, command));
    return result;
  }

  // The cases that are left, without the one that stopped the process.
  std::vector<std::size_t> run_together(const std::vector<std::size_t>& which) {
    const Attempt result = attempt(which);
    for (std::size_t k = 0; k < result.cases_done; ++k) outcomes_[which[k]].ok = true;
    if (result.cases_done == which.size()) return {};
    suspect_.insert(which[result.cases_done]);
    return {which.begin() + static_cast<std::ptrdiff_t>(result.cases_done) + 1, which.end()};
  }

  void run_alone(std::size_t i) {
    const Attempt result = attempt({i});
    outcomes_[i] = {result.cases_done == 1, result.reason};
  }

  const std::filesystem::path& folder_;
  const std::vector<CaseRuns>& cases_;
  std::chrono::milliseconds limit_;
  std::vector<CaseOutcome> outcomes_;
  std::set<std::size_t> suspect_;
};

}  // namespace

Toolchain nvcc_toolchain(const std::filesystem::path& nvcc, emit::Arch arch) {
  Toolchain toolchain{nvcc, {}};
  std::istringstream flags(emit::nvcc_flags(arch));
  for (std::string flag; flags >> flag;) toolchain.options.push_back(flag);
  return toolchain;
}

Built build(const Toolchain& toolchain, const std::filesystem::path& folder, std::chrono::milliseconds limit) {
  Command command{{toolchain.compiler.string()}, folder, limit};
  command.words.insert(command.words.end(), toolchain.options.begin(), toolchain.options.end());
  command.words.insert(command.words.end(), {"k.cu", "-o", "k"});
  const Ended ended = run(command);
  std::ofstream(folder / "build.log") << ended.output;
  if (ended.ok()) return {true, {}};
  if (ended.how != Ended::How::exited) return {false, fmt::format("the compiler: {}", describe(ended, command))};
  return {false, fmt::format("the emitted program does not compile: {}", first_error(ended.output))};
}

std::vector<CaseOutcome> run_cases(const std::filesystem::path& folder, const std::vector<CaseRuns>& cases, std::chrono::milliseconds limit) {
  return Batch(folder, cases, limit).run();
}

}  // namespace tmemsim::diff
