#include "lower/copy/share.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "lower/copy/access.hpp"
#include "lower/copy/address.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::int64_t largest_bytes = std::int64_t{1} << 31;

Stmt statement(decltype(Stmt::node) node) {
  Stmt result;
  result.node = std::move(node);
  return result;
}

// Number of the executing thread among those that execute the statement, from 0.
Expr thread_number(const Threads& threads) {
  const Expr warp = sum(Expr::coordinate(ExprOp::warp), Expr(-threads.first_warp));
  if (threads.elect) return threads.warps() == 1 ? Expr(0) : warp;
  const Expr lane = threads.lanes() == 1 ? Expr(0) : sum(Expr::coordinate(ExprOp::lane), Expr(-threads.first_lane));
  if (threads.warps() == 1) return lane;
  if (threads.whole_warps()) return sum(Expr::coordinate(ExprOp::tid), Expr(-threads.first()));
  return sum(scaled(warp, threads.lanes()), lane);
}

// Digits of an index below `size`, as byte terms of the two memories.
struct Terms {
  Expr a{0}, b{0};
};
Terms terms_of(const std::vector<StepDigit>& digits, const Expr& index) {
  Terms terms;
  std::int64_t weight = 1;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    Expr digit = Expr::binary(ExprOp::div, index, Expr(weight));
    if (k + 1 < digits.size()) digit = Expr::binary(ExprOp::mod, digit, Expr(digits[k].extent));
    terms.a = sum(terms.a, scaled(digit, digits[k].a / 8));
    terms.b = sum(terms.b, scaled(digit, digits[k].b / 8));
    weight *= digits[k].extent;
  }
  return terms;
}

// The lowest digits of the list that make up exactly `count`; the rest stays in the list. Nothing when no cut gives that.
std::optional<std::vector<StepDigit>> split_off(std::vector<StepDigit>& digits, std::int64_t count) {
  std::vector<StepDigit> low;
  std::vector<StepDigit> high = digits;
  while (count > 1) {
    if (high.empty()) return std::nullopt;
    StepDigit& digit = high.front();
    const std::int64_t taken = std::min(digit.extent, count);
    if (digit.extent % taken != 0 || count % taken != 0) return std::nullopt;
    low.push_back({taken, digit.a, digit.b});
    count /= taken;
    if (digit.extent == taken) {
      high.erase(high.begin());
    } else {
      digit = {digit.extent / taken, digit.a * taken, digit.b * taken};
    }
  }
  digits = std::move(high);
  return low;
}

Terms sum_of(const Terms& x, const Terms& y) { return {sum(x.a, y.a), sum(x.b, y.b)}; }

std::int64_t product(const std::vector<StepDigit>& digits) {
  std::int64_t count = 1;
  for (const StepDigit& digit : digits) count *= digit.extent;
  return count;
}

// How the accesses fall on the threads: `rounds` full rounds of the wide access, then `left` small accesses.
struct Schedule {
  Access wide;
  std::int64_t rounds = 0, left = 0;
  std::int64_t cost(std::int64_t threads) const { return rounds + (left + threads - 1) / threads; }
};

class Sharing {
 public:
  Sharing(const Request& request, const Operand& dst, const Operand* src, std::uint64_t value)
      : request_(request), dst_(dst), src_(src), value_(value), threads_(request.threads.count()) {}

  Outcome plan() {
    if (auto problem = take_digits()) return Declined{"regions", *problem, {}};
    if (auto problem = surroundings()) return Declined{"width", *problem, {}};
    if (auto problem = choose_schedule()) return Declined{"width", *problem, "elements that begin and end at whole bytes"};
    name_loop();
    Plan plan;
    plan.needs_scratch = true;
    if (src_ == nullptr) set_scratch(plan.body);
    if (schedule_.rounds > 0) emit_rounds(plan.body);
    if (schedule_.left > 0) emit_tail(plan.body);
    if (request_.explain) plan.proof = proof();
    return plan;
  }

 private:
  std::optional<std::string> take_digits() {
    const auto digits = digits_in_step(dst_, src_ ? *src_ : dst_);
    if (!digits) return digits.reason().text;
    for (const Digit& digit : *digits) digits_.push_back({digit.extent, digit.a.stride * dst_.bits, digit.b.stride * dst_.bits});
    for (const Iter& replica : dst_.replica) digits_.push_back({replica.extent, replica.stride * dst_.bits, src_ ? 0 : replica.stride * dst_.bits});
    std::vector<Stretch> stretches;
    for (const StepDigit& digit : digits_) stretches.push_back({digit.extent, digit.a});
    return overlap(std::move(stretches), dst_.bits);
  }

