// tcgen05.mma, .cp, .shift, .commit. PTX ISA 9.7.16.9, 9.7.16.10, 9.7.16.12.
//
// One thread issues them. Each is numbered by its thread; a commit covers all earlier numbers of the thread and hands the
// counter of what is complete to whoever waits on its barrier.
#include "ir/ops/tcgen05_mma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "sim/check/hazards.hpp"
#include "sim/check/means.hpp"
#include "sim/exec/families.hpp"
#include "sim/exec/operand.hpp"
#include "sim/exec/tensor_math.hpp"

namespace tmemsim::sim {
namespace {

Flight no_effect(Async agent, std::uint32_t record) {
  Flight flight{agent, record, 0, {}, false};
  flight.complete = [](Machine&, WarpState&) {};
  return flight;
}

// ---- who issues ----

TensorThread& thread_of(Warp& warp) {
  TensorThread& thread = warp.cta.tensor_threads[warp.state.warp * 32 + warp.first_lane()];
  if (thread.agent == 0) {
    thread.issue_agent = warp.cta.next_agent++;
    thread.agent = warp.cta.next_agent++;
  }
  return thread;
}

// One thread a time: the first of those that came, after the fault of the others has been told.
Warp issuing_thread(Warp& warp) {
  if (!std::has_single_bit(warp.lanes)) {
    warp.report(warp.candidate(Verdict::participation, fmt::format("{} threads execute it; one thread issues an operation of the tensor core", std::popcount(warp.lanes))));
  }
  Warp one(warp.machine, warp.state, warp.step, 1u << warp.first_lane(), warp.number);
  one.event = warp.event;
  return one;
}

// The instance as an asynchronous operation: numbered, and known to its thread as issued.
Access begin(Warp& warp, AccessKind kind) {
  TensorThread& thread = thread_of(warp);
  Access access = warp.describe();
  access.kind = kind;
  access.async_number = ++thread.issued;
  access.issue_agent = thread.issue_agent;
  access.agent_cta = warp.cta.index;
  access.agent = thread.agent;
  return access;
}

void note_issued(Warp& warp, const Access& access) {
  constexpr std::size_t most_operations = 1024;
  warp.change_views(warp.lanes, [&](Views& views) {
    for (View* view : {&views.any, &views.tensor.now, &views.tolerant.now}) view->raise(access.cta, access.issue_agent, access.async_number);
  });
  for (const ViewGroup& group : warp.state.views)
    if (group.lanes & warp.lanes) warp.machine.tensor_operations.push_back({access, group.views.tensor.now});
  if (warp.machine.tensor_operations.size() > most_operations) warp.machine.tensor_operations.pop_front();
}

std::uint32_t record_of(Warp& warp, Access access, BufferId buffer, bool updates = false) {
  access.buffer = buffer;
  access.updates = updates;
  return warp.machine.accesses.add(access);
}

// The CTAs that the operation works in: the own one, or the pair with the even one first. Empty where the pair lacks one.
std::vector<Cta*> parts_of(Warp& warp, std::uint8_t cta_group) {
  if (cta_group == 1) return {&warp.cta};
  const std::uint32_t even = warp.cta.rank & ~1u;
  if (even + 1 >= cluster_size(warp.machine.kernel.launch)) {
    warp.report(warp.candidate(Verdict::peer_lifecycle, "cta_group::2 in a CTA that has no peer"));
    return {};
  }
  Machine& machine = warp.machine;
  return {&machine.ctas[machine.cta_of_rank(warp.cta, even)], &machine.ctas[machine.cta_of_rank(warp.cta, even + 1)]};
}

// ---- places ----

void at_cells(Candidate& found, const Cta& cta, std::uint32_t first_lane, std::uint32_t last_lane, std::uint32_t column, std::uint32_t columns) {
  found.where.space = "tmem";
  found.where.sm = cta.sm;
  found.where.cta = cta.index;
  found.where.lanes = {first_lane, last_lane};
  found.where.columns = {column, column + columns - 1};
}

// Runs of lanes of a box that leaves some out, quadrant by quadrant; of another the whole.
std::vector<std::pair<std::int64_t, std::int64_t>> lane_runs(const SlabBox& box) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  const std::int64_t first = box.slab * slab_lanes, end = first + box.slabs * slab_lanes;
  for (std::int64_t lane = first; lane < end; ++lane) {
    if (!(box.lanes >> (lane % 32) & 1u)) continue;
    if (!runs.empty() && runs.back().second == lane - 1) runs.back().second = lane;
    else runs.emplace_back(lane, lane);
  }
  return runs;
}

void note_cells(Warp& warp, const Cta& cta, const std::vector<SlabBox>& boxes, bool write) {
  if (!warp.event) return;
  for (const SlabBox& box : boxes) {
    for (const auto& [first, last] : lane_runs(box)) {
      Extent extent;
      extent.place = cta.sm;
      extent.first = box.column;
      extent.last = box.column + box.columns - 1;
      extent.lane_first = first;
      extent.lane_last = last;
      (write ? warp.event->writes : warp.event->reads).push_back(std::move(extent));
    }
  }
}

void note_runs(Warp& warp, const Cta& cta, const ByteRuns& runs) {
  if (!warp.event) return;
  for (const auto& [first, count] : runs) note_range(warp.event->reads, Extent::Space::shared, cta.index, first, first + count - 1);
}

template <class Visit> void for_each_state(Tmem& tmem, const std::vector<SlabBox>& boxes, Visit&& visit) {
  for (const SlabBox& box : boxes)
    for (std::uint32_t slab = box.slab; slab < box.slab + box.slabs; ++slab)
      for (std::uint32_t column = box.column; column < box.column + box.columns; ++column)
        visit(tmem.state[slab / 2][column], lanes_of_slab(slab) & box.lanes, slab, column);
}

enum class Halves : std::uint8_t { both, low };

// An mma uses undefined values that have been told already, of these lanes of a quadrant.
void use_origins(Machine& machine, const Tmem& tmem, std::uint32_t quadrant, std::uint32_t column, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
    const auto origin = tmem.origins.find(column * tcgen05::lanes + quadrant * tcgen05::quadrant_lanes + lane);
    if (origin != tmem.origins.end()) machine.reaches_memory(origin->second);
  }
}

