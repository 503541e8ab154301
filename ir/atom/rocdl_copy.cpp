// Copies of the rocdl target and the target-neutral ones: universal copies and atomics, buffer copies and atomics, copies into
// LDS, transposing loads from LDS, and the tensor data mover.
#include <algorithm>

#include "ir/atom/families.hpp"
#include "ir/atom/name_text.hpp"
#include "ir/atom/rows.hpp"

namespace tmemsim::atom {
namespace {

constexpr std::string_view atomic_words[] = {"op", "add", "max", "min", "and", "or", "inc", "dec"};  // op: any of them

bool is_float(std::string_view type) { return type[0] == 'f' || type[0] == 'b'; }

std::vector<StateField> offsets(bool immediate) {
  std::vector<StateField> fields{{"soffset", "i32", "elements", 0, false}};
  if (immediate) fields.push_back({"imm_offset", "i32", "bytes", 0, true});
  return fields;
}

// One row a copy of a number of bits by one lane.
struct BitsRow {
  std::string_view family;
  std::string_view target;
  Place from, to;
  std::vector<int> widths;  // bits
  std::string_view load, store;
  bool offset, immediate;
  std::string_view note;
};

const std::vector<BitsRow>& bits_rows() {
  static const std::vector<BitsRow> rows{{"universal_copy",
                                          "generic",
                                          Place::global,
                                          Place::registers,
                                          {8, 16, 32, 64, 96, 128, 256},
                                          "llvm.load",
                                          "llvm.store",
                                          false,
                                          false,
                                          ""},
                                         {"cdna3.buffer_copy",
                                          "cdna3",
                                          Place::buffer,
                                          Place::registers,
                                          {8, 16, 32, 64, 96, 128},
                                          "rocdl.raw.ptr.buffer.load",
                                          "rocdl.raw.ptr.buffer.store",
                                          true,
                                          false,
                                          "the side that is a buffer gives the direction"},
                                         {"cdna3.buffer_copy_lds",
                                          "cdna3",
                                          Place::buffer,
                                          Place::shared,
                                          {32, 128},
                                          "rocdl.raw.ptr.buffer.load.lds",
                                          "",
                                          true,
                                          true,
                                          "the hardware writes to base + lane * size; 128 bits need CDNA4"},
                                         {"cdna4.buffer_load_async_lds",
                                          "cdna4",
                                          Place::buffer,
                                          Place::shared,
                                          {32, 96, 128},
                                          "rocdl.raw.ptr.buffer.load.async.lds",
                                          "",
                                          true,
                                          true,
                                          "completion by asyncmark, not by the atom"},
                                         {"cdna4.global_load_async_lds",
                                          "cdna4",
                                          Place::global,
                                          Place::shared,
                                          {32, 96, 128},
                                          "rocdl.global.load.async.lds",
                                          "",
                                          false,
                                          false,
                                          "size and offset are fixed at compile time"}};
  return rows;
}

Result<Payload> copy_of_bits(const BitsRow& row, std::string name, std::int64_t bits) {
  if (std::find(row.widths.begin(), row.widths.end(), bits) == row.widths.end())
    return refused(fmt::format("{}: {} copies {} bits, not {}", name, row.family, fmt::join(row.widths, ", "), bits));
  Payload made = per_thread_copy(std::move(name), std::string(row.target), std::string(row.load), bits, row.from, row.to);
  made.state = row.offset ? offsets(row.immediate) : std::vector<StateField>{};
  made.note = std::string(row.note);
  made.executor = identity_copy("the bits of one lane, in order");
  return made;
}

Result<Payload> atomic(std::string name, std::string_view family, const NameParts& parts) {
  const std::string op = parts.word(0), type = parts.word(1);
  const bool buffer = family == "cdna3.buffer_atomic";
  const std::vector<std::string_view> types = buffer ? std::vector<std::string_view>{"f32", "i32", "f16", "bf16", "f64"}
                                                     : std::vector<std::string_view>{"f32", "i32", "f16", "bf16", "f64", "i64"};
  if (std::find(std::begin(atomic_words), std::end(atomic_words), op) == std::end(atomic_words))
    return refused(fmt::format("{}: the operation is one of {}", name, fmt::join(atomic_words, ", ")));
  if (std::find(types.begin(), types.end(), type) == types.end())
    return refused(fmt::format("{}: the type is one of {}", name, fmt::join(types, ", ")));
  if (is_float(type) && (op == "and" || op == "or" || op == "inc" || op == "dec"))
    return refused(fmt::format("{}: {} is for integers", name, op));
  if (buffer && (op == "and" || op == "or" || op == "inc" || op == "dec" || (op == "add" && !is_float(type))))
    return refused(fmt::format("{}: a buffer adds floating point, or takes a minimum or maximum", name));
  std::string instruction = "llvm.atomicrmw";
  if (buffer)
    instruction = fmt::format("rocdl.raw.ptr.buffer.atomic.{}", op == "max"   ? (is_float(type) ? "fmax" : "smax")
                                                                : op == "min" ? "umin"
                                                                              : "fadd");
  Payload made = per_thread_copy(std::move(name), buffer ? "cdna3" : "generic", std::move(instruction), *element_bits(type),
                                 Place::registers, buffer ? Place::buffer : Place::global);
  if (buffer) made.state = offsets(false);
  made.note = "combines with what is there";
  return made;
}

// ---- transposing loads: thread t reads elements n*t .. n*t + n - 1 and receives t, t + 16, ...

struct TransposeRow {
  int granularity, bits;
};
constexpr TransposeRow transpose_rows[] = {{4, 64}, {8, 64}, {6, 96}, {16, 64}};

Result<Payload> transpose(std::string name, std::int64_t granularity, std::int64_t bits) {
  const TransposeRow* row = std::find_if(std::begin(transpose_rows), std::end(transpose_rows), [&](const TransposeRow& one) {
    return one.granularity == granularity && one.bits == bits;
  });
  if (row == std::end(transpose_rows))
    return refused(fmt::format("{}: granularity and bits are 4/64, 8/64, 6/96 or 16/64", name));
  Payload made;
  made.name = std::move(name);
  made.target = "cdna4";
  made.instruction = fmt::format("rocdl.ds.read.tr{}.b{}", granularity, bits);
  made.threads = mode_of({{16, 1}});
  const std::int64_t elements = bits / granularity;
  Operand source;
  source.name = "src";
  source.type = "bit";
  source.place = Place::shared;
  source.tile = 16 * bits;
  source.rows = bits;
  source.layout = thread_value({{16, bits}}, {{bits, 1}});
  Operand target = source;
  target.name = "dst";
  target.place = Place::registers;
  target.register_bits = bits;
  target.layout = thread_value({{16, granularity}}, {{granularity, 1}, {elements, 16 * granularity}});
  Operand reference = target;
  reference.name = "ref";
  made.operands = {source, target, reference};
  const auto copy = [granularity, elements](const Held& held) {
    Held moved(16, std::vector<std::uint64_t>(static_cast<std::size_t>(granularity * elements)));
    for (std::int64_t t = 0; t < 16; ++t) {
      for (std::int64_t j = 0; j < elements; ++j) {
        const std::int64_t element = t + 16 * j;
        for (std::int64_t bit = 0; bit < granularity; ++bit) {
          moved[static_cast<std::size_t>(t)][static_cast<std::size_t>(j * granularity + bit)] =
              held.at(static_cast<std::size_t>(element / elements))
                  .at(static_cast<std::size_t>(element % elements * granularity + bit));
        }
      }
    }
    return moved;
  };
  made.executor = {copy, {}, "CDNA4 instruction set, DS_READ_B64_TR and DS_READ_B96_TR"};
  return made;
}

// ---- scalar fma

Result<Payload> scalar_fma(std::string name, const std::string& type) {
  if (type != "f32" && type != "f64" && type != "f16") return refused(fmt::format("{}: the type is f16, f32 or f64", name));
  Payload made;
  made.name = std::move(name);
  made.target = "generic";
  made.kind = Kind::mma;
  made.instruction = "llvm.intr.fma";
  made.threads = mode_of({{1, 1}});
  made.mnk = {1, 1, 1};
  made.result_type = type;
  for (const char* which : {"A", "B", "C"}) {
    Operand operand;
    operand.name = which;
    operand.type = operand.carrier = type;
    operand.bits = *element_bits(type);
    operand.tile = operand.rows = 1;
    operand.register_bits = operand.bits;
    operand.layout = thread_value({{1, 1}}, {{1, 1}});
    made.operands.push_back(operand);
  }
  made.executor = multiply_by({[](int, int) {
                                 return std::pair{0, 0};
                               },
                               [](int, int) {
                                 return std::pair{0, 0};
                               },
                               [](int, int) {
                                 return std::pair{0, 0};
                               }},
                              made.mnk, "one product and one sum");
  return made;
}

// ---- tensor data mover: contract and state only

bool is_power_of_two(std::int64_t x) { return x > 0 && (x & (x - 1)) == 0; }

Result<Payload> tdm(std::string name, const NameParts& parts) {
  const auto rank = parts.integer("rank", 2, 1, 5), warps = parts.integer("warps", 1, 1, 1024);
  const auto interval = parts.integer("pad", 0, 0, 1 << 20), amount = parts.integer("pad", 0, 0, 1 << 20, 1);
  for (const auto* value : {&rank, &warps, &interval, &amount}) {
    if (!*value) return refused(fmt::format("{}: {}", name, value->reason().text));
  }
  if (!is_power_of_two(*warps)) return refused(fmt::format("{}: the number of warps is a power of two, not {}", name, *warps));
  if (*interval != 0 && !is_power_of_two(*interval))
    return refused(fmt::format("{}: the padding interval is a power of two (elements), not {}", name, *interval));
  if ((*interval == 0) != (*amount == 0))
    return refused(fmt::format("{}: padding needs an interval and an amount, or neither", name));
  Payload made = per_thread_copy(std::move(name), "gfx1250", "rocdl.tensor.load.to.lds", 1, Place::global, Place::shared);
  made.whole_tile = true;
  made.state = {{"workgroup_mask", "i32", "", 0, false}};
  for (int k = 0; k < 5; ++k) made.state.push_back({fmt::format("extent_{}", k), "i32", "elements", 2147483647, false});
  for (int k = 0; k < 4; ++k) made.state.push_back({fmt::format("stride_{}", k), "i64", "elements", -2147483648LL, false});
  made.state.push_back({"imm_offset", "i64", "bytes", 0, false});
  made.note = "one call moves the whole tile: contract and state only, no (thread, value) layout";
  return made;
}

std::optional<Result<Payload>> named(std::string_view text) {
  const auto parts = name_parts(text);
  if (!parts) return std::nullopt;
  const std::string name(text);
  for (const BitsRow& row : bits_rows()) {
    if (row.family != parts->family) continue;
    const auto bits = to_integer(parts->word(0));
    return bits ? copy_of_bits(row, name, *bits)
                : Result<Payload>(refused(fmt::format("{}: expected the number of bits", name)));
  }
  if (parts->family == "universal_atomic" || parts->family == "cdna3.buffer_atomic") return atomic(name, parts->family, *parts);
  if (parts->family == "universal_fma") return scalar_fma(name, parts->word(0));
  if (parts->family == "gfx1250.tdm") return tdm(name, *parts);
  if (parts->family != "cdna4.lds_read_trans") return std::nullopt;
  // <trans = 16b, 64>, or <16, 64>
  const auto option = parts->options.find("trans");
  std::vector<std::string> numbers = option == parts->options.end() ? parts->words : option->second;
  if (numbers.size() == 1 && !parts->words.empty() && option != parts->options.end()) numbers.push_back(parts->words[0]);
  if (!numbers.empty() && !numbers[0].empty() && numbers[0].back() == 'b') numbers[0].pop_back();
  const auto granularity = numbers.size() == 2 ? to_integer(numbers[0]) : std::nullopt,
             bits = numbers.size() == 2 ? to_integer(numbers[1]) : std::nullopt;
  if (!granularity || !bits) return Result<Payload>(refused(fmt::format("{}: expected trans = GRANULARITYb, BITS", name)));
  return transpose(name, *granularity, *bits);
}

std::vector<Payload> listed() {
  std::vector<std::string> names;
  for (const BitsRow& row : bits_rows()) {
    for (const int bits : row.widths) names.push_back(fmt::format("{}<{}>", row.family, bits));
  }
  for (const char* type : {"f32", "i32", "f16", "bf16", "f64", "i64"})
    names.push_back(fmt::format("universal_atomic<op,{}>", type));
  for (const char* type : {"f32", "i32"}) {
    for (const char* op : {"max", "min"}) names.push_back(fmt::format("cdna3.buffer_atomic<{},{}>", op, type));
  }
  names.push_back("cdna3.buffer_atomic<add,f32>");
  for (const TransposeRow& row : transpose_rows)
    names.push_back(fmt::format("cdna4.lds_read_trans<trans={}b,{}>", row.granularity, row.bits));
  for (const char* type : {"f16", "f32", "f64"}) names.push_back(fmt::format("universal_fma<{}>", type));
  names.push_back("gfx1250.tdm<rank=2,warps=1,pad=0,0,cache=0,barrier=false,timeout=false>");
  std::vector<Payload> made;
  for (const std::string& name : names) made.push_back(**named(name));
  return made;
}

}  // namespace

std::vector<Family> rocdl_copy_families() {
  return {{"rocdl copies", "universal, buffer, LDS and tensor-mover copies, atomics, scalar fma", listed, named}};
}

}  // namespace tmemsim::atom
