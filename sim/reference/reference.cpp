#include "sim/reference/reference.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "ir/tcgen05.hpp"
#include "sim/reference/naive.hpp"
#include "sim/reference/order.hpp"
#include "sim/reference/storage.hpp"

namespace tmemsim::reference {
namespace {

using Loop = std::map<std::string, std::int64_t>;

// What one copy or fill does for the threads that share its boxes: `thread` is the first of them.
struct Piece {
  Thread thread;
  Box dst;
  std::optional<Box> src;
};

struct Element {
  std::uint64_t bits = 0;
  bool known = false;
};

bool uses_threads(const Region& region) {
  const auto depends = [](const Expr& expr) {
    return expr.uses(ExprOp::tid) || expr.uses(ExprOp::lane) || expr.uses(ExprOp::warp) || expr.uses(ExprOp::wg);
  };
  return std::any_of(region.box.begin(), region.box.end(),
                     [&](const Range& range) { return depends(range.lo) || (range.hi && depends(*range.hi)); });
}

// Threads of a warp that a mask includes, in order.
template <class F> void for_each_thread(std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes, F&& visit) {
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1) visit(Thread{cta, 32 * warp + lane});
}

class Interpreter {
 public:
  explicit Interpreter(const Kernel& kernel) : kernel_(kernel), where_(narrowed_everywhere(kernel)), storage_(kernel) {}

  Outcome run(std::span<const Issued> issued) && {
    for (const Instance& instance : instances_in_order(kernel_, where_, issued)) execute(instance);
    Outcome outcome = std::move(storage_).outcome();
    outcome.elements_copied = copied_;
    return outcome;
  }

 private:
  void execute(const Instance& instance) {
    if (const auto* lowered = std::get_if<Lowered>(&instance.stmt->node)) {
      if (const auto* copy = std::get_if<Copy>(&lowered->origin)) move(instance, copy->dst, copy->src);
      if (const auto* copy = std::get_if<CopyAsync>(&lowered->origin)) move(instance, copy->dst, copy->src);
      if (const auto* fill = std::get_if<Fill>(&lowered->origin)) this->fill(instance, *fill);
      if (const auto* gemm = std::get_if<Gemm>(&lowered->origin)) multiply(instance, *gemm);
    } else if (const auto* op = std::get_if<MachineOps::Any>(&instance.stmt->node)) {
      if (instance.stmt->means) {
        move(instance, instance.stmt->means->dst, instance.stmt->means->src);
      } else {
        forget_what_it_writes(instance, *op);
      }
    }
  }

  // ---- copies and fills ----

  void move(const Instance& instance, const Region& dst, const Region& src) {
    const auto pieces = pieces_of(instance, dst, &src);
    if (!pieces) return forget_destination(instance, dst);
    std::vector<std::vector<Element>> values;
    for (const Piece& piece : *pieces) values.push_back(read(piece));
    store(*pieces, values);
  }

  void fill(const Instance& instance, const Fill& fill) {
    const auto pieces = pieces_of(instance, fill.dst, nullptr);
    if (!pieces) return forget_destination(instance, fill.dst);
    const Element value{naive_encode(kernel_.buffers[fill.dst.buffer].dtype, fill.src), true};
    std::vector<std::vector<Element>> values;
    for (const Piece& piece : *pieces) values.emplace_back(elements_of(kernel_, piece.dst).size(), value);
    store(*pieces, values);
  }

  // ---- products ----

  // The boxes of one group of threads that share all three tensors.
  struct Product {
    Thread thread;
    Box d, a, b;
    std::size_t rows = 1;  // M
    bool accumulate = false;
  };

  void multiply(const Instance& instance, const Gemm& gemm) {
    const auto products = products_of(instance, gemm);
    if (!products) return forget_destination(instance, gemm.dst);
    std::vector<Piece> pieces;
    std::vector<std::vector<Element>> values;  // all are computed before the first is stored
    for (const Product& product : *products) {
      pieces.push_back({product.thread, product.d, std::nullopt});
      values.push_back(multiplied(product));
    }
    store(pieces, values);
  }