// Cells that an operation of the tensor core reads: nobody has written them, or they are known bad. `severity`: where the
// catalogue's is not the one.
struct CellsRead {
  bool bad = false;
};
CellsRead read_cells(Warp& warp, const Cta& cta, Tmem& tmem, const std::vector<SlabBox>& boxes, Halves halves, std::string_view what,
                     std::optional<Severity> severity) {
  CellsRead read;
  bool told = false;
  for_each_state(tmem, boxes, [&](CellState& state, std::uint32_t lanes, std::uint32_t slab, std::uint32_t column) {
    read.bad = read.bad || (state.bad & lanes) != 0;
    const std::uint32_t undefined = lanes & ~(state.low & (halves == Halves::both ? state.high : ~0u) & state.defined), missing = undefined & ~state.bad;
    if (severity && (undefined & state.bad) != 0) use_origins(warp.machine, tmem, slab / 2, column, undefined & state.bad);
    if (missing == 0) return;
    read.bad = true;
    state.bad |= missing;
    tmem.set_origins(slab / 2, column, missing, warp.machine.origin(warp.instance()));
    if (told) return;
    told = true;
    Candidate found = warp.candidate(Verdict::uninit_read, fmt::format("{} reads cells of column {} that nobody has written since the alloc", what, column));
    const std::uint32_t quadrant = slab / 2 * tcgen05::quadrant_lanes;
    at_cells(found, cta, quadrant + static_cast<std::uint32_t>(std::countr_zero(missing)), quadrant + 31u - static_cast<std::uint32_t>(std::countl_zero(missing)), column, 1);
    found.severity = severity;
    warp.report(std::move(found));
  });
  return read;
}

// Bytes of a shared operand, as far as they are known; what is not has been told.
enum class BytesRead : std::uint8_t { fine, bad, unwritten };
BytesRead read_bytes(Warp& warp, Cta& cta, BufferId buffer, const ByteRuns& runs, std::uint32_t record, std::optional<Severity> severity) {
  const Buffer& declared = warp.machine.kernel.buffers[buffer];
  note_runs(warp, cta, runs);
  if (!check_async_bytes(warp, {&cta.shared, &cta, buffer, declared.offset.value_or(0)}, runs, Warp::Touch::read, record)) return BytesRead::bad;
  bool bad = false;
  std::int64_t unwritten = -1;
  for (const auto& [first, count] : runs) {
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::uint8_t flag = cta.shared.flags()[i];
      bad = bad || (flag & ByteMemory::bad) != 0;
      if (!(flag & ByteMemory::defined) && unwritten < 0) unwritten = i;
      if (severity && flag == ByteMemory::bad) warp.machine.reaches_memory(cta.shared.origin_of(static_cast<std::size_t>(i)));
    }
  }
  if (bad) return BytesRead::bad;
  if (unwritten < 0) return BytesRead::fine;
  Candidate found = warp.candidate(Verdict::uninit_read, fmt::format("bytes of {} are read that nobody has written", declared.name));
  found.where.space = "shared";
  found.where.cta = cta.index;
  found.where.buffer = declared.name;
  found.where.bytes = {unwritten - declared.offset.value_or(0), unwritten - declared.offset.value_or(0)};
  found.severity = severity;
  warp.report(std::move(found));
  return BytesRead::unwritten;
}

// What a write leaves in its cells.
void write_state(Tmem& tmem, const std::vector<SlabBox>& boxes, bool high, bool bad) {
  for_each_state(tmem, boxes, [&](CellState& state, std::uint32_t lanes, std::uint32_t, std::uint32_t) {
    state.low |= lanes;
    state.high = high ? state.high | lanes : state.high & ~lanes;
    state.defined |= lanes;
    state.bad = bad ? state.bad | lanes : state.bad & ~lanes;
  });
}

void mark_bad(Tmem& tmem, const std::vector<SlabBox>& boxes) {
  for_each_state(tmem, boxes, [](CellState& state, std::uint32_t lanes, std::uint32_t, std::uint32_t) { state.bad |= lanes; });
}

std::uint32_t read_element(const std::uint8_t* data, std::int64_t byte, std::int64_t bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, data + byte, static_cast<std::size_t>(bytes));
  return value;
}

// ---- mma ----

struct KindFacts {
  std::int64_t k;
  std::string_view inputs, accumulators;
};
constexpr KindFacts facts_of(MmaKind kind) {
  switch (kind) {
    case MmaKind::f16: return {16, "f16 or bf16, the same for both", "f32, or f16 for f16 inputs"};
    case MmaKind::tf32: return {8, "tf32 or f32", "f32"};
    case MmaKind::i8: return {32, "s8 or u8", "s32"};
  }
  return {};
}

bool is_input(MmaKind kind, Dtype dtype) {
  switch (kind) {
    case MmaKind::f16: return dtype == Dtype::f16 || dtype == Dtype::bf16;
    case MmaKind::tf32: return dtype == Dtype::tf32 || dtype == Dtype::f32;
    case MmaKind::i8: return dtype == Dtype::s8 || dtype == Dtype::u8;
  }
  return false;
}

// PTX ISA, table 39.
bool is_legal_shape(MmaKind kind, int cta_group, std::int64_t m, std::int64_t n) {
  if (!data_path(m, cta_group)) return false;
  const std::int64_t step = cta_group == 2 ? (kind == MmaKind::i8 ? 32 : 16) : kind == MmaKind::i8 && n > 32 ? 16 : 8;
  return n >= step && n <= 256 && n % step == 0;
}

struct MmaShape {
  std::int64_t m = 0, n = 0, k = 0;  // of the instruction
  DataPath path = DataPath::d;
};

// What one mma does to values, from issue to completion.
struct MmaWork {
  Product product;                             // of one CTA
  DataPath path = DataPath::d;
  bool accumulate = false, a_in_tmem = false;
  std::uint32_t d_column = 0, a_column = 0, lane_base = 0, high = 0;
  std::shared_ptr<SharedMatrix> a, b;
  std::vector<std::uint32_t> masks, ctas;
  std::vector<std::vector<std::uint32_t>> d_before;  // by CTA: D ahead of it, once some of the result has been shown

  void complete(Machine& machine) const { write(machine, product.n, product.k); }
  void show(Machine& machine, const Progress& progress) {
    for (std::size_t part = d_before.size(); part < ctas.size(); ++part) d_before.push_back(read_d(machine, part));
    const auto part_of = [](double fraction, std::int64_t whole) { return static_cast<std::int64_t>(fraction * static_cast<double>(whole)); };
    write(machine, part_of(progress.columns, product.n), part_of(progress.steps, product.k));
  }

 private:
  using Elements = std::vector<std::uint32_t>;  // row-major

