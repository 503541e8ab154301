#include "diff/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>

#include "ir/layout/coordinate.hpp"
#include "ir/npy.hpp"
#include "report/compare.hpp"
#include "report/memory.hpp"

namespace tmemsim::diff {
namespace {

Writer writer_of(const Kernel& kernel, const Ref& ref) {
  const std::string file = ref.at.file < kernel.files.size() ? kernel.files[ref.at.file].name : std::string();
  return {file, ref.at.line, ref.at.col, ref.path, ref.label, ref.op, ref.cta, ref.warp, ref.lanes};
}

// ---- who wrote a register or a cell: the run once more, with somebody who watches ----

template <class Op>
bool writes_register(const Op& op, BufferId buffer, std::uint16_t row) {
  bool writes = false;
  for_each_field(op, [&](const auto& field, const auto& member) {
    if constexpr (std::is_same_v<std::decay_t<decltype(member)>, Rows>) {
      if (field.use != Use::write && field.use != Use::update) return;
      writes |= member.buffer == buffer && std::find(member.rows.begin(), member.rows.end(), row) != member.rows.end();
    }
  });
  return writes;
}

class LastWriter : public sim::Observer {
 public:
  using Writes = std::function<bool(const sim::Event&)>;
  explicit LastWriter(Writes writes) : writes_(std::move(writes)) {}
  void event(const sim::Event& event) override {
    if (writes_(event)) last_ = event.ref;
  }
  const std::optional<Ref>& last() const { return last_; }

 private:
  Writes writes_;
  std::optional<Ref> last_;
};

std::optional<Writer> last_writer(const Simulated& simulated, LastWriter::Writes writes) {
  LastWriter watch(std::move(writes));
  sim::run(simulated.program, simulated.options, &watch);
  if (!watch.last()) return std::nullopt;
  return writer_of(*simulated.program.kernel, *watch.last());
}

std::optional<Writer> writer_of_register(const Simulated& simulated, BufferId buffer, std::uint32_t cta, std::uint32_t thread, std::uint16_t row) {
  std::set<std::string> paths;  // statements that write the register
  for (const Step& step : simulated.program.steps) {
    const auto* op = step.kind == Step::Kind::op ? std::get_if<MachineOps::Any>(&step.stmt->node) : nullptr;
    if (op && std::visit([&](const auto& one) { return writes_register(one, buffer, row); }, *op)) paths.insert(step.stmt->path);
  }
  return last_writer(simulated, [&](const sim::Event& event) {
    return event.kind == sim::Event::Kind::execute && event.ref.cta == cta && event.ref.warp == thread / 32 &&
           (event.ref.lanes >> (thread % 32) & 1) != 0 && paths.count(event.ref.path) > 0;
  });
}

std::optional<Writer> writer_of_cell(const Simulated& simulated, std::uint32_t sm, std::int64_t lane, std::int64_t column) {
  return last_writer(simulated, [&](const sim::Event& event) {
    return std::any_of(event.writes.begin(), event.writes.end(), [&](const sim::Extent& box) {
      return box.space == sim::Extent::Space::tmem && box.place == sm && box.lane_first <= lane && lane <= box.lane_last && box.first <= column && column <= box.last;
    });
  });
}

// ---- the two runs of the program against each other and the simulator ----

NpyArray load(const std::filesystem::path& file, const std::vector<std::int64_t>& shape) {
  auto array = read_npy(file);
  if (!array) throw std::runtime_error(fmt::format("the program left no whole {}: {}", file.filename().string(), array.reason().text));
  if (array->shape != shape) throw std::runtime_error(fmt::format("the program left {} in another shape", file.filename().string()));
  return std::move(array).value();
}

std::uint64_t little_endian(const NpyArray& array, std::size_t element, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, array.data.data() + element * bytes, bytes);
  return value;
}

class Comparer {
 public:
  Comparer(const Simulated& simulated, std::filesystem::path first, std::filesystem::path second)
      : simulated_(simulated),
        kernel_(*simulated.program.kernel),
        memory_(simulated.program, simulated.run.image),
        first_(std::move(first)),
        second_(std::move(second)) {}

  Compared compare(bool dump) {
    for (BufferId id = 0; id < kernel_.buffers.size(); ++id) {
      if (kernel_.buffers[id].space == Space::global) compare_elements(id);
    }
    for (BufferId id = 0; dump && id < kernel_.buffers.size(); ++id) {
      if (kernel_.buffers[id].space == Space::local) compare_registers(id);
    }
    if (dump) compare_cells();
    return std::move(result_);
  }

