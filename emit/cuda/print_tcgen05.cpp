#include <fmt/format.h>

#include "emit/cuda/ops.hpp"
#include "ir/tcgen05.hpp"

namespace tmemsim::emit {
std::string cta_group_function(std::string_view name, int cta_group, Cuda& cuda) {
  if (cta_group != 1 && cta_group != 2) cuda.unsupported(fmt::format("there is no cta_group {}", cta_group));
  if (cta_group == 2 && cuda.functions().backend() != Backend::native && cuda.kernel().launch.cluster[0] % 2 != 0) {
    cuda.unsupported("emulated tensor memory knows pairs of CTAs (cta_group 2) that are neighbours in x: the cluster's x is odd");
  }
  return fmt::format("{}_cg{}", name, cta_group);
}

namespace {

void check_form(std::string_view name, Shape shape, int num, std::optional<std::int32_t> half, const Rows& rows, Cuda& cuda) {
  if (!tcgen05::is_legal_num(shape, num)) {
    cuda.unsupported(fmt::format("{}.{}.x{} does not exist: .num of .{} is a power of two up to {}", name, keyword(shape), num,
                                 keyword(shape), tcgen05::facts(shape).most_num));
  }
  if (half.has_value() != (shape == Shape::s16x32bx2)) {
    cuda.unsupported(fmt::format("{}: the half split belongs to shape 16x32bx2, which needs one", name));
  }
  const auto needed = static_cast<std::size_t>(tcgen05::registers(shape, num));
  if (rows.rows.size() != needed) {
    cuda.unsupported(fmt::format("{}.{}.x{} takes {} registers, not {}", name, keyword(shape), num, needed, rows.rows.size()));
  }
}

}  // namespace

void print(const TcgenAlloc& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  const std::string function = cta_group_function("tcgen05_alloc", op.cta_group, cuda);
  cuda.line(cuda.call_line(function, cuda.place(op.slot).text + ", " + cuda.expr(op.cols)));
}

void print(const TcgenDealloc& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  const std::string address = op.slot ? cuda.call("shared_word", cuda.place(*op.slot).text) : cuda.expr(op.addr.value());
  cuda.line(cuda.call_line(cta_group_function("tcgen05_dealloc", op.cta_group, cuda), address + ", " + cuda.expr(op.cols)));
}

void print(const TcgenRelinquish& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  cuda.line(cuda.call_line(cta_group_function("tcgen05_relinquish_alloc_permit", op.cta_group, cuda)));
}

void print(const TcgenLd& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  check_form(op.row.name, op.shape, op.num, op.half, op.dst, cuda);
  const std::string address = cuda.tmem_address(op.src);
  const std::string registers = cuda.register_arguments(op.dst);
  const std::string function =
      cuda.functions().need_tcgen05({true, op.shape, op.num, op.pack, op.half}, registers.starts_with('&'));
  cuda.line(fmt::format("{}({}, {});", function, address, registers));
}

void print(const TcgenSt& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  check_form(op.row.name, op.shape, op.num, op.half, op.src, cuda);
  const std::string address = cuda.tmem_address(op.dst);
  const std::string registers = cuda.register_arguments(op.src);
  const std::string function =
      cuda.functions().need_tcgen05({false, op.shape, op.num, op.unpack, op.half}, registers.starts_with('&'));
  cuda.line(fmt::format("{}({}, {});", function, address, registers));
}

void print(const TcgenWaitLd& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  cuda.line(cuda.call_line("tcgen05_wait_ld"));
  for (const BufferId buffer : cuda.loaded_from_tmem()) cuda.line(cuda.call_line("valid_after_wait", cuda.registers(buffer)));
}

void print(const TcgenWaitSt& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  cuda.line(cuda.call_line("tcgen05_wait_st"));
}

void print(const TcgenFenceBefore&, Cuda& cuda) { cuda.line(cuda.call_line("tcgen05_fence_before_thread_sync")); }
void print(const TcgenFenceAfter&, Cuda& cuda) { cuda.line(cuda.call_line("tcgen05_fence_after_thread_sync")); }

}  // namespace tmemsim::emit