  // Constant part of an operand's address in bits, and what moves it.
  std::optional<std::string> surround(const Operand& memory, std::int64_t& offset, std::vector<std::int64_t>& strides, std::int64_t& cap) {
    const auto kept = bits_kept_together(memory);
    if (!kept) return fmt::format("a swizzle of {}-bit elements does not move whole bytes", memory.bits);
    cap = *kept;
    offset = at(memory.offset, Axis::m) * memory.bits;
    strides.push_back(memory.buffer->offset.value_or(0) * 8);
    for (const Moving& moving : memory.moving) strides.push_back(moving.stride * memory.bits);
    return std::nullopt;
  }

  std::optional<std::string> surroundings() {
    around_.a_is_registers = false;
    if (auto problem = surround(dst_, around_.a_offset, around_.a_strides, around_.a_cap)) return problem;
    return surround(src_ ? *src_ : dst_, around_.b_offset, around_.b_strides, around_.b_cap);
  }

  std::optional<std::string> choose_schedule() {
    const Access small = widest_access(digits_, dst_.bits, around_, std::max<std::int64_t>(1, dst_.bits / 8));
    if (small.bytes == 0) return fmt::format("not even single bytes can be moved; {}", small.stopped.back());
    small_bytes_ = small.bytes;
    if (src_ == nullptr && dst_.bits == 6 && !value_is_bytes()) return std::string("a pattern of 6-bit elements repeats after three bytes only");
    for (const std::int64_t bytes : {16, 8, 4, 2, 1}) {
      Access access = widest_access(digits_, dst_.bits, around_, bytes);
      if (access.bytes != bytes) continue;
      const std::int64_t count = product(access.steps);
      Schedule schedule{std::move(access), count / threads_, count % threads_ * (bytes / small_bytes_)};
      if (bytes < small_bytes_) break;
      if (schedule_.wide.bytes == 0 || schedule.cost(threads_) < schedule_.cost(threads_)) schedule_ = std::move(schedule);
    }
    // Neighbouring threads take neighbouring accesses of the source.
    std::stable_sort(schedule_.wide.steps.begin(), schedule_.wide.steps.end(), [](const StepDigit& x, const StepDigit& y) { return x.b < y.b; });
    for (const StepDigit& digit : digits_) {
      for (const std::int64_t stride : {digit.a, digit.b}) {
        if (stride * digit.extent / 8 > largest_bytes || stride * digit.extent / 8 < -largest_bytes) return std::string("the buffer is larger than 2 GiB");
      }
    }
    return std::nullopt;
  }

  bool value_is_bytes() const { return value_ == 0 || value_ == 63; }

  void name_loop() {
    const auto taken = [&](const Operand* memory) {
      return memory != nullptr && std::any_of(memory->moving.begin(), memory->moving.end(), [&](const Moving& moving) {
               bool found = false;
               moving.expr.for_each_node([&](const Expr& node) { found = found || (node.op() == ExprOp::loop && node.loop_name() == loop_); });
               return found;
             });
    };
    while (taken(&dst_) || taken(src_)) loop_ += "_";
  }

  Expr byte_of(const Operand& memory, const Expr& terms, bool is_dst) const {
    const MovingTerms moving = moving_bytes(memory);
    std::int64_t granule = std::gcd(moving.granule, small_bytes_);
    if (moving.granule == 0) granule = small_bytes_;
    const std::int64_t constant = (is_dst ? around_.a_offset : around_.b_offset) / 8;
    return MemoryAddress(memory, sum(terms, moving.bytes), constant, granule).at(0);
  }

  // One access of every thread: load and store, or store alone.
  void emit_access(Body& body, const Terms& terms, std::int64_t bytes) const {
    Rows rows{request_.scratch, {}};
    for (std::uint16_t row = 0; row < std::max<std::int64_t>(1, bytes / 4); ++row) rows.rows.push_back(row);
    const auto width = static_cast<std::uint8_t>(bytes);
    if (src_ != nullptr) {
      body.push_back(statement(MachineOps::Any(Load{rows, Mem{src_->id, {}, byte_of(*src_, terms.b, false)}, width, {}, Sem::weak, MemScope::cta, {}})));
    }
    body.push_back(statement(MachineOps::Any(Store{Mem{dst_.id, {}, byte_of(dst_, terms.a, true)}, rows, width, {}, Sem::weak, MemScope::cta, {}})));
  }

