// Setting up a run: SMs, CTAs, memory with its initial contents; and what records stand for.
#include "sim/exec/machine.hpp"

#include <algorithm>
#include <bit>

#include "ir/scenario/scenario.hpp"
#include "sim/placement.hpp"

namespace tmemsim::sim {
namespace {

// Writes the low `count` bits of `value` at bit `at` of memory, and marks the bytes as defined.
void put_bits(ByteMemory& memory, std::int64_t at, int count, std::uint64_t value) {
  for (int done = 0; done < count;) {
    const std::size_t byte = static_cast<std::size_t>((at + done) / 8);
    const int shift = static_cast<int>((at + done) % 8), taken = std::min(8 - shift, count - done);
    if (byte >= memory.size()) return;
    const auto mask = static_cast<std::uint8_t>(((1u << taken) - 1u) << shift);
    const auto bits = static_cast<std::uint8_t>((value >> done) << shift);
    memory.data()[byte] = static_cast<std::uint8_t>((memory.data()[byte] & ~mask) | (bits & mask));
    memory.flags()[byte] |= ByteMemory::defined;
    done += taken;
  }
}

void put_initial(const Kernel& kernel, const Buffer& buffer, ByteMemory& memory, std::int64_t first_byte) {
  const std::vector<std::uint64_t> values = initial_bits(kernel, buffer);
  if (values.empty()) return;
  const SlotMap slot(layout_of(buffer), Axis::m);
  const int width = bits(buffer.dtype);
  for (std::size_t i = 0; i < values.size(); ++i)
    put_bits(memory, first_byte * 8 + slot(static_cast<std::int64_t>(i)) * width, width, values[i]);
}

// The buffer in tensor memory that an instruction copies to or from by what its author says: in `means`, or in the primitive
// that it was lowered from.
std::optional<BufferId> view_of(const Kernel& kernel, const Stmt& stmt, const Stmt* tile) {
  const auto in_tmem = [&](const Region& dst, const Region& src) -> std::optional<BufferId> {
    for (const Region* region : {&dst, &src})
      if (kernel.buffers[region->buffer].space == Space::tmem) return region->buffer;
    return std::nullopt;
  };
  if (stmt.means) return in_tmem(stmt.means->dst, stmt.means->src);
  const auto* lowered = tile ? std::get_if<Lowered>(&tile->node) : nullptr;
  if (!lowered) return std::nullopt;
  if (const auto* copy = std::get_if<Copy>(&lowered->origin)) return in_tmem(copy->dst, copy->src);
  if (const auto* copy = std::get_if<CopyAsync>(&lowered->origin)) return in_tmem(copy->dst, copy->src);
  if (const auto* fill = std::get_if<Fill>(&lowered->origin)) return in_tmem(fill->dst, fill->dst);
  return std::nullopt;
}

}  // namespace

Machine::Machine(const Program& program_, const Options& options_, Observer* observer)
    : program(program_), kernel(*program_.kernel), options(options_), random(options_.seed), open_facts(program_) {
  plans.resize(program.steps.size());
  in_tile.assign(program.steps.size(), 0);
  executed.assign(program.steps.size(), 0);
  const Stmt* tile = nullptr;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    plan_step(program, step, plans[i]);
    if (step.kind == Step::Kind::tile_begin) tile = step.stmt;
    if (step.kind == Step::Kind::tile_end) tile = nullptr;
    in_tile[i] = tile != nullptr;
    if (step.kind != Step::Kind::op) continue;
    if (const auto view = view_of(kernel, *step.stmt, tile)) plans[i].set_view(*view);
  }

  const Launch& launch = kernel.launch;
  const std::vector<CtaPlace> places = place_ctas(launch);
  const std::uint32_t number_of_sms = sm_count(launch);
  sms.reserve(number_of_sms);
  for (std::uint32_t i = 0; i < number_of_sms; ++i) sms.emplace_back(launch.held_columns);

