// Tokens: check sum of the program, the points by kind, the options taken with runs of zeros written short.
//   9c41f0-o3.12.17-p4-z5.1.2
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>

#include "ir/diagnostic.hpp"
#include "sim/schedules/schedule.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::size_t longest_token = 100'000, most_decisions = 1'000'000;

std::string check_sum(const Program& program) {  // FNV-1a, folded to 24 bits
  std::uint64_t sum = 14695981039346656037u;
  for (char c : print(*program.kernel)) sum = (sum ^ static_cast<std::uint8_t>(c)) * 1099511628211u;
  return fmt::format("{:06x}", (sum ^ sum >> 24 ^ sum >> 48) & 0xffffffu);
}

std::string steps_text(char kind, const std::vector<std::uint32_t>& steps) {
  return steps.empty() ? std::string() : fmt::format("-{}{}", kind, fmt::join(steps, "."));
}

std::string options_text(const std::vector<std::uint16_t>& taken) {
  std::string text;
  for (std::size_t i = 0; i < taken.size();) {
    std::size_t zeros = 0;
    while (i + zeros < taken.size() && taken[i + zeros] == 0) ++zeros;
    if (!text.empty()) text += '.';
    text += zeros > 1 ? fmt::format("z{}", zeros) : fmt::format("{}", taken[i]);
    i += std::max<std::size_t>(1, zeros);
  }
  return text;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string_view part() {  // up to the next dash
    const std::size_t end = std::min(text_.find('-', at_), text_.size());
    const std::string_view piece = text_.substr(at_, end - at_);
    at_ = end + 1;
    return piece;
  }
  bool more() const { return at_ < text_.size(); }

  template <class Number> std::vector<Number> numbers(std::string_view list, bool with_zeros) {
    std::vector<Number> all;
    while (!list.empty()) {
      const std::size_t end = std::min(list.find('.'), list.size());
      std::string_view item = list.substr(0, end);
      if (end + 1 == list.size()) fail("a number is missing at the end");
      list = end < list.size() ? list.substr(end + 1) : std::string_view();
      const bool zeros = with_zeros && item.starts_with('z');
      if (zeros) item.remove_prefix(1);
      const std::uint64_t value = number(item);
      if (value > (zeros ? most_decisions : std::uint64_t{UINT16_MAX})) fail("a number is too large");
      if (zeros) all.insert(all.end(), static_cast<std::size_t>(value), Number{0});
      else all.push_back(static_cast<Number>(value));
      if (all.size() > most_decisions) fail("there are too many decisions");
    }
    return all;
  }

  [[noreturn]] void fail(std::string_view why) const {
    throw InputError(fmt::format("'{}' is no schedule: {}", text_.substr(0, 60), why), "give the token as `run --schedules N` prints it");
  }

 private:
  std::uint64_t number(std::string_view digits) const {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) fail(fmt::format("'{}' is no number", digits));
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_token(const Schedule& schedule, const Program& program) {
  std::string token = check_sum(program);
  token += steps_text('o', schedule.points.order) + steps_text('p', schedule.points.placement) + steps_text('l', schedule.points.leader);
  const std::string taken = options_text(schedule.taken);
  return taken.empty() ? token : token + "-" + taken;
}

Schedule from_token(std::string_view token, const Program& program) {
  Reader reader(token);
  if (token.size() > longest_token) reader.fail("it is too long");
  const std::string_view sum = reader.part();
  if (sum.size() != 6 || sum.find_first_not_of("0123456789abcdef") != std::string_view::npos) reader.fail("it does not begin with six hexadecimal digits");
  if (sum != check_sum(program)) {
    throw InputError(fmt::format("the schedule {} belongs to another program than {}", token.substr(0, 60), program.kernel->name),
                     "give the file, --define and --only of the run that printed it");
  }
  Schedule schedule;
  while (reader.more()) {
    const std::string_view part = reader.part();
    std::vector<std::uint32_t>* points = part.starts_with('o')   ? &schedule.points.order
                                         : part.starts_with('p') ? &schedule.points.placement
                                         : part.starts_with('l') ? &schedule.points.leader
                                                                 : nullptr;
    if (!(points ? points->empty() : schedule.taken.empty())) reader.fail("a part comes twice");
    if (!points) {
      schedule.taken = reader.numbers<std::uint16_t>(part, true);
      continue;
    }
    *points = reader.numbers<std::uint32_t>(part.substr(1), false);
    if (!std::is_sorted(points->begin(), points->end())) reader.fail("its points are not in order");
    if (!points->empty() && points->back() >= program.steps.size()) reader.fail("it names a step that the program does not have");
  }
  return schedule;
}

}  // namespace tmemsim::sim
