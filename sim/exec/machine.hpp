// The state of a run: SMs, CTAs, warps, memory, what is in flight, what has been found.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/access.hpp"
#include "sim/check/candidate.hpp"
#include "sim/check/open.hpp"
#include "sim/check/view.hpp"
#include "sim/exec/mbarrier.hpp"
#include "sim/exec/plan.hpp"
#include "sim/memory/allocator.hpp"
#include "sim/memory/bytes.hpp"
#include "sim/memory/registers.hpp"
#include "sim/memory/tmem.hpp"
#include "sim/sim.hpp"
#include "sim/trace/tracer.hpp"

namespace tmemsim::sim {

struct Machine;
struct WarpState;

// How far an mma has come that is under way, as fractions: the first columns of D are done, the others have had the first steps
// of K. Nothing says which part of a result appears first.
struct Progress {
  double columns = 0.5, steps = 0.5;
};

// One asynchronous operation between issue and effect.
struct Flight {
  Async agent = Async::none;
  std::uint32_t record = 0;                       // its access record
  std::uint32_t number = 0;                       // in the order of its agent: waits complete a prefix
  std::function<void(Machine&, WarpState&)> complete;  // applies the effect; touches only what the issue declared
  bool done = false;
  MarkPtr mark = {};                              // of its issue in the event stream, when somebody observes
  std::function<void(Machine&, const Progress&)> progress = {};  // of an mma: shows a part of the effect; may be called often, or never
};

struct Background {
  std::uint32_t record = 0;
  std::function<void(Machine&)> complete;
  MarkPtr mark = {};                              // as above
  std::function<void(Machine&, const Progress&)> progress = {};
  bool shown = false;                             // some progress, by policy adversarial
};

// Lanes of a warp that stand at the same step.
struct LaneGroup {
  enum class State : std::uint8_t {
    ready,
    rendezvous,  // at an operation of the whole warp, other lanes are missing
    barrier,     // in a named barrier
    alloc,       // waits for columns
    mbarrier,    // waits for a phase of the mbarrier at byte `waits_for` of its CTA
    cluster,     // in barrier.cluster.wait
    pair,        // in an alloc or dealloc of cta_group::2, for the peer
    warp_sync,   // in bar.warp.sync, for the lanes `waits_for`
    sleeping,    // delay, until scheduler step `wake`
  };
  std::uint32_t lanes = 0;
  std::uint32_t pc = 0;
  State state = State::ready;
  std::uint32_t waits_for = 0;   // barrier id, or mask of lanes
  std::uint32_t record = 0;      // of the operation that blocks (barrier, alloc)
  std::uint32_t number = 0;      // of the last instruction in the warp
  static constexpr std::int64_t no_phase = INT64_MIN;
  std::int64_t meant = no_phase; // phase that a wait on an mbarrier means
  std::uint64_t wake = 0;
  std::uint64_t asked = ~std::uint64_t{0};  // Machine::happened when it last asked a question in a loop
  bool counts = false;           // the loop does something beside asking: it may end by itself
  bool yielded = false;          // has taken a backward branch since the other lanes ran
  bool retrying = false;         // executes the operation again that blocked it
  std::uint32_t apart_at = ~0u;  // step that its lanes execute by themselves although others stand there too
  bool told_apart = false;       // its lanes have been reported to come without the others, and still do
  bool alone = false;            // goes on with an operation of the whole warp although lanes are missing: reported
};

struct ViewGroup {
  std::uint32_t lanes = 0;
  Views views;
};

struct WarpState {
  std::uint32_t cta = 0, warp = 0;  // CTA in the grid, warp in the CTA
  std::uint32_t live = ~0u;         // lanes that have not exited
  std::vector<LaneGroup> groups;    // of live lanes, disjoint
  std::vector<ViewGroup> views;     // of all lanes, disjoint
  RegisterFile registers{0};
  std::vector<std::array<std::int32_t, 32>> loops;  // [slot][lane]
  std::uint32_t executed = 0;       // instructions so far (agent `order`)
  std::uint32_t ld_issued = 0, ld_waited = 0, st_issued = 0, st_waited = 0;
  std::uint32_t cluster_arrived = 0;  // lanes that have arrived at the cluster barrier and not waited
  std::uint32_t cluster_use = 0;      // the use of it that they arrived in
  std::uint32_t polled_false = 0;     // `executed` at the last poll of an mbarrier that said no
  std::int64_t polled_barrier = -1;
  // Elections: which lanes something has told apart, and what the elected one has done (check/open.cpp).
  std::uint32_t apart = 0, apart_number = 0;
  std::uint32_t leader = 0, elected_step = 0, elected_number = 0;  // lane (a mask); its last election, and instruction
  bool thread_named = false, thread_elected = false;  // issued something that is known by its thread
  std::deque<Flight> flights;       // ld and st that have had no effect yet, in issue order
  bool queued = false;              // stands in Machine::ready
};

// One use of a named barrier: who has arrived since it was last complete.
struct NamedBarrier {
  std::uint32_t expected = 0;       // threads; 0: nobody has arrived
  bool all_threads = false;         // no count was given: exited threads are not waited for
  std::vector<std::uint32_t> arrived;  // [warp]: lanes
  std::vector<std::uint8_t> counted;   // [warp]
  std::vector<std::uint8_t> for_all;   // [warp]: counted for all its threads although some did not come, which has been reported
  std::uint32_t threads = 0;        // counted so far
  std::uint32_t last_record = 0, completed_by = 0;
  std::uint32_t uses = 0;           // completed so far
  Views views;                      // of those who have arrived
  struct Own {
    std::uint32_t record = 0, use = 0;
  };
  std::vector<Own> own;             // [warp]: its last arrival, and the use that it was part of; kept over uses
};

// A thread that issues mma, cp and shift: its counters in the views, and how far it is.
struct TensorThread {
  std::uint32_t issue_agent = 0, agent = 0;
  std::uint32_t issued = 0;
};

// An mma, cp or shift that others may be pipelined in front of.
struct TensorOperation {
  Access access;
  View known;              // what its thread knew (with fences) when it issued it
};

// A thread that copies from shared to global memory: its bulk groups.
struct BulkThread {
  std::uint32_t read_agent = 0, agent = 0;  // sources read; copies complete
  std::uint32_t issued = 0;                 // copies
  std::uint32_t last_record = 0;            // of the sources read
  std::vector<std::uint32_t> groups;        // committed: the number of copies up to the end of each
};

// One half of an alloc or dealloc of cta_group::2.
struct PairCall {
  bool waiting = false, granted = false;
  std::uint32_t columns = 0, base = 0, record = 0;
  bool faulty = false;     // reported: an alloc that gets no columns, a dealloc that frees none
};

// What a strong store to a flag hands to the strong loads that read it.
struct FlagStore {
  Views views;
  bool release = false;
  std::uint32_t cta = 0;                 // whose thread stored it
  MemScope scope = MemScope::cta;
};
struct FlagPlace {
  bool shared = false;
  std::uint32_t owner = 0;               // CTA, or global buffer
  std::int64_t first = 0;                // byte
  auto operator<=>(const FlagPlace&) const = default;
};

// An access to columns that the CTA does not hold (yet): whether an alloc comes without an order to it shows later.
struct EarlyAccess {
  Candidate found;
  std::uint32_t record = 0, column = 0;
  struct Cells {
    std::uint32_t slab = 0, slabs = 0, column = 0, columns = 0, lanes = 0;
  };
  std::vector<Cells> cells;
};

struct Cta {
  std::uint32_t index = 0, cluster = 0, rank = 0, sm = 0;
  ByteMemory shared;
  std::vector<WarpState> warps;
  std::array<NamedBarrier, 16> barriers;
  std::uint32_t live_warps = 0;
  std::uint32_t relinquish_record = 0;   // first relinquish; 0: none
  std::vector<std::uint32_t> allocs;     // records of the allocs that were executed
  std::vector<std::uint32_t> alloc_columns;
  std::uint32_t most_columns = 0, alloc_sizes = 0;  // asked for and held at once, at most; the sizes asked for, as bits
  std::uint32_t last_lifecycle_record = 0;  // last alloc or dealloc
  std::vector<std::pair<std::uint32_t, std::uint32_t>> given_up;  // base, columns: faulty allocations that had to make room
  std::vector<std::uint32_t> lost_deallocs;  // columns; whose address is known bad: what they were meant to free is no leak
  std::map<std::int64_t, Mbarrier> mbarriers;   // by byte offset in the window; valid and invalidated ones
  std::uint32_t next_agent = 0;          // first counter that nobody uses
  PairCall pair_alloc, pair_dealloc;
  std::vector<EarlyAccess> early_accesses;
  std::map<std::uint32_t, TensorThread> tensor_threads;  // by thread of the CTA
  std::map<std::uint32_t, BulkThread> bulk_threads;      // by thread of the CTA
  struct BulkSignal {
    std::uint32_t agent = 0, copies = 0, last_record = 0;
    std::uint32_t complete = 0;            // so many of the first copies
    std::set<std::uint32_t> ahead;         // complete before some earlier one
    // The copy is complete now; how many of the first ones are.
    std::uint32_t complete_one(std::uint32_t number) {
      ahead.insert(number);
      while (ahead.erase(complete + 1) != 0) ++complete;
      return complete;
    }
  };
  std::map<std::int64_t, BulkSignal> bulk_signals;       // by barrier
  std::vector<std::uint32_t> remote;     // records of accesses from other CTAs (bounded)
  Views at_exit;                         // what its threads knew when they exited
};

// The barrier of one cluster.
struct ClusterBarrier {
  std::uint32_t uses = 0;                // completed
  Views arriving, arriving_relaxed;      // of the use under way
  Views completed, completed_relaxed;    // of the last one
  std::uint32_t last_record = 0, completed_by = 0;
};

// What happened to a granule of columns last.
struct GranuleHistory {
  std::uint32_t freed_by = 0;            // record of the last dealloc; 0: none
  std::uint32_t freed_cta = 0;
};

struct Sm {
  explicit Sm(std::uint32_t held) : allocator(held), held_columns(held) {}
  Allocator allocator;
  std::uint32_t held_columns = 0;
  std::unique_ptr<Tmem> tmem;            // made by the first alloc or access
  std::array<GranuleHistory, Allocator::granules> history{};
  std::vector<std::uint32_t> ctas;       // resident, in the grid
  // Accesses to columns that have been freed without an order to them: the last (bounded).
  struct FreedUnder {
    Instance freed_by, access;
    std::uint32_t lanes = 0;
  };
  std::vector<FreedUnder> freed_under;
  Tmem& cells() {
    if (!tmem) tmem = std::make_unique<Tmem>();
    return *tmem;
  }
};

struct Machine {
  Machine(const Program& program, const Options& options, Observer* observer);