  void emit_rounds(Body& body) const {
    const Expr thread = thread_number(request_.threads);
    const Expr round = schedule_.rounds == 1 ? Expr(0) : Expr::loop(loop_);
    std::vector<StepDigit> rest = schedule_.wide.steps;
    Terms terms;
    if (const auto low = split_off(rest, threads_)) {
      terms = sum_of(terms_of(*low, thread), terms_of(rest, round));
    } else {
      terms = terms_of(schedule_.wide.steps, sum(scaled(round, threads_), thread));
    }
    Body inner;
    emit_access(inner, terms, schedule_.wide.bytes);
    emit_loop(body, schedule_.rounds, std::move(inner));
  }

  // What is left after the full rounds, in small accesses: number q is part q % parts of wide access rounds * threads + q / parts.
  void emit_tail(Body& body) const {
    const std::int64_t parts = schedule_.wide.bytes / small_bytes_;
    const std::int64_t rounds = (schedule_.left + threads_ - 1) / threads_;
    const Expr round = rounds == 1 ? Expr(0) : Expr::loop(loop_);
    const Expr number = sum(scaled(round, threads_), thread_number(request_.threads));
    const Expr wide = sum(Expr::binary(ExprOp::div, number, Expr(parts)), Expr(schedule_.rounds * threads_));
    Terms terms = terms_of(schedule_.wide.steps, wide);
    if (parts > 1) {
      const Expr part = scaled(Expr::binary(ExprOp::mod, number, Expr(parts)), small_bytes_);
      terms = sum_of(terms, {part, part});
    }
    Body inner;
    emit_access(inner, terms, small_bytes_);
    if (schedule_.left % threads_ != 0) {
      Stmt guarded = statement(If{Expr::binary(ExprOp::lt, number, Expr(schedule_.left)), std::move(inner), {}});
      inner.clear();
      inner.push_back(std::move(guarded));
    }
    emit_loop(body, rounds, std::move(inner));
  }

  void emit_loop(Body& body, std::int64_t rounds, Body inner) const {
    if (rounds == 1) {
      std::move(inner.begin(), inner.end(), std::back_inserter(body));
    } else {
      body.push_back(statement(For{loop_, Expr(0), Expr(rounds), Expr(1), std::move(inner)}));
    }
  }

  // The scratch registers hold the value as often as it fits.
  void set_scratch(Body& body) const {
    if (dst_.bits == 64) {
      move_rows(body, {0, 2}, value_ & 0xffffffffu);
      move_rows(body, {1, 3}, value_ >> 32);
      return;
    }
    std::uint64_t word = dst_.bits == 6 && value_ != 0 ? 0xffffffffu : 0;
    for (std::int64_t bit = 0; dst_.bits != 6 && bit < 32; bit += dst_.bits) word |= value_ << bit;
    move_rows(body, {0, 1, 2, 3}, word & 0xffffffffu);
  }

  void move_rows(Body& body, std::vector<std::uint16_t> rows, std::uint64_t word) const {
    body.push_back(statement(MachineOps::Any(Move{{request_.scratch, std::move(rows)}, Value(Expr(static_cast<std::int64_t>(word)))})));
  }

  std::vector<std::string> proof() const {
    std::vector<std::string> lines;
    lines.push_back(fmt::format("{} threads, {} bytes an access, {} round{} of one access a thread", threads_, schedule_.wide.bytes, schedule_.rounds,
                                schedule_.rounds == 1 ? "" : "s"));
    if (schedule_.left > 0) lines.push_back(fmt::format("{} accesses of {} bytes are left over and guarded", schedule_.left, small_bytes_));
    for (const std::string& reason : schedule_.wide.stopped) lines.push_back("stopped " + reason);
    return lines;
  }

  const Request& request_;
  const Operand& dst_;
  const Operand* src_;
  std::uint64_t value_;
  std::int64_t threads_;
  std::vector<StepDigit> digits_;   // a: destination, b: source
  Surroundings around_;
  Schedule schedule_;
  std::int64_t small_bytes_ = 1;
  std::string loop_ = "copy_step";
};

}  // namespace

Outcome share_elements(const Request& request, const Operand& dst, const Operand* src, std::uint64_t value) {
  return Sharing(request, dst, src, value).plan();
}

}  // namespace tmemsim::lower
