// The tensors of the reference interpreter: one a global buffer, one a CTA for shared and tmem buffers, and for a local buffer
// one for each unit of threads that its layout spans.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "sim/reference/naive.hpp"
#include "sim/reference/reference.hpp"

namespace tmemsim::reference {

// Threads that share one instance of a buffer: thread, warp, warpgroup or cta for a local one; cta for shared and tmem;
// grid for global.
Scope unit_of(const Buffer& buffer);

class Storage {
 public:
  explicit Storage(const Kernel& kernel);

  // The instance that a thread sees.
  Tensor& of(BufferId buffer, const Thread& thread);
  std::uint32_t unit(BufferId buffer, std::uint32_t tid) const;

  // Gives element x a value, or none. Whatever shares its storage under another name is forgotten.
  void write(BufferId buffer, const Thread& thread, std::int64_t x, std::uint64_t bits, bool known);
  void written_through(BufferId buffer, std::uint32_t cta);  // after write(): forgets the buffers that overlap

  void forget(BufferId buffer, const Thread& thread);        // the instance that the thread sees
  void forget_everywhere(BufferId buffer);                   // every instance
  void forget_slots(BufferId buffer, const Thread& thread, std::int64_t first_bit, std::int64_t last_bit);  // slot bits on m
  void forget_shared(std::uint32_t cta, std::int64_t first_byte, std::int64_t last_byte);   // bytes of the window
  void forget_columns(BufferId view, std::uint32_t cta, std::int64_t first, std::int64_t last);  // columns relative to the view's base
  void forget_tmem(std::uint32_t cta);

  const Kernel& kernel() const { return kernel_; }
  Outcome outcome() &&;

 private:
  using Key = std::tuple<BufferId, std::uint32_t, std::uint32_t>;  // buffer, cta, unit

  Tensor fresh(BufferId buffer) const;
  const std::vector<std::pair<std::int64_t, std::int64_t>>& elements_by_slot(BufferId buffer);
  bool may_overlap(BufferId a, BufferId b) const;
  static bool same_base(const Buffer& a, const Buffer& b);  // column numbers of both count from the same column, or from 0
  bool may_alias_base(const Buffer& a, const Buffer& b) const;

  const Kernel& kernel_;
  std::map<Key, Tensor> tensors_;
  std::map<BufferId, std::vector<std::pair<std::int64_t, std::int64_t>>> by_slot_;  // (slot, element), sorted
  std::set<BufferId> never_known_;     // an alloc writes its address there
  std::set<BufferId> computed_slots_;  // address words that something other than an alloc writes
  std::vector<std::pair<std::int64_t, std::int64_t>> extents_;  // shared: bytes of the window; tmem: columns from the base
  std::vector<std::vector<BufferId>> overlapping_;
};

// Calls visit(stmt) for every statement, the bodies of loops and ifs included, those of Lowered not.
template <class F> void for_each_statement(const Body& body, F&& visit) {
  for (const Stmt& stmt : body) {
    visit(stmt);
    if (const auto* loop = std::get_if<For>(&stmt.node)) for_each_statement(loop->body, visit);
    if (const auto* loop = std::get_if<While>(&stmt.node)) for_each_statement(loop->body, visit);
    if (const auto* branch = std::get_if<If>(&stmt.node)) {
      for_each_statement(branch->then, visit);
      for_each_statement(branch->otherwise, visit);
    }
  }
}

}  // namespace tmemsim::reference
