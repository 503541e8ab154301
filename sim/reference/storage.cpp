#include "sim/reference/storage.hpp"

#include <algorithm>

#include "ir/scenario/scenario.hpp"

namespace tmemsim::reference {
namespace {

bool is_element(const Buffer& buffer) { return buffer.dtype != Dtype::mbarrier; }

std::int64_t count(const Buffer& buffer) {
  std::int64_t product = 1;
  for (std::int64_t extent : buffer.shape) product *= extent;
  return product;
}

// Fills and counts are converted here; random numbers and files are bits that ir hands over.
std::vector<std::uint64_t> initial(const Kernel& kernel, const Buffer& buffer) {
  if (!buffer.init || !is_element(buffer)) return {};
  const std::int64_t elements = count(buffer);
  std::vector<std::uint64_t> bits;
  bits.reserve(static_cast<std::size_t>(elements));
  if (const auto* fill = std::get_if<InitFill>(&*buffer.init)) {
    bits.assign(static_cast<std::size_t>(elements), naive_encode(buffer.dtype, fill->value));
  } else if (const auto* iota = std::get_if<InitIota>(&*buffer.init)) {
    const auto* start = std::get_if<std::int64_t>(&iota->start);
    const auto* step = std::get_if<std::int64_t>(&iota->step);
    const auto number = [](const Number& n) {
      return std::holds_alternative<double>(n) ? std::get<double>(n) : static_cast<double>(std::get<std::int64_t>(n));
    };
    for (std::int64_t i = 0; i < elements; ++i) {
      const auto wrapped = [&] {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(*start) + static_cast<std::uint64_t>(*step) * static_cast<std::uint64_t>(i));
      };
      bits.push_back(naive_encode(buffer.dtype, start && step ? Number(wrapped())
                                                              : Number(number(iota->start) + number(iota->step) * static_cast<double>(i))));
    }
  } else if (const auto* data = std::get_if<InitData>(&*buffer.init)) {
    for (const Number& value : data->values) bits.push_back(naive_encode(buffer.dtype, value));
  } else {
    bits = initial_bits(kernel, buffer);
  }
  bits.resize(static_cast<std::size_t>(elements), 0);
  return bits;
}

// What a buffer takes of its space: bytes of the shared window, or columns relative to the base. First, one past the last.
std::pair<std::int64_t, std::int64_t> extent_of(const Buffer& buffer) {
  const bool tmem = buffer.space == Space::tmem;
  const std::int64_t unit = tmem ? 32 : 8;
  const std::int64_t start = tmem ? buffer.column + buffer.base.value_or(0) : buffer.offset.value_or(0);
  const int width = bits(buffer.dtype);
  std::int64_t first = 0, end = 0;
  for (std::int64_t x = 0; x < count(buffer); ++x)
    for (const Point& place : naive_places(buffer, x)) {
      const std::int64_t bit = at(place, tmem ? Axis::TCol : Axis::m) * width;
      if (end == 0) first = bit / unit;
      first = std::min(first, bit / unit);
      end = std::max(end, (bit + width - 1) / unit + 1);
    }
  return {start + first, start + end};
}

std::set<BufferId> slots_of_allocations(const Kernel& kernel) {
  std::set<BufferId> found;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    const auto* op = std::get_if<MachineOps::Any>(&stmt.node);
    if (const auto* alloc = op ? std::get_if<TcgenAlloc>(op) : nullptr) found.insert(alloc->slot.buffer);
  });
  return found;
}

std::set<BufferId> written_by_others(const Kernel& kernel) {
  std::set<BufferId> found;
  for_each_statement(kernel.body, [&](const Stmt& stmt) {
    if (const auto* op = std::get_if<MachineOps::Any>(&stmt.node)) {
      if (const auto* store = std::get_if<Store>(op)) found.insert(store->dst.buffer);
    }
    if (const auto* lowered = std::get_if<Lowered>(&stmt.node))
      std::visit([&](const auto& tile) { found.insert(tile.dst.buffer); }, lowered->origin);
  });
  return found;
}

}  // namespace

Scope unit_of(const Buffer& buffer) {
  if (buffer.space == Space::global) return Scope::grid;
  if (buffer.space != Space::local) return Scope::cta;
  Scope widest = Scope::thread;
  const auto look = [&](Axis axis) { if (is_thread(axis)) widest = std::max(widest, facts(axis).scope); };
  if (buffer.layout) {
    for (const Iter& iter : buffer.layout->shard) look(iter.axis);
    for (const Iter& iter : buffer.layout->replica) look(iter.axis);
    for (const AxisOffset& offset : buffer.layout->offset) look(offset.axis);
  }
  return widest;
}