  std::optional<std::vector<Product>> products_of(const Instance& instance, const Gemm& gemm) {
    const auto found = where_.find(instance.stmt);
    if (found == where_.end() || !instance.complete || found->second.elect) return std::nullopt;
    std::vector<Product> products;
    std::set<std::array<std::uint32_t, 3>> units;
    bool fits = true;
    for (std::uint32_t warp = 0; warp < kernel_.launch.warps; ++warp) {
      for_each_thread(instance.cta, warp, lanes_of(found->second, instance.cta, warp), [&](const Thread& thread) {
        const std::array unit{storage_.unit(gemm.dst.buffer, thread.tid), storage_.unit(gemm.a.buffer, thread.tid), storage_.unit(gemm.b.buffer, thread.tid)};
        if (!fits || !units.insert(unit).second) return;
        const auto d = naive_box(kernel_, gemm.dst, thread, instance.loop), a = naive_box(kernel_, gemm.a, thread, instance.loop),
                   b = naive_box(kernel_, gemm.b, thread, instance.loop);
        const auto accumulate = naive_value(kernel_, gemm.accumulate, thread, instance.loop);
        fits = d && a && b && accumulate;
        if (fits) products.push_back({thread, *d, *a, *b, rows_of(gemm.dst, *d), *accumulate != 0});
      });
    }
    if (!fits) return std::nullopt;
    return products;
  }

  std::vector<Element> multiplied(const Product& product) {
    const auto tensor = [&](const Box& box) -> const Tensor& { return storage_.of(box.buffer, product.thread); };
    const Tensor &d = tensor(product.d), &a = tensor(product.a), &b = tensor(product.b);
    const std::vector<std::int64_t> d_at = elements_of(kernel_, product.d), a_at = elements_of(kernel_, product.a), b_at = elements_of(kernel_, product.b);
    const std::size_t n = d_at.size() / product.rows, k = a_at.size() / product.rows;
    std::vector<Element> results;
    for (std::size_t i = 0; i < d_at.size(); ++i) {
      const auto old = static_cast<std::size_t>(d_at[i]);
      Element result{product.accumulate ? d.bits[old] : 0, !product.accumulate || d.known[old]};
      std::vector<std::uint64_t> left, right;
      for (std::size_t depth = 0; depth < k; ++depth) {
        const auto x = static_cast<std::size_t>(a_at[i / n * k + depth]), y = static_cast<std::size_t>(b_at[i % n * k + depth]);
        left.push_back(a.bits[x]);
        right.push_back(b.bits[y]);
        result.known = result.known && a.known[x] && b.known[y];
      }
      result.bits = naive_dot(kernel_.buffers[product.d.buffer].dtype, kernel_.buffers[product.a.buffer].dtype, result.bits, left, right);
      results.push_back(result);
    }
    return results;
  }

  // Of the first dimension that the region keeps.
  static std::size_t rows_of(const Region& region, const Box& box) {
    std::size_t dimension = 0;
    while (!region.box.empty() && !region.box[dimension].hi) ++dimension;
    return static_cast<std::size_t>(box.end[dimension] - box.begin[dimension]);
  }

  std::vector<Element> read(const Piece& piece) {
    const Tensor& from = storage_.of(piece.src->buffer, piece.thread);
    const bool same_type = kernel_.buffers[piece.src->buffer].dtype == kernel_.buffers[piece.dst.buffer].dtype;
    std::vector<Element> values;
    for (std::int64_t x : elements_of(kernel_, *piece.src)) {
      const auto i = static_cast<std::size_t>(x);
      values.push_back({from.bits[i], same_type && from.known[i]});
    }
    return values;
  }

