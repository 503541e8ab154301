#include "lower/threads.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lower/affine.hpp"

namespace tmemsim::lower {

Threads threads_of(const Where& where, const Launch& launch) {
  Threads threads;
  threads.cta_warps = launch.warps;
  threads.last_warp = threads.cta_warps - 1;
  if (where.warps) {
    threads.first_warp = where.warps->first;
    threads.last_warp = std::min<std::int64_t>(where.warps->last, threads.last_warp);
  } else if (where.warpgroup) {
    threads.first_warp = 4 * std::int64_t{*where.warpgroup};
    threads.last_warp = std::min(threads.first_warp + 3, threads.last_warp);
  }
  if (where.lanes) {
    threads.first_lane = where.lanes->first;
    threads.last_lane = std::min<std::int64_t>(where.lanes->last, warp_threads - 1);
  }
  threads.elect = where.elect;
  return threads;
}

std::string describe(const Threads& threads) {
  std::string text = threads.warps() == 1 ? fmt::format("warp {}", threads.first_warp)
                                          : fmt::format("warps {}..{}", threads.first_warp, threads.last_warp);
  if (threads.elect) return text + ", one elected lane";
  if (threads.lanes() == 1) return text + fmt::format(", lane {}", threads.first_lane);
  if (!threads.whole_warps()) return text + fmt::format(", lanes {}..{}", threads.first_lane, threads.last_lane);
  return text;
}

Expr specialised(const Expr& expr, const Threads& threads) {
  if (expr.as_constant()) return expr;
  return expr.replaced([&](const Expr& node) -> std::optional<Expr> {
    const bool one_warp = threads.warps() == 1;
    const bool one_lane = !threads.elect && threads.lanes() == 1;
    switch (node.op()) {
      case ExprOp::warp: return one_warp ? std::optional(Expr(threads.first_warp)) : std::nullopt;
      case ExprOp::wg:
        if (threads.first_warp / 4 != threads.last_warp / 4) return std::nullopt;
        return Expr(threads.first_warp / 4);
      case ExprOp::lane: return one_lane ? std::optional(Expr(threads.first_lane)) : std::nullopt;
      case ExprOp::tid: return one_warp && one_lane ? std::optional(Expr(threads.first())) : std::nullopt;
      default: return std::nullopt;
    }
  });
}

namespace {

struct AxisSpan {
  std::int64_t unit, end;  // in threads
};
AxisSpan span_of(Axis axis, std::int64_t cta_threads) {
  switch (axis) {
    case Axis::laneid: return {1, warp_threads};
    case Axis::tid_in_wg: return {1, std::min(group_threads, cta_threads)};
    case Axis::tx: return {1, cta_threads};
    case Axis::wid_in_wg: return {warp_threads, std::max(2 * warp_threads, std::min(group_threads, cta_threads))};
    case Axis::warpid: return {warp_threads, std::max(2 * warp_threads, cta_threads)};
    case Axis::wgid: return {group_threads, std::max(2 * group_threads, cta_threads)};
    default: return {0, 0};
  }
}

// (base + constant) in threads: the part of the thread's index that a field looks at, with its range over the executing threads.
struct FieldValue {
  Expr base{0};
  std::int64_t factor = 1;   // of base, in threads
  std::int64_t constant = 0;
  std::int64_t low = 0, high = 0;  // of the whole, constant included
};

FieldValue range(Expr base, std::int64_t factor, std::int64_t constant, std::int64_t low, std::int64_t high) {
  if (low == high) return {Expr(0), 1, constant + low * factor, constant + low * factor, constant + low * factor};
  return {std::move(base), factor, constant, constant + low * factor, constant + high * factor};
}

FieldValue value_of(const Field& field, const Threads& threads) {
  const std::int64_t values = field.end / field.unit;
  const std::int64_t offset = -field.offset;
  const auto modulo = [&](ExprOp coordinate, std::int64_t low, std::int64_t high) {
    const Expr base = Expr::coordinate(coordinate);
    if (high < values) return range(base, field.unit, offset, low, high);
    if (low / values == high / values && low == high) return range(base, field.unit, offset, low % values, low % values);
    return range(Expr::binary(ExprOp::mod, base, Expr(values)), field.unit, offset, 0, values - 1);
  };
  if (field.unit == group_threads) return modulo(ExprOp::wg, threads.first_warp / 4, threads.last_warp / 4);
  if (field.unit == warp_threads) return modulo(ExprOp::warp, threads.first_warp, threads.last_warp);
  if (field.end == warp_threads || threads.warps() == 1) {
    const std::int64_t warp_part = field.end == warp_threads ? 0 : threads.first_warp * warp_threads % field.end;
    return range(Expr::coordinate(ExprOp::lane), 1, offset + warp_part, threads.first_lane, threads.last_lane);
  }
  return modulo(ExprOp::tid, threads.first(), threads.last_warp * warp_threads + threads.last_lane);
}

std::int64_t number_of(const Field& field, std::int64_t tid) {
  return tid / field.unit % (field.end / field.unit) * field.unit - field.offset;
}

// What a field holds below its first k digits is the remainder by the stride of each in turn. A remainder by a multiple of the
// next one changes nothing.
std::vector<std::int64_t> remainders(const Field& field, std::size_t k) {
  std::vector<std::int64_t> result;
  for (std::size_t d = 0; d < k; ++d) {
    while (!result.empty() && result.back() % field.digits[d].stride == 0) result.pop_back();
    result.push_back(field.digits[d].stride);
  }
  return result;
}

std::int64_t remainder(std::int64_t number, const std::vector<std::int64_t>& moduli) {
  for (const std::int64_t modulus : moduli) number %= modulus;
  return number;
}

std::optional<Reason> digits_overlap(Field& field) {
  std::sort(field.digits.begin(), field.digits.end(), [](const OwnerDigit& a, const OwnerDigit& b) { return a.stride > b.stride; });
  std::int64_t below = 0;
  for (std::size_t k = field.digits.size(); k > 0; --k) {
    const OwnerDigit& digit = field.digits[k - 1];
    if (digit.stride <= below) {
      return Reason{fmt::format("the register layout gives one thread's place to several elements: iter {}:{} overlaps the smaller "
                                "iters of the same axis", digit.extent, digit.stride), {}, {}, {}};
    }
    below += (digit.extent - 1) * digit.stride;
  }
  if (field.offset < 0 || field.offset + below >= field.end) {
    return Reason{fmt::format("the register layout names threads {}..{} of a range of {}", field.offset, field.offset + below, field.end), {}, {}, {}};
  }
  return std::nullopt;
}

// Neighbouring fields that both say who owns what are one field.
void merge_neighbours(std::vector<Field>& fields) {
  std::vector<Field> merged;
  for (Field& field : fields) {
    if (!merged.empty() && merged.back().end == field.unit && !merged.back().free && !field.free) {
      Field& below = merged.back();
      below.end = field.end;
      below.offset += field.offset;
      below.digits.insert(below.digits.begin(), field.digits.begin(), field.digits.end());
    } else {
      merged.push_back(std::move(field));
    }
  }
  fields = std::move(merged);
}

// The fields that the axes name and, between them, the free ones.
Result<std::vector<Field>> fields_of(const std::vector<AxisDigit>& digits, const Point& offset, AxisSet named, std::int64_t cta_threads) {
  std::vector<Field> fields;
  for (const AxisFacts& axis : axis_table) {
    if (!axis.thread) continue;
    Field field;
    for (const AxisDigit& digit : digits) {
      if (digit.axis == axis.axis) field.digits.push_back({digit.extent, digit.stride, digit.key, digit.replica});
    }
    field.offset = at(offset, axis.axis);
    if (field.digits.empty() && field.offset == 0 && !named.test(static_cast<std::size_t>(axis.axis))) continue;
    const AxisSpan span = span_of(axis.axis, cta_threads);
    if (span.unit == 0) return Reason{fmt::format("axis {} places registers in other CTAs; a copy stays within one", axis.name), {}, {}, {}};
    field.unit = span.unit;
    field.end = span.end;
    field.offset *= span.unit;
    for (OwnerDigit& digit : field.digits) digit.stride *= span.unit;
    if (auto reason = digits_overlap(field)) return *reason;
    fields.push_back(std::move(field));
  }
  std::sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) { return a.unit < b.unit; });
  std::vector<Field> all;
  std::int64_t reached = 1;
  const auto fill_up_to = [&](std::int64_t unit) {
    for (const std::int64_t next : {warp_threads, group_threads, cta_threads}) {
      if (next > reached && next <= unit) {
        all.push_back(Field{reached, next, 0, {}, true});
        reached = next;
      }
    }
  };
  for (Field& field : fields) {
    if (field.unit < reached) return Reason{"the register layout names a thread on two axes that contain each other", {}, {}, {}};
    fill_up_to(field.unit);
    reached = field.end;
    all.push_back(std::move(field));
  }
  fill_up_to(cta_threads);
  merge_neighbours(all);
  return all;
}

}  // namespace

