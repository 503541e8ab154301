// copy / reg: registers <-> shared or global memory. The register layout says which thread owns which element; each thread
// copies its own with the widest accesses that are proved contiguous and aligned.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/copy/access.hpp"
#include "lower/copy/address.hpp"
#include "lower/copy/partition.hpp"
#include "lower/pieces.hpp"
#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::int64_t largest_byte = (std::int64_t{1} << 31) - 1;

// A register half, byte or word that two elements of the source would fall on.
std::optional<Reason> registers_collide(const std::vector<Position>& steps, const Access& access) {
  std::vector<std::int64_t> starts;
  for (const Position& step : steps) {
    if (access.bytes < 4) starts.push_back(step.a);
    for (const std::int64_t word : access.bytes < 4 ? std::vector<std::int64_t>{} : access.words) starts.push_back(step.a + word);
  }
  std::sort(starts.begin(), starts.end());
  const auto twice = std::adjacent_find(starts.begin(), starts.end());
  if (twice == starts.end()) return std::nullopt;
  return Reason{fmt::format("two elements fall on bit {} of register {} of the same thread", *twice % 32, *twice / 32), {}, {}, {}};
}

std::string atoms_text(const std::vector<StepDigit>& steps, std::int64_t bits) {
  std::vector<std::string> atoms;
  for (const StepDigit& step : steps) {
    atoms.push_back(fmt::format("({}: register {:g}, memory {:g})", step.extent, static_cast<double>(step.a) / static_cast<double>(bits),
                                static_cast<double>(step.b) / static_cast<double>(bits)));
  }
  return atoms.empty() ? "one element" : fmt::format("{}", fmt::join(atoms, " "));
}

std::vector<std::string> proof_of(const Partition& partition, const Owners& owners, const Access& access, std::int64_t bits, std::size_t steps,
                                  bool is_load) {
  std::vector<std::string> proof;
  proof.push_back(fmt::format("each thread copies, as (extent: strides in elements): {}", atoms_text(partition.steps, bits)));
  proof.push_back(fmt::format("{} bytes an access, {} access{} a thread", access.bytes, steps, steps == 1 ? "" : "es"));
  for (const std::string& reason : access.stopped) proof.push_back("stopped " + reason);
  const std::string owner = owners.describe_owner();
  if (!owner.empty()) {
    proof.push_back(is_load ? "several threads hold the same elements: each of them loads them"
                            : fmt::format("several threads hold the same elements: stored once, by {}", owner));
  }
  return proof;
}

Stmt statement(MachineOps::Any op) {
  Stmt result;
  result.node = std::move(op);
  return result;
}

Stmt access_statement(const Operand& local, const Operand& memory, const Access& access, std::int64_t first_bit, Expr byte, bool is_load) {
  Rows rows{local.id, {}};
  std::optional<std::uint8_t> reg_byte;
  if (access.bytes >= 4) {
    for (const std::int64_t word : access.words) rows.rows.push_back(static_cast<std::uint16_t>((first_bit + word) / 32));
  } else {
    rows.rows.push_back(static_cast<std::uint16_t>(first_bit / 32));
    reg_byte = static_cast<std::uint8_t>(first_bit % 32 / 8);
  }
  Mem place{memory.id, {}, std::move(byte)};
  const auto bytes = static_cast<std::uint8_t>(access.bytes);
  if (is_load) return statement(Load{std::move(rows), std::move(place), bytes, reg_byte, Sem::weak, MemScope::cta, {}});
  return statement(Store{std::move(place), std::move(rows), bytes, reg_byte, Sem::weak, MemScope::cta, {}});
}

Outcome plan_regions(const Request& request, const Region& dst, const Region& src) {
  const bool is_load = space_of(request, dst) == Space::local;
  const auto local = operand_of(request.kernel, is_load ? dst : src, request.threads);
  if (!local) return Declined{"regions", local.reason().text, {}};
  const auto memory = operand_of(request.kernel, is_load ? src : dst, request.threads);
  if (!memory) return Declined{"regions", memory.reason().text, {}};
  if (local->shape() != memory->shape()) {
    return Declined{"regions", fmt::format("the regions differ: {} is ({}), {} is ({})", local->buffer->name, fmt::join(local->shape(), ", "),
                                           memory->buffer->name, fmt::join(memory->shape(), ", ")), "regions of equal extents"};
  }
  if (const auto problem = moving_problem(*local)) return Declined{"regions", problem->text, {}};
  if (local->swizzle) return Declined{"registers", "the register layout is swizzled; registers have no addresses", "the same layout without swizzle"};
  const auto kept = bits_kept_together(*memory);
  if (!kept) return Declined{"width", fmt::format("a swizzle of {}-bit elements does not move whole bytes", memory->bits), {}};

  const auto partition = partition_of(*local, *memory, is_load);
  if (!partition) return Declined{"regions", partition.reason().text, {}};
  const auto owners = Owners::of(request.threads, partition->owners, partition->owner_offset, local->named, is_load);
  if (!owners) return Declined{"ownership", owners.reason().text, {}};
  if (!is_load) {
    if (const auto problem = memory_collides(*partition, memory->bits)) return Declined{"width", *problem, {}};
  }

  Surroundings around;
  around.a_offset = partition->register_offset;
  const std::int64_t placed = memory->buffer->offset.value_or(0) * 8;
  around.b_strides = partition->thread_strides;
  around.b_offset = partition->memory_offset + (*kept == 0 ? placed : 0);
  if (*kept != 0) around.b_strides.push_back(placed);  // a swizzle counts from the start of the buffer
  for (const Moving& moving : memory->moving) around.b_strides.push_back(moving.stride * memory->bits);
  around.b_cap = *kept;
  const Access access = widest_access(partition->steps, local->bits, around);
  if (access.bytes == 0) {
    return Declined{"width", fmt::format("not even single bytes can be moved; {}", access.stopped.back()), "elements that begin and end at whole bytes"};
  }

  const std::vector<Position> steps = positions(access.steps);
  if (is_load) {
    if (const auto problem = registers_collide(steps, access)) return Declined{"registers", problem->text, {}};
  }
  const MovingTerms moving = moving_bytes(*memory);
  std::int64_t granule = moving.granule;
  for (const std::int64_t stride : partition->thread_strides) granule = std::gcd(granule, stride / 8);
  const MemoryAddress address(*memory, sum(thread_bytes(*owners, partition->thread_strides), moving.bytes), partition->memory_offset / 8, granule);
  Plan plan;
  for (const Position& step : steps) {
    if (std::abs(partition->memory_offset + step.b) / 8 > largest_byte) return Declined{"width", "the buffer is larger than 2 GiB", {}};
    plan.body.push_back(access_statement(*local, *memory, access, partition->register_offset + step.a, address.at(step.b / 8), is_load));
  }
  if (auto guard = owners->guard(!is_load)) {
    Stmt guarded;
    guarded.node = If{std::move(*guard), std::move(plan.body), {}};
    plan.body.clear();
    plan.body.push_back(std::move(guarded));
  }
  if (request.explain) plan.proof = proof_of(*partition, *owners, access, local->bits, steps.size(), is_load);
  return plan;
}

}  // namespace

Outcome plan_copy_reg(const Request& request) {
  const CopyRegions regions = regions_of(request);
  return plan_by_pieces(request, regions.dst, regions.src, [&](const Region& dst, const Region& src) { return plan_regions(request, dst, src); });
}

}  // namespace tmemsim::lower
