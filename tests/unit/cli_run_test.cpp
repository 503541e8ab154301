// The command as a user meets it: exit codes, formats, files.
#include <cstring>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ir/npy.hpp"
#include "tests/catch.hpp"
#include "tests/golden/command.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

const std::string seed = "scenarios/seeds/tmem_roundtrip_f16.yaml";

std::vector<nlohmann::json> objects(const std::string& lines) {
  std::vector<nlohmann::json> found;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    found.push_back(nlohmann::json::parse(lines.substr(begin, end - begin)));
    begin = end + 1;
  }
  return found;
}

}  // namespace

TEST_CASE("Exit codes") {
  const Workplace workplace;
  const auto code = [&](const std::string& line) { return workplace.run(line).exit_code; };
  CHECK(code("tmemsim run " + seed) == 0);
  CHECK(code("tmemsim run scenarios/verdicts/raw-st.yaml") == 0);  // the finding is expected
  CHECK(code("tmemsim run --no-expect scenarios/verdicts/raw-st.yaml") == 1);
  CHECK(code("tmemsim check --no-expect scenarios/verdicts/raw-st.yaml") == 1);
  CHECK(code("tmemsim run --no-expect scenarios/verdicts/step-limit.yaml --max-steps 2000") == 124);
  CHECK(code("tmemsim run missing.yaml") == 2);
  CHECK(code("tmemsim run") == 2);
  CHECK(code("tmemsim rnu") == 2);
  CHECK(code("tmemsim run --policy sometimes " + seed) == 2);
  CHECK(code("tmemsim run --seed -1 " + seed) == 2);
  CHECK(code("tmemsim run --max-steps -1 " + seed) == 2);
  CHECK(code("tmemsim run --set no-switch=on " + seed) == 2);
  CHECK(code("tmemsim run --policy adversarial " + seed) == 0);
  CHECK(code("tmemsim run --scheduler exhaustive " + seed) == 0);
  CHECK(code("tmemsim run --schedules 0 " + seed) == 2);
  CHECK(code("tmemsim run --schedules 5 --replay 000000 " + seed) == 2);
  CHECK(code("tmemsim run --schedules 5 --scheduler random " + seed) == 2);
  CHECK(code("tmemsim run --replay nothing " + seed) == 2);
  CHECK(code("tmemsim run --replay 000000-o1 " + seed) == 2);  // of another program
  CHECK(code("tmemsim trace --scheduler exhaustive " + seed) == 2);
  CHECK(code("tmemsim run missing.yaml --no-expect scenarios/verdicts/raw-st.yaml") == 2);  // the first present of 3 2 124 1 4 0
  CHECK(code("tmemsim --version") == 0);
}

TEST_CASE("Messages say what would work") {
  const Workplace workplace;
  CHECK_THAT(workplace.run("tmemsim chek").output, contains("did you mean tmemsim check?"));
  CHECK_THAT(workplace.run("tmemsim explain raw-sst").output, contains("did you mean raw-st?"));
  CHECK_THAT(workplace.run("tmemsim layout print 'S[(8):(1@lanid)]'").output, contains("^"));
  CHECK_THAT(workplace.run("tmemsim run --save C=c.npy " + seed).output, contains("there is no buffer 'C'"));
}

namespace {

// One flag, two warps: a load that may come before or after the store.
const std::string flag_kernel = R"(kernel flag
target sm_100a
launch warps=2
buffer F: shared u32 [1] offset=0 init=fill(0)
buffer S: shared u32 [1] offset=64 init=fill(0)
buffer R: local u32 [4]
program {
  mov dst=R.r[0] a=1
  put: @warp 0 lane 0 st dst=S[0] src=R.r[0] bytes=4
  set: @warp 0 lane 0 st dst=F[0] src=R.r[0] bytes=4 sem=relaxed
  @warp 1 delay 20
  see: @warp 1 lane 0 ld dst=R.r[1] src=F[0] bytes=4 sem=relaxed
  @warp 1 lane 0 if R.r[1] == 0 {
    get: ld dst=R.r[2] src=S[0] bytes=4
  }
}
)";

}  // namespace

TEST_CASE("Schedules: a failing one is printed, and found again") {
  const Workplace workplace;
  workplace.folder().write("flag.kernel", flag_kernel);
  CHECK_THAT(workplace.run("tmemsim check flag.kernel").output, contains("holds for this schedule"));
  const Ran all = workplace.run("tmemsim run --scheduler exhaustive flag.kernel");
  CHECK(all.exit_code == 1);
  CHECK_THAT(all.output, contains("all that can differ"));
  const auto object = objects(workplace.run("tmemsim run --schedules 100 --format json flag.kernel").output).at(0);
  CHECK(object["explored"]["complete"] == true);
  CHECK(object["schedules"] == "this one");
  REQUIRE(object["explored"]["outcomes"].size() >= 2);
  REQUIRE(object["replay"].is_string());
  const std::string token = object["replay"];
  CHECK_THAT(all.output, contains("--replay " + token));
  const auto again = objects(workplace.run("tmemsim run --format json --replay " + token + " flag.kernel").output).at(0);
  CHECK(again["findings"] == object["findings"]);
  CHECK(again["replay"] == token);
  CHECK(workplace.run("tmemsim trace --replay " + token + " flag.kernel").exit_code == 0);
  // With the bound reached nothing is claimed.
  CHECK_THAT(workplace.run("tmemsim run --schedules 2 flag.kernel").output, contains("not all of them"));
}

