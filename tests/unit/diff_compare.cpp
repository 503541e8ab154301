// What is compared with what: outputs are made from the simulator's own memory, then damaged in one place.
#include "diff/compare.hpp"

#include <cstring>

#include "diff/diff.hpp"
#include "ir/npy.hpp"
#include "lower/lower.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::diff;

namespace {

Scenario seed() { return load_scenarios(std::string(tests::source_dir) + "/scenarios/seeds/tmem_roundtrip_f16.yaml").front(); }

Simulated simulated_seed() {
  Kernel kernel = lower::lower(seed().kernel);
  verify(kernel, Level::machine);
  return simulate(std::make_shared<const Kernel>(std::move(kernel)), {});
}

template <class Word>
void put(NpyArray& array, std::size_t at, Word word) {
  std::memcpy(array.data.data() + at * sizeof(Word), &word, sizeof(Word));
}

// The arrays that the program of the seed leaves, from what the scenario says: A counts from 1, B is A; thread t holds row t.
struct Outputs {
  NpyArray a{Dtype::f16, {128, 8}, std::vector<std::byte>(2048)}, b = a;
  NpyArray registers{Dtype::u32, {1, 128, 4}, std::vector<std::byte>(2048)};
  NpyArray cells{Dtype::u32, {1, 128, 512}, std::vector<std::byte>(128 * 512 * 4)};

  explicit Outputs(const Simulated& simulated) {
    for (std::uint32_t x = 0; x < 1024; ++x) {
      const auto half = static_cast<std::uint16_t>(encode(Dtype::f16, x + 1.0));
      put(a, x, half);
      put(b, x, half);
    }
    std::memcpy(registers.data.data(), b.data.data(), 2048);  // two elements a register, 8 a row
    const Cells& left = simulated.run.image.sms[simulated.run.image.ctas[0].sm];
    const std::uint32_t base = first_written_column(left);
    for (std::size_t lane = 0; lane < 128; ++lane) {
      for (std::size_t column = 0; column < 4; ++column) {
        std::uint32_t word = 0;
        std::memcpy(&word, b.data.data() + (lane * 8 + column * 2) * 2, 4);
        put(cells, lane * 512 + base + column, word);
      }
    }
  }
  static std::uint32_t first_written_column(const Cells& cells) {
    for (std::size_t i = 0; i < cells.written.size(); ++i) {
      if (cells.written[i]) return static_cast<std::uint32_t>(i / 128);
    }
    return 0;
  }

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    write_npy(folder / "A.npy", a);
    write_npy(folder / "B.npy", b);
    write_npy(folder / "A_frag.registers.npy", registers);
    write_npy(folder / "B_frag.registers.npy", registers);
    write_npy(folder / "tensor-memory.npy", cells);
  }
};

}  // namespace

TEST_CASE("Outputs as the scenario says agree: elements, registers, cells") {
  const Simulated simulated = simulated_seed();
  CHECK_FALSE(unrepeatable_output(simulated).has_value());
  const tests::TemporaryFolder folder;
  const Outputs outputs(simulated);
  outputs.write(folder / "one");
  outputs.write(folder / "two");
  const Compared all = compare(simulated, folder / "one", folder / "two", true);
  CHECK_FALSE(all.difference.has_value());
  CHECK_FALSE(all.between_runs.has_value());
  CHECK(all.elements == 2048);   // A, which goes in, and B
  CHECK(all.registers == 1024);  // two fragments of 4 registers in 128 threads
  CHECK(all.cells == 512);
  const Compared only_outputs = compare(simulated, folder / "one", folder / "two", false);
  CHECK(only_outputs.elements == 2048);
  CHECK(only_outputs.registers + only_outputs.cells == 0);
}