  const Program program;                 // a copy: references into it outlive the caller's
  const Kernel& kernel;
  const Options options;
  std::unique_ptr<Tracer> tracer;        // when somebody observes

  std::vector<StepPlan> plans;           // by step
  std::vector<std::uint8_t> in_tile;     // by step: inside a lowered primitive
  std::vector<std::uint8_t> executed;    // by step: by some thread
  AccessTable accesses;
  std::uint32_t mbarrier_places = 0;     // bytes where operations have named an mbarrier
  std::vector<Sm> sms;
  std::vector<Cta> ctas;
  std::vector<ByteMemory> global;        // by buffer
  std::map<FlagPlace, FlagStore> flags;  // last strong stores
  bool narrow_edges = false;             // something was handed to another CTA over a scope that does not reach there (scope-check)
  std::vector<ClusterBarrier> clusters;
  // Asynchronous operations that no wait of a warp completes (mma, cp, shift, commits, bulk copies), in issue order. Policy
  // early applies them at once, late when nobody can go on without them, random at any time between.
  std::deque<Background> background;
  void start(Background operation);
  void complete_background();            // the next one of the policy
  void show_random_progress();           // of one that is under way
  void complete_background(std::size_t index);          // one, after those of its thread that the tensor core runs before it
  void complete_bulk(const WarpState& warp, std::uint32_t lanes, std::uint32_t count);  // the first copies of a thread
  std::deque<TensorOperation> tensor_operations;  // the last ones, in issue order
  // A phase or barrier was completed, or a thread exited: waits look again. Polls that nothing can answer are a standstill.
  void wake_mbarrier_waits(Cta& cta, std::int64_t offset);
  void wake_cluster_waits(std::uint32_t cluster);
  // Where values that nobody has written came from: the instances that brought them in. An origin is an index here plus one;
  // it travels with the value through registers and memory. 0: unknown.
  std::vector<Instance> origins;
  std::uint32_t origin(const Instance& instance) {
    constexpr std::size_t most_origins = std::size_t{1} << 20;
    if (origins.size() < most_origins && (origins.empty() || origins.back() != instance)) origins.push_back(instance);
    return static_cast<std::uint32_t>(origins.size());
  }
  // A value of that origin is used by an mma or gets to global memory.
  void reaches_memory(std::uint32_t origin) {
    if (origin != 0) reached_memory.insert(origins[origin - 1]);
  }
  std::set<Instance> reached_memory;
  Candidates candidates;
  std::mt19937_64 random;
  std::uint64_t steps = 0;               // executed
  std::uint64_t now = 0;                 // scheduler steps
  bool stopped = false;                  // deadlock, step limit
  bool over_limit = false;

