#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/atom/warp_matrix.hpp"
#include "ir/dtype.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/kernel/region.hpp"
#include "ir/kernel/text_form.hpp"
#include "ir/kernel/verify_parts.hpp"
#include "ir/op_list.hpp"
#include "ir/tcgen05.hpp"

namespace tmemsim::verifier {
namespace {

class OperandChecker {
 public:
  OperandChecker(const Kernel& kernel, const Stmt& stmt, const std::vector<std::string>& loops)
      : kernel_(kernel), buffers_(kernel.buffers), stmt_(stmt), loops_(loops) {}

  void statement() const {
    std::visit([&](const auto& node) { check(node); }, stmt_.node);
    if (stmt_.means) means(*stmt_.means);
  }

 private:
  [[noreturn]] void fail(std::string message, std::string hint = {}) const {
    input_error(kernel_.files, stmt_.at, std::move(message), std::move(hint));
  }

  // ---- Statements ----

  void check(const MachineOps::Any& any) const {
    std::visit([&](const auto& op) { operation(op); }, any);
  }
  void check(const TileOps::Any& any) const {
    std::visit([&](const auto& op) { operation(op); }, any);
  }
  void check(const Lowered& lowered) const { check(lowered.origin); }
  void check(const While& loop) const { operand(loop.condition); }
  void check(const If& branch) const { operand(branch.condition); }
  void check(const Delay& delay) const {
    if (delay.steps > longest_delay) fail(fmt::format("a delay has at most {} steps", longest_delay));
  }
  void check(const For& loop) const {
    const std::string& variable = loop.variable;
    if (!is_plain_name(variable)) fail(fmt::format("'{}' is no name for a loop variable", variable), "letters, digits and _, not beginning with a digit");
    if (is_reserved_name(variable)) fail(fmt::format("'{}' means something else in expressions", variable), "choose another loop variable");
    if (buffer_named(kernel_, variable)) fail(fmt::format("'{}' already names a buffer", variable), "choose another loop variable");
    if (std::find(loops_.begin(), loops_.end(), variable) != loops_.end()) {
      fail(fmt::format("'{}' already is the variable of a loop around this one", variable), "choose another loop variable");
    }
    operand(loop.begin);
    operand(loop.end);
    operand(loop.step);
    if (const auto step = loop.step.as_constant(); step && *step <= 0) fail(fmt::format("the step of a loop is above 0, not {}", *step));
  }

  template <class Op> void operation(const Op& op) const {
    for_each_field(op, [&](const auto& field, const auto& member) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, std::uint8_t>) {
        if (field.key == "cta_group" && member != 1 && member != 2) fail(fmt::format("cta_group is 1 or 2, not {}", member));
      } else {
        operand(member);
      }
    });
    together(op);
  }

  void means(const Means& means) const {
    if (!std::holds_alternative<MachineOps::Any>(stmt_.node)) fail("only a machine instruction has 'means'", "a tile primitive says what it does by itself");
    operand(means.dst);
    operand(means.src);
    same_elements(means.dst, means.src);
  }

  // ---- Operands by themselves ----

  std::string text(const Region& region) const { return to_text(region, buffers_); }

  const Buffer& buffer(BufferId id) const {
    if (id >= buffers_.size()) fail(fmt::format("there is no buffer number {}", id));
    return buffers_[id];
  }

  int depth(const Expr& expr, int above = 1) const {
    if (above > deepest_expression) fail(fmt::format("an expression has more than {} levels", deepest_expression), "split it");
    const ExprOp op = expr.op();
    if (op == ExprOp::word) return depth(expr.a(), above + 1);
    if (op < ExprOp::add) return above;
    return std::max(depth(expr.a(), above + 1), depth(expr.b(), above + 1));
  }

  void operand(const Expr& expr) const {
    depth(expr);
    expr.for_each_node([&](const Expr& node) { expression_node(node); });
  }