TEST_CASE("The first difference is named by element, thread, register, lane, column and writer") {
  const Simulated simulated = simulated_seed();
  const tests::TemporaryFolder folder;
  Outputs outputs(simulated);
  put(outputs.b, 37 * 8 + 5, std::uint16_t{0x1234});
  put(outputs.b, 40 * 8, std::uint16_t{0x1234});
  outputs.write(folder / "one");
  outputs.write(folder / "two");
  const Compared compared = compare(simulated, folder / "one", folder / "two", true);
  CHECK_FALSE(compared.between_runs.has_value());
  REQUIRE(compared.difference.has_value());
  const Difference& first = *compared.difference;
  CHECK(first.space == "global");
  CHECK(first.buffer == "B");
  CHECK(first.index == std::vector<std::int64_t>{37, 5});
  CHECK(first.actual_bits == 0x1234);
  CHECK(first.expected_bits == encode(Dtype::f16, 37 * 8 + 5 + 1));
  CHECK(first.thread == 37u);
  CHECK(first.reg == 2u);  // elements 4 and 5
  CHECK(first.lane == 37);
  CHECK(first.places == 2);
  REQUIRE(first.written_by.has_value());
  CHECK(first.written_by->warp == 1);
  CHECK(first.written_by->line > 0);
}

TEST_CASE("A register and a cell that differ are found where the outputs agree") {
  const Simulated simulated = simulated_seed();
  const tests::TemporaryFolder folder;
  Outputs outputs(simulated);
  const auto compared = [&] {
    outputs.write(folder / "one");
    outputs.write(folder / "two");
    return compare(simulated, folder / "one", folder / "two", true).difference;
  };
  put(outputs.registers, 100 * 4 + 3, std::uint32_t{7});
  const auto in_register = compared();
  REQUIRE(in_register.has_value());
  CHECK(in_register->space == "register");
  CHECK(in_register->buffer == "A_frag");
  CHECK(in_register->thread == 100u);
  CHECK(in_register->reg == 3u);
  CHECK(in_register->index == std::vector<std::int64_t>{100, 6});
  REQUIRE(in_register->written_by.has_value());
  CHECK(in_register->written_by->warp == 3);

  outputs = Outputs(simulated);
  const std::uint32_t base = Outputs::first_written_column(simulated.run.image.sms[simulated.run.image.ctas[0].sm]);
  put(outputs.cells, 65 * 512 + base + 1, std::uint32_t{7});
  const auto in_cell = compared();
  REQUIRE(in_cell.has_value());
  CHECK(in_cell->space == "tmem");
  CHECK(in_cell->buffer == "acc");
  CHECK(in_cell->lane == 65);
  CHECK(in_cell->column == base + 1);
  CHECK(in_cell->index == std::vector<std::int64_t>{65, 2});
  REQUIRE(in_cell->written_by.has_value());
  CHECK_THAT(in_cell->written_by->op, tests::contains("tcgen05.st"));
  CHECK(in_cell->written_by->warp == 2);
}

TEST_CASE("Two runs that differ are not repeatable, whatever the simulator has") {
  const Simulated simulated = simulated_seed();
  const tests::TemporaryFolder folder;
  Outputs outputs(simulated);
  outputs.write(folder / "one");
  put(outputs.b, 9, std::uint16_t{1});
  outputs.write(folder / "two");
  const Compared compared = compare(simulated, folder / "one", folder / "two", false);
  REQUIRE(compared.between_runs.has_value());
  CHECK(compared.between_runs->index == std::vector<std::int64_t>{1, 1});
  CHECK_FALSE(compared.difference.has_value());
}

TEST_CASE("Files that are missing, torn or of another shape are no outputs") {
  const Simulated simulated = simulated_seed();
  const tests::TemporaryFolder folder;
  const Outputs outputs(simulated);
  outputs.write(folder / "one");
  outputs.write(folder / "two");
  const auto fails = [&] {
    try {
      compare(simulated, folder / "one", folder / "two", true);
      return false;
    } catch (const std::runtime_error&) { return true; }
  };
  CHECK_FALSE(fails());
  SECTION("missing") { std::filesystem::remove(folder / "two" / "B.npy"); CHECK(fails()); }
  SECTION("torn") { std::filesystem::resize_file(folder / "one" / "B.npy", 1000); CHECK(fails()); }
  SECTION("of another shape") {
    write_npy(folder / "one" / "B.npy", {Dtype::f16, {8, 128}, std::vector<std::byte>(2048)});
    CHECK(fails());
  }
}

