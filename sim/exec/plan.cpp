#include "sim/exec/plan.hpp"

#include <stdexcept>

#include "ir/kernel/region.hpp"

namespace tmemsim::sim {

SlotMap::SlotMap(const TileLayout& layout, Axis axis) {
  std::int64_t weight = 1;
  for (std::size_t i = layout.shard.size(); i-- > 0;) {
    const Iter& iter = layout.shard[i];
    if (iter.axis == axis && iter.stride != 0 && (iter.extent != 1 || i == 0)) digits_.push_back({weight, iter.extent, iter.stride, i == 0});
    weight *= iter.extent;
  }
  for (const AxisOffset& offset : layout.offset)
    if (offset.axis == axis) offset_ += offset.value;
  if (axis == Axis::m) swizzle_ = layout.swizzle;
}

std::int64_t SlotMap::operator()(std::int64_t x) const {
  std::int64_t slot = offset_;
  for (const Digit& digit : digits_) {
    const std::int64_t quotient = x / digit.weight;
    slot += digit.stride * (digit.top ? quotient : quotient % digit.extent);
  }
  return swizzle_ ? apply(*swizzle_, slot) : slot;
}

void StepPlan::missing() { throw std::logic_error("an operand has no plan: plan_step() must visit every field"); }

ElementPlan plan_element(const Program& program, const Step& step, const Buffer& buffer, const std::vector<Range>& box) {
  ElementPlan plan;
  std::int64_t weight = 1;
  plan.dimensions.resize(box.size());
  std::optional<std::int64_t> constant = 0;
  for (std::size_t i = box.size(); i-- > 0;) {
    ElementPlan::Dimension& dimension = plan.dimensions[i];
    dimension.extent = buffer.shape[i];
    dimension.weight = weight;
    dimension.index = CompiledExpr(program, step, box[i].lo);
    weight *= buffer.shape[i];
    if (!dimension.index.is_constant()) constant.reset();
    if (!constant) continue;
    const std::int64_t index = dimension.index.constant();
    if (index < 0 || index >= dimension.extent) constant.reset();
    else *constant += index * dimension.weight;
  }
  plan.constant = constant;
  return plan;
}

void StepPlan::add(const Program& program, const Step& step, const Expr& expr) {
  exprs_.emplace_back(&expr, CompiledExpr(program, step, expr));
}

void StepPlan::add(const Program& program, const Rows& rows) {
  RowsPlan plan;
  for (std::uint16_t row : rows.rows) plan.rows.push_back(static_cast<std::uint16_t>(program.first_row.at(rows.buffer) + row));
  rows_.emplace_back(&rows, std::move(plan));
}

void StepPlan::add(const Program& program, const Step& step, const Mem& mem) {
  const Buffer& buffer = program.kernel->buffers.at(mem.buffer);
  MemPlan plan;
  plan.buffer = mem.buffer;
  plan.shared = buffer.space == Space::shared;
  plan.window = plan.shared ? buffer.offset.value_or(0) : 0;
  plan.size = byte_size(buffer);
  plan.element_bits = bits(buffer.dtype);
  if (mem.byte) {
    plan.byte = CompiledExpr(program, step, *mem.byte);
    if (plan.byte->is_constant()) plan.constant = plan.byte->constant();
  } else {
    plan.element = plan_element(program, step, buffer, mem.box);
    plan.slot = SlotMap(layout_of(buffer), Axis::m);
    if (plan.element.constant) plan.constant = plan.slot(*plan.element.constant) * plan.element_bits / 8;
  }
  mems_.emplace_back(&mem, std::move(plan));
}

void StepPlan::add(const Program& program, const Step& step, const TmemAddr& address) {
  TmemPlan plan;
  if (!address.cell) {
    plan.base = CompiledExpr(program, step, address.base);
    plan.lane = CompiledExpr(program, step, address.lane);
    plan.col = CompiledExpr(program, step, address.col);
    addresses_.emplace_back(&address, std::move(plan));
    return;
  }
  const Buffer& buffer = program.kernel->buffers.at(address.cell->buffer);
  plan.view = address.cell->buffer;
  if (buffer.slot) plan.base = CompiledExpr(program, step, Expr::word(*buffer.slot, 0));
  else plan.constant_base = buffer.base.value_or(0);
  plan.has_cell = true;
  plan.element = plan_element(program, step, buffer, address.cell->box);
  const TileLayout layout = layout_of(buffer);
  plan.lane_slot = SlotMap(layout, Axis::TLane);
  plan.column_slot = SlotMap(layout, Axis::TCol);
  plan.element_bits = bits(buffer.dtype);
  plan.column = buffer.column;
  addresses_.emplace_back(&address, std::move(plan));
}

void StepPlan::set_view(BufferId buffer) {
  for (auto& [address, plan] : addresses_)
    if (!plan.has_cell) plan.view = buffer;
}

void StepPlan::add(const Program& program, const Step& step, const Region& region) {
  const Buffer& buffer = program.kernel->buffers.at(region.buffer);
  RegionPlan plan;
  plan.buffer = region.buffer;
  plan.first = plan_element(program, step, buffer, region.box);
  if (region.box.empty()) plan.first.constant = 0;
  std::int64_t weight = element_count(buffer);
  const auto kept = extents_of(buffer, region);
  if (!kept) throw std::logic_error("verify() refuses regions of unknown size here");
  plan.extent = *kept;
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    weight /= buffer.shape[d];
    if (region.box.empty() || region.box[d].hi) plan.weight.push_back(weight);
  }
  for (std::int64_t extent : plan.extent) plan.elements *= extent;
  if (buffer.space == Space::tmem) {
    if (buffer.slot) plan.base = CompiledExpr(program, step, Expr::word(*buffer.slot, 0));
    else plan.constant_base = buffer.base.value_or(0);
  }
  regions_.emplace_back(&region, std::move(plan));
}

}  // namespace tmemsim::sim
