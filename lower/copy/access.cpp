#include "lower/copy/access.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

namespace tmemsim::lower {
namespace {

constexpr std::int64_t word_bits = 32;

// Takes the digit that continues `run` bits on both sides (or on b alone) out of the list.
std::optional<StepDigit> take_continuing(std::vector<StepDigit>& digits, std::int64_t run, bool on_a) {
  const auto found = std::find_if(digits.begin(), digits.end(), [&](const StepDigit& digit) { return digit.b == run && (!on_a || digit.a == run); });
  if (found == digits.end()) return std::nullopt;
  const StepDigit digit = *found;
  digits.erase(found);
  return digit;
}

// Neighbours of which the outer continues the inner on both sides, anywhere in the list, become one.
void fuse(std::vector<StepDigit>& digits) {
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < digits.size() && !again; ++i) {
      for (std::size_t j = 0; j < digits.size() && !again; ++j) {
        if (i == j || digits[j].a != digits[i].a * digits[i].extent || digits[j].b != digits[i].b * digits[i].extent) continue;
        digits[i].extent *= digits[j].extent;
        digits.erase(digits.begin() + static_cast<std::ptrdiff_t>(j));
        again = true;
      }
    }
  }
}

struct Attempt {
  std::vector<std::int64_t> words;
  std::vector<StepDigit> steps;
  std::string problem;             // empty: it works
};

// An access of `width` bits made of a run that is contiguous on both sides and, above 32 bits, of words that are contiguous in
// memory alone.
Attempt contiguous(std::vector<StepDigit> rest, std::int64_t run, std::int64_t width, bool a_is_registers) {
  Attempt attempt;
  if (run % width == 0) {
    for (std::int64_t word = 0; word < width; word += word_bits) attempt.words.push_back(word);
    if (run != width) rest.push_back({run / width, width, width});
    attempt.steps = std::move(rest);
    return attempt;
  }
  const auto fails = [&](std::int64_t reached) {
    attempt.problem = fmt::format("only {} of its {} bytes are proved contiguous on both sides", reached / 8, width / 8);
    return attempt;
  };
  if (!a_is_registers || run % word_bits != 0 || width % run != 0) return fails(run);
  for (std::int64_t word = 0; word < run; word += word_bits) attempt.words.push_back(word);
  for (std::int64_t reached = run; reached < width;) {
    const auto digit = take_continuing(rest, reached, false);
    if (!digit) return fails(reached);
    const std::int64_t wanted = width / reached;
    const std::int64_t taken = std::min(digit->extent, wanted);
    if (digit->extent % taken != 0 || wanted % taken != 0) return fails(reached);
    if (digit->extent != taken) rest.push_back({digit->extent / taken, digit->a * taken, digit->b * taken});
    const std::size_t words = attempt.words.size();
    for (std::int64_t k = 1; k < taken; ++k) {
      for (std::size_t w = 0; w < words; ++w) attempt.words.push_back(attempt.words[w] + k * digit->a);
    }
    reached *= taken;
  }
  attempt.steps = std::move(rest);
  return attempt;
}

std::string misaligned(std::string_view what, std::int64_t bits, std::int64_t width) {
  return fmt::format("the {} of {} bytes is no multiple of {}", what, fmt::format("{:g}", static_cast<double>(bits) / 8), width / 8);
}

