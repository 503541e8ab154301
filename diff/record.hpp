// What became of one case, as a line of JSON that can be appended, read back, and put together from many runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tmemsim::diff {

enum class Status : std::uint8_t {
  agree,
  differ,
  unrepeatable,    // two runs of the program, or two of the simulator, do not leave the same
  failed,          // did not compile, faulted, or did not end
  incomparable,    // there is nothing to compare; the reason says why
  error,           // the scenario cannot be read
};
inline constexpr std::size_t status_count = 6;
std::string_view name(Status status);                         // "agree", ..., "not repeatable", "not comparable"
std::optional<Status> status_named(std::string_view name);

// The statement that wrote a place in the simulator's run.
struct Writer {
  std::string file;
  std::uint32_t line = 0, col = 0;
  std::string statement, label, op;        // "program[4].body[1]"; may be empty; PTX name
  std::uint32_t cta = 0, warp = 0, lanes = 0;
  bool operator==(const Writer&) const = default;
};

// The first place where the program left something else than the simulator. Only what applies is set.
struct Difference {
  std::string space;                       // global, register, tmem
  std::string buffer;                      // empty for a cell that no buffer holds
  std::vector<std::int64_t> index;         // logical element
  std::uint64_t expected_bits = 0, actual_bits = 0;  // simulator; program
  std::optional<std::uint32_t> cta, thread, reg;     // CTA in the grid, thread in the CTA, register of the buffer
  std::optional<std::int64_t> lane, column;          // physical
  std::uint64_t places = 0;                // how many differ in all
  std::optional<Writer> written_by;
  bool operator==(const Difference&) const = default;
};

// Who ran the program.
struct Implementation {
  std::string backend;   // native, emulated, host
  std::string device;    // "NVIDIA H200 (compute capability 9.0)"; "this machine's CPU"
  std::string arch;      // "sm_90a"; empty on the host
  std::string driver, toolkit;
  bool uses_tmem = false;  // the program has tensor memory: with another backend than native it is emulated
  bool operator==(const Implementation&) const = default;
};
// One sentence: what ran where, and what that confirms. An emulated run confirms nothing about the hardware's tensor memory.
std::string what_it_confirms(const Implementation& implementation);

struct Record {
  std::string key;                         // of the case: the same program, profile, backend, device and depth of comparison
  std::string file, scenario, instance;
  Status status = Status::agree;
  std::string reason;                      // one sentence; empty for agree and differ
  std::optional<Implementation> ran;       // absent when nothing ran
  std::uint64_t elements = 0, registers = 0, cells = 0;  // compared, bit for bit
  std::optional<Difference> difference;
  bool operator==(const Record&) const = default;
};

std::string json(const Record& record);                       // one line, without its end
// A line that json() wrote. Untrusted: nothing when it is none.
std::optional<Record> parse_record(std::string_view line);

// One sentence: what differs where, and who wrote it.
std::string describe(const Difference& difference);

}  // namespace tmemsim::diff
