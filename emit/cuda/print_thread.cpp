#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

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

using Convert = std::function<std::string(const Expr&)>;  // an expression as the operand type
using Combine = std::function<std::string(const std::string& a, const std::string& b)>;

// An operand of register arithmetic as text, row by row. `keep`: it stands for every row and is read once, before the first
// row is written, because writing a row (or somebody else writing the word it reads) could change it.
struct Operand {
  std::vector<std::string> texts;
  std::optional<std::string> keep;
};

bool has(const Rows& rows, BufferId buffer, std::uint16_t wanted) {
  return rows.buffer == buffer && std::find(rows.rows.begin(), rows.rows.end(), wanted) != rows.rows.end();
}

bool may_change(const Expr& expr, const Rows& written) {
  bool changes = expr.uses(ExprOp::word);
  expr.for_each_node(
      [&](const Expr& node) { changes = changes || (node.op() == ExprOp::reg && has(written, node.buffer(), node.row())); });
  return changes;
}

Operand operand(const Value& value, const Rows& dst, std::string_view name, const Convert& convert, Cuda& cuda) {
  const std::size_t count = dst.rows.size();
  Operand result;
  if (const Rows* rows = std::get_if<Rows>(&value); rows && rows->rows.size() == count) {
    for (std::size_t i = 0; i < count; ++i) result.texts.push_back(row(*rows, i, cuda));
    return result;
  }
  std::string text;
  bool changes = false;
  if (const Rows* rows = std::get_if<Rows>(&value)) {
    if (rows->rows.size() != 1) cuda.unsupported(fmt::format("{} registers cannot stand for {}", rows->rows.size(), count));
    text = row(*rows, 0, cuda);
    changes = has(dst, rows->buffer, rows->rows[0]);
  } else {
    text = convert(std::get<Expr>(value));
    changes = may_change(std::get<Expr>(value), dst);
  }
  if (changes && count > 1) result.keep = std::exchange(text, std::string(name));
  result.texts.assign(count, text);
  return result;
}

// dst[i] = combine(a[i], b[i]), row by row; in a block of its own when an operand has to be kept.
void print_rows(const Rows& dst, const Operand& a, const Operand& b, const Combine& combine, Cuda& cuda) {
  const bool block = a.keep || b.keep;
  if (block) cuda.open("{");
  if (a.keep) cuda.line(fmt::format("const uint32_t a = {};", *a.keep));
  if (b.keep) cuda.line(fmt::format("const uint32_t b = {};", *b.keep));
  for (std::size_t i = 0; i < dst.rows.size(); ++i) {
    cuda.line(fmt::format("{} = {};", row(dst, i, cuda), combine(a.texts[i], b.texts[i])));
  }
  if (block) cuda.close();
}

template <class Op>
void print_binary(const Op& op, const Convert& convert, const Combine& combine, Cuda& cuda) {
  const Operand a = operand(op.a, op.dst, "a", convert, cuda), b = operand(op.b, op.dst, "b", convert, cuda);
  print_rows(op.dst, a, b, combine, cuda);
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
  const Place to = cuda.place(op.dst, op.rank);
  const std::string function = cuda.functions().need_store(to.window, op.sem, op.scope, op.bytes);
  std::string values = row_list(op.src, cuda);
  if (op.bytes < 4 && op.reg_byte.value_or(0) != 0) values += fmt::format(" >> {}", 8 * *op.reg_byte);
  cuda.line(fmt::format("{}({}, {});", function, to.text, values));
}

void print(const Move& op, Cuda& cuda) {
  const Operand a = operand(op.a, op.dst, "a", as_int(cuda), cuda);
  print_rows(
      op.dst, a, Operand{a.texts, std::nullopt}, [](const std::string& value, const std::string&) { return value; }, cuda);
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
