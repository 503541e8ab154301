#include "ir/scenario/init_values.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/npy.hpp"
#include "ir/scenario/safe_path.hpp"
#include "ir/scenario/scenario.hpp"
#include "ir/scenario/yaml_tree.hpp"

namespace tmemsim {
namespace scenario {
namespace {

Reason reason(std::string text) {
  Reason made;
  made.text = std::move(text);
  return made;
}

std::string number_text(const Number& number) {
  return std::visit([](auto v) { return fmt::format("{}", v); }, number);
}

std::uint64_t bits_of(Dtype dtype, const Number& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return encode_int(dtype, *whole);
  return encode(dtype, std::get<double>(number));
}

// start + step * index: exact in 64 bits for whole numbers, one rounding (of a fused multiply-add) otherwise.
std::optional<Number> iota_at(const InitIota& iota, std::int64_t index) {
  const auto* start = std::get_if<std::int64_t>(&iota.start);
  const auto* step = std::get_if<std::int64_t>(&iota.step);
  if (start && step) {
    const auto product = checked_mul(*step, index);
    const auto sum = product ? checked_add(*start, *product) : std::nullopt;
    if (!sum) return std::nullopt;
    return Number(*sum);
  }
  const auto real = [](const Number& n) { return std::visit([](auto v) { return static_cast<double>(v); }, n); };
  return Number(std::fma(real(iota.step), static_cast<double>(index), real(iota.start)));
}

// splitmix64 (Steele, Lea, Flood 2014): the state grows by a constant, the output is a mix of it.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // [0, 1): the upper 53 bits.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Floats: low + (high - low) * u, one rounding to double and one to the type. Integers: low + floor(count * u) over the whole
// numbers of the range. std::fma, so that no compiler decides about the rounding.
Number random_number(Dtype dtype, const InitRandom& random, SplitMix64& source) {
  const double u = source.unit();
  if (!is_integer(dtype))
    return Number(std::min(random.high, std::max(random.low, std::fma(random.high - random.low, u, random.low))));
  const double low = std::ceil(random.low), high = std::floor(random.high);
  return Number(std::min(high, low + std::floor((high - low + 1) * u)));
}

std::uint64_t mask_of(Dtype dtype) { return bits(dtype) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits(dtype)) - 1; }

std::optional<std::string> problem_with_random(Dtype dtype, const InitRandom& random) {
  if (random.bits) return std::nullopt;
  if (!std::isfinite(random.low) || !std::isfinite(random.high) || !std::isfinite(random.high - random.low))
    return "low and high must be finite";
  if (random.low > random.high) return fmt::format("low ({}) is above high ({})", random.low, random.high);
  if (is_integer(dtype) && std::ceil(random.low) > std::floor(random.high))
    return fmt::format("no whole number lies in [{}, {}]", random.low, random.high);
  const double ends[] = {is_integer(dtype) ? std::ceil(random.low) : random.low,
                         is_integer(dtype) ? std::floor(random.high) : random.high};
  for (double end : ends)
    if (auto problem = problem_with_number(dtype, Number(end))) return problem;
  return std::nullopt;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<NpyArray> array_for(const Buffer& buffer, const InitNpy& init, const std::string& folder) {
  const auto path = npy_inside(folder, init.path);
  if (!path) return path.reason();
  auto array = read_npy(*path);
  if (!array) return array.reason();
  const Dtype wanted = npy_storage(buffer.dtype);
  if (array->dtype != wanted) {
    const std::string as =
        wanted == buffer.dtype ? std::string() : fmt::format(" (a .npy file holds {} as {})", name(buffer.dtype), name(wanted));
    return reason(fmt::format("{} holds {}, but buffer {} needs {}{}", shown(init.path), name(array->dtype), buffer.name,
                              name(wanted), as));
  }
  if (array->shape != buffer.shape)
    return reason(fmt::format("{} has the shape {}, but buffer {} has {}", shown(init.path), shape_text(array->shape),
                              buffer.name, shape_text(buffer.shape)));
  return array;
}

std::vector<std::uint64_t> words_of(const NpyArray& array, Dtype dtype, std::size_t count) {
  const auto bytes = static_cast<std::size_t>(bits(array.dtype)) / 8;
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t byte = 0; byte < bytes; ++byte)
      words[i] |= std::to_integer<std::uint64_t>(array.data[i * bytes + byte]) << (8 * byte);
    words[i] &= mask_of(dtype);
  }
  return words;
}

struct Bits {
  const Buffer& buffer;
  const std::string& folder;
  std::size_t count;

