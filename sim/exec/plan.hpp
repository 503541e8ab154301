// What a step needs at run time, worked out once: compiled expressions, absolute register rows, places in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "ir/program.hpp"
#include "sim/exec/expr.hpp"

namespace tmemsim::sim {

// Slot of a logical element on one memory axis: sum of stride * (x / weight % extent) + offset, then the swizzle.
class SlotMap {
 public:
  SlotMap() = default;
  SlotMap(const TileLayout& layout, Axis axis);
  std::int64_t operator()(std::int64_t x) const;

 private:
  struct Digit {
    std::int64_t weight = 1, extent = 1, stride = 0;
    bool top = false;  // takes the whole quotient
  };
  std::vector<Digit> digits_;
  std::int64_t offset_ = 0;
  std::optional<Swizzle> swizzle_;
};

// The first element of a region: its row-major index from the lower bounds.
struct ElementPlan {
  struct Dimension {
    std::int64_t extent = 1, weight = 1;
    CompiledExpr index;
  };
  std::vector<Dimension> dimensions;
  std::optional<std::int64_t> constant;  // the index, when nothing in it depends on the run (and it is in bounds)
};

// A place in shared or global memory: bytes from the start of the buffer.
struct MemPlan {
  BufferId buffer = 0;
  bool shared = false;
  std::int64_t window = 0;       // shared: offset of the buffer in the CTA's window
  std::int64_t size = 0;         // bytes of the buffer
  std::optional<CompiledExpr> byte;
  ElementPlan element;           // when `byte` is absent
  SlotMap slot;
  int element_bits = 32;
  std::optional<std::int64_t> constant;  // byte offset, when known
};

struct TmemPlan {
  std::uint16_t view = 0xffff;   // buffer through which the access is made, when one is named
  std::optional<CompiledExpr> base, lane, col;  // base absent: constant_base
  std::int64_t constant_base = 0;
  // A region's first cell: added to the base.
  bool has_cell = false;
  ElementPlan element;
  SlotMap lane_slot, column_slot;
  int element_bits = 32;
  std::int64_t column = 0;       // Buffer::column
};

// A region of shared, global or tensor memory that an asynchronous operation takes as a whole.
struct RegionPlan {
  BufferId buffer = 0;
  ElementPlan first;                        // element at the lower bounds
  std::vector<std::int64_t> extent, weight;  // of the dimensions that the region keeps; weights of the buffer's elements
  std::int64_t elements = 1;
  // TMEM buffers: where the buffer begins.
  std::optional<CompiledExpr> base;         // absent: constant_base
  std::int64_t constant_base = 0;
};

struct RowsPlan {
  std::vector<std::uint16_t> rows;  // absolute
};

// The plans of one step, found by the address of the operand in the statement.
class StepPlan {
 public:
  const CompiledExpr& operator()(const Expr& expr) const { return find(exprs_, &expr); }
  const RowsPlan& operator()(const Rows& rows) const { return find(rows_, &rows); }
  const MemPlan& operator()(const Mem& mem) const { return find(mems_, &mem); }
  const TmemPlan& operator()(const TmemAddr& address) const { return find(addresses_, &address); }
  const RegionPlan& operator()(const Region& region) const { return find(regions_, &region); }
  // Of a region that may have no plan (Stmt::means); null then.
  const RegionPlan* find_region(const Region& region) const {
    for (const auto& [known, plan] : regions_)
      if (known == &region) return &plan;
    return nullptr;
  }

  void add(const Program& program, const Step& step, const Expr& expr);
  void add(const Program& program, const Rows& rows);
  void add(const Program& program, const Step& step, const Mem& mem);
  void add(const Program& program, const Step& step, const TmemAddr& address);
  void add(const Program& program, const Step& step, const Region& region);
  // The buffer through which the step reaches tensor memory where its address names none.
  void set_view(BufferId buffer);

 private:
  template <class Key, class Plan> using Table = std::vector<std::pair<const Key*, Plan>>;
  template <class Key, class Plan> static const Plan& find(const Table<Key, Plan>& table, const Key* key) {
    for (const auto& [known, plan] : table)
      if (known == key) return plan;
    missing();
  }
  [[noreturn]] static void missing();

  Table<Expr, CompiledExpr> exprs_;
  Table<Rows, RowsPlan> rows_;
  Table<Mem, MemPlan> mems_;
  Table<TmemAddr, TmemPlan> addresses_;
  Table<Region, RegionPlan> regions_;
};

// The place of logical element `box` lower bounds in `buffer`.
ElementPlan plan_element(const Program& program, const Step& step, const Buffer& buffer, const std::vector<Range>& box);

}  // namespace tmemsim::sim
