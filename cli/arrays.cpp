#include "cli/arrays.hpp"

#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/kernel/operand_text.hpp"
#include "report/memory.hpp"
#include "sim/reference/naive.hpp"
#include "sim/reference/storage.hpp"

namespace tmemsim::cli {
namespace {

std::uint32_t threads_of_unit(const Buffer& buffer, std::uint32_t all) {
  switch (reference::unit_of(buffer)) {
    case Scope::thread: return 1;
    case Scope::warp: return 32;
    case Scope::warpgroup: return 128;
    default: return all;
  }
}

[[noreturn]] void no_place(const Buffer& buffer) {
  throw InputError(fmt::format("{} has no place at the end of the run: its address word was never written", buffer.name));
}

BufferId buffer_of(const Kernel& kernel, const std::string& name) {
  if (const auto found = buffer_named(kernel, name)) return *found;
  std::vector<std::string_view> names;
  for (const Buffer& buffer : kernel.buffers) names.push_back(buffer.name);
  const std::string near = closest(name, names);
  throw InputError(fmt::format("there is no buffer '{}'", name),
                   near.empty() ? fmt::format("buffers: {}", fmt::join(names, ", ")) : fmt::format("did you mean {}?", near));
}

}  // namespace

NpyArray array_of(const Program& program, const Image& image, BufferId id) {
  const Kernel& kernel = *program.kernel;
  const Buffer& buffer = kernel.buffers[id];
  const bool global = buffer.space == Space::global, local = buffer.space == Space::local;
  const std::uint32_t ctas = global ? 1 : cta_count(kernel.launch), threads = 32 * kernel.launch.warps;
  const std::uint32_t of_unit = local ? threads_of_unit(buffer, threads) : threads;
  const std::uint32_t units = (threads + of_unit - 1) / of_unit;

  NpyArray array;
  array.dtype = npy_storage(buffer.dtype);
  if (ctas > 1) array.shape.push_back(ctas);
  if (units > 1) array.shape.push_back(units);
  array.shape.insert(array.shape.end(), buffer.shape.begin(), buffer.shape.end());
  const std::int64_t elements = element_count(buffer);
  const auto width = static_cast<std::size_t>(bits(array.dtype)) / 8;
  const std::int64_t bytes = saturating_mul(saturating_mul(elements, static_cast<std::int64_t>(width)), std::int64_t{ctas} * units);
  if (bytes > static_cast<std::int64_t>(largest_npy_data)) throw InputError(fmt::format("{} is too large to save ({} bytes)", buffer.name, bytes));
  array.data.reserve(static_cast<std::size_t>(bytes));

  const report::Memory memory(program, image);
  for (std::uint32_t cta = 0; cta < ctas; ++cta)
    for (std::uint32_t unit = 0; unit < units; ++unit)
      for (std::int64_t x = 0; x < elements; ++x) {
        const auto value = memory.read(id, cta, unit * of_unit, x);
        if (!value) no_place(buffer);
        std::byte raw[8];
        std::memcpy(raw, &value->bits, 8);  // little-endian
        array.data.insert(array.data.end(), raw, raw + width);
      }
  return array;
}

std::string region_text(const Program& program, const Image& image, const std::string& text) {
  const Kernel& kernel = *program.kernel;
  Region region;
  try {
    region = parse_region(text, Names{&kernel.buffers, nullptr, {}});
  } catch (const TextError& error) {
    throw InputError(Diagnostic{"--print", 1, static_cast<std::uint32_t>(error.offset + 1), text, error.message, error.hint});
  }
  const Buffer& buffer = kernel.buffers[region.buffer];
  const auto box = reference::naive_box(kernel, region, reference::Thread{}, {});
  if (!box) throw InputError(fmt::format("region {} leaves the buffer, or its bounds have no value here", text));
  const std::vector<std::int64_t> elements = reference::elements_of(kernel, *box);
  const std::int64_t row = buffer.shape.empty() ? 1 : box->end.back() - box->begin.back();

  const report::Memory memory(program, image);
  std::vector<std::string> values;
  std::size_t widest = 0;
  for (std::int64_t x : elements) {
    const auto value = memory.read(region.buffer, 0, 0, x);
    if (!value) no_place(buffer);
    values.push_back(value->written ? format_value(buffer.dtype, value->bits) : "?");
    widest = std::max(widest, values.back().size());
  }
  std::string shown = fmt::format("{} =\n", text);
  for (std::size_t i = 0; i < values.size(); ++i)
    shown += fmt::format("{}{:>{}}{}", i % static_cast<std::size_t>(row) == 0 ? "  " : " ", values[i], widest,
                         (i + 1) % static_cast<std::size_t>(row) == 0 ? "\n" : "");
  return shown;
}

Save parse_save(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == assignment.size())
    throw InputError(fmt::format("--save {} names no buffer and file", assignment), "write --save BUFFER=file.npy");
  return {assignment.substr(0, equals), assignment.substr(equals + 1)};
}

void save(const Program& program, const Image& image, const Save& what) {
  write_npy(what.path, array_of(program, image, buffer_of(*program.kernel, what.buffer)));
}

void write_out_files(const Program& program, const Image& image) {
  const Kernel& kernel = *program.kernel;
  for (BufferId id = 0; id < kernel.buffers.size(); ++id)
    if (!kernel.buffers[id].out.empty())
      write_npy(std::filesystem::path(kernel.folder) / kernel.buffers[id].out, array_of(program, image, id));
}

}  // namespace tmemsim::cli
