#include "report/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "ir/layout/coordinate.hpp"
#include "ir/npy.hpp"
#include "report/memory.hpp"
#include "sim/reference/naive.hpp"
#include "sim/reference/storage.hpp"

namespace tmemsim::report {
namespace {

using reference::Box;
using reference::Thread;

// ---- the way of an element, backwards: global <- register <- tensor memory ----

struct Source {
  const Region *dst = nullptr, *src = nullptr;
};

std::optional<Source> copy_in(const Stmt& stmt) {
  const auto* lowered = std::get_if<Lowered>(&stmt.node);
  if (lowered == nullptr) return std::nullopt;
  if (const auto* copy = std::get_if<Copy>(&lowered->origin)) return Source{&copy->dst, &copy->src};
  if (const auto* copy = std::get_if<CopyAsync>(&lowered->origin)) return Source{&copy->dst, &copy->src};
  return std::nullopt;
}

struct Passed {
  BufferId buffer = 0;
  std::uint32_t thread = 0;  // in whose instance of a local buffer
  std::int64_t x = 0;
};

class Way {
 public:
  Way(const Program& program, const sim::Outcome& run) : kernel_(*program.kernel), run_(run), memory_(program, run.image) {}

  void fill(Mismatch& mismatch, BufferId buffer, std::int64_t x) const {
    const auto spot = memory_.spot(buffer, 0, 0, x);
    if (run_.writer_of_global && spot) mismatch.written_by = run_.writer_of_global(buffer, spot->bit / 8);
    if (!mismatch.written_by) return;
    const Ref& writer = *mismatch.written_by;
    mismatch.cta = writer.cta;
    const auto from = came_from(statement(writer.path), writer.cta, writer.warp, writer.lanes, writer.loop, buffer, x);
    if (!from || kernel_.buffers[from->buffer].space != Space::local) return;
    const auto reg = memory_.spot(from->buffer, writer.cta, from->thread, from->x);
    if (!reg) return;
    mismatch.thread = reg->thread;
    mismatch.reg = reg->reg;
    const auto before = last_load(writer.cta, *from);
    if (!before || kernel_.buffers[before->buffer].space != Space::tmem) return;
    const auto cell = memory_.spot(before->buffer, writer.cta, before->thread, before->x);
    if (!cell) return;
    mismatch.lane = cell->lane;
    mismatch.column = cell->column;
  }

 private:
  const Stmt* statement(const std::string& path) const {
    const Stmt* found = nullptr;
    reference::for_each_statement(kernel_.body, [&](const Stmt& stmt) { if (stmt.path == path) found = &stmt; });
    return found;
  }

  // The element that a copy took for element x of `buffer`, seen from the threads of one warp.
  std::optional<Passed> came_from(const Stmt* stmt, std::uint32_t cta, std::uint32_t warp, std::uint32_t lanes,
                                  const std::map<std::string, std::int64_t>& loop, BufferId buffer, std::int64_t x) const {
    const auto copy = stmt ? copy_in(*stmt) : std::nullopt;
    if (!copy || copy->dst->buffer != buffer) return std::nullopt;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      const Thread thread{cta, 32 * warp + lane};
      const auto dst = reference::naive_box(kernel_, *copy->dst, thread, loop), src = reference::naive_box(kernel_, *copy->src, thread, loop);
      if (!dst || !src) continue;
      const auto to = reference::elements_of(kernel_, *dst), from = reference::elements_of(kernel_, *src);
      const auto found = std::find(to.begin(), to.end(), x);
      const auto position = static_cast<std::size_t>(found - to.begin());
      if (found != to.end() && position < from.size()) return Passed{copy->src->buffer, thread.tid, from[position]};
    }
    return std::nullopt;
  }

  std::optional<Passed> last_load(std::uint32_t cta, const Passed& element) const {
    for (auto issued = run_.issued.rbegin(); issued != run_.issued.rend(); ++issued) {
      if (issued->cta != cta || issued->warp != element.thread / 32) continue;
      const auto copy = copy_in(*issued->stmt);
      if (!copy || copy->dst->buffer != element.buffer) continue;
      const auto from = came_from(issued->stmt, cta, issued->warp, 1u << element.thread % 32, issued->loop, element.buffer, element.x);
      if (from) return from;
    }
    return std::nullopt;
  }

