#include <fmt/format.h>

#include <functional>
#include <variant>

#include "emit/cuda/ops.hpp"

namespace tmemsim::emit {
namespace {

std::string row(const Rows& rows, std::size_t i, Cuda& cuda) { return cuda.reg(rows.buffer, rows.rows.at(i)); }

std::string row_list(const Rows& rows, Cuda& cuda) {
  std::string text;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) text += (i == 0 ? "" : ", ") + row(rows, i, cuda);
  return text;
}

// 8 and 16 bytes fill 2 and 4 registers; less is one.
void check_width(int bytes, const Rows& rows, Cuda& cuda) {
  const bool exists = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  if (!exists) cuda.unsupported(fmt::format("no load or store moves {} bytes: 1, 2, 4, 8 or 16", bytes));
  const std::size_t needed = bytes <= 4 ? 1 : static_cast<std::size_t>(bytes) / 4;
  if (rows.rows.size() != needed)
    cuda.unsupported(fmt::format("{} bytes take {} registers, not {}", bytes, needed, rows.rows.size()));
}

void use_scope(Sem sem, MemScope scope, Cuda& cuda) {
  if (sem != Sem::weak && scope == MemScope::cluster) cuda.use(Needs::cluster, "the scope .cluster");
}

using Convert = std::function<std::string(const Expr&)>;  // an expression as the operand type
using Combine = std::function<std::string(const std::string& a, const std::string& b)>;

// Operand `value` for row i of `dst`: its row i, its only row, or the expression.
std::string operand(const Value& value, const Rows& dst, std::size_t i, const Convert& convert, Cuda& cuda) {
  if (const Expr* expr = std::get_if<Expr>(&value)) return convert(*expr);
  const Rows& rows = std::get<Rows>(value);
  if (rows.rows.size() == 1) return row(rows, 0, cuda);
  if (rows.rows.size() != dst.rows.size()) {
    cuda.unsupported(fmt::format("{} registers cannot stand for {}", rows.rows.size(), dst.rows.size()));
  }
  return row(rows, i, cuda);
}

// dst[i] = combine(a[i], b[i]), one row after the other: a row may read what an earlier one has written.
template <class Op>
void print_binary(const Op& op, const Convert& convert, const Combine& combine, Cuda& cuda) {
  for (std::size_t i = 0; i < op.dst.rows.size(); ++i) {
    const std::string a = operand(op.a, op.dst, i, convert, cuda), b = operand(op.b, op.dst, i, convert, cuda);
    cuda.line(fmt::format("{} = {};", row(op.dst, i, cuda), combine(a, b)));
  }
}

// A register holds 32 bits: negative constants are written as such.
Convert as_int(Cuda& cuda) {
  return [&cuda](const Expr& expr) {
    const auto constant = expr.as_constant();
    return constant && *constant < 0 ? fmt::format("{:#x}u", static_cast<std::uint32_t>(*constant)) : cuda.expr(expr);
  };
}

Convert as_f32(Cuda& cuda) {
  return [&cuda](const Expr& expr) { return cuda.call("f32_bits", cuda.expr(expr)); };
}

}  // namespace

void print(const Load& op, Cuda& cuda) {
  check_width(op.bytes, op.dst, cuda);
  use_scope(op.sem, op.scope, cuda);
  const Place from = cuda.place(op.src, op.rank);
  const std::string function = cuda.functions().need_load(from.window, op.sem, op.scope, op.bytes);
  if (op.bytes > 4) {
    cuda.line(fmt::format("{}({}, {});", function, from.text, row_list(op.dst, cuda)));
    return;
  }
  const std::string target = row(op.dst, 0, cuda);
  const std::string value = fmt::format("{}({})", function, from.text);
  if (op.bytes == 4 || !op.reg_byte) {
    cuda.line(fmt::format("{} = {};", target, value));
  } else {
    const std::string_view replace = op.bytes == 1 ? "replace_byte" : "replace_half";
    cuda.line(fmt::format("{} = {};", target, cuda.call(replace, fmt::format("{}, {}, {}", target, *op.reg_byte, value))));
  }
}

void print(const Store& op, Cuda& cuda) {
  check_width(op.bytes, op.src, cuda);
  use_scope(op.sem, op.scope, cuda);
  const Place to = cuda.place(op.dst, op.rank);
  const std::string function = cuda.functions().need_store(to.window, op.sem, op.scope, op.bytes);
  std::string values = row_list(op.src, cuda);
  if (op.bytes < 4 && op.reg_byte.value_or(0) != 0) values += fmt::format(" >> {}", 8 * *op.reg_byte);
  cuda.line(fmt::format("{}({}, {});", function, to.text, values));
}

void print(const Move& op, Cuda& cuda) {
  for (std::size_t i = 0; i < op.dst.rows.size(); ++i) {
    cuda.line(fmt::format("{} = {};", row(op.dst, i, cuda), operand(op.a, op.dst, i, as_int(cuda), cuda)));
  }
}

// Registers are unsigned, so that sums wrap.
void print(const AddS32& op, Cuda& cuda) {
  const Convert convert = [&cuda](const Expr& expr) { return fmt::format("uint32_t({})", cuda.expr(expr)); };
  print_binary(
      op, convert, [](const std::string& a, const std::string& b) { return a + " + " + b; }, cuda);
}

void print(const AddF32& op, Cuda& cuda) {
  print_binary(
      op, as_f32(cuda), [&](const std::string& a, const std::string& b) { return cuda.call("add_f32", a + ", " + b); }, cuda);
}

void print(const SetPredicate& op, Cuda& cuda) {
  const std::string function = cuda.functions().need_compare(op.cmp, op.type);
  print_binary(
      op, op.type == AluType::f32 ? as_f32(cuda) : as_int(cuda),
      [&](const std::string& a, const std::string& b) { return fmt::format("{}({}, {})", function, a, b); }, cuda);
}

}  // namespace tmemsim::emit