  Tmem& cells(Machine& machine, std::size_t part) const { return machine.sms[machine.ctas[ctas[part]].sm].cells(); }
  std::uint32_t lane_of(std::int64_t row, std::int64_t column) const { return cell_of(path, row, column, product.n).lane + lane_base; }
  std::uint32_t& cell_at(Tmem& tmem, std::int64_t row, std::int64_t column) const {
    return tmem.cell[d_column + cell_of(path, row, column, product.n).column][lane_of(row, column)];
  }

  Elements read_d(Machine& machine, std::size_t part) const {
    Tmem& tmem = cells(machine, part);
    const std::uint32_t element = product.d == Dtype::f16 ? 0xffffu : ~0u;
    Elements d;
    d.reserve(static_cast<std::size_t>(product.m * product.n));
    for (std::int64_t row = 0; row < product.m; ++row)
      for (std::int64_t column = 0; column < product.n; ++column) d.push_back(cell_at(tmem, row, column) & element);
    return d;
  }

  Elements read_a(Machine& machine, std::size_t part) const {
    const Cta& cta = machine.ctas[ctas[part]];
    Tmem& tmem = cells(machine, part);
    const std::int64_t bytes = bits(product.a) / 8;
    Elements elements;
    elements.reserve(static_cast<std::size_t>(product.m * product.k));
    for (std::int64_t row = 0; row < product.m; ++row) {
      for (std::int64_t k = 0; k < product.k; ++k) {
        if (!a_in_tmem) {
          elements.push_back(read_element(cta.shared.data(), a->byte[static_cast<std::size_t>(row * product.k + k)], bytes));
          continue;
        }
        const auto bit = static_cast<std::uint32_t>(k * bytes * 8);
        elements.push_back(static_cast<std::uint32_t>(std::uint64_t{tmem.cell[a_column + bit / 32][lane_of(row, 0)]} >> (bit % 32)) &
                           (bytes == 4 ? ~0u : (1u << (8 * bytes)) - 1));
      }
    }
    return elements;
  }

  Elements read_b(Machine& machine) const {  // the columns of all CTAs
    Elements elements;
    elements.reserve(static_cast<std::size_t>(product.n * product.k));
    for (std::uint32_t index : ctas)
      for (std::int64_t byte : b->byte) elements.push_back(read_element(machine.ctas[index].shared.data(), byte, bits(product.b) / 8));
    return elements;
  }

  static Elements first_steps(const Elements& of, std::int64_t rows, std::int64_t k, std::int64_t steps) {
    Elements elements;
    for (std::int64_t row = 0; row < rows; ++row) elements.insert(elements.end(), of.begin() + row * k, of.begin() + row * k + steps);
    return elements;
  }

  // The first `columns` of D are done, the others have had `steps` of K.
  void write(Machine& machine, std::int64_t columns, std::int64_t steps) const {
    const Elements b_elements = read_b(machine);
    for (std::size_t part = 0; part < ctas.size(); ++part) {
      const Elements a_elements = read_a(machine, part);
      const Elements d = d_before.empty() ? read_d(machine, part) : d_before[part];
      if (columns > 0) {
        Elements done = d;
        multiply(product, a_elements, b_elements, accumulate, done);
        put(machine, part, done, 0, columns);
      }
      if (columns == product.n || steps == 0) continue;
      Product partial = product;
      partial.k = steps;
      Elements begun = d;
      multiply(partial, first_steps(a_elements, product.m, product.k, steps), first_steps(b_elements, product.n, product.k, steps), accumulate, begun);
      put(machine, part, begun, columns, product.n);
    }
  }

  void put(Machine& machine, std::size_t part, const Elements& d, std::int64_t first, std::int64_t end) const {
    Tmem& tmem = cells(machine, part);
    for (std::int64_t row = 0; row < product.m; ++row) {
      for (std::int64_t column = first; column < end; ++column) {
        const std::uint32_t lane = lane_of(row, column);
        if (masks[4 * part + lane / 32] >> (lane % 32) & 1u) continue;
        cell_at(tmem, row, column) = d[static_cast<std::size_t>(row * product.n + column)] | (product.d == Dtype::f16 ? high : 0);
      }
    }
  }
};

class Mma {
 public:
  Mma(const TcgenMma& op, Warp& warp)
      : op_(op), warp_(warp), d_plan_(warp.plan(op.d)), a_plan_(warp.plan(op.a)), b_plan_(warp.plan(op.b)), d_(buffer(op.d)), a_(buffer(op.a)),
        b_(buffer(op.b)) {}

