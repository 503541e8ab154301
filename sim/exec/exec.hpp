// What the simulator asks of an operation, and what it offers to those who write one.
//
// A synchronous operation has `Ran execute(const Op&, Warp&)`; one with Row::async has `Flight issue(const Op&, Warp&)`. Both
// are overloads in sim/exec/<family>.cpp, declared in sim/exec/families.hpp; dispatch.cpp demands one for every operation.
//
// execute/issue run for one group of lanes that stand at the same step (Warp::lanes); operations of the whole warp
// (Who::warp_aligned) get there only when all lanes are together, or after the participation fault has been noted.
//
// An asynchronous operation says at issue what it touches: it notes its accesses in the shadows (that is where races and
// missing waits are found) and returns a Flight. Flight::complete applies the effect on values; the completion policy decides
// when, at the latest at the wait (or commit's arrival, or exit) that completes it. Which agent counts is Row::async: ld and
// st have one counter a warp (WarpAgent), known to whoever waits. Findings depend on counters and views alone, never on when
// `complete` runs.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/exec/machine.hpp"

namespace tmemsim::sim {

struct Ran {
  // split: nothing has happened yet; the lanes `waits_for` and the others each execute it by themselves.
  enum class State : std::uint8_t { done, blocked, split } state = State::done;
  LaneGroup::State reason = LaneGroup::State::ready;  // blocked: in what
  std::uint32_t waits_for = 0;
  std::uint32_t record = 0;
  static Ran finished() { return {}; }
  static Ran split(std::uint32_t lanes) { return {State::split, LaneGroup::State::ready, lanes, 0}; }
  static Ran blocked(LaneGroup::State reason, std::uint32_t waits_for, std::uint32_t record) {
    return {State::blocked, reason, waits_for, record};
  }
};

// What is known of a value that an operation takes as a whole warp.
struct WarpValue {
  std::int32_t value = 0;
  bool bad = false;      // already reported: nothing that follows from it is a finding
};

// Bytes of shared or global memory that each lane touches.
struct ByteSpan {
  ByteMemory* memory = nullptr;
  Cta* owner = nullptr;                  // of shared memory
  BufferId buffer = 0;
  bool shared = false;
  std::array<std::int64_t, 32> first{};  // in `memory`
  std::int64_t base = 0;                 // where the buffer starts in `memory`
  std::uint32_t lanes = 0;               // that make the access: in bounds, aligned, with a good address
};

// One warp (or some lanes of it) executing one step.
class Warp {
 public:
  Warp(Machine& machine, WarpState& state, std::uint32_t step, std::uint32_t lanes, std::uint32_t number, bool retrying = false);

  Machine& machine;
  WarpState& state;
  Cta& cta;
  const std::uint32_t step;
  const std::uint32_t lanes;
  const std::uint32_t number;        // of this instruction in the warp
  const bool retrying;               // the operation blocked before; it is the same instance
  const StepPlan& plan;
  Event* event = nullptr;            // filled when somebody observes

  Sm& sm() { return machine.sms[cta.sm]; }
  std::uint32_t first_lane() const;

  // ---- operands ----
  LaneValues evaluate(const Expr& expr);                        // values that matter: undefined ones are reported
  // The one value of all lanes; differing values are participation. `what` names the operand in messages.
  WarpValue evaluate_for_warp(const Expr& expr, std::string_view what);
  // The row-major index of a region's first element; not fine where it leaves its buffer or is known bad (reported).
  struct Start {
    std::int64_t element = 0;
    bool fine = false;
  };
  Start start_of(const Region& region);
  // The base column of the TMEM buffer of a region.
  WarpValue base_of(const Region& region);
  // The TMEM address of a warp-wide operand.
  WarpValue address(const TmemAddr& operand);

  // ---- registers: `row` is absolute ----
  // Notes a read: loads that are still under way are found here. Returns the row's lanes that are known bad.
  void read_row(std::uint32_t row, std::uint32_t of_lanes);
  // Notes that the lanes get a value; undefined and bad travel with it. Words are written by the caller.
  void write_row(std::uint32_t row, std::uint32_t of_lanes, std::uint32_t undefined, std::uint32_t bad);
  // An undefined value that is read now has come from there.
  void note_origin(std::uint32_t origin) {
    if (origin != 0) undefined_since_ = origin;
  }
  // As a value that matters (operand, predicate, address): undefined lanes are uninit-read. Returns lanes now known bad.
  // `severity`: where the catalogue's is not the one.
  std::uint32_t use_value(std::uint32_t of_lanes, std::uint32_t undefined, std::uint32_t bad, std::string_view what,
                          std::optional<Severity> severity = std::nullopt);

  // The same where the value decides what is done next (address, condition, count): if it is bad, the rest of the run is open.
  std::uint32_t steer(std::uint32_t of_lanes, std::uint32_t undefined, std::uint32_t bad, std::string_view what);