 private:
  // One place: what the simulator has and what the two runs have. `describe` is called for the first difference.
  template <class Describe>
  void place(std::uint64_t expected, std::uint64_t first, std::uint64_t second, Describe describe) {
    if (first != second) note(result_.between_runs, first, second, describe);
    if (first != expected) note(result_.difference, expected, first, describe);
  }
  template <class Describe>
  void note(std::optional<Difference>& where, std::uint64_t expected, std::uint64_t actual, Describe describe) {
    if (!where) {
      where = describe();
      where->expected_bits = expected;
      where->actual_bits = actual;
    }
    ++where->places;
  }

  void compare_elements(BufferId id) {
    const Buffer& buffer = kernel_.buffers[id];
    const NpyArray first = load(first_ / (buffer.name + ".npy"), buffer.shape), second = load(second_ / (buffer.name + ".npy"), buffer.shape);
    const auto bytes = static_cast<std::size_t>(bits(npy_storage(buffer.dtype))) / 8;
    for (std::int64_t x = 0; x < element_count(buffer); ++x) {
      const auto expected = memory_.read(id, 0, 0, x);
      if (!expected) continue;
      const auto at = static_cast<std::size_t>(x);
      result_.elements += expected->written;
      place(expected->bits, little_endian(first, at, bytes), little_endian(second, at, bytes), [&] { return element(id, x); });
    }
  }

  Difference element(BufferId id, std::int64_t x) const {
    const Buffer& buffer = kernel_.buffers[id];
    report::Mismatch way;
    report::trace_back(simulated_.program, simulated_.run, id, x, way);
    Difference difference;
    difference.space = "global";
    difference.buffer = buffer.name;
    difference.index = coordinate_of(x, buffer.shape);
    difference.cta = way.cta;
    difference.thread = way.thread;
    difference.reg = way.reg;
    difference.lane = way.lane;
    difference.column = way.column;
    if (way.written_by) difference.written_by = writer_of(kernel_, *way.written_by);
    return difference;
  }

  void compare_registers(BufferId id) {
    const Buffer& buffer = kernel_.buffers[id];
    const std::string file = buffer.name + ".registers.npy";
    if (!std::filesystem::exists(first_ / file)) return;  // the program does not use them
    const std::int64_t count = register_count(buffer), threads = 32 * std::int64_t{kernel_.launch.warps};
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(cta_count(kernel_.launch)), threads, count};
    const NpyArray first = load(first_ / file, shape), second = load(second_ / file, shape);
    for (std::uint32_t cta = 0; cta < simulated_.run.image.ctas.size(); ++cta) {
      for (std::uint32_t thread = 0; thread < threads; ++thread) {
        for (std::uint16_t row = 0; row < count; ++row) {
          const auto expected = sure_register(id, cta, thread, row);
          if (!expected) continue;
          const std::size_t at = (std::size_t{cta} * static_cast<std::size_t>(threads) + thread) * static_cast<std::size_t>(count) + row;
          ++result_.registers;
          place(*expected, little_endian(first, at, 4), little_endian(second, at, 4), [&] { return register_place(id, cta, thread, row); });
        }
      }
    }
  }

  // What both runs of the simulator leave in a register.
  std::optional<std::uint32_t> sure_register(BufferId id, std::uint32_t cta, std::uint32_t thread, std::uint16_t row) const {
    const std::size_t at = std::size_t{simulated_.program.first_row[id]} + row;
    const std::uint32_t lane = thread % 32;
    const RegisterRow &a = simulated_.run.image.ctas[cta].registers[thread / 32][at], &b = simulated_.again.image.ctas[cta].registers[thread / 32][at];
    if ((a.written & b.written & 1u << lane) == 0 || a.value[lane] != b.value[lane]) return std::nullopt;
    return a.value[lane];
  }

  Difference register_place(BufferId id, std::uint32_t cta, std::uint32_t thread, std::uint16_t row) const {
    const Buffer& buffer = kernel_.buffers[id];
    Difference difference;
    difference.space = "register";
    difference.buffer = buffer.name;
    difference.cta = cta;
    difference.thread = thread;
    difference.reg = row;
    for (std::int64_t x = 0; x < element_count(buffer); ++x) {
      const auto spot = memory_.spot(id, cta, thread, x);
      if (!spot || spot->thread != thread || spot->reg != row) continue;
      difference.index = coordinate_of(x, buffer.shape);
      break;
    }
    difference.written_by = writer_of_register(simulated_, id, cta, thread, row);
    return difference;
  }

  // Whether the cells of a CTA stand where the simulator puts them.
  bool cells_are_comparable() const {
    std::set<std::uint32_t> sms;
    for (const CtaImage& cta : simulated_.run.image.ctas) sms.insert(cta.sm);
    return sms.size() == simulated_.run.image.ctas.size() && kernel_.launch.held_columns == 0;
  }

