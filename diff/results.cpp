#include "diff/results.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "ir/atomic_file.hpp"
#include "ir/diagnostic.hpp"
#include "report/xml_text.hpp"

namespace tmemsim::diff {
namespace {

constexpr std::uintmax_t largest_results = std::uintmax_t{1} << 30;  // bytes

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) throw InputError(fmt::format("{} is no file", file.string()));
  if (std::filesystem::file_size(file, error) > largest_results) throw InputError(fmt::format("{} is larger than 1 GiB", file.string()));
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw InputError(fmt::format("{} cannot be read", file.string()));
  return text;
}

// Records of whole lines; what stands behind the last line end is left out. `whole`: the bytes of the whole lines.
std::vector<Record> parse_lines(const std::string& text, const std::filesystem::path& file, std::size_t* whole = nullptr) {
  std::vector<Record> records;
  std::size_t begin = 0;
  for (std::uint32_t line = 1; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    auto record = parse_record(std::string_view(text).substr(begin, end - begin));
    if (!record) {
      throw InputError(
          Diagnostic{file.string(), line, 1, text.substr(begin, std::min<std::size_t>(end - begin, 100)), "this line is no result of tmemsim diff", {}});
    }
    records.push_back(std::move(*record));
    begin = end + 1;
  }
  if (whole != nullptr) *whole = begin;
  return records;
}

using Identity = std::tuple<std::string, std::string, std::string, std::string, std::string>;
Identity identity(const Record& record) {
  const Implementation ran = record.ran.value_or(Implementation{});
  return {record.file, record.instance, ran.backend, ran.device, ran.arch};
}

// ---- text ----

std::string case_name(const Record& record) {
  if (record.instance.empty() || record.instance == record.file) return record.file;
  return fmt::format("{} {}", record.file, record.instance);
}

struct Totals {
  std::array<std::size_t, status_count> count{};
  std::uint64_t elements = 0, registers = 0, cells = 0;
  void add(const Record& record) {
    ++count[static_cast<std::size_t>(record.status)];
    elements += record.elements;
    registers += record.registers;
    cells += record.cells;
  }
  std::size_t of(Status status) const { return count[static_cast<std::size_t>(status)]; }
};

std::string counts_text(const Totals& totals) {
  std::string text;
  for (std::size_t i = 0; i < status_count; ++i) {
    if (totals.count[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", totals.count[i], name(static_cast<Status>(i)));
  }
  return text;
}

// What ran where: programs with and without tensor memory apart, because an emulated one confirms something else.
std::string what_ran(const Record& record) {
  if (!record.ran) return "not run";
  const std::string machine = fmt::format("{}{}", record.ran->driver.empty() ? "" : fmt::format("; driver {}", record.ran->driver),
                                          record.ran->toolkit.empty() ? "" : fmt::format("; {}", record.ran->toolkit));
  return fmt::format("{}{}", what_it_confirms(*record.ran), machine);
}

std::string summary_text(const std::vector<Record>& records) {
  std::vector<std::string> order;
  std::map<std::string, Totals> groups;
  for (const Record& record : records) {
    const std::string ran = what_ran(record);
    if (groups.find(ran) == groups.end()) order.push_back(ran);
    groups[ran].add(record);
  }
  std::string text;
  for (const std::string& ran : order) {
    const Totals& totals = groups.at(ran);
    text += fmt::format("{}\n  {}", ran, counts_text(totals));
    if (totals.elements + totals.registers + totals.cells > 0) {
      text += fmt::format("; compared: {} elements, {} registers, {} cells", totals.elements, totals.registers, totals.cells);
    }
    text += "\n";
  }
  return text;
}

std::string text_report(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records) {
    if (record.status == Status::agree) continue;
    const std::string why = record.difference ? (record.reason.empty() ? "" : record.reason + ": ") + describe(*record.difference) : record.reason;
    text += fmt::format("{}: {}: {}\n", case_name(record), name(record.status), why);
  }
  return text + (text.empty() ? "" : "\n") + summary_text(records);
}

// ---- JUnit ----

std::string junit_case(const Record& record) {
  std::string text = fmt::format("    <testcase classname=\"{}\" name=\"{}\"", report::xml_text(record.file),
                                 report::xml_text(record.instance.empty() ? record.file : record.instance));
  const auto inside = [&](std::string_view element, std::string_view type, const std::string& message) {
    return fmt::format(">\n      <{}{} message=\"{}\"/>\n    </testcase>\n", element, type.empty() ? "" : fmt::format(" type=\"{}\"", type), report::xml_text(message));
  };
  switch (record.status) {
    case Status::agree:
      return text + "/>\n";
    case Status::incomparable:
      return text + inside("skipped", "", record.reason);
    case Status::differ:
      return text + inside("failure", "differ", record.difference ? describe(*record.difference) : record.reason);
    case Status::unrepeatable:
      return text + inside("failure", "not repeatable", record.difference ? record.reason + ": " + describe(*record.difference) : record.reason);
    case Status::failed:
    case Status::error:
      return text + inside("error", name(record.status), record.reason);
  }
  return text;
}

std::string junit_report(const std::vector<Record>& records) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Record*>> suites;
  for (const Record& record : records) {
    const std::string ran = what_ran(record);
    if (suites.find(ran) == suites.end()) order.push_back(ran);
    suites[ran].push_back(&record);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tmemsim diff\">\n";
  for (const std::string& ran : order) {
    Totals totals;
    for (const Record* record : suites[ran]) totals.add(*record);
    text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n", report::xml_text(ran), suites[ran].size(),
                        totals.of(Status::differ) + totals.of(Status::unrepeatable), totals.of(Status::failed) + totals.of(Status::error),
                        totals.of(Status::incomparable));
    for (const Record* record : suites[ran]) text += junit_case(*record);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

std::string json_lines(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records) text += json(record) + "\n";
  return text;
}

}  // namespace

