// Runs the instructions that a copy was lowered to on symbols and compares where each element came from.
//
// A naive machine of its own, which shares nothing with the lowering or the simulator: layouts are evaluated element by element
// straight from their definition, registers, cells and bytes are granules that hold the number of the granule of the source
// they came from. Only data movement is known: loads, stores, tcgen05.ld and .st, mov of constants, if and for.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::tests {

struct SymbolicInputs {
  std::map<std::string, std::int64_t> loops;  // values of the loop variables around the copy
  std::int64_t base_column = 32;              // what every word of an address slot holds
};

struct SymbolicResult {
  std::string problem;                        // empty: every element arrived, and nothing else was touched
  std::map<std::int64_t, int> issues;         // tcgen05.ld and .st executed, by warp
  int accesses = 0;                           // most loads and stores of one thread
  int narrowest = 16, widest = 0;             // bytes of them
  int statements = 0;                         // machine instructions written down
};

class SymbolicCopy {
 public:
  // Place of a bit: {in_memory, buffer, bit}, {in_registers + 2 + buffer, thread, bit of its registers}, {in_tmem, lane, bit of its
  // columns}.
  using Key = std::array<std::int64_t, 3>;
  enum : std::int64_t { in_memory = 0, in_registers = 1, in_tmem = 2 };

  SymbolicCopy(const Kernel& kernel, const Where& where, SymbolicInputs inputs) : kernel_(kernel), where_(where), inputs_(std::move(inputs)) {}

  SymbolicResult run(const Region& dst, const Region& src, const Body& body) {
    try {
      bits_ = bits(kernel_.buffers[src.buffer].dtype);
      grain_ = std::gcd(bits_, std::int64_t{32});
      prepare(dst, src);
      for (std::int64_t warp = 0; warp < std::int64_t{kernel_.launch.warps}; ++warp) {
        const std::uint32_t lanes = lanes_of(where_, 0, static_cast<std::uint32_t>(warp));
        if (lanes == 0) continue;
        accesses_.fill(0);
        execute(body, warp, where_.elect ? 1u : lanes);
        result_.accesses = std::max(result_.accesses, *std::max_element(accesses_.begin(), accesses_.end()));
      }
      compare();
      count(body);
    } catch (const std::runtime_error& error) {
      result_.problem = error.what();
    }
    return result_;
  }

