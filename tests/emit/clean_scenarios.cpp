// Every scenario that must run clean is emitted. All of them are assembled for sm_100a, and run on the host with emulated
// tensor memory: a second implementation of ld, st and the allocator, whose results must be the simulator's, bit for bit.
#include <fmt/format.h>

#include <cstdlib>

#include "emit/emit.hpp"
#include "ir/npy.hpp"
#include "sim/sim.hpp"
#include "tests/catch.hpp"
#include "tests/emit/corpus.hpp"
#include "tests/emit/nvcc.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;

namespace {

std::vector<Kernel> kernels_of(const std::vector<tests::CorpusKernel>& corpus) {
  std::vector<Kernel> kernels;
  for (const tests::CorpusKernel& each : corpus) kernels.push_back(each.kernel);
  return kernels;
}

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
      CAPTURE(buffer.name, x);
      REQUIRE(actual == expected.bits);
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
          CAPTURE(buffer.name, cta, thread, i);
          REQUIRE(actual == row.value[thread % 32]);
          ++compared;
        }
      }
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("all clean scenarios assemble for sm_100a") {
  const std::vector<tests::CorpusKernel> corpus = tests::clean_corpus();
  CHECK(corpus.size() >= 30);
  const std::string text = emit::device_code(kernels_of(corpus));
  if (!tests::have_nvcc()) {
    WARN("no nvcc 12.8 or later: not assembled");
    return;
  }
  const tests::Compiled compiled = tests::compile(text);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
  CHECK(compiled.stack_bytes == 0);
}

TEST_CASE("the seed scenarios assemble with their host programs, for sm_100a and sm_103a") {
  const std::vector<tests::CorpusKernel> corpus = tests::clean_corpus("seeds");
  CHECK(corpus.size() >= 3);
  const std::string text = emit::cuda_batch(kernels_of(corpus));
  if (!tests::have_nvcc()) return;
  const tests::Compiled compiled = tests::compile(text, "100a 103a", true);
  INFO(compiled.log);
  REQUIRE(compiled.ok);
}

TEST_CASE("the clean scenarios give on the host, with emulated tensor memory, what the simulator gives") {
  const std::vector<tests::CorpusKernel> corpus = tests::clean_corpus();
  const tests::TemporaryFolder folder;
  const std::string source = folder.write("k.cpp", emit::cuda_batch(kernels_of(corpus), {true, emit::Backend::host})).string();
  const std::string program = folder / "k";
  const std::string log = folder / "log";
  const auto run = [&](const std::string& call) { return std::system(fmt::format("{} > {} 2>&1", call, log).c_str()); };
  if (run("c++ --version") != 0) {
    WARN("no host compiler c++: not run");
    return;
  }
  const int built =
      run(fmt::format("c++ -std=c++17 -O1 -pthread -Wall -Wextra -Werror -Wno-unknown-pragmas {} -o {}", source, program));
  INFO(tests::read_file(log));
  REQUIRE(built == 0);
  std::size_t elements = 0, registers = 0;
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    CAPTURE(corpus[i].name);
    const Kernel& kernel = corpus[i].kernel;
    write_inputs(kernel, folder / fmt::format("in{}", i));
    const int status = run(fmt::format("timeout 60 {0} {1} {2}/in{1} {2}/out{1}", program, i, folder.path().string()));
    INFO(tests::read_file(log));
    REQUIRE(status == 0);
    const Program decoded = decode(std::make_shared<const Kernel>(kernel));
    const sim::Outcome outcome = sim::run(decoded, {});
    elements += compare_globals(kernel, outcome.image, folder / fmt::format("out{}", i));
    registers += compare_registers(decoded, outcome.image, folder / fmt::format("out{}", i));
  }
  INFO(elements);
  INFO(registers);
  CHECK(elements > 1000);
  CHECK(registers > 1000);
}
