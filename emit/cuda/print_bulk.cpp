#include <fmt/format.h>

#include <numeric>

#include "emit/cuda/ops.hpp"
#include "ir/kernel/region.hpp"

namespace tmemsim::emit {
namespace {

constexpr std::int64_t unit = 16;             // addresses and sizes of bulk copies are multiples of it (PTX ISA 9.7.9.25)
constexpr std::int64_t most_looked_at = 1 << 20;  // elements, over all places that a region may take
constexpr std::int64_t most_groups = 1 << 16;

// A region as the copy takes it: how many elements each dimension of the buffer contributes, and where they may begin.
struct Block {
  std::vector<std::int64_t> extent;
  std::vector<Interval> first;
  std::int64_t elements = 1;
};

Block block_of(const Region& region, Cuda& cuda) {
  const Buffer& buffer = cuda.buffer(region.buffer);
  Block block;
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    if (d >= region.box.size()) {
      block.extent.push_back(buffer.shape[d]);
      block.first.push_back({0, 0});
      continue;
    }
    const Range& range = region.box[d];
    const std::optional<std::int32_t> extent = range.hi ? constant_difference(*range.hi, range.lo) : 1;
    if (!extent || *extent < 1 || *extent > buffer.shape[d]) {
      cuda.unsupported(fmt::format("the size of the region of {} is no constant: a bulk copy is emitted with a fixed number of "
                                   "bytes",
                                   buffer.name));
    }
    const auto constant = range.lo.as_constant();
    block.extent.push_back(*extent);
    block.first.push_back(constant ? Interval{*constant, *constant} : Interval{0, buffer.shape[d] - *extent});
  }
  block.elements = std::accumulate(block.extent.begin(), block.extent.end(), std::int64_t{1}, std::multiplies<>());
  return block;
}

// Single elements, then one dimension of any extent, then whole dimensions: one behind the other where the buffer is row-major.
bool is_row_major_run(const Block& block, const Buffer& buffer) {
  std::size_t d = 0;
  while (d < block.extent.size() && block.extent[d] == 1) ++d;
  for (++d; d < block.extent.size(); ++d) {
    if (block.extent[d] != buffer.shape[d]) return false;
  }
  return true;
}

// Calls visit(index) for every point of a box, the last dimension fastest; stops at the first false.
template <class Visit>
bool all_points(const std::vector<Interval>& box, Visit&& visit) {
  std::vector<std::int64_t> index;
  for (const Interval& range : box) index.push_back(range.lo);
  while (true) {
    if (!visit(index)) return false;
    std::size_t d = index.size();
    while (d > 0 && index[d - 1] == box[d - 1].hi) {
      index[d - 1] = box[d - 1].lo;
      --d;
    }
    if (d == 0) return true;
    ++index[d - 1];
  }
}

// Where the elements of a region stand, in the region's order, counted from its first one. A bulk copy moves bytes, so both sides
// must agree in it. Nothing, when the elements are not one block of memory that begins with the first one.
using Order = std::vector<std::int64_t>;

Order row_major_order(std::int64_t elements) {
  Order order(static_cast<std::size_t>(elements));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

std::optional<Order> order_at(const Block& block, const Buffer& buffer, const TileLayout& layout, const std::vector<std::int64_t>& first) {
  std::vector<Interval> box;
  for (std::size_t d = 0; d < first.size(); ++d) box.push_back({first[d], first[d] + block.extent[d] - 1});
  Order order;
  std::vector<bool> taken(static_cast<std::size_t>(block.elements));
  std::optional<std::int64_t> begin;
  const bool one_block = all_points(box, [&](const std::vector<std::int64_t>& index) {
    std::int64_t x = 0;
    for (std::size_t d = 0; d < index.size(); ++d) x = x * buffer.shape[d] + index[d];
    const std::int64_t slot = at(evaluate(layout, x), Axis::m);
    if (!begin) begin = slot;
    const std::int64_t place = slot - *begin;
    if (place < 0 || place >= block.elements || taken[static_cast<std::size_t>(place)]) return false;
    taken[static_cast<std::size_t>(place)] = true;
    order.push_back(place);
    return true;
  });
  if (!one_block) return std::nullopt;
  return order;
}

// The order of the region's elements, which is the same wherever the region begins.
Order order_of(const Block& block, const Buffer& buffer, Cuda& cuda) {
  if (is_row_major(buffer) && is_row_major_run(block, buffer)) return row_major_order(block.elements);
  std::int64_t places = 1;
  for (const Interval& first : block.first) {
    places *= first.hi - first.lo + 1;
    if (places * block.elements > most_looked_at) {
      cuda.unsupported(fmt::format("the elements of {} in the bulk copy may stand apart: too many places to look at all of them",
                                   buffer.name));
    }
  }
  const TileLayout layout = layout_of(buffer);
  std::optional<Order> order;
  const bool all = all_points(block.first, [&](const auto& first) {
    const std::optional<Order> here = order_at(block, buffer, layout, first);
    if (!order) order = here;
    return here && *here == *order;
  });
  if (!all) cuda.unsupported(fmt::format("the elements of {} in the bulk copy are not always one block of memory", buffer.name));
  return *order;
}

// What one side of the copy moves.
struct Side {
  std::int64_t bytes = 0;
  Order order;
};

Side side_of(const Region& region, Cuda& cuda) {
  const Buffer& buffer = cuda.buffer(region.buffer);
  const Block block = block_of(region, cuda);
  Side side{0, order_of(block, buffer, cuda)};
  const std::int64_t size = block.elements * bits(buffer.dtype);
  if (size % (8 * unit) != 0) {
    cuda.unsupported(fmt::format("the region of {} has {} bits: a bulk copy moves a multiple of {} bytes, so there is no code "
                                 "for it",
                                 buffer.name, size, unit));
  }
  side.bytes = size / 8;
  return side;
}

Place start_of(const Region& region, Cuda& cuda) { return cuda.place(Mem{region.buffer, region.box, std::nullopt}); }

void print_to_shared(const BulkCopy& op, std::int64_t bytes, Cuda& cuda) {
  if (!op.bar) cuda.unsupported("a bulk copy to shared memory names the barrier that its bytes count on");
  const std::string operands = fmt::format("{}, {}, {}, {}", start_of(op.dst, cuda).text, start_of(op.src, cuda).text, bytes,
                                           cuda.place(*op.bar).text);
  if (!op.mask) {
    cuda.line(cuda.call_line("bulk_copy_to_shared", operands));
    return;
  }
  cuda.use(Needs::cluster, "a copy to several CTAs");
  cuda.reaches_peers();
  cuda.line(cuda.call_line("bulk_copy_to_cluster", fmt::format("{}, uint16_t({})", operands, cuda.expr(*op.mask))));
}

}  // namespace

void print(const BulkCopy& op, Cuda& cuda) {
  const Space to = cuda.buffer(op.dst.buffer).space, from = cuda.buffer(op.src.buffer).space;
  const Side src = side_of(op.src, cuda), dst = side_of(op.dst, cuda);
  if (src.bytes != dst.bytes) cuda.unsupported("the two sides of the bulk copy differ in size");
  if (src.order != dst.order) cuda.unsupported("the two sides of the bulk copy keep their elements in different orders");
  const std::int64_t bytes = src.bytes;
  if (to == Space::shared && from == Space::global) {
    print_to_shared(op, bytes, cuda);
  } else if (to == Space::global && from == Space::shared) {
    if (op.bar || op.mask) cuda.unsupported("a bulk copy to global memory has neither a barrier nor a mask: it counts in a group");
    cuda.line(cuda.call_line("bulk_copy_to_global",
                             fmt::format("{}, {}, {}", start_of(op.dst, cuda).text, start_of(op.src, cuda).text, bytes)));
  } else {
    cuda.unsupported(fmt::format("cp.async.bulk moves between global and shared memory, not from {} to {}", keyword(from), keyword(to)));
  }
}

void print(const BulkCommitGroup&, Cuda& cuda) { cuda.line(cuda.call_line("bulk_commit_group")); }

void print(const BulkWaitGroup& op, Cuda& cuda) {
  const std::string_view function = op.read ? "bulk_wait_group_read" : "bulk_wait_group";
  const auto n = op.n.as_constant();
  if (!n || *n < 0 || *n > most_groups) {
    cuda.unsupported(fmt::format("{}: the number of groups is part of the instruction, so it is a constant from 0 to {}",
                                 op.row.name, most_groups));
  }
  cuda.functions().need(function);
  cuda.line(fmt::format("{}<{}>();", function, *n));
  cuda.lanes_may_differ();
}

}  // namespace tmemsim::emit
