#include <algorithm>
#include <concepts>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/kernel/kernel.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/kernel/text_form.hpp"

namespace tmemsim {
namespace {

std::string quoted(std::string_view text) {
  std::string shown = "\"";
  for (char c : text) {
    switch (c) {
      case '"': shown += "\\\""; break;
      case '\\': shown += "\\\\"; break;
      case '\n': shown += "\\n"; break;
      case '\t': shown += "\\t"; break;
      case '\r': shown += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
          shown += c;
        }
    }
  }
  return shown + '"';
}

std::string word(std::string_view text) { return text_form::is_word(text) ? std::string(text) : quoted(text); }

// ---- Operations: the fields of one, in the order of its list. ----

class FieldPrinter {
 public:
  explicit FieldPrinter(const std::vector<Buffer>& buffers) : buffers_(buffers) {}

  template <class Op> std::string operation(const Op& op) const {
    std::string line(Op::row.name);
    for_each_field(op, [&](const auto& field, const auto& value) {
      if (is_left_out<Op>(field, value)) return;
      line += fmt::format(" {}={}", field.key, text(value));
    });
    return line;
  }

 private:
  template <class Op, class FieldOf, class T> static bool is_left_out(const FieldOf& field, const T& value) {
    if constexpr (is_optional<T>::value) {
      return !value.has_value();
    } else {
      return field.may_default && value == Op{}.*(field.at);
    }
  }

  std::string text(const Expr& value) const { return to_text(value, buffers_); }
  std::string text(const Region& value) const { return to_text(value, buffers_); }
  std::string text(const Rows& value) const { return to_text(value, buffers_); }
  std::string text(const Mem& value) const { return to_text(value, buffers_); }
  std::string text(const TmemAddr& value) const { return to_text(value, buffers_); }
  std::string text(const Value& value) const { return to_text(value, buffers_); }
  std::string text(const Number& value) const { return to_text(value); }
  std::string text(const std::string& value) const { return word(value); }
  template <std::same_as<bool> T> std::string text(T value) const { return value ? "true" : "false"; }
  template <class T> requires(std::integral<T> && !std::same_as<T, bool>) std::string text(T value) const {
    return std::to_string(value);
  }
  template <class Enum, std::size_t = Keywords<Enum>::names.size()> std::string text(Enum value) const {
    return std::string(keyword(value));
  }
  template <class T> std::string text(const std::optional<T>& value) const { return text(*value); }
  template <class T> std::string text(const std::vector<T>& values) const {
    std::string list;
    for (const T& value : values) list += (list.empty() ? "" : ", ") + text(value);
    return "[" + list + "]";
  }
  std::string text(const Transpose& value) const {
    return fmt::format("[{}{}{}]", value.a ? "a" : "", value.a && value.b ? ", " : "", value.b ? "b" : "");
  }

  const std::vector<Buffer>& buffers_;
};

// ---- Statements ----

class StatementPrinter {
 public:
  explicit StatementPrinter(const std::vector<Buffer>& buffers) : buffers_(buffers), fields_(buffers) {}

  // Label, threads, head; no body.
  std::string head(const Stmt& stmt, bool show_everyone) const {
    std::string line;
    if (!stmt.label.empty()) line += word(stmt.label) + ": ";
    if (show_everyone || !(stmt.where == Where{})) line += "@" + to_text(stmt.where) + "  ";
    line += std::visit([&](const auto& node) { return head(node); }, stmt.node);
    if (stmt.means) line += fmt::format(" means({} <- {})", to_text(stmt.means->dst, buffers_), to_text(stmt.means->src, buffers_));
    return line;
  }

  void body(std::string& text, const Body& body, int level, bool with_path) const {
    for (const Stmt& stmt : body) statement(text, stmt, level, with_path);
  }

 private:
  template <class... Op> std::string head(const std::variant<Op...>& operation) const {
    return std::visit([&](const auto& op) { return fields_.operation(op); }, operation);
  }
  std::string head(const For& loop) const {
    std::string range = to_text(loop.begin, buffers_) + ", " + to_text(loop.end, buffers_);
    if (!(loop.step == Expr(1))) range += ", " + to_text(loop.step, buffers_);
    return fmt::format("for {} in [{}]", loop.variable, range);
  }
  std::string head(const While& loop) const { return "while " + to_text(loop.condition, buffers_); }
  std::string head(const If& branch) const { return "if " + to_text(branch.condition, buffers_); }
  std::string head(const Delay& delay) const { return fmt::format("delay {}", delay.steps); }
  std::string head(const Lowered& lowered) const { return fmt::format("{} by {}", head(lowered.origin), word(lowered.variant)); }

