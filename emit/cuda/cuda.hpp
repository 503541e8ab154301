// Cuda: the text of one kernel function while it is being written, and how operands are spelled in it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emit/cuda/arch.hpp"
#include "emit/cuda/device_functions.hpp"
#include "emit/cuda/expression.hpp"
#include "ir/kernel/kernel.hpp"

namespace tmemsim::emit {

// A place in shared or global memory as C++ text: a shared address (uint32_t) or a pointer to global bytes.
struct Place {
  Window window = Window::shared;
  std::string text;
};

class Cuda {
 public:
  Cuda(const Kernel& kernel, const Options& options, DeviceFunctions& functions);

  const Kernel& kernel() const { return kernel_; }
  const Buffer& buffer(BufferId id) const { return kernel_.buffers.at(id); }
  DeviceFunctions& functions() { return functions_; }

  // ---- Text. ----
  void line(std::string_view text);
  void blank_line();
  void open(std::string_view text);  // the line, then one level deeper
  void otherwise();                  // "} else {"
  void close();
  const std::string& body() const { return body_; }

  // ---- Operands. Each notes what it uses, so that only that is declared. ----
  std::string expr(const Expr& expr, bool as_operand = false);  // int
  std::string registers(BufferId buffer);                       // r_A, the registers of a thread: uint32_t[N]
  std::string reg(BufferId buffer, std::uint16_t row);          // r_A[3], an uint32_t lvalue
  Place place(const Mem& mem, const std::optional<Expr>& rank = std::nullopt);
  std::string tmem_address(const TmemAddr& address);  // uint32_t
  // The registers of tcgen05.ld and .st: "&r_A[4]" when they are consecutive rows, else "r_A[0], r_A[2]".
  std::string register_arguments(const Rows& rows);
  std::string shared_word(BufferId buffer);  // the first word of a shared buffer
  // Calls a function of the fixed list: "name(arguments)".
  std::string call(std::string_view function, std::string_view arguments = {});
  std::string call_line(std::string_view function, std::string_view arguments = {}) { return call(function, arguments) + ";"; }

  // ---- What the program uses of the GPU. ----
  // Unsupported, naming the operation, where the program is for something that lacks it.
  void use(Needs needs, std::string_view operation);
  const Facilities& facilities() const { return facilities_; }

  // ---- Statements. ----
  [[noreturn]] void unsupported(std::string reason) const;  // located at the statement being printed
  // Refuses an operation of the whole warp where the statement's `where` leaves out lanes.
  void need_whole_warp(std::string_view operation) const;
  // A .sync.aligned operation comes: needs the whole warp, and prints __syncwarp() where its lanes may have run apart.
  void converge(std::string_view operation);
  void lanes_may_differ() { apart_ = true; }
  void lanes_are_together() { apart_ = false; }
  std::string active_lanes() const;  // a mask expression for elect.sync

  void print(const Body& body);  // statements.cpp

  const std::set<ExprOp>& coordinates() const { return coordinates_; }
  const std::set<BufferId>& buffers_used() const { return used_; }
  const std::set<BufferId>& loaded_from_tmem() const { return loaded_; }  // local buffers that some tcgen05.ld writes
  bool uses_peers() const { return uses_peers_; }
  bool syncs_cluster_itself() const { return syncs_cluster_; }
  void syncs_cluster() { syncs_cluster_ = true; }  // has barrier.cluster of its own
  void reaches_peers() { uses_peers_ = true; }  // writes to their shared memory, or arrives at their barriers

 private:
  void print_group(std::span<const Stmt> group);  // statements with the same `where`
  void print_statement(const Stmt& stmt);
  void print_comment(const Stmt& stmt);
  void print_for(const For& loop);
  void print_while(const While& loop);
  void print_if(const If& choice);
  void print_body(const Body& body, bool lane_dependent);
  std::string condition(const Where& where);  // what `where` asks beyond around_; "" for nothing

  Leaf leaf(const Expr& expr);
  Interval coordinate_range(ExprOp op) const;

  const Kernel& kernel_;
  DeviceFunctions& functions_;
  Facilities facilities_;
  std::string body_;
  int depth_ = 1;

  std::set<ExprOp> coordinates_;
  std::set<BufferId> used_;
  std::set<BufferId> loaded_;
  bool uses_peers_ = false, syncs_cluster_ = false;

  SourceLoc at_;                                         // of the statement being printed
  Where around_;                                         // what the enclosing `if`s already ask of the thread
  bool some_lanes_ = false;                              // inside a `where` that leaves out lanes of a warp
  bool lane_dependent_ = false;                          // inside an `if` or loop whose condition depends on the lane
  bool inside_lowered_ = false;                          // inside the machine instructions of one tile primitive
  bool apart_ = false;                                   // lanes of a warp may stand at different statements
  std::vector<std::pair<std::string, Interval>> loops_;  // variables around, innermost last
};

// Index arithmetic of buffers, as expressions.
Expr element_slot(const Buffer& buffer, const std::vector<Range>& box);  // global, shared: slot of the box's first element
Expr byte_offset(const Buffer& buffer, const Mem& mem);                  // from the start of the buffer
struct CellOffset {
  Expr lane, column;  // relative to the base address
};
CellOffset cell_offset(const Buffer& buffer, const std::vector<Range>& box);
// Whether the slot of every element is its row-major index.
bool is_row_major(const Buffer& buffer);
// global, shared: the slot of the element with row-major index `index`; `index` itself when the buffer is row-major.
Expr slot_of_index(const Buffer& buffer, const Expr& index);

}  // namespace tmemsim::emit
