#include "sim/check/access.hpp"

#include <bit>
#include <stdexcept>

namespace tmemsim::sim {
namespace {

constexpr std::size_t first_limit = std::size_t{1} << 17;  // records and sets before the first sweep: about 10 MB
constexpr std::size_t most_records = std::size_t{1} << 25;  // what an id has room for

}  // namespace

AccessTable::AccessTable() : limit_(first_limit) {
  records_.emplace_back();  // record 0 is nobody
  sets_.emplace_back();
}

std::uint32_t AccessTable::add(const Access& access) {
  ++in_use_;
  std::uint32_t record;
  if (free_records_.empty()) {
    record = static_cast<std::uint32_t>(records_.size());
    if (record >= most_records) throw std::length_error("too many accesses are live at once");
    records_.push_back(access);
  } else {
    record = free_records_.back();
    free_records_.pop_back();
    records_[record] = access;
  }
  records_[record].live = true;
  return record;
}

std::uint32_t AccessTable::lanes_of(AccessId id) const {
  const std::uint32_t lane = id & 63u;
  return lane == 32 ? records_[record_of(id)].lanes : 1u << lane;
}

AccessTable::Readers AccessTable::readers(AccessId id) const {
  if (id == 0) return {};
  if (is_set(id)) return sets_[id & 0x7fffffffu];
  return {{record_of(id), lanes_of(id)}};
}

AccessId AccessTable::intern(const Readers& readers) {
  if (readers.empty()) return 0;
  if (readers.size() == 1) {
    const Reader& only = readers.front();
    if (only.lanes == records_[only.record].lanes) return whole(only.record);
    if (std::has_single_bit(only.lanes)) return lane(only.record, static_cast<std::uint32_t>(std::countr_zero(only.lanes)));
  }
  ++in_use_;
  std::uint32_t set;
  if (free_sets_.empty()) {
    set = static_cast<std::uint32_t>(sets_.size());
    sets_.push_back(readers);
  } else {
    set = free_sets_.back();
    free_sets_.pop_back();
    sets_[set] = readers;
  }
  return 0x80000000u | set;
}

void AccessTable::begin_marking() {
  marked_.assign(records_.size(), 0);
  marked_sets_.assign(sets_.size(), 0);
  marked_[0] = 1;
  marked_sets_[0] = 1;
}

void AccessTable::mark(AccessId id) {
  if (!is_set(id)) {
    marked_[record_of(id)] = 1;
    return;
  }
  const std::uint32_t set = id & 0x7fffffffu;
  if (marked_sets_[set]) return;
  marked_sets_[set] = 1;
  for (const Reader& reader : sets_[set]) marked_[reader.record] = 1;
}

void AccessTable::sweep() {
  free_records_.clear();
  free_sets_.clear();
  for (std::size_t record = records_.size(); record-- > 1;) {
    if (marked_[record]) continue;
    records_[record].live = false;
    free_records_.push_back(static_cast<std::uint32_t>(record));
  }
  for (std::size_t set = sets_.size(); set-- > 1;) {
    if (marked_sets_[set]) continue;
    sets_[set].clear();
    free_sets_.push_back(static_cast<std::uint32_t>(set));
  }
  in_use_ = records_.size() - free_records_.size() + sets_.size() - free_sets_.size();
  if (in_use_ > limit_ / 2) limit_ *= 2;
}

}  // namespace tmemsim::sim