  using Words = Result<std::vector<std::uint64_t>>;
  Words operator()(const InitFill& fill) const { return std::vector<std::uint64_t>(count, bits_of(buffer.dtype, fill.value)); }
  Words operator()(const InitIota& iota) const {
    std::vector<std::uint64_t> words(count);
    for (std::size_t i = 0; i < count; ++i)
      words[i] = bits_of(buffer.dtype, iota_at(iota, static_cast<std::int64_t>(i)).value_or(Number(std::int64_t{0})));
    return words;
  }
  Words operator()(const InitRandom& random) const {
    SplitMix64 source(random.seed);
    std::vector<std::uint64_t> words(count);
    for (std::uint64_t& word : words)
      word = random.bits ? source.next() & mask_of(buffer.dtype)
                         : bits_of(buffer.dtype, random_number(buffer.dtype, random, source));
    return words;
  }
  Words operator()(const InitData& data) const {
    std::vector<std::uint64_t> words;
    for (const Number& value : data.values) words.push_back(bits_of(buffer.dtype, value));
    return words;
  }
  Words operator()(const InitNpy& npy) const {
    const auto array = array_for(buffer, npy, folder);
    if (!array) return array.reason();
    return words_of(*array, buffer.dtype, count);
  }
};

struct Problem {
  const Buffer& buffer;
  const std::string& folder;

  using Text = std::optional<std::string>;
  Text operator()(const InitFill& fill) const { return problem_with_number(buffer.dtype, fill.value); }
  Text operator()(const InitIota& iota) const {
    const std::int64_t last = element_count(buffer) - 1;
    for (std::int64_t index : {std::int64_t{0}, last}) {  // the numbers between lie between
      const auto value = iota_at(iota, index);
      if (!value) return fmt::format("element {} of the iota does not fit into 64 bits", index);
      if (auto problem = problem_with_number(buffer.dtype, *value)) return fmt::format("element {}: {}", index, *problem);
    }
    return every_step_is_whole(iota);
  }
  Text operator()(const InitRandom& random) const { return problem_with_random(buffer.dtype, random); }
  Text operator()(const InitData& data) const {
    if (static_cast<std::int64_t>(data.values.size()) != element_count(buffer))
      return fmt::format("{} values for {} elements of buffer {}", data.values.size(), element_count(buffer), buffer.name);
    for (const Number& value : data.values)
      if (auto problem = problem_with_number(buffer.dtype, value)) return problem;
    return std::nullopt;
  }
  Text operator()(const InitNpy& npy) const {
    const auto array = array_for(buffer, npy, folder);
    if (!array) return array.reason().text;
    return std::nullopt;
  }

  Text every_step_is_whole(const InitIota& iota) const {
    const auto* step = std::get_if<double>(&iota.step);
    if (!is_integer(buffer.dtype) || !step || *step == std::floor(*step) || element_count(buffer) < 2) return std::nullopt;
    return fmt::format("{} does not hold {}, a step of the iota", name(buffer.dtype), number_text(iota.step));
  }
};

}  // namespace

std::optional<std::string> problem_with_number(Dtype dtype, const Number& number) {
  const auto* whole = std::get_if<std::int64_t>(&number);
  const bool fits = whole ? representable_int(dtype, *whole) : representable(dtype, std::get<double>(number));
  if (fits) return std::nullopt;
  return fmt::format("{} does not hold {}", name(dtype), number_text(number));
}

std::optional<std::string> problem_with_init(const Buffer& buffer, const std::string& folder) {
  if (!buffer.init) return std::nullopt;
  return std::visit(Problem{buffer, folder}, *buffer.init);
}

Result<std::vector<std::uint64_t>> bits_of_init(const Buffer& buffer, const Init& init, const std::string& folder) {
  const bool checks_itself = std::holds_alternative<InitNpy>(init);
  if (const auto problem = checks_itself ? std::nullopt : std::visit(Problem{buffer, folder}, init)) return reason(*problem);
  return std::visit(Bits{buffer, folder, static_cast<std::size_t>(element_count(buffer))}, init);
}

}  // namespace scenario

std::vector<std::uint64_t> initial_bits(const Kernel& kernel, const Buffer& buffer) {
  if (!buffer.init) return {};
  auto words = scenario::bits_of_init(buffer, *buffer.init, kernel.folder);
  if (!words) input_error(kernel.files, buffer.at, words.reason().text);
  return std::move(words).value();
}

}  // namespace tmemsim