  const Kernel& kernel_;
  const sim::Outcome& run_;
  Memory memory_;
};

// ---- values that the scenario states ----

double magnitude_between(Dtype dtype, std::uint64_t a, std::uint64_t b) { return std::abs(decode(dtype, a) - decode(dtype, b)); }

// Bit patterns of a sign-magnitude float as numbers whose neighbours are one apart.
std::int64_t ordinal(Dtype dtype, std::uint64_t value) {
  const int width = bits(dtype);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  const auto magnitude = static_cast<std::int64_t>(value & (sign - 1));
  return (value & sign) ? -magnitude : magnitude;
}

bool equal_within(const ExpectedEqual& stated, Dtype dtype, std::uint64_t expected, std::uint64_t actual) {
  if (expected == actual) return true;
  if (stated.abs && magnitude_between(dtype, expected, actual) <= *stated.abs) return true;
  if (!stated.ulp) return false;
  if (!is_float(dtype)) return magnitude_between(dtype, expected, actual) <= static_cast<double>(*stated.ulp);
  if (std::isnan(decode(dtype, expected)) || std::isnan(decode(dtype, actual))) return false;
  const std::int64_t a = ordinal(dtype, expected), b = ordinal(dtype, actual);
  const auto apart = a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b) : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
  return apart <= *stated.ulp;
}

class Stated {
 public:
  Stated(const Program& program, const sim::Outcome& run, const Expect& expect)
      : program_(program), kernel_(*program.kernel), run_(run), expect_(expect), memory_(program, run.image), way_(program, run) {}

  Comparison compare() {
    for (std::size_t i = 0; i < expect_.equal.size(); ++i) compare_equal(expect_.equal[i], fmt::format("expect.equal[{}]", i));
    for (std::size_t i = 0; i < expect_.cells.size(); ++i) compare_cell(expect_.cells[i], fmt::format("expect.cells[{}]", i));
    for (std::size_t i = 0; i < expect_.registers.size(); ++i) compare_register(expect_.registers[i], fmt::format("expect.regs[{}]", i));
    return result_;
  }

 private:
  void count(bool equal, const std::function<Mismatch()>& describe) {
    ++result_.compared;
    if (equal) return;
    ++result_.differing;
    if (!result_.first) result_.first = describe();
  }

  Box box_of(const Region& region, SourceLoc at) const {
    const auto box = reference::naive_box(kernel_, region, Thread{}, {});
    if (!box) input_error(kernel_.files, at, fmt::format("the region of {} has no value here or leaves the buffer", kernel_.buffers[region.buffer].name));
    return *box;
  }

  std::vector<std::uint64_t> expected_bits(const ExpectedEqual& stated, Dtype dtype, std::size_t elements) const {
    if (const auto* fill = std::get_if<InitFill>(&stated.expected))
      return std::vector<std::uint64_t>(elements, reference::naive_encode(dtype, fill->value));
    std::vector<std::uint64_t> expected;
    if (const auto* data = std::get_if<InitData>(&stated.expected))
      for (const Number& value : data->values) expected.push_back(reference::naive_encode(dtype, value));
    if (const auto* npy = std::get_if<InitNpy>(&stated.expected)) expected = from_file(npy->path, dtype, stated.where);
    if (expected.size() != elements)
      input_error(kernel_.files, stated.where, fmt::format("{} values are expected for a region of {} elements", expected.size(), elements));
    return expected;
  }

