// What explain, the worksheet, SARIF and JUnit say, checked against the programs that they speak of.
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/verdict.hpp"
#include "report/explain.hpp"
#include "report/public_reports.hpp"
#include "tests/catch.hpp"
#include "tests/golden/command.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string output(const std::string& command_line) { return Workplace().run(command_line).output; }

// A bulk copy of a tile whose global form is `layout`, into a shared tile of eight rows of 16 bytes beside each other.
Ran bulk_copy(const std::string& layout) {
  const Workplace workplace;
  workplace.folder().write("bulk.yaml", fmt::format(R"(tmemsim: 1
scenario: bulk
launch: {{warps: 1}}
buffers:
  src:  {{space: global, dtype: f16, shape: [8, 16], layout: "{}", init: {{iota: {{start: 1}}}}}}
  out:  {{space: global, dtype: f16, shape: [8, 16], init: {{fill: 0}}}}
  full: {{space: shared, dtype: mbarrier, shape: [1]}}
  tile: {{space: shared, dtype: f16, shape: [8, 16], layout: "S[(8,2,8):(8,64,1)]"}}
  frag: {{space: local, dtype: f16, shape: [8, 16], layout: "S[(8,4,4):(4@laneid,1@laneid,1)]"}}
program:
  - {{at: warp 0 lane 0, do: mbarrier.init, bar: "full[0]", count: 1}}
  - {{at: warp 0, do: bar.warp.sync}}
  - {{at: warp 0 lane 0, do: mbarrier.arrive.expect_tx, bar: "full[0]", bytes: 256}}
  - {{at: warp 0 lane 0, do: cp.async.bulk, dst: tile, src: src, bar: "full[0]"}}
  - {{at: warp 0, do: mbarrier.try_wait, bar: "full[0]", parity: 0}}
  - {{at: warp 0, do: copy, dst: frag, src: tile}}
  - {{at: warp 0, do: copy, dst: out, src: frag}}
expect:
  equal: [{{actual: out, expected: src}}]
)", layout));
  return workplace.run("tmemsim run bulk.yaml");
}

}  // namespace

TEST_CASE("explain shows the two programs of each verdict, and every report of it") {
  for (const VerdictFacts& facts : verdict_table()) {
    INFO(facts.id);
    const std::string text = report::explain(facts.verdict);
    for (const char* ending : {".yaml", ".fixed.yaml"}) {
      const std::string name = std::string("scenarios/verdicts/") + std::string(facts.id) + ending;
      CHECK(contains(text, name));
      std::istringstream lines(read_file(std::string(source_dir) + "/" + name));
      for (std::string line; std::getline(lines, line);) CHECK(contains(text, line.empty() ? "\n" : "    " + line + "\n"));
    }
    for (const report::PublicReport& report : report::public_reports())
      CHECK(contains(text, std::string(report.id) + " (") == (report.verdict == facts.verdict));
  }
}

TEST_CASE("The worksheet tells how the accumulator is handed over, and when it is free again") {
  const std::string text = output("tmemsim run --explain --no-expect scenarios/bugs/vllm-fa-182.yaml");
  CHECK(contains(text, "written by   tcgen05.mma (first), line 25, CTA 0, warp 4"));
  CHECK(contains(text, "read by      tcgen05.ld (load), line 28, CTA 0, warps 0-3"));
  CHECK(contains(text, "line 25 to line 28: complete by tcgen05.commit (signal), line 26, which arrives on full[0]; "
                       "mbarrier.try_wait (ready), line 27 waits for full[0]"));
  CHECK(contains(text, "free again   line 28: after tcgen05.wait::ld, line 30"));
  CHECK_FALSE(contains(output("tmemsim run --no-expect scenarios/bugs/vllm-fa-182.yaml"), "worksheet"));
}

TEST_CASE("The worksheet says where nothing completes or orders a use") {
  CHECK(contains(output("tmemsim run --explain scenarios/verdicts/raw-st.yaml"), "line 13 to line 14: not complete before line 14"));
  CHECK(contains(output("tmemsim run --explain scenarios/verdicts/smem-race.yaml"), "nothing that one of them signals and the other waits for"));
  CHECK(contains(output("tmemsim run --explain scenarios/verdicts/mbar-count.yaml"), "arrived on by mbarrier.arrive (signal)"));
}

TEST_CASE("SARIF: one result a finding, suppressed where the scenario expects it") {
  const auto results = [](const std::string& command_line) { return nlohmann::json::parse(output(command_line))["runs"][0]["results"]; };
  const auto expected = results("tmemsim run --format sarif scenarios/verdicts/raw-st.yaml scenarios/verdicts/war-ld.yaml");
  REQUIRE(expected.size() == 2);
  CHECK(expected[0]["ruleId"] == "raw-st");
  CHECK(expected[0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 14);
  CHECK(expected[0]["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 13);
  CHECK(expected[1].contains("suppressions"));
  CHECK_FALSE(results("tmemsim run --no-expect --format sarif scenarios/verdicts/raw-st.yaml")[0].contains("suppressions"));
}

TEST_CASE("JUnit: text of a scenario cannot break the document") {
  const Workplace workplace;
  workplace.folder().write("odd.yaml", "tmemsim: 1\nscenario: x\nprogram: \"<&>\"\n");
  const Ran ran = workplace.run("tmemsim run --format junit odd.yaml");
  CHECK(ran.exit_code == 2);
  CHECK(contains(ran.output, "&lt;&amp;&gt;"));
  CHECK_FALSE(contains(ran.output, "<&>"));
}

TEST_CASE("A bulk copy moves a block whose elements stand in the same order on both sides") {
  CHECK(bulk_copy("S[(8,2,8):(8,64,1)]").exit_code == 0);
  const Ran other_order = bulk_copy("S[(8,16):(16,1)]");
  CHECK(other_order.exit_code == 2);
  CHECK(contains(other_order.output, "different orders"));
  const Ran with_holes = bulk_copy("S[(8,2,8):(8,128,1)]");
  CHECK(with_holes.exit_code == 2);
  CHECK(contains(with_holes.output, "not one block"));
}