  // ---- what a schedule may decide (check/open.cpp) ----
  // Pairs whose order the program leaves open although the outcome may depend on it; the other choices; both as steps.
  std::vector<std::pair<Ref, Ref>> unordered;
  std::vector<OpenChoice> choices;
  BranchPoints branches;
  void note_unordered(std::uint32_t record, std::uint32_t other);
  void note_unordered(const Ref& first, const Ref& second);
  enum class Open : std::uint8_t { leader, placement, value, bound, repeats };
  void note_choice(Open kind, std::uint32_t step, const Ref& at);
  void note_lanes(WarpState& warp, std::uint32_t step, const LaneGroup& group, std::uint32_t lanes, std::uint32_t number);
  // At the end: what is incomplete may be complete under another schedule.
  void note_open_ends();
  void note_contention(const Sm& sm);
  OpenFacts open_facts;

  // ---- runs under a schedule (exec/scheduler_choices.cpp) ----
  std::vector<Decision> decisions;
  std::uint64_t happened = 0;            // what others can notice; who asks again before that changes learns nothing
  std::uint32_t decide(std::size_t options);  // the option that the schedule takes; options >= 1
  std::vector<std::pair<std::uint32_t, std::uint32_t>> leaders;  // decided: (lanes, leader)
  std::uint32_t elected(std::uint32_t lanes);  // the one of the lanes, as a mask: always the same of the same lanes

