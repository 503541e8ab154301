// Probes are compiled and run, and what was seen is put next to what the profiles assume.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "diff/diff.hpp"
#include "diff/probe/probe.hpp"
#include "diff/process.hpp"
#include "diff/program.hpp"
#include "diff/workplace.hpp"
#include "ir/profile.hpp"

namespace tmemsim::diff {
namespace {

using Json = nlohmann::ordered_json;

bool among(std::string_view answers, std::string_view answer) {
  if (answers == "*") return true;
  for (;;) {
    const std::size_t end = std::min(answers.find('|'), answers.size());
    if (answers.substr(0, end) == answer) return true;
    if (end == answers.size()) return false;
    answers.remove_prefix(end + 1);
  }
}

Assumption assumption(const Probe& probe, const Profile& profile, std::string_view answer) {
  std::string_view value = probe.assumed;
  if (!probe.on_switch.empty()) {
    for (const SwitchFacts& facts : switch_table()) {
      if (facts.name == probe.on_switch) value = profile.value(facts.which);
    }
  }
  Assumption result{std::string(profile.name()), probe.on_switch.empty() ? std::string(value) : fmt::format("{}={}", probe.on_switch, value), false};
  for (const Fit& fit : probe.fits) {
    if (fit.assumption == value) result.fits = among(fit.answers, answer);
  }
  return result;
}

bool is_for(const Probe& probe, const Gpu& gpu) {
  return probe.only_arch.empty() || (" " + std::string(probe.only_arch) + " ").find(" " + name(arch_of(gpu)) + " ") != std::string::npos;
}

Seen run_one(const Probe& probe, const std::filesystem::path& folder, const Built& built, std::chrono::seconds limit) {
  if (!built.ok) return {"not compiled", built.reason};
  const Command command{{(folder / "k").string()}, folder, limit};
  const Ended ended = run(command);
  if (ended.how == Ended::How::timed_out) return {"hangs", describe(ended, command)};
  if (!ended.ok()) return {"faults", ended.output.empty() ? describe(ended, command) : ended.output.substr(0, ended.output.find('\n'))};
  return seen_in_output(probe, ended.output);
}

}  // namespace

Seen seen_in_output(const Probe& probe, const std::string& output) {
  std::vector<std::uint32_t> words;
  const char* at = output.data();
  const char* const end = at + output.size();
  while (at != end) {
    std::uint32_t word = 0;
    const auto [stop, error] = std::from_chars(at, end, word, 16);
    if (error != std::errc() || stop == end || *stop != '\n') return {"not readable", output.substr(0, output.find('\n'))};
    words.push_back(word);
    at = stop + 1;
  }
  if (words.size() != probe.words) return {"not readable", fmt::format("{} words instead of {}", words.size(), probe.words)};
  return probe.see(words);
}

Answer answer_of(const Probe& probe, const Seen& seen) {
  Answer answer{std::string(probe.name), std::string(probe.question), seen.answer, seen.detail, {}};
  for (const Profile& profile : {Profile::strict(), Profile::lenient()}) answer.assumptions.push_back(assumption(probe, profile, seen.answer));
  return answer;
}

std::string text(const Answer& answer) {
  std::string text = fmt::format("{}: {}\n  seen:    {}{}\n", answer.probe, answer.question, answer.seen, answer.detail.empty() ? "" : fmt::format(" ({})", answer.detail));
  for (const Assumption& assumption : answer.assumptions) {
    text += fmt::format("  {:<8} {}: {}\n", assumption.profile + ":", assumption.assumption, assumption.fits ? "fits" : "does not fit");
  }
  return text;
}

std::string probe_report(const Machine& machine, emit::Arch arch, const std::vector<Answer>& answers) {
  Json list = Json::array();
  for (const Answer& answer : answers) {
    Json assumptions = Json::array();
    for (const Assumption& assumption : answer.assumptions) {
      assumptions.push_back({{"profile", assumption.profile}, {"assumption", assumption.assumption}, {"fits", assumption.fits}});
    }
    list.push_back({{"probe", answer.probe}, {"question", answer.question}, {"seen", answer.seen}, {"detail", answer.detail}, {"assumptions", std::move(assumptions)}});
  }
  const Json report{{"tmemsim_probe", 1},
                    {"device", machine.gpu ? machine.gpu->name : ""},
                    {"capability", machine.gpu ? capability_text(machine.gpu->capability()) : ""},
                    {"arch", name(arch)},
                    {"driver", machine.gpu ? machine.gpu->driver : ""},
                    {"toolkit", machine.nvcc ? "CUDA " + machine.nvcc->version : ""},
                    {"answers", std::move(list)}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<const Probe*> chosen_probes(const std::vector<std::string>& names) {
  std::vector<const Probe*> chosen;
  std::vector<std::string_view> known;
  for (const Probe& probe : probes()) {
    known.push_back(probe.name);
    if (names.empty()) chosen.push_back(&probe);
  }
  for (const std::string& wanted : names) {
    const auto found = std::find_if(probes().begin(), probes().end(), [&](const Probe& probe) { return probe.name == wanted; });
    if (found == probes().end()) {
      const std::string near = closest(wanted, known);
      throw InputError(fmt::format("there is no probe '{}'", wanted), near.empty() ? "tmemsim probe --list names them" : fmt::format("did you mean {}?", near));
    }
    chosen.push_back(&*found);
  }
  return chosen;
}

void check_probes_run(const Machine& machine) {
  constexpr std::string_view still = "`tmemsim probe --write DIR` writes the programs, which compile for sm_100a anywhere";
  if (!machine.gpu) throw Unsupported(fmt::format("{}: {}", machine.no_gpu, still));
  if (!machine.gpu->has_tmem()) {
    throw Unsupported(fmt::format("{} (compute capability {}) has no tensor memory, which probes ask about: {}", machine.gpu->name,
                                  capability_text(machine.gpu->capability()), still));
  }
  const Differ needs_the_same(Options{}, machine);  // nvcc, a driver that is new enough
}

std::vector<Answer> run_probes(const ProbeOptions& options, const Machine& machine, const std::function<void(const Answer&)>& done) {
  check_probes_run(machine);
  std::vector<const Probe*> chosen;
  for (const Probe* probe : chosen_probes(options.only)) {
    if (is_for(*probe, *machine.gpu)) chosen.push_back(probe);
  }
  const Toolchain toolchain = nvcc_toolchain(machine.nvcc->program, arch_of(*machine.gpu));
  std::vector<std::unique_ptr<Workplace>> places(chosen.size());
  std::vector<Built> built(chosen.size());
  std::atomic<std::size_t> next{0};
  const auto compile = [&] {
    for (std::size_t i = next++; i < chosen.size(); i = next++) {
      try {
        places[i] = std::make_unique<Workplace>(options.keep, "probe-" + std::string(chosen[i]->name));
        places[i]->write("k.cu", probe_program(*chosen[i]));
        built[i] = build(toolchain, places[i]->path(), std::chrono::minutes(5));
      } catch (const InputError& error) {
        built[i] = {false, error.what()};
      }
    }
  };
  std::vector<std::thread> compilers;
  const std::size_t jobs = options.jobs > 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(jobs, chosen.size()); ++i) compilers.emplace_back(compile);
  for (std::thread& compiler : compilers) compiler.join();

  std::vector<Answer> answers;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    answers.push_back(answer_of(*chosen[i], run_one(*chosen[i], places[i] ? places[i]->path() : std::filesystem::path(), built[i], options.limit)));
    if (done) done(answers.back());
  }
  return answers;
}

}  // namespace tmemsim::diff