  std::vector<std::uint64_t> from_file(const std::string& path, Dtype dtype, SourceLoc at) const {
    const auto array = read_npy(std::filesystem::path(kernel_.folder) / path);
    if (!array) input_error(kernel_.files, at, fmt::format("{}: {}", path, array.reason().text));
    if (array->dtype != npy_storage(dtype))
      input_error(kernel_.files, at, fmt::format("{} holds {}, elements of {} are stored as {}", path, name(array->dtype), name(dtype), name(npy_storage(dtype))));
    const auto width = static_cast<std::size_t>(bits(array->dtype)) / 8;
    std::vector<std::uint64_t> values(array->data.size() / width, 0);
    for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], array->data.data() + i * width, width);  // little-endian
    return values;
  }

  std::optional<ReadBack> read(BufferId buffer, std::int64_t x) const { return memory_.read(buffer, 0, 0, x); }

  void compare_equal(const ExpectedEqual& stated, const std::string& against) {
    const Buffer& buffer = kernel_.buffers[stated.actual.buffer];
    const std::vector<std::int64_t> actual = reference::elements_of(kernel_, box_of(stated.actual, stated.where));
    const auto* region = std::get_if<Region>(&stated.expected);
    std::vector<std::int64_t> other;
    std::vector<std::uint64_t> values;
    if (region) {
      other = reference::elements_of(kernel_, box_of(*region, stated.where));
      if (other.size() != actual.size())
        input_error(kernel_.files, stated.where, fmt::format("regions of {} and {} elements cannot be equal", actual.size(), other.size()));
      if (bits(kernel_.buffers[region->buffer].dtype) != bits(buffer.dtype))
        input_error(kernel_.files, stated.where, "regions of different element sizes cannot be equal");
    } else {
      values = expected_bits(stated, buffer.dtype, actual.size());
    }
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const auto is = read(stated.actual.buffer, actual[i]);
      const auto should = region ? read(region->buffer, other[i]) : std::optional(ReadBack{values[i], true});
      const bool equal = is && is->written && should && should->written && equal_within(stated, buffer.dtype, should->bits, is->bits);
      count(equal, [&] {
        Mismatch mismatch{against, buffer.name, coordinate_of(actual[i], buffer.shape), buffer.dtype, should ? should->bits : 0, is ? is->bits : 0,
                          !is || !is->written, {}, {}, {}, {}, {}, {}, stated.where};
        if (buffer.space == Space::global) {
          way_.fill(mismatch, stated.actual.buffer, actual[i]);
        } else if (const auto spot = memory_.spot(stated.actual.buffer, 0, 0, actual[i])) {
          mismatch.cta = 0;
          mismatch.thread = spot->thread;
          mismatch.reg = spot->reg;
          mismatch.lane = spot->lane;
          mismatch.column = spot->column;
        }
        return mismatch;
      });
    }
  }

  void compare_cell(const ExpectedCell& stated, const std::string& against) {
    const auto& image = run_.image;
    const Cells* cells = stated.cta < image.ctas.size() && image.ctas[stated.cta].sm < image.sms.size() ? &image.sms[image.ctas[stated.cta].sm] : nullptr;
    const std::size_t at = std::size_t{stated.column} * 128 + stated.lane;
    const bool there = cells && stated.lane < 128 && at < cells->value.size();
    const bool written = there && cells->written[at] == 3;
    count(written && cells->value[at] == stated.bits, [&] {
      return Mismatch{against, {}, {}, Dtype::u32, stated.bits, there ? cells->value[at] : 0, !written, stated.cta, {}, {},
                      stated.lane, stated.column, {}, stated.where};
    });
  }

  void compare_register(const ExpectedRegister& stated, const std::string& against) {
    const auto& ctas = run_.image.ctas;
    const RegisterRow* row = nullptr;
    if (stated.cta < ctas.size() && stated.thread / 32 < ctas[stated.cta].registers.size()) {
      const auto& rows = ctas[stated.cta].registers[stated.thread / 32];
      const std::size_t at = std::size_t{program_.first_row[stated.buffer]} + stated.reg;
      if (at < rows.size()) row = &rows[at];
    }
    const std::uint32_t lane = stated.thread % 32;
    const bool written = row && (row->written >> lane & 1);
    count(written && row->value[lane] == stated.bits, [&] {
      return Mismatch{against, kernel_.buffers[stated.buffer].name, {}, Dtype::u32, stated.bits, row ? row->value[lane] : 0, !written,
                      stated.cta, stated.thread, stated.reg, {}, {}, {}, stated.where};
    });
  }

  const Program& program_;
  const Kernel& kernel_;
  const sim::Outcome& run_;
  const Expect& expect_;
  Memory memory_;
  Way way_;
  Comparison result_;
};

}  // namespace

Comparison compare_with_reference(const Program& program, const sim::Outcome& run, const reference::Outcome& reference) {
  const Kernel& kernel = *program.kernel;
  const Memory memory(program, run.image);
  Comparison result;
  for (BufferId id = 0; id < reference.global.size(); ++id) {
    const reference::Tensor& tensor = reference.global[id];
    for (std::size_t i = 0; i < tensor.bits.size(); ++i) {
      if (!tensor.known[i]) continue;
      result.compared += tensor.written[i];
      const auto x = static_cast<std::int64_t>(i);
      const auto is = memory.read(id, 0, 0, x);
      if (is && is->written && is->bits == tensor.bits[i]) continue;
      ++result.differing;
      if (result.first) continue;
      const Buffer& buffer = kernel.buffers[id];
      result.first = Mismatch{"the reference", buffer.name, coordinate_of(x, buffer.shape), buffer.dtype, tensor.bits[i], is ? is->bits : 0,
                              !is || !is->written, {}, {}, {}, {}, {}, {}, {}};
      Way(program, run).fill(*result.first, id, x);
    }
  }
  return result;
}

Comparison compare_with_stated(const Program& program, const sim::Outcome& run, const Expect& expect) {
  return Stated(program, run, expect).compare();
}

void trace_back(const Program& program, const sim::Outcome& run, BufferId buffer, std::int64_t x, Mismatch& mismatch) {
  Way(program, run).fill(mismatch, buffer, x);
}

bool writes_global(const Kernel& kernel, const sim::Outcome& run) {
  const auto is_global = [&](BufferId id) { return kernel.buffers[id].space == Space::global; };
  return std::any_of(run.issued.begin(), run.issued.end(), [&](const Issued& issued) {
    if (const auto* lowered = std::get_if<Lowered>(&issued.stmt->node))
      return std::visit([&](const auto& tile) { return is_global(tile.dst.buffer); }, lowered->origin);
    const auto* op = std::get_if<MachineOps::Any>(&issued.stmt->node);
    const auto* store = op ? std::get_if<Store>(op) : nullptr;
    const auto* bulk = op ? std::get_if<BulkCopy>(op) : nullptr;
    return (store != nullptr && is_global(store->dst.buffer)) || (bulk != nullptr && is_global(bulk->dst.buffer));
  });
}

}  // namespace tmemsim::report