  std::uint32_t cta_of_rank(const Cta& cta, std::uint32_t rank) const;  // CTA of the same cluster, in the grid
  bool others_may_come(const WarpState& warp, std::uint32_t step, std::uint32_t lanes) const;
  bool let_lanes_wait_alone();
  bool wait_for_others(const WarpState& warp, std::uint32_t lanes) const;
  LaneGroup* group_at(WarpState& warp, std::uint32_t step, std::uint32_t lanes);
  // Event of lanes that will try the operation again which blocked them.
  void note_wake(const WarpState& warp, const LaneGroup& group) {
    if (tracer) tracer->wake(warp, group, group.pc, false);
  }

  // ---- issue log (ir/issued.hpp) ----
  std::vector<Issued> issued;
  bool issued_all = true;

  struct Blocked {
    const WarpState* warp = nullptr;
    const LaneGroup* group = nullptr;
  };

  Sm& sm_of(const WarpState& warp) { return sms[ctas[warp.cta].sm]; }
  WarpState& warp_of(const Access& access) { return ctas[access.cta].warps[access.warp]; }

  Ref ref(std::uint32_t record) const;
  Instance instance_of(std::uint32_t record) const { return {accesses[record].cta, accesses[record].warp, accesses[record].number}; }
  Ref ref(std::uint32_t step, const WarpState& warp, std::uint32_t lanes) const;
  std::map<std::string, std::int64_t> loop_values(std::uint32_t step, const std::array<std::int32_t, recorded_loops>& loop) const;
  std::array<std::int32_t, recorded_loops> loop_snapshot(std::uint32_t step, const WarpState& warp, std::uint32_t lanes) const;

