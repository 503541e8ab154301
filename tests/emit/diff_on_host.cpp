// tmemsim diff from end to end, where no GPU is: emulated tensor memory, compiled for the host.
#include "diff/diff.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/golden/command.hpp"
#include "tests/paths.hpp"

using namespace tmemsim;
using namespace tmemsim::diff;

namespace {

std::vector<Case> cases_from(const std::vector<std::string>& files) {
  std::vector<Case> all;
  for (const std::string& file : files) {
    for (Case& one : cases_of(std::string(tests::source_dir) + "/scenarios/" + file, {})) all.push_back(std::move(one));
  }
  return all;
}

std::size_t count(const std::vector<Record>& records, Status status) {
  return static_cast<std::size_t>(std::count_if(records.begin(), records.end(), [&](const Record& record) { return record.status == status; }));
}

bool have_compiler() {
  if (this_machine_without_gpu().host) return true;
  WARN("not run: no host compiler");
  return false;
}

}  // namespace

TEST_CASE("diff on the host: what is clean agrees, what is not cannot be compared, and results are taken over") {
  if (!have_compiler()) return;
  std::vector<Case> cases = cases_from({"seeds/tmem_roundtrip_f16.yaml", "seeds/smem_roundtrip_f32.yaml", "lessons/unpack.yaml", "verdicts/raw-st.yaml", "no-such.yaml"});
  for (Case& one : generated_cases(5, 4)) cases.push_back(std::move(one));
  const tests::TemporaryFolder keep;
  Options options;
  options.backend = Backend::host;
  options.dump = true;
  options.keep = keep.path();
  options.jobs = 2;
  options.cases_a_module = 16;
  options.limit = std::chrono::seconds(120);
  const Differ differ(options, this_machine_without_gpu());
  std::size_t done = 0;
  const auto count_done = [&](const Record&) { ++done; };
  const std::vector<Record> records = differ.run(cases, {}, count_done);
  INFO(report(records, Format::text));
  REQUIRE(records.size() == cases.size());
  CHECK(done == cases.size());
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(records[i].status == Status::agree);
    CHECK(records[i].elements + records[i].registers > 0);
    REQUIRE(records[i].ran.has_value());
    CHECK(records[i].ran->backend == "host");
  }
  CHECK(records[0].elements == 2048);
  CHECK(records[0].cells >= 512);
  CHECK(records[1].cells == 0);
  CHECK(records[3].status == Status::incomparable);
  CHECK_THAT(records[3].reason, tests::contains("raw-st"));
  CHECK(records[4].status == Status::error);
  CHECK(count(records, Status::agree) >= 5);  // lowering refuses some of the generated ones
  CHECK(count(records, Status::differ) + count(records, Status::failed) + count(records, Status::unrepeatable) == 0);
  CHECK(exit_code(records) == 2);
  CHECK(std::filesystem::exists(keep / "module0-host" / "k.cu"));

  CHECK(differ.run(cases, records, count_done) == records);
  CHECK(done == cases.size());  // nothing ran again
}

TEST_CASE("diff as a command: output, journal, resume, merge") {
  if (!have_compiler()) return;
  const tests::Workplace workplace;
  const std::string call = "tmemsim diff --backend host --dump --timeout 120 --format jsonl scenarios/seeds/tmem_roundtrip_f16.yaml scenarios/verdicts/raw-st.yaml ";
  const tests::Ran first = workplace.run(call + "-o one.jsonl");
  INFO(first.output);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.output, tests::contains("confirms nothing about a GPU"));
  CHECK_FALSE(std::filesystem::exists(workplace.folder() / "one.jsonl.partial"));
  CHECK(read_records(workplace.folder() / "one.jsonl").size() == 2);
  CHECK(workplace.run(call + "--shard 2/2 -o two.jsonl").exit_code == 4);  // nothing of it can be compared
  const tests::Ran merged = workplace.run("tmemsim diff --merge one.jsonl two.jsonl");
  CHECK(merged.exit_code == 0);
  CHECK_THAT(merged.output, tests::contains("1 agree"));
  CHECK_THAT(workplace.run("tmemsim diff --merge one.jsonl --format junit").output, tests::contains("<testcase "));
  CHECK(workplace.run("tmemsim diff --merge scenarios/seeds/tmem_roundtrip_f16.yaml").exit_code == 2);
  CHECK(workplace.run("tmemsim diff --backend host").exit_code == 2);
  CHECK(workplace.run("tmemsim diff --backend host --resume scenarios/seeds/tmem_roundtrip_f16.yaml").exit_code == 2);
  CHECK(workplace.run("tmemsim diff --backend host --shard 3/2 scenarios/seeds/tmem_roundtrip_f16.yaml").exit_code == 2);
  CHECK(workplace.run("tmemsim diff --arch sm_100z scenarios/seeds/tmem_roundtrip_f16.yaml").exit_code == 2);
  // Without a GPU, or without a compiler: one sentence, exit 4.
  const tests::Ran nothing = workplace.run("PATH=${PATH%%:*} CUDA_VISIBLE_DEVICES= tmemsim diff --backend host scenarios/seeds/tmem_roundtrip_f16.yaml");
  CHECK(nothing.exit_code == 4);
  CHECK(std::count(nothing.output.begin(), nothing.output.end(), '\n') == 1);
  const tests::Ran no_gpu = workplace.run("CUDA_VISIBLE_DEVICES= tmemsim diff scenarios/seeds/tmem_roundtrip_f16.yaml");
  CHECK(no_gpu.exit_code == 4);
  CHECK_THAT(no_gpu.output, tests::contains("--backend host"));
}
