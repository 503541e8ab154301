// Images of tcgen05.ld and .st written as bit layouts (thread, bit of the thread) -> bit of the image: fly_nv_mapping.yaml.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ir/layout/nested.hpp"
#include "ir/tcgen05.hpp"
#include "tests/conformance/layout_cases.hpp"

namespace tmemsim::conformance {
namespace {

constexpr std::int64_t lanes = 32;
constexpr std::int64_t register_bits = 32;

struct Instruction {
  Shape shape;
  int num;
};

// "tcgen05.ld/st.16x64b.x4".
std::optional<Instruction> instruction_of(const std::string& name) {
  static constexpr std::array<std::pair<std::string_view, Shape>, 5> shapes{{{"32x32b", Shape::s32x32b},
                                                                             {"16x64b", Shape::s16x64b},
                                                                             {"16x128b", Shape::s16x128b},
                                                                             {"16x256b", Shape::s16x256b},
                                                                             {"16x32bx2", Shape::s16x32bx2}}};
  for (const auto& [text, shape] : shapes) {
    const std::string part = fmt::format(".{}.x", text);
    const std::size_t found = name.find(part);
    if (found != std::string::npos) return Instruction{shape, std::stoi(name.substr(found + part.size()))};
  }
  return std::nullopt;
}

DigitMap map_of(const NestedLayout& layout) {
  const auto map = digit_map(layout);
  if (!map) throw std::runtime_error(map.reason().text);
  return canonical(*map);
}

NestedLayout layout_of(const YAML::Node& entry, const std::string& key) {
  const auto layout = parse_nested(text(need(entry, key)));
  if (!layout) throw BadCase(entry[key], layout.reason().text);
  return *layout;
}

Outcome register_side(const Instruction& instruction, const NestedLayout& reg, std::int64_t row_bits) {
  const int registers = tcgen05::registers(instruction.shape, instruction.num);
  const DigitMap map = map_of(reg);
  if (size(map) != lanes * registers * register_bits)
    return failed(fmt::format("the register side has {} bits, the registers {}", size(map), lanes * registers * register_bits));
  const std::int32_t split = instruction.shape == Shape::s16x32bx2 ? instruction.num : 0;
  for (int thread = 0; thread < lanes; ++thread) {
    for (int r = 0; r < registers; ++r) {
      const tcgen05::Cell cell = tcgen05::cell(instruction.shape, false, split, thread, r);
      const std::int64_t first = cell.lane * row_bits + cell.column * register_bits;
      for (std::int64_t bit = 0; bit < register_bits; ++bit) {
        const std::int64_t x = thread + lanes * (r * register_bits + bit);
        if (at(evaluate(map, x), Axis::m) != first + bit)
          return failed(fmt::format("thread {} register {} bit {} is image bit {}, the instruction moves {}", thread, r, bit,
                                    at(evaluate(map, x), Axis::m), first + bit));
      }
      const auto direct = crd2idx(IntTuple::of({IntTuple(thread), IntTuple(r * register_bits)}), reg);
      if (!direct || !direct->is(first))
        return failed(fmt::format("crd2idx of thread {} register {} is not {}", thread, r, first));
    }
  }
  if (injective(map).answer != Answer::yes) return failed("two register bits are one image bit");
  return passed();
}

}  // namespace

Outcome run_mapping_case(const YAML::Node& entry) {
  const auto instruction = instruction_of(text(need(entry, "name")));
  if (!instruction) return skipped(text(entry["name"]));
  const std::int64_t rows = integer(need(entry, "rows")), columns = integer(need(entry, "columns")),
                     bits = integer(need(entry, "image_bits"));
  if (rows * columns * register_bits != bits) return failed("rows, columns and image bits disagree");
  if (integer(need(entry, "regs_per_lane")) != tcgen05::registers(instruction->shape, instruction->num))
    return failed("the instruction has another number of registers");
  if (to_string(layout_of(entry, "thr")) != "32:1") return failed("one warp executes the instruction");

  // The tensor-memory side is collective: every lane addresses the whole image.
  const auto tmem = map_of(layout_of(entry, "tmem"));
  const auto whole =
      map_of(NestedLayout{IntTuple::of({IntTuple(lanes), IntTuple(bits)}), IntTuple::of({IntTuple(0), IntTuple(1)})});
  if (!same_on_domain(tmem, whole)) return failed("the tensor-memory side does not address the whole image from every lane");
  return register_side(*instruction, layout_of(entry, "reg"), columns * register_bits);
}

}  // namespace tmemsim::conformance