  void statement(std::string& text, const Stmt& stmt, int level, bool with_path) const {
    const std::string indent(static_cast<std::size_t>(2 * level), ' ');
    const std::string path = with_path && !stmt.path.empty() ? "  # " + stmt.path : "";
    const bool has_body = !std::holds_alternative<TileOps::Any>(stmt.node) && !std::holds_alternative<MachineOps::Any>(stmt.node) &&
                          !std::holds_alternative<Delay>(stmt.node);
    text += indent + head(stmt, level == 1) + (has_body ? " {" : "") + path + "\n";
    if (!has_body) return;
    const auto inside = [&](const Body& inner, bool inner_path) { body(text, inner, level + 1, inner_path); };
    if (const auto* loop = std::get_if<For>(&stmt.node)) inside(loop->body, with_path);
    if (const auto* loop = std::get_if<While>(&stmt.node)) inside(loop->body, with_path);
    if (const auto* lowered = std::get_if<Lowered>(&stmt.node)) inside(lowered->body, false);  // it all has the path above
    if (const auto* branch = std::get_if<If>(&stmt.node)) {
      inside(branch->then, with_path);
      if (!branch->otherwise.empty()) {
        text += indent + "} else {\n";
        inside(branch->otherwise, with_path);
      }
    }
    text += indent + "}\n";
  }

  const std::vector<Buffer>& buffers_;
  FieldPrinter fields_;
};

// ---- Header and buffers ----

std::string text_of(const InitFill& init) { return fmt::format("fill({})", to_text(init.value)); }
std::string text_of(const InitIota& init) { return fmt::format("iota({}, {})", to_text(init.start), to_text(init.step)); }
std::string text_of(const InitRandom& init) {
  if (init.bits) return fmt::format("random_bits({})", init.seed);
  return fmt::format("random({}, {}, {})", init.seed, to_text(Number(init.low)), to_text(Number(init.high)));
}
std::string text_of(const InitData& init) {
  std::string values;
  for (const Number& value : init.values) values += (values.empty() ? "" : ", ") + to_text(value);
  return fmt::format("data({})", values);
}
std::string text_of(const InitNpy& init) { return fmt::format("npy({})", quoted(init.path)); }

std::string buffer_line(const Buffer& buffer, const std::vector<Buffer>& buffers, std::size_t name_width) {
  std::string line = fmt::format("buffer {:<{}} {} {} [{}]", buffer.name + ":", name_width + 1, keyword(buffer.space), name(buffer.dtype),
                                 fmt::join(buffer.shape, ", "));
  if (buffer.layout) line += fmt::format(" layout={}", quoted(to_string(*buffer.layout)));
  if (buffer.slot) line += fmt::format(" slot={}", *buffer.slot < buffers.size() ? buffers[*buffer.slot].name : "?");
  if (buffer.base) line += fmt::format(" base={}", *buffer.base);
  if (buffer.column != 0) line += fmt::format(" column={}", buffer.column);
  if (buffer.offset) line += fmt::format(" offset={}", *buffer.offset);
  if (buffer.init) line += " init=" + std::visit([](const auto& init) { return text_of(init); }, *buffer.init);
  if (!buffer.out.empty()) line += fmt::format(" out={}", quoted(buffer.out));
  return line + "\n";
}

std::string launch_line(const Launch& launch) {
  std::string line = fmt::format("launch warps={} cluster=[{}] grid=[{}]", launch.warps, fmt::join(launch.cluster, ", "),
                                 fmt::join(launch.grid, ", "));
  if (launch.ctas_per_sm != 1) line += fmt::format(" ctas_per_sm={}", launch.ctas_per_sm);
  if (launch.held_columns != 0) line += fmt::format(" held_columns={}", launch.held_columns);
  return line + "\n";
}

}  // namespace

bool text_form::is_word(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), in_word); }

std::string print(const Kernel& kernel) {
  std::string text = fmt::format("kernel {}\n", word(kernel.name));
  if (!kernel.doc.empty()) text += fmt::format("doc {}\n", quoted(kernel.doc));
  text += fmt::format("target {}\nptx {}.{}\n", name(kernel.target), kernel.ptx.major, kernel.ptx.minor);
  text += launch_line(kernel.launch);
  std::size_t name_width = 0;
  for (const Buffer& buffer : kernel.buffers) name_width = std::max(name_width, buffer.name.size());
  for (const Buffer& buffer : kernel.buffers) text += buffer_line(buffer, kernel.buffers, name_width);
  text += "program {\n";
  StatementPrinter(kernel.buffers).body(text, kernel.body, 1, true);
  return text + "}\n";
}

std::string print(const Kernel& kernel, const Expr& expr) { return to_text(expr, kernel.buffers); }
std::string print(const Kernel& kernel, const Region& region) { return to_text(region, kernel.buffers); }
std::string print(const Kernel& kernel, const Stmt& stmt) { return StatementPrinter(kernel.buffers).head(stmt, true); }

}  // namespace tmemsim