  void expression_node(const Expr& node) const {
    if (node.op() == ExprOp::loop && std::find(loops_.begin(), loops_.end(), node.loop_name()) == loops_.end()) {
      fail(fmt::format("'{}' is no variable of a loop around this statement", node.loop_name()));
    }
    if (node.op() == ExprOp::reg) row(buffer(node.buffer()), node.row());
    if (node.op() != ExprOp::word) return;
    const Buffer& from = buffer(node.buffer());
    if (from.space != Space::shared && from.space != Space::global) {
      fail(fmt::format("word(..) reads shared or global memory, and '{}' is {}", from.name, keyword(from.space)));
    }
    const auto index = node.a().as_constant();
    if (index && (*index < 0 || 4 * (static_cast<std::int64_t>(*index) + 1) > std::max<std::int64_t>(4, byte_size(from)))) {
      fail(fmt::format("word({}, {}) is outside the buffer, which has {} bytes", from.name, *index, byte_size(from)));
    }
  }

  void row(const Buffer& of, std::int64_t row) const {
    if (of.space != Space::local) fail(fmt::format("'{}' is {}, and only a local buffer has registers", of.name, keyword(of.space)));
    if (row >= register_count(of)) fail(fmt::format("{0} has {1} registers a thread, so there is no {0}.r[{2}]", of.name, register_count(of), row));
  }

  void operand(const Rows& rows) const {
    const Buffer& of = buffer(rows.buffer);
    if (rows.rows.empty()) fail(fmt::format("an operand names no register of '{}'", of.name));
    if (static_cast<std::int64_t>(rows.rows.size()) > most_register_rows) fail(fmt::format("an operand holds at most {} registers", most_register_rows));
    for (std::uint16_t index : rows.rows) row(of, index);
  }

  void operand(const Region& region) const {
    box(region, buffer(region.buffer));
  }

  void box(const Region& region, const Buffer& of) const {
    if (region.box.empty()) return;
    if (region.box.size() != of.shape.size()) {
      fail(fmt::format("{} has {} indices, but {} has {} dimensions", text(region), region.box.size(), of.name, of.shape.size()));
    }
    for (std::size_t d = 0; d < region.box.size(); ++d) range(region, region.box[d], d, of.shape[d]);
  }

  void range(const Region& region, const Range& range, std::size_t dimension, std::int64_t extent) const {
    operand(range.lo);
    const auto outside = [&](std::int64_t index) {
      fail(fmt::format("{}: index {} is outside dimension {}, which has {} elements", text(region), index, dimension, extent),
           fmt::format("0 to {}", extent - 1));
    };
    const auto lo = range.lo.as_constant();
    if (lo && (*lo < 0 || *lo >= extent)) outside(*lo);
    if (!range.hi) return;
    operand(*range.hi);
    const auto hi = range.hi->as_constant();
    if (hi && *hi > extent) outside(static_cast<std::int64_t>(*hi) - 1);
    const auto count = constant_difference(*range.hi, range.lo);
    if ((count && *count <= 0) || (hi && *hi <= 0)) fail(fmt::format("{} holds no element", text(region)), "the end of a range is not included");
    if (count && *count > extent) fail(fmt::format("{}: {} elements do not fit in dimension {}, which has {}", text(region), *count, dimension, extent));
  }

  void operand(const Mem& mem) const {
    const Buffer& of = buffer(mem.buffer);
    if (of.space != Space::shared && of.space != Space::global) {
      fail(fmt::format("'{}' is {}; shared or global memory is wanted here", of.name, keyword(of.space)));
    }
    if (!mem.byte) return box({mem.buffer, mem.box}, of);
    if (!mem.box.empty()) fail(fmt::format("a place in '{}' has indices or a byte, not both", of.name));
    operand(*mem.byte);
    const auto byte = mem.byte->as_constant();
    if (byte && (*byte < 0 || *byte >= byte_size(of))) fail(fmt::format("byte {} is outside '{}', which has {} bytes", *byte, of.name, byte_size(of)));
  }