  Flight issue() {
    Access access = begin(warp_, AccessKind::mma);
    const bool legal = check_types_and_shape();
    if (legal) access.form = static_cast<std::uint32_t>(shape_.m << 16 | shape_.n);
    const std::vector<Cta*> parts = legal ? parts_of(warp_, op_.cta_group) : std::vector<Cta*>{};
    const bool placed = !parts.empty() && place_d() && place_a() && place_b() && read_masks();
    access.accumulator = d_address_;
    record_ = record_of(warp_, access, op_.d.buffer);
    if (!placed) {
      note_issued(warp_, access);
      spoil(parts);
      return no_effect(Async::mma, record_);
    }
    const WarpValue accumulate = warp_.evaluate_for_warp(op_.accumulate, "whether D is accumulated");
    accumulate_ = accumulate.value != 0;
    warp_.machine.accesses.at(record_).updates = accumulate_;
    record_a_ = record_of(warp_, access, op_.a.buffer);
    record_b_ = record_of(warp_, access, op_.b.buffer);
    bad_ = accumulate.bad;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!check_part(*parts[i], i)) bad_ = true;
    for (std::size_t i = 0; i < parts.size(); ++i)
      write_state(cells(*parts[i]), boxes_[i], d_.dtype != Dtype::f16 || zero_high(), bad_);
    note_issued(warp_, access);
    return flight(parts);
  }

 private:
  const Buffer& buffer(const Region& region) const { return warp_.machine.kernel.buffers[region.buffer]; }
  Tmem& cells(const Cta& cta) const { return warp_.machine.sms[cta.sm].cells(); }
  bool zero_high() const { return warp_.machine.options.profile.value(Switch::unpack_high_half) == "zero"; }

  bool refuse(Verdict verdict, std::string message) {
    warp_.report(warp_.candidate(verdict, std::move(message)));
    return false;
  }

  bool check_types_and_shape() {
    const KindFacts kind = facts_of(op_.kind);
    const std::string_view name = keyword(op_.kind);
    if (!is_input(op_.kind, a_.dtype) || !is_input(op_.kind, b_.dtype) || (op_.kind == MmaKind::f16 && a_.dtype != b_.dtype)) {
      return refuse(Verdict::descriptor, fmt::format("kind {} does not multiply {} by {}: its inputs are {}", name, tmemsim::name(a_.dtype), tmemsim::name(b_.dtype), kind.inputs));
    }
    const bool good_d = op_.kind == MmaKind::i8 ? d_.dtype == Dtype::s32 : d_.dtype == Dtype::f32 || (d_.dtype == Dtype::f16 && a_.dtype == Dtype::f16);
    if (!good_d) return refuse(Verdict::descriptor, fmt::format("kind {} does not accumulate in {}: D is {}", name, tmemsim::name(d_.dtype), kind.accumulators));
    const std::int64_t parts = op_.cta_group;
    shape_.m = d_plan_.extent[0] * parts;
    shape_.n = d_plan_.extent[1];
    shape_.k = kind.k;
    if (!is_legal_shape(op_.kind, op_.cta_group, shape_.m, shape_.n)) {
      return refuse(Verdict::descriptor, fmt::format("kind {} with cta_group::{} has no shape M={} N={}", name, parts, shape_.m, shape_.n));
    }
    shape_.path = *data_path(shape_.m, op_.cta_group);
    if (op_.transpose.a && a_.space == Space::tmem) return refuse(Verdict::descriptor, "A in tensor memory cannot be transposed");
    const auto matches = [&](const RegionPlan& plan, std::int64_t mn, bool transposed) {
      return plan.extent[transposed ? 1 : 0] == mn && plan.extent[transposed ? 0 : 1] == shape_.k;
    };
    const auto wanted = [&](std::string_view operand, const RegionPlan& plan, std::string_view rows, std::int64_t mn, bool transposed) {
      const std::string shape = transposed ? fmt::format("transposed, K={} by {}={}", shape_.k, rows, mn) : fmt::format("{}={} by K={}", rows, mn, shape_.k);
      return refuse(Verdict::descriptor, fmt::format("{} is {} by {}; wanted is {}", operand, plan.extent[0], plan.extent[1], shape));
    };
    if (!matches(a_plan_, shape_.m / parts, op_.transpose.a)) return wanted("A", a_plan_, "M", shape_.m / parts, op_.transpose.a);
    if (!matches(b_plan_, shape_.n / parts, op_.transpose.b)) return wanted("B", b_plan_, "N", shape_.n / parts, op_.transpose.b);
    if (op_.transpose.b && op_.kind == MmaKind::i8 && shape_.n % (16 * parts) != 0) {
      return refuse(Verdict::descriptor, fmt::format("8-bit B is transposed for N a multiple of {}, not {}", 16 * parts, shape_.n));
    }
    return true;
  }

  // Where D lies, and whether its buffer says the same as the data path.
  bool place_d() {
    const Warp::Start start = warp_.start_of(op_.d);
    const WarpValue base = warp_.base_of(op_.d);
    if (!start.fine || base.bad) return false;
    const TmemMatrix matrix = tmem_matrix(d_, d_plan_, start.element);
    const TmemMatrix::Cell origin = matrix.cell.front();
    const auto column = static_cast<std::uint32_t>(base.value) + origin.column;
    d_address_ = column + (origin.lane << 16);
    if (const bool fine = check_address(d_address_, static_cast<std::uint32_t>(d_columns(shape_.path, shape_.n))); !fine) return false;
    lane_base_ = origin.lane;
    const bool lane_allowed = origin.lane == 0 || (shape_.path == DataPath::f && origin.lane == 16);
    const auto rows = d_plan_.extent[0], n = shape_.n;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < n; ++i) {
        const TmemMatrix::Cell& is = matrix.cell[static_cast<std::size_t>(row * n + i)];
        const TmemMatrix::Cell wanted = cell_of(shape_.path, row, i, n);
        if (is.lane - origin.lane == wanted.lane && is.column - origin.column == wanted.column && is.bit == 0) continue;
        d_column_ = column;
        return refuse(Verdict::layout_mismatch, fmt::format("D[{}, {}] is written to lane {}, column {} of data path {}; {} keeps it in lane {}, column {}", row, i,
                                                            wanted.lane + origin.lane, wanted.column, letter(shape_.path), d_.name, is.lane, is.column - origin.column));
      }
    }
    d_column_ = column;
    if (!lane_allowed) {
      spoiled_slabs_ = 0xff;  // which of the allowed lanes was meant is not known
      return refuse(Verdict::misaligned, fmt::format("D starts at lane {}; data path {} allows {}", origin.lane, letter(shape_.path), shape_.path == DataPath::f ? "0 and 16" : "0"));
    }
    return true;
  }

  bool check_address(std::uint32_t address, std::uint32_t columns) {
    if (address & ~tcgen05::address_mask) return refuse(Verdict::taddr_bits, fmt::format("address {:#010x} has bits outside lane (22:16) and column (8:0)", address));
    const std::uint32_t first = tcgen05::column_of(address);
    if (first + columns > tcgen05::columns) return refuse(Verdict::out_of_bounds, fmt::format("columns {} to {} leave the 512 of tensor memory", first, first + columns - 1));
    return true;
  }

  bool place_a() {
    const Warp::Start start = warp_.start_of(op_.a);
    if (!start.fine) return false;
    if (a_.space == Space::shared) {
      a_matrix_ = std::make_shared<SharedMatrix>(shared_matrix(a_, a_plan_, start.element, op_.transpose.a));
      return check_canonical(a_, *a_matrix_, shape_.m / op_.cta_group);
    }
    const WarpValue base = warp_.base_of(op_.a);
    if (base.bad) return false;
    const TmemMatrix matrix = tmem_matrix(a_, a_plan_, start.element);
    const TmemMatrix::Cell origin = matrix.cell.front();
    a_column_ = static_cast<std::uint32_t>(base.value) + origin.column;
    if (!check_address(a_column_ + (origin.lane << 16), a_columns)) return false;
    const std::int64_t rows = a_plan_.extent[0], width = bits(a_.dtype);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t k = 0; k < shape_.k; ++k) {
        const TmemMatrix::Cell& is = matrix.cell[static_cast<std::size_t>(row * shape_.k + k)];
        const TmemMatrix::Cell path = cell_of(shape_.path, row, 0, shape_.n);
        const std::int64_t bit = k * width;
        if (is.lane - origin.lane == path.lane && is.column - origin.column == bit / 32 && is.bit == bit % 32) continue;
        return refuse(Verdict::layout_mismatch, fmt::format("A[{}, {}] is read from lane {}, column {}, bit {}; {} keeps it in lane {}, column {}, bit {}", row, k,
                                                            path.lane + origin.lane, bit / 32, bit % 32, a_.name, is.lane, is.column - origin.column, is.bit));
      }
    }
    if (origin.lane != lane_base_) {
      return refuse(Verdict::descriptor, fmt::format("A starts at lane {} and D at lane {}; the data path uses one for both", origin.lane, lane_base_));
    }
    a_boxes_ = boxes_of(slabs_of(shape_.path, lane_base_), a_column_, a_columns);
    return true;
  }

  bool place_b() {
    const Warp::Start start = warp_.start_of(op_.b);
    if (!start.fine) return false;
    b_matrix_ = std::make_shared<SharedMatrix>(shared_matrix(b_, b_plan_, start.element, op_.transpose.b));
    return check_canonical(b_, *b_matrix_, shape_.n / op_.cta_group);
  }

  bool check_canonical(const Buffer& of, const SharedMatrix& matrix, std::int64_t mn) {
    if (is_canonical(matrix.byte, mn, shape_.k, bits(of.dtype) / 8, false)) return true;
    return refuse(Verdict::descriptor, fmt::format("no matrix descriptor describes the layout of {}: it is none of the canonical ones, K-major or MN-major, not "
                                                   "swizzled or by 32, 64 or 128 bytes", of.name));
  }

  bool read_masks() {
    const std::size_t words = op_.cta_group == 2 ? 8 : 4;
    boxes_.assign(op_.cta_group, {});
    masks_.assign(words, 0);
    if (!op_.lanes_off.empty() && op_.lanes_off.size() != words) {
      return refuse(Verdict::layout_mismatch, fmt::format("{} mask words are given; cta_group::{} has {}", op_.lanes_off.size(), op_.cta_group, words));
    }
    for (std::size_t i = 0; i < op_.lanes_off.size(); ++i)
      masks_[i] = static_cast<std::uint32_t>(warp_.evaluate_for_warp(op_.lanes_off[i], "the mask of lanes").value);
    for (std::size_t part = 0; part < op_.cta_group; ++part) boxes_[part] = enabled_boxes(part);
    return true;
  }
  // Where D is written in one CTA: slabs whose lanes are all let through, and those of which the mask takes some away.
  std::vector<SlabBox> enabled_boxes(std::size_t part) const {
    const auto columns = static_cast<std::uint32_t>(d_columns(shape_.path, shape_.n));
    std::uint32_t whole = 0;
    std::vector<SlabBox> in_part;
    for (std::uint32_t slab = 0; slab < slabs; ++slab) {
      const std::uint32_t enabled = lanes_of_slab(slab) & ~mask_of(part, slab / 2);
      if (!(slabs_of(shape_.path, lane_base_) >> slab & 1u) || enabled == 0) continue;
      if (enabled == lanes_of_slab(slab)) whole |= 1u << slab;
      else in_part.push_back({slab, 1, d_column_, columns, enabled});
    }
    std::vector<SlabBox> boxes = boxes_of(whole, d_column_, columns);
    boxes.insert(boxes.end(), in_part.begin(), in_part.end());
    return boxes;
  }
  std::uint32_t mask_of(std::size_t part, std::uint32_t quadrant) const { return masks_[4 * part + quadrant]; }

  // Order and contents of what the operation touches in one CTA. False: D becomes known bad.
  bool check_part(Cta& cta, std::size_t part) {
    const std::vector<SlabBox>& d_boxes = boxes_[part];
    if (!check_allocated(warp_, cta, d_boxes) || (a_.space == Space::tmem && !check_allocated(warp_, cta, a_boxes_))) {
      mark_bad(cells(cta), d_boxes);
      return false;
    }
    Tmem& tmem = cells(cta);
    bool fine = true;
    if (a_.space == Space::tmem) {
      check_tmem(warp_, cta, a_boxes_, TmemUse::read, record_a_);
      fine = !read_cells(warp_, cta, tmem, a_boxes_, Halves::both, "A", Severity::error).bad;
      note_cells(warp_, cta, a_boxes_, false);
    } else {
      fine = read_bytes(warp_, cta, op_.a.buffer, a_matrix_->runs, record_a_, Severity::error) == BytesRead::fine;
    }
    if (read_bytes(warp_, cta, op_.b.buffer, b_matrix_->runs, record_b_, Severity::error) != BytesRead::fine) fine = false;
    check_tmem(warp_, cta, d_boxes, accumulate_ ? TmemUse::update : TmemUse::write, record_);
    note_cells(warp_, cta, d_boxes, true);
    if (!accumulate_) return fine;
    note_cells(warp_, cta, d_boxes, false);
    if (read_cells(warp_, cta, tmem, d_boxes, d_.dtype == Dtype::f16 ? Halves::low : Halves::both, "the accumulator", Severity::error).bad) fine = false;
    return fine;
  }

  // What D names was meant to be written, by its data path and by its declared layout: nobody is told that it never was.
  void spoil(const std::vector<Cta*>& parts) {
    const auto columns = shape_.n > 0 ? static_cast<std::uint32_t>(d_columns(shape_.path, shape_.n)) : 0;
    const auto spoil_in = [&](const Cta& cta) {
      spoil_region(cta);
      if (d_column_ != ~0u && d_column_ + columns <= tcgen05::columns) mark_bad(cells(cta), boxes_of(spoiled_slabs_ | slabs_of(shape_.path, lane_base_), d_column_, columns));
    };
    if (parts.empty()) spoil_in(warp_.cta);
    for (const Cta* part : parts) spoil_in(*part);
  }

  void spoil_region(const Cta& cta) {
    const Warp::Start start = warp_.start_of(op_.d);
    const WarpValue base = warp_.base_of(op_.d);
    if (base.bad) return;
    if (!start.fine) return spoil_unwritten(warp_.machine, cta);
    for (const TmemMatrix::Cell& cell : tmem_matrix(d_, d_plan_, start.element).cell) {
      const std::uint32_t column = static_cast<std::uint32_t>(base.value) + cell.column;
      if (column < tcgen05::columns && cell.lane < tcgen05::lanes) cells(cta).state[cell.lane / 32][column].bad |= 1u << cell.lane % 32;
    }
  }

  Flight flight(const std::vector<Cta*>& parts) {
    auto work = std::make_shared<MmaWork>();
    work->product = {shape_.m / op_.cta_group, shape_.n, shape_.k, a_.dtype, b_.dtype, d_.dtype};
    work->path = shape_.path;
    work->accumulate = accumulate_;
    work->a_in_tmem = a_.space == Space::tmem;
    work->d_column = d_column_;
    work->a_column = a_column_;
    work->lane_base = lane_base_;
    work->high = zero_high() ? 0 : tmem_poison & 0xffff0000u;
    work->a = a_matrix_;
    work->b = b_matrix_;
    work->masks = masks_;
    for (const Cta* part : parts) work->ctas.push_back(part->index);
    Flight flight{Async::mma, record_, 0, {}, false};
    flight.complete = [work](Machine& machine, WarpState&) { work->complete(machine); };
    flight.progress = [work](Machine& machine, const Progress& progress) { work->show(machine, progress); };
    return flight;
  }

  static constexpr std::uint32_t a_columns = 8;  // 256 bits of A a row

  const TcgenMma& op_;
  Warp& warp_;
  const RegionPlan &d_plan_, &a_plan_, &b_plan_;
  const Buffer &d_, &a_, &b_;
  MmaShape shape_;
  std::uint32_t record_ = 0, record_a_ = 0, record_b_ = 0;
  std::uint32_t d_address_ = 0, d_column_ = ~0u, a_column_ = 0, lane_base_ = 0, spoiled_slabs_ = 0;
  bool accumulate_ = false, bad_ = false;
  std::shared_ptr<SharedMatrix> a_matrix_, b_matrix_;
  std::vector<SlabBox> a_boxes_;
  std::vector<std::vector<SlabBox>> boxes_;  // of D, by part
  std::vector<std::uint32_t> masks_;
};

