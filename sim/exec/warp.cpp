#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/ops/tcgen05_mma.hpp"
#include "sim/exec/exec.hpp"

namespace tmemsim::sim {
namespace {

std::uint32_t bit(std::uint32_t lane) { return 1u << lane; }

template <class Visit> void for_each_lane(std::uint32_t lanes, Visit&& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

}  // namespace

Warp::Warp(Machine& machine_, WarpState& state_, std::uint32_t step_, std::uint32_t lanes_, std::uint32_t number_, bool retrying_)
    : machine(machine_), state(state_), cta(machine_.ctas[state_.cta]), step(step_), lanes(lanes_), number(number_),
      retrying(retrying_), plan(machine_.plans[step_]) {}

std::uint32_t Warp::first_lane() const { return static_cast<std::uint32_t>(std::countr_zero(lanes)); }

// ---- operands ----

std::uint32_t Warp::use_value(std::uint32_t of_lanes, std::uint32_t undefined, std::uint32_t bad, std::string_view what,
                              std::optional<Severity> severity) {
  const std::uint32_t missing = of_lanes & undefined & ~bad;
  if (missing != 0) {
    Candidate found = candidate(Verdict::uninit_read, fmt::format("{} comes from storage that nobody has written", what));
    found.where.space = "register";
    found.where.cta = cta.index;
    found.where.lanes = {std::countr_zero(missing), 31 - std::countl_zero(missing)};
    found.at.lanes = missing;
    if (undefined_since_ != 0) found.origin = machine.origins[undefined_since_ - 1];
    found.severity = severity;
    report(std::move(found));
    undefined_since_ = machine.origin(instance());  // told here: whoever gets the value from now on has it from here
  }
  return bad | missing;
}

std::uint32_t Warp::steer(std::uint32_t of_lanes, std::uint32_t undefined, std::uint32_t bad, std::string_view what) {
  const std::uint32_t now_bad = use_value(of_lanes, undefined, bad, what);
  if ((now_bad & of_lanes) != 0) machine.note_choice(Machine::Open::value, step, machine.ref(step, state, lanes));
  return now_bad;
}

LaneValues Warp::evaluate(const Expr& expr) {
  LaneValues values;
  plan(expr).evaluate(*this, lanes, values);
  values.bad = steer(lanes, values.undefined, values.bad, "a value");
  return values;
}

WarpValue Warp::evaluate_for_warp(const Expr& expr, std::string_view what) {
  const LaneValues values = evaluate(expr);
  const std::int32_t value = values.value[first_lane()];
  const bool bad = (values.bad & lanes) != 0;
  if (bad || values.uniform(lanes)) return {value, bad};
  report(candidate(Verdict::participation, fmt::format("{} differs between the threads of the warp", what)));
  return {value, true};
}

namespace {

// Index of the element, or nothing where some lane's index leaves the buffer.
std::optional<std::int64_t> element_of_warp(Warp& warp, const ElementPlan& element, bool& bad) {
  if (element.constant) return element.constant;
  std::int64_t index = 0;
  for (const ElementPlan::Dimension& dimension : element.dimensions) {
    LaneValues values;
    dimension.index.evaluate(warp, warp.lanes, values);
    values.bad = warp.steer(warp.lanes, values.undefined, values.bad, "an index");
    bad = bad || (values.bad & warp.lanes) != 0;
    const std::int64_t value = values.value[warp.first_lane()];
    if (!bad && !values.uniform(warp.lanes)) {
      warp.report(warp.candidate(Verdict::participation, "the address differs between the threads of the warp"));
      bad = true;
    }
    if (value < 0 || value >= dimension.extent) return std::nullopt;
    index += value * dimension.weight;
  }
  return index;
}

}  // namespace

Warp::Start Warp::start_of(const Region& region) {
  const RegionPlan& place = plan(region);
  if (place.first.constant) return {*place.first.constant, true};
  bool bad = false;
  const auto first = element_of_warp(*this, place.first, bad);
  bool inside = first.has_value();
  for (std::size_t d = 0, kept = 0; inside && d < place.first.dimensions.size(); ++d) {
    if (!region.box[d].hi) continue;
    const ElementPlan::Dimension& dimension = place.first.dimensions[d];
    inside = *first / dimension.weight % dimension.extent + place.extent[kept++] <= dimension.extent;
  }
  if (!inside && !bad) report(candidate(Verdict::out_of_bounds, "the region leaves its buffer"));
  return {first.value_or(0), inside && !bad};
}

WarpValue Warp::base_of(const Region& region) {
  const RegionPlan& place = plan(region);
  if (!place.base) return {static_cast<std::int32_t>(place.constant_base), false};
  LaneValues values;
  place.base->evaluate(*this, lanes, values);
  values.bad = steer(lanes, values.undefined, values.bad, "the TMEM address");
  return {values.value[first_lane()], (values.bad & lanes) != 0};
}

WarpValue Warp::address(const TmemAddr& operand) {
  const TmemPlan& place = plan(operand);
  std::uint32_t address = static_cast<std::uint32_t>(place.constant_base);
  bool bad = false;
  const auto part = [&](const std::optional<CompiledExpr>& expr) -> std::uint32_t {
    if (!expr) return 0;
    if (expr->is_constant()) return static_cast<std::uint32_t>(expr->constant());
    LaneValues values;
    expr->evaluate(*this, lanes, values);
    values.bad = steer(lanes, values.undefined, values.bad, "the TMEM address");
    if ((values.bad & lanes) == 0 && !values.uniform(lanes)) {
      report(candidate(Verdict::participation, "the TMEM address differs between the threads of the warp"));
      bad = true;
    }
    bad = bad || (values.bad & lanes) != 0;
    return static_cast<std::uint32_t>(values.value[first_lane()]);
  };
  address += part(place.base);
  address += part(place.lane) << 16;
  address += part(place.col);
  if (place.has_cell) {
    const auto element = element_of_warp(*this, place.element, bad);
    if (!element) {
      if (!bad) report(candidate(Verdict::out_of_bounds, "the region leaves its buffer"));
      return {static_cast<std::int32_t>(address), true};
    }
    const std::int64_t column = place.column + place.column_slot(*element) * place.element_bits / 32;
    address += (static_cast<std::uint32_t>(place.lane_slot(*element)) << 16) + static_cast<std::uint32_t>(column);
  }
  return {static_cast<std::int32_t>(address), bad};
}

// ---- registers ----

void Warp::read_row(std::uint32_t row, std::uint32_t of_lanes) {
  if (event) note_register(event->reads, state.cta, state.warp, row, of_lanes);
  RowState& known = state.registers.state(row);
  if ((of_lanes & ~known.written) != 0 && known.undefined_since != 0) undefined_since_ = known.undefined_since;
  if (known.pending <= state.ld_waited) return;
  note_consumed(known, of_lanes);
  const Severity severity = machine.options.profile.severity(Switch::reg_before_wait);
  if ((of_lanes & ~known.bad) != 0 && severity != Severity::none) {
    Candidate found = candidate(Verdict::read_before_wait,
                                fmt::format("register row {} is read before tcgen05.wait::ld", row), known.pending_record);
    found.where.space = "register";
    found.where.cta = cta.index;
    found.where.reg = row;
    report(std::move(found));
  }
  if (severity == Severity::error) {
    known.bad |= of_lanes;
    std::uint32_t* words = state.registers.row(row);
    for_each_lane(of_lanes, [&](std::uint32_t lane) { words[lane] = register_poison; });
  } else {
    for (Flight& flight : state.flights)  // the hardware honours a true register dependency (9.7.16.6.4.5)
      if (flight.agent == Async::ld && flight.number == known.pending) machine.complete_one(state, flight);
    std::erase_if(state.flights, [](const Flight& flight) { return flight.done; });
  }
}

void Warp::note_consumed(RowState& row, std::uint32_t of_lanes) {
  if ((row.unread & of_lanes) == 0) return;
  row.unread &= ~of_lanes;
  if (row.unread != 0) return;
  Access& load = machine.accesses.at(row.pending_record);
  if (--load.unread_rows == 0) load.consumed = number;
}

void Warp::write_row(std::uint32_t row, std::uint32_t of_lanes, std::uint32_t undefined, std::uint32_t bad) {
  if (event) note_register(event->writes, state.cta, state.warp, row, of_lanes);
  RowState& known = state.registers.state(row);
  const bool has_read = (known.unread & of_lanes) == 0 && machine.options.profile.severity(Switch::reg_before_wait) != Severity::error;
  if (known.pending > state.ld_waited && has_read) {  // the early read, which is allowed here, has waited for the value
    if (of_lanes == state.live) known.pending = 0;
  } else if (known.pending > state.ld_waited) {
    Candidate found = candidate(Verdict::read_before_wait,
                                fmt::format("register row {} is overwritten before tcgen05.wait::ld", row), known.pending_record);
    found.severity = Severity::error;  // the ISA allows the early read, never the overwrite
    found.where.space = "register";
    found.where.cta = cta.index;
    found.where.reg = row;
    if ((of_lanes & ~known.bad) != 0) report(std::move(found));
    known.pending = 0;
    bad |= of_lanes;
  }
  known.written = (known.written & ~of_lanes) | (of_lanes & ~undefined);
  for (std::uint32_t& byte : known.byte_written) byte = (byte & ~of_lanes) | (of_lanes & ~undefined);
  known.bad = (known.bad & ~of_lanes) | (of_lanes & bad);
  if ((of_lanes & undefined) != 0) known.undefined_since = undefined_since_ != 0 ? undefined_since_ : machine.origin(instance());
}

// ---- shared and global memory ----

ByteSpan Warp::locate(const MemPlan& mem, int bytes, const std::optional<Expr>& rank, Verdict no_rank) {
  ByteSpan span;
  span.buffer = mem.buffer;
  span.shared = mem.shared;
  span.lanes = lanes;
  span.base = mem.window;
  Cta* owner = &cta;
  std::optional<std::int32_t> wrong_rank;
  bool rank_is_bad = false;
  if (rank && mem.shared) {
    const WarpValue wanted = evaluate_for_warp(*rank, "the rank");
    if (wanted.value < 0 || static_cast<std::uint32_t>(wanted.value) >= cluster_size(machine.kernel.launch)) wrong_rank = wanted.value;
    else owner = &machine.ctas[machine.cta_of_rank(cta, static_cast<std::uint32_t>(wanted.value))];
    rank_is_bad = wanted.bad;
  }
  span.memory = mem.shared ? &owner->shared : &machine.global[mem.buffer];
  span.owner = mem.shared ? owner : nullptr;

  std::uint32_t outside = 0, bad = 0;
  if (mem.constant) {
    span.first.fill(*mem.constant);
  } else if (mem.byte) {
    LaneValues values;
    mem.byte->evaluate(*this, lanes, values);
    bad = steer(lanes, values.undefined, values.bad, "the address");
    for (std::size_t i = 0; i < 32; ++i) span.first[i] = values.value[i];
  } else {
    std::array<std::int64_t, 32> index{};
    for (const ElementPlan::Dimension& dimension : mem.element.dimensions) {
      LaneValues values;
      dimension.index.evaluate(*this, lanes, values);
      bad |= steer(lanes, values.undefined, values.bad, "an index");
      for (std::size_t i = 0; i < 32; ++i) {
        if (values.value[i] < 0 || values.value[i] >= dimension.extent) outside |= bit(static_cast<std::uint32_t>(i));
        index[i] += values.value[i] * dimension.weight;
      }
    }
    for_each_lane(lanes & ~outside, [&](std::uint32_t i) { span.first[i] = mem.slot(index[i]) * mem.element_bits / 8; });
  }
  std::uint32_t misaligned = 0;
  for_each_lane(lanes, [&](std::uint32_t i) {
    if (span.first[i] < 0 || span.first[i] + bytes > mem.size) outside |= bit(i);
    if ((span.first[i] + mem.window) % bytes != 0) misaligned |= bit(i);
    span.first[i] += mem.window;
  });
  if (wrong_rank) {
    Candidate found = candidate(no_rank, fmt::format("rank {} names no CTA of a cluster of {}", *wrong_rank, cluster_size(machine.kernel.launch)));
    found.where.space = "shared";
    found.where.buffer = machine.kernel.buffers[mem.buffer].name;
    if (no_rank == Verdict::mbar_target) {
      found.barrier_fault = BarrierFault::object;
      found.barrier = BarrierKey{cta.index, span.first[first_lane()]};
    }
    if (!rank_is_bad) report(std::move(found));
    span.lanes = 0;
    return span;
  }
  outside &= lanes & ~bad;
  misaligned &= lanes & ~bad & ~outside;
  const std::string& name = machine.kernel.buffers[mem.buffer].name;
  const auto complain = [&](Verdict verdict, std::uint32_t which, std::string message) {
    Candidate found = candidate(verdict, std::move(message));
    const std::int64_t first = span.first[static_cast<std::size_t>(std::countr_zero(which))] - mem.window;
    found.where.space = mem.shared ? "shared" : "global";
    if (mem.shared) found.where.cta = owner->index;
    found.where.buffer = name;
    found.where.bytes = {first, first + bytes - 1};
    found.at.lanes = which;
    report(std::move(found));
  };
  if (outside != 0) complain(Verdict::out_of_bounds, outside, fmt::format("the access of {} bytes leaves {} ({} bytes)", bytes, name, mem.size));
  if (misaligned != 0) complain(Verdict::misaligned, misaligned, fmt::format("the address in {} is not a multiple of {} bytes", name, bytes));
  span.lanes = lanes & ~bad & ~outside & ~misaligned;
  return span;
}

void Warp::spoil_if_left_out(const MemPlan& mem, const ByteSpan& span) {
  if (span.lanes == lanes || !span.memory) return;
  span.memory->spoil_undefined(mem.window, mem.size);
}

void Warp::load_words(BufferId buffer, std::uint32_t of_lanes, LaneValues& values) {
  const Buffer& declared = machine.kernel.buffers[buffer];
  const bool shared = declared.space == Space::shared;
  ByteMemory& memory = shared ? cta.shared : machine.global[buffer];
  const std::int64_t base = shared ? declared.offset.value_or(0) : 0, size = byte_size(declared);
  ByteSpan span;
  span.memory = &memory;
  span.owner = shared ? &cta : nullptr;
  span.buffer = buffer;
  span.shared = shared;
  span.base = base;
  values.bad |= steer(of_lanes, values.undefined, values.bad, "an index");
  std::uint32_t outside = 0;
  for_each_lane(of_lanes & ~values.bad, [&](std::uint32_t i) {
    const std::int64_t first = std::int64_t{4} * values.value[i];
    if (first < 0 || first + 4 > size) {
      outside |= bit(i);
      return;
    }
    span.first[i] = base + first;
    span.lanes |= bit(i);
  });
  if (outside != 0) {
    Candidate found = candidate(Verdict::out_of_bounds, fmt::format("word {} lies outside {} ({} bytes)",
                                                                   values.value[static_cast<std::size_t>(std::countr_zero(outside))], declared.name, size));
    found.where.space = shared ? "shared" : "global";
    found.where.buffer = declared.name;
    report(std::move(found));
  }
  const std::uint32_t bad = touch(span, 4, Touch::read, record(buffer));
  values.undefined = 0;
  values.bad |= outside | bad;
  for_each_lane(span.lanes, [&](std::uint32_t i) {
    std::memcpy(&values.value[i], memory.data() + span.first[i], 4);
    const std::uint8_t* flags = memory.flags() + span.first[i];
    const std::uint8_t all = flags[0] & flags[1] & flags[2] & flags[3], any = flags[0] | flags[1] | flags[2] | flags[3];
    if (!(all & ByteMemory::defined)) {
      values.undefined |= bit(i);
      note_origin(memory.origin_of(static_cast<std::size_t>(span.first[i])));
    }
    if (any & ByteMemory::bad) values.bad |= bit(i);
  });
}

// ---- order and findings ----

Access Warp::describe() const {
  Access access;
  access.step = step;
  access.cta = state.cta;
  access.warp = static_cast<std::uint16_t>(state.warp);
  access.lanes = lanes;
  access.number = number;
  for (const ViewGroup& group : state.views) {
    if (!(group.lanes & lanes)) continue;
    access.waited |= group.views.waited;
    access.passed_new |= group.views.passed_new;
  }
  if (!machine.program.steps[step].loops_around.empty()) access.loop = machine.loop_snapshot(step, state, lanes);
  return access;
}

std::uint32_t Warp::record(std::uint16_t buffer) {
  Access access;
  for (std::uint32_t& known : records_) {
    if (known != 0 && machine.accesses[known].buffer == buffer) return known;
    if (known != 0) continue;
    access = describe();
    access.buffer = buffer;
    return known = machine.accesses.add(access);
  }
  access = describe();
  access.buffer = buffer;
  return machine.accesses.add(access);
}

Candidate Warp::candidate(Verdict verdict, std::string message) {
  Candidate found;
  found.verdict = verdict;
  found.at = machine.ref(step, state, lanes);
  found.at_instance = instance();
  found.message = std::move(message);
  return found;
}

Candidate Warp::candidate(Verdict verdict, std::string message, std::uint32_t earlier) {
  Candidate found = candidate(verdict, std::move(message));
  if (earlier == 0) return found;
  const Access& other = machine.accesses[earlier];
  found.other = machine.ref(earlier);
  found.other_instance = {other.cta, other.warp, other.number};
  return found;
}

bool Warp::happened_before(Sight which, std::uint32_t record_of_x, std::uint32_t x_lanes, std::uint32_t y_lanes, bool collective, Scopes scopes) const {
  const Access& x = machine.accesses[record_of_x];
  const bool same_warp = x.cta == state.cta && x.warp == state.warp;
  if (x.collective && same_warp) return true;
  const auto known = [&](const Views& views, std::uint32_t lane) { return sight(views_of(views, scopes), which).order(x.cta, x.warp, lane) >= x.number; };
  if (x.collective) {  // whoever of its threads published it
    for (const ViewGroup& group : state.views) {
      if (!(group.lanes & y_lanes)) continue;
      bool seen = false;
      for_each_lane(x.lanes, [&](std::uint32_t lane) { seen = seen || known(group.views, lane); });
      if (seen == collective) return seen;
    }
    return !collective;
  }
  bool all = true;
  for_each_lane(x_lanes, [&](std::uint32_t lane) {
    if (!all || (collective && same_warp && (y_lanes & bit(lane)))) return;
    bool any_group = false;
    for (const ViewGroup& group : state.views) {
      std::uint32_t need = group.lanes & y_lanes;
      if (same_warp) need &= ~bit(lane);
      if (need == 0) continue;
      const bool seen = known(group.views, lane);
      if (collective) any_group = any_group || seen;
      else all = all && seen;
    }
    if (collective) all = all && any_group;
  });
  return all;
}

bool is_pipelined_pair(const Access& x, const Access& y) {
  const bool refreshes_lanes = y.kind == AccessKind::cp && y.form == static_cast<std::uint32_t>(CpShape::s4x256b);
  switch (x.kind) {
    case AccessKind::mma:
      return y.kind == AccessKind::shift || (y.kind == AccessKind::mma && x.accumulator == y.accumulator && x.form == y.form);
    case AccessKind::cp: return y.kind == AccessKind::mma;
    case AccessKind::shift: return y.kind == AccessKind::mma || refreshes_lanes;
    default: return false;
  }
}

namespace {

std::uint32_t completion_agent(const Access& x) {
  if (x.kind == AccessKind::ld) return agent_of(x.warp, WarpAgent::ld);
  return x.kind == AccessKind::st ? agent_of(x.warp, WarpAgent::st) : x.agent;
}

bool same_operation(const Access& x, const Access& y) {
  return x.cta == y.cta && x.issue_agent == y.issue_agent && x.async_number == y.async_number;
}

// Completion is inherited backwards: an operation is complete when one is that it is pipelined in front of.
bool is_complete(const View& view, const Access& x, const std::deque<TensorOperation>& operations, std::size_t last) {
  const bool of_warp = x.kind == AccessKind::ld || x.kind == AccessKind::st;
  if (view.count(of_warp ? x.cta : x.agent_cta, completion_agent(x)) >= x.async_number) return true;
  if (!is_tensor_core(x.kind)) return false;
  for (std::size_t i = last; i-- > 0;) {
    const TensorOperation& y = operations[i];
    if (same_operation(x, y.access)) return false;
    if (x.cta == y.access.cta && x.issue_agent == y.access.issue_agent) continue;  // commits cover a prefix of one thread
    if (!is_pipelined_pair(x, y.access) || y.known.count(x.cta, x.issue_agent) < x.async_number) continue;
    if (is_complete(view, y.access, operations, last)) return true;
  }
  return false;
}

}  // namespace

bool Warp::complete_before(Sight which, const Access& x, Scopes scopes) const {
  for (const ViewGroup& group : state.views)
    if ((group.lanes & lanes) && is_complete(sight(views_of(group.views, scopes), which), x, machine.tensor_operations, machine.tensor_operations.size())) return true;
  return false;
}

bool Warp::consumed_before(const Access& x) const {
  if (x.kind != AccessKind::ld || x.consumed == 0) return false;
  if (x.cta == state.cta && x.warp == state.warp) return true;
  return std::any_of(state.views.begin(), state.views.end(), [&](const ViewGroup& group) {
    bool seen = false;
    if (group.lanes & lanes) for_each_lane(x.lanes, [&](std::uint32_t lane) { seen = seen || group.views.any.order(x.cta, x.warp, lane) >= x.consumed; });
    return seen;
  });
}

bool Warp::complete_for(Sight which, const Access& x, std::uint32_t of_lanes, Scopes scopes) const {
  return std::all_of(state.views.begin(), state.views.end(), [&](const ViewGroup& group) {
    return (group.lanes & of_lanes) == 0 || is_complete(sight(views_of(group.views, scopes), which), x, machine.tensor_operations, machine.tensor_operations.size());
  });
}

bool Warp::piped_before(Sight which, const Access& x, const Access& y, Scopes scopes) const {
  if (!is_tensor_core(x.kind) || !is_tensor_core(y.kind)) return false;
  const bool issue_order = machine.options.profile.on(Switch::tensor_issue_order);
  const auto runs_before = [&](const Access& a, const Access& b, const auto& knows) {
    const bool same_thread = issue_order && a.cta == b.cta && a.issue_agent == b.issue_agent && a.async_number < b.async_number;
    return same_thread || (is_pipelined_pair(a, b) && knows(a));
  };
  const auto known_here = [&](const Access& a) {
    return std::any_of(state.views.begin(), state.views.end(), [&](const ViewGroup& group) {
      return (group.lanes & lanes) != 0 && sight(views_of(group.views, scopes), which).count(a.cta, a.issue_agent) >= a.async_number;
    });
  };
  if (runs_before(x, y, known_here)) return true;
  // Before is transitive: what runs in front of something that runs in front of y.
  std::vector<const TensorOperation*> in_front;
  for (std::size_t i = machine.tensor_operations.size(); i-- > 0;) {
    const TensorOperation& z = machine.tensor_operations[i];
    const bool is_x = same_operation(z.access, x);
    const bool through = std::any_of(in_front.begin(), in_front.end(), [&](const TensorOperation* later) {
      return runs_before(z.access, later->access, [&](const Access& a) { return later->known.count(a.cta, a.issue_agent) >= a.async_number; });
    });
    if (is_x) return through;
    if (through || runs_before(z.access, y, known_here)) in_front.push_back(&z);
  }
  return false;
}

void Warp::out_of_scope(Candidate& found) const {
  found.severity = machine.options.profile.severity(Switch::scope_check);
  found.decided_by = Switch::scope_check;
  found.message = "the two are ordered only by a release or an acquire of .cta scope between two CTAs";
  found.fix = "Give the arrive (or store) and the wait (or load) between the two CTAs .cluster scope.";
  found.conflicts.clear();  // no barrier is faulty
}

// ---- views ----

void Warp::split_views(std::uint32_t of_lanes) {
  const std::size_t count = state.views.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t inside = state.views[i].lanes & of_lanes;
    if (inside == 0 || inside == state.views[i].lanes) continue;
    ViewGroup rest = state.views[i];
    rest.lanes &= ~inside;
    state.views[i].lanes = inside;
    state.views.push_back(std::move(rest));
  }
}

void Warp::acquire(std::uint32_t of_lanes, const Views& carried, Edge edge, bool narrow) {
  const bool fences = machine.options.profile.on(Switch::fence_at_acquire);
  machine.narrow_edges = machine.narrow_edges || narrow;
  split_views(of_lanes);
  for (ViewGroup& group : state.views) {
    if (!(group.lanes & of_lanes)) continue;
    group.views.acquire(carried, edge, fences, narrow);
    group.views.change([&](Views& views) { views.async.settle_own(state.cta, state.warp, group.lanes); });
    std::vector<Views>& in_scope = group.views.in_scope;
    if (in_scope.empty()) continue;
    const std::vector<Views> apart = std::move(in_scope);
    in_scope.clear();
    if (!(apart.front() == group.views)) in_scope = apart;  // else everything has come over a wide enough scope meanwhile
  }
  for (std::size_t i = 0; i < state.views.size(); ++i) {  // groups that know the same are one again
    for (std::size_t j = state.views.size(); j-- > i + 1;) {
      if (!(state.views[i].views == state.views[j].views)) continue;
      state.views[i].lanes |= state.views[j].lanes;
      state.views.erase(state.views.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

Views Warp::released(std::uint32_t of_lanes) const {
  Views views;
  for (const ViewGroup& group : state.views) {
    if (!(group.lanes & of_lanes)) continue;
    views.join_released(group.views);
    for (Views& in_scope : views.in_scope) in_scope.async.join_own(views_of(group.views, Scopes::wide_enough).async, state.cta, state.warp, group.lanes & of_lanes);
    views.async.join_own(group.views.async, state.cta, state.warp, group.lanes & of_lanes);
  }
  views.change([&](Views& each) {
    each.any.raise_order(state.cta, state.warp, of_lanes, number);
    each.generic.raise_order(state.cta, state.warp, of_lanes, number);
  });
  return views;
}

}  // namespace tmemsim::sim
