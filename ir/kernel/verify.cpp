#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ir/kernel/kernel.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/kernel/text_form.hpp"
#include "ir/kernel/verify_parts.hpp"
#include "ir/tcgen05.hpp"

namespace tmemsim {
namespace {

using namespace verifier;

class KernelChecker {
 public:
  KernelChecker(const Kernel& kernel, Level level) : kernel_(kernel), level_(level) {}

  void check() {
    name();
    launch();
    check_buffers(kernel_);
    body(kernel_.body, 1, false);
  }

 private:
  [[noreturn]] void fail(SourceLoc at, std::string message, std::string hint = {}) const {
    input_error(kernel_.files, at, std::move(message), std::move(hint));
  }
  // The head of a kernel has no location of its own.
  [[noreturn]] void fail_head(std::string message, std::string hint = {}) const { fail({0, 1, 1}, std::move(message), std::move(hint)); }

  void name() const {
    const auto fits = [](char c) { return text_form::in_word(c) && c != '.'; };
    if (kernel_.name.empty() || kernel_.name.size() > 128 || !std::all_of(kernel_.name.begin(), kernel_.name.end(), fits)) {
      fail_head(fmt::format("'{}' is no name for a kernel", kernel_.name), "letters, digits, _ and -");
    }
  }

  void launch() const {
    const Launch& launch = kernel_.launch;
    if (launch.warps < 1 || launch.warps > 32) fail_head(fmt::format("a CTA has 1 to 32 warps, not {}", launch.warps));
    for (std::size_t d = 0; d < 3; ++d) {
      if (launch.cluster[d] < 1 || launch.grid[d] < 1) fail_head("grid and cluster have at least one CTA in each dimension");
      if (launch.grid[d] % launch.cluster[d] != 0) {
        fail_head(fmt::format("the grid ({} CTAs in dimension {}) is no multiple of the cluster ({})", launch.grid[d], d, launch.cluster[d]));
      }
    }
    if (cluster_size(launch) > 16) fail_head(fmt::format("a cluster has at most 16 CTAs, not {}", cluster_size(launch)));
    const std::int64_t ctas = cta_count(launch);
    if (ctas > most_ctas || ctas * launch.warps * 32 > most_threads) {
      fail_head(fmt::format("{} CTAs of {} warps are too many to simulate", ctas, launch.warps),
                fmt::format("at most {} CTAs and {} threads", most_ctas, most_threads));
    }
    if (launch.ctas_per_sm < 1 || launch.ctas_per_sm > 32) fail_head(fmt::format("an SM holds 1 to 32 CTAs, not {}", launch.ctas_per_sm));
    if (launch.held_columns > 480 || launch.held_columns % tcgen05::granule_columns != 0) {
      fail_head(fmt::format("held_columns is a multiple of 32, 0 to 480, not {}", launch.held_columns));
    }
  }

  void body(const Body& body, int depth, bool in_lowered) {
    if (body.empty()) return;
    if (depth > text_form::deepest_body) {
      fail(body.front().at, fmt::format("bodies stand more than {} deep in one another", text_form::deepest_body));
    }
    for (const Stmt& stmt : body) statement(stmt, depth, in_lowered);
  }

  void statement(const Stmt& stmt, int depth, bool in_lowered) {
    if (++statements_ > text_form::most_statements) fail(stmt.at, fmt::format("a kernel has at most {} statements", text_form::most_statements));
    label(stmt);
    where(stmt);
    const bool is_lowered = std::holds_alternative<Lowered>(stmt.node);
    const bool is_tile = std::holds_alternative<TileOps::Any>(stmt.node);
    if (is_tile && level_ == Level::machine) fail(stmt.at, "a tile primitive is left, and only machine instructions can run");
    if ((is_tile || is_lowered) && in_lowered) fail(stmt.at, "a tile primitive cannot stand inside a lowered one");
    check_operands(kernel_, stmt, loops_);
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop != nullptr) loops_.push_back(loop->variable);
    for_each_body(stmt, [&](const Body& inner) { body(inner, depth + 1, in_lowered || is_lowered); });
    if (loop != nullptr) loops_.pop_back();
  }

  void label(const Stmt& stmt) {
    if (stmt.label.empty()) return;
    const bool plain = stmt.label.size() <= 128 && std::none_of(stmt.label.begin(), stmt.label.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '[';
    });
    if (!plain) fail(stmt.at, "a label is a short text of one line, without [");
    const auto [first, is_new] = labels_.emplace(stmt.label, stmt.at.line);
    if (is_new) return;
    const std::string where = first->second > 0 ? fmt::format("line {} has it too", first->second) : std::string();
    fail(stmt.at, fmt::format("two statements have the label '{}'", stmt.label), where);
  }

  void where(const Stmt& stmt) const {
    const Where& where = stmt.where;
    const Launch& launch = kernel_.launch;
    const std::string warps = fmt::format("the launch has {} warps a CTA", launch.warps);
    if (where.warps && where.warpgroup) fail(stmt.at, "a statement names warps or a warpgroup, not both");
    if (where.lanes && where.elect) fail(stmt.at, "a statement names lanes or elect, not both");
    if (where.cta && *where.cta >= cta_count(launch)) {
      fail(stmt.at, fmt::format("there is no CTA {}", *where.cta), fmt::format("the launch has {} CTAs", cta_count(launch)));
    }
    if (where.warps && where.warps->last >= launch.warps) fail(stmt.at, fmt::format("there is no warp {}", where.warps->last), warps);
    if (where.warpgroup && std::int64_t{4} * *where.warpgroup + 3 >= launch.warps) {
      fail(stmt.at, fmt::format("there is no whole warpgroup {}", *where.warpgroup), warps);
    }
    if (where.lanes && where.lanes->last > 31) fail(stmt.at, "a warp has lanes 0 to 31");
    for (const auto& span : {where.warps, where.lanes}) {
      if (span && span->first > span->last) fail(stmt.at, fmt::format("{}..{} holds nothing", span->first, span->last), "the smaller one first");
    }
  }

  const Kernel& kernel_;
  const Level level_;
  std::vector<std::string> loops_;
  std::map<std::string, std::uint32_t> labels_;
  std::size_t statements_ = 0;
};

}  // namespace

void verify(Kernel& kernel, Level level) {
  KernelChecker(kernel, level).check();
  place_shared(kernel);
  number_statements(kernel);
}

}  // namespace tmemsim