// ---- cp ----

struct CpFacts {
  std::int64_t rows = 0, row_bytes = 0;
};
constexpr CpFacts facts_of(CpShape shape) {
  switch (shape) {
    case CpShape::s128x256b: return {128, 32};
    case CpShape::s128x128b: return {128, 16};
    case CpShape::s4x256b: return {4, 32};
    case CpShape::s64x128b: return {64, 16};
    case CpShape::s32x128b: return {32, 16};
  }
  return {};
}

bool is_legal_pair(CpShape shape, CpMulticast multicast) {
  if (shape == CpShape::s64x128b) return multicast == CpMulticast::warpx2_02_13 || multicast == CpMulticast::warpx2_01_23;
  return multicast == (shape == CpShape::s32x128b ? CpMulticast::warpx4 : CpMulticast::none);
}

// The lanes that row `row` goes to.
std::vector<std::uint32_t> lanes_of_row(CpShape shape, CpMulticast multicast, std::uint32_t lane, std::uint32_t row) {
  switch (shape) {
    case CpShape::s4x256b: return {lane + 32 * row};
    case CpShape::s64x128b:
      if (multicast == CpMulticast::warpx2_02_13) return {row, row + 64};
      return row < 32 ? std::vector<std::uint32_t>{row, row + 32} : std::vector<std::uint32_t>{row + 32, row + 64};
    case CpShape::s32x128b: return {row, row + 32, row + 64, row + 96};
    default: return {row};
  }
}

