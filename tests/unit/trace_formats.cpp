// The stream as Chrome trace events, as the history of one element, and in the stepper.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "report/trace/debugger.hpp"
#include "report/trace/perfetto.hpp"
#include "report/trace/text.hpp"
#include "report/trace/watch.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/unit/lowered_scenario.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

std::string perfetto(const Program& program, const sim::Options& options = {}) {
  std::string text;
  report::Perfetto sink(program, [&](std::string_view part) { text += part; });
  report::stream_trace(program, options, ~std::uint64_t{0}, sink);
  return text;
}

// The rules of the format (Trace Event Format, JSON object form): required keys by phase, begin and end matched on each thread
// and in order, asynchronous slices matched by category and id, each arrow with one start and one end inside of slices, and
// names for every process and thread.
std::string problem_of(const Json& trace) {
  using Thread = std::pair<int, int>;
  struct Slice {
    double from, to;
  };
  std::map<Thread, std::vector<double>> open;
  std::map<Thread, double> last;
  std::map<Thread, std::vector<Slice>> slices;
  std::map<std::pair<std::string, int>, double> async;
  std::map<int, Json> starts, ends;
  std::set<Thread> named_threads, used;
  std::set<int> named_processes;
  for (const Json& one : trace.at("traceEvents")) {
    const std::string phase = one.at("ph");
    if (!one.at("pid").is_number_integer() || (phase != "M" && !one.at("ts").is_number())) return "no pid or ts: " + one.dump();
    if (phase != "E" && one.at("name").get<std::string>().empty()) return "no name: " + one.dump();
    const Thread thread{one.at("pid"), one.at("tid")};
    if (phase == "M") {
      if (one.at("name") == "process_name") named_processes.insert(thread.first);
      if (one.at("name") == "thread_name") named_threads.insert(thread);
      continue;
    }
    const double ts = one.at("ts");
    if (phase == "B" || phase == "E" || phase == "X" || phase == "C") {
      if (ts < last[thread]) return "time goes back: " + one.dump();
      last[thread] = ts;
    }
    if (phase == "B") open[thread].push_back(ts);
    if (phase == "E") {
      if (open[thread].empty()) return "an end without a begin: " + one.dump();
      slices[thread].push_back({open[thread].back(), ts});
      open[thread].pop_back();
    }
    if (phase == "X") {
      if (one.at("dur") < 0) return "negative duration";
      slices[thread].push_back({ts, ts + one.at("dur").get<double>()});
    }
    if (phase == "b" && !async.emplace(std::pair(one.at("cat").get<std::string>(), one.at("id").get<int>()), ts).second)
      return "an id twice: " + one.dump();
    if (phase == "e") {
      const auto begun = async.find({one.at("cat").get<std::string>(), one.at("id").get<int>()});
      if (begun == async.end()) return "an asynchronous end without a begin: " + one.dump();
      if (begun->second > ts) return "ends before it begins";
      async.erase(begun);
    }
    if (phase == "s" && !starts.emplace(one.at("id").get<int>(), one).second) return "an arrow starts twice";
    if (phase == "f" && !ends.emplace(one.at("id").get<int>(), one).second) return "an arrow ends twice";
    if (phase == "C" && !one.at("args").begin()->is_number()) return "a counter without a number";
    if (std::string("BEXbesfCi").find(phase) == std::string::npos) return "unknown phase " + phase;
    used.insert(thread);
  }
  for (const auto& [thread, begun] : open)
    if (!begun.empty()) return "a slice is left open";
  if (!async.empty()) return "an asynchronous slice is left open";
  if (starts.size() != ends.size()) return "arrows without an end";
  const auto inside = [&](const Json& end) {
    const auto& all = slices[{end.at("pid").get<int>(), end.at("tid").get<int>()}];
    const double ts = end.at("ts");
    return std::any_of(all.begin(), all.end(), [&](const Slice& slice) { return slice.from <= ts && ts <= slice.to; });
  };
  for (const auto& [id, start] : starts) {
    if (!ends.count(id)) return "an arrow without an end";
    const Json& end = ends.at(id);
    if (start.at("name") != end.at("name") || start.at("cat") != end.at("cat")) return "the ends of an arrow differ";
    if (start.at("ts") > end.at("ts")) return "an arrow goes back in time";
    if (!inside(start) || !inside(end)) return "an arrow hangs in the air: " + start.dump() + end.dump();
  }
  for (const Thread& thread : used)
    if (!named_processes.count(thread.first) || (thread.second != 0 && !named_threads.count(thread)))
      return "a track without a name";
  return "";
}