  void operand(const TmemAddr& addr) const {
    if (!addr.cell) {
      operand(addr.base);
      operand(addr.lane);
      operand(addr.col);
      return;
    }
    const Buffer& of = buffer(addr.cell->buffer);
    if (of.space != Space::tmem) fail(fmt::format("'{}' is {}; tensor memory is wanted here", of.name, keyword(of.space)));
    box(*addr.cell, of);
  }

  void operand(const Value& value) const {
    std::visit([&](const auto& held) { operand(held); }, value);
  }
  void operand(const Number&) const {}
  void operand(const std::string&) const {}
  void operand(bool) const {}
  void operand(std::int32_t) const {}
  template <class Enum, std::size_t count = Keywords<Enum>::names.size()> void operand(Enum value) const {
    if (static_cast<std::size_t>(value) >= count) fail("a modifier has no keyword");
  }
  void operand(const Transpose&) const {}
  template <class T> void operand(const std::vector<T>& values) const {
    if (values.size() > text_form::most_list_items) fail(fmt::format("an operand has at most {} items", text_form::most_list_items));
    for (const T& value : values) operand(value);
  }
  template <class T> void operand(const std::optional<T>& value) const {
    if constexpr (!std::is_integral_v<T>) {
      if (value) operand(*value);
    }
  }

  // ---- What must hold among the operands of one operation; most have nothing to check. ----

  template <class Op> void together(const Op&) const {}