// The bytes of the source in the order of its rows; empty where no descriptor describes them.
std::vector<std::int64_t> source_bytes(const Buffer& buffer, const RegionPlan& region, std::int64_t first, const CpFacts& facts) {
  const int bytes = bits(buffer.dtype) / 8;
  if (bits(buffer.dtype) % 8 != 0 || region.elements * bytes != facts.rows * facts.row_bytes) return {};
  std::vector<std::int64_t> byte = region_bytes(buffer, region, first);
  if (is_canonical(byte, facts.rows, facts.row_bytes / bytes, bytes, true)) return byte;
  // Whatever the order of the elements: a block of rows of 16 bytes is one without swizzle.
  const ByteRuns runs = runs_of(byte, bytes);
  if (facts.row_bytes != 16 || runs.size() != 1 || runs.front().first % 16 != 0) return {};
  std::sort(byte.begin(), byte.end());
  return byte;
}

class Cp {
 public:
  Cp(const TcgenCp& op, Warp& warp) : op_(op), warp_(warp), facts_(facts_of(op.shape)), buffer_(warp.machine.kernel.buffers[op.src.buffer]) {}

  Flight issue() {
    Access access = begin(warp_, AccessKind::cp);
    access.form = static_cast<std::uint32_t>(op_.shape);
    parts_ = parts_of(warp_, op_.cta_group);
    record_ = record_of(warp_, access, warp_.plan(op_.dst).view);
    const std::uint32_t source = record_of(warp_, access, op_.src.buffer);
    const bool good = !parts_.empty() && place();
    for (Cta* part : parts_) {
      if (!in_range_) break;
      Tmem& tmem = warp_.machine.sms[part->sm].cells();
      if (!good || !check_allocated(warp_, *part, boxes_)) {
        mark_bad(tmem, boxes_);
        continue;
      }
      const BytesRead read = read_bytes(warp_, *part, op_.src.buffer, runs_, source, std::nullopt);
      check_tmem(warp_, *part, boxes_, TmemUse::write, record_);
      note_cells(warp_, *part, boxes_, true);
      write_state(tmem, boxes_, true, read != BytesRead::fine || misses_its_meaning(*part));
      if (read == BytesRead::unwritten) leave_undefined(warp_, tmem);
    }
    note_issued(warp_, access);
    return good ? flight() : no_effect(Async::cp, record_);
  }

 private:
  bool refuse(Verdict verdict, std::string message) {
    warp_.report(warp_.candidate(verdict, std::move(message)));
    return false;
  }

  // The cells get what nobody has written, and that has been told: an mma that uses them makes it an error.
  void leave_undefined(Warp& warp, Tmem& tmem) const {
    for_each_state(tmem, boxes_, [&](CellState& state, std::uint32_t lanes, std::uint32_t slab, std::uint32_t column) {
      state.defined &= ~lanes;
      tmem.set_origins(slab / 2, column, lanes, warp.machine.origin(warp.instance()));
    });
  }