TEST_CASE("Outputs of the simulator that depend on the seed are noticed") {
  Simulated simulated = simulated_seed();
  const Kernel& kernel = *simulated.program.kernel;
  const BufferId b = buffer_named(kernel, "B").value();
  simulated.again.image.global[b].data[3] ^= 1;
  const auto difference = unrepeatable_output(simulated);
  REQUIRE(difference.has_value());
  CHECK(difference->buffer == "B");
  CHECK(difference->index == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("What a program for one architecture runs on") {
  const auto gpu = [](int major, int minor) { return Gpu{"GPU", major, minor, "", 13000}; };
  const auto runs = [](const char* arch, const Gpu& on) { return !why_not_run(emit::arch_named(arch).value(), on).has_value(); };
  CHECK(runs("sm_90a", gpu(9, 0)));
  CHECK_FALSE(runs("sm_90a", gpu(10, 0)));
  CHECK_FALSE(runs("sm_100a", gpu(9, 0)));
  CHECK_FALSE(runs("sm_100a", gpu(10, 3)));
  CHECK(runs("sm_100f", gpu(10, 3)));
  CHECK_FALSE(runs("sm_103a", gpu(10, 0)));
  CHECK(runs("sm_80", gpu(8, 9)));
  CHECK_FALSE(runs("sm_86", gpu(8, 0)));
  CHECK_FALSE(runs("sm_80", gpu(9, 0)));  // only machine code is in the program
  for (const Gpu& each : {gpu(7, 5), gpu(8, 0), gpu(9, 0), gpu(10, 0), gpu(10, 3), gpu(12, 0)}) CHECK_FALSE(why_not_run(arch_of(each), each).has_value());
}

TEST_CASE("What is missing is said in one sentence, with what still works") {
  const Gpu hopper{"NVIDIA H200", 9, 0, "580.1", 13000};
  const auto why = [](Options options, const Machine& machine) {
    try {
      const Differ differ(std::move(options), machine);
      return std::string();
    } catch (const Unsupported& unsupported) { return unsupported.reason(); }
  };
  Machine machine;
  machine.no_gpu = "no GPU driver is installed";
  machine.no_nvcc = "nvcc is not installed";
  CHECK_THAT(why({}, machine), tests::contains("no GPU driver is installed: `--backend host` compares on the CPU"));
  machine.gpu = hopper;
  CHECK_THAT(why({}, machine), tests::contains("nvcc is not installed: `--backend host`"));
  machine.nvcc = Compiler{"nvcc", "13.0.88", 13, 0};
  CHECK(why({}, machine).empty());
  machine.nvcc->major = 14;
  CHECK_THAT(why({}, machine), tests::contains("the driver is made for CUDA 13.0"));
  machine.nvcc->major = 12;
  CHECK(why({}, machine).empty());
  machine.gpu->major = 7;
  CHECK_THAT(why({}, machine), tests::contains("7.5"));
  machine.gpu = hopper;
  Options blackwell;
  blackwell.arch = emit::arch_named("sm_100a");
  CHECK_THAT(why(blackwell, machine), tests::contains("does not run on NVIDIA H200"));
  Options host;
  host.backend = Backend::host;
  CHECK_THAT(why(host, machine), tests::contains("C++ compiler"));
  machine.host = Compiler{"c++", "g++", 0, 0};
  CHECK(why(host, machine).empty());
}

TEST_CASE("Generated copies are the same each time, and differ from each other") {
  const auto one = generated_cases(1, 3), again = generated_cases(1, 3), other = generated_cases(2, 1);
  REQUIRE(one.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(print(one[i].scenario->kernel) == print(again[i].scenario->kernel));
  CHECK(print(one[0].scenario->kernel) != print(one[1].scenario->kernel));
  CHECK(print(one[0].scenario->kernel) != print(other[0].scenario->kernel));
}
