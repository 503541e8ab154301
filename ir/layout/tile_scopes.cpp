// Scope chain, fusion and splitting of thread axes.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace tmemsim {
namespace {

std::set<Axis> thread_axes(const TileLayout& layout) {
  std::set<Axis> axes;
  const auto note = [&](Axis axis) {
    if (is_thread(axis)) axes.insert(axis);
  };
  for (const Iter& iter : layout.shard) note(iter.axis);
  for (const Iter& iter : layout.replica) note(iter.axis);
  for (const AxisOffset& offset : layout.offset) note(offset.axis);
  return axes;
}

// Threads that one unit of a scope holds; 0 where the number is not fixed.
std::int64_t threads_of(Scope scope) {
  switch (scope) {
    case Scope::thread:
      return 1;
    case Scope::warp:
      return 32;
    case Scope::warpgroup:
      return 128;
    default:
      return 0;
  }
}

std::optional<Axis> axis_counting(Scope unit, Scope scope) {
  const auto* row = std::find_if(axis_table.begin(), axis_table.end(),
                                 [&](const AxisFacts& f) { return f.thread && f.unit == unit && f.scope == scope; });
  if (row == axis_table.end()) return std::nullopt;
  return row->axis;
}

Reason conflict(std::string_view why, const std::set<Axis>& axes) {
  std::string names;
  for (const Axis axis : axes)
    names +=
        fmt::format("{}{} ({} in {})", names.empty() ? "" : ", ", name(axis), name(facts(axis).unit), name(facts(axis).scope));
  return Reason{fmt::format("{}: {}", why, names), {}, {}, {}};
}

bool add_offset(std::vector<AxisOffset>& offsets, Axis axis, std::int64_t value) {
  for (AxisOffset& offset : offsets) {
    if (offset.axis != axis) continue;
    const auto sum = checked_add(offset.value, value);
    if (sum) offset.value = *sum;
    return sum.has_value();
  }
  offsets.push_back({axis, value});
  return true;
}

struct Split {
  Axis coarse, fine;
  std::int64_t unit;  // steps of the split axis in one step of `coarse`
};
std::optional<Split> split_of(Axis axis, Scope scope) {
  const AxisFacts& row = facts(axis);
  if (!row.thread || row.unit >= scope || row.scope <= scope) return std::nullopt;
  const auto coarse = axis_counting(scope, row.scope);
  const auto fine = axis_counting(row.unit, scope);
  if (!coarse || !fine || threads_of(scope) == 0) return std::nullopt;
  return Split{*coarse, *fine, threads_of(scope) / threads_of(row.unit)};
}

// One iter on a split axis as at most two iters, or nothing when it crosses the boundary unevenly.
std::optional<std::vector<Iter>> split_iter(const Iter& iter, const Split& split) {
  if (iter.stride < 0) return std::nullopt;
  if (iter.stride % split.unit == 0) return std::vector<Iter>{{iter.extent, iter.stride / split.unit, split.coarse}};
  if (iter.stride < split.unit && (iter.extent - 1) * iter.stride < split.unit)
    return std::vector<Iter>{{iter.extent, iter.stride, split.fine}};
  if (split.unit % iter.stride != 0 || iter.extent % (split.unit / iter.stride) != 0) return std::nullopt;
  const std::int64_t within = split.unit / iter.stride;
  return std::vector<Iter>{{iter.extent / within, 1, split.coarse}, {within, iter.stride, split.fine}};
}

}  // namespace

Result<std::optional<ScopeRange>> scope_range(const TileLayout& layout) {
  const std::set<Axis> axes = thread_axes(layout);
  if (axes.empty()) return std::optional<ScopeRange>{};
  std::array<std::optional<Scope>, 6> parent;
  std::array<bool, 6> is_parent{};
  for (const Axis axis : axes) {
    std::optional<Scope>& known = parent[static_cast<std::size_t>(facts(axis).unit)];
    if (known && *known != facts(axis).scope) return conflict("thread axes contradict each other", axes);
    known = facts(axis).scope;
    is_parent[static_cast<std::size_t>(facts(axis).scope)] = true;
  }
  std::optional<Scope> lowest;
  for (std::size_t k = 0; k < parent.size(); ++k) {
    if (!parent[k] || is_parent[k]) continue;
    if (lowest) return conflict("thread axes leave a gap", axes);
    lowest = static_cast<Scope>(k);
  }
  Scope at = *lowest;
  while (parent[static_cast<std::size_t>(at)]) at = *parent[static_cast<std::size_t>(at)];
  return std::optional(ScopeRange{*lowest, at});
}