// Why accesses of `width` bits are not all aligned; empty when they are.
std::string alignment_problem(const Attempt& attempt, std::int64_t width, const Surroundings& around) {
  if (around.b_offset % width != 0) return misaligned("memory offset", around.b_offset, width);
  for (const std::int64_t stride : around.b_strides) {
    if (stride % width != 0) return misaligned("memory stride between threads", stride, width);
  }
  for (const StepDigit& step : attempt.steps) {
    if (step.b % width != 0) return misaligned("memory stride between accesses", step.b, width);
  }
  const std::int64_t a_width = around.a_is_registers ? std::min(width, word_bits) : width;
  const std::string_view a_name = around.a_is_registers ? "register" : "source";
  if (around.a_offset % a_width != 0) return misaligned(fmt::format("{} offset", a_name), around.a_offset, a_width);
  for (const std::int64_t stride : around.a_strides) {
    if (stride % a_width != 0) return misaligned(fmt::format("{} stride", a_name), stride, a_width);
  }
  for (const StepDigit& step : attempt.steps) {
    if (step.a % a_width != 0) return misaligned(fmt::format("{} stride between accesses", a_name), step.a, a_width);
  }
  for (const std::int64_t word : attempt.words) {
    if (word % std::min(a_width, word_bits) != 0) return misaligned(fmt::format("{} position of a word", a_name), word, a_width);
  }
  return {};
}

}  // namespace

Access widest_access(std::vector<StepDigit> digits, std::int64_t bits, const Surroundings& around, std::int64_t most_bytes) {
  std::erase_if(digits, [](const StepDigit& digit) { return digit.extent == 1; });
  std::int64_t run = bits;
  while (const auto digit = take_continuing(digits, run, true)) run *= digit->extent;
  fuse(digits);
  Access access;
  for (const std::int64_t width : {128, 64, 32, 16, 8}) {
    if (width / 8 > most_bytes) continue;
    std::string problem;
    for (const std::int64_t cap : {around.a_cap, around.b_cap}) {
      if (cap != 0 && width > cap) problem = fmt::format("the swizzle keeps only {} bytes together", cap / 8);
    }
    Attempt attempt;
    if (problem.empty()) {
      attempt = contiguous(digits, run, width, around.a_is_registers);
      problem = attempt.problem.empty() ? alignment_problem(attempt, width, around) : attempt.problem;
    }
    if (problem.empty()) {
      access.bytes = width / 8;
      access.words = std::move(attempt.words);
      access.steps = std::move(attempt.steps);
      fuse(access.steps);
      return access;
    }
    access.stopped.push_back(fmt::format("{} bytes: {}", width / 8, problem));
  }
  return access;
}

std::vector<Position> positions(const std::vector<StepDigit>& digits) {
  std::vector<Position> result{{0, 0}};
  for (const StepDigit& digit : digits) {
    const std::size_t before = result.size();
    for (std::int64_t k = 1; k < digit.extent; ++k) {
      for (std::size_t i = 0; i < before; ++i) result.push_back({result[i].a + k * digit.a, result[i].b + k * digit.b});
    }
  }
  std::sort(result.begin(), result.end(), [](const Position& x, const Position& y) { return x.a < y.a || (x.a == y.a && x.b < y.b); });
  return result;
}

std::optional<std::string> overlap(std::vector<Stretch> stretches, std::int64_t bits) {
  for (Stretch& stretch : stretches) stretch.stride = std::abs(stretch.stride);
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& x, const Stretch& y) { return x.stride < y.stride; });
  std::int64_t reached = bits;   // everything so far lies within this many bits
  bool nested = true;
  std::int64_t count = 1;
  for (const Stretch& stretch : stretches) {
    nested = nested && (stretch.stride >= reached || stretch.extent == 1);
    reached += stretch.stride * (stretch.extent - 1);
    count *= stretch.extent;
  }
  if (nested) return std::nullopt;
  constexpr std::int64_t most_checked = std::int64_t{1} << 20;
  if (count > most_checked) return "the iters of the destination overlap, and its elements are too many to check one by one";
  std::vector<StepDigit> digits;
  for (const Stretch& stretch : stretches) digits.push_back({stretch.extent, stretch.stride, 0});
  const std::vector<Position> all = positions(digits);
  const auto close = std::adjacent_find(all.begin(), all.end(), [&](const Position& x, const Position& y) { return y.a - x.a < bits; });
  if (close == all.end()) return std::nullopt;
  return "two elements of the source fall on one place of the destination";
}

}  // namespace tmemsim::lower
