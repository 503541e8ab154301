#include "lower/copy/partition.hpp"

#include <fmt/format.h>

namespace tmemsim::lower {

Result<Partition> partition_of(const Operand& local, const Operand& memory, bool is_load) {
  const auto digits = digits_in_step(local, memory);
  if (!digits) return digits.reason();
  Partition partition;
  partition.owner_offset = local.offset;
  partition.register_offset = at(local.offset, Axis::m) * local.bits;
  partition.memory_offset = at(memory.offset, Axis::m) * memory.bits;
  const auto add_owner = [&](std::int64_t extent, Place place, std::int64_t memory_stride, bool replica) {
    if (place.stride < 0) {  // counted from the other end
      at(partition.owner_offset, place.axis) += (extent - 1) * place.stride;
      partition.memory_offset += (extent - 1) * memory_stride;
      place.stride = -place.stride;
      memory_stride = -memory_stride;
    }
    partition.owners.push_back({extent, place.stride, place.axis, partition.thread_strides.size(), replica});
    partition.thread_strides.push_back(memory_stride);
  };
  for (const Digit& digit : *digits) {
    const std::int64_t memory_stride = digit.b.stride * memory.bits;
    if (is_thread(digit.a.axis) && digit.a.stride != 0) {
      add_owner(digit.extent, digit.a, memory_stride, false);
    } else {
      const std::int64_t register_stride = is_thread(digit.a.axis) ? 0 : digit.a.stride * local.bits;
      partition.steps.push_back({digit.extent, register_stride, memory_stride});
    }
  }
  for (const Iter& replica : local.replica) {
    if (is_thread(replica.axis)) {
      if (replica.stride != 0) add_owner(replica.extent, {replica.axis, replica.stride}, 0, true);
    } else if (is_load) {  // every copy of the register is loaded; one is stored
      partition.steps.push_back({replica.extent, replica.stride * local.bits, 0});
    }
  }
  if (!is_load) {
    for (const Iter& replica : memory.replica) partition.steps.push_back({replica.extent, 0, replica.stride * memory.bits});
  }
  return partition;
}

// Digits that continue each other in memory too are one.
Expr thread_bytes(const Owners& owners, const std::vector<std::int64_t>& strides) {
  Expr terms(0);
  for (const Field& field : owners.fields()) {
    for (std::size_t top = 0; top < field.digits.size();) {
      std::size_t bottom = top;
      std::int64_t stride = strides[field.digits[top].key];
      while (bottom + 1 < field.digits.size()) {
        const OwnerDigit& upper = field.digits[bottom];
        const OwnerDigit& lower = field.digits[bottom + 1];
        const std::int64_t lower_stride = strides[lower.key];
        if (upper.stride != lower.stride * lower.extent || stride != lower_stride * lower.extent) break;
        stride = lower_stride;
        ++bottom;
      }
      if (stride != 0) terms = sum(terms, scaled(owners.value(field, top, bottom), stride / 8));
      top = bottom + 1;
    }
  }
  return terms;
}

std::optional<Reason> moving_problem(const Operand& local) {
  if (local.moving.empty()) return std::nullopt;
  return Reason{
      fmt::format("the region of {} moves with a variable, but registers are named when the kernel is built; unroll the loop "
                  "or index the other side",
                  local.buffer->name),
      {},
      {},
      {}};
}

std::optional<std::string> memory_collides(const Partition& partition, std::int64_t bits) {
  std::vector<Stretch> stretches;
  for (const AxisDigit& owner : partition.owners) {
    if (!owner.replica) stretches.push_back({owner.extent, partition.thread_strides[owner.key]});
  }
  for (const StepDigit& step : partition.steps) stretches.push_back({step.extent, step.b});
  return overlap(std::move(stretches), bits);
}

}  // namespace tmemsim::lower