Result<TileLayout> fuse_scopes(const TileLayout& layout, Scope scope) {
  const auto range = scope_range(layout);
  if (!range) return range.reason();
  if (!*range) return canonical(layout);
  if ((*range)->scope != scope) {
    return Reason{fmt::format("the thread axes count within a {}, not a {}", name((*range)->scope), name(scope)), {}, {}, {}};
  }
  const auto target = axis_counting((*range)->unit, scope);
  if (!target || threads_of((*range)->unit) == 0 || scope > Scope::cta)
    return canonical(layout);  // CTA axes have no common axis

  TileLayout fused = layout;
  fused.offset.clear();
  const auto factor = [&](Axis axis) { return threads_of(facts(axis).unit) / threads_of((*range)->unit); };
  for (std::vector<Iter>* iters : {&fused.shard, &fused.replica}) {
    for (std::size_t k = 0; k < iters->size(); ++k) {
      Iter& iter = (*iters)[k];
      if (!is_thread(iter.axis)) continue;
      const auto stride = checked_mul(iter.stride, factor(iter.axis));
      if (!stride) return Reason{fmt::format("the stride of iter {} exceeds 64 bits on {}", k, name(*target)), k, {}, {}};
      iter = Iter{iter.extent, *stride, *target};
    }
  }
  for (const AxisOffset& offset : layout.offset) {
    const bool thread = is_thread(offset.axis);
    const auto value = thread ? checked_mul(offset.value, factor(offset.axis)) : std::optional(offset.value);
    if (!value || !add_offset(fused.offset, thread ? *target : offset.axis, *value)) {
      return Reason{fmt::format("the offsets on {} exceed 64 bits", name(offset.axis)), {}, {}, {}};
    }
  }
  if (auto reason = problem_with(fused)) return *reason;
  return canonical(fused);
}

Result<TileLayout> split_scopes(const TileLayout& layout, Scope scope) {
  TileLayout result = layout;
  const auto split_all = [&](const std::vector<Iter>& iters, std::vector<Iter>& out) -> std::optional<Reason> {
    out.clear();
    for (std::size_t k = 0; k < iters.size(); ++k) {
      const auto split = split_of(iters[k].axis, scope);
      if (!split || iters[k].extent == 1) {
        out.push_back(iters[k]);
        continue;
      }
      const auto parts = split_iter(iters[k], *split);
      if (!parts) {
        return Reason{fmt::format("iter {}, {}:{}@{}, crosses the boundary of a {} unevenly", k, iters[k].extent,
                                  iters[k].stride, name(iters[k].axis), name(scope)),
                      k,
                      {},
                      {}};
      }
      out.insert(out.end(), parts->begin(), parts->end());
    }
    return std::nullopt;
  };
  if (auto reason = split_all(layout.shard, result.shard)) return *reason;
  if (auto reason = split_all(layout.replica, result.replica)) return *reason;
  result.offset.clear();
  for (const AxisOffset& offset : layout.offset) {
    const auto split = split_of(offset.axis, scope);
    if (!split) {
      result.offset.push_back(offset);
      continue;
    }
    if (offset.value < 0)
      return Reason{fmt::format("the negative offset on {} cannot be split", name(offset.axis)), {}, {}, {}};
    add_offset(result.offset, split->coarse, offset.value / split->unit);
    add_offset(result.offset, split->fine, offset.value % split->unit);
  }
  std::sort(result.offset.begin(), result.offset.end(),
            [](const AxisOffset& a, const AxisOffset& b) { return a.axis < b.axis; });
  return result;
}

}  // namespace tmemsim
