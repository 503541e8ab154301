#include "sim/sim.hpp"

#include <memory>

#include "sim/check/attribution.hpp"
#include "sim/check/static.hpp"
#include "sim/exec/machine.hpp"

namespace tmemsim::sim {
namespace {

Bytes image_of(const ByteMemory& memory) {
  Bytes bytes;
  bytes.data.assign(memory.data(), memory.data() + memory.size());
  bytes.written.resize(memory.size());
  for (std::size_t i = 0; i < memory.size(); ++i) bytes.written[i] = (memory.flags()[i] & ByteMemory::defined) != 0;
  return bytes;
}

Cells image_of(const Sm& sm) {
  Cells cells;
  if (!sm.tmem) return cells;
  const std::size_t count = std::size_t{tcgen05::columns} * tcgen05::lanes;
  cells.value.reserve(count);
  cells.written.reserve(count);
  for (std::size_t column = 0; column < tcgen05::columns; ++column) {
    for (std::size_t lane = 0; lane < tcgen05::lanes; ++lane) {
      const CellState& state = sm.tmem->state[lane / 32][column];
      const std::uint32_t bit = 1u << (lane % 32), defined = state.defined & bit;
      cells.value.push_back(sm.tmem->cell[column][lane]);
      cells.written.push_back(static_cast<std::uint8_t>((defined && (state.low & bit) ? 1 : 0) | (defined && (state.high & bit) ? 2 : 0)));
    }
  }
  return cells;
}

CtaImage image_of(const Cta& cta) {
  CtaImage image;
  image.sm = cta.sm;
  image.shared = image_of(cta.shared);
  for (const WarpState& warp : cta.warps) {
    std::vector<RegisterRow>& rows = image.registers.emplace_back(warp.registers.rows());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::copy_n(warp.registers.row(row), 32, rows[row].value.begin());
      rows[row].written = warp.registers.state(row).written;
    }
  }
  return image;
}

Image image_of(const Machine& machine) {
  Image image;
  for (const ByteMemory& memory : machine.global) image.global.push_back(image_of(memory));
  for (std::size_t id = 0; id < image.global.size(); ++id) {  // rounded up to whole words inside
    const Buffer& buffer = machine.kernel.buffers[id];
    if (buffer.space != Space::global) continue;
    image.global[id].data.resize(static_cast<std::size_t>(byte_size(buffer)));
    image.global[id].written.resize(image.global[id].data.size());
  }
  for (const Cta& cta : machine.ctas) image.ctas.push_back(image_of(cta));
  for (const Sm& sm : machine.sms) image.sms.push_back(image_of(sm));
  return image;
}

}  // namespace

Outcome run(const Program& program, const Options& options, Observer* observer) {
  if (options.scheduler == Scheduler::exhaustive) throw Unsupported("one run has one schedule; explore() makes several");
  auto machine = std::make_shared<Machine>(program, options, observer);
  if (!check_before_running(*machine)) {
    try {
      machine->run_to_end();
    } catch (...) {
      if (machine->tracer) machine->tracer->end_all();
      throw;
    }
    attribute_conflicts(*machine);
    machine->candidates.raise_uninit(machine->reached_memory);
  }

  Outcome outcome;
  outcome.findings = resolve(machine->candidates.all(), options.profile);
  outcome.image = image_of(*machine);
  outcome.issued = std::move(machine->issued);
  outcome.issued_all = machine->issued_all;
  outcome.all_schedules = machine->unordered.empty() && machine->choices.empty() && !machine->over_limit;
  outcome.unordered = std::move(machine->unordered);
  outcome.choices = std::move(machine->choices);
  outcome.branches = std::move(machine->branches);
  outcome.decisions = std::move(machine->decisions);
  outcome.steps = machine->steps;
  outcome.executed = std::move(machine->executed);
  machine->candidates.on_add = nullptr;
  machine->tracer.reset();
  outcome.writer_of_global = [machine](BufferId buffer, std::int64_t byte) -> std::optional<Ref> {
    if (buffer >= machine->global.size()) return std::nullopt;
    const ByteMemory& memory = machine->global[buffer];
    if (byte < 0 || static_cast<std::size_t>(byte) >= memory.size()) return std::nullopt;
    const AccessId id = memory.writer_of(static_cast<std::size_t>(byte));
    if (id == 0) return std::nullopt;
    Ref ref = machine->ref(AccessTable::record_of(id));
    ref.lanes = machine->accesses.lanes_of(id);
    return ref;
  };
  return outcome;
}

}  // namespace tmemsim::sim
