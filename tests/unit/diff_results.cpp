// Journals that survive a kill, shards that miss nothing, merged reports.
#include "diff/results.hpp"

#include <set>

#include "ir/diagnostic.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::diff;

namespace {

Record record_of(const std::string& file, Status status, const std::string& backend = "emulated", const std::string& device = "GPU") {
  Record record;
  record.key = file;
  record.file = file;
  record.instance = file;
  record.status = status;
  if (status != Status::incomparable && status != Status::error) record.ran = Implementation{backend, device, "sm_90a", "1.2", "CUDA 13.0", true};
  record.elements = 10;
  if (status != Status::agree) record.reason = "because & <so>";
  return record;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("A finished run leaves the report alone") {
  const tests::TemporaryFolder folder;
  const auto file = folder / "r.jsonl";
  {
    Journal journal(file, false);
    CHECK(journal.before().empty());
    journal.add(record_of("a", Status::agree));
    CHECK_FALSE(std::filesystem::exists(file));
    CHECK(read_records(folder / "r.jsonl.partial").size() == 1);
    journal.finish("done\n");
  }
  CHECK(tests::read_file(file) == "done\n");
  CHECK_FALSE(std::filesystem::exists(folder / "r.jsonl.partial"));
}

TEST_CASE("A killed run goes on behind its last whole line") {
  const tests::TemporaryFolder folder;
  const auto file = folder / "r.jsonl";
  const Record a = record_of("a", Status::agree), b = record_of("b", Status::failed), c = record_of("c", Status::agree);
  const std::string torn = json(c).substr(0, 40);
  folder.write("r.jsonl.partial", json(a) + "\n" + json(b) + "\n" + torn);
  {
    Journal journal(file, true);
    CHECK(journal.before() == std::vector<Record>{a, b});
    journal.add(c);
  }
  CHECK(read_records(folder / "r.jsonl.partial") == std::vector<Record>{a, b, c});

  SECTION("a new run does not go on") {
    const Journal journal(file, false);
    CHECK(journal.before().empty());
    CHECK(tests::read_file(folder / "r.jsonl.partial").empty());
  }
  SECTION("a finished run can be gone on with, too") {
    Journal(file, true).finish(report({a, b, c}, Format::jsonl));
    CHECK(Journal(file, true).before() == std::vector<Record>{a, b, c});
  }
  SECTION("something else is not overwritten by --resume") {
    folder.write("r.jsonl.partial", "my notes\n");
    CHECK_THROWS_AS(Journal(file, true), InputError);
    CHECK(tests::read_file(folder / "r.jsonl.partial") == "my notes\n");
  }
}

TEST_CASE("Two runs do not write the same results") {
  const tests::TemporaryFolder folder;
  const Journal one(folder / "r", false);
  CHECK_THROWS_AS(Journal(folder / "r", true), InputError);
}

TEST_CASE("Journals that cannot be written say so") {
  const tests::TemporaryFolder folder;
  CHECK_THROWS_AS(Journal(folder / "no/such/folder", false), InputError);
  std::filesystem::create_directory(folder / "d.partial");
  CHECK_THROWS_AS(Journal(folder / "d", false), InputError);
}

TEST_CASE("Files that hold no results are refused with the line") {
  const tests::TemporaryFolder folder;
  const std::string good = json(record_of("a", Status::agree)) + "\n";
  CHECK(read_records(folder.write("good", good)).size() == 1);
  CHECK(read_records(folder.write("empty", "")).empty());
  try {
    read_records(folder.write("bad", good + "nonsense\n"));
    FAIL("taken");
  } catch (const InputError& error) {
    CHECK(error.diagnostic().line == 2);
  }
  CHECK_THROWS_AS(read_records(folder.write("torn", good + good.substr(0, 20))), InputError);
  CHECK_THROWS_AS(read_records(folder / "missing"), InputError);
  CHECK_THROWS_AS(read_records(folder.path()), InputError);
}

TEST_CASE("Shards share out all cases, each once") {
  for (const std::size_t of : {1u, 2u, 3u, 7u}) {
    std::multiset<std::size_t> seen;
    for (std::size_t number = 1; number <= of; ++number) {
      const Shard shard = parse_shard(std::to_string(number) + "/" + std::to_string(of));
      for (std::size_t i = 0; i < 20; ++i) {
        if (shard.has(i)) seen.insert(i);
      }
    }
    CHECK(seen.size() == 20);
    CHECK(std::set<std::size_t>(seen.begin(), seen.end()).size() == 20);
  }
  for (const char* wrong : {"", "1", "1/", "/2", "0/2", "3/2", "1/2/3", "-1/2", "1/2 ", "a/b", "99999999999999999999999/2"}) {
    CHECK_THROWS_AS(parse_shard(wrong), InputError);
  }
}

TEST_CASE("Merging: the last result of a case on a device counts; devices stay apart") {
  const Record first = record_of("a", Status::failed), again = record_of("a", Status::agree), other = record_of("b", Status::agree);
  const Record elsewhere = record_of("a", Status::differ, "emulated", "B200"), natively = record_of("a", Status::agree, "native", "B200");
  const auto all = merged({{first, other}, {elsewhere, natively, again}});
  CHECK(all == std::vector<Record>{again, other, elsewhere, natively});
  CHECK(merged({}).empty());
}

TEST_CASE("Exit codes of a report") {
  const auto code = [](std::initializer_list<Status> statuses) {
    std::vector<Record> records;
    for (const Status status : statuses) records.push_back(record_of("f", status));
    return exit_code(records);
  };
  CHECK(code({}) == 0);
  CHECK(code({Status::agree, Status::incomparable}) == 0);
  CHECK(code({Status::incomparable}) == 4);
  CHECK(code({Status::agree, Status::differ}) == 1);
  CHECK(code({Status::agree, Status::unrepeatable}) == 1);
  CHECK(code({Status::failed, Status::incomparable}) == 1);
  CHECK(code({Status::differ, Status::error}) == 2);
}

TEST_CASE("Text: what does not agree, then what ran where") {
  const std::string text = report({record_of("a", Status::agree), record_of("b", Status::incomparable), record_of("c", Status::agree, "native", "B200")}, Format::text);
  CHECK(count(text, "because & <so>") == 1);
  CHECK_THAT(text, tests::contains("b: not comparable: because"));
  CHECK_THAT(text, tests::contains("confirms nothing about the hardware's tensor memory"));
  CHECK_THAT(text, tests::contains("native code on B200"));
  CHECK_THAT(text, tests::contains("1 agree; compared: 10 elements, 0 registers, 0 cells"));
}

TEST_CASE("JUnit: one test case a result, nothing of a name ends an attribute") {
  std::vector<Record> records;
  for (std::size_t i = 0; i < status_count; ++i) records.push_back(record_of("f" + std::to_string(i), static_cast<Status>(i)));
  records[0].file = "a\"><x>&\x01";
  const std::string text = report(records, Format::junit);
  CHECK(count(text, "<testcase ") == status_count);
  CHECK(count(text, "<failure ") == 2);
  CHECK(count(text, "<error ") == 2);
  CHECK(count(text, "<skipped ") == 1);
  CHECK(count(text, "<x>") == 0);
  CHECK_THAT(text, tests::contains("a&quot;&gt;&lt;x&gt;&amp;?"));
  CHECK(count(text, "<testsuite ") == count(text, "</testsuite>"));
  CHECK(count(text, "<testcase ") == count(text, "</testcase>") + 1);  // the one that agrees has nothing inside
}

TEST_CASE("JSON Lines: a report can be merged again") {
  const tests::TemporaryFolder folder;
  const std::vector<Record> records{record_of("a", Status::agree), record_of("b", Status::incomparable)};
  CHECK(read_records(folder.write("r", report(records, Format::jsonl))) == records);
}
