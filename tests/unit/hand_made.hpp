// Kernels and logs put together by hand, for tests of what comes after a run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/issued.hpp"
#include "ir/kernel/kernel.hpp"
#include "tests/catch.hpp"

namespace tmemsim::tests {

inline Buffer buffer(std::string name, Space space, Dtype dtype, std::vector<std::int64_t> shape, const std::string& layout = "") {
  Buffer made;
  made.name = std::move(name);
  made.space = space;
  made.dtype = dtype;
  made.shape = std::move(shape);
  if (!layout.empty()) made.layout = parse_layout(layout).value();
  return made;
}

inline Buffer with_init(Buffer buffer, Init init) {
  buffer.init = std::move(init);
  return buffer;
}

inline Range one(Expr index) { return {std::move(index), std::nullopt}; }
inline Range from_to(Expr lo, Expr hi) { return {std::move(lo), std::move(hi)}; }
inline Region whole(BufferId buffer) { return {buffer, {}}; }

inline Where warps(std::uint32_t first, std::uint32_t last) {
  Where where;
  where.warps = Where::Span{first, last};
  return where;
}

inline Stmt lowered(TileOps::Any origin, Where where = {}) {
  Stmt stmt;
  stmt.where = where;
  stmt.node = Lowered{std::move(origin), "by hand", {}};
  return stmt;
}
inline Stmt copy(Region dst, Region src, Where where = {}) { return lowered(Copy{std::move(dst), std::move(src), {}}, where); }

inline Stmt machine(MachineOps::Any op, Where where = {}) {
  Stmt stmt;
  stmt.where = where;
  stmt.node = std::move(op);
  return stmt;
}

inline Kernel kernel_of(std::vector<Buffer> buffers, Body body, std::uint32_t warp_count = 4) {
  Kernel kernel;
  kernel.name = "by_hand";
  kernel.launch.warps = warp_count;
  kernel.buffers = std::move(buffers);
  kernel.body = std::move(body);
  number_statements(kernel);
  return kernel;
}

// One warp's issue, all lanes.
inline Issued issued(const Stmt& stmt, std::uint32_t warp = 0, std::map<std::string, std::int64_t> loop = {}) {
  return Issued{&stmt, std::move(loop), 0, warp, ~0u};
}

// All warps of a range issue statements one after another.
inline std::vector<Issued> issued_by(std::uint32_t first_warp, std::uint32_t last_warp, const std::vector<const Stmt*>& statements) {
  std::vector<Issued> log;
  for (const Stmt* stmt : statements)
    for (std::uint32_t warp = first_warp; warp <= last_warp; ++warp) log.push_back(issued(*stmt, warp));
  return log;
}

}  // namespace tmemsim::tests
