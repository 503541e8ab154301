// The event stream and its JSON Lines form: against the schema, against what the simulator leaves, and in bounded memory.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "report/trace/json_lines.hpp"
#include "report/trace/replay.hpp"
#include "report/trace/stream.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/unit/json_schema.hpp"
#include "tests/unit/lowered_scenario.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

std::vector<Json> records(const Program& program, const sim::Options& options = {}, bool values = true,
                          std::uint64_t most = ~std::uint64_t{0}) {
  std::vector<Json> list;
  report::JsonLines lines(program, {"k", "strict", "late", "round-robin", 0, options.max_steps, values},
                          [&](std::string_view text) {
                            REQUIRE(text.back() == '\n');
                            list.push_back(Json::parse(text));
                          });
  report::stream_trace(program, options, most, lines);
  return list;
}

std::vector<Json> of_kind(const std::vector<Json>& list, const char* record) {
  std::vector<Json> found;
  for (const Json& one : list)
    if (one.at("record") == record) found.push_back(one);
  return found;
}

JsonSchema schema() {
  std::ifstream file(fs::path(source_dir) / "docs/trace.schema.json");
  return JsonSchema(Json::parse(file));
}

// What must hold between the records, whatever the program.
void check_consistent(const std::vector<Json>& list) {
  REQUIRE(list.size() >= 2);
  CHECK(list.front().at("record") == "header");
  CHECK(list.back().at("record") == "end");
  const std::size_t statements = list.front().at("statements").size();
  std::map<std::uint64_t, Json> issued;
  std::uint64_t next = 0, step = 0;
  std::set<std::uint64_t> findings;
  for (const Json& one : list) {
    if (one.at("record") == "finding") {
      CHECK(findings.insert(one.at("id").get<std::uint64_t>()).second);
      if (one.contains("event")) CHECK(one.at("event") == next - 1);  // right behind its event
    }
    if (one.at("record") != "event") continue;
    CHECK(one.at("seq") == next++);
    CHECK(one.at("step") >= step);
    step = one.at("step");
    if (one.contains("stmt")) CHECK(one.at("stmt") < statements);
    if (one.at("kind") == "execute" && one.contains("async")) issued[one.at("seq")] = one;
    if (one.at("kind") == "complete") {
      REQUIRE(one.contains("of"));
      const auto issue = issued.find(one.at("of"));
      REQUIRE(issue != issued.end());
      CHECK(issue->second.at("stmt") == one.at("stmt"));
      const auto extents = [](Json event, const char* key) {
        Json list_of = event.value(key, Json::array());
        for (Json& extent : list_of) extent.erase("values");
        return list_of;
      };
      CHECK(extents(issue->second, "writes") == extents(one, "writes"));
      CHECK(extents(issue->second, "reads") == extents(one, "reads"));
    }
    for (const Json& seen : one.value("sees", Json::array())) CHECK(seen.at("event") < one.at("seq"));
  }
  CHECK(list.back().at("events") == next);
  CHECK(list.back().at("findings") == findings.size());
}

// The most memory that the process has had: KiB.
long peak() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.rfind("VmHWM:", 0) == 0) return std::stol(line.substr(6));
  return 0;
}

const char* const stores = R"(kernel k
launch warps=1
buffer slot: shared u32 [1]
buffer R: local u32 [2]
program {
  tcgen05.alloc slot=slot cols=32
  mov dst=R.r[0] a=7
  store: tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0), lane: 0, col: 5} src=R.r[0]
  tcgen05.wait::st
  load: tcgen05.ld shape=32x32b num=1 dst=R.r[1] src={base: word(slot, 0), lane: 0, col: 5}
  tcgen05.wait::ld
  tcgen05.dealloc slot=slot cols=32
}
)";

}  // namespace

TEST_CASE("Every record of every small scenario fits the schema") {
  const JsonSchema fits = schema();
  std::size_t programs = 0;
  for (const char* folder : {"scenarios/seeds", "scenarios/verdicts", "scenarios/lessons"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(source_dir) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      INFO(entry.path().string());
      for (const Scenario& scenario : load_scenarios(entry.path().string())) {
        std::vector<Json> list;
        sim::Options options;
        options.max_steps = 3000;
        try {
          list = records(lowered(scenario), options);
        } catch (const Unsupported&) { continue; } catch (const lower::Refused&) {
          continue;
        }
        for (const Json& one : list) {
          const std::string problem = fits.problem(one);
          if (!problem.empty()) FAIL_CHECK(problem);
        }
        check_consistent(list);
        ++programs;
      }
    }
  }
  CHECK(programs > 40);
}