  void same_elements(const Region& dst, const Region& src) const {
    const Buffer& to = buffer(dst.buffer);
    const Buffer& from = buffer(src.buffer);
    if (to.dtype != from.dtype) {
      fail(fmt::format("{} is {} and {} is {}", text(dst), name(to.dtype), text(src), name(from.dtype)), "both sides have the same element type");
    }
    auto to_shape = extents_of(to, dst), from_shape = extents_of(from, src);
    if (!to_shape || !from_shape) return;  // lowering asks for constants
    const auto text_of = [](const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); };
    const std::string to_text_before = text_of(*to_shape), from_text_before = text_of(*from_shape);
    std::erase(*to_shape, 1);
    std::erase(*from_shape, 1);
    if (*to_shape != *from_shape) {
      fail(fmt::format("{} has the shape {}, but {} has {}", text(dst), to_text_before, text(src), from_text_before),
           "both sides have equal shapes, dimensions of one element left aside");
    }
  }

  void no_mbarrier(const Region& region) const {
    if (buffer(region.buffer).dtype == Dtype::mbarrier) fail(fmt::format("'{}' holds mbarriers, which are no data", buffer(region.buffer).name));
  }

  void together(const Copy& op) const {
    no_mbarrier(op.dst);
    same_elements(op.dst, op.src);
  }
  void together(const CopyAsync& op) const {
    no_mbarrier(op.dst);
    same_elements(op.dst, op.src);
  }
  void together(const Fill& op) const {
    no_mbarrier(op.dst);
    const Dtype dtype = buffer(op.dst.buffer).dtype;
    const bool fits = std::holds_alternative<double>(op.src) ? representable(dtype, std::get<double>(op.src))
                                                            : representable_int(dtype, std::get<std::int64_t>(op.src));
    if (!fits) fail(fmt::format("{} is out of the range of {}", to_text(op.src), name(dtype)));
  }

  void tmem_move(Shape shape, std::uint8_t num, const std::optional<std::int32_t>& half, const Rows& registers) const {
    const std::string_view shape_name = keyword(shape);
    if (!tcgen05::is_legal_num(shape, num)) {
      fail(fmt::format("shape {} has no num {}", shape_name, num), fmt::format("a power of two, 1 to {}", tcgen05::facts(shape).most_num));
    }
    const bool wants_half = shape == Shape::s16x32bx2;
    if (wants_half && !half) fail("shape 16x32bx2 needs 'half'", "half: column offset of the second half");
    if (!wants_half && half) fail(fmt::format("shape {} has no 'half'", shape_name), "only 16x32bx2 has");
    const int count = tcgen05::registers(shape, num);
    if (static_cast<int>(registers.rows.size()) != count) {
      fail(fmt::format("{} with num {} moves {} registers a thread, and {} are {}", shape_name, num, count, to_text(registers, buffers_),
                       registers.rows.size()));
    }
  }
  void together(const TcgenLd& op) const {
    tmem_move(op.shape, op.num, op.half, op.dst);
    different_registers(op.dst);
  }
  void together(const TcgenSt& op) const { tmem_move(op.shape, op.num, op.half, op.src); }

  void slot(const Mem& slot) const {
    const Buffer& of = buffer(slot.buffer);
    if (of.space != Space::shared || of.dtype != Dtype::u32) {
      fail(fmt::format("the slot of an address is a shared u32 word, but {} is {} {}", of.name, keyword(of.space), name(of.dtype)),
           "{space: shared, dtype: u32, shape: [1]}");
    }
  }
  void together(const TcgenAlloc& op) const { slot(op.slot); }
  void together(const TcgenDealloc& op) const {
    if (op.slot.has_value() == op.addr.has_value()) fail("tcgen05.dealloc needs one of 'slot' and 'addr'");
    if (op.slot) slot(*op.slot);
  }

  void barrier_id(const Expr& id) const {
    if (const auto value = id.as_constant(); value && (*value < 0 || *value > 15)) fail(fmt::format("a CTA has barriers 0 to 15, not {}", *value));
  }
  void barrier_count(const Expr& count) const {
    if (const auto value = count.as_constant(); value && (*value <= 0 || *value % 32 != 0 || *value > 1024)) {
      fail(fmt::format("a barrier counts threads in whole warps, so {} is no count", *value), "a multiple of 32, 32 to 1024");
    }
  }
  void together(const BarrierSync& op) const {
    barrier_id(op.id);
    if (op.count) barrier_count(*op.count);
  }
  void together(const BarrierArrive& op) const {
    barrier_id(op.id);
    barrier_count(op.count);
  }

  void together(const ElectSync& op) const {
    if (op.dst.rows.size() != 1) fail("elect.sync sets one register");
  }

  void memory_access(const Rows& registers, const Mem& mem, std::uint8_t bytes, const std::optional<std::uint8_t>& reg_byte, Sem sem,
                     Sem forbidden, MemScope scope, const std::optional<Expr>& rank) const {
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) fail(fmt::format("an access has 1, 2, 4, 8 or 16 bytes, not {}", bytes));
    const std::size_t count = bytes <= 4 ? 1 : bytes / 4u;
    if (registers.rows.size() != count) {
      fail(fmt::format("{} bytes are {} registers, and {} are {}", bytes, count, to_text(registers, buffers_), registers.rows.size()));
    }
    if (reg_byte && (bytes > 2 || *reg_byte > 3 || *reg_byte % bytes != 0)) {
      fail(fmt::format("reg_byte {} does not fit an access of {} bytes", *reg_byte, bytes), "1 byte: 0 to 3; 2 bytes: 0 or 2");
    }
    if (sem == forbidden) fail(sem == Sem::release ? "a load does not release" : "a store does not acquire");
    if (sem == Sem::weak && scope != MemScope::cta) fail("a weak access has no scope", "sem: relaxed");
    if (!rank) return;
    if (buffer(mem.buffer).space != Space::shared) fail("only an access to shared memory has a rank");
    const auto of = rank->as_constant();
    if (of && (*of < 0 || *of >= static_cast<std::int64_t>(cluster_size(kernel_.launch)))) {
      fail(fmt::format("the cluster has {} CTAs, so there is no rank {}", cluster_size(kernel_.launch), *of));
    }
  }
  void together(const Load& op) const { memory_access(op.dst, op.src, op.bytes, op.reg_byte, op.sem, Sem::release, op.scope, op.rank); }
  void together(const Store& op) const { memory_access(op.src, op.dst, op.bytes, op.reg_byte, op.sem, Sem::acquire, op.scope, op.rank); }

  // ---- tensor core and bulk copies ----

  void in_space(const Region& region, std::initializer_list<Space> spaces, std::string_view wanted) const {
    const Buffer& of = buffer(region.buffer);
    if (std::find(spaces.begin(), spaces.end(), of.space) != spaces.end()) return;
    fail(fmt::format("{} is {}, and {}", of.name, keyword(of.space), wanted));
  }
  void barrier_object(const Mem& bar) const {
    const Buffer& of = buffer(bar.buffer);
    if (of.space == Space::shared && of.dtype == Dtype::mbarrier) return;
    fail(fmt::format("{} is {} {}, and a barrier object is wanted here", of.name, keyword(of.space), name(of.dtype)),
         "{space: shared, dtype: mbarrier, shape: [1]}");
  }
  std::vector<std::int64_t> constant_extents(const Region& region) const {
    const auto extents = extents_of(buffer(region.buffer), region);
    if (!extents) fail(fmt::format("the size of {} is not known before the program runs", text(region)), "both bounds move together: [8 * i : 8 * i + 8]");
    return *extents;
  }
  void together(const TcgenMma& op) const {
    in_space(op.d, {Space::tmem}, "D is in tensor memory");
    in_space(op.a, {Space::shared, Space::tmem}, "A is in shared or tensor memory");
    in_space(op.b, {Space::shared}, "B is in shared memory");
    for (const Region* region : {&op.d, &op.a, &op.b}) {
      const auto extents = constant_extents(*region);
      if (extents.size() != 2) fail(fmt::format("{} has {} dimensions; a matrix has two", text(*region), extents.size()), "a single index drops a dimension: stages[i, 0:128, 0:16]");
    }
  }
  void together(const TcgenCp& op) const {
    in_space(op.src, {Space::shared}, "the source is in shared memory");
    constant_extents(op.src);
  }
  void together(const TcgenCommit& op) const {
    barrier_object(op.bar);
    if (op.mask && op.rank) fail("tcgen05.commit has a mask or a rank, not both");
  }
  void together(const BulkCopy& op) const {
    no_mbarrier(op.dst);
    no_mbarrier(op.src);
    same_elements(op.dst, op.src);
    constant_extents(op.dst);
    constant_extents(op.src);
    const bool load = buffer(op.dst.buffer).space == Space::shared;
    in_space(op.src, {load ? Space::global : Space::shared}, "a bulk copy goes between global and shared memory");
    in_space(op.dst, {load ? Space::shared : Space::global}, "a bulk copy goes between global and shared memory");
    if (load && !op.bar) fail("a bulk copy to shared memory completes on a barrier object", "bar: full[0]");
    if (!load && op.bar) fail("a bulk copy to global memory has no barrier object", "cp.async.bulk.commit_group and cp.async.bulk.wait_group");
    if (!load && op.mask) fail("only a bulk copy to shared memory has a mask");
    if (op.bar) barrier_object(*op.bar);
  }

  // ---- matrices of a warp ----

  void different_registers(const Rows& rows) const {
    const std::set<std::uint16_t> different(rows.rows.begin(), rows.rows.end());
    if (different.size() != rows.rows.size()) fail(fmt::format("{} names a register twice, so its value is open", to_text(rows, buffers_)));
  }
  void matrix_move(std::uint8_t num, const Rows& registers, const Mem& memory) const {
    if (num != 1 && num != 2 && num != 4) fail(fmt::format("1, 2 or 4 matrices are moved, not {}", num));
    if (registers.rows.size() != num) {
      fail(fmt::format("{} matrices are {} registers a thread, and {} are {}", num, num, to_text(registers, buffers_), registers.rows.size()));
    }
    const Buffer& of = buffer(memory.buffer);
    if (of.space != Space::shared) fail(fmt::format("the rows are in shared memory, and {} is {}", of.name, keyword(of.space)));
    if (of.dtype == Dtype::mbarrier) fail(fmt::format("'{}' holds mbarriers, which are no data", of.name));
  }
  void together(const LdMatrix& op) const {
    matrix_move(op.num, op.dst, op.src);
    different_registers(op.dst);
  }
  void together(const StMatrix& op) const { matrix_move(op.num, op.src, op.dst); }
  void together(const MmaSync& op) const {
    const auto form = atom::warp_mma(op.shape, op.type, op.acc);
    if (!form) fail(form.reason().text);
    const atom::WarpMma& mma = **form;
    const auto check = [&](std::string_view name, const Rows& rows, const atom::Fragment& fragment) {
      if (static_cast<int>(rows.rows.size()) == fragment.registers) return;
      fail(fmt::format("{} of {} is {} registers a thread, and {} are {}", name, mma.name, fragment.registers, to_text(rows, buffers_), rows.rows.size()));
    };
    check("d", op.d, mma.c);
    check("a", op.a, mma.a);
    check("b", op.b, mma.b);
    check("c", op.c, mma.c);
    different_registers(op.d);
  }

  // Integers are summed in s32, everything else in f32: an f16 sum would depend on how K is cut into instructions.
  void together(const Gemm& op) const {
    std::vector<std::int64_t> extents[3];
    const Region* regions[] = {&op.dst, &op.a, &op.b};
    for (std::size_t i = 0; i < 3; ++i) {
      no_mbarrier(*regions[i]);
      extents[i] = constant_extents(*regions[i]);
      if (extents[i].size() != 2) {
        fail(fmt::format("{} has {} dimensions; a matrix has two", text(*regions[i]), extents[i].size()), "a single index drops a dimension: stages[i, 0:128, 0:16]");
      }
    }
    const auto shape = [](const std::vector<std::int64_t>& of) { return fmt::format("[{}]", fmt::join(of, ", ")); };
    if (extents[1][0] != extents[0][0] || extents[2][0] != extents[0][1] || extents[1][1] != extents[2][1]) {
      fail(fmt::format("d {}, a {} and b {} are no product", shape(extents[0]), shape(extents[1]), shape(extents[2])), "d is [M, N], a [M, K] and b [N, K]");
    }
    const Dtype a = buffer(op.a.buffer).dtype, b = buffer(op.b.buffer).dtype, d = buffer(op.dst.buffer).dtype;
    const bool integers = a == Dtype::s8 || a == Dtype::u8;
    const bool floats = a == Dtype::f16 || a == Dtype::bf16 || a == Dtype::tf32;
    if (a != b || (!integers && !floats) || d != (integers ? Dtype::s32 : Dtype::f32)) {
      fail(fmt::format("{} times {} into {}", name(a), name(b), name(d)), "f16, bf16 or tf32 into f32, s8 or u8 into s32; a and b alike");
    }
  }

  void row_by_row(const Rows& dst, const Value& value) const {
    const Rows* rows = std::get_if<Rows>(&value);
    if (rows == nullptr || rows->rows.size() == 1 || rows->rows.size() == dst.rows.size()) return;
    fail(fmt::format("{} are {} registers, but {} are {}", to_text(dst, buffers_), dst.rows.size(), to_text(*rows, buffers_), rows->rows.size()),
         "as many on both sides, or one");
  }
  void together(const Move& op) const { row_by_row(op.dst, op.a); }
  void together(const AddS32& op) const {
    row_by_row(op.dst, op.a);
    row_by_row(op.dst, op.b);
  }
  void together(const AddF32& op) const {
    row_by_row(op.dst, op.a);
    row_by_row(op.dst, op.b);
  }
  void together(const SetPredicate& op) const {
    row_by_row(op.dst, op.a);
    row_by_row(op.dst, op.b);
  }

  const Kernel& kernel_;
  const std::vector<Buffer>& buffers_;
  const Stmt& stmt_;
  const std::vector<std::string>& loops_;
};

}  // namespace

void check_operands(const Kernel& kernel, const Stmt& stmt, const std::vector<std::string>& loops) {
  OperandChecker(kernel, stmt, loops).statement();
}

}  // namespace tmemsim::verifier
