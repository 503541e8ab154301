// fill: registers are set where they are, shared and global memory is stored to from scratch registers.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "lower/copy/access.hpp"
#include "lower/copy/share.hpp"
#include "lower/pieces.hpp"
#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

std::uint64_t bits_of(Dtype dtype, const Number& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return encode_int(dtype, *integer);
  return encode(dtype, std::get<double>(value));
}

// One 32-bit register: which of its bits the fill sets, and to what.
struct Word {
  std::uint32_t mask = 0, value = 0;
};

void set_bits(std::map<std::int64_t, Word>& words, std::int64_t first_bit, std::int64_t count, std::uint64_t value) {
  for (std::int64_t bit = 0; bit < count; ++bit) {
    Word& word = words[(first_bit + bit) / 32];
    const std::uint32_t one = 1u << ((first_bit + bit) % 32);
    word.mask |= one;
    if ((value >> bit & 1) != 0) word.value |= one;
  }
}

// Sets one register, keeping what does not belong to the fill.
Expr new_value(const Operand& local, std::uint16_t row, const Word& word) {
  const Expr value(static_cast<std::int32_t>(word.value));
  if (word.mask == 0xffffffffu) return value;
  const Expr kept = Expr::binary(ExprOp::bit_and, Expr::reg(local.id, row), Expr(static_cast<std::int32_t>(~word.mask)));
  return Expr::binary(ExprOp::bit_or, kept, value);
}

Stmt move(const Operand& local, std::vector<std::uint16_t> rows, Expr value) {
  Stmt result;
  result.node = Move{{local.id, std::move(rows)}, Value(std::move(value))};
  return result;
}

Outcome fill_registers(const Request& request, const Region& dst) {
  const auto& fill = std::get<Fill>(request.primitive());
  const auto local = operand_of(request.kernel, dst, request.threads);
  if (!local) return Declined{"regions", local.reason().text, {}};
  if (!local->moving.empty()) return Declined{"regions", "the region moves with a variable, but registers are named when the kernel is built", {}};
  if (local->swizzle) return Declined{"registers", "the register layout is swizzled; registers have no addresses", "the same layout without swizzle"};

  std::vector<AxisDigit> owned;
  std::vector<StepDigit> steps;
  Point offset = local->offset;
  const auto sort_in = [&](const Iter& iter, bool replica) {
    if (!is_thread(iter.axis) || iter.stride == 0) {
      steps.push_back({iter.extent, is_thread(iter.axis) ? 0 : iter.stride * local->bits, 0});
      return;
    }
    if (iter.stride < 0) at(offset, iter.axis) += (iter.extent - 1) * iter.stride;
    owned.push_back({iter.extent, std::abs(iter.stride), iter.axis, owned.size(), replica});
  };
  for (const Iter& iter : local->shard) sort_in(iter, false);
  for (const Iter& iter : local->replica) sort_in(iter, true);
  const auto owners = Owners::of(request.threads, owned, offset, local->named, true);
  if (!owners) return Declined{"ownership", owners.reason().text, {}};

  std::map<std::int64_t, Word> words;
  const std::uint64_t value = bits_of(local->buffer->dtype, fill.src);
  for (const Position& step : positions(steps)) set_bits(words, at(local->offset, Axis::m) * local->bits + step.a, local->bits, value);
  Plan plan;
  for (auto word = words.begin(); word != words.end();) {  // whole registers of one value in one statement
    std::vector<std::uint16_t> rows{static_cast<std::uint16_t>(word->first)};
    auto next = std::next(word);
    if (word->second.mask == 0xffffffffu) {
      for (; next != words.end() && next->second.mask == word->second.mask && next->second.value == word->second.value; ++next) {
        rows.push_back(static_cast<std::uint16_t>(next->first));
      }
    }
    Expr moved = new_value(*local, rows.front(), word->second);
    plan.body.push_back(move(*local, std::move(rows), std::move(moved)));
    word = next;
  }
  if (auto guard = owners->guard(false)) {
    Stmt guarded;
    guarded.node = If{std::move(*guard), std::move(plan.body), {}};
    plan.body.clear();
    plan.body.push_back(std::move(guarded));
  }
  if (request.explain) plan.proof.push_back(fmt::format("{} registers a thread", words.size()));
  return plan;
}

Outcome fill_memory(const Request& request, const Region& region) {
  const auto& fill = std::get<Fill>(request.primitive());
  const auto dst = operand_of(request.kernel, region, request.threads);
  if (!dst) return Declined{"regions", dst.reason().text, {}};
  return share_elements(request, *dst, nullptr, bits_of(dst->buffer->dtype, fill.src));
}

}  // namespace

Outcome plan_fill_local(const Request& request) {
  const Region& region = std::get<Fill>(request.primitive()).dst;
  return plan_by_pieces(request, region, region, [&](const Region& dst, const Region&) { return fill_registers(request, dst); });
}

Outcome plan_fill_memory(const Request& request) {
  const Region& region = std::get<Fill>(request.primitive()).dst;
  return plan_by_pieces(request, region, region, [&](const Region& dst, const Region&) { return fill_memory(request, dst); });
}

}  // namespace tmemsim::lower
