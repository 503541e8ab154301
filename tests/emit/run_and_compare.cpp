#include "tests/emit/run_and_compare.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "emit/emit.hpp"
#include "ir/npy.hpp"
#include "sim/sim.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace tmemsim::tests {
namespace {

// Element bits as a .npy array holds them.
std::vector<std::byte> stored(Dtype dtype, const std::vector<std::uint64_t>& elements) {
  const std::size_t bytes = static_cast<std::size_t>(bits(npy_storage(dtype))) / 8;
  std::vector<std::byte> data;
  for (const std::uint64_t element : elements) {
    for (std::size_t i = 0; i < bytes; ++i) data.push_back(static_cast<std::byte>(element >> (8 * i)));
  }
  return data;
}

void write_inputs(const Kernel& kernel, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.space != Space::global || !buffer.init) continue;
    write_npy(folder / (buffer.name + ".npy"),
              {npy_storage(buffer.dtype), buffer.shape, stored(buffer.dtype, initial_bits(kernel, buffer))});
  }
}

struct Element {
  std::uint64_t bits = 0;
  bool written = true;
};

// The element with row-major index x in an image of the buffer, straight from the storage rule: slot s at bit s * width.
Element element_in(const Buffer& buffer, const Bytes& image, std::int64_t x) {
  const std::int64_t width = bits(buffer.dtype), first = at(evaluate(layout_of(buffer), x), Axis::m) * width;
  Element element;
  for (std::int64_t bit = 0; bit < width; ++bit) {
    const auto byte = static_cast<std::size_t>((first + bit) / 8);
    element.bits |= std::uint64_t{image.data.at(byte)} >> ((first + bit) % 8) << 63 >> (63 - bit);
    element.written = element.written && image.written.at(byte) != 0;
  }
  return element;
}

// Compares OUT/<buffer>.npy with what the simulator left; the number of elements compared.
std::size_t compare_globals(const Kernel& kernel, const Image& image, const std::filesystem::path& out) {
  std::size_t compared = 0;
  for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    if (buffer.space != Space::global) continue;
    const NpyArray array = read_npy(out / (buffer.name + ".npy")).value();
    REQUIRE(array.shape == buffer.shape);
    const std::size_t bytes = array.data.size() / static_cast<std::size_t>(element_count(buffer));
    for (std::int64_t x = 0; x < element_count(buffer); ++x) {
      const Element expected = element_in(buffer, image.global[id], x);
      if (!expected.written) continue;
      std::uint64_t actual = 0;
      for (std::size_t i = 0; i < bytes; ++i)
        actual |= std::uint64_t(array.data[static_cast<std::size_t>(x) * bytes + i]) << (8 * i);
      if (actual != expected.bits) FAIL(fmt::format("{}, element {}: {:#x}, not {:#x}", buffer.name, x, actual, expected.bits));
      ++compared;
    }
  }
  return compared;
}

// Compares OUT/<buffer>.registers.npy, where the simulator says that the thread wrote the register.
std::size_t compare_registers(const Program& program, const Image& image, const std::filesystem::path& out) {
  std::size_t compared = 0;
  const Kernel& kernel = *program.kernel;
  for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    const std::filesystem::path file = out / (buffer.name + ".registers.npy");
    if (buffer.space != Space::local || !std::filesystem::exists(file)) continue;
    const NpyArray array = read_npy(file).value();
    const auto count = static_cast<std::size_t>(register_count(buffer));
    for (std::size_t cta = 0; cta < image.ctas.size(); ++cta) {
      for (std::size_t thread = 0; thread < 32 * kernel.launch.warps; ++thread) {
        for (std::size_t i = 0; i < count; ++i) {
          const RegisterRow& row = image.ctas[cta].registers[thread / 32][program.first_row[id] + i];
          if ((row.written >> (thread % 32) & 1) == 0) continue;
          std::uint32_t actual = 0;
          const std::size_t at = (cta * 32 * kernel.launch.warps + thread) * count + i;
          std::memcpy(&actual, array.data.data() + 4 * at, 4);
          const std::uint32_t expected = row.value[thread % 32];
          if (actual != expected) {
            FAIL(fmt::format("{}, CTA {}, thread {}, register {}: {:#x}, not {:#x}", buffer.name, cta, thread, i, actual,
                             expected));
          }
          ++compared;
        }
      }
    }
  }
  return compared;
}

