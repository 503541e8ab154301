#include <fmt/format.h>

#include "emit/cuda/ops.hpp"
#include "ir/atom/warp_matrix.hpp"

namespace tmemsim::emit {
namespace {

std::string arguments(const Rows& rows, std::size_t wanted, std::string_view operation, Cuda& cuda) {
  if (rows.rows.size() != wanted)
    cuda.unsupported(fmt::format("{} takes {} registers here, not {}", operation, wanted, rows.rows.size()));
  std::string text;
  for (const std::uint16_t row : rows.rows) text += (text.empty() ? "" : ", ") + cuda.reg(rows.buffer, row);
  return text;
}

void print_move(bool load, const Mem& memory, const Rows& rows, std::uint8_t num, bool trans, std::string_view operation,
                Cuda& cuda) {
  cuda.converge(operation);
  if (num != 1 && num != 2 && num != 4) cuda.unsupported(fmt::format("{} moves 1, 2 or 4 matrices, not {}", operation, num));
  const Place place = cuda.place(memory);
  if (place.window != Window::shared)
    cuda.unsupported(fmt::format("{} reads and writes the shared memory of its own CTA", operation));
  const std::string function = cuda.functions().need_matrix_move(load, num, trans);
  cuda.line(fmt::format("{}({}, {});", function, place.text, arguments(rows, num, operation, cuda)));
}

}  // namespace

void print(const LdMatrix& op, Cuda& cuda) { print_move(true, op.src, op.dst, op.num, op.trans, op.row.name, cuda); }
void print(const StMatrix& op, Cuda& cuda) { print_move(false, op.dst, op.src, op.num, op.trans, op.row.name, cuda); }

void print(const MmaSync& op, Cuda& cuda) {
  cuda.converge(op.row.name);
  const auto form = atom::warp_mma(op.shape, op.type, op.acc);
  if (!form) cuda.unsupported(form.reason().text);
  const atom::WarpMma& mma = **form;
  const std::string function = cuda.functions().need_mma_sync(
      {mma.shape, mma.input, mma.result, mma.k(), mma.a.registers, mma.b.registers, mma.c.registers});
  const auto of = [&](const Rows& rows, const atom::Fragment& fragment) {
    return arguments(rows, static_cast<std::size_t>(fragment.registers), op.row.name, cuda);
  };
  cuda.line(fmt::format("{}({}, {}, {}, {});", function, of(op.d, mma.c), of(op.a, mma.a), of(op.b, mma.b), of(op.c, mma.c)));
}

}  // namespace tmemsim::emit
