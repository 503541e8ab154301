// Results of many cases: written as they come, so that a killed run can go on; put together from shards; reported.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "diff/record.hpp"

namespace tmemsim::diff {

// The results of a run that is going on, FILE.partial: a line a case, each written with one call and whole. A line that a
// killed run left unfinished is cut off when it goes on.
class Journal {
 public:
  // `resume`: keeps what FILE.partial (or, where it is not there, a finished FILE) holds; else starts anew. InputError when the
  // file cannot be written, is being written by another run, or holds something else than results.
  Journal(const std::filesystem::path& file, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::vector<Record>& before() const { return before_; }
  void add(const Record& record);              // from any thread; InputError when the disk is full
  // The whole report takes its place under the name FILE, and FILE.partial is gone.
  void finish(std::string_view report);

 private:
  std::filesystem::path file_, partial_;
  std::vector<Record> before_;
  std::mutex mutex_;
  int descriptor_ = -1;
};

// The lines of a results file. InputError, located, for a line that is no result.
std::vector<Record> read_records(const std::filesystem::path& file);

// One list from many, in the order in which cases first come. Of several results of one case on one device and backend the last
// counts.
std::vector<Record> merged(const std::vector<std::vector<Record>>& lists);

// Case number `index` (from 0) of shard "i/n", i from 1 to n.
struct Shard {
  std::size_t number = 1, of = 1;
  bool has(std::size_t index) const { return index % of == number - 1; }
};
Shard parse_shard(const std::string& text);    // InputError

enum class Format : std::uint8_t { text, jsonl, junit };
// The last lines of the text report: what ran where, with counts.
std::string summary(const std::vector<Record>& records);
std::string report(const std::vector<Record>& records, Format format);

// 2 a scenario that cannot be read, 1 something differs, is not repeatable or failed, 4 nothing could be compared, else 0.
int exit_code(const std::vector<Record>& records);

}  // namespace tmemsim::diff