  // Where the cells are that it writes, or was meant to.
  bool place() {
    const bool legal = is_legal_pair(op_.shape, op_.multicast);
    if (!legal) refuse(Verdict::descriptor, fmt::format("shape {} does not go with multicast {}", keyword(op_.shape), keyword(op_.multicast)));
    const WarpValue address = warp_.address(op_.dst);
    const auto bits_of_address = static_cast<std::uint32_t>(address.value), columns = static_cast<std::uint32_t>(facts_.row_bytes / 4);
    if (address.bad) return false;
    const auto lies_elsewhere = [&](Verdict verdict, std::string message) {
      for (const Cta* part : parts_) spoil_unwritten(warp_.machine, *part);
      return legal && refuse(verdict, std::move(message));
    };
    if (bits_of_address & ~tcgen05::address_mask) {
      return lies_elsewhere(Verdict::taddr_bits, fmt::format("address {:#010x} has bits outside lane (22:16) and column (8:0)", bits_of_address));
    }
    column_ = tcgen05::column_of(bits_of_address);
    lane_ = tcgen05::lane_of(bits_of_address);
    if (column_ + columns > tcgen05::columns) {
      return lies_elsewhere(Verdict::out_of_bounds, fmt::format("columns {} to {} leave the 512 of tensor memory", column_, column_ + columns - 1));
    }
    in_range_ = true;
    const bool few_rows = op_.shape == CpShape::s4x256b;
    boxes_ = boxes_of(0xffu, column_, columns);
    if (!legal) return false;
    if (few_rows ? lane_ >= 32 : lane_ != 0) return refuse(Verdict::misaligned, fmt::format("shape {} starts at lane {}, not at lane {}", keyword(op_.shape), few_rows ? "0 to 31" : "0", lane_));
    if (column_ % 4 != 0) {
      Candidate found = warp_.candidate(Verdict::misaligned, fmt::format("column {} is not a multiple of 4", column_));
      if (!warp_.machine.options.profile.is_strict()) found.severity = Severity::warning;
      warp_.report(std::move(found));
    }
    if (few_rows) {
      boxes_ = boxes_of(lane_ < 16 ? 0x55u : 0xaau, column_, columns);
      for (SlabBox& box : boxes_) box.lanes = 1u << lane_;
    }
    const Warp::Start start = warp_.start_of(op_.src);
    if (!start.fine) return false;
    bytes_ = source_bytes(buffer_, warp_.plan(op_.src), start.element, facts_);
    runs_ = runs_of(bytes_, std::max(1, bits(buffer_.dtype) / 8));
    if (!bytes_.empty()) return true;
    return refuse(Verdict::descriptor, fmt::format("{} rows of {} bytes are copied, and no matrix descriptor describes {} as such", facts_.rows, facts_.row_bytes, buffer_.name));
  }

  // What the author says that it copies, against where the data path puts it. True: they differ, and that has been told.
  bool misses_its_meaning(const Cta& cta) {
    const std::optional<Means>& means = warp_.machine.program.steps[warp_.step].stmt->means;
    if (!means || bits(buffer_.dtype) % 8 != 0) return false;
    std::vector<CopiedByte> moved;
    const std::int64_t element = bits(buffer_.dtype) / 8, row_bytes = facts_.row_bytes;
    for (std::int64_t i = 0; i < facts_.rows * row_bytes; ++i) {
      const std::int64_t from = bytes_[static_cast<std::size_t>(i / element)] + i % element;
      for (std::uint32_t lane : lanes_of_row(op_.shape, op_.multicast, lane_, static_cast<std::uint32_t>(i / row_bytes)))
        moved.push_back({from, lane, column_ + static_cast<std::uint32_t>(i % row_bytes / 4), static_cast<std::uint32_t>(i % 4 * 8)});
    }
    const auto mismatch = mismatch_with_means(warp_, *means, moved);
    if (!mismatch) return false;
    Candidate found = warp_.candidate(Verdict::layout_mismatch, mismatch->message);
    at_cells(found, cta, 0, tcgen05::lanes - 1, column_, static_cast<std::uint32_t>(row_bytes / 4));
    warp_.report(std::move(found));
    for (const auto& [lane, column] : mismatch->meant)
      if (lane < tcgen05::lanes && column < tcgen05::columns) warp_.machine.sms[cta.sm].cells().state[lane / 32][column].bad |= 1u << lane % 32;
    return true;
  }

  Flight flight() {
    std::vector<std::uint32_t> ctas;
    for (const Cta* part : parts_) ctas.push_back(part->index);
    Flight flight{Async::cp, record_, 0, {}, false};
    flight.complete = [shape = op_.shape, multicast = op_.multicast, facts = facts_, lane = lane_, column = column_, bytes = bytes_,
                       element = bits(buffer_.dtype) / 8, ctas](Machine& machine, WarpState&) {
      for (std::uint32_t index : ctas) {
        const Cta& cta = machine.ctas[index];
        Tmem& tmem = machine.sms[cta.sm].cells();
        std::vector<std::uint8_t> row(static_cast<std::size_t>(facts.row_bytes));
        for (std::int64_t r = 0, at = 0; r < facts.rows; ++r) {
          for (std::int64_t i = 0; i < facts.row_bytes; i += element) std::memcpy(row.data() + i, cta.shared.data() + bytes[static_cast<std::size_t>(at++)], static_cast<std::size_t>(element));
          for (std::uint32_t to : lanes_of_row(shape, multicast, lane, static_cast<std::uint32_t>(r)))
            for (std::size_t c = 0; c < row.size() / 4; ++c) std::memcpy(&tmem.cell[column + c][to], row.data() + 4 * c, 4);
        }
      }
    };
    return flight;
  }

  const TcgenCp& op_;
  Warp& warp_;
  const CpFacts facts_;
  const Buffer& buffer_;
  std::uint32_t record_ = 0, lane_ = 0, column_ = 0;
  bool in_range_ = false;
  std::vector<Cta*> parts_;
  std::vector<SlabBox> boxes_;
  std::vector<std::int64_t> bytes_;
  ByteRuns runs_;
};

// ---- shift ----

constexpr std::uint32_t shift_columns = 8;

void shift_state(CellState& state, bool bad) {
  const auto down = [](std::uint32_t lanes) { return lanes >> 1 | (lanes & 0x80000000u); };
  state.low = down(state.low);
  state.high = down(state.high);
  state.defined = down(state.defined);
  state.bad = bad ? ~0u : down(state.bad);
}