struct Owners::Condition {
  enum class Kind : std::uint8_t { at_least_offset, at_offset, less, equal, first };
  const Field* field;
  Kind kind;
  std::vector<std::int64_t> moduli;
  std::int64_t divisor, limit;

  std::int64_t number(std::int64_t tid) const { return remainder(number_of(*field, tid), moduli) / divisor; }
  bool holds(std::int64_t tid) const {
    switch (kind) {
      case Kind::at_least_offset: return number_of(*field, tid) >= 0;
      case Kind::at_offset: return number_of(*field, tid) == 0;
      case Kind::less: return number(tid) < limit;
      case Kind::equal:
      case Kind::first: return number(tid) == limit;
    }
    return false;
  }
};

std::int64_t Owners::value(const Field& field, std::size_t digit, std::int64_t tid) const {
  std::int64_t number = number_of(field, tid);
  for (std::size_t above = 0; above < digit; ++above) number %= field.digits[above].stride;
  return number / field.digits[digit].stride;
}

namespace {

// ((field - offset) % moduli) / divisor for the executing thread.
Expr digit_expr(const Field& field, const Threads& threads, const std::vector<std::int64_t>& moduli, std::int64_t divisor) {
  const FieldValue value = value_of(field, threads);
  if (value.base.as_constant()) return Expr(remainder(value.constant, moduli) / divisor);
  // Everything is a multiple of the factor: count in its units.
  const std::int64_t unit = value.factor;
  Expr expr = sum(value.base, Expr(value.constant / unit));
  std::int64_t high = value.high;
  for (std::size_t k = 0; k < moduli.size(); ++k) {
    if (value.low >= 0 && high < moduli[k]) continue;
    const bool is_last = k + 1 == moduli.size();
    if (is_last && value.low >= 0 && moduli[k] % divisor == 0) {
      expr = Expr::binary(ExprOp::div, expr, Expr(divisor / unit));
      return Expr::binary(ExprOp::mod, expr, Expr(moduli[k] / divisor));
    }
    expr = Expr::binary(ExprOp::mod, expr, Expr(moduli[k] / unit));
    high = moduli[k] - 1;
  }
  return Expr::binary(ExprOp::div, expr, Expr(divisor / unit));
}

}  // namespace