Storage::Storage(const Kernel& kernel) : kernel_(kernel), never_known_(slots_of_allocations(kernel)) {
  // An address word that only allocations write holds the base of an allocation; any other may hold anything.
  const std::set<BufferId> others = written_by_others(kernel);
  for (BufferId slot = 0; slot < kernel.buffers.size(); ++slot)
    if (!never_known_.count(slot) || others.count(slot)) computed_slots_.insert(slot);
  for (const Buffer& buffer : kernel.buffers)
    extents_.push_back(buffer.space == Space::shared || buffer.space == Space::tmem ? extent_of(buffer) : std::pair<std::int64_t, std::int64_t>{});
  for (BufferId id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    if (!is_element(buffer) || (buffer.space == Space::local && unit_of(buffer) > Scope::cta)) never_known_.insert(id);
    overlapping_.emplace_back();
    for (BufferId other = 0; other < kernel.buffers.size(); ++other)
      if (other != id && may_overlap(id, other)) overlapping_.back().push_back(other);
  }
}

bool Storage::same_base(const Buffer& a, const Buffer& b) {
  return a.slot == b.slot && a.base.has_value() == b.base.has_value();
}

bool Storage::may_alias_base(const Buffer& a, const Buffer& b) const {
  // Two allocations never overlap; an address that is a constant or was computed may point anywhere.
  return !a.slot || !b.slot || computed_slots_.count(*a.slot) || computed_slots_.count(*b.slot);
}

bool Storage::may_overlap(BufferId a, BufferId b) const {
  const Buffer& x = kernel_.buffers[a];
  const Buffer& y = kernel_.buffers[b];
  if (x.space != y.space || (x.space != Space::shared && x.space != Space::tmem)) return false;
  if (x.space == Space::tmem && !same_base(x, y)) return may_alias_base(x, y);
  return extents_[a].first < extents_[b].second && extents_[b].first < extents_[a].second;
}

std::uint32_t Storage::unit(BufferId buffer, std::uint32_t tid) const {
  switch (unit_of(kernel_.buffers[buffer])) {
    case Scope::thread: return tid;
    case Scope::warp: return tid / 32;
    case Scope::warpgroup: return tid / 128;
    default: return 0;
  }
}

Tensor Storage::fresh(BufferId id) const {
  const Buffer& buffer = kernel_.buffers[id];
  const auto elements = static_cast<std::size_t>(count(buffer));
  Tensor tensor{buffer.shape, {}, {}, std::vector<std::uint8_t>(elements, 0)};
  tensor.bits = initial(kernel_, buffer);
  const bool known = !tensor.bits.empty() && !never_known_.count(id);
  tensor.bits.resize(elements, 0);
  tensor.known.assign(elements, known ? 1 : 0);
  return tensor;
}

Tensor& Storage::of(BufferId buffer, const Thread& thread) {
  const bool global = kernel_.buffers[buffer].space == Space::global;
  const Key key{buffer, global ? 0 : thread.cta, unit(buffer, thread.tid)};
  const auto found = tensors_.find(key);
  if (found != tensors_.end()) return found->second;
  return tensors_.emplace(key, fresh(buffer)).first->second;
}

void Storage::write(BufferId buffer, const Thread& thread, std::int64_t x, std::uint64_t bits, bool known) {
  Tensor& tensor = of(buffer, thread);
  const auto i = static_cast<std::size_t>(x);
  tensor.bits[i] = bits;
  tensor.known[i] = known && !never_known_.count(buffer);
  tensor.written[i] = 1;
}

void Storage::written_through(BufferId buffer, std::uint32_t cta) {
  for (BufferId other : overlapping_[buffer]) forget(other, Thread{cta, 0});
}

void Storage::forget(BufferId buffer, const Thread& thread) {
  Tensor& tensor = of(buffer, thread);
  std::fill(tensor.known.begin(), tensor.known.end(), std::uint8_t{0});
}