  global.resize(kernel.buffers.size());
  for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    if (buffer.space != Space::global) continue;
    global[id] = ByteMemory(static_cast<std::size_t>(byte_size(buffer) + 3) / 4 * 4);
    put_initial(kernel, buffer, global[id], 0);
  }
  ByteMemory window(static_cast<std::size_t>(shared_window(kernel)));
  for (const Buffer& buffer : kernel.buffers)
    if (buffer.space == Space::shared && buffer.init) put_initial(kernel, buffer, window, buffer.offset.value_or(0));

  ctas.resize(places.size());
  clusters.resize(places.size() / cluster_size(launch));
  for (std::uint32_t index = 0; index < places.size(); ++index) {
    Cta& cta = ctas[index];
    cta.index = index;
    cta.rank = places[index].rank;
    cta.cluster = places[index].cluster;
    cta.sm = places[index].sm;
    cta.live_warps = launch.warps;
    cta.next_agent = 3 * launch.warps + static_cast<std::uint32_t>(cta.barriers.size());
    cta.shared = ByteMemory(window.size());
    std::copy_n(window.data(), window.size(), cta.shared.data());
    std::copy_n(window.flags(), window.size(), cta.shared.flags());
    sms[cta.sm].ctas.push_back(index);
    cta.warps.resize(launch.warps);
    for (std::uint32_t w = 0; w < launch.warps; ++w) {
      WarpState& warp = cta.warps[w];
      warp.cta = index;
      warp.warp = w;
      warp.groups.resize(1);
      warp.groups[0].lanes = ~0u;
      warp.views.resize(1);
      warp.views[0].lanes = ~0u;
      warp.registers = RegisterFile(program.rows_per_warp);
      warp.loops.resize(program.loops.size());
    }
  }
  if (observer) {
    tracer = std::make_unique<Tracer>(*this, *observer);
    candidates.on_add = [this](const Candidate& candidate) { tracer->notice(candidate); };
  }
  for (Cta& cta : ctas)
    for (WarpState& warp : cta.warps) make_ready(warp);
}

std::uint32_t Machine::cta_of_rank(const Cta& cta, std::uint32_t rank) const {
  for (const Cta& other : ctas)
    if (other.cluster == cta.cluster && other.rank == rank) return other.index;
  return cta.index;
}

std::array<std::int32_t, recorded_loops> Machine::loop_snapshot(std::uint32_t step, const WarpState& warp, std::uint32_t lanes) const {
  std::array<std::int32_t, recorded_loops> values{};
  const auto& around = program.steps[step].loops_around;
  const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
  for (std::size_t i = 0; i < around.size() && i < recorded_loops; ++i) values[i] = warp.loops[around[i]][lane & 31u];
  return values;
}

std::map<std::string, std::int64_t> Machine::loop_values(std::uint32_t step, const std::array<std::int32_t, recorded_loops>& loop) const {
  std::map<std::string, std::int64_t> values;
  const auto& around = program.steps[step].loops_around;
  for (std::size_t i = 0; i < around.size() && i < recorded_loops; ++i) values[program.loops[around[i]].variable] = loop[i];
  return values;
}

namespace {

// The statement whose label an instruction goes by: the lowered primitive that it is a part of, or itself.
const Stmt& named_as(const Machine& machine, std::uint32_t step) {
  if (machine.in_tile[step])
    while (machine.program.steps[step].kind != Step::Kind::tile_begin) --step;
  return *machine.program.steps[step].stmt;
}

Ref reference(const Machine& machine, std::uint32_t step, std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes) {
  Ref ref;
  const Step& of = machine.program.steps[step];
  if (of.stmt) {
    ref.at = of.stmt->at;
    ref.path = of.stmt->path;
    ref.label = named_as(machine, step).label;
    ref.op = op_name(of);
  }
  ref.cta = cta;
  ref.warp = warp;
  ref.lanes = lanes;
  return ref;
}

}  // namespace

Ref Machine::ref(std::uint32_t record) const {
  const Access& access = accesses[record];
  Ref made = reference(*this, access.step, access.cta, access.warp, access.lanes);
  made.loop = loop_values(access.step, access.loop);
  return made;
}

Ref Machine::ref(std::uint32_t step, const WarpState& warp, std::uint32_t lanes) const {
  Ref made = reference(*this, step, warp.cta, warp.warp, lanes);
  if (!program.steps[step].loops_around.empty() && lanes != 0) made.loop = loop_values(step, loop_snapshot(step, warp, lanes));
  return made;
}

void Machine::log_issue(const WarpState& warp, std::uint32_t step, std::uint32_t lanes) {
  constexpr std::size_t most_issued = std::size_t{1} << 20;  // some 150 MB
  issued_all = issued_all && issued.size() < most_issued;
  if (issued_all) issued.push_back(Issued{program.steps[step].stmt, loop_values(step, loop_snapshot(step, warp, lanes)), warp.cta, warp.warp, lanes});
}

}  // namespace tmemsim::sim
