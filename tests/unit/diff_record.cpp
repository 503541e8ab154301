// Results as lines of JSON: what is written is read back, and nothing else is taken for a result.
#include "diff/record.hpp"
#include "tests/catch.hpp"

using namespace tmemsim::diff;

namespace {

Record whole_record() {
  Record record;
  record.key = "00ff";
  record.file = "a \"b\"\n<c>.yaml";
  record.scenario = "s";
  record.instance = "s[n=1]";
  record.status = Status::differ;
  record.ran = Implementation{"emulated", "GPU (compute capability 9.0)", "sm_90a", "580.1", "CUDA 13.0.88", true};
  record.elements = 1;
  record.registers = 2;
  record.cells = 3;
  Difference difference;
  difference.space = "global";
  difference.buffer = "B";
  difference.index = {3, 5};
  difference.expected_bits = 0xffffffffffffffffu;
  difference.actual_bits = 7;
  difference.cta = 1;
  difference.thread = 37;
  difference.reg = 4;
  difference.lane = 127;
  difference.column = 511;
  difference.places = 12;
  difference.written_by = Writer{"a.yaml", 9, 5, "program[2]", "store", "tcgen05.st", 1, 1, 0xffffffff};
  record.difference = difference;
  return record;
}

}  // namespace

TEST_CASE("A result is read back as it was written, on one line") {
  const Record record = whole_record();
  const std::string line = json(record);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(parse_record(line).value() == record);

  Record little;
  little.key = "1";
  little.file = "f";
  for (std::size_t i = 0; i < status_count; ++i) {
    little.status = static_cast<Status>(i);
    CHECK(parse_record(json(little)).value() == little);
    CHECK(status_named(name(little.status)) == little.status);
  }
  CHECK_FALSE(status_named("agreed").has_value());
}

TEST_CASE("Half a line, or a line of something else, is no result") {
  const std::string line = json(whole_record());
  for (std::size_t length = 0; length < line.size(); ++length) CHECK_FALSE(parse_record(line.substr(0, length)).has_value());
  for (const char* other : {"{}", "[]", "null", "1", R"({"tmemsim_diff":2})", "\xff\xfe"}) CHECK_FALSE(parse_record(other).has_value());
  const auto replaced = [&](const std::string& what, const std::string& with) {
    std::string changed = line;
    changed.replace(changed.find(what), what.size(), with);
    return changed;
  };
  CHECK(parse_record(replaced("\"elements\":1", "\"elements\":2")).has_value());
  CHECK_FALSE(parse_record(replaced("\"elements\":1", "\"elements\":\"1\"")).has_value());
  CHECK_FALSE(parse_record(replaced("\"status\":\"differ\"", "\"status\":\"fine\"")).has_value());
  CHECK_FALSE(parse_record(replaced("\"index\":[3,5]", "\"index\":7")).has_value());
}

TEST_CASE("Bytes that are no UTF-8 do not stop a result from being written") {
  Record record = whole_record();
  record.file = "\xff.yaml";
  CHECK(parse_record(json(record)).has_value());
}

TEST_CASE("A difference in words") {
  const std::string text = describe(whole_record().difference.value());
  for (const char* part : {"B[3, 5]", "0x7", "0xffffffffffffffff", "CTA 1", "thread 37", "register 4", "lane 127", "column 511", "tcgen05.st (store)", "a.yaml:9:5", "12 places"}) {
    CHECK_THAT(text, tmemsim::tests::contains(part));
  }
}

TEST_CASE("An emulated run never counts as a confirmation") {
  Implementation ran{"native", "B200 (compute capability 10.0)", "sm_100a", "", "", true};
  CHECK(what_it_confirms(ran).find("confirms nothing") == std::string::npos);
  ran.backend = "emulated";
  CHECK_THAT(what_it_confirms(ran), tmemsim::tests::contains("confirms nothing about the hardware's tensor memory"));
  ran.backend = "host";
  CHECK_THAT(what_it_confirms(ran), tmemsim::tests::contains("confirms nothing about a GPU"));
}