TEST_CASE("check names the statements that no thread comes to") {
  const Workplace workplace;
  std::string text = flag_kernel;
  text.replace(text.find("R.r[1] == 0"), 11, "R.r[1] == 7");
  workplace.folder().write("flag.kernel", text);
  CHECK_THAT(workplace.run("tmemsim check flag.kernel").output, contains("not checked: no thread comes to ld (get)"));
  CHECK(workplace.run("tmemsim check " + seed).output.find("not checked") == std::string::npos);
}

TEST_CASE("JSON: one object a run, errors too") {
  const Workplace workplace;
  const auto runs = objects(workplace.run("tmemsim run --format json " + seed + " scenarios/verdicts/raw-st.yaml").output);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0]["status"] == "clean");
  CHECK(runs[0]["as_expected"] == true);
  CHECK(runs[0]["compared"] >= 1024);
  CHECK(runs[0]["file"] == seed);
  CHECK(runs[1]["status"] == "findings");
  CHECK(runs[1]["as_expected"] == true);
  REQUIRE(runs[1]["findings"].size() == 1);
  CHECK(runs[1]["findings"][0]["verdict"] == "raw-st");
  CHECK(runs[1]["findings"][0]["at"]["label"] == "load");
  CHECK(runs[1]["findings"][0]["at"]["line"] == 14);
  CHECK(runs[1]["findings"][0]["other"]["label"] == "store");
  const auto broken = objects(workplace.run("tmemsim run --format json missing.yaml").output);
  REQUIRE(broken.size() == 1);
  CHECK(broken[0]["status"] == "error");
  CHECK(broken[0]["scenario"].is_null());
}

TEST_CASE("--save and --print show what the run leaves") {
  const Workplace workplace;
  const Ran ran = workplace.run("tmemsim run " + seed + " --save B=b.npy --save acc=acc.npy --print 'B[0:2, 0:4]' && tmemsim run --save A=again.npy " + seed);
  INFO(ran.output);
  REQUIRE(ran.exit_code == 0);
  CHECK_THAT(ran.output, contains("B[0:2, 0:4] =\n   1  2  3  4\n   9 10 11 12\n"));
  const auto b = read_npy(workplace.folder() / "b.npy"), acc = read_npy(workplace.folder() / "acc.npy"), a = read_npy(workplace.folder() / "again.npy");
  REQUIRE(b);
  REQUIRE(acc);
  CHECK(b->shape == std::vector<std::int64_t>{128, 8});
  CHECK(b->dtype == Dtype::f16);
  CHECK(b->data == a->data);
  CHECK(acc->data == b->data);
  std::uint16_t last = 0;
  std::memcpy(&last, b->data.data() + b->data.size() - 2, 2);
  CHECK(last == 0x6400);  // 1024 in f16
}

TEST_CASE("A closed reader ends the run quietly; a full disk is a message") {
  const Workplace workplace;
  CHECK(workplace.run("tmemsim ops | head -1 > first && test -s first").exit_code == 0);
  const Ran full = workplace.run("tmemsim ops > /dev/full");
  CHECK(full.exit_code == 2);
  CHECK_THAT(full.output, contains("standard output cannot be written"));
}

TEST_CASE("new writes a scenario that runs clean, and overwrites nothing") {
  const Workplace workplace;
  CHECK(workplace.run("tmemsim new mine && tmemsim run mine.yaml").exit_code == 0);
  CHECK(workplace.run("tmemsim new mine").exit_code == 2);
  CHECK(workplace.run("tmemsim new ../mine").exit_code == 2);
}

TEST_CASE("A printed kernel runs like its scenario") {
  const Workplace workplace;
  for (const std::string pass : {"load", "lower"}) {
    const Ran ran = workplace.run("tmemsim lower --dump-after=" + pass + " " + seed + " -o k.kernel && tmemsim run k.kernel");
    INFO(ran.output);
    CHECK(ran.exit_code == 0);
    const Ran again = workplace.run("tmemsim lower --dump-after=" + pass + " k.kernel -o again.kernel && cmp k.kernel again.kernel");
    INFO(again.output);
    CHECK(again.exit_code == 0);
  }
}

TEST_CASE("A plan that does not fit is a finding, though nothing that reaches its columns can be lowered") {
  const Workplace workplace;
  const auto run = [&](int column) {
    workplace.folder().write("plan.yaml", fmt::format(R"(tmemsim: 1
scenario: plan
launch: {{warps: 4}}
buffers:
  slot: {{space: shared, dtype: u32, shape: [1]}}
  X: {{space: tmem, dtype: f32, shape: [128, 8], base: slot, col: {}, layout: "S[(128,8):(1@TLane,1@TCol)]"}}
  r: {{space: local, dtype: f32, shape: [128, 8], layout: "S[(128,8):(1@tid_in_wg,1)]"}}
program:
  - {{at: warp 0, do: tcgen05.alloc, slot: slot, cols: 512}}
  - {{at: cta, do: barrier}}
  - {{at: cta, do: fill, dst: r, src: 2}}
  - {{at: warpgroup 0, do: copy_async, dst: X, src: r}}
  - {{at: cta, do: tcgen05.wait.st}}
  - {{at: cta, do: barrier}}
  - {{at: warp 0, do: tcgen05.dealloc, slot: slot, cols: 512}}
)", column));
    return workplace.run("tmemsim run plan.yaml");
  };
  const Ran past = run(508);
  CHECK(past.exit_code == 1);
  CHECK(past.output.find("alloc-capacity") != std::string::npos);
  CHECK(run(504).exit_code == 0);
}