  // ---- scheduler (exec/scheduler.cpp) ----
  std::vector<WarpState*> ready;         // warps with something to run, in turn
  std::size_t turn = 0;
  void run_to_end();
  void make_ready(WarpState& warp);
  bool run_scheduled();                  // as far as the next decision; false: nobody can go on
  void columns_freed(Sm& sm);            // wakes allocs that wait
  // Brings the flights of a warp with number <= count (of that agent) to their effect.
  void complete(WarpState& warp, Async agent, std::uint32_t count);
  void complete_one(WarpState& warp, Flight& flight);

  std::uint32_t executing(const Step& step, const WarpState& warp, std::uint32_t lanes);

 private:
  std::set<std::pair<std::uint32_t, std::uint32_t>> unordered_steps_, chosen_steps_;  // named already
  bool knows_of_leader(const WarpState& warp, std::uint32_t lanes) const;
  void collect_garbage();
  WarpState* next_warp();
  void run_warp(WarpState& warp);
  LaneGroup* pick_group(WarpState& warp);
  bool waits_for_election(const WarpState& warp, const LaneGroup& group) const;
  void merge_groups(WarpState& warp);
  void step_group(WarpState& warp, std::size_t group);
  void execute_operation(WarpState& warp, std::size_t group, std::uint32_t lanes);
  void branch(WarpState& warp, std::size_t group, std::uint32_t away, std::uint32_t target);
  void exit_lanes(WarpState& warp, std::size_t group);
  void exit_cta(Cta& cta);
  void report_unfinished_copies(const Cta& cta);
  void report_remote_after_exit();
  bool everybody_polls() const;          // all who can run ask mbarriers that nothing changes
  bool give_up_faulty_columns();         // allocations that findings have been made about make room for allocs that wait
  bool resolve_rendezvous(Cta& cta);     // lets operations of the whole warp go on with the lanes that came
  bool quiesce();                        // nobody can run: true when something was found that lets the run go on
  void report_blocked();
  void report_standstill(const std::vector<Blocked>& blocked);
  void complete_random(WarpState& warp);
  void stop_at_limit(WarpState& warp, const LaneGroup& group);
  void apply_background(std::size_t index);
  std::size_t most_adverse() const;
  bool runs_first(const Access& x, const Access& y) const;  // x, which was issued before y
  bool is_under_way(std::size_t index) const;               // nothing in the background runs first
  void show_progress();
  // Under a schedule: the group stands at a point where the order is open.
  bool is_held(const WarpState& warp, const LaneGroup& group);
  bool learns_nothing(const LaneGroup& group) const;
  bool is_point(std::uint32_t step) const;
  void go_on(WarpState& warp, std::size_t group);
  void check_permits_held();
  void log_issue(const WarpState& warp, std::uint32_t step, std::uint32_t lanes);
};

// Whether the tensor core runs x, issued before y, in front of it (exec/warp.cpp).
bool is_pipelined_pair(const Access& x, const Access& y);

// ---- named barriers (exec/barrier.cpp) ----
// Takes note of exited lanes: barriers without a count do not wait for them.
void barriers_after_exit(Machine& machine, Cta& cta);
// Lets partial warps in barriers count as whole ones, each with its finding; true when that released somebody.
bool resolve_partial_barriers(Machine& machine, Cta& cta);
// Which warps could still arrive at the barrier: for deadlock reports.
std::string missing_at_barrier(const Machine& machine, const Cta& cta, std::uint32_t id);

// cluster.cpp: threads that have exited are not waited for.
void cluster_after_exit(Machine& machine, Cta& cta);

// Counter of the completed uses of a barrier, among the agents of its CTA.
std::uint32_t barrier_agent(const Machine& machine, std::uint32_t id);

// ---- dispatch (exec/dispatch.cpp) ----
void plan_step(const Program& program, const Step& step, StepPlan& plan);
std::string_view op_name(const Step& step);

}  // namespace tmemsim::sim