  // Every granule of `grain` bits of the destination with the place in the source that it comes from (of several the first).
  struct Move {
    Key from, to;
  };
  std::vector<Move> moves(const Region& dst, const Region& src, std::int64_t grain) {
    bits_ = bits(kernel_.buffers[src.buffer].dtype);
    find_threads();
    const std::vector<std::int64_t> from = elements_of(src), to = elements_of(dst);
    const Map from_map = map_of(src.buffer), to_map = map_of(dst.buffer);
    std::vector<Move> result;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Key source = places(src.buffer, from_map, from[k]).at(0);
      for (const Key& target : places(dst.buffer, to_map, to[k])) {
        for (std::int64_t bit = 0; bit < bits_; bit += grain) result.push_back({{source[0], source[1], source[2] + bit}, {target[0], target[1], target[2] + bit}});
      }
    }
    return result;
  }

 private:
  // ---- Storage: granules by a key. value: granule of the source (from 1), 0 something else, -1 untouched destination. ----
  struct Granule {
    std::int64_t value = 0;
    std::int64_t expected = 0;   // destination: granule that must arrive; 0: none
    bool of_source = false;
    int writes = 0;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>(key[0]) * 0x9e3779b97f4a7c15u + static_cast<std::size_t>(key[1]) * 0x2545f4914f6cdd1du +
             static_cast<std::size_t>(key[2]);
    }
  };

  std::int64_t evaluate_expr(const Expr& expr, std::int64_t warp, std::int64_t lane) const {
    switch (expr.op()) {
      case ExprOp::constant: return expr.constant();
      case ExprOp::tid: return warp * 32 + lane;
      case ExprOp::lane: return lane;
      case ExprOp::warp: return warp;
      case ExprOp::wg: return warp / 4;
      case ExprOp::cta: return 0;
      case ExprOp::rank: return 0;
      case ExprOp::loop: {
        const auto found = inputs_.loops.find(expr.loop_name());
        if (found == inputs_.loops.end()) throw std::runtime_error("unknown loop variable " + expr.loop_name());
        return found->second;
      }
      case ExprOp::word: return inputs_.base_column;
      case ExprOp::reg: throw std::runtime_error("a register in an expression");
      default: break;
    }
    const auto a = static_cast<std::int32_t>(evaluate_expr(expr.a(), warp, lane));
    const auto b = static_cast<std::int32_t>(evaluate_expr(expr.b(), warp, lane));
    const auto value = Expr::apply(expr.op(), a, b);
    if (!value) throw std::runtime_error("division by zero");
    return *value;
  }

  // All images of an element, from the definition: digits of the index, last iter lowest; replicas; swizzle of m.
  static std::vector<Point> images(const TileLayout& layout, std::int64_t index) {
    Point start{};
    for (const AxisOffset& offset : layout.offset) at(start, offset.axis) += offset.value;
    for (std::size_t k = layout.shard.size(); k > 0; --k) {
      const Iter& iter = layout.shard[k - 1];
      at(start, iter.axis) += index % iter.extent * iter.stride;
      index /= iter.extent;
    }
    std::vector<Point> result{start};
    for (const Iter& iter : layout.replica) {
      std::vector<Point> more;
      for (std::int64_t c = 0; c < iter.extent; ++c) {
        for (Point point : result) {
          at(point, iter.axis) += c * iter.stride;
          more.push_back(point);
        }
      }
      result = std::move(more);
    }
    if (layout.swizzle) {
      const Swizzle& s = *layout.swizzle;
      for (Point& point : result) {
        std::int64_t chunk = at(point, Axis::m) >> s.per_element;
        const std::int64_t rest = at(point, Axis::m) - (chunk << s.per_element);
        const std::int64_t mask = (std::int64_t{1} << s.swizzle_len) - 1;
        chunk ^= s.inner ? (chunk >> s.atom_len & mask) : ((chunk & mask) << s.atom_len);
        at(point, Axis::m) = (chunk << s.per_element) + rest;
      }
    }
    return result;
  }

  // A buffer's layout and, by axis, whether it names the axis.
  struct Map {
    TileLayout layout;
    std::array<bool, axis_count> names{};
  };
  Map map_of(BufferId id) const {
    Map map{layout_of(kernel_.buffers[id]), {}};
    for (const Iter& iter : map.layout.shard) map.names[static_cast<std::size_t>(iter.axis)] = true;
    for (const Iter& iter : map.layout.replica) map.names[static_cast<std::size_t>(iter.axis)] = true;
    for (const AxisOffset& offset : map.layout.offset) map.names[static_cast<std::size_t>(offset.axis)] = true;
    return map;
  }

  // Every place of a buffer's element: where its first bit is.
  std::vector<Key> places(BufferId id, const Map& map, std::int64_t index) const {
    const Buffer& buffer = kernel_.buffers[id];
    std::vector<Key> keys;
    for (const Point& point : images(map.layout, index)) {
      if (buffer.space == Space::tmem) {
        keys.push_back({in_tmem, at(point, Axis::TLane), (tmem_base(buffer) + buffer.column) * 32 + at(point, Axis::TCol) * bits_});
      } else if (buffer.space == Space::local) {
        for (const std::int64_t tid : threads_) {
          if (owns(map, point, tid)) keys.push_back({in_registers + 2 + id, tid, at(point, Axis::m) * bits_});
        }
      } else {
        keys.push_back({in_memory, id, at(point, Axis::m) * bits_});
      }
    }
    return keys;
  }

  std::int64_t tmem_base(const Buffer& buffer) const { return buffer.slot ? inputs_.base_column : buffer.base.value_or(0); }

  static bool owns(const Map& map, const Point& point, std::int64_t tid) {
    const auto agrees = [&](Axis axis, std::int64_t value) { return !map.names[static_cast<std::size_t>(axis)] || at(point, axis) == value; };
    return agrees(Axis::laneid, tid % 32) && agrees(Axis::tid_in_wg, tid % 128) && agrees(Axis::tx, tid) && agrees(Axis::wid_in_wg, tid / 32 % 4) &&
           agrees(Axis::warpid, tid / 32) && agrees(Axis::wgid, tid / 128);
  }

  // Row-major indices into the buffer of the elements of a region, in row-major order of the region.
  std::vector<std::int64_t> elements_of(const Region& region) const {
    const Buffer& buffer = kernel_.buffers[region.buffer];
    std::vector<std::int64_t> result{0};
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      std::int64_t lo = 0, hi = buffer.shape[d];
      if (!region.box.empty()) {
        // Bounds may name the warp when there is only one.
        std::int64_t warp = 0;
        while (lanes_of(where_, 0, static_cast<std::uint32_t>(warp)) == 0) ++warp;
        lo = evaluate_expr(region.box[d].lo, warp, 0);
        hi = region.box[d].hi ? evaluate_expr(*region.box[d].hi, warp, 0) : lo + 1;
      }
      if (lo < 0 || hi > buffer.shape[d]) throw std::runtime_error("the region leaves the buffer");
      std::vector<std::int64_t> next;
      for (const std::int64_t outer : result) {
        for (std::int64_t x = lo; x < hi; ++x) next.push_back(outer * buffer.shape[d] + x);
      }
      result = std::move(next);
    }
    return result;
  }

  void find_threads() {
    threads_.clear();
    for (std::int64_t tid = 0; tid < std::int64_t{kernel_.launch.warps} * 32; ++tid) {
      if ((lanes_of(where_, 0, static_cast<std::uint32_t>(tid / 32)) >> (tid % 32) & 1) != 0) threads_.push_back(tid);
    }
  }

  void prepare(const Region& dst, const Region& src) {
    const std::vector<std::int64_t> from = elements_of(src), to = elements_of(dst);
    if (from.size() != to.size()) throw std::runtime_error("regions of different size");
    find_threads();
    const Map from_map = map_of(src.buffer), to_map = map_of(dst.buffer);
    std::int64_t name = 0;
    granules_.reserve(2 * from.size() * static_cast<std::size_t>(bits_ / grain_));
    for (std::size_t k = 0; k < from.size(); ++k) {
      const std::vector<Key> sources = places(src.buffer, from_map, from[k]), targets = places(dst.buffer, to_map, to[k]);
      if (sources.empty() || targets.empty()) throw std::runtime_error(fmt::format("element {} has no place", k));
      for (std::int64_t bit = 0; bit < bits_; bit += grain_) {
        ++name;
        std::int64_t arriving = 0;
        for (const Key& key : sources) {
          Granule& granule = granules_[{key[0], key[1], key[2] + bit}];
          granule.of_source = true;
          if (granule.value == 0) granule.value = name;  // what several elements share is named by the first
          if (arriving == 0) arriving = granule.value;
        }
        for (const Key& key : targets) {
          Granule& granule = granules_[{key[0], key[1], key[2] + bit}];
          granule.value = -1;
          granule.expected = arriving;
        }
      }
    }
  }

  std::int64_t read(const Key& key) const {
    const auto found = granules_.find(key);
    return found == granules_.end() ? 0 : found->second.value;
  }

  void write(const Key& key, std::int64_t value) {
    const auto found = granules_.find(key);
    if (found == granules_.end() || found->second.expected == 0) {
      if (key[0] >= in_registers + 2 && kernel_.buffers[static_cast<std::size_t>(key[0] - in_registers - 2)].name.starts_with("copy_scratch")) {
        granules_[key].value = value;
        return;
      }
      throw std::runtime_error(fmt::format("a write outside the copy: place {} {} bit {}", key[0], key[1], key[2]));
    }
    found->second.value = value;
    ++found->second.writes;
  }

  void move(const Key& from, const Key& to, std::int64_t count) {
    if (count % grain_ != 0 || from[2] % grain_ != 0 || to[2] % grain_ != 0) throw std::runtime_error("a part of a granule is moved");
    for (std::int64_t bit = 0; bit < count; bit += grain_) {
      write({to[0], to[1], to[2] + bit}, read({from[0], from[1], from[2] + bit}));
    }
  }

  // ---- Execution: warp by warp, statement by statement, lane by lane. ----
  void execute(const Body& body, std::int64_t warp, std::uint32_t lanes) {
    for (const Stmt& stmt : body) {
      if (const auto* branch = std::get_if<If>(&stmt.node)) {
        std::uint32_t taken = 0;
        for (int lane = 0; lane < 32; ++lane) {
          if ((lanes >> lane & 1) != 0 && evaluate_expr(branch->condition, warp, lane) != 0) taken |= 1u << lane;
        }
        if (taken != 0) execute(branch->then, warp, taken);
        if ((lanes & ~taken) != 0) execute(branch->otherwise, warp, lanes & ~taken);
      } else if (const auto* loop = std::get_if<For>(&stmt.node)) {
        const std::int64_t end = evaluate_expr(loop->end, warp, 0);
        if (inputs_.loops.count(loop->variable)) throw std::runtime_error("a loop variable hides another");
        for (std::int64_t i = evaluate_expr(loop->begin, warp, 0); i < end; i += evaluate_expr(loop->step, warp, 0)) {
          inputs_.loops[loop->variable] = i;
          execute(loop->body, warp, lanes);
        }
        inputs_.loops.erase(loop->variable);
      } else {
        std::visit([&](const auto& op) { execute_op(op, warp, lanes); }, std::get<MachineOps::Any>(stmt.node));
      }
    }
  }

  template <class Op> void execute_op(const Op&, std::int64_t, std::uint32_t) {
    throw std::runtime_error(fmt::format("unexpected instruction {}", Op::row.name));
  }

  template <class Access> void access(const Access& op, const Mem& mem, const Rows& rows, bool is_load, std::int64_t warp, std::uint32_t lanes) {
    result_.narrowest = std::min<int>(result_.narrowest, op.bytes);
    result_.widest = std::max<int>(result_.widest, op.bytes);
    for (std::int64_t lane = 0; lane < 32; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      ++accesses_[static_cast<std::size_t>(lane)];
      const std::int64_t byte = evaluate_expr(mem.byte.value(), warp, lane);
      const std::int64_t place = byte + kernel_.buffers[mem.buffer].offset.value_or(0);
      if (byte < 0 || place % op.bytes != 0) throw std::runtime_error(fmt::format("byte {} is misaligned for {} bytes", place, op.bytes));
      const std::int64_t register_start = op.reg_byte.value_or(0) * 8;
      for (std::int64_t part = 0; part < op.bytes; part += 4) {
        const std::int64_t bits_here = std::min<std::int64_t>(32, op.bytes * 8 - part * 8);
        const Key memory{in_memory, mem.buffer, (byte + part) * 8};
        const Key row{in_registers + 2 + rows.buffer, warp * 32 + lane, rows.rows.at(static_cast<std::size_t>(part / 4)) * 32 + register_start};
        if (is_load) {
          move(memory, row, bits_here);
        } else {
          move(row, memory, bits_here);
        }
      }
    }
  }
  void execute_op(const Load& op, std::int64_t warp, std::uint32_t lanes) { access(op, op.src, op.dst, true, warp, lanes); }
  void execute_op(const Store& op, std::int64_t warp, std::uint32_t lanes) { access(op, op.dst, op.src, false, warp, lanes); }

  // The cell of a register, written down once more: lane and column relative to the address.
  static std::array<std::int64_t, 2> cell_of(Shape shape, std::int64_t t, std::int64_t r) {
    switch (shape) {
      case Shape::s32x32b: return {t, r};
      case Shape::s16x64b: return {8 * (t & 1) + (t >> 2), ((t >> 1) & 1) + 2 * r};
      case Shape::s16x128b: return {(t >> 2) + 8 * (r & 1), (t & 3) + 4 * (r >> 1)};
      case Shape::s16x256b: return {(t >> 2) + 8 * ((r >> 1) & 1), (r & 1) + 2 * (t & 3) + 8 * (r >> 2)};
      case Shape::s16x32bx2: return {t & 15, r};
    }
    return {};
  }

  template <class Op> void tensor(const Op& op, const TmemAddr& address, const Rows& rows, bool packed, bool is_load, std::int64_t warp, std::uint32_t lanes) {
    if (lanes != 0xffffffffu) throw std::runtime_error("a tcgen05 instruction without all lanes of its warp");
    ++result_.issues[warp];
    const std::array<std::int64_t, 5> per_num{1, 1, 2, 4, 1}, most{128, 128, 64, 32, 128};
    const auto shape = static_cast<std::size_t>(op.shape);
    if (!std::has_single_bit(op.num) || op.num > most[shape] || static_cast<std::int64_t>(rows.rows.size()) != per_num[shape] * op.num) {
      throw std::runtime_error("an illegal .num or number of registers");
    }
    if (op.half.has_value() != (op.shape == Shape::s16x32bx2)) throw std::runtime_error("a half split where none belongs, or none where one does");
    const std::int64_t first_lane = evaluate_expr(address.lane, warp, 0);
    const std::int64_t first_column = evaluate_expr(address.base, warp, 0) + evaluate_expr(address.col, warp, 0);
    const bool full = op.shape == Shape::s32x32b;
    if (first_lane / 32 != warp % 4 || first_lane % (full ? 32 : 16) != 0) throw std::runtime_error(fmt::format("warp {} addresses lane {}", warp, first_lane));
    const std::int64_t taddr = first_lane * 65536 + first_column;
    for (std::int64_t t = 0; t < 32; ++t) {
      for (std::size_t r = 0; r < rows.rows.size(); ++r) {
        const auto [lane, column] = cell_of(op.shape, t, static_cast<std::int64_t>(r));
        const std::int64_t start = taddr + (op.half && t >= 16 ? *op.half : 0);  // one 32-bit addend
        const Key row{in_registers + 2 + rows.buffer, warp * 32 + t, rows.rows[r] * 32};
        for (std::int64_t h = 0; h < (packed ? 2 : 1); ++h) {
          const std::int64_t l = (start >> 16) + lane, c = (start & 0xffff) + (packed ? 2 * column + h : column);
          if (l / 32 != warp % 4 || c < 0 || c >= 512) throw std::runtime_error(fmt::format("warp {} touches lane {}, column {}", warp, l, c));
          const Key cell{in_tmem, l, c * 32}, half{row[0], row[1], row[2] + h * 16};
          const std::int64_t width = packed ? 16 : 32;
          for (std::int64_t bit = 0; bit < width; bit += grain_) {
            const Key& from = is_load ? cell : half;
            const auto found = granules_.find({from[0], from[1], from[2] + bit});
            if (found == granules_.end() || !found->second.of_source) throw std::runtime_error(fmt::format("a read outside the copy: lane {}, column {}", l, c));
          }
          move(is_load ? cell : half, is_load ? half : cell, width);
        }
      }
    }
  }
  void execute_op(const TcgenLd& op, std::int64_t warp, std::uint32_t lanes) { tensor(op, op.src, op.dst, op.pack, true, warp, lanes); }
  void execute_op(const TcgenSt& op, std::int64_t warp, std::uint32_t lanes) { tensor(op, op.dst, op.src, op.unpack, false, warp, lanes); }

  void compare() {
    const std::pair<const Key, Granule>* first = nullptr;
    for (const auto& entry : granules_) {
      const Granule& granule = entry.second;
      const bool arrived = granule.expected == 0 || (granule.value == granule.expected && granule.writes == 1);
      if (!arrived && (first == nullptr || entry.first < first->first)) first = &entry;
    }
    if (first == nullptr) return;
    const auto& [key, granule] = *first;
    throw std::runtime_error(fmt::format("place {} {} bit {}: granule {} arrived {} times, wanted {} once", key[0], key[1], key[2], granule.value,
                                         granule.writes, granule.expected));
  }

  void count(const Body& body) {
    for (const Stmt& stmt : body) {
      if (const auto* branch = std::get_if<If>(&stmt.node)) {
        count(branch->then);
      } else if (const auto* loop = std::get_if<For>(&stmt.node)) {
        count(loop->body);
      } else {
        ++result_.statements;
      }
    }
  }

  const Kernel& kernel_;
  Where where_;
  SymbolicInputs inputs_;
  std::int64_t bits_ = 32, grain_ = 8;
  std::vector<std::int64_t> threads_;
  std::unordered_map<Key, Granule, KeyHash> granules_;
  std::array<int, 32> accesses_{};
  SymbolicResult result_;
};