  void compare_cells() {
    if (!std::filesystem::exists(first_ / "tensor-memory.npy") || !cells_are_comparable()) return;
    const std::vector<std::int64_t> shape{static_cast<std::int64_t>(cta_count(kernel_.launch)), 128, 512};
    const NpyArray first = load(first_ / "tensor-memory.npy", shape), second = load(second_ / "tensor-memory.npy", shape);
    for (std::uint32_t cta = 0; cta < simulated_.run.image.ctas.size(); ++cta) {
      const std::uint32_t sm = simulated_.run.image.ctas[cta].sm;
      const Cells &a = simulated_.run.image.sms.at(sm), &b = simulated_.again.image.sms.at(sm);
      if (a.value.size() != b.value.size()) continue;
      for (std::size_t i = 0; i < a.value.size(); ++i) {
        const std::size_t lane = i % 128, column = i / 128;
        const std::uint32_t mask = sure_bits(a, b, i);
        if (lane >= 32 * kernel_.launch.warps || mask == 0) continue;  // only the warps' own quadrants are written out
        const std::size_t at = (cta * std::size_t{128} + lane) * 512 + column;
        ++result_.cells;
        place(a.value[i] & mask, little_endian(first, at, 4) & mask, little_endian(second, at, 4) & mask,
              [&] { return cell(cta, sm, static_cast<std::int64_t>(lane), static_cast<std::int64_t>(column)); });
      }
    }
  }

  // The halves that both runs of the simulator wrote and agree in.
  static std::uint32_t sure_bits(const Cells& a, const Cells& b, std::size_t i) {
    const auto mask = [&](const Cells& cells) { return (cells.written[i] & 1 ? 0x0000ffffu : 0) | (cells.written[i] & 2 ? 0xffff0000u : 0); };
    const std::uint32_t both = mask(a) & mask(b);
    return (a.value[i] & both) == (b.value[i] & both) ? both : 0;
  }

  Difference cell(std::uint32_t cta, std::uint32_t sm, std::int64_t lane, std::int64_t column) const {
    Difference difference;
    difference.space = "tmem";
    difference.cta = cta;
    difference.lane = lane;
    difference.column = column;
    for (BufferId id = 0; id < kernel_.buffers.size() && difference.buffer.empty(); ++id) {
      const Buffer& buffer = kernel_.buffers[id];
      if (buffer.space != Space::tmem) continue;
      for (std::int64_t x = 0; x < element_count(buffer); ++x) {
        const auto spot = memory_.spot(id, cta, 0, x);
        if (!spot || spot->lane != lane || spot->column != column) continue;
        difference.buffer = buffer.name;
        difference.index = coordinate_of(x, buffer.shape);
        break;
      }
    }
    difference.written_by = writer_of_cell(simulated_, sm, lane, column);
    return difference;
  }

  const Simulated& simulated_;
  const Kernel& kernel_;
  report::Memory memory_;
  std::filesystem::path first_, second_;
  Compared result_;
};

}  // namespace

Simulated simulate(const std::shared_ptr<const Kernel>& machine_level, const sim::Options& options) {
  Simulated simulated{decode(machine_level), options, {}, {}};
  simulated.run = sim::run(simulated.program, options);
  sim::Options other = options;
  other.scheduler = sim::Scheduler::random;
  other.policy = sim::Policy::random;
  other.seed = options.seed + 1;
  simulated.again = sim::run(simulated.program, other);
  return simulated;
}

std::optional<Difference> unrepeatable_output(const Simulated& simulated) {
  const Kernel& kernel = *simulated.program.kernel;
  const report::Memory one(simulated.program, simulated.run.image), other(simulated.program, simulated.again.image);
  for (BufferId id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    if (buffer.space != Space::global) continue;
    for (std::int64_t x = 0; x < element_count(buffer); ++x) {
      const auto a = one.read(id, 0, 0, x), b = other.read(id, 0, 0, x);
      if (a.has_value() == b.has_value() && (!a || (a->bits == b->bits && a->written == b->written))) continue;
      Difference difference;
      difference.space = "global";
      difference.buffer = buffer.name;
      difference.index = coordinate_of(x, buffer.shape);
      difference.expected_bits = a ? a->bits : 0;
      difference.actual_bits = b ? b->bits : 0;
      difference.places = 1;
      return difference;
    }
  }
  return std::nullopt;
}

Compared compare(const Simulated& simulated, const std::filesystem::path& first, const std::filesystem::path& second, bool dump) {
  return Comparer(simulated, first, second).compare(dump);
}

}  // namespace tmemsim::diff