Flight shift(const TcgenShift& op, Warp& warp) {
  Access access = begin(warp, AccessKind::shift);
  const std::vector<Cta*> parts = parts_of(warp, op.cta_group);
  const std::uint32_t record = record_of(warp, access, warp.plan(op.addr).view, true);
  const WarpValue address = warp.address(op.addr);
  const auto value = static_cast<std::uint32_t>(address.value);
  const std::uint32_t column = tcgen05::column_of(value), lane = tcgen05::lane_of(value);
  bool good = !parts.empty() && !address.bad;
  const auto check = [&](bool fault, Verdict verdict, std::string message) {
    if (good && fault) warp.report(warp.candidate(verdict, std::move(message)));
    good = good && !fault;
  };
  check((value & ~tcgen05::address_mask) != 0, Verdict::taddr_bits, fmt::format("address {:#010x} has bits outside lane (22:16) and column (8:0)", value));
  check(column + shift_columns > tcgen05::columns, Verdict::out_of_bounds, fmt::format("columns {} to {} leave the 512 of tensor memory", column, column + shift_columns - 1));
  check(lane % 32 != 0, Verdict::misaligned, fmt::format("lane {} is not a multiple of 32", lane));
  const std::vector<SlabBox> boxes = boxes_of(0xffu, column, shift_columns);
  for (Cta* part : parts) {
    if (!good) break;
    if (!check_allocated(warp, *part, boxes)) {
      good = false;
      break;
    }
    Tmem& tmem = warp.machine.sms[part->sm].cells();
    check_tmem(warp, *part, boxes, TmemUse::update, record);
    note_cells(warp, *part, boxes, false);
    note_cells(warp, *part, boxes, true);
    std::vector<SlabBox> moved = boxes;
    for (SlabBox& box : moved) box.lanes = ~1u;  // lane 0 of a quadrant is not read
    read_cells(warp, *part, tmem, moved, Halves::both, "the shift", std::nullopt);
    for (auto& quadrant : tmem.state)
      for (std::uint32_t c = column; c < column + shift_columns; ++c) shift_state(quadrant[c], false);
  }
  note_issued(warp, access);
  if (!good) return no_effect(Async::shift, record);
  std::vector<std::uint32_t> ctas;
  for (const Cta* part : parts) ctas.push_back(part->index);
  Flight flight{Async::shift, record, 0, {}, false};
  flight.complete = [column, ctas](Machine& machine, WarpState&) {
    for (std::uint32_t index : ctas) {
      Tmem& tmem = machine.sms[machine.ctas[index].sm].cells();
      for (std::uint32_t c = column; c < column + shift_columns; ++c)
        for (std::size_t lane_of_cell = 0; lane_of_cell < tcgen05::lanes; ++lane_of_cell)
          if (lane_of_cell % 32 != 31) tmem.cell[c][lane_of_cell] = tmem.cell[c][lane_of_cell + 1];
    }
  };
  return flight;
}

// ---- commit ----

struct Target {
  std::uint32_t cta = 0;
  std::int64_t offset = 0;
};

// The barriers that a commit of one lane arrives on.
std::vector<Target> targets_of(const TcgenCommit& op, Warp& warp) {
  const ByteSpan span = warp.locate(warp.plan(op.bar), 8, op.rank, Verdict::mbar_target);
  if (span.lanes == 0) return {};
  const std::int64_t offset = span.first[warp.first_lane()];
  if (!op.mask) return {{span.owner->index, offset}};
  const WarpValue mask = warp.evaluate_for_warp(*op.mask, "the mask of CTAs");
  if (mask.bad) return {};
  const auto named = static_cast<std::uint32_t>(mask.value);
  const std::uint32_t size = cluster_size(warp.machine.kernel.launch);
  const std::uint32_t beyond = size >= 32 ? 0 : named >> size;
  const std::uint32_t pair = 3u << (warp.cta.rank & ~1u);
  const auto wrong_target = [&](std::string message, std::optional<Severity> severity = std::nullopt) {
    Candidate found = warp.candidate(Verdict::mbar_target, std::move(message));
    found.severity = severity;
    found.barrier_fault = BarrierFault::object;
    found.barrier = BarrierKey{warp.cta.index, offset};
    warp.report(std::move(found));
  };
  if (beyond != 0) wrong_target(fmt::format("the mask {:#b} names a CTA that a cluster of {} does not have", named, size));
  else if (op.cta_group == 2 && (named & pair) == 0) wrong_target(fmt::format("the mask {:#b} names no CTA of the pair that issues", named));
  else if (op.cta_group == 2 && (named & (1u << warp.cta.rank)) == 0) wrong_target(fmt::format("of the pair that issues, the mask {:#b} names only the peer", named), Severity::warning);
  std::vector<Target> targets;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    if (named >> rank & 1u) targets.push_back({warp.machine.cta_of_rank(warp.cta, rank), offset});
  return targets;
}

void commit(const TcgenCommit& op, Warp& warp) {
  const TensorThread thread = thread_of(warp);
  Access access = warp.describe();
  access.collective = true;
  const std::uint32_t record = warp.machine.accesses.add(access);
  std::vector<Target> targets = targets_of(op, warp);
  std::erase_if(targets, [&](const Target& target) {
    Cta& owner = warp.machine.ctas[target.cta];
    if (&owner != &warp.cta) owner.remote.push_back(record);
    return !use_mbarrier(warp, owner, target.offset, record);
  });
  // The tracked operations are complete for whoever waits, as behind a fence::before_thread_sync.
  Views views = warp.released(warp.lanes);
  views.change([&](Views& each) {
    for (View* view : {&each.any, &each.generic, &each.tensor.now, &each.tensor.released, &each.tolerant.now, &each.tolerant.released}) {
      view->raise(warp.cta.index, thread.agent, thread.issued);
      view->raise(warp.cta.index, thread.issue_agent, thread.issued);
    }
  });
  warp.machine.start({record, [record, targets, views = std::move(views)](Machine& machine) {
                        for (const Target& target : targets) mbarrier_arrive(machine, machine.ctas[target.cta], target.offset, 1, {record, &views, true});
                      },
                      warp.machine.tracer ? warp.machine.tracer->take_off("commit", Async::none) : nullptr});
}

}  // namespace

Flight issue(const TcgenMma& op, Warp& warp) {
  Warp one = issuing_thread(warp);
  return Mma(op, one).issue();
}

Flight issue(const TcgenCp& op, Warp& warp) {
  Warp one = issuing_thread(warp);
  return Cp(op, one).issue();
}

Flight issue(const TcgenShift& op, Warp& warp) {
  Warp one = issuing_thread(warp);
  return shift(op, one);
}

Ran execute(const TcgenCommit& op, Warp& warp) {
  for (std::uint32_t rest = warp.lanes; rest != 0; rest &= rest - 1) {  // every thread commits what it has issued itself
    Warp one(warp.machine, warp.state, warp.step, rest & (~rest + 1u), warp.number);
    one.event = warp.event;
    commit(op, one);
  }
  return Ran::finished();
}

}  // namespace tmemsim::sim
