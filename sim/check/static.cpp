#include "sim/check/static.hpp"

#include <fmt/format.h>

#include <map>

#include "ir/target.hpp"
#include "ir/tcgen05.hpp"
#include "sim/exec/dispatch.hpp"

namespace tmemsim::sim {
namespace {

Ref at_statement(const Machine& machine, std::uint32_t step) {
  static const WarpState nobody{};
  const Step& of = machine.program.steps[step];
  std::uint32_t cta = of.where.cta.value_or(0), warp = of.where.warps ? of.where.warps->first : of.where.warpgroup.value_or(0) * 4;
  Ref ref = machine.ref(step, nobody, 0);
  ref.cta = cta;
  ref.warp = warp;
  ref.lanes = lanes_of(of.where, cta, warp);
  return ref;
}

// What an operation asks of the target beyond its row.
Needs needs_of(const MachineOps::Any& op) {
  if (const auto* mma = std::get_if<TcgenMma>(&op); mma && mma->kind == MmaKind::i8) return Needs::tcgen05_i8;
  return Needs::nothing;
}

bool check_targets(Machine& machine) {
  bool found_any = false;
  for (std::uint32_t i = 0; i < machine.program.steps.size(); ++i) {
    if (machine.program.steps[i].kind != Step::Kind::op) continue;
    const Row& row = row_of(machine.program.steps[i]);
    auto reason = why_not(row.needs, machine.kernel.target, machine.kernel.ptx);
    if (!reason) reason = why_not(needs_of(std::get<MachineOps::Any>(machine.program.steps[i].stmt->node)), machine.kernel.target, machine.kernel.ptx);
    if (!reason) continue;
    Candidate found;
    found.verdict = Verdict::target;
    found.at = at_statement(machine, i);
    found.message = fmt::format("{}: {}", row.name, *reason);
    machine.candidates.add(std::move(found));
    found_any = true;
  }
  return found_any;
}

// One cta_group a kernel: ptxas refuses a function that mixes them.
bool check_cta_groups(Machine& machine) {
  std::optional<std::uint32_t> first;
  std::uint8_t first_group = 0;
  bool found_any = false;
  for (std::uint32_t i = 0; i < machine.program.steps.size(); ++i) {
    if (machine.program.steps[i].kind != Step::Kind::op) continue;
    const std::uint8_t group = std::visit([](const auto& op) -> std::uint8_t {
      if constexpr (requires { op.cta_group; }) return op.cta_group;
      return 0;
    }, std::get<MachineOps::Any>(machine.program.steps[i].stmt->node));
    if (group == 0 || group == first_group) continue;
    if (!first) {
      first = i;
      first_group = group;
      continue;
    }
    Candidate found;
    found.verdict = Verdict::cta_group_mismatch;
    found.at = at_statement(machine, i);
    found.other = at_statement(machine, *first);
    found.message = fmt::format("cta_group::{} in a kernel that begins with cta_group::{}", group, first_group);
    machine.candidates.add(std::move(found));
    found_any = true;
  }
  return found_any;
}

// The alloc that stores to the slot, or the first statement of the program.
std::uint32_t alloc_of(const Machine& machine, std::optional<BufferId> slot) {
  for (std::uint32_t i = 0; i < machine.program.steps.size(); ++i) {
    const Step& step = machine.program.steps[i];
    if (step.kind != Step::Kind::op) continue;
    if (const auto* alloc = std::get_if<TcgenAlloc>(&std::get<MachineOps::Any>(step.stmt->node)))
      if (!slot || alloc->slot.buffer == *slot) return i;
  }
  return 0;
}

bool check_plan(Machine& machine) {
  bool found_any = false;
  for (const Buffer& buffer : machine.kernel.buffers) {
    if (buffer.space != Space::tmem) continue;
    const std::int64_t end = buffer.base.value_or(0) + buffer.column + tmem_columns(buffer);
    if (end <= tcgen05::columns) continue;
    Candidate found;
    found.verdict = Verdict::alloc_capacity;
    found.at = at_statement(machine, alloc_of(machine, buffer.slot));
    found.where.space = "tmem";
    found.where.buffer = buffer.name;
    found.where.columns = {buffer.base.value_or(0) + buffer.column, end - 1};
    found.message = fmt::format("the plan places {} in columns up to {}; there are 512", buffer.name, end - 1);
    machine.candidates.add(std::move(found));
    found_any = true;
  }
  return found_any;
}

}  // namespace

bool check_before_running(Machine& machine) {
  if (check_targets(machine) || check_cta_groups(machine)) return true;
  return check_plan(machine);
}

}  // namespace tmemsim::sim
