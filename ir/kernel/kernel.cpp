#include "ir/kernel/kernel.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tmemsim {
namespace {

constexpr std::uint32_t last_warp_possible = std::numeric_limits<std::uint32_t>::max();

std::uint32_t product(const std::array<std::uint32_t, 3>& extents) {
  std::uint64_t count = 1;
  for (std::uint32_t extent : extents) {
    count *= extent;
    if (count > std::numeric_limits<std::uint32_t>::max()) return std::numeric_limits<std::uint32_t>::max();
  }
  return static_cast<std::uint32_t>(count);
}

Where::Span warps_of(const Where& where) {
  if (where.warps) return *where.warps;
  if (where.warpgroup) return {4 * *where.warpgroup, 4 * *where.warpgroup + 3};
  return {0, last_warp_possible};
}

Where::Span common(const Where::Span& a, const Where::Span& b) { return {std::max(a.first, b.first), std::min(a.last, b.last)}; }

bool names_warps(const Where& where) { return where.warps || where.warpgroup; }

void narrow_warps(Where& result, const Where& outer, const Where& inner) {
  if (!names_warps(inner)) return;
  if (!names_warps(outer)) {
    result.warps = inner.warps;
    result.warpgroup = inner.warpgroup;
    return;
  }
  const Where::Span both = common(warps_of(outer), warps_of(inner));
  if (inner.warpgroup && both == warps_of(inner)) {
    result.warps.reset();
    result.warpgroup = inner.warpgroup;
  } else if (both != warps_of(outer)) {
    result.warpgroup.reset();
    result.warps = both;
  }
}

void number(Body& body, const std::string& prefix);

void number(Stmt& stmt, const std::string& path) {
  stmt.path = path;
  if (auto* loop = std::get_if<For>(&stmt.node)) number(loop->body, path + ".body");
  if (auto* loop = std::get_if<While>(&stmt.node)) number(loop->body, path + ".body");
  if (auto* branch = std::get_if<If>(&stmt.node)) {
    number(branch->then, path + ".then");
    number(branch->otherwise, path + ".else");
  }
}

void same_path(Body& body, const std::string& path) {
  for (Stmt& stmt : body) {
    stmt.path = path;
    for_each_body(stmt, [&](Body& inner) { same_path(inner, path); });
  }
}

void number(Body& body, const std::string& prefix) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    number(body[i], fmt::format("{}[{}]", prefix, i));
    if (auto* lowered = std::get_if<Lowered>(&body[i].node)) same_path(lowered->body, body[i].path);
  }
}

}  // namespace

bool Lowered::operator==(const Lowered&) const = default;

Stmt::Stmt() = default;
Stmt::Stmt(const Stmt&) = default;
Stmt::Stmt(Stmt&&) noexcept = default;
Stmt& Stmt::operator=(const Stmt&) = default;
Stmt& Stmt::operator=(Stmt&&) noexcept = default;
Stmt::~Stmt() = default;
bool Stmt::operator==(const Stmt&) const = default;

std::uint32_t cta_count(const Launch& launch) { return product(launch.grid); }
std::uint32_t cluster_size(const Launch& launch) { return product(launch.cluster); }

std::optional<BufferId> buffer_named(const Kernel& kernel, std::string_view name) {
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].name == name) return static_cast<BufferId>(i);
  }
  return std::nullopt;
}

void for_each_body(Stmt& stmt, const std::function<void(Body&)>& visit) {
  if (auto* loop = std::get_if<For>(&stmt.node)) visit(loop->body);
  if (auto* loop = std::get_if<While>(&stmt.node)) visit(loop->body);
  if (auto* lowered = std::get_if<Lowered>(&stmt.node)) visit(lowered->body);
  if (auto* branch = std::get_if<If>(&stmt.node)) {
    visit(branch->then);
    visit(branch->otherwise);
  }
}

void for_each_body(const Stmt& stmt, const std::function<void(const Body&)>& visit) {
  for_each_body(const_cast<Stmt&>(stmt), [&](Body& body) { visit(body); });
}

void number_statements(Kernel& kernel) { number(kernel.body, "program"); }

Where narrowed(const Where& outer, const Where& inner) {
  Where result = outer;
  narrow_warps(result, outer, inner);
  if (inner.lanes) result.lanes = outer.lanes ? common(*outer.lanes, *inner.lanes) : *inner.lanes;
  result.elect = outer.elect || inner.elect;
  if (inner.cta) {
    if (outer.cta && *outer.cta != *inner.cta) {
      result.warpgroup.reset();
      result.warps = Where::Span{1, 0};  // nobody is in two CTAs
    }
    result.cta = inner.cta;
  }
  return result;
}

std::uint32_t lanes_of(const Where& where, std::uint32_t cta, std::uint32_t warp) {
  if (where.cta && *where.cta != cta) return 0;
  const Where::Span warps = warps_of(where);
  if (warp < warps.first || warp > warps.last) return 0;
  if (!where.lanes) return ~0u;
  std::uint32_t mask = 0;
  for (std::uint32_t lane = where.lanes->first; lane <= where.lanes->last && lane < 32; ++lane) mask |= 1u << lane;
  return mask;
}

Scope scope_of(const Where& where, const Launch&) {
  const bool whole_warps = !where.lanes || (where.lanes->first == 0 && where.lanes->last >= 31);
  if (where.elect || !whole_warps) return Scope::thread;
  if (!names_warps(where)) return Scope::cta;
  const Where::Span warps = warps_of(where);
  if (warps.first == warps.last) return Scope::warp;
  return warps.first / 4 == warps.last / 4 ? Scope::warpgroup : Scope::cta;
}

}  // namespace tmemsim