  // ---- shared and global memory ----
  // Where each lane's access falls; reports what is out of bounds or misaligned and leaves those lanes out. `rank`: shared
  // memory of that CTA of the cluster; `no_rank`: what it is to name none.
  ByteSpan locate(const MemPlan& mem, int bytes, const std::optional<Expr>& rank = std::nullopt, Verdict no_rank = Verdict::out_of_bounds);
  // Of a write: where lanes are left out, the bytes of the buffer that nobody has written are known bad; some of them were meant.
  void spoil_if_left_out(const MemPlan& mem, const ByteSpan& span);
  // Word `value` of a buffer for each lane becomes the value.
  void load_words(BufferId buffer, std::uint32_t of_lanes, LaneValues& index_to_value);
  enum class Touch : std::uint8_t { read, write };
  // Notes the accesses in the shadow and reports races. Returns the lanes whose bytes are known bad.
  std::uint32_t touch(const ByteSpan& span, int bytes, Touch touch, std::uint32_t record);

  // The readers of a place with the access `record` as one more. Those of the past need not be kept of which is_settled(reader) says
  // that a later write follows them when it follows this access.
  template <class Settled> AccessId add_reader(AccessId past, std::uint32_t record, Settled&& is_settled);

  // ---- order and findings ----
  std::uint32_t record(std::uint16_t buffer);                   // of this instance as a synchronous access to the buffer
  Access describe() const;                                      // this instance: step, CTA, warp, lanes, number, loop values
  Instance instance() const { return {state.cta, state.warp, number}; }
  Candidate candidate(Verdict verdict, std::string message);    // at: this instance
  // Other: the access `earlier`.
  Candidate candidate(Verdict verdict, std::string message, std::uint32_t earlier);
  // A finding. Two instructions that nothing orders are an unordered pair of this run, too (check/open.cpp).
  void report(Candidate found);

  // Whether the lanes `x_lanes` of the access came before `y_lanes` of this warp. `collective`: this operation is one event of
  // all its lanes, and comes after whatever comes before any of them.
  bool happened_before(Sight which, std::uint32_t record, std::uint32_t x_lanes, std::uint32_t y_lanes, bool collective, Scopes scopes = Scopes::any) const;
  // Whether an asynchronous access is complete, and this warp as one knows it.
  bool complete_before(Sight which, const Access& x, Scopes scopes = Scopes::any) const;
  // The same for each of the lanes.
  bool complete_for(Sight which, const Access& x, std::uint32_t of_lanes, Scopes scopes = Scopes::any) const;
  // Whether all registers of a load have been read by instructions that came before this one. They have waited for their values,
  // although nothing says that the load as a whole is complete (switch consumed-load).
  bool consumed_before(const Access& x) const;
  // Whether the tensor core runs x before y, an operation of this warp: one of the pipelined pairs, and this
  // warp knows that x has been issued.
  bool piped_before(Sight which, const Access& x, const Access& y, Scopes scopes = Scopes::any) const;
  // Whether scope-check asks for a wider scope between a thread of that CTA and this one, of the same cluster.
  bool is_too_narrow(std::uint32_t other_cta, MemScope scope) const {
    return scope == MemScope::cta && other_cta != cta.index && machine.ctas[other_cta].cluster == cta.cluster &&
           machine.options.profile.severity(Switch::scope_check) != Severity::none;
  }
  // An order that only a scope which is too narrow gives: told with the severity of scope-check, as what it is without it.
  void out_of_scope(Candidate& found) const;

  // ---- views ----
  void acquire(std::uint32_t of_lanes, const Views& carried, Edge edge, bool narrow = false);
  // What the lanes give away when they signal now.
  Views released(std::uint32_t of_lanes) const;
  // Calls change(Views&) for the views of the lanes.
  template <class Change> void change_views(std::uint32_t of_lanes, Change&& change) {
    split_views(of_lanes);
    for (ViewGroup& group : state.views)
      if (group.lanes & of_lanes) group.views.change(change);
  }

 private:
  void split_views(std::uint32_t of_lanes);
  void note_consumed(RowState& row, std::uint32_t of_lanes);
  void report_object_access(const ByteSpan& span, std::uint32_t lane, int bytes);
  void report_race(const ByteSpan& span, std::uint32_t lane, int bytes, Touch touch, std::uint32_t record, std::uint32_t x_record,
                   std::uint32_t x_lanes, bool x_writes, Scopes scopes);
  std::array<std::uint32_t, 4> records_{};  // one a buffer; few operations touch more than two
  std::uint32_t undefined_since_ = 0;       // of the registers read so far: RowState::undefined_since
};

template <class Settled> AccessId Warp::add_reader(AccessId past, std::uint32_t record, Settled&& is_settled) {
  const AccessId me = AccessTable::whole(record);
  if (past == 0) return me;
  AccessTable::Readers readers = machine.accesses.readers(past);
  std::erase_if(readers, [&](const AccessTable::Reader& reader) { return reader.record == record || is_settled(reader); });
  if (readers.empty()) return me;
  if (readers.size() < most_readers) readers.push_back({record, machine.accesses[record].lanes});
  else machine.note_choice(Machine::Open::bound, step, machine.ref(record));
  return machine.accesses.intern(readers);
}

template <class Op> Ran execute(const Op&, Warp&) = delete;
template <class Op> Flight issue(const Op&, Warp&) = delete;
template <class Op> concept Executes = requires(const Op& op, Warp& warp) { { execute(op, warp) } -> std::same_as<Ran>; };
template <class Op> concept Issues = requires(const Op& op, Warp& warp) { { issue(op, warp) } -> std::same_as<Flight>; };
template <class Op> concept Simulated =
    (Op::row.async == Async::none && Executes<Op>) || (Op::row.async != Async::none && Issues<Op>);

}  // namespace tmemsim::sim