// Runs the first lowered copy or copy_async of a kernel; loops around it run with the values given.
inline const Stmt* first_lowered(const Body& body, Where& where) {
  for (const Stmt& stmt : body) {
    Where here = narrowed(where, stmt.where);
    if (std::holds_alternative<Lowered>(stmt.node)) {
      where = here;
      return &stmt;
    }
    const Stmt* found = nullptr;
    if (const auto* loop = std::get_if<For>(&stmt.node)) found = first_lowered(loop->body, here);
    if (const auto* branch = std::get_if<If>(&stmt.node)) found = first_lowered(branch->then, here);
    if (found != nullptr) {
      where = here;
      return found;
    }
  }
  return nullptr;
}

inline SymbolicResult run_symbolically(const Kernel& lowered, SymbolicInputs inputs = {}) {
  Where where;
  const Stmt* stmt = first_lowered(lowered.body, where);
  if (stmt == nullptr) return {"nothing was lowered", {}, 0, 0, 0, 0};
  const auto& node = std::get<Lowered>(stmt->node);
  SymbolicCopy machine(lowered, where, std::move(inputs));
  if (const auto* copy = std::get_if<Copy>(&node.origin)) return machine.run(copy->dst, copy->src, node.body);
  const auto& copy = std::get<CopyAsync>(node.origin);
  return machine.run(copy.dst, copy.src, node.body);
}

}  // namespace tmemsim::tests
