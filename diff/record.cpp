#include "diff/record.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <nlohmann/json.hpp>

namespace tmemsim::diff {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, status_count> status_names{"agree", "differ", "not repeatable", "failed", "not comparable", "error"};

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json to_json(const Writer& writer) {
  return {{"file", writer.file},   {"line", writer.line}, {"col", writer.col},   {"statement", writer.statement},
          {"label", text_or_null(writer.label)}, {"op", writer.op},     {"cta", writer.cta},   {"warp", writer.warp},
          {"lanes", writer.lanes}};
}

Json to_json(const Difference& difference) {
  return {{"space", difference.space},
          {"buffer", text_or_null(difference.buffer)},
          {"index", difference.index},
          {"expected_bits", difference.expected_bits},
          {"actual_bits", difference.actual_bits},
          {"cta", or_null(difference.cta)},
          {"thread", or_null(difference.thread)},
          {"register", or_null(difference.reg)},
          {"lane", or_null(difference.lane)},
          {"column", or_null(difference.column)},
          {"places", difference.places},
          {"written_by", difference.written_by ? to_json(*difference.written_by) : Json(nullptr)}};
}

Json to_json(const Implementation& ran) {
  return {{"backend", ran.backend}, {"device", ran.device},   {"arch", text_or_null(ran.arch)}, {"driver", text_or_null(ran.driver)},
          {"toolkit", text_or_null(ran.toolkit)}, {"tensor_memory", ran.uses_tmem}};
}

// Reads members; a wrong type throws Json::exception.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  std::string text(const char* key) const {
    const Json& value = json_.at(key);
    return value.is_null() ? std::string() : value.get<std::string>();
  }
  template <class T>
  T number(const char* key) const {
    const Json& value = json_.at(key);
    if (!value.is_number_integer()) throw std::invalid_argument("a number is expected");
    return value.get<T>();
  }
  template <class T>
  std::optional<T> maybe(const char* key) const {
    return json_.at(key).is_null() ? std::nullopt : std::optional(number<T>(key));
  }
  const Json& at(const char* key) const { return json_.at(key); }

 private:
  const Json& json_;
};

Writer read_writer(const Json& json) {
  const Reader in(json);
  return {in.text("file"),  in.number<std::uint32_t>("line"), in.number<std::uint32_t>("col"),  in.text("statement"),
          in.text("label"), in.text("op"),                    in.number<std::uint32_t>("cta"),  in.number<std::uint32_t>("warp"),
          in.number<std::uint32_t>("lanes")};
}

Difference read_difference(const Json& json) {
  const Reader in(json);
  Difference difference;
  difference.space = in.text("space");
  difference.buffer = in.text("buffer");
  difference.index = in.at("index").get<std::vector<std::int64_t>>();
  difference.expected_bits = in.number<std::uint64_t>("expected_bits");
  difference.actual_bits = in.number<std::uint64_t>("actual_bits");
  difference.cta = in.maybe<std::uint32_t>("cta");
  difference.thread = in.maybe<std::uint32_t>("thread");
  difference.reg = in.maybe<std::uint32_t>("register");
  difference.lane = in.maybe<std::int64_t>("lane");
  difference.column = in.maybe<std::int64_t>("column");
  difference.places = in.number<std::uint64_t>("places");
  if (!in.at("written_by").is_null()) difference.written_by = read_writer(in.at("written_by"));
  return difference;
}

Implementation read_implementation(const Json& json) {
  const Reader in(json);
  return {in.text("backend"), in.text("device"), in.text("arch"), in.text("driver"), in.text("toolkit"), in.at("tensor_memory").get<bool>()};
}

Record read_record(const Json& json) {
  const Reader in(json);
  if (in.number<int>("tmemsim_diff") != 1) throw std::invalid_argument("another version");
  Record record;
  record.key = in.text("key");
  record.file = in.text("file");
  record.scenario = in.text("scenario");
  record.instance = in.text("instance");
  const auto status = status_named(in.text("status"));
  if (!status) throw std::invalid_argument("no status");
  record.status = *status;
  record.reason = in.text("reason");
  if (!in.at("ran").is_null()) record.ran = read_implementation(in.at("ran"));
  record.elements = in.number<std::uint64_t>("elements");
  record.registers = in.number<std::uint64_t>("registers");
  record.cells = in.number<std::uint64_t>("cells");
  if (!in.at("difference").is_null()) record.difference = read_difference(in.at("difference"));
  return record;
}

std::string place_text(const Difference& difference) {
  std::vector<std::string> parts;
  if (difference.cta) parts.push_back(fmt::format("CTA {}", *difference.cta));
  if (difference.thread) parts.push_back(fmt::format("thread {}", *difference.thread));
  if (difference.reg) parts.push_back(fmt::format("register {}", *difference.reg));
  if (difference.lane) parts.push_back(fmt::format("lane {}", *difference.lane));
  if (difference.column) parts.push_back(fmt::format("column {}", *difference.column));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string_view name(Status status) { return status_names.at(static_cast<std::size_t>(status)); }

std::optional<Status> status_named(std::string_view wanted) {
  for (std::size_t i = 0; i < status_count; ++i) {
    if (status_names[i] == wanted) return static_cast<Status>(i);
  }
  return std::nullopt;
}

std::string what_it_confirms(const Implementation& ran) {
  const std::string on = ran.arch.empty() ? ran.device : fmt::format("{}, built for {}", ran.device, ran.arch);
  if (ran.backend == "native") return fmt::format("native code on {}", on);
  if (ran.backend == "host") return fmt::format("the emulated implementation on {}: confirms nothing about a GPU", on);
  return fmt::format("the emulated implementation on {}: confirms nothing about the hardware's tensor memory", on);
}

std::string json(const Record& record) {
  const Json json{{"tmemsim_diff", 1},
                  {"key", record.key},
                  {"file", record.file},
                  {"scenario", text_or_null(record.scenario)},
                  {"instance", text_or_null(record.instance)},
                  {"status", name(record.status)},
                  {"reason", text_or_null(record.reason)},
                  {"ran", record.ran ? to_json(*record.ran) : Json(nullptr)},
                  {"elements", record.elements},
                  {"registers", record.registers},
                  {"cells", record.cells},
                  {"difference", record.difference ? to_json(*record.difference) : Json(nullptr)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Record> parse_record(std::string_view line) {
  constexpr std::size_t longest_line = 1 << 20;
  if (line.size() > longest_line) return std::nullopt;
  try {
    return read_record(Json::parse(line));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string describe(const Difference& difference) {
  const std::string what = difference.buffer.empty()  ? "a cell of tensor memory"
                           : difference.index.empty() ? difference.buffer
                                                      : fmt::format("{}[{}]", difference.buffer, fmt::join(difference.index, ", "));
  std::string text = fmt::format("{} is {:#x}, in the simulator {:#x}", what, difference.actual_bits, difference.expected_bits);
  if (const std::string place = place_text(difference); !place.empty()) text += fmt::format(" ({})", place);
  if (const auto& by = difference.written_by) {
    text += fmt::format("; written by {}{} at {}:{}:{}, CTA {}, warp {}", by->op, by->label.empty() ? "" : fmt::format(" ({})", by->label), by->file,
                        by->line, by->col, by->cta, by->warp);
  }
  return text + (difference.places > 1 ? fmt::format("; {} places differ", difference.places) : "");
}

}  // namespace tmemsim::diff
