// The kernel IR: what a program is. One IR, two levels: tile primitives and machine instructions stand side by side;
// lowering leaves machine instructions only (Level::machine).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/buffer.hpp"
#include "ir/diagnostic.hpp"
#include "ir/op_list.hpp"
#include "ir/target.hpp"

namespace tmemsim {

// Which threads run a statement; inside a loop or `if` it narrows the outer one. Nothing named: every thread of every CTA.
struct Where {
  struct Span {
    std::uint32_t first = 0, last = 0;  // both included
    bool operator==(const Span&) const = default;
  };
  std::optional<std::uint32_t> cta;        // index in the grid
  std::optional<Span> warps;               // at most one of warps and warpgroup
  std::optional<std::uint32_t> warpgroup;  // warps 4g .. 4g+3
  std::optional<Span> lanes;               // at most one of lanes and elect
  bool elect = false;                      // one lane of each warp: the leader among the active ones
  bool operator==(const Where&) const = default;
};

struct Launch {
  std::uint32_t warps = 4;                           // 1..32 a CTA
  std::array<std::uint32_t, 3> cluster{1, 1, 1};     // at most 16 CTAs; x is fastest
  std::array<std::uint32_t, 3> grid{1, 1, 1};        // CTAs; a multiple of the cluster in each dimension
  std::uint32_t ctas_per_sm = 1;
  std::uint32_t held_columns = 0;                    // lowest columns of every SM that another kernel keeps: 0..480, multiple of 32
  bool operator==(const Launch&) const = default;
};

struct Stmt;
using Body = std::vector<Stmt>;

struct For {
  std::string variable;
  Expr begin, end, step{1};       // begin <= variable < end; step > 0
  Body body;
  bool operator==(const For&) const = default;
};
struct While {
  Expr condition;
  Body body;
  bool operator==(const While&) const = default;
};
struct If {
  Expr condition;
  Body then, otherwise;
  bool operator==(const If&) const = default;
};
struct Delay {
  std::uint32_t steps = 1;        // scheduler steps; a hint that no verdict may need
  bool operator==(const Delay&) const = default;
};
// A tile primitive after lowering: the primitive, the variant that lowered it, and the machine instructions it became.
struct Lowered {
  TileOps::Any origin;
  std::string variant;
  Body body;
  bool operator==(const Lowered&) const;
};

// The logical copy that the author of a machine instruction intends.
struct Means {
  Region dst, src;
  bool operator==(const Means&) const = default;
};

// What copies, compares and destroys one visits every operation there is: kernel.cpp does that once for everybody.
struct Stmt {
  using Node = std::variant<TileOps::Any, MachineOps::Any, For, While, If, Delay, Lowered>;

  SourceLoc at;
  std::string label;              // unique in the kernel; may be empty
  Where where;
  std::optional<Means> means;     // machine instructions only
  Node node;
  // "program[4].body[1]": set by number_statements(); statements inside Lowered carry the path of the primitive.
  std::string path;

  Stmt();
  Stmt(const Stmt&);
  Stmt(Stmt&&) noexcept;
  Stmt& operator=(const Stmt&);
  Stmt& operator=(Stmt&&) noexcept;
  ~Stmt();
  bool operator==(const Stmt&) const;
};

struct Kernel {
  std::string name;
  std::string doc;
  Target target = Target::sm_100a;
  PtxVersion ptx;
  Launch launch;
  std::vector<Buffer> buffers;
  Body body;
  std::vector<SourceFile> files;
  std::string folder;             // of the scenario file; .npy paths are relative to it
  bool operator==(const Kernel& other) const {
    return name == other.name && doc == other.doc && target == other.target && ptx == other.ptx && launch == other.launch &&
           buffers == other.buffers && body == other.body;
  }
};

std::uint32_t cta_count(const Launch& launch);
std::uint32_t cluster_size(const Launch& launch);
std::optional<BufferId> buffer_named(const Kernel& kernel, std::string_view name);

// Sets Stmt::path everywhere, from the structure.
void number_statements(Kernel& kernel);

// Calls `visit` for each body that stands inside a statement, in the order in which they are written.
void for_each_body(Stmt& stmt, const std::function<void(Body&)>& visit);
void for_each_body(const Stmt& stmt, const std::function<void(const Body&)>& visit);

// The threads that both allow (an inner `where` narrows an outer one). Nobody is a span whose first is above its last. The
// result may have lanes and elect: the leader among the active ones of these lanes.
Where narrowed(const Where& outer, const Where& inner);
// Lanes of a warp that `where` includes, elect left aside; 0 when the warp or CTA is not included.
std::uint32_t lanes_of(const Where& where, std::uint32_t cta, std::uint32_t warp);
// The execution scope that `where` names: lanes -> thread, one warp -> warp, an aligned group of four (or warpgroup) or a part
// of one -> warpgroup, otherwise cta. Lanes 0..31 are whole warps; elect is a thread.
Scope scope_of(const Where& where, const Launch& launch);

// ---- kernel/print.cpp, kernel/parse.cpp: the text form, at both levels. parse(print(k)) == k. ----
std::string print(const Kernel& kernel);
Kernel parse_kernel(std::string_view text, std::string file_name);  // throws InputError
std::string print(const Kernel& kernel, const Expr& expr);
std::string print(const Kernel& kernel, const Region& region);
std::string print(const Kernel& kernel, const Stmt& stmt);          // one line; bodies are left out

// ---- kernel/verify.cpp ----
enum class Level : std::uint8_t { tile, machine };
// Throws InputError for what is wrong whatever the program does: names, types, constant regions, layouts that do not fit their
// space. Level::machine also refuses tile primitives outside Lowered. Places shared buffers that have no offset.
void verify(Kernel& kernel, Level level);

}  // namespace tmemsim