  // An element that two pieces give different values has none that the program promises.
  void store(const std::vector<Piece>& pieces, const std::vector<std::vector<Element>>& values) {
    std::map<std::pair<std::uint32_t, std::int64_t>, Element> stored;  // by (unit, element); only where pieces can meet
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const Piece& piece = pieces[p];
      const std::vector<std::int64_t> elements = elements_of(kernel_, piece.dst);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        Element value = i < values[p].size() ? values[p][i] : Element{};
        if (pieces.size() > 1) {
          const auto [before, first] = stored.try_emplace({storage_.unit(piece.dst.buffer, piece.thread.tid), elements[i]}, value);
          if (!first && (before->second.bits != value.bits || !before->second.known)) value.known = before->second.known = false;
        }
        storage_.write(piece.dst.buffer, piece.thread, elements[i], value.bits, value.known);
      }
      copied_ += elements.size();
      storage_.written_through(piece.dst.buffer, piece.thread.cta);
    }
  }

  // The different boxes that the threads of the instance name. Nothing when a bound has no value, threads that share a local
  // tensor disagree, or not all threads that the statement names have issued it.
  std::optional<std::vector<Piece>> pieces_of(const Instance& instance, const Region& dst, const Region* src) {
    const auto found = where_.find(instance.stmt);
    if (found == where_.end()) return std::nullopt;
    const bool by_thread = uses_threads(dst) || (src && uses_threads(*src));
    if (!instance.complete && !by_thread) return std::nullopt;
    if (found->second.elect && (by_thread || is_per_thread(dst.buffer) || (src && is_per_thread(src->buffer)))) return std::nullopt;

    std::vector<Piece> pieces;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> of_units;  // (unit of dst, unit of src) -> piece
    const bool local = is_local(dst.buffer) || (src && is_local(src->buffer));
    std::optional<Piece> once;
    bool fits = true;
    const auto add = [&](const Thread& thread) {
      if (!fits) return;
      if (!once || by_thread) once = piece_for(thread, instance.loop, dst, src);
      if (!once) { fits = false; return; }
      once->thread = thread;
      if (!local) return add_box(pieces, *once);
      const auto unit = std::pair{storage_.unit(dst.buffer, thread.tid), src ? storage_.unit(src->buffer, thread.tid) : 0u};
      const auto [known, first] = of_units.try_emplace(unit, pieces.size());
      if (first) pieces.push_back(*once);
      else if (!(pieces[known->second].dst == once->dst) || pieces[known->second].src != once->src) fits = false;
    };
    for (std::uint32_t warp = 0; warp < kernel_.launch.warps; ++warp) {
      const std::uint32_t lanes = lanes_of(found->second, instance.cta, warp);
      if (instance.complete || instance.lanes.count(warp)) for_each_thread(instance.cta, warp, lanes, add);
    }
    if (!fits || (!instance.complete && local && !fits_warps(dst, src))) return std::nullopt;
    return pieces;
  }

  // Whether each warp has local tensors of its own: one that several warps share is given whole or not at all.
  bool fits_warps(const Region& dst, const Region* src) const {
    const auto of_one_warp = [&](BufferId id) { return !is_local(id) || unit_of(kernel_.buffers[id]) <= Scope::warp; };
    return of_one_warp(dst.buffer) && (!src || of_one_warp(src->buffer));
  }

  std::optional<Piece> piece_for(const Thread& thread, const Loop& loop, const Region& dst, const Region* src) const {
    const auto to = naive_box(kernel_, dst, thread, loop);
    if (!to) return std::nullopt;
    Piece piece{thread, *to, std::nullopt};
    if (src) {
      piece.src = naive_box(kernel_, *src, thread, loop);
      if (!piece.src) return std::nullopt;
    }
    return piece;
  }

  static void add_box(std::vector<Piece>& pieces, const Piece& piece) {
    const bool listed = std::any_of(pieces.begin(), pieces.end(),
                                    [&](const Piece& other) { return other.dst == piece.dst && other.src == piece.src; });
    if (!listed) pieces.push_back(piece);
  }

  bool is_local(BufferId id) const { return kernel_.buffers[id].space == Space::local; }
  bool is_per_thread(BufferId id) const { return is_local(id) && unit_of(kernel_.buffers[id]) == Scope::thread; }

  void forget_destination(const Instance& instance, const Region& dst) {
    if (!is_local(dst.buffer)) {
      storage_.forget(dst.buffer, Thread{instance.cta, 0});
    } else {
      for (std::uint32_t tid = 0; tid < 32 * kernel_.launch.warps; ++tid) storage_.forget(dst.buffer, Thread{instance.cta, tid});
    }
    storage_.written_through(dst.buffer, instance.cta);
  }

  // ---- instructions without `means`: what they write has no value here ----

  void forget_what_it_writes(const Instance& instance, const MachineOps::Any& any) {
    std::visit(
        [&](const auto& op) {
          for_each_field(op, [&](const auto& field, const auto& operand) {
            if (field.use == Use::write || field.use == Use::update) forget_operand(instance, op, operand);
          });
        },
        any);
  }

  template <class Op, class T> void forget_operand(const Instance& instance, const Op& op, const T& operand) {
    if constexpr (is_optional<T>::value) {
      if (operand) forget_operand(instance, op, *operand);
    } else if constexpr (std::is_same_v<T, Rows>) {
      forget_rows(instance, operand);
    } else if constexpr (std::is_same_v<T, Mem>) {
      forget_memory(instance, op, operand);
    } else if constexpr (std::is_same_v<T, TmemAddr>) {
      forget_cells(instance, op, operand);
    } else if constexpr (std::is_same_v<T, Region>) {
      if constexpr (requires { op.cta_group; }) {
        if (op.cta_group != 1) return storage_.forget_everywhere(operand.buffer);  // of the peer too
      }
      if constexpr (requires { op.mask.has_value(); }) {
        if (op.mask) return storage_.forget_everywhere(operand.buffer);  // of every CTA of the mask
      }
      forget_destination(instance, operand);
    }
  }

  void forget_rows(const Instance& instance, const Rows& rows) {
    for (const auto& [warp, lanes] : instance.lanes)
      for_each_thread(instance.cta, warp, lanes, [&](const Thread& thread) {
        for (std::uint16_t row : rows.rows) storage_.forget_slots(rows.buffer, thread, 32 * row, 32 * row + 31);
      });
  }

  template <class Op> void forget_memory(const Instance& instance, const Op& op, const Mem& memory) {
    if constexpr (requires { op.rank.has_value(); }) {
      if (op.rank) return storage_.forget_everywhere(memory.buffer);  // of some CTA of the cluster
    }
    std::optional<std::int64_t> bytes;
    if constexpr (requires { bytes = op.bytes; }) bytes = op.bytes;
    for (const auto& [warp, lanes] : instance.lanes)
      for_each_thread(instance.cta, warp, lanes, [&](const Thread& thread) {
        const auto first = first_byte(instance, memory, thread);
        if (!first || !bytes) return forget_destination(instance, Region{memory.buffer, {}});
        if (kernel_.buffers[memory.buffer].space == Space::shared) {
          const std::int64_t start = kernel_.buffers[memory.buffer].offset.value_or(0) + *first;
          storage_.forget_shared(instance.cta, start, start + *bytes - 1);
        } else {
          storage_.forget_slots(memory.buffer, thread, 8 * *first, 8 * (*first + *bytes) - 1);
        }
      });
  }

  // Byte in the buffer at which a thread's access starts.
  std::optional<std::int64_t> first_byte(const Instance& instance, const Mem& memory, const Thread& thread) const {
    if (memory.byte) return naive_value(kernel_, *memory.byte, thread, instance.loop);
    const auto box = naive_box(kernel_, Region{memory.buffer, memory.box}, thread, instance.loop);
    if (!box) return std::nullopt;
    const std::vector<std::int64_t> elements = elements_of(kernel_, *box);
    if (elements.empty()) return std::nullopt;
    const Buffer& buffer = kernel_.buffers[memory.buffer];
    return at(naive_place(buffer, elements.front()), Axis::m) * bits(buffer.dtype) / 8;
  }

  template <class Op> void forget_cells(const Instance& instance, const Op& op, const TmemAddr& address) {
    if constexpr (requires { op.shape; op.num; }) {
      const auto start = first_column(instance, address);
      if (start) {
        std::int64_t width = std::int64_t{tcgen05::facts(op.shape).columns} * op.num;
        if constexpr (requires { op.unpack; }) width *= op.unpack ? 2 : 1;
        std::int64_t first = start->second, last = start->second + width - 1;
        if (op.half) {
          const std::int64_t split = static_cast<std::int16_t>(*op.half & 0xffff);
          first = std::min(first, first + split);
          last = std::max(last, last + split);
        }
        return storage_.forget_columns(start->first, instance.cta, first, last);
      }
    }
    storage_.forget_tmem(instance.cta);
  }

  // A tmem buffer and the column, relative to that buffer's base, at which an address points; nothing when it is not plain.
  std::optional<std::pair<BufferId, std::int64_t>> first_column(const Instance& instance, const TmemAddr& address) const {
    const Thread thread{instance.cta, 32 * instance.lanes.begin()->first};
    if (address.cell) {
      const auto box = naive_box(kernel_, *address.cell, thread, instance.loop);
      if (!box) return std::nullopt;
      const std::vector<std::int64_t> elements = elements_of(kernel_, *box);
      if (elements.empty()) return std::nullopt;
      const Buffer& buffer = kernel_.buffers[address.cell->buffer];
      return std::pair{address.cell->buffer, buffer.column + at(naive_place(buffer, elements.front()), Axis::TCol) * bits(buffer.dtype) / 32};
    }
    const auto column = naive_value(kernel_, address.col, thread, instance.loop);
    if (!column) return std::nullopt;
    for (BufferId id = 0; id < kernel_.buffers.size(); ++id) {
      const Buffer& buffer = kernel_.buffers[id];
      if (buffer.space != Space::tmem || !buffer.slot || address.base.op() != ExprOp::word) continue;
      if (address.base.buffer() == *buffer.slot && address.base.a().as_constant() == 0) return std::pair{id, std::int64_t{*column}};
    }
    return std::nullopt;
  }

  const Kernel& kernel_;
  WhereOf where_;
  Storage storage_;
  std::uint64_t copied_ = 0;
};

}  // namespace

Outcome run(const Kernel& kernel, std::span<const Issued> issued) { return Interpreter(kernel).run(issued); }

}  // namespace tmemsim::reference