TEST_CASE("The schema notices what is not in it") {
  const JsonSchema fits = schema();
  Json end{{"record", "end"},     {"events", 1},   {"left_out", 0},     {"steps", 1},
           {"ended", "complete"}, {"findings", 0}, {"schedules", "all"}};
  CHECK(fits.problem(end).empty());
  Json other = end;
  other["ended"] = "well";
  CHECK_FALSE(fits.problem(other).empty());
  other = end;
  other["speed"] = 1;
  CHECK_FALSE(fits.problem(other).empty());
  other = end;
  other.erase("steps");
  CHECK_FALSE(fits.problem(other).empty());
}

TEST_CASE("A store and a load: issue, completion, what the waits see, values") {
  for (const sim::Policy policy : {sim::Policy::late, sim::Policy::early}) {
    sim::Options options;
    options.policy = policy;
    const auto events = of_kind(records(program_of(stores), options), "event");
    const auto find = [&](const char* kind, const char* async) {
      return *std::find_if(events.begin(), events.end(),
                           [&](const Json& one) { return one.at("kind") == kind && one.value("async", "") == async; });
    };
    const Json st = find("execute", "st"), st_done = find("complete", "st"), ld = find("execute", "ld"),
               ld_done = find("complete", "ld");
    CHECK(st.at("writes") == Json::parse(R"([{"space":"tmem","sm":0,"lanes":[0,31],"columns":[5,5]}])"));
    CHECK(st_done.at("of") == st.at("seq"));
    std::string words;
    for (int lane = 0; lane < 32; ++lane) words += "00000007";
    CHECK(st_done.at("writes")[0].at("values") == words);
    CHECK(ld_done.at("writes")[0].at("values") == words);
    CHECK(ld_done.at("writes")[0].at("rows") == Json::parse("[1,1]"));
    CHECK_FALSE(ld.at("writes")[0].contains("values"));
    CHECK(st.at("in_flight_after") == Json::array({st.at("seq")}));
    CHECK(st_done.at("in_flight_before") == Json::array({st.at("seq")}));
    CHECK_FALSE(st_done.contains("in_flight_after"));
    CHECK(st_done.at("seq") > st.at("seq"));
    for (const Json& wait : events) {  // each wait sees the one operation that it waits for
      if (!wait.contains("sees")) continue;
      REQUIRE(wait.at("sees").size() == 1);
      CHECK(wait.at("sees")[0].at("by") == "completion");
      CHECK((wait.at("sees")[0].at("event") == st.at("seq") || wait.at("sees")[0].at("event") == ld.at("seq")));
    }
    CHECK(std::count_if(events.begin(), events.end(), [](const Json& one) { return one.contains("sees"); }) == 2);
    CHECK(events.front().at("allocations")[0] == Json::parse(R"({"sm":0,"cta":0,"base":0,"columns":32,"live":true})"));
    CHECK(events.back().at("kind") == "exit");
  }
}