const char* const early = R"(kernel early
launch warps=1
buffer slot: shared u32 [1]
buffer acc: tmem u32 [32, 4] layout="S[(32,4):(1@TLane,1@TCol)]" slot=slot
buffer R: local u32 [4]
buffer out: global u32 [32]
program {
  tcgen05.alloc slot=slot cols=32
  mov dst=R.r[0] a=tid
  store: tcgen05.st shape=32x32b num=1 dst=acc src=R.r[0]
  tcgen05.wait::st
  load: tcgen05.ld shape=32x32b num=1 dst=R.r[1] src=acc
  tcgen05.wait::ld
  mov dst=R.r[2] a=R.r[1]
  mov dst=R.r[1] a=0
  st dst=out[tid] src=R.r[2] bytes=4
  tcgen05.dealloc slot=slot cols=32
}
)";

std::string watch(const Program& program, const std::string& element) {
  std::string text;
  report::Watch sink(program, report::parse_watched(*program.kernel, element), [&](std::string_view part) { text += part; });
  report::stream_trace(program, {}, ~std::uint64_t{0}, sink);
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Session {
  explicit Session(std::string_view text) : program(std::make_shared<const Program>(program_of(text))) {
    report::stream_trace(*program, {}, 1000, recording);
    debugger = std::make_unique<report::Debugger>(program, recording);
  }
  std::string operator()(std::string_view line) { return debugger->command(line); }
  std::shared_ptr<const Program> program;
  report::Recording recording;
  std::unique_ptr<report::Debugger> debugger;
};

}  // namespace

TEST_CASE("Chrome trace events keep the rules of the format") {
  std::size_t traces = 0, arrows = 0;
  for (const char* folder : {"scenarios/seeds", "scenarios/verdicts", "scenarios/lessons"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(source_dir) / folder)) {
      if (entry.path().extension() != ".yaml") continue;
      INFO(entry.path().string());
      for (const Scenario& scenario : load_scenarios(entry.path().string())) {
        sim::Options options;
        options.max_steps = 2000;
        try {
          const Json trace = Json::parse(perfetto(lowered(scenario), options));
          CHECK(problem_of(trace) == "");
          arrows += static_cast<std::size_t>(std::count_if(trace.at("traceEvents").begin(), trace.at("traceEvents").end(),
                                                           [](const Json& one) { return one.at("ph") == "s"; }));
          ++traces;
        } catch (const Unsupported&) {
        } catch (const lower::Refused&) {}
      }
    }
  }
  CHECK(traces > 40);
  CHECK(arrows > 40);
}

TEST_CASE("The checker of Chrome trace events notices what is wrong") {
  const Json good = Json::parse(perfetto(program_of(early)));
  REQUIRE(problem_of(good) == "");
  const auto without = [&](const char* phase) {
    Json bad = good;
    auto& events = bad.at("traceEvents");
    const auto first = std::find_if(events.begin(), events.end(), [&](const Json& one) { return one.at("ph") == phase; });
    REQUIRE(first != events.end());
    events.erase(first);
    return problem_of(bad);
  };
  for (const char* phase : {"M", "b", "e", "s", "f"}) CHECK(without(phase) != "");
  Json bad = good;
  bad.at("traceEvents").back()["ts"] = -1;
  CHECK(problem_of(bad) != "");
}

TEST_CASE("The history of an element: store, load, copies, and where they end") {
  const std::string text = watch(program_of(early), "acc[5, 0]");
  INFO(text);
  CHECK(has(text, "It stands in lane 5, column 0 (acc[5, 0])"));
  CHECK(has(text, "tcgen05.st (store) in line 10 is issued and will write the element, from R.r[0] of thread 5"));
  CHECK(has(text, "is complete: the element now has its value, from R.r[0] of thread 5"));
  CHECK(has(text, "is issued and will move the element to R.r[1] of thread 5"));
  CHECK(has(text, "R.r[1] of thread 5 holds a copy"));
  CHECK(has(text, "moves the copy in R.r[1] of thread 5 to R.r[2] of thread 5"));
  CHECK(has(text, "overwrites the copy in R.r[1] of thread 5"));
  CHECK(has(text, "moves the copy in R.r[2] of thread 5 to out[5]"));
  CHECK(has(text, "At the end copies stand in R.r[2] of thread 5; out[5]"));
  CHECK_FALSE(has(text, "thread 6"));
}

