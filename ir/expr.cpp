#include "ir/expr.hpp"

#include <array>
#include <limits>

namespace tmemsim {

struct Expr::Node {
  ExprOp op = ExprOp::constant;
  std::int32_t value = 0;  // constant, or register row
  BufferId buffer = 0;
  std::string loop;
  std::shared_ptr<const Node> a, b;
};

Expr::Expr(std::int64_t constant)
    : node_(std::make_shared<const Node>(Node{ExprOp::constant, static_cast<std::int32_t>(constant), 0, {}, {}, {}})) {}

Expr Expr::coordinate(ExprOp op) { return Expr(std::make_shared<const Node>(Node{op, 0, 0, {}, {}, {}})); }

Expr Expr::loop(std::string name) {
  return Expr(std::make_shared<const Node>(Node{ExprOp::loop, 0, 0, std::move(name), {}, {}}));
}

Expr Expr::word(BufferId buffer, Expr index) {
  return Expr(std::make_shared<const Node>(Node{ExprOp::word, 0, buffer, {}, index.node_, {}}));
}

Expr Expr::reg(BufferId buffer, std::uint16_t row) {
  return Expr(std::make_shared<const Node>(Node{ExprOp::reg, row, buffer, {}, {}, {}}));
}

Expr Expr::binary(ExprOp op, Expr a, Expr b) {
  const auto left = a.as_constant(), right = b.as_constant();
  if (left && right) {
    if (const auto value = apply(op, *left, *right)) return Expr(*value);
  }
  const bool right_is = right.has_value();
  if (right_is && *right == 0 && (op == ExprOp::add || op == ExprOp::sub || op == ExprOp::bit_or || op == ExprOp::bit_xor)) return a;
  if (left && *left == 0 && op == ExprOp::add) return b;
  if (right_is && *right == 1 && (op == ExprOp::mul || op == ExprOp::div)) return a;
  if (left && *left == 1 && op == ExprOp::mul) return b;
  return Expr(std::make_shared<const Node>(Node{op, 0, 0, {}, a.node_, b.node_}));
}

ExprOp Expr::op() const { return node_->op; }
std::int32_t Expr::constant() const { return node_->value; }
const std::string& Expr::loop_name() const { return node_->loop; }
BufferId Expr::buffer() const { return node_->buffer; }
std::uint16_t Expr::row() const { return static_cast<std::uint16_t>(node_->value); }
Expr Expr::a() const { return Expr(node_->a); }
Expr Expr::b() const { return Expr(node_->b); }

std::optional<std::int32_t> Expr::as_constant() const {
  if (node_->op != ExprOp::constant) return std::nullopt;
  return node_->value;
}

bool Expr::operator==(const Expr& other) const {
  const std::function<bool(const Node*, const Node*)> same = [&](const Node* x, const Node* y) {
    if (x == y) return true;
    if (x == nullptr || y == nullptr) return false;
    return x->op == y->op && x->value == y->value && x->buffer == y->buffer && x->loop == y->loop &&
           same(x->a.get(), y->a.get()) && same(x->b.get(), y->b.get());
  };
  return same(node_.get(), other.node_.get());
}

std::optional<std::int32_t> Expr::apply(ExprOp op, std::int32_t a, std::int32_t b) {
  const auto ua = static_cast<std::uint32_t>(a), ub = static_cast<std::uint32_t>(b);
  const auto wrap = [](std::uint32_t value) { return static_cast<std::int32_t>(value); };
  switch (op) {
    case ExprOp::add: return wrap(ua + ub);
    case ExprOp::sub: return wrap(ua - ub);
    case ExprOp::mul: return wrap(ua * ub);
    case ExprOp::div:
      if (b == 0) return std::nullopt;
      return b == -1 ? wrap(0u - ua) : a / b;
    case ExprOp::mod:
      if (b == 0) return std::nullopt;
      return b == -1 ? 0 : a % b;
    case ExprOp::bit_and: return a & b;
    case ExprOp::bit_xor: return a ^ b;
    case ExprOp::bit_or: return a | b;
    case ExprOp::shl: return wrap(ua << (ub & 31u));
    case ExprOp::shr: return a >> (ub & 31u);
    case ExprOp::eq: return a == b;
    case ExprOp::ne: return a != b;
    case ExprOp::lt: return a < b;
    case ExprOp::le: return a <= b;
    case ExprOp::gt: return a > b;
    case ExprOp::ge: return a >= b;
    default: return std::nullopt;
  }
}

void Expr::for_each_node(const std::function<void(const Expr&)>& visit) const {
  visit(*this);
  if (node_->a) a().for_each_node(visit);
  if (node_->b) b().for_each_node(visit);
}

bool Expr::uses(ExprOp wanted) const {
  bool found = false;
  for_each_node([&](const Expr& node) { found = found || node.op() == wanted; });
  return found;
}

Expr Expr::replaced(const std::function<std::optional<Expr>(const Expr&)>& with) const {
  if (auto replacement = with(*this)) return *replacement;
  if (!node_->a) return *this;
  if (node_->op == ExprOp::word) return word(buffer(), a().replaced(with));
  return binary(node_->op, a().replaced(with), b().replaced(with));
}

std::string_view spelling(ExprOp op) {
  static constexpr std::array<std::string_view, 27> signs{"constant", "tid", "lane", "warp", "wg", "cta", "rank", "loop",
                                                          "word", "reg", "+", "-", "*", "/", "%", "&", "^", "|", "<<", ">>",
                                                          "==", "!=", "<", "<=", ">", ">=", ""};
  return signs[static_cast<std::size_t>(op)];
}

}  // namespace tmemsim