TEST_CASE("A named barrier: who waits, who wakes whom, and what each sees") {
  const auto events = of_kind(records(program_of(R"(kernel k
launch warps=2
program {
  barrier.sync
}
)")),
                              "event");
  REQUIRE(events.size() >= 3);
  CHECK(events[0].at("kind") == "block");
  CHECK(events[0].at("warp") == 0);
  CHECK(events[0].at("barriers")[0].at("arrived") == 32);
  CHECK(events[1].at("kind") == "execute");
  CHECK(events[1].at("warp") == 1);
  CHECK(events[1].at("sees") == Json::parse(R"([{"event":0,"by":"arrive"}])"));
  CHECK(events[1].at("barriers")[0].at("uses") == 1);
  CHECK(events[2].at("kind") == "wake");
  CHECK(events[2].at("of") == 0);
  CHECK(events[2].at("finished") == true);
  CHECK(events[2].at("sees") == Json::parse(R"([{"event":0,"by":"arrive"},{"event":1,"by":"arrive"}])"));
}

TEST_CASE("An mbarrier: phases, the arrival and the wait that sees it") {
  const auto events = of_kind(records(program_of(R"(kernel k
launch warps=2
buffer bar: shared mbarrier [1]
program {
  @warp 0 lane 0  mbarrier.init bar=bar[0] count=1
  barrier.sync
  @warp 0 lane 0  mbarrier.arrive bar=bar[0]
  @warp 1 lane 0  mbarrier.try_wait bar=bar[0] parity=0
}
)")),
                              "event");
  std::uint64_t arrival = 0;
  bool waited = false;
  std::vector<int> phases;
  for (const Json& one : events) {
    for (const Json& barrier : one.value("barriers", Json::array())) {
      if (barrier.at("kind") != "mbarrier") continue;
      CHECK(barrier.at("name") == "bar");
      phases.push_back(barrier.at("phase"));
      if (barrier.at("phase") == 1 && arrival == 0) arrival = one.at("seq");
    }
    if (one.at("kind") == "execute" && one.at("warp") == 1 && one.contains("sees") && one.at("sees")[0].at("event") == arrival)
      waited = true;
  }
  REQUIRE(phases.size() >= 3);
  CHECK(phases.front() == 0);
  CHECK(phases.back() == 1);
  CHECK(waited);
}

TEST_CASE("Findings stand behind their event and name the other one") {
  std::string text = stores;
  text.erase(text.find("  tcgen05.wait::st\n"), 19);
  const auto list = records(program_of(text));
  check_consistent(list);
  const auto findings = of_kind(list, "finding");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].at("verdict") == "raw-st");
  const auto events = of_kind(list, "event");
  CHECK(events[findings[0].at("event").get<std::size_t>()].at("stmt") == findings[0].at("at").at("stmt"));
  CHECK(events[findings[0].at("other").at("event").get<std::size_t>()].value("async", "") == "st");
}

TEST_CASE("A deadlock, the step limit and an error still give the trace up to there") {
  const auto deadlock = records(program_of("kernel k\nlaunch warps=2\nprogram {\n  @warp 0 barrier.sync id=1 count=64\n}\n"));
  check_consistent(deadlock);
  CHECK(deadlock.back().at("ended") == "stopped");
  CHECK(of_kind(deadlock, "finding").size() == 1);

  sim::Options few;
  few.max_steps = 100;
  const auto limit = records(program_of("kernel k\nlaunch warps=1\nbuffer R: local u32 [1]\nprogram {\n  mov dst=R.r[0] a=1\n  "
                                        "while R.r[0] { mov dst=R.r[0] a=1 }\n}\n"),
                             few);
  check_consistent(limit);
  CHECK(limit.back().at("ended") == "step-limit");
  CHECK(of_kind(limit, "event").size() > 50);

  std::vector<Json> list;
  const Program divides = program_of(
      "kernel k\nlaunch warps=1\nbuffer R: local u32 [1]\nprogram {\n  mov dst=R.r[0] a=0\n  mov dst=R.r[0] a=1/R.r[0]\n}\n");
  report::JsonLines lines(divides, {}, [&](std::string_view line) { list.push_back(Json::parse(line)); });
  CHECK_THROWS_AS(report::stream_trace(divides, {}, 100, lines), InputError);
  CHECK(list.back().at("ended") == "error");
  CHECK(list.back().at("reason").get<std::string>().find("division by zero") != std::string::npos);
  CHECK(of_kind(list, "event").size() == 2);
}

TEST_CASE("--max-events keeps the first events, all findings, and says what is missing") {
  std::string text = stores;
  text.erase(text.find("  tcgen05.wait::st\n"), 19);
  const auto all = records(program_of(text)), few = records(program_of(text), {}, true, 2);
  CHECK(of_kind(few, "event").size() == 2);
  CHECK(of_kind(few, "finding").size() == 1);
  CHECK(few.back().at("left_out").get<std::size_t>() == of_kind(all, "event").size() - 2);
}