TEST_CASE("A store takes its registers when it is issued, whatever they hold when it is complete") {
  std::string text = early;
  text.insert(text.find("  st dst=out"),
              "  again: tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0), lane: 0, col: 9} src=R.r[2]\n  mov dst=R.r[2] "
              "a=3\n  tcgen05.wait::st\n");
  const std::string history = watch(program_of(text), "acc[5, 0]");
  INFO(history);
  CHECK(has(history, "overwrites the copy in R.r[2] of thread 5"));
  CHECK(has(history, "lane 5, column 9 holds a copy"));
  CHECK(has(history, "At the end copies stand in lane 5, column 9."));
}

TEST_CASE("An element that is not there is refused") {
  const Program program = program_of(early);
  for (const char* wrong : {"acc[32, 0]", "acc[1]", "acc", "nothing[0, 0]", "acc[0:2, 0]", "acc[", "acc[tid, 0]", ""}) {
    INFO(wrong);
    CHECK_THROWS_AS(report::parse_watched(*program.kernel, wrong), InputError);
  }
  CHECK(report::parse_watched(*program.kernel, "acc[5, 2]").element == 22);
}

TEST_CASE("Moves are the cells and bytes that the instruction reaches") {
  // Each word of a tcgen05.st shape goes to the cell that the table of the ISA names: row = lane for 32x32b.
  const Program program = program_of(early);
  std::size_t moves = 0;
  struct Count : sim::Observer {
    const Program& program;
    std::size_t& moves;
    Count(const Program& p, std::size_t& m) : program(p), moves(m) {}
    void event(const sim::Event& event) override {
      if (event.async != "st" || event.kind != sim::Event::Kind::execute) return;
      report::for_each_move(program, event, [&](const report::Spot& from, const report::Spot& to) {
        CHECK(from.lane == to.lane);
        CHECK(to.row == 0);
        CHECK(from.row == program.first_row[2]);
        ++moves;
      });
    }
  } count(program, moves);
  sim::run(program, {}, &count);
  CHECK(moves == 32);
}

TEST_CASE("The stepper goes forwards and backwards and knows states") {
  Session session(early);
  CHECK(has(session("print cell 5,0"), "not allocated"));
  session("step");
  CHECK(has(session("print cell 5,0"), "allocated, never written"));
  CHECK(has(session("continue to store"), "tcgen05.st (store)"));
  CHECK(has(session("print acc[5, 0]"), "write in flight"));
  CHECK(has(session("flight"), "tcgen05.st (store)"));
  session("continue to write acc[5,0]");
  CHECK(has(session("print acc[5,0]"), "5 (0x00000005), valid"));
  CHECK(has(session("who acc[5,0]"), "tcgen05.st (store)"));
  const std::string here = session("where");
  session("step 3");
  CHECK(session("where") != here);
  session("back 3");
  CHECK(session("where") == here);
  CHECK(has(session("print acc[5,0]"), "5 (0x00000005), valid"));
  session("goto 0");
  CHECK(has(session("print acc[5,0]"), "allocated, never written"));
  CHECK(has(session("continue"), "at its end"));
  CHECK(has(session("print out[7]"), "7 (0x00000007)"));
  CHECK(session.debugger->mistakes() == 0);
}

TEST_CASE("The stepper answers anything without a crash") {
  Session session(early);
  for (const char* line : {"",
                           "   ",
                           "print",
                           "print cell",
                           "print cell ,",
                           "print cell 99999999999999,1",
                           "print reg",
                           "print reg R",
                           "print reg R.r[0]",
                           "print acc[",
                           "step -1",
                           "step warp",
                           "step warp 9",
                           "back",
                           "back 99999999999999999999",
                           "goto",
                           "goto x",
                           "continue to",
                           "continue to write",
                           "who",
                           "who wrote",
                           "cta",
                           "cta 5",
                           "]][[",
                           "\x01\xff",
                           "print barrier zzz",
                           "print reg R.r[0:4] warp 0",
                           "print reg R.r[0:4] warp 7",
                           "list",
                           "help",
                           "findings",
                           "# remark"}) {
    INFO(line);
    CHECK_NOTHROW(session(line));
  }
  CHECK(session.debugger->mistakes() > 10);
}