Expr Owners::value(const Field& field, std::size_t top, std::size_t bottom) const {
  return digit_expr(field, threads_, remainders(field, top), field.digits[bottom].stride);
}

std::vector<Owners::Condition> Owners::conditions(bool once) const {
  using Kind = Condition::Kind;
  std::vector<Condition> result;
  for (const Field& field : fields_) {
    if (field.free) {
      const bool lane_is_elected = threads_.elect && field.unit == 1;
      if (once && !lane_is_elected) result.push_back({&field, Kind::first, {}, field.unit, number_of(field, threads_.first()) / field.unit});
      continue;
    }
    if (field.digits.empty()) {
      result.push_back({&field, Kind::at_offset, {}, 1, 0});
      continue;
    }
    if (field.offset > 0) result.push_back({&field, Kind::at_least_offset, {}, 1, 0});
    for (std::size_t k = 0; k < field.digits.size(); ++k) {
      const OwnerDigit& digit = field.digits[k];
      if (once && digit.replica) {
        result.push_back({&field, Kind::equal, remainders(field, k), digit.stride, 0});
      } else {
        result.push_back({&field, Kind::less, remainders(field, k), digit.stride, digit.extent});
      }
    }
    if (field.digits.back().stride > field.unit) {
      result.push_back({&field, Kind::equal, remainders(field, field.digits.size()), field.unit, 0});
    }
  }
  return result;
}

namespace {

template <class Visit> void for_each_thread(const Threads& threads, Visit&& visit) {
  for (std::int64_t warp = threads.first_warp; warp <= threads.last_warp; ++warp) {
    for (std::int64_t lane = threads.first_lane; lane <= threads.last_lane; ++lane) visit(warp * warp_threads + lane);
  }
}

}  // namespace

