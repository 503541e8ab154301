#include "tests/conformance/lowering_cases.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/layout/tile_algebra.hpp"
#include "lower/lower.hpp"
#include "tests/symbolic_copy.hpp"

namespace tmemsim::conformance {
namespace {

bool is_file(const Case& one, std::string_view name) { return one.file == name; }

Dtype dtype_of(const YAML::Node& node) {
  static const std::map<std::string, Dtype> names{
      {"float64", Dtype::f64}, {"float32", Dtype::f32}, {"float16", Dtype::f16}, {"bfloat16", Dtype::bf16},
      {"float8_e4m3fn", Dtype::e4m3}, {"float8_e5m2", Dtype::e5m2}, {"float6_e3m2fn", Dtype::e3m2}, {"float6_e2m3fn", Dtype::e2m3},
      {"float4_e2m1fn", Dtype::e2m1}, {"int8", Dtype::s8}, {"uint8", Dtype::u8}, {"int16", Dtype::s16}, {"uint16", Dtype::u16},
      {"int32", Dtype::s32}, {"uint32", Dtype::u32}, {"uint64", Dtype::u64}, {"int64", Dtype::u64}};
  const auto found = names.find(text(node));
  if (found == names.end()) throw BadCase(node, "unknown dtype " + text(node));
  return found->second;
}

Axis axis_of(const YAML::Node& node) {
  const auto axis = axis_named(text(node));
  if (!axis) throw BadCase(node, "unknown axis " + text(node));
  return *axis;
}

std::vector<Iter> iters_of(const YAML::Node& list) {
  std::vector<Iter> iters;
  for (const YAML::Node& iter : list) iters.push_back({integer(iter[0]), integer(iter[1]), iter.size() > 2 ? axis_of(iter[2]) : Axis::m});
  return iters;
}

TileLayout plain_layout(const YAML::Node& node) {
  TileLayout layout;
  layout.shard = iters_of(need(node, "shard"));
  if (node["replica"]) layout.replica = iters_of(node["replica"]);
  if (node["offset"]) {
    for (const auto& entry : node["offset"]) layout.offset.push_back({axis_of(entry.first), integer(entry.second)});
  }
  return layout;
}

// A swizzle alone is written over one period of it; it then means row-major of the whole shape.
TileLayout layout_of_case(const YAML::Node& node, const std::vector<std::int64_t>& shape) {
  if (!node["swizzle"]) return plain_layout(node);
  TileLayout layout = plain_layout(need(node, "tile"));
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  if (size(layout) != elements) layout = row_major(shape);
  const YAML::Node swizzle = node["swizzle"];
  layout.swizzle = Swizzle{static_cast<int>(integer(need(swizzle, "per_element"))), static_cast<int>(integer(need(swizzle, "swizzle_len"))),
                           static_cast<int>(integer(need(swizzle, "atom_len"))), need(swizzle, "inner").as<bool>()};
  return layout;
}

Space space_of(const YAML::Node& node) {
  const std::string name = text(node);
  const auto& names = Keywords<Space>::names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw BadCase(node, "unknown space " + name);
  return static_cast<Space>(found - names.begin());
}

Buffer buffer_of(std::string name, Space space, Dtype dtype, const YAML::Node& node) {
  Buffer buffer;
  buffer.name = std::move(name);
  buffer.space = space;
  buffer.dtype = dtype;
  buffer.shape = integers(need(node, "shape"));
  if (node["layout"]) buffer.layout = layout_of_case(node["layout"], buffer.shape);
  if (space == Space::shared) buffer.offset = 0;
  return buffer;
}

Region region_of(BufferId buffer, const YAML::Node& node) {
  Region region{buffer, {}};
  if (!node["region"]) return region;
  for (const YAML::Node& bounds : node["region"]) region.box.push_back({Expr(integer(bounds[0])), Expr(integer(bounds[1]))});
  return region;
}

// A kernel of one statement on the threads that the scope names.
Kernel kernel_for(const std::string& scope, std::int64_t threads) {
  Kernel kernel;
  kernel.name = "conformance";
  kernel.launch.warps = static_cast<std::uint32_t>(std::max<std::int64_t>(scope == "warpgroup" ? 4 : 1, threads / 32));
  Stmt stmt;
  if (scope == "thread") {
    stmt.where.warps = Where::Span{0, 0};
    stmt.where.lanes = Where::Span{0, 0};
  } else if (scope == "warp") {
    stmt.where.warps = Where::Span{0, 0};
  } else if (scope == "warpgroup") {
    stmt.where.warpgroup = 0;
  } else if (scope != "cta") {
    throw std::runtime_error("unknown scope " + scope);
  }
  kernel.body.push_back(std::move(stmt));
  return kernel;
}

// What a case demands: that the copy is exact, or that it may also be refused; and at most this much of it.
struct Demand {
  bool may_refuse = false;
  std::int64_t most_issues = 0, most_accesses = 0, least_bytes = 0;  // 0: no bound
};

Demand demand_of(const YAML::Node& one) {
  const YAML::Node expect = need(one, "expect");
  const auto is_false = [&](const char* key) { return expect[key] && expect[key].IsScalar() && expect[key].Scalar() == "false"; };
  Demand demand;
  demand.may_refuse = one["tirx_defect"].IsDefined() || is_false("logically_exact") || is_false("emitted_matches_layout") ||
                      text(need(expect, "verdict")) != "accept";
  return demand;
}

struct Judgement {
  std::string failure;  // empty: passed
};

Judgement judge(Kernel kernel, const Demand& demand, const std::string& direction) {
  const auto complain = [&](const std::string& what) { return Judgement{direction + ": " + what}; };
  try {
    verify(kernel, Level::tile);
    const Kernel lowered = lower::lower(kernel);
    const tests::SymbolicResult result = tests::run_symbolically(lowered);
    if (!result.problem.empty()) return complain(result.problem);
    int issues = 0;
    for (const auto& [warp, count] : result.issues) issues = std::max(issues, count);
    if (demand.most_issues > 0 && issues > demand.most_issues) return complain(fmt::format("{} instructions a warp instead of {}", issues, demand.most_issues));
    if (demand.most_accesses > 0 && result.accesses > demand.most_accesses) {
      return complain(fmt::format("{} accesses a thread instead of {}", result.accesses, demand.most_accesses));
    }
    if (result.narrowest < demand.least_bytes) return complain(fmt::format("{} bytes an access instead of {}", result.narrowest, demand.least_bytes));
  } catch (const lower::Refused& refused) {
    if (!demand.may_refuse) return complain(refused.text());
    if (refused.refusals().empty()) return complain("refused without a reason");
  } catch (const InputError& error) {
    if (!demand.may_refuse) return complain(error.what());
  }
  return {};
}

Outcome run_tensor_case(const YAML::Node& one) {
  Demand demand = demand_of(one);
  if (!demand.may_refuse) demand.most_issues = static_cast<std::int64_t>(need(one["expect"], "issues").size());
  const Dtype dtype = dtype_of(need(one, "dtype"));
  const std::string scope = one["scope"] ? text(one["scope"]) : "warpgroup";
  for (const YAML::Node& direction : need(one, "directions")) {
    Kernel kernel = kernel_for(scope, 128);
    Buffer slot;
    slot.name = "slot";
    slot.space = Space::shared;
    slot.dtype = Dtype::u32;
    slot.shape = {1};
    slot.offset = 0;
    Buffer tmem = buffer_of("tmem", Space::tmem, dtype, need(one, "tmem"));
    tmem.slot = 0;
    kernel.buffers = {slot, tmem, buffer_of("frag", Space::local, dtype, need(one, "frag"))};
    const Region cells = region_of(1, one["tmem"]), registers = region_of(2, one["frag"]);
    const bool is_load = text(direction) == "ld";
    kernel.body[0].node = TileOps::Any(is_load ? CopyAsync{registers, cells, {}} : CopyAsync{cells, registers, {}});
    const Judgement judgement = judge(kernel, demand, text(direction));
    if (!judgement.failure.empty()) return failed(judgement.failure);
  }
  return passed();
}

Outcome run_both_ways(const Kernel& base, const Region& first, const Region& second, const YAML::Node& directions, const Demand& demand) {
  std::set<std::string> wanted{"mem->reg", "reg->mem"};
  if (directions) {
    wanted.clear();
    for (const YAML::Node& direction : directions) wanted.insert(text(direction));
  }
  for (const std::string& direction : wanted) {
    Kernel kernel = base;
    const bool forward = direction == "mem->reg";
    kernel.body[0].node = TileOps::Any(forward ? Copy{first, second, {}} : Copy{second, first, {}});
    const Judgement judgement = judge(kernel, demand, direction);
    if (!judgement.failure.empty()) return failed(judgement.failure);
  }
  return passed();
}

Outcome run_register_case(const YAML::Node& one) {
  Demand demand = demand_of(one);
  const Dtype dtype = dtype_of(need(one, "dtype"));
  if (!demand.may_refuse) {
    demand.least_bytes = integer(need(one["expect"], "vec")) * bits(dtype) / 8;
    demand.most_accesses = integer(need(one["expect"], "outer"));
  }
  Kernel kernel = kernel_for(text(need(one, "scope")), integer(need(one, "n_threads")));
  kernel.buffers = {buffer_of("reg", Space::local, dtype, need(one, "reg")), buffer_of("mem", space_of(need(one, "other_side")), dtype, need(one, "mem"))};
  return run_both_ways(kernel, region_of(0, one["reg"]), region_of(1, one["mem"]), one["directions"], demand);
}

Outcome run_memory_case(const YAML::Node& one) {
  Demand demand = demand_of(one);
  const Dtype dtype = dtype_of(need(one, "dtype"));
  if (!demand.may_refuse) {
    demand.least_bytes = integer(need(one["expect"], "vec")) * bits(dtype) / 8;
    demand.most_accesses = 2 * integer(need(one["expect"], "outer"));  // a load and a store each
  }
  Kernel kernel = kernel_for(text(need(one, "scope")), integer(need(one, "n_threads")));
  kernel.buffers = {buffer_of("shared", Space::shared, dtype, one), buffer_of("global", Space::global, dtype, one)};
  return run_both_ways(kernel, Region{0, {}}, Region{1, {}}, YAML::Node(YAML::NodeType::Undefined), demand);
}

}  // namespace

bool is_lowering_case(const Case& one) { return is_file(one, "tirx_tcgen05_cases") || is_file(one, "tirx_reg_copy_cases"); }

// TIRx's own bookkeeping of active threads and scopes, and copies between registers, are no cases of ours.
Outcome run_lowering_case(const Case& one) {
  const std::string kind = one.node["kind"] ? text(one.node["kind"]) : "";
  if (kind == "active_threads" || kind == "exec_scope" || kind == "missing_allocated_addr") return skipped(kind);
  if (kind.starts_with("gmem_smem")) return run_memory_case(one.node);  // "gmem_smem->fallback" too
  if (!kind.empty()) throw BadCase(one.node["kind"], "unknown kind " + kind);
  if (one.node["tmem"]) return run_tensor_case(one.node);
  if (text(need(one.node, "other_side")) == "local") return skipped("local to local");
  return run_register_case(one.node);
}

}  // namespace tmemsim::conformance
