// Programs are started without a shell, bounded in time, and a case that faults or hangs loses only itself.
#include "diff/process.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "diff/machine.hpp"
#include "diff/program.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::diff;
using std::chrono::milliseconds;

namespace {

std::filesystem::path script(const tests::TemporaryFolder& folder, const std::string& name, const std::string& text) {
  const auto path = folder.write(name, "#!/bin/sh\n" + text);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

// A program as emit writes it, with these lines for what kernel $1 does.
std::filesystem::path fake_program(const tests::TemporaryFolder& folder, const std::string& kernels) {
  return script(folder, "k",
                "echo \"$# $1\" >> calls\n"
                "while [ $# -ge 3 ]; do\n  echo \"run $1\"\n  case $1 in\n" + kernels + "  esac\n  mkdir -p \"$3\"\n  echo \"done $1\"\n  shift 3\ndone\n");
}

std::vector<CaseRuns> cases(std::size_t count) {
  std::vector<CaseRuns> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    all.push_back({{{i, "in" + number, "out" + number}, {i, "in" + number, "again" + number}}, false});
  }
  return all;
}

std::vector<bool> ok(const std::vector<CaseOutcome>& outcomes) {
  std::vector<bool> result;
  for (const CaseOutcome& outcome : outcomes) result.push_back(outcome.ok);
  return result;
}

std::size_t lines(const std::filesystem::path& file) {
  const std::string text = tests::read_file(file);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("Arguments arrive as they are") {
  const tests::TemporaryFolder folder;
  const auto program = script(folder, "args", "for a in \"$@\"; do echo \"[$a]\"; done\n");
  const Ended ended = run({{program.string(), "a b", "$(touch x)", "; rm -rf .", "`id`", "", "*", "'\""}, folder.path()});
  CHECK(ended.ok());
  CHECK(ended.output == "[a b]\n[$(touch x)]\n[; rm -rf .]\n[`id`]\n[]\n[*]\n['\"]\n");
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
}

TEST_CASE("How a program ended") {
  const tests::TemporaryFolder folder;
  const auto ends = [&](const std::string& text, milliseconds limit = milliseconds(30000)) {
    return run({{script(folder, "p", text).string()}, folder.path(), limit});
  };
  CHECK(ends("exit 3\n").code == 3);
  CHECK(ends("echo to-stderr >&2\n").output == "to-stderr\n");
  CHECK(ends("cat\n").ok());  // there is no input to wait for
  const Ended killed = ends("kill -SEGV $$\n");
  CHECK(killed.how == Ended::How::signalled);
  CHECK(killed.code == SIGSEGV);
  const Ended late = ends("echo begun; sleep 60\n", milliseconds(3000));
  CHECK(late.how == Ended::How::timed_out);
  CHECK(late.output == "begun\n");
  const Ended missing = run({{(folder / "missing").string()}, {}});
  CHECK(missing.how == Ended::How::not_started);
  CHECK_THAT(describe(missing, {{"missing"}, {}}), tests::contains("No such file"));
  const Ended long_output = ends("i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789012345678901234567890123; i=$((i+1)); done; echo end\n");
  CHECK(long_output.output.size() <= 64 * 1024);
  CHECK(long_output.output.substr(long_output.output.size() - 4) == "end\n");
}

TEST_CASE("The time limit starts anew with progress") {
  const tests::TemporaryFolder folder;
  const auto program = script(folder, "p", "for i in 1 2 3 4 5 6; do sleep 0.8; echo tick; done\n");
  const Command command{{program.string()}, {}, milliseconds(4000)};
  CHECK(run(command, [](std::string_view line) { return line == "tick"; }).ok());
  CHECK(run(command, [](std::string_view) { return false; }).how == Ended::How::timed_out);
}

TEST_CASE("What a program leaves running is ended with it") {
  const tests::TemporaryFolder folder;
  const Ended ended = run({{script(folder, "p", "sleep 600 &\necho $!\n").string()}, folder.path(), milliseconds(30000)});
  REQUIRE(ended.ok());
  const pid_t child = std::stoi(ended.output);
  for (int i = 0; i < 100 && ::kill(child, 0) == 0; ++i) ::usleep(10000);
  const bool gone = ::kill(child, 0) != 0 || tests::read_file("/proc/" + std::to_string(child) + "/stat").find(") Z") != std::string::npos;
  CHECK(gone);
}

TEST_CASE("Programs are found in PATH only when they can run") {
  CHECK(find_program("sh").has_value());
  CHECK_FALSE(find_program("no-such-program-anywhere").has_value());
  CHECK_FALSE(find_program("").has_value());
  CHECK_FALSE(find_program("/etc/passwd").has_value());
}

TEST_CASE("Cases that all end well run in one process") {
  const tests::TemporaryFolder folder;
  fake_program(folder, "    *) ;;\n");
  CHECK(ok(run_cases(folder.path(), cases(5), milliseconds(30000))) == std::vector<bool>(5, true));
  CHECK(lines(folder / "calls") == 1);
}

TEST_CASE("A case that faults loses only itself") {
  const tests::TemporaryFolder folder;
  fake_program(folder, "    1) echo 'CUDA error: kernel 1: unspecified launch failure'; exit 3 ;;\n");
  const auto outcomes = run_cases(folder.path(), cases(4), milliseconds(30000));
  CHECK(ok(outcomes) == std::vector<bool>{true, false, true, true});
  CHECK_THAT(outcomes[1].reason, tests::contains("exit status 3; CUDA error: kernel 1: unspecified launch failure"));
  CHECK(lines(folder / "calls") == 3);  // 0 and 1; 2 and 3; 1 alone
}

TEST_CASE("A case that hangs loses only itself") {
  const tests::TemporaryFolder folder;
  fake_program(folder, "    1) sleep 60 ;;\n");
  const auto outcomes = run_cases(folder.path(), cases(3), milliseconds(4000));
  CHECK(ok(outcomes) == std::vector<bool>{true, false, true});
  CHECK_THAT(outcomes[1].reason, tests::contains("hangs"));
}

TEST_CASE("A fault that does not come again is forgiven") {
  const tests::TemporaryFolder folder;
  fake_program(folder, "    1) if [ ! -e once ]; then touch once; kill -SEGV $$; fi ;;\n");
  CHECK(ok(run_cases(folder.path(), cases(3), milliseconds(30000))) == std::vector<bool>(3, true));
}

TEST_CASE("Cases that faulted before run alone") {
  const tests::TemporaryFolder folder;
  fake_program(folder, "    *) ;;\n");
  auto all = cases(3);
  all[1].alone = true;
  CHECK(ok(run_cases(folder.path(), all, milliseconds(30000))) == std::vector<bool>(3, true));
  CHECK(tests::read_file(folder / "calls") == "12 0\n6 1\n");  // 0 and 2, twice each, three words a run; then 1
}

TEST_CASE("A program that does nothing, or cannot start, fails every case and ends") {
  const tests::TemporaryFolder folder;
  CHECK(ok(run_cases(folder.path(), cases(3), milliseconds(1000))) == std::vector<bool>(3, false));
  script(folder, "k", "echo 'CUDA error: no device'; exit 3\n");
  const auto outcomes = run_cases(folder.path(), cases(2), milliseconds(1000));
  CHECK(ok(outcomes) == std::vector<bool>(2, false));
  CHECK_THAT(outcomes[0].reason, tests::contains("no device"));
  script(folder, "k", "exit 0\n");
  CHECK(ok(run_cases(folder.path(), cases(2), milliseconds(1000))) == std::vector<bool>(2, false));
}

TEST_CASE("Building: the compiler's first error is the reason") {
  const tests::TemporaryFolder folder;
  const auto compiler = script(folder, "cc", "echo 'k.cu: note: x'; echo 'k.cu(3): error: no'; echo 'error: more'; exit 1\n");
  const Built built = build({compiler, {"-O1"}}, folder.path(), milliseconds(30000));
  CHECK_FALSE(built.ok);
  CHECK_THAT(built.reason, tests::contains("k.cu(3): error: no"));
  CHECK_THAT(tests::read_file(folder / "build.log"), tests::contains("error: more"));
  const auto good = script(folder, "cc2", "echo \"$@\" > words\n");
  CHECK(build({good, {"-a b"}}, folder.path(), milliseconds(30000)).ok);
  CHECK(tests::read_file(folder / "words") == "-a b k.cu -o k\n");
}

TEST_CASE("The version of nvcc") {
  const auto version = parse_nvcc_version("Cuda compilation tools, release 12.8, V12.8.93\nBuild cuda_12.8.r12.8/compiler.35583870_0\n");
  REQUIRE(version.has_value());
  CHECK(version->version == "12.8.93");
  CHECK(version->major == 12);
  CHECK(version->minor == 8);
  CHECK_FALSE(parse_nvcc_version("clang version 14").has_value());
}