bool Owners::owns(std::int64_t tid) const {
  const std::vector<Condition> all = conditions(false);
  return std::all_of(all.begin(), all.end(), [&](const Condition& condition) { return condition.holds(tid); });
}

std::optional<Expr> Owners::guard(bool once) const {
  std::optional<Expr> result;
  for (const Condition& condition : conditions(once)) {
    bool always = true;
    for_each_thread(threads_, [&](std::int64_t tid) { always = always && condition.holds(tid); });
    if (always) continue;
    const Field& field = *condition.field;
    Expr test(0);
    if (condition.kind == Condition::Kind::at_least_offset || condition.kind == Condition::Kind::at_offset) {
      Field whole = field;
      whole.offset = 0;
      test = Expr::binary(condition.kind == Condition::Kind::at_offset ? ExprOp::eq : ExprOp::ge, digit_expr(whole, threads_, {}, field.unit), Expr(field.offset / field.unit));
    } else {
      const ExprOp compare = condition.kind == Condition::Kind::less ? ExprOp::lt : ExprOp::eq;
      test = Expr::binary(compare, digit_expr(field, threads_, condition.moduli, condition.divisor), Expr(condition.limit));
    }
    result = result ? Expr::binary(ExprOp::bit_and, *result, test) : test;
  }
  return result;
}

std::string Owners::describe_owner() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const Field& field : fields_) {
    if (field.free && field.unit == 1 && !threads_.elect && threads_.lanes() > 1) add(fmt::format("lane {}", threads_.first_lane));
    if (field.free && field.unit == warp_threads && threads_.warps() > 1) add(fmt::format("warp {}", threads_.first_warp));
    if (field.free && field.unit == group_threads && threads_.warps() > 4) add(fmt::format("warpgroup {}", threads_.first_warp / 4));
    for (const OwnerDigit& digit : field.digits) {
      if (digit.replica) add(fmt::format("the first of the {} replicas that lie {} threads apart", digit.extent, digit.stride));
    }
  }
  return text;
}

Result<Owners> Owners::of(const Threads& threads, const std::vector<AxisDigit>& digits, const Point& offset, AxisSet named, bool all_replicas) {
  Owners owners;
  owners.threads_ = threads;
  auto fields = fields_of(digits, offset, named, threads.cta_warps * warp_threads);
  if (!fields) return fields.reason();
  owners.fields_ = std::move(*fields);
  if (threads.elect && !owners.fields_.front().free) {
    return Reason{"the register layout names lanes, but which lane is elected is not known", {}, {}, {}};
  }

  // Each combination of digits must belong to a thread that executes the statement.
  std::int64_t combinations = 1;
  for (const Field& field : owners.fields_) {
    for (const OwnerDigit& digit : field.digits) combinations *= digit.replica && !all_replicas ? 1 : digit.extent;
  }
  std::vector<bool> seen(static_cast<std::size_t>(combinations));
  std::int64_t found = 0;
  const std::vector<Condition> conditions = owners.conditions(!all_replicas);
  for_each_thread(threads, [&](std::int64_t tid) {
    for (const Condition& condition : conditions) {
      if (condition.kind != Condition::Kind::first && !condition.holds(tid)) return;
    }
    std::int64_t index = 0;
    for (const Field& field : owners.fields_) {
      for (std::size_t k = 0; k < field.digits.size(); ++k) {
        if (field.digits[k].replica && !all_replicas) continue;
        index = index * field.digits[k].extent + owners.value(field, k, tid);
      }
    }
    auto mark = seen[static_cast<std::size_t>(index)];
    found += mark ? 0 : 1;
    mark = true;
  });
  if (found == combinations) return owners;

  std::int64_t missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
  std::int64_t owner = 0;
  for (std::size_t f = owners.fields_.size(); f > 0; --f) {
    const Field& field = owners.fields_[f - 1];
    owner += field.free ? 0 : field.offset;
    for (std::size_t k = field.digits.size(); k > 0; --k) {
      if (field.digits[k - 1].replica && !all_replicas) continue;
      owner += missing % field.digits[k - 1].extent * field.digits[k - 1].stride;
      missing /= field.digits[k - 1].extent;
    }
  }
  return Reason{fmt::format("the register layout gives elements to thread {} (lane {} of warp {} in its range), but {} execute the statement",
                            owner, owner % warp_threads, owner / warp_threads, describe(threads)), {}, {}, {}};
}

}  // namespace tmemsim::lower
