#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/diagnostic.hpp"

namespace tmemsim::cli {
namespace {

// An option that may be given several times, one value each time.
void add_each(CLI::App& command, const std::string& name, std::vector<std::string>& values, const std::string& what, const std::string& value) {
  command.add_option(name, values, what)->allow_extra_args(false)->type_name(value);
}

// The words stand in the help text as the type of the value already.
CLI::Validator one_of(std::vector<std::string> words) { return CLI::Validator(CLI::IsMember(std::move(words))).description(""); }

// CLI11 reads -1 as the largest unsigned number.
CLI::Validator digits_only() {
  return {[](std::string& text) {
            std::uint64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            return error == std::errc() && end == text.data() + text.size() ? std::string() : fmt::format("'{}' is no whole number from 0 to 2^64 - 1", text);
          }, ""};
}

sim::Policy policy_named(const std::string& name) {
  if (name == "early") return sim::Policy::early;
  if (name == "random") return sim::Policy::random;
  if (name == "adversarial") return sim::Policy::adversarial;
  return sim::Policy::late;
}

sim::Scheduler scheduler_named(const std::string& name) {
  if (name == "random") return sim::Scheduler::random;
  return sim::Scheduler::round_robin;
}

}  // namespace

void add_options(CLI::App& command, KernelOptions& options) {
  add_each(command, "--define", options.define, "Set a parameter of the scenario; may be repeated", "NAME=VALUE");
  add_each(command, "--only", options.only, "Of a sweep, only the instances with this value; may be repeated", "NAME=VALUE");
}

void add_options(CLI::App& command, SimOptions& options) {
  command.add_option("--profile", options.profile, "Severities: the letter of the ISA, or what hardware tolerates (default: the scenario's, else strict)")
      ->check(one_of({"strict", "lenient"}))->type_name("strict|lenient");
  add_each(command, "--set", options.set, "Set one switch of the profile; may be repeated", "SWITCH=VALUE");
  command.add_option("--policy", options.policy, "When asynchronous operations take effect (late)")
      ->check(one_of({"early", "late", "random", "adversarial"}))->type_name("early|late|random|adversarial");
  command.add_option("--scheduler", options.scheduler, "Which warp goes next (round-robin)")
      ->check(one_of({"round-robin", "random", "exhaustive"}))->type_name("round-robin|random|exhaustive");
  command.add_option("--replay", options.replay, "Run the one schedule that an earlier run has printed")->type_name("TOKEN");
  command.add_option("--seed", options.seed, "Of everything random (0)")->check(digits_only())->type_name("N");
  command.add_option("--max-steps", options.max_steps, "Executed warp instructions after which a run stops (10,000,000)")
      ->check(digits_only())->type_name("N");
}

void add_schedules(CLI::App& command, SimOptions& options) {
  command.add_option("--schedules", options.most_schedules,
                     fmt::format("Run up to N schedules that may differ (--scheduler exhaustive alone: {})", SimOptions::exhaustive_bound))
      ->check(digits_only())->check(CLI::PositiveNumber)->type_name("N");
}

std::uint64_t SimOptions::schedules() const {
  const bool exhaustive = scheduler == "exhaustive";
  const bool many = exhaustive || most_schedules > 0;
  if (many && !replay.empty()) throw InputError("--replay runs one schedule, --schedules and --scheduler exhaustive run many", "give one of them");
  if (most_schedules > 0 && scheduler == "random") throw InputError("--schedules takes schedules in order, not at random", "leave --scheduler out");
  return many ? std::max<std::uint64_t>(most_schedules > 0 ? most_schedules : exhaustive_bound, 1) : 1;
}

sim::Options SimOptions::for_profile(const std::optional<std::string>& of_file) const {
  sim::Options options;
  options.profile = Profile::named(!profile.empty() ? profile : of_file.value_or("strict")).value_or(Profile::strict());
  for (const std::string& assignment : set) options.profile.set(assignment);
  options.policy = policy_named(policy);
  options.scheduler = scheduler_named(scheduler);
  options.seed = seed;
  options.max_steps = max_steps;
  return options;
}

sim::Options SimOptions::for_run(const std::optional<std::string>& of_file, const Program& program) const {
  sim::Options options = for_profile(of_file);
  if (!replay.empty()) options.schedule = sim::from_token(replay, program);
  return options;
}

Scenario only_run(const std::string& file, const KernelOptions& kernels, const SimOptions& simulation, std::string_view shows) {
  std::vector<Scenario> scenarios = load_scenarios(file, kernels.load());
  if (scenarios.size() != 1)
    throw InputError(fmt::format("{} one run, {} has {}", shows, file, scenarios.size()), "choose one with --only NAME=VALUE");
  if (simulation.schedules() != 1)
    throw InputError(fmt::format("{} one run, --scheduler exhaustive makes many", shows), "give the --replay TOKEN of one of them");
  return std::move(scenarios.front());
}

void add_number(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& what) {
  command.add_option(name, value, what)->check(digits_only())->type_name("N");
}

void add_format(CLI::App& command, std::string& format, std::vector<std::string> formats) {
  format = formats.front();
  const std::string names = fmt::format("{}", fmt::join(formats, "|"));
  command.add_option("--format", format, fmt::format("Form of the answer ({})", format))->check(one_of(std::move(formats)))->type_name(names);
}

void add_output(CLI::App& command, std::string& path, const std::string& what) {
  command.add_option("-o,--output", path, what)->type_name("FILE");
}

void add_examples(CLI::App& command, const std::vector<std::string>& lines) {
  command.footer(fmt::format("\nExamples:\n  {}\n", fmt::join(lines, "\n  ")));
}

}  // namespace tmemsim::cli