Journal::Journal(const std::filesystem::path& file, bool resume) : file_(file), partial_(file.string() + ".partial") {
  std::error_code error;
  const bool goes_on = resume && std::filesystem::exists(partial_, error);
  descriptor_ = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
  if (descriptor_ < 0) throw InputError(fmt::format("{} cannot be written: {}", partial_.string(), std::strerror(errno)));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    throw InputError(fmt::format("{} is being written by another run", partial_.string()));
  }
  try {
    std::size_t whole = 0;
    if (goes_on) before_ = parse_lines(read_text(partial_), partial_, &whole);
    if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) {
      throw InputError(fmt::format("{} cannot be written: {}", partial_.string(), std::strerror(errno)));
    }
    if (resume && !goes_on && std::filesystem::exists(file_, error)) {
      for (const Record& record : read_records(file_)) {
        add(record);
        before_.push_back(record);
      }
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::add(const Record& record) {
  const std::string line = json(record) + "\n";
  const std::lock_guard<std::mutex> lock(mutex_);
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  const std::string reason = written < 0 ? std::strerror(errno) : "the disk is full";
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_, before);
  throw InputError(fmt::format("{} cannot be written: {}", partial_.string(), reason));
}

void Journal::finish(std::string_view report) {
  write_file_atomically(file_, report);
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

std::vector<Record> read_records(const std::filesystem::path& file) {
  const std::string text = read_text(file);
  if (!text.empty() && text.back() != '\n') throw InputError(fmt::format("{} ends in the middle of a line", file.string()));
  return parse_lines(text, file);
}

std::vector<Record> merged(const std::vector<std::vector<Record>>& lists) {
  std::vector<Record> all;
  std::map<Identity, std::size_t> places;
  for (const std::vector<Record>& list : lists) {
    for (const Record& record : list) {
      const auto [place, is_new] = places.emplace(identity(record), all.size());
      if (is_new) all.push_back(record);
      else all[place->second] = record;
    }
  }
  return all;
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, shard.number);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, shard.of) : first;
  if (!slash || second.ec != std::errc() || second.ptr != end || shard.number < 1 || shard.number > shard.of) {
    throw InputError(fmt::format("there is no shard '{}'", text), "shard i of n is i/n, with i from 1 to n: --shard 2/4");
  }
  return shard;
}

std::string summary(const std::vector<Record>& records) { return summary_text(records); }

std::string report(const std::vector<Record>& records, Format format) {
  switch (format) {
    case Format::text:
      return text_report(records);
    case Format::jsonl:
      return json_lines(records);
    case Format::junit:
      return junit_report(records);
  }
  return {};
}

int exit_code(const std::vector<Record>& records) {
  Totals totals;
  for (const Record& record : records) totals.add(record);
  if (totals.of(Status::error) > 0) return 2;
  if (totals.of(Status::differ) + totals.of(Status::unrepeatable) + totals.of(Status::failed) > 0) return 1;
  return totals.of(Status::agree) > 0 || records.empty() ? 0 : 4;
}

}  // namespace tmemsim::diff