TEST_CASE("Names with quotes, control characters and broken UTF-8 are escaped") {
  Program program = program_of(stores);
  auto kernel = std::make_shared<Kernel>(*program.kernel);
  kernel->name = "a\"\\\n</script>\xff";
  kernel->doc = std::string("\x01\x80", 2);
  const Program renamed = decode(kernel);
  const auto list = records(renamed);
  CHECK(list.front().at("scenario").get<std::string>().rfind("a\"\\\n</script>", 0) == 0);
}

// Replay and the simulator agree on every cell, register and byte at the end.
TEST_CASE("What the events say is what the simulator leaves") {
  for (const char* name : {"scenarios/seeds/tmem_roundtrip_f16.yaml", "scenarios/seeds/smem_roundtrip_f32.yaml",
                           "scenarios/lessons/pack.yaml", "scenarios/lessons/cosine_matrix.yaml"}) {
    INFO(name);
    const Scenario scenario = load_scenarios((fs::path(source_dir) / name).string()).front();
    const auto program = std::make_shared<const Program>(lowered(scenario));
    for (const sim::Policy policy : {sim::Policy::late, sim::Policy::early, sim::Policy::random}) {
      struct Apply : sim::Observer {
        explicit Apply(std::shared_ptr<const Program> program) : replay(std::move(program)) {}
        void event(const sim::Event& event) override { replay.apply(event); }
        bool wants_values() const override { return true; }
        report::Replay replay;
      } apply(program);
      sim::Options options;
      options.policy = policy;
      const sim::Outcome outcome = sim::run(*program, options, &apply);
      std::size_t compared = 0, wrong = 0;
      for (std::size_t i = 0; i < outcome.image.sms[0].value.size(); ++i) {
        const auto cell = apply.replay.cell(0, static_cast<std::int64_t>(i % 128), static_cast<std::int64_t>(i / 128));
        if (outcome.image.sms[0].written[i] != 3) continue;
        wrong += !cell.item.written || cell.item.value != outcome.image.sms[0].value[i];
        ++compared;
      }
      const CtaImage& cta = outcome.image.ctas[0];
      for (std::uint32_t w = 0; w < cta.registers.size(); ++w)
        for (std::size_t row = 0; row < cta.registers[w].size(); ++row)
          for (std::uint32_t lane = 0; lane < 32; ++lane) {
            const auto item = apply.replay.reg(0, w, static_cast<std::int64_t>(row), lane);
            const bool written = cta.registers[w][row].written >> lane & 1u;
            wrong += item.written != written || (written && item.value != cta.registers[w][row].value[lane]);
            ++compared;
          }
      for (std::size_t byte = 0; byte < cta.shared.data.size(); ++byte) {
        const auto item = apply.replay.shared_byte(0, static_cast<std::int64_t>(byte));
        if (cta.shared.written[byte]) wrong += item.value != cta.shared.data[byte];
        ++compared;
      }
      for (std::size_t id = 0; id < outcome.image.global.size(); ++id)
        for (std::size_t byte = 0; byte < outcome.image.global[id].data.size(); ++byte) {
          if (!outcome.image.global[id].written[byte]) continue;
          wrong += apply.replay.global_byte(static_cast<BufferId>(id), static_cast<std::int64_t>(byte)).value !=
                   outcome.image.global[id].data[byte];
          ++compared;
        }
      CHECK(compared > 0);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("A long stream is not held in memory") {
  const Program program = program_of(
      "kernel k\nlaunch warps=4\nbuffer R: local u32 [2]\nprogram {\n  mov dst=R.r[0] a=tid\n  for i in [0, 25000] { add.s32 "
      "dst=R.r[1] a=R.r[0] b=i }\n}\n");
  std::uint64_t bytes = 0, lines = 0;
  report::JsonLines sink(program, {}, [&](std::string_view line) {
    bytes += line.size();
    ++lines;
  });
  sim::run(program, {});  // what the simulator itself needs (its log of issued statements grows, too)
  [[maybe_unused]] const long before = peak();
  report::stream_trace(program, {}, ~std::uint64_t{0}, sink);
  CHECK(lines > 100'000);
  CHECK(bytes > 10'000'000);
#if !defined(__SANITIZE_ADDRESS__)  // it keeps what is freed, for a while
  CHECK(peak() - before < 8 * 1024);  // KiB; the lines alone would be several times that
#endif
}