// Compares OUT/tensor-memory.npy, half a cell at a time, for the quadrants of the warps that the CTA has.
std::size_t compare_cells(const Kernel& kernel, const Image& image, const std::filesystem::path& out) {
  const std::filesystem::path file = out / "tensor-memory.npy";
  std::set<std::uint32_t> sms;
  for (const CtaImage& cta : image.ctas) sms.insert(cta.sm);
  if (!std::filesystem::exists(file) || sms.size() != image.ctas.size()) return 0;
  const NpyArray array = read_npy(file).value();
  std::size_t compared = 0;
  for (std::size_t cta = 0; cta < image.ctas.size(); ++cta) {
    const Cells& cells = image.sms.at(image.ctas[cta].sm);
    for (std::size_t i = 0; i < cells.value.size(); ++i) {
      const std::size_t column = i / 128, lane = i % 128;
      if (lane >= 32 * kernel.launch.warps) continue;
      std::uint32_t actual = 0;
      std::memcpy(&actual, array.data.data() + 4 * ((cta * 128 + lane) * 512 + column), 4);
      const std::uint32_t mask = (cells.written[i] & 1 ? 0x0000ffffu : 0) | (cells.written[i] & 2 ? 0xffff0000u : 0);
      if (mask == 0) continue;
      if ((actual & mask) != (cells.value[i] & mask)) {
        FAIL(fmt::format("CTA {}, lane {}, column {}: {:#x}, not {:#x} (bits {:#x})", cta, lane, column, actual, cells.value[i],
                         mask));
      }
      ++compared;
    }
  }
  return compared;
}

}  // namespace

bool can_run(emit::Backend backend) {
  const auto succeeds = [](const std::string& call) { return std::system((call + " > /dev/null 2>&1").c_str()) == 0; };
  if (backend == emit::Backend::host) return succeeds("c++ --version");
  return nvcc[0] != '\0' && succeeds("nvidia-smi");
}

Compared run_and_compare(const std::vector<Sample>& samples, emit::Backend backend, Check check) {
  const TemporaryFolder folder;
  std::vector<Kernel> kernels;
  for (const Sample& sample : samples) kernels.push_back(sample.kernel);
  const std::string source = folder.write("k.cu", emit::cuda_batch(kernels, {true, backend})).string();
  const std::string program = folder / "k", log = folder / "log";
  const auto run = [&](const std::string& call) { return std::system(fmt::format("{} > {} 2>&1", call, log).c_str()); };
  const std::string compiler =
      backend == emit::Backend::host ? "c++ -O1 -pthread -w -x c++" : fmt::format("{} -arch=native", nvcc);
  const int built = run(fmt::format("{} -std=c++17 {} -o {}", compiler, source, program));
  INFO(read_file(log));
  REQUIRE(built == 0);
  Compared compared;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CAPTURE(samples[i].name);
    const Kernel& kernel = samples[i].kernel;
    const std::filesystem::path in = folder / fmt::format("in{}", i), out = folder / fmt::format("out{}", i);
    write_inputs(kernel, in);
    const int status = run(fmt::format("timeout 60 {} {} {} {}", program, i, in.string(), out.string()));
    INFO(read_file(log));
    REQUIRE(status == 0);
    if (check == Check::simulator_and_round_trip) {
      REQUIRE(read_npy(out / "B.npy").value() == read_npy(in / "A.npy").value());
    }
    const Program decoded = decode(std::make_shared<const Kernel>(kernel));
    const sim::Outcome outcome = sim::run(decoded, {});
    compared.elements += compare_globals(kernel, outcome.image, out);
    compared.registers += compare_registers(decoded, outcome.image, out);
    compared.cells += compare_cells(kernel, outcome.image, out);
  }
  return compared;
}

}  // namespace tmemsim::tests