void Storage::forget_everywhere(BufferId buffer) {
  const bool global = kernel_.buffers[buffer].space == Space::global;
  const std::uint32_t ctas = global ? 1 : cta_count(kernel_.launch);
  const std::uint32_t step = unit_of(kernel_.buffers[buffer]) == Scope::thread ? 1 : 32;
  const std::uint32_t threads = kernel_.buffers[buffer].space == Space::local ? 32 * kernel_.launch.warps : 1;
  for (std::uint32_t cta = 0; cta < ctas; ++cta)
    for (std::uint32_t tid = 0; tid < threads; tid += step) forget(buffer, Thread{cta, tid});
}

const std::vector<std::pair<std::int64_t, std::int64_t>>& Storage::elements_by_slot(BufferId buffer) {
  auto& table = by_slot_[buffer];
  if (table.empty()) {
    const std::int64_t elements = count(kernel_.buffers[buffer]);
    for (std::int64_t x = 0; x < elements; ++x)
      for (const Point& place : naive_places(kernel_.buffers[buffer], x)) table.emplace_back(at(place, Axis::m), x);
    std::sort(table.begin(), table.end());
  }
  return table;
}

void Storage::forget_slots(BufferId buffer, const Thread& thread, std::int64_t first_bit, std::int64_t last_bit) {
  const int width = bits(kernel_.buffers[buffer].dtype);
  const auto& table = elements_by_slot(buffer);
  Tensor& tensor = of(buffer, thread);
  const std::int64_t first_slot = first_bit >= 0 ? first_bit / width : 0;
  auto at = std::lower_bound(table.begin(), table.end(), std::pair<std::int64_t, std::int64_t>{first_slot, -1});
  for (; at != table.end() && at->first * width <= last_bit; ++at) tensor.known[static_cast<std::size_t>(at->second)] = 0;
}

void Storage::forget_shared(std::uint32_t cta, std::int64_t first_byte, std::int64_t last_byte) {
  for (BufferId id = 0; id < kernel_.buffers.size(); ++id) {
    const Buffer& buffer = kernel_.buffers[id];
    if (buffer.space != Space::shared) continue;
    const std::int64_t start = buffer.offset.value_or(0);
    if (last_byte < extents_[id].first || first_byte >= extents_[id].second) continue;
    forget_slots(id, Thread{cta, 0}, 8 * (first_byte - start), 8 * (last_byte - start) + 7);
  }
}

void Storage::forget_columns(BufferId view, std::uint32_t cta, std::int64_t first, std::int64_t last) {
  const Buffer& named = kernel_.buffers[view];
  for (BufferId id = 0; id < kernel_.buffers.size(); ++id) {
    const Buffer& buffer = kernel_.buffers[id];
    if (buffer.space != Space::tmem) continue;
    if (!same_base(named, buffer)) {
      if (may_alias_base(named, buffer)) forget(id, Thread{cta, 0});
      continue;
    }
    Tensor& tensor = of(id, Thread{cta, 0});
    const int width = bits(buffer.dtype);
    const std::int64_t shift = buffer.base.value_or(0) - named.base.value_or(0) + buffer.column;
    for (std::int64_t x = 0; x < count(buffer); ++x)
      for (const Point& place : naive_places(buffer, x)) {
        const std::int64_t bit = at(place, Axis::TCol) * width;
        if (shift + bit / 32 <= last && shift + (bit + width - 1) / 32 >= first) tensor.known[static_cast<std::size_t>(x)] = 0;
      }
  }
}

void Storage::forget_tmem(std::uint32_t cta) {
  for (BufferId id = 0; id < kernel_.buffers.size(); ++id)
    if (kernel_.buffers[id].space == Space::tmem) forget(id, Thread{cta, 0});
}

Outcome Storage::outcome() && {
  Outcome outcome;
  const std::size_t buffers = kernel_.buffers.size();
  outcome.global.resize(buffers);
  outcome.per_cta.assign(cta_count(kernel_.launch), std::vector<Tensor>(buffers));
  for (BufferId id = 0; id < buffers; ++id)
    if (kernel_.buffers[id].space == Space::global) outcome.global[id] = std::move(of(id, Thread{}));
  for (auto& [key, tensor] : tensors_) {
    const auto [id, cta, unit] = key;
    const Buffer& buffer = kernel_.buffers[id];
    if (buffer.space == Space::global) continue;
    const std::uint32_t threads = 32 * kernel_.launch.warps;
    if (buffer.space == Space::local && this->unit(id, threads - 1) != 0) continue;
    outcome.per_cta[cta][id] = std::move(tensor);
  }
  return outcome;
}

}  // namespace tmemsim::reference
