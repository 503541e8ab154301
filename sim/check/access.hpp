// Access records: who touched storage, when, through what. Shadows (memory/*.hpp) hold 32-bit ids of them.
//
// id 0: nobody. Otherwise the record's number times 64 plus the lane that made the access, or plus 32 when the whole mask of
// the record did. Where several accesses have to be kept (readers that nothing orders) the id names a set: bit 31.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/check/view.hpp"

namespace tmemsim::sim {

using AccessId = std::uint32_t;

inline constexpr std::uint16_t no_buffer = 0xffff;
inline constexpr std::size_t most_readers = 64;   // kept of one place; whoever writes against more of them is found by these
inline constexpr std::size_t recorded_loops = 6;  // values of the outermost loops around a statement that a record keeps

// What completes the access: program order, wait::ld, wait::st, a commit that has been waited for, a barrier or bulk group.
enum class AccessKind : std::uint8_t { order, ld, st, mma, cp, shift, bulk };
constexpr bool is_tensor_core(AccessKind kind) { return kind == AccessKind::mma || kind == AccessKind::cp || kind == AccessKind::shift; }

struct Access {
  std::uint32_t step = 0;           // in the Program
  std::uint32_t cta = 0;            // in the grid
  std::uint16_t warp = 0;           // in the CTA
  std::uint16_t buffer = no_buffer; // TMEM: the view through which the access was made
  std::uint32_t lanes = 0;
  std::uint32_t number = 0;         // in the order of the warp's instructions
  std::uint32_t async_number = 0;   // in the order of the agent (all kinds but order)
  std::uint32_t agent_cta = 0;      // kinds mma to bulk: whose counters the two below are
  std::uint32_t agent = 0;          // counter, in the views, of what is complete
  std::uint32_t issue_agent = 0;    // mma, cp, shift: counter of what has been issued
  std::uint32_t accumulator = 0;    // mma: address of D
  std::uint32_t form = 0;           // mma: M << 16 | N; cp: its shape. Equal forms and accumulators are pipelined
  std::uint32_t unread_rows = 0;    // ld: registers that not all lanes have read yet
  std::uint32_t consumed = 0;       // ld: the instruction of its warp that read the last of its registers; 0: none so far
  AccessKind kind = AccessKind::order;
  bool collective = false;          // made by the warp as one: whoever of its lanes signals afterwards publishes it
  bool updates = false;             // tensor memory: reads what it writes
  bool strong = false;              // shared and global memory: not a weak access
  bool cta_scope = false;           // strong, towards threads of its own CTA only
  bool alloc_slot = false;          // the address that tcgen05.alloc stores
  bool live = false;
  bool excused = false;             // what is wrong with its cells is a warning only: it hides no error
  std::uint64_t waited = 0, passed_new = 0;  // Views::waited and passed_new of those who made it
  std::array<std::int32_t, recorded_loops> loop{};
};

class AccessTable {
 public:
  struct Reader {
    std::uint32_t record = 0, lanes = 0;
    bool operator==(const Reader&) const = default;
  };
  using Readers = std::vector<Reader>;

  AccessTable();

  std::uint32_t add(const Access& access);
  const Access& operator[](std::uint32_t record) const { return records_[record]; }
  Access& at(std::uint32_t record) { return records_[record]; }

  static AccessId whole(std::uint32_t record) { return record << 6 | 32u; }
  static AccessId lane(std::uint32_t record, std::uint32_t lane) { return record << 6 | lane; }
  static bool is_set(AccessId id) { return id >> 31 != 0; }
  static std::uint32_t record_of(AccessId id) { return id >> 6; }
  std::uint32_t lanes_of(AccessId id) const;      // of an id that is no set
  Readers readers(AccessId id) const;             // expanded; empty for 0
  AccessId intern(const Readers& readers);        // a plain id where one says the same

  // Memory is bounded by marking: when is_full(), the owner of all shadows marks every id it still holds, then sweep()s.
  bool is_full() const { return in_use_ >= limit_; }
  void begin_marking();
  void mark(AccessId id);
  void mark_record(std::uint32_t record) { marked_[record] = 1; }
  void sweep();

 private:
  std::vector<Access> records_;
  std::vector<Readers> sets_;
  std::vector<std::uint32_t> free_records_, free_sets_;
  std::vector<std::uint8_t> marked_, marked_sets_;
  std::size_t in_use_ = 0, limit_ = 0;
};

}  // namespace tmemsim::sim
